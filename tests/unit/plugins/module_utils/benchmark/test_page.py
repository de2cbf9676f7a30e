# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page and the report of a measurement show the figures that exist, and nothing for others. tests/unit/plugins/modules has real measurements."""

from __future__ import annotations

import re

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import llmd_report, page, result
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import slo as perf_slo
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.plan import Measured, Plan
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.totals import Allowed, Totals
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Shape
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.schedule import Step
from plots import axes, mislabelled_axes

USUAL = {"kind": "random", "input_len": 64, "output_len": 4}


def stage(rate=8.0, server="pod-a", slo=None, planned=0.1, late=0.0, first=lambda number: 0.1):
    made = Totals({})
    for number in range(50):
        due = number * planned
        gaps = {"prompt_tokens": 64, "output_tokens": 4, "model": "acme/tiny", "chunks": 4, "server": server, "end": due + late + 0.4, "status": 200}
        made.add(Record(number, 0, due, due + late, due + late + first(number), due + late + 0.4, **gaps))
    plan = Plan(None, None, Shape(), (), None, rules=tuple(perf_slo.rules(slo or {})), allowed=Allowed(0.1, 0.5))
    return result.stage(Measured(Step(rate=rate, seconds=10), made), plan)


def measurement(*stages, workload=None, **more):
    about = {"models": ["acme/tiny"], "workload": workload or USUAL}
    given = {"verdict": "passed", "why": [], "best_rate": None, "limited": None, "started": "2026-11-22T10:00:00+00:00", "seconds": 10.0, "client": {}}
    return {"stages": list(stages), "about": about, "url": "http://x", "nonce": "n", **given, **more}


def plots(made):
    return re.findall(r'<svg[^>]* aria-label="([^"]+)"', made)


def test_servers_are_shown_where_they_gave_their_names():
    assert "Requests per server" in plots(page.page(measurement(stage()))) and "pod-a" in page.page(measurement(stage()))
    assert "Requests per server" not in plots(page.page(measurement(stage(server=""))))
    assert "Requests per server" in plots(page.page(measurement(stage(server=""), stage(16.0))))


def test_loads_are_compared_where_there_are_several():
    assert "Throughput by load" not in plots(page.page(measurement(stage())))
    several = page.page(measurement(stage(), stage(16.0)))
    assert {"Throughput by load", "Requests answered by load", "Time to first token by load, 90th percentile"} <= set(plots(several))


def test_axes_are_labelled_log_exactly_if_they_are_logarithmic():
    made = page.page(measurement(stage(first=lambda number: 0.001 * 10 ** (number % 4)), stage(16.0, first=lambda _number: 0.001)))
    assert mislabelled_axes(made) == {}
    assert sum("(log)" in label for _title, label in axes(made)) > 3 and sum("(log)" not in label for _title, label in axes(made)) > 3


def test_the_load_axis_shows_the_target_rate_and_not_the_sent_rate():
    """A server that gets 16 requests a second and answers 10 is drawn at 16, whatever the client has sent."""
    drawn = axes(page.page(measurement(stage(), stage(16.0))))
    across = {label for (title, label), _ticks in drawn.items() if title.endswith("by load") or "by load" in title}
    assert "target requests per second" in across and not any("sent" in label for label in across)


def test_load_axes_begin_at_zero_even_for_close_loads():
    close = page.page(measurement(stage(1.2, planned=0.8), stage(1.4, planned=0.7)))
    drawn = {title: ticks for (title, label), ticks in axes(close).items() if title.endswith("by load") and "(log)" not in label}
    assert len(drawn) >= 2 and all(ticks[0] == "0" for ticks in drawn.values())


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (0.04, "0.0 ms"), (99.4, "99.4 ms"), (99.96, "100.0 ms"), (100.0, "100 ms"), (1500.0, "1500 ms")])
def test_a_latency_has_a_decimal_up_to_a_tenth_of_a_second(value, text):
    assert page.shown_time(value) == text


