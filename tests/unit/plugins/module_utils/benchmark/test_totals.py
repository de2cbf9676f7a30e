# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The totals of a stage of few requests, each figure by hand. test_options.py has stages that are merged, and clients that are late by a share."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.totals import NAMES, Allowed, Totals
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record


def totals(*records, **good):
    made = Totals(good)
    for each in records:
        made.add(each)
    return made


def answered(number=0, planned=0.0, sent=None, first=0.1, last=0.4, end=None, prompt=64, tokens=4, **more):
    sent = planned if sent is None else sent
    return Record(number, 0, planned, sent, planned + first, planned + last, planned + (last if end is None else end), 200, prompt, tokens, **more)


def failed(kind="http_503", sent=0.0, end=0.5, detail="answered 503"):
    return Record(0, 0, 0.0, sent, end=end, error=kind, detail=detail)


def summary(*records, **good):
    return totals(*records, **good).summary(Allowed())


def picked(figures, **wanted):
    return {name: figures[name] for name in wanted}, wanted


def test_counts_and_rates_by_hand():
    """The run takes 8 seconds and has 300 tokens of prompts and 70 of answers."""
    made = totals(
        answered(0, sent=0.5, prompt=100, tokens=30, cached_tokens=40, chunks=3, server="pod-a", model="one"),
        answered(1, sent=2.0, prompt=100, tokens=40, cached_tokens=0, chunks=4, server="pod-b", model="two"),
        answered(2, sent=1.0, planned=7.5, last=0.5, prompt=100, tokens=None, chunks=1, server="pod-a", model="one", token_source="none"),
        failed(sent=None, end=1.0, detail=None),
        failed("timeout", sent=4.5, end=3.0, detail="did not answer"),
    )
    made.cpu = 2.0
    figures, wanted = picked(
        made.summary(Allowed()),
        requests=5, ok=3, failed=2, error_rate=0.4, errors={"http_503": 1, "timeout": 1}, error_example="did not answer", seconds=8.0,
        sent_per_s=0.75,  # 4 were sent within 4 seconds: 3 gaps
        requests_per_s=0.375, output_tokens_per_s=8.75, prompt_tokens_per_s=37.5, total_tokens_per_s=46.25, goodput_per_s=0.375, goodput_share=0.6,
        goodput_tokens_per_s=8.75, client_cpu=0.25, prompt_tokens=300, output_tokens=70, cached_tokens=40, hit_ratio=0.2, chunks=8,
        token_source={"none": 1, "usage": 2}, servers={"pod-a": 2, "pod-b": 1}, models={"": 2, "one": 2, "two": 1},
    )  # fmt: skip
    assert figures == wanted
    assert (made.input_len.n, made.input_len.mean, made.output_len.n, made.output_len.mean) == (3, 100.0, 2, 35.0)


def test_figures_are_rounded_to_what_can_be_read():
    made = totals(*(answered(number, planned=3.0, sent=3.0 + number, last=4.0, prompt=3, tokens=1, cached_tokens=1) for number in range(2)), failed(sent=5.0))
    made.cpu = 1.0
    figures, wanted = picked(
        made.summary(Allowed()), requests_per_s=0.286, error_rate=0.33333, hit_ratio=0.33333, goodput_share=0.66667, client_cpu=0.143, sent_per_s=1.0
    )
    assert figures == wanted


def test_a_stage_without_requests_has_an_empty_summary():
    figures, wanted = picked(
        Totals().summary(Allowed()),
        requests=0, error_rate=None, seconds=0.0, sent_per_s=None, requests_per_s=0.0, goodput_share=None, client_cpu=0.0, cached_tokens=None, hit_ratio=None,
        client_share=0.0, late=None,
    )  # fmt: skip
    assert figures == wanted


def test_the_send_rate_requires_two_different_send_times():
    assert summary(answered())["sent_per_s"] is None and summary(answered(), answered())["sent_per_s"] is None
    assert summary(answered(), answered(sent=0.5))["sent_per_s"] == 2.0


def test_latencies_by_hand():
    """Due at 1, sent 0.2 later, the first token at 1.5, the last of 5 at 2.5, a second in all after a queue of 75 ms."""
    figures = summary(answered(planned=1.0, sent=1.2, first=0.5, last=1.5, end=1.6, tokens=5, gaps=[0.2, 0.4], queue_ms=75.0))
    wanted = {"ttft": 300, "ttft_from_schedule": 500, "e2e": 1300, "e2e_from_schedule": 1500, "tpot": 250, "ntpot": 260, "queue": 75, "send_lag": 200}
    assert {name: figures[f"{name}_ms"]["mean"] for name in wanted} == pytest.approx(wanted) and figures["seconds"] == 2.6
    assert (figures["itl_ms"]["n"], figures["itl_ms"]["min"], figures["itl_ms"]["max"]) == (2, 200.0, 400.0)


@pytest.mark.parametrize(
    ("good", "met"),
    [
        ({}, 1),
        ({"ttft_ms": 500.1}, 1),
        ({"ttft_ms": 499.9}, 0),
        ({"e2e_ms": 1500.1}, 1),
        ({"e2e_ms": 1499.9}, 0),
        ({"tpot_ms": 250.1}, 1),
        ({"tpot_ms": 249.9}, 0),
        ({"ntpot_ms": 260.1}, 1),
        ({"ntpot_ms": 259.9}, 0),
        ({"itl_ms": 400.1}, 1),  # the longest
        ({"itl_ms": 399.9}, 0),
        ({"ttft_ms": 501, "itl_ms": 399}, 0),
    ],
)
def test_a_good_request_keeps_every_bound(good, met):
    figures = summary(answered(planned=1.0, sent=1.2, first=0.5, last=1.5, tokens=5, gaps=[0.2, 0.4]), **good)
    assert (figures["goodput_share"], figures["goodput_tokens_per_s"]) == (met, 2.0 * met)


