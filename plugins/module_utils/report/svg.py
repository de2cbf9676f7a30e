# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Charts as inline SVG without script: lines and bars. Pure.

Colors come from the style sheet of the page by class (`s0`, `s1`, ...), for light and dark themes. Lines also differ by their dashes, for readers
who cannot tell the colors apart.
"""

from __future__ import annotations

import collections.abc as c
import dataclasses
import math
import typing as t

from .html import escape, series_class

Point = tuple[float, float]

WIDTH, HEIGHT = 560, 320
LEFT, RIGHT, TOP, BOTTOM = 78, 26, 18, 56
TICKS = 6
LADDERS = ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8))  # ticks of a power of ten on a logarithmic axis, the coarser first
FULL = 2 / 3  # of a logarithmic axis that values fill at least, if there are ticks for it
MARKS = 4  # ticks that it has at least, if values are not all but equal
WIDE = 10.0  # times by which values differ that take a logarithmic axis
CHARACTER = 11  # width of a character on a phone, where letters are larger
ROOM = 5 * CHARACTER  # between labels of the horizontal axis
ROWS = 3  # of names below bars


@dataclasses.dataclass(frozen=True)
class Axis:
    """One axis. A logarithmic one leaves out values that are not above 0, and says so after its label.

    wide: it is logarithmic where its values differ by a factor of WIDE, and begins at 0 otherwise.
    """

    label: str
    log: bool = False
    low: float | None = None
    high: float | None = None
    wide: bool = False

    def settled(self, values: c.Iterable[t.Any]) -> Axis:
        """The axis as it is drawn for these values."""
        known = [value for value in values if value is not None and math.isfinite(value) and value > 0] if self.wide else []
        if self.log or (known and max(known) >= WIDE * min(known)):
            return dataclasses.replace(self, label=f"{self.label} (log)", log=True, low=None if self.wide else self.low, wide=False)
        return dataclasses.replace(self, low=0.0 if self.wide else self.low, wide=False)


@dataclasses.dataclass(frozen=True)
class Scale:
    """Maps values to coordinates along one axis."""

    low: float
    high: float
    start: float
    end: float
    log: bool
    ticks: list[float]

    def __call__(self, value: float) -> float:
        low, high, value = (math.log10(each) for each in (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        return round(self.start + (value - low) / (high - low) * (self.end - self.start), 1)


def nice(low: float, high: float, count: int = TICKS, least: float = 0.0) -> list[float]:
    """Round numbers 1, 2, 5 times a power of ten, `least` apart at least, from at or below `low` to at or above `high`."""
    wanted = max((high - low) / count, least) if high > low else max(1.0, least)
    step = 10 ** math.floor(math.log10(wanted))
    step = next(step * factor for factor in (1, 2, 5, 10) if step * factor >= wanted * (1 - 1e-9))
    return [round(index * step, 12) for index in range(math.floor(low / step), math.ceil(high / step) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Ticks of a logarithmic axis around `low` and `high`, both above zero, that are filled by what lies between: as coarse as that allows, 1, 2, 5 times
    powers of ten best; powers of ten alone, and the ends, where that would be too many."""
    for factors in LADDERS:
        every = [factor * 10.0**power for power in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2) for factor in factors]
        first = max(index for index, value in enumerate(every) if value <= low)
        last = min(index for index, value in enumerate(every) if value >= high)
        ticks = every[first : max(last, first + 1) + 1]
        if math.isclose(low, high) or (len(ticks) >= MARKS and math.log(high / low) >= FULL * math.log(ticks[-1] / ticks[0])):
            return [value for value in ticks if len(ticks) <= 2 * TICKS or value in (ticks[0], ticks[-1]) or _is_power(value)]
    # they lie close together: any round numbers that three digits tell apart
    return nice(low, high, least=10.0 ** (math.floor(math.log10(high)) - 2))


def scale(axis: Axis, values: c.Iterable[float], start: float, end: float) -> Scale:
    """A scale that shows all values."""
    known = [value for value in values if math.isfinite(value) and (value > 0 or not axis.log)]
    low = axis.low if axis.low is not None else min(known, default=1.0)
    high = max(axis.high if axis.high is not None else max(known, default=1.0), low)
    if math.isclose(high, low):  # rounded, their ticks would be one
        low, high = (low / 2, high * 2) if axis.log else (low, low + 1)
    ticks = decades(low, high) if axis.log else nice(low, high)
    return Scale(ticks[0], ticks[-1], start, end, axis.log, ticks)


def number(value: float) -> str:
    """A value with thousands separators or 3 significant digits."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def tick(value: float) -> str:
    """A value in about five characters, the room beside an axis."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1000 if letter == 'k' else size):g}{letter}"
    return number(value)


