# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Charts: which lines are dashed, which axes are logarithmic, and how much of them is empty."""

from __future__ import annotations

import math
import re

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.report import html, svg
from hypothesis import example, given
from hypothesis import strategies as st
from plots import axes


def filled(low, high, ticks):
    """The share of a logarithmic axis between the lowest and the highest value."""
    return math.log(high / low) / math.log(ticks[-1] / ticks[0])


@given(st.floats(1e-3, 1e6), st.floats(1.02, 1e5))
@example(55.4, 57 / 55.4)
@example(10.1, 2.0)
@example(1.1, 10.0)
def test_a_logarithmic_axis_is_not_half_empty(low, times):
    ticks = svg.decades(low, low * times)
    assert filled(low, low * times, ticks) > 0.5 and 2 <= len(ticks) <= 2 * svg.TICKS + 2
    labels = [svg.tick(tick) for tick in ticks]
    assert len(set(labels)) == len(labels), "ticks that read the same"


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (50, 1900, [50, 100, 200, 500, 1000, 2000]),
        (11, 31, [10, 15, 20, 30, 40]),
        (10.1, 13.7, [10, 11, 12, 13, 14]),
        (55, 190, [50, 60, 80, 100, 150, 200]),
        (36, 57, [35, 40, 45, 50, 55, 60]),
        (10.0, 10.02, [10.0, 10.1]),
        (0.9, 60_000, [0.5, 1, 10, 100, 1000, 10_000, 100_000]),
        (12, 120, [10, 20, 50, 100, 200]),
    ],
)
def test_ticks_of_a_logarithmic_axis(low, high, ticks):
    assert svg.decades(low, high) == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("values", "label", "first"),
    [
        ((55.0, 57.0, 56.0), "milliseconds", "0"),
        ((55.0, 549.0), "milliseconds", "0"),
        ((55.0, 560.0), "milliseconds (log)", "50"),
        ((None,), "milliseconds", "0"),
    ],
)
def test_an_axis_is_linear_from_zero_unless_values_span_a_factor_of_ten(values, label, first):
    drawn = svg.line_chart("t", [("a", list(enumerate(values)))], svg.Axis("x", low=0.0), svg.Axis("milliseconds", wide=True))
    assert axes(drawn)["t", label][0] == first


def test_a_single_series_is_a_full_line():
    one, two = ([(name, [(1.0, 2.0), (2.0, 3.0)]) for name in names] for names in ("a", "ab"))
    across, up = svg.Axis("x"), svg.Axis("y")
    assert re.findall(r'class="(line [^"]*)"', svg.line_chart("t", one, across, up)) == ["line only"]
    assert re.findall(r'class="(line [^"]*)"', svg.line_chart("t", two, across, up)) == ["line s1", "line s0"]
    for names, classes in (("a", ["line only"]), ("ab", ["line s0", "line s1"])):
        assert re.findall(r'class="(line [^"]*)"', html.legend(names)) == classes
    (style,) = re.findall(r"\.line\.only\{([^}]*)\}", html.document("t", ""))
    assert "dash" not in style and "stroke:" in style