def test_the_report_has_a_rate_for_open_and_a_concurrency_for_closed_loops():
    def load(**step):
        made = {**stage(), "rate": None, "concurrency": None, **step}
        return llmd_report.report(measurement(made), 0)["scenario"]["load"]["standardized"]

    assert "concurrency" not in load(rate=8.0) and "rate_qps" not in load(concurrency=16)
    assert load(rate=8.0)["rate_qps"] == 8.0 and load(concurrency=16)["concurrency"] == 16


def test_plots_over_time_leave_out_only_the_last_slice():
    made = measurement(stage(planned=0.2))
    whole = len(made["stages"][0]["series"])
    drawn = dict(re.findall(r'<svg[^>]* aria-label="([^"]+ over time)">.*?<path class="line only" d="([^"]*)"', page.page(made)))
    assert whole > 5 and {title: path.count("L") + 1 for title, path in drawn.items()} == {
        "Time to first token over time": whole - 1, "Answers over time": whole - 1,
    }  # fmt: skip
    for planned, slices, points in ((0.05, 3, 3), (0.07, 4, 3)):
        few = measurement(stage(planned=planned))
        assert len(few["stages"][0]["series"]) == slices
        assert re.findall(r'over time">.*?<path class="line only" d="([^"]*)"', page.page(few))[0].count("L") + 1 == points


def test_the_page_reports_how_many_stages_no_plot_shows():
    assert "only in the table" not in page.page(measurement(stage(), stage(16.0)))
    many = [stage(float(rate)) for rate in range(1, page.SHOWN + 4)]
    assert "3 of" in (text := page.page(measurement(*many))) and "only in the table" in text
    shown = [each["rate"] for each in page.spread(many)]
    assert len(shown) == page.SHOWN and shown[0] == 1.0 and shown[-1] == page.SHOWN + 3
    assert '<p class="soft">3 of 10 stages are only in the table.</p>' in text and len(page.spread(many[:7])) == 7


def test_stages_that_are_shown_lie_evenly_among_all():
    assert [page.spread(range(count)) for count in (7, 13, 8)] == [[0, 1, 2, 3, 4, 5, 6], [0, 2, 4, 6, 8, 10, 12], [0, 1, 2, 4, 5, 6, 7]]


def tooltips(made, title):
    """The tooltips of the marks of a chart."""
    (chart,) = re.findall(rf'<svg[^>]* aria-label="{title}">.*?</svg>', made, re.DOTALL)
    return re.findall(r"<title>([^<]+)</title>", chart)[1:]


def with_servers(rate, counts):
    return {**stage(rate), "servers": {f"pod-{number}": count for number, count in enumerate(counts)}}


def test_servers_are_shown_by_what_they_did_the_busiest_first():
    counts = list(range(1, 19))
    alone = tooltips(page.page(measurement(with_servers(8.0, counts))), "Requests per server")
    assert alone == [f"pod-{number}: {number + 1}" for number in range(17, 1, -1)] and len(alone) == page.BARS == 16
    both = tooltips(page.page(measurement(with_servers(8.0, counts), with_servers(16.0, [3, 5]))), "Requests per server")
    assert both == [*(f"rate 8: {count}" for count in range(18, 2, -1)), "rate 16: 5", "rate 16: 3"]


def test_loads_are_shown_in_their_order_with_their_figures():
    """A ramp has no single rate and is left out; a measurement of closed loops is drawn by concurrency."""
    made = [{**stage(rate), "output_tokens_per_s": rate * 4, "requests_per_s": rate - 1} for rate in (16.0, 8.0)]
    ramp, closed = {**stage(), "to_rate": 99.0}, {**stage(), "rate": None, "concurrency": 5}
    text = page.page(measurement(*made, ramp, closed))
    title = "Throughput by load"
    assert tooltips(text, title) == [title, f"{title}: 8, 32", f"{title}: 16, 64"]
    title = "Requests answered by load"
    assert tooltips(text, title) == [title, f"{title}: 8, 7", f"{title}: 16, 15"]
    title = "Time to first token by load, 90th percentile"
    assert tooltips(text, title) == [title, f"{title}: 8, 100", f"{title}: 16, 100"]
    loops = page.page(measurement(*({**stage(), "rate": None, "concurrency": number, "output_tokens_per_s": 3.0 * number} for number in (4, 2))))
    assert tooltips(loops, "Throughput by load")[1:] == ["Throughput by load: 2, 6", "Throughput by load: 4, 12"]
    assert "Throughput by load" not in page.page(measurement(stage(), stage(), ramp))