def line_chart(title: str, series: c.Sequence[tuple[str, c.Sequence[Point]]], x: Axis, y: Axis, dots: bool = True, steps: bool = False) -> str:
    """Lines of (x, y) points, one per series; a single one is a full line. `steps` holds each value until the next, as the distribution of a sample does."""
    x, y = (axis.settled(point[place] for _name, points in series for point in points) for place, axis in enumerate((x, y)))
    drawn = [[point for point in points if _shown(point[0], x) and _shown(point[1], y)] for _name, points in series]
    across = scale(x, (point[0] for points in drawn for point in points), LEFT, WIDTH - RIGHT)
    up = scale(y, (point[1] for points in drawn for point in points), HEIGHT - BOTTOM, TOP)
    parts = [_frame(across, up, x.label, y.label)]
    # the first series is on top with the smallest dots, so that lines that coincide are all visible
    for index, ((name, _points), points) in reversed(list(enumerate(zip(series, drawn, strict=True)))):
        places = [(across(left), up(height)) for left, height in points]
        look = series_class(index, len(series))
        path = "M" + (_steps(places) if steps else " L".join(f"{left} {top}" for left, top in places)) if places else ""
        parts.append(f'<path class="line {look}" d="{path}"><title>{escape(name)}</title></path>' if path else "")
        if dots:
            tooltips = (escape(f"{name}: {number(left)}, {number(height)}") for left, height in points)
            parts += [
                f'<circle class="dot {look}" cx="{left}" cy="{top}" r="{3 + index}"><title>{words}</title></circle>'
                for (left, top), words in zip(places, tooltips, strict=True)
            ]
    return _svg(title, parts)


def bar_chart(title: str, bars: c.Sequence[tuple[str, c.Sequence[float]]], y: Axis, unit: str = "", colors: str = "bar") -> str:
    """Groups of bars, one group per name. `colors`: one for each group (`group`) or one for all (`bar`)."""
    up = scale(dataclasses.replace(y, low=0.0), (value for _name, values in bars for value in values), HEIGHT - BOTTOM, TOP)
    wide = (WIDTH - LEFT - RIGHT) / max(1, len(bars))
    parts = [_grid_y(up, y.label)]
    names, rows = _fitted([name for name, _values in bars], wide)
    for index, (name, values) in enumerate(bars):
        each = wide * 0.76 / max(1, len(values))
        for place, value in enumerate(values):
            left, top = round(LEFT + wide * (index + 0.12) + each * place, 1), up(value)
            tooltip = escape(f"{name}: {number(value)}{unit}")
            parts.append(
                f'<rect class="s{index if colors == "group" else 0}" x="{left}" y="{top}" width="{round(each * 0.9, 1)}" '
                f'height="{round(up(0) - top, 1)}" rx="2"><title>{tooltip}</title></rect>'
            )
            if len(values) == 1 and len(number(value) + unit) * CHARACTER < wide:
                parts.append(f'<text class="value" x="{round(left + each * 0.45, 1)}" y="{top - 4}" text-anchor="middle">{number(value)}{unit}</text>')
        middle = round(min(LEFT + wide * (index + 0.5), WIDTH - CHARACTER * len(names[index]) / 2), 1)
        low = HEIGHT - BOTTOM + 16 + 17 * (index % rows)
        parts.append(f'<text class="tick" x="{middle}" y="{low}" text-anchor="middle">{escape(names[index])}</text>')
    return _svg(title, parts)


def _svg(title: str, parts: c.Iterable[str]) -> str:
    label = escape(title)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}"><title>{label}</title>{"".join(parts)}</svg>'


def _frame(across: Scale, up: Scale, x_label: str, y_label: str) -> str:
    bottom = HEIGHT - BOTTOM
    places = [(across(value), tick(value)) for value in across.ticks]
    lines = "".join(f'<line class="grid" x1="{left}" x2="{left}" y1="{TOP}" y2="{bottom}"/>' for left, _text in places)
    words = "".join(f'<text class="tick" x="{left}" y="{bottom + 20}" text-anchor="middle">{text}</text>' for left, text in _apart(places, ROOM))
    label = f'<text class="label" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>'
    return _grid_y(up, y_label) + lines + words + label


def _grid_y(up: Scale, label: str) -> str:
    middle = (TOP + HEIGHT - BOTTOM) / 2
    lines = "".join(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(value)}" y2="{up(value)}"/>' for value in up.ticks)
    words = "".join(f'<text class="tick" x="{LEFT - 8}" y="{up(value) + 4}" text-anchor="end">{tick(value)}</text>' for value in up.ticks)
    return f'{lines}{words}<text class="label" transform="rotate(-90 14 {middle})" x="14" y="{middle}" text-anchor="middle">{escape(label)}</text>'


def _fitted(names: c.Sequence[str], wide: float) -> tuple[list[str], int]:
    """(names, rows): the names in as many rows as keep them apart, cut to their ends where they are too long, since names of pods differ there."""
    rows = min(ROWS, max(1, len(names)), max(1, math.ceil(max((len(name) for name in names), default=1) * CHARACTER / wide)))
    most = max(2, int(rows * wide / CHARACTER) - 1)
    return [name if len(name) <= most else "…" + name[1 - most :] for name in names], rows


def _apart(places: c.Sequence[tuple[float, str]], room: float) -> list[tuple[float, str]]:
    """The labels that fit beside each other."""
    kept: list[tuple[float, str]] = []
    for place in places:
        if not kept or place[0] - kept[-1][0] >= room:
            kept.append(place)
    return kept


def _steps(places: c.Sequence[Point]) -> str:
    """A path that goes right first, then up."""
    text = f"{places[0][0]} {HEIGHT - BOTTOM} V{places[0][1]}"
    return text + "".join(f" H{left} V{top}" for left, top in places[1:])


def _shown(value: t.Any, axis: Axis) -> bool:
    return value is not None and math.isfinite(value) and (value > 0 or not axis.log)


def _is_power(value: float) -> bool:
    return abs(math.log10(value) - round(math.log10(value))) < 1e-9
