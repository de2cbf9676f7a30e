# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stage over time, by hand: slices of one second, and of two where it takes longer than there are slices."""

from __future__ import annotations

import math

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.series import SLICES, Series
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record


def ended(end, due=0.0, tokens=10, error=None):
    return Record(0, 0, due, end=end, output_tokens=tokens, error=error)


def series(*requests):
    """The series of requests, each (record, seconds to its first token)."""
    made = Series()
    for each, ttft in requests:
        each.first = None if ttft is None else each.planned + ttft
        made.add(each)
    return made


def row(second, requests, tokens, failed, p50, p90):
    near = [None if value is None else pytest.approx(value, rel=0.0051) for value in (p50, p90)]
    return dict(
        zip(("second", "requests_per_s", "output_tokens_per_s", "failed", "ttft_p50_ms", "ttft_p90_ms"), (second, requests, tokens, failed, *near), strict=True)
    )


FIRST = (ended(0.5), 0.25), (ended(1.5, due=0.9, tokens=30), 0.5), (ended(1.9, due=1.0, tokens=None), 0.75), (ended(1.6, due=1.1, error="timeout"), None)


def test_slices_of_a_second():
    """A time to first token counts where its request was due, the answer where it ended."""
    assert series(*FIRST).rows() == [row(0.0, 1.0, 10.0, 0, 250, 500), row(1.0, 2.0, 30.0, 1, 750, 750)]


def test_slices_of_two_seconds():
    made = series(*FIRST, (ended(float(SLICES), due=-0.5, tokens=5), 1.0))
    rows = made.rows()
    assert made.width == 2.0 and len(rows) == SLICES / 2 + 1
    assert rows[0] == row(0.0, 1.5, 20.0, 1, 500, 1000) and rows[-1] == row(float(SLICES), 0.5, 2.5, 0, None, None)
    assert series((ended(SLICES - 0.1), 0.1)).width == 1.0


def test_percentiles_of_a_slice():
    """The p50 and the p90 of ten requests are those of the fifth and the ninth."""
    assert series(*((ended(0.9), 0.01 * number) for number in range(1, 11))).rows() == [row(0.0, 10.0, 100.0, 0, 50, 90)]


@pytest.mark.parametrize("first", [True, False])
def test_series_of_different_slice_widths_are_merged_by_time(first):
    """Each short slice lies within a long one; the result is the same whichever series is merged into the other."""
    short, long = series((ended(0.5), 0.1), (ended(2.5), 0.1), (ended(5.5, error="timeout"), None)), series((ended(1.0), 0.3), (ended(130.0, tokens=4), 0.3))
    assert (short.width, long.width) == (1 / 16, 2.0)
    one, other = (short, long) if first else (long, short)
    one.merge(other)
    rows = one.rows()
    assert one.width == 2.0 and [each["requests_per_s"] for each in rows[:4]] == [1.0, 0.5, 0.0, 0.0] and [each["failed"] for each in rows[:4]] == [0, 0, 1, 0]
    assert [each["output_tokens_per_s"] for each in (rows[0], rows[1], rows[65])] == [10.0, 5.0, 2.0] and len(rows) == 66
    assert rows[0]["ttft_p90_ms"] == pytest.approx(300, rel=0.0051) and rows[0]["ttft_p50_ms"] == pytest.approx(100, rel=0.0051)


def ending(counts, width):
    """This number of answers in each slice."""
    made = Series(width)
    for index, count in enumerate(counts):
        for _number in range(count):
            made.add(ended((index + 0.5) * width))
    return made


@pytest.mark.parametrize("width", [1.0, 2.0])
def test_the_spread_of_a_rate_is_computed_from_whole_slices_only(width):
    """The first and the last are not whole. 2, 4, 4, 6: a variance of 8 / 3, and of 4 values 3.182 standard errors, as a share of 4."""
    assert ending([9, 2, 4, 4, 6, 1], width).spread("ok", 0.0, 9 * width) == pytest.approx(3.182 * math.sqrt(8 / 3 / 4) / 4, rel=0.01)
    assert ending([9, 2, 4, 4, 1], width).spread("ok", 0.0, 9 * width) is None
    assert ending([9, 3, 3, 3, 3, 1], width).spread("tokens", 0.0, 9 * width) == 0.0
    # of what lies behind the first answer and before the drain: 4, 4, 6, 6
    half = 3.182 * math.sqrt(4 / 3 / 4 * 1.5) / 5  # neighbours have a correlation of a quarter
    assert ending([9, 2, 4, 4, 6, 6, 1, 1, 1], width).spread("ok", 1.5 * width, 6.5 * width) == pytest.approx(half, rel=0.01)


def test_a_slice_counts_answers_and_tokens_of_the_requests_due_in_it():
    """Requests count where they were due, whenever they ended: 1, 2, 1, 2 in the slices between the first and the last."""
    made = series(
        (ended(SLICES - 0.1), None),  # so that slices are as wide as a second
        *((ended(30.0 - due, due=due, tokens=4), None) for due in (0.5, 1.5, 2.2, 2.4, 3.5, 4.1, 4.9, 5.5)),
        (ended(9.0, due=4.5, error="timeout"), None),
    )
    assert [each.due_ok for each in made.slices[:7]] == [2, 1, 2, 1, 2, 1, 0] and [each.due_tokens for each in made.slices[:3]] == [14, 4, 8]
    half = 3.182 * math.sqrt(1 / 3 / 4) / 1.5
    assert made.spread("due_ok", 0.5, 5.5) == made.spread("due_tokens", 0.5, 5.5) == pytest.approx(half, rel=0.01)


@pytest.mark.parametrize("seconds", [0.02, 0.7, 9.0, 100.0, 5000.0])
def test_a_stage_has_many_slices_however_short_it_is(seconds):
    made = series(*((ended(seconds * number / 200, due=seconds * number / 200), 0.0) for number in range(200)))
    assert SLICES / 2 - 2 <= len(made.slices) <= SLICES or seconds < 0.06
    assert sum(row["requests_per_s"] for row in made.rows()) * max(1.0, made.width) == pytest.approx(200, abs=0.2)
    assert made.parts == len(made.slices) and made.worth("ttft_from_schedule", [1.0]) == 1.0


def test_slow_requests_in_clusters_count_as_fewer_independent_requests():
    """If every second request is slow, requests count as independent; if all are slow for ten seconds, then none for ten, 15 or more count as one."""
    alone = series(*((ended(float(number), due=number / 4), 0.1 + number % 2) for number in range(240)))
    tied = series(*((ended(number / 4, due=number / 4), 0.1 + (number % 80 < 40)) for number in range(240)))
    assert alone.worth("ttft_from_schedule", [600.0]) == 1.0 and tied.worth("ttft_from_schedule", [600.0, 5000.0]) > 15
    lost = series(*((ended(number / 4, due=number / 4, error="timeout" if number % 80 < 40 else None), 0.1) for number in range(240)))
    assert lost.worth("ttft_from_schedule", [math.inf]) > 15
    assert series((ended(0.0), 0.1)).worth("ttft_from_schedule", [1.0]) is None and Series().worth("tpot", [1.0]) is None
