# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the simulator from measured requests: by hand where that is possible, else recovered from requests of a known server."""

from __future__ import annotations

import dataclasses
import math
import random

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.llm_d.inference.plugins.filter.calibration import calibration as calibration_filter
from ansible_collections.llm_d.inference.plugins.filter.calibration import calibration_prefill, calibration_prompt, calibration_rates, calibration_report
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import calibration
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.calibration import Request, Simulated

KNOWN = Simulated(overhead=40.0, per_token=0.8, inter_token=25.0, growth=0.15)


def sent(seed: int, rate: float, count: int = 80) -> list[Request]:
    """Requests without an answer."""
    dice, now, requests = random.Random(seed), 0.0, []
    for _number in range(count):
        now += dice.expovariate(rate)
        requests.append(Request(now, dice.randint(20, 600), dice.randint(4, 40), 0.0, None))
    return requests


def alone(server: Simulated = KNOWN, lengths: tuple[int, ...] = (16, 60, 128, 300, 512)) -> list[Request]:
    """Three requests of each length, one at a time."""
    return calibration.simulated(server, [Request(number * 100.0, length, 8, 0.0, None) for number, length in enumerate(lengths * 3)])


def test_one_request_by_hand() -> None:
    (request,) = calibration.simulated(KNOWN, [Request(1.0, 100, 5, 0.0, None)])
    assert request.ttft_ms == pytest.approx(40 + 100 * 0.8) and request.tpot_ms == pytest.approx(25)
    (short,) = calibration.simulated(KNOWN, [Request(1.0, 100, 1, 0.0, None)])
    assert short.tpot_ms is None


def test_two_requests_by_hand() -> None:
    """The second comes while the first waits for its first token: the second is slowed down from its start, the first from its next token on."""
    one, two = calibration.simulated(KNOWN, [Request(0.0, 100, 3, 0.0, None), Request(0.010, 100, 2, 0.0, None)])
    assert one.ttft_ms == pytest.approx(120) and two.ttft_ms == pytest.approx(120 * 1.15)
    # Tokens of the first: at 120, then 25 * 1.15 later each, until the first ends at 177.5; the second's only gap begins at 148.
    assert one.tpot_ms == pytest.approx(25 * 1.15) and two.tpot_ms == pytest.approx(25 * 1.15)


def test_a_request_without_a_place_waits_for_the_end_of_another() -> None:
    """A server with one place: 10 ms overhead, 1 ms a prompt token, 10 ms between tokens; times in milliseconds.

    The first is sent at 0 and ends at 20 + 10. The second, sent at 5, begins then: its first token comes at 30 + 20. The third, sent at 6, waits for that.
    """
    server = Simulated(overhead=10.0, per_token=1.0, inter_token=10.0, growth=0.5, places=1)
    requests = [Request(0.0, 10, 2, 0.0, None), Request(0.005, 10, 1, 0.0, None), Request(0.006, 0, 2, 0.0, None)]
    one, two, three = calibration.simulated(server, requests)
    assert (one.ttft_ms, one.tpot_ms, two.ttft_ms, three.ttft_ms, three.tpot_ms) == pytest.approx((20, 10, 45, 54, 10))
    assert [request.ttft_ms for request in calibration.simulated(dataclasses.replace(server, places=3), requests)] != [20, 45, 54]


def test_the_fit_separates_waiting_at_a_limit_from_slowdown_under_load() -> None:
    """Requests that wait for a place take as long as requests that slow each other down: only the limit distinguishes them."""
    known = dataclasses.replace(KNOWN, growth=0.0, places=4)
    stages = [calibration.simulated(known, sent(seed, rate)) for seed, rate in ((1, 2.0), (2, 5.0), (3, 6.5))]
    fitted = calibration.fit(alone(known), stages, 4)
    assert fitted.growth < 0.005 and fitted.per_token == pytest.approx(0.8, rel=0.02) and fitted.inter_token == pytest.approx(25, rel=0.02)
    assert calibration.fit(alone(known), stages).growth > 0.05


