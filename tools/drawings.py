# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of docs/architecture.md: a request through a deployment, a value through this repository, and the packages with their imports."""

from __future__ import annotations

import collections.abc as c
import re
import textwrap
from pathlib import Path

from tools import import_graph
from tools.svg import box, down, picture, right, text

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/pictures"
WIDE, HIGH = 112, 30  # of a package
STEP_WIDE, STEP_HIGH, STEP_APART, STEPS_BESIDE = 236, 104, 34, 4  # of a step of a value, and how many stand in a row


def request() -> str:
    """The way of a request: client, gateway, endpoint picker, model server."""
    parts = [
        *(box(left, top, wide, high) for left, top, wide, high in ((20, 30, 100, 50), (300, 30, 130, 50), (650, 30, 190, 50), (240, 170, 250, 90))),
        *(
            text(x, y, words, anchor="middle")
            for x, y, words in ((70, 60, "client"), (365, 60, "gateway"), (745, 53, "model servers"), (365, 195, "endpoint picker"))
        ),
        text(745, 70, "vLLM, of one InferencePool", "small", "middle"),
        text(365, 216, "filters → scorers × weights → picker", "small", "middle"),
        text(365, 236, "EndpointPickerConfig", "small", "middle"),
        right("success", 120, 55, 300),
        text(210, 47, "1  POST /v1/completions", "small", "middle"),
        right("success", 430, 55, 650),
        text(540, 47, "4  to that server", "small", "middle"),
        down("always", (340, 80), (340, 170)),
        text(330, 120, "2  headers and body", "small", "end"),
        text(330, 136, "(ext_proc)", "small", "end"),
        down("always", (390, 170), (390, 80)),
        text(400, 128, "3  the server", "small"),
        '<path class="line" d="M745 80 V215 H497"/><polygon class="line" points="497,210 490,215 497,220"/>',
        text(735, 150, "metrics: queue, KV cache,", "small", "end"),
        text(735, 166, "prefix cache", "small", "end"),
    ]
    return picture("The way of a request", 860, 280, parts, heading=False)


def steps() -> list[tuple[str, str, str]]:
    """(file, functions, what the step adds) of each step of a value, from the table of CONTRIBUTING.md."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## The way of a value\n")[2].partition("\n## ")[0]
    rows = [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in table.splitlines() if re.match(r"\| \d", line)]
    return [(file, functions, adds) for _number, file, functions, adds in rows]


def value(way: list[tuple[str, str, str]]) -> str:
    """The way of a value: a box for each step, in rows that turn at their ends."""
    parts: list[str] = []
    corners = [_corner(number) for number in range(len(way))]
    for number, ((file, functions, adds), (left, top)) in enumerate(zip(way, corners, strict=True), 1):
        lines = textwrap.wrap(adds, 38)[:4]
        folder, _slash, name = file.rpartition("/")
        head = f"{number}  {name}: {functions}"
        parts += [box(left, top, STEP_WIDE, STEP_HIGH), text(left + 10, top + 20, head if functions and len(head) < 30 else f"{number}  {name}")]
        parts += [text(left + 10, top + 36, folder, "small")]
        parts += [text(left + 10, top + 54 + 14 * line, words, "small") for line, words in enumerate(lines)]
    for (left, top), (to, below) in zip(corners, corners[1:], strict=False):
        middle = top + STEP_HIGH // 2
        if below > top:
            parts.append(down("always", (left + STEP_WIDE // 2, top + STEP_HIGH), (left + STEP_WIDE // 2, below)))
        else:
            parts.append(right("always", left + STEP_WIDE, middle, to) if to > left else right("always", left, middle, to + STEP_WIDE))
    return picture("The way of a value", corners[STEPS_BESIDE - 1][0] + STEP_WIDE + 20, corners[-1][1] + STEP_HIGH + 20, parts, heading=False)


def _corner(number: int) -> tuple[int, int]:
    row, place = divmod(number, STEPS_BESIDE)
    place = place if row % 2 == 0 else STEPS_BESIDE - 1 - place
    return 20 + place * (STEP_WIDE + STEP_APART), 20 + row * (STEP_HIGH + STEP_APART)


def packages(graph: dict[str, set[str]]) -> str:
    """Each package above all that it imports from; arrows that a longer way implies are left out."""
    arrows, rows = import_graph.direct(graph), layers(graph)
    wide = max(map(len, rows)) * (WIDE + 30) + 10
    places: dict[str, tuple[int, int]] = {}
    for number, row in enumerate(rows):
        first = (wide - len(row) * (WIDE + 30) + 30) // 2
        places |= {name: (first + place * (WIDE + 30), 20 + number * (HIGH + 46)) for place, name in enumerate(row)}
    drawn = [down("line", _below(places[name], HIGH), _below(places[other], 0)) for name, other in arrows]
    boxes = [part for name, (left, top) in places.items() for part in (box(left, top, WIDE, HIGH), text(left + WIDE // 2, top + 20, name, anchor="middle"))]
    return picture("Packages of plugins/module_utils and their imports", wide, len(rows) * (HIGH + 46) - 6, [*drawn, *boxes], heading=False)


def _below(corner: tuple[int, int], by: int) -> tuple[int, int]:
    return corner[0] + WIDE // 2, corner[1] + by


def layers(graph: dict[str, set[str]]) -> list[list[str]]:
    """The packages in rows from the top: each right above all that it imports from, and in a row near those."""
    height: dict[str, int] = {}
    for name in import_graph.order(graph):
        height[name] = max((height[other] + 1 for other in graph[name]), default=0)
    rows: list[list[str]] = []
    arrows = import_graph.direct(graph)
    for level in range(max(height.values()) + 1):
        places = {name: (place + 0.5) / len(row) for row in rows for place, name in enumerate(row)}
        row = [name for name in graph if height[name] == level]
        rows.append(sorted(row, key=lambda name: (_mean(places[used] for user, used in arrows if user == name), name)))
    return rows[::-1]


def _mean(places: c.Iterable[float]) -> float:
    values = list(places)
    return sum(values) / len(values) if values else 0.0


def generated() -> dict[Path, str]:
    """The expected content of each file."""
    made = {"request": request(), "value": value(steps()), "packages": packages(import_graph.imports())}
    return {FOLDER / f"{name}.svg": content for name, content in made.items()}