def test_a_good_request_at_its_bound():
    """0.5 seconds are 500 ms in binary as well."""
    assert summary(answered(first=0.5, last=0.75), ttft_ms=500, e2e_ms=750)["goodput_share"] == 1


@pytest.mark.parametrize(("tokens", "share"), [(None, 0.0), (1, 1.0), (2, 0.0)])
def test_an_answer_in_one_piece_has_no_time_per_output_token(tokens, share):
    assert summary(answered(first=0.4, last=0.4, tokens=tokens), tpot_ms=1e6)["goodput_share"] == share


def test_the_hit_ratio_counts_only_answers_that_report_cached_tokens():
    records = [answered(prompt=100, cached_tokens=25), answered(prompt=300), answered(prompt=0, cached_tokens=5), answered(prompt=None, cached_tokens=7)]
    figures, wanted = picked(summary(*records), cached_tokens=25, hit_ratio=0.25, prompt_tokens=400)
    assert figures == wanted


def test_names_beyond_a_thousand_are_counted_together():
    made = totals(*(answered(server=f"pod-{number}") for number in range(NAMES + 2)), answered(server="pod-0"))
    servers = made.summary(Allowed())["servers"]
    assert NAMES == 1000 and len(servers) == 1001 and servers["pod-0"] == 2 and servers["pod-999"] == 1 and servers["(others)"] == 2


def test_only_first_turns_of_conversations_count_for_the_pace():
    """The second one of a conversation is due when the first was answered."""
    made = totals(*(answered(planned=float(number), last=1.0 + number) for number in range(3)), answered(planned=50.0, turn=1))
    assert made.pace.n == 3 and made.pace.share == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("sent", "client", "why"),
    [
        (0.1, (), None),
        (0.101, (), "the client sent late: 99 % of requests within 101.0 ms of their time, 100 ms allowed"),
        (0.0, (100.0,), None),
        (0.0, (250.0,), "the client itself stalled: its clock ran up to 250 ms late, 99 % of the time within 250.0 ms, 100 ms allowed"),
        (0.0, (*[0.0] * 98, 150.0, 300.0), "the client itself stalled: its clock ran up to 300 ms late, 99 % of the time within 150."),
        (0.0, (*[0.0] * 99, 300.0), None),
    ],
)
def test_a_client_that_is_too_late(sent, client, why):
    made = totals(answered(sent=sent, first=90.0, last=95.0))
    for lag in client:
        made.client_lag.add(lag)
    late = made.summary(Allowed(0.1, 0))["late"]
    assert late is None if why is None else late is not None and late.startswith(why)


@pytest.mark.parametrize(
    ("lag", "first", "metrics", "why"),
    [
        (10.0, 100, ("ttft_from_schedule",), None),
        (10.2, 100, ("ttft_from_schedule",), "it was 10.2 ms late at p99, where ttft_from_schedule_ms is 100.0, so that 10% of it may be its own, 10% allowed"),
        (2.0, 4, ("ttft_from_schedule",), None),  # no host's timers are better than that
        (2.1, 4, ("ttft_from_schedule",), "so that 52% of it"),
        (30.0, 100, ("e2e",), None),
        (30.0, 100, ("e2e", "ttft"), "where ttft_ms is 100.0, so that 30% of it"),
        (30.0, 100, (), None),
    ],
)
def test_a_client_is_late_above_its_allowed_share_of_a_latency(lag, first, metrics, why):
    made = totals(answered(first=first / 1000, last=0.4))
    made.client_lag.add(lag)
    late = made.summary(Allowed(0.1, 0.1, metrics))["late"]
    assert late is None if why is None else late is not None and why in late
    assert made.summary(Allowed())["client_share"] == (pytest.approx(lag / first, abs=5e-5) if lag > 2 else 0)


def test_a_client_is_late_at_reading_and_from_the_schedule_at_sending_as_well():
    made = totals(answered(sent=0.03))
    made.client_lag.add(20.0)
    late = {name: made.late(name, 99) for name in ("ttft", "ttft_from_schedule", "e2e_from_schedule", "itl")}
    assert late == pytest.approx({"ttft": 20, "ttft_from_schedule": 30, "e2e_from_schedule": 30, "itl": 20}) and Totals().late("ttft", 99) == 0.0


def test_the_client_share_is_rounded_to_a_hundredth_of_a_percent():
    made = totals(answered(first=0.3))
    made.client_lag.add(10.0)
    assert made.summary(Allowed())["client_share"] == 0.0333


def test_two_clients_together():
    left, right, idle = totals(answered(sent=1.0, last=3.0)), totals(failed(sent=4.0, end=5.0, detail="first"), answered(sent=2.0)), Totals()
    left.cpu, right.cpu = 0.5, 0.75
    idle.merge(Totals())
    assert idle.sent is None
    idle.merge(left)
    left.merge(right)
    left.merge(Totals())
    assert (left.wall, left.sent, left.cpu, left.example, left.failed) == (5.0, (1.0, 4.0), 1.25, "first", 1) and idle.sent == (1.0, 1.0)
    assert left.summary(Allowed())["sent_per_s"] == pytest.approx(2 / 3, abs=5e-4)