def test_three_requests_by_hand() -> None:
    """A server with 1 ms a prompt token and 10 ms a token of the answer, and 50 % more for each further request; times below in milliseconds.

    The first has its first token at 20. The second is sent at 15, so it waits 30 * 1.5 until 60; then only the first's second token, due at 35 since it was
    made when two were in flight, has come, and the first has ended. Alone again, the second takes 10 for each of two further tokens. The third comes last.
    """
    server = Simulated(overhead=10.0, per_token=1.0, inter_token=10.0, growth=0.5)
    third = Request(1.0, 0, 1, 0.0, None)
    one, two, three = calibration.simulated(server, [Request(0.0, 10, 2, 0.0, None), Request(0.015, 20, 3, 0.0, None), third])
    assert (one.ttft_ms, one.tpot_ms) == pytest.approx((20, 15)) and (two.ttft_ms, two.tpot_ms) == pytest.approx((45, 10))
    assert three == third._replace(ttft_ms=pytest.approx(10))


def test_answers_are_in_the_order_in_which_requests_are_sent() -> None:
    """The order holds although the first request takes longest."""
    requests = [Request(0.0, 1000, 9, 0.0, None), Request(0.001, 1, 1, 0.0, None)]
    assert [request.prompt for request in calibration.simulated(KNOWN, requests)] == [1000, 1]


@pytest.mark.parametrize(
    ("count", "p50", "p90"),
    [(1, 1, 1), (2, 1, 2), (3, 2, 3), (9, 5, 9), (10, 5, 9), (11, 6, 10), (200, 100, 180)],
)
def test_percentiles_are_values_at_a_rank(count: int, p50: float, p90: float) -> None:
    percentiles = calibration.percentiles([Request(0.0, 1, 1, float(number), None) for number in range(count, 0, -1)])
    assert percentiles == {"ttft_p50": p50, "ttft_p90": p90}
    assert calibration.percentiles([]) == {}


def test_the_options_of_a_known_server_are_recovered() -> None:
    loaded = [calibration.simulated(KNOWN, sent(seed, rate)) for seed, rate in ((1, 0.5), (2, 1.5), (3, 3.0))]
    fitted = calibration.fit(alone(), loaded)
    held_out = calibration.simulated(KNOWN, sent(9, 2.0))
    again = calibration.simulated(fitted, [request._replace(ttft_ms=0.0, tpot_ms=None) for request in held_out])
    assert max(map(abs, calibration.errors(held_out, again).values())) < 0.05
    assert fitted.growth == pytest.approx(KNOWN.growth, rel=0.2) and fitted.inter_token == pytest.approx(KNOWN.inter_token, rel=0.1)


@pytest.mark.parametrize("growth", [0.02, 0.067, 0.108, 0.12, 0.15, 0.52, 0.55, 0.9])
def test_the_fit_recovers_the_slowdown_under_load_within_two_percent(growth: float) -> None:
    """The other options, which requests one at a time have determined, hardly change."""
    known = Simulated(overhead=40.0, per_token=0.8, inter_token=25.0, growth=growth)
    fitted = calibration.fit(alone(known), [calibration.simulated(known, sent(seed, rate)) for seed, rate in ((1, 0.5), (2, 1.5), (3, 3.0))])
    assert (fitted.growth, fitted.overhead, fitted.per_token, fitted.inter_token) == pytest.approx((growth, 40.0, 0.8, 25.0), rel=0.02)


def test_requests_one_at_a_time_determine_overhead_and_time_per_token() -> None:
    fitted = calibration.fit(alone(), [])
    assert (fitted.overhead, fitted.per_token, fitted.inter_token) == pytest.approx((40, 0.8, 25)) and fitted.growth == 0


def test_a_single_stall_of_the_host_does_not_change_the_fit() -> None:
    stalled = [request._replace(ttft_ms=request.ttft_ms + (5000 if number == 7 else 0)) for number, request in enumerate(alone())]
    fitted = calibration.fit(stalled, [])
    assert (fitted.overhead, fitted.per_token) == pytest.approx((40, 0.8))


