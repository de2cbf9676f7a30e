# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs side by side: ratios, headline, table, page and charts."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.llm_d.inference.plugins.filter.comparison import comparison as comparison_filter
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import comparison, comparison_page, stats
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.report import svg
from hypothesis import given
from hypothesis import strategies as st

POSITIVE = st.floats(1e-3, 1e7)


def measured(rate, milliseconds, failed=0, lag=0.0, server="pod-a"):
    """A stage of 20 requests whose first tokens all took so long."""
    records = []
    for number in range(20):
        due = number / rate
        records.append(Record(number, 0, due, due + lag, due + milliseconds / 1000, due + 2, due + 2, 200, 100, 5, 50, server))
    for record in records[:failed]:
        record.fail("http_503", "no healthy <upstream>")
    return stats.stage_summary(records, float(rate), 0.1, 0.1)


def run(preset, *stages):
    return {"preset": preset, "stages": list(stages), "total": stats.together(stages)}


BASE = run("round_robin", measured(2, 500), measured(8, 800))
OURS = run("prefix_aware", measured(2, 100), measured(8, 50))


def test_ratios_are_the_baselines_by_ours():
    found = comparison.results([BASE, OURS], {})
    assert [entry["ttft_p90_ratio"] for entry in found["runs"]] == [{"2": 1.0, "8": 1.0}, {"2": 5.0, "8": 16.0}]
    assert found["baseline"] == "round_robin" and found["valid"] is True


def test_the_headline_is_the_greatest_gain():
    assert comparison.results([BASE, OURS], {})["headline"] == (
        "prefix_aware: 90 % of first tokens within 50 ms at 8 requests/s, 16.0 times sooner than with round_robin (800 ms)."
    )


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([BASE], "nothing to compare"),
        ([OURS, BASE], "No preset beats prefix_aware"),
        ([BASE, run("queue", measured(2, 1, failed=2), measured(8, 1, failed=2))], "nothing to compare"),
    ],
)
def test_headlines_that_claim_nothing(runs, said):
    assert said in comparison.results(runs, {})["headline"]


def test_a_tenth_of_failures_leaves_no_percentile_to_compare():
    assert comparison.p90(measured(8, 50, failed=1)) == 50.0 and comparison.p90(measured(8, 50, failed=2)) is None


def test_the_table_has_a_row_for_each_rate_and_preset():
    found = comparison.results([BASE, OURS], {})
    text = comparison.table(found)
    assert [line.split(" | ")[:2] for line in text.splitlines()[4:]] == [
        ["| 2", "round_robin"],
        ["| 2", "prefix_aware"],
        ["| 8", "round_robin"],
        ["| 8", "prefix_aware"],
    ]
    assert "| 8 | prefix_aware | 50 ms | 50 ms | 50 ms | 16.0 |" in text and "†" not in text
    assert len({len(line) for line in comparison.lines(found)[:5]}) == 1


def test_a_late_client_is_marked():
    found = comparison.results([BASE, run("queue", measured(2, 500, lag=0.3), measured(8, 800))], {})
    assert found["valid"] is False and "| queue † |" in comparison.table(found) and "† The client itself" in comparison_page.page(found)


def test_the_page_needs_no_network_and_escapes_what_it_shows():
    page = comparison_page.page(comparison.results([run("<b>", *BASE["stages"]), OURS], {"model": "a<script>", "workload": {"groups": 24}}))
    assert not re.search(r"(?i)src=|https?:|<link|@import|url\(|<script|<b>", page)
    assert "a&lt;script&gt;" in page and "groups 24" in page


def test_every_chart_is_well_formed_and_within_its_frame():
    page = comparison_page.page(comparison.results([BASE, OURS], {}))
    charts = re.findall(r"<svg viewBox=\"0 0 560.*?</svg>", page)
    assert len(charts) == 5  # the ladder, two rates, hits, servers
    for chart in charts:
        assert ElementTree.fromstring(chart).find("title").text


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=30), st.booleans(), st.booleans())
def test_lines_stay_within_the_axes(points, log_x, log_y):
    chart = ElementTree.fromstring(svg.line_chart("t", [("a", points)], svg.Axis("x", log_x), svg.Axis("y", log_y)))
    for circle in chart.iter("circle"):
        assert svg.LEFT - 0.1 <= float(circle.get("cx")) <= svg.WIDTH - svg.RIGHT + 0.1
        assert svg.TOP - 0.1 <= float(circle.get("cy")) <= svg.HEIGHT - svg.BOTTOM + 0.1


@given(POSITIVE, POSITIVE)
def test_ticks_embrace_the_values_and_are_few(one, other):
    low, high = sorted((one, other))
    for ticks in (svg.decades(low, high), svg.nice(low, high) if high > low else [low, high]):
        assert ticks == sorted(ticks) and ticks[0] <= low * (1 + 1e-9) and ticks[-1] >= high * (1 - 1e-9) and 2 <= len(ticks) <= 15


def test_charts_without_values():
    assert ElementTree.fromstring(svg.line_chart("t", [("a", [])], svg.Axis("x"), svg.Axis("y", log=True)))
    assert ElementTree.fromstring(svg.line_chart("t", [("a", [(1, None), (2, 0)])], svg.Axis("x"), svg.Axis("y", log=True)))
    assert ElementTree.fromstring(svg.bar_chart("t", [("a", []), ("b", [0.0])], svg.Axis("y")))


def test_the_filter_returns_all_forms_and_refuses_others():
    found = comparison_filter([BASE, OURS], {"model": "acme/tiny"})
    assert found["results"]["about"] == {"model": "acme/tiny"} and found["page"].startswith("<!doctype html>") and found["table"].startswith("prefix_aware")
    for wrong in ([], "text", [{"preset": "a"}]):
        with pytest.raises(AnsibleFilterError, match="list of runs"):
            comparison_filter(wrong)


def test_one_rate_makes_no_ladder():
    page = comparison_page.page(comparison.results([run("round_robin", measured(8, 800)), run("queue", measured(8, 700))], {}))
    assert "by rate" not in page and len(re.findall("<figure>", page)) == 3


@pytest.mark.parametrize(("count", "length"), [(1, 60), (4, 12), (7, 15), (16, 40)])
def test_names_below_bars_neither_touch_nor_leave_the_picture(count, length):
    names = [f"{'x' * (length - 2)}{index:02d}" for index in range(count)]
    drawn = svg.bar_chart("t", [(name, [1234567.0]) for name in names], svg.Axis("requests"))
    words = [(float(x), int(y), said) for x, y, said in re.findall(r'<text class="tick" x="([\d.]+)" y="(\d+)" text-anchor="middle">([^<]+)', drawn)]
    assert len(words) == count and len({said for _x, _y, said in words}) == count
    assert all(said[-2:] == name[-2:] for (_x, _y, said), name in zip(words, names))
    wide = 10  # of a character at 390 px, where letters are 18 units high
    for x, y, said in words:
        assert 0 <= x - wide * len(said) / 2 and x + wide * len(said) / 2 <= svg.WIDTH and y <= svg.HEIGHT - 4
        assert all(abs(x - other) >= wide * (len(said) + len(beside)) / 2 for other, row, beside in words if row == y and other != x)
    values = [float(x) for x in re.findall(r'<text class="value" x="([\d.]+)"', drawn)]
    assert all(second - first > wide * len("1,234,567") for first, second in zip(values, values[1:]))


def test_numbers_beside_an_axis_have_room():
    assert [svg.tick(value) for value in (0.05, 500, 5000, 20000, 1500000, 2e9)] == ["0.05", "500", "5,000", "20k", "1.5M", "2G"]