def cells(text):
    """The rows of the tables of a page."""
    return [re.findall(r"<t[hd]>([^<]*)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]


def test_a_row_of_the_table():
    made = {
        **stage(), "requests_per_s": 9.46, "output_tokens_per_s": 37.7, "goodput_share": 0.126, "hit_ratio": None, "failed": 3, "client_cpu": 0.126,
        "ttft_from_schedule_ms": {"p50": 12.34, "p90": 123.4, "p99": 12345.0}, "tpot_ms": {"p50": None, "p90": 9.96}, "e2e_from_schedule_ms": {"p90": 99.96},
    }  # fmt: skip
    head, row = cells(page.page(measurement(made)))[:2]
    assert dict(zip(head, row, strict=True)) == {
        "load": "rate 8", "TTFT p50": "12.3 ms", "TTFT p90": "123 ms", "TTFT p99": "12.3 s", "TPOT p50": "-", "TPOT p90": "10.0 ms",
        "end to end p90": "100.0 ms",
        "requests/s": "9.5", "output tokens/s": "38", "good": "13 %", "cache hits": "-", "failed": "3 of 50", "client CPU": "0.13",
    }  # fmt: skip


def test_a_row_of_the_comparison():
    rows = [
        {
            "label": "rate 8",
            "name": "tpot_p50_ms",
            "baseline": 100.0,
            "measured": 123.456,
            "ratio": 1.23456,
            "low": 1.0,
            "high": 1.5,
            "verdict": "same",
            "why": None,
        },
        {
            "label": "rate 8",
            "name": "itl_p50_ms",
            "baseline": 1.0,
            "measured": 2.0,
            "ratio": None,
            "low": None,
            "high": None,
            "verdict": "unknown",
            "why": "few",
        },
    ]
    rows.append({**rows[1], "name": "itl_p90_ms", "measured": None, "low": 1.2, "verdict": "worse", "why": None})
    text = page.page(measurement(stage(), comparison=rows))
    assert cells(text)[-3:] == [
        ["load", "what", "baseline", "now", "ratio", "95 % interval", ""],
        ["rate 8", "tpot_p50_ms", "100", "123.456", "1.235", "1 to 1.5", "same"],
        ["rate 8", "itl_p90_ms", "1", "-", "-", "at least 1.2", "worse"],
    ]
    assert '<p class="soft">Rate 8: itl_p50_ms: not compared with the baseline; few.</p>' in text
    assert "Compared with the baseline" not in page.page(measurement(stage(), comparison=[]))
    nothing = page.page(measurement(stage(), comparison=rows[1:2]))
    assert "Compared with the baseline" in nothing and ["load", "what"] not in [row[:2] for row in cells(nothing)]


def test_the_verdict_is_shown_with_its_reasons_and_the_limiting_factor():
    text = page.page(measurement(stage(), verdict="failed", why=["first <b>", "second"], limited="the server was saturated"))
    assert '<span class="verdict failed">failed</span> the server was saturated.</p><ul class="why"><li>first &lt;b&gt;</li><li>second</li></ul>' in text
    assert '<ul class="why">' not in page.page(measurement(stage())) and "Performance of acme/tiny" in text


def test_plots_without_enough_values_are_left_out_of_the_page():
    whole = measurement(stage(first=lambda _number: 0.4))  # in one piece
    assert not {"Time per output token", "Time between tokens"} & set(plots(page.page(whole))) and "Time to last token" in plots(page.page(whole))
    short = measurement(stage(planned=0.02))  # ends within two slices of a second
    assert len(short["stages"][0]["series"]) == 2 and "Answers over time" not in plots(page.page(short))
    both = page.page(measurement(stage(planned=0.02), stage(16.0)))
    assert "Answers over time" in plots(both)


def test_curves_of_many_points_have_no_dots():
    text = page.page(measurement(stage(planned=0.2)))
    for title in ("Time to first token", "Time per output token", "Time to last token", "Time to first token over time", "Answers over time"):
        assert tooltips(text, title) == ["rate 8"]


def test_axes_of_shares_and_of_time():
    drawn = axes(page.page(measurement(stage(planned=0.2))))
    assert [drawn["Time to first token", "share"][index] for index in (0, -1)] == ["0", "1"]
    for title in ("Time to first token over time", "Answers over time"):
        assert drawn[title, "seconds since the start of the stage"][0] == "0"
    assert drawn["Answers over time", "requests per second"][0] == "0"


def test_the_page_shows_objectives_and_the_highest_rate_only_with_an_slo():
    with_slo = page.page(measurement(stage(slo={"ttft_p90_ms": 150}), best_rate=8.0))
    assert "<h2>Objectives</h2>" in with_slo and "met every objective: 8 requests/s" in with_slo
    without = page.page(measurement(stage(), best_rate=8.0))
    assert "<h2>Objectives</h2>" not in without and "met every objective" not in without


def test_a_late_client_is_marked():
    assert "†" not in page.page(measurement(stage()))
    assert page.page(measurement(stage(late=1.0))).count("†") == 2
    # objectives that are clear of it hold
    clear = stage(late=0.15, slo={"ttft_from_schedule_p90_ms": 5000})
    shown = page.page(measurement(clear))
    assert clear["valid"] and "sent late" in clear["late"] and "†" not in shown and shown.count("‡") == 2


def test_an_objective_that_is_missed_by_less_than_the_client_was_late_is_not_clear():
    missed = {each["name"]: each for each in stage(late=0.05, slo={"ttft_from_schedule_p50_ms": 120, "ttft_from_schedule_p90_ms": 20})["slo"]}
    assert not any(each["met"] for each in missed.values())
    assert (missed["ttft_from_schedule_p50_ms"]["clear"], missed["ttft_from_schedule_p90_ms"]["clear"]) == (False, True)


def test_a_report_has_the_series_of_its_stage():
    made = llmd_report.report(measurement(stage()), 0)
    series = made["results"]["request_performance"]["time_series"]
    assert series["throughput"]["request_rate"]["series"][0]["ts"].startswith("2026-11-22T10:00:0")
    empty = {**stage(), "series": []}
    assert "time_series" not in llmd_report.report(measurement(empty), 0)["results"]["request_performance"]


@pytest.mark.parametrize(
    ("workload", "prefix", "turns"),
    [
        (USUAL, None, None),
        ({**USUAL, "kind": "shared_prefix", "system_prompt_len": 100, "groups": 3, "prompts_per_group": 7}, (3, 7), None),
        ({**USUAL, "kind": "chats", "system_prompt_len": 100, "groups": 3, "turns": 5}, (3, 1), 5),
        ({**USUAL, "kind": "chats", "system_prompt_len": 100, "groups": 3, "turns": 5, "turns_max": 9}, (3, 1), 9),
    ],
)
def test_a_report_describes_the_workload(workload, prefix, turns):
    load = llmd_report.report(measurement(stage(), workload=workload), 0)["scenario"]["load"]["standardized"]
    assert (load.get("prefix") and (load["prefix"]["num_groups"], load["prefix"]["num_users_per_group"])) == prefix
    assert (load.get("multi_turn") and load["multi_turn"]["max_turns"]["value"]) == turns
    assert load["source"] == "random" and load["rate_qps"] == 8.0


def test_a_report_has_every_latency_that_was_measured():
    latency = llmd_report.report(measurement(stage()), 0)["results"]["request_performance"]["aggregate"]["latency"]
    assert latency["time_to_first_token"]["mean"] == pytest.approx(100, rel=0.01) and len(latency) >= 3