@pytest.mark.parametrize(
    ("requests", "rates"),
    [
        ([Request(0.0, 10, 11, 100.0, 90.0)] * 3, [0.9, 1.5, 2.1]),  # three in a second
        ([Request(0.0, 10, 1, 250.0, None), Request(0.25, 10, 1, 250.0, None)], [1.2, 2.0, 2.8]),  # of one token, one after the other
        ([Request(5.0, 10, 11, 500.0, None)], [0.6, 1.0, 1.4]),  # in one piece, and the time before it does not count
        ([Request(0.0, 10, 11, 100.0, 240.0), Request(0.0, 10, 11, 100.0, 40.0)], [0.24, 0.4, 0.56]),  # the first one ends last, after two and a half seconds
    ],
)
def test_rates_are_shares_of_what_is_served_with_several_in_flight(requests: list[Request], rates: list[float]) -> None:
    assert calibration.rates(requests) == rates


def test_overhead_and_time_per_token_are_medians() -> None:
    """Prompts take 10 ms and 2 ms a token, one of them 90 ms more; the times between tokens are 5 ms, one is 20 ms, and one is unknown."""
    lengths, late = (1, 2, 3, 4, 5, 6, 7, 8), {4: 90}
    between = {1: 20.0, 2: None}
    requests = [Request(float(n), n, 2, 10.0 + 2 * n + late.get(n, 0), between.get(n, 5.0)) for n in lengths]
    fitted = calibration.fit(requests, [[]])
    assert (fitted.overhead, fitted.per_token, fitted.inter_token, fitted.growth) == (10.0, 2.0, 5.0, 0.0)
    # where longer prompts are faster, the time per token is 0; the overhead is never 0
    quicker = calibration.fit([request._replace(ttft_ms=10.0 - request.prompt) for request in requests], [])
    assert (quicker.per_token, quicker.overhead) == (0.0, 5.5)
    assert calibration.fit([request._replace(ttft_ms=2.0 * request.prompt) for request in requests], []).overhead == 0.1


def test_pairs_of_different_lengths_must_be_enough() -> None:
    """6 and 4 requests of two lengths make 24 pairs of different lengths; 6 and 3 make only 18."""
    requests = [Request(0.0, 1, 2, 10.0, 5.0)] * 6 + [Request(0.0, 2, 2, 11.0, 5.0)] * 4
    assert calibration.fit(requests, []).per_token == 1.0
    exactly = [Request(0.0, 1, 2, 10.0, 5.0)] * 5 + [Request(0.0, 2, 2, 11.0, 5.0)] * 4
    assert calibration.fit(exactly, []).per_token == 1.0
    with pytest.raises(ValueError, match="9 answered requests with prompts of 2 lengths do not determine the time per token"):
        calibration.fit(requests[:9], [])


@pytest.mark.parametrize(
    ("requests", "message"),
    [
        (alone(KNOWN, (64,) * 10), "30 answered requests with prompts of 1 lengths do not determine"),
        ([], "0 answered requests"),
        ([request._replace(tpot_ms=None) for request in alone()], "no answer came in more than one piece"),
    ],
)
def test_requests_that_do_not_determine_a_fit_are_refused(requests: list[Request], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calibration.fit(requests, [])


def test_errors_are_shares_of_the_real_percentiles() -> None:
    real = [Request(0.0, 1, 2, float(value), 10.0) for value in range(1, 101)]
    made = [request._replace(ttft_ms=request.ttft_ms * 1.1, tpot_ms=9.0) for request in real]
    assert calibration.percentiles(real) == {"ttft_p50": 50, "ttft_p90": 90, "tpot_p50": 10, "tpot_p90": 10}
    errors = calibration.errors(real, made)
    assert {name: round(value, 9) for name, value in errors.items()} == {"ttft_p50": 0.1, "ttft_p90": 0.1, "tpot_p50": -0.1, "tpot_p90": -0.1}


def test_a_report_sets_both_side_by_side() -> None:
    real = {"1 requests/s": [Request(0.0, 1, 2, 100.0, 10.0)] * 3, "2 requests/s": [Request(0.0, 1, 1, 200.0, None)] * 3}
    made = {name: [request._replace(ttft_ms=request.ttft_ms * 0.8) for request in requests] for name, requests in real.items()}
    report = calibration.report(real, made)
    assert report["largest"] == pytest.approx(0.2) and len(report["stages"]) == 2
    lines = " ".join(" ".join(report["lines"]).split())
    assert lines.startswith("load TTFT p50 TTFT p90 TPOT p50 TPOT p90 1") and lines.count("(-20%)") == 4 and lines.count("(+0%)") == 2
    assert "200 ms, 200 ms, - - simulated 160" in lines
    assert report["stages"][0]["real"] == {"ttft_p50": 100, "ttft_p90": 100, "tpot_p50": 10, "tpot_p90": 10}
    assert report["stages"][1]["errors"] == pytest.approx({"ttft_p50": -0.2, "ttft_p90": -0.2})
    worse = calibration.report(real, {"1 requests/s": [request._replace(ttft_ms=130.0) for request in real["1 requests/s"]]})
    assert worse["largest"] == pytest.approx(0.3) and len(worse["stages"]) == 1 and calibration.report({}, {})["largest"] is None
    assert report["table"].splitlines()[1] == "|---|---:|---:|---:|---:|"


def test_rows_of_requests_become_requests() -> None:
    row = {"stage": "a", "error": "", "prompt_tokens": "100", "cached_tokens": "32", "output_tokens": "5", "ttft_ms": "12.5", "tpot_ms": "", "sent_s": "0.25"}
    others = [
        {**row, "error": "timeout"},
        {**row, "ttft_ms": ""},
        {**row, "stage": "b", "cached_tokens": "", "tpot_ms": "3"},
        {**row, "stage": "b", "cached_tokens": "101", "output_tokens": ""},
        {**row, "stage": "b", "prompt_tokens": "", "cached_tokens": ""},
        {**row, "stage": "c", "error": "timeout"},
    ]
    assert calibration.requests([row, *others]) == {
        "a": [Request(0.25, 68, 5, 12.5, None)],
        "b": [Request(0.25, 100, 5, 12.5, 3.0), Request(0.25, 0, 1, 12.5, None), Request(0.25, 0, 5, 12.5, None)],
        "c": [],
    }


def test_options_are_those_of_the_users_file() -> None:
    made = calibration.options(dataclasses.replace(KNOWN, places=33), 4096, 32)
    assert made == {
        "type": "simulator",
        "max_num_seqs": 33,
        "block_size": 32,
        "simulator": {
            "prefill_overhead": "40000us",
            "prefill_time_per_token": "800us",
            "inter_token_latency": "25000us",
            "time_factor_under_load": 5.8,
            "kv_cache_size": 4096,
        },
    }
    unknown = calibration.options(Simulated(1.2345, 0.0126, 0.5, 0.12345, places=2), 0, 0)
    assert unknown == {
        "type": "simulator",
        "max_num_seqs": 2,
        "simulator": {"prefill_overhead": "1234us", "prefill_time_per_token": "13us", "inter_token_latency": "500us", "time_factor_under_load": 1.123},
    }
    assert math.isclose(KNOWN.factor(33), 5.8) and KNOWN.factor(1) == 1


def text(stages: dict[str, list[Request]]) -> str:
    """requests.csv, with the columns that are read."""
    head = "stage,error,prompt_tokens,cached_tokens,output_tokens,ttft_ms,tpot_ms,sent_s"
    lines = [
        f"{name},,{request.prompt},0,{request.output},{request.ttft_ms},{request.tpot_ms or ''},{request.sent}"
        for name, requests in stages.items()
        for request in requests
    ]
    return "\n".join([head, *lines, ""])


def test_the_filters_read_files_and_refuse_those_without_answered_requests() -> None:
    files = {
        "alone": text({"1 at a time": alone()}),
        "together": text({"8 at a time": calibration.simulated(KNOWN, sent(3, 2.0))}),
        "loaded": text({"a": calibration.simulated(KNOWN, sent(1, 1.0)), "b": calibration.simulated(KNOWN, sent(2, 3.0))}),
    }
    made = calibration_filter(files, 64, {"blocks": {"name": "vllm:cache_config_info", "value": 1024.0}, "block_size": {"name": "x", "value": None}})
    assert made["simulator"]["kv_cache_size"] == 1024 and "block_size" not in made
    assert float(made["simulator"]["inter_token_latency"].removesuffix("us")) == pytest.approx(25000, rel=0.1)
    with pytest.raises(AnsibleFilterError, match="cannot be calibrated: 0 answered requests"):
        calibration_filter({**files, "alone": text({})})
    only = calibration_filter({**files, "loaded": text({})})
    assert only["simulator"]["time_factor_under_load"] == pytest.approx(10.45, rel=0.05), "those that are sent several at a time count, too"
    assert [stage["seconds"] for stage in calibration_rates(files["alone"], 45)] == [45, 45, 45]
    with pytest.raises(AnsibleFilterError, match="no request was answered"):
        calibration_rates(text({}), 45)
    assert calibration_report({"real": files["loaded"], "imitated": files["loaded"]})["largest"] == 0


def test_the_prefill_throughput_is_of_prompts_that_no_cache_has() -> None:
    """A prefill of 990 tokens takes 10 ms and 1 ms a token: 990 tokens a second. A stall of the host and a cached prompt do not change the result."""
    server = Simulated(overhead=10.0, per_token=1.0, inter_token=5.0)
    sent = calibration.simulated(server, [Request(number * 100.0, 990, 1, 0.0, None) for number in range(8)])
    assert calibration.prefill(sent) == {"peak_prefill_throughput": 990, "prompt_tokens": 990}
    assert calibration.prefill([*sent, sent[0]._replace(ttft_ms=60_000.0), Request(0.0, 0, 1, 3.0, None)]) == calibration.prefill(sent)
    two = [Request(0.0, 100, 1, 100.0, None), Request(0.0, 300, 1, 100.0, None)]
    assert calibration.prefill(two) == {"peak_prefill_throughput": 2000, "prompt_tokens": 200}
    assert calibration.prefill([Request(0.0, 1, 1, 5000.0, None)]) == {"peak_prefill_throughput": 1, "prompt_tokens": 1}
    assert calibration.prefill([]) is None and calibration.prefill([Request(0.0, 0, 1, 3.0, None)]) is None
    assert calibration_prefill(text({"1 at a time": sent})) == {"peak_prefill_throughput": 990, "prompt_tokens": 990}
    with pytest.raises(AnsibleFilterError, match="prefill throughput cannot be measured"):
        calibration_prefill(text({}))


@pytest.mark.parametrize(
    ("workload", "models", "words"),
    [
        ({"input_len": 16, "input_len_max": 512}, [{"id": "m", "max_model_len": 40960}], 8192),
        ({"input_len": 16, "input_len_max": 512}, [{"id": "m", "max_model_len": 8192}], 6144),  # words are more than a token at times
        ({}, [{"id": "m", "max_model_len": 8192}, {"id": "adapter", "max_model_len": 100}], 75),
        ({}, [{"id": "m", "max_model_len": 1}], 1),
        ({"input_len": 16, "input_len_max": 512}, [{"id": "m", "max_model_len": None}], 512),  # as long as those of the workload
        ({"input_len": 200}, [], 200),
        ({}, None, 1),
    ],
)
def test_calibration_prompts_are_as_long_as_the_model_server_accepts(workload: dict[str, int], models: list[dict[str, object]] | None, words: int) -> None:
    assert calibration_prompt(workload, 8192, models) == {"kind": "random", "input_len": words, "output_len": 1}
