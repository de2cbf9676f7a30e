# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of docs/awx.md: the workflow and a survey, as AWX shows them, drawn from what configure_awx.yml gives it."""

from __future__ import annotations

import collections.abc as c
import textwrap
import typing as t
from pathlib import Path

from plugins.module_utils.report.html import escape
from tools import controller

FOLDER = Path(__file__).resolve().parent.parent / "docs/pictures"
SURVEY = "llm-d: Deploy a model service with inference scheduling"
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 11px; fill: #59636e } .head { font-size: 15px; font-weight: 600 }
.box { fill: #f6f8fa; stroke: #8c959f } .field { fill: #fff; stroke: #8c959f } .need { fill: #c9190b }
.success { stroke: #3e8635; fill: #3e8635 } .failure { stroke: #c9190b; fill: #c9190b } .always { stroke: #06c; fill: #06c }
path { fill: none !important; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .box { fill: #21262d; stroke: #656c76 } .field { fill: #0d1117; stroke: #656c76 } .need { fill: #ff7b72 }
.success { stroke: #56d364; fill: #56d364 } .failure { stroke: #ff7b72; fill: #ff7b72 } .always { stroke: #58a6ff; fill: #58a6ff } }
"""
LINKS = {"success_nodes": "success", "failure_nodes": "failure", "always_nodes": "always"}
WIDE, HIGH, APART, BELOW = 150, 56, 40, 78  # of a node, and between two of them
Facts = dict[str, t.Any]


def workflow(flow: Facts) -> str:
    """The nodes of a workflow: those that follow upon success in one row, the others below it, and what follows upon what."""
    nodes = {node["identifier"]: node for node in flow["simplified_workflow_nodes"]}
    row = [next(iter(nodes))]
    while found := nodes[row[-1]].get("success_nodes"):
        row += found
    other = [name for name in nodes if name not in row]
    shift = (len(row) - len(other)) / 2
    places = {name: (place, 0) for place, name in enumerate(row)} | {name: (place + shift, 1) for place, name in enumerate(other)}
    corners = {name: (round(20 + place * (WIDE + APART)), 50 + line * (HIGH + BELOW)) for name, (place, line) in places.items()}
    drawn = [_link(corners[name], corners[to], kind) for name, node in nodes.items() for link, kind in LINKS.items() for to in node.get(link, [])]
    boxes = [part for name, node in nodes.items() for part in _node(corners[name], node)]
    legend = [
        f'<text x="{20 + 190 * place}" y="{50 + 2 * HIGH + BELOW + 34}"><tspan class="{kind}" stroke="none">→</tspan> {words}</text>'
        for place, (kind, words) in enumerate((("success", "after success"), ("failure", "after a failure"), ("always", "in any case")))
    ]
    wide = 40 + len(row) * (WIDE + APART) - APART
    return _picture(flow["name"], wide, 50 + 2 * HIGH + BELOW + 50, [*drawn, *boxes, *legend])


def _node(corner: tuple[int, int], node: Facts) -> c.Iterator[str]:
    left, top = corner
    approval = "approval_node" in node
    name = node["approval_node"]["name"] if approval else node["unified_job_template"]
    yield f'<rect class="box" x="{left}" y="{top}" width="{WIDE}" height="{HIGH}" rx="{HIGH // 2 if approval else 5}"/>'
    lines = textwrap.wrap(name.removeprefix("llm-d: "), 18)
    first = top + HIGH // 2 + 5 - 8 * (len(lines) - 1)
    yield from (f'<text x="{left + WIDE // 2}" y="{first + 16 * number}" text-anchor="middle">{escape(line)}</text>' for number, line in enumerate(lines))


def _link(start: tuple[int, int], end: tuple[int, int], kind: str) -> str:
    """An arrow to the right in a row, or down to the one below."""
    if start[1] == end[1]:
        x, y, right = start[0] + WIDE, start[1] + HIGH // 2, end[0] - 7
        return _arrow(kind, f"M{x} {y} H{right}", f"{right},{y - 5} {right + 7},{y} {right},{y + 5}")
    x, y, to, down = start[0] + WIDE // 2, start[1] + HIGH, end[0] + WIDE // 2 + (start[0] - end[0]) // 12, end[1] - 7
    return _arrow(kind, f"M{x} {y} C{x} {y + BELOW * 2 // 3} {to} {y + BELOW // 3} {to} {down}", f"{to - 5},{down} {to},{down + 7} {to + 5},{down}")


def _arrow(kind: str, path: str, tip: str) -> str:
    return f'<path class="{kind}" d="{path}"/><polygon class="{kind}" points="{tip}"/>'


def survey(template: Facts) -> str:
    """The questions of a survey, in two columns."""
    parts, asked = [], template["survey_spec"]["spec"]
    tops = [50, 50]
    for number, question in enumerate(asked):
        left, top = 20 + 420 * (number % 2), tops[number % 2]
        need = '<tspan class="need"> *</tspan>' if question["required"] else ""
        parts.append(f'<text x="{left}" y="{top}">{escape(question["question_name"])}{need}</text>')
        lines = textwrap.wrap(question["question_description"], 66)
        parts += [f'<text class="small" x="{left}" y="{top + 18 + 15 * line}">{escape(text)}</text>' for line, text in enumerate(lines)]
        field = top + 10 + 15 * len(lines)
        parts.append(f'<rect class="field" x="{left}" y="{field}" width="390" height="30" rx="3"/>')
        if "choices" in question:
            parts.append(f'<text class="small" x="{left + 10}" y="{field + 19}">{escape(_fitted(question["choices"]))}</text>')
            parts.append(f'<text x="{left + 370}" y="{field + 20}">▾</text>')
        tops[number % 2] = field + 62
    return _picture(template["name"], 850, max(tops) - 12, parts)


def _fitted(choices: list[str]) -> str:
    """As many choices as a field has room for."""
    return textwrap.shorten(", ".join(choices), 60, placeholder=" …")


def _picture(title: str, wide: int, high: int, parts: c.Iterable[str]) -> str:
    said = escape(title)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img" aria-label="{said}">'
    return "\n".join([head, f"<title>{said}</title><style>{STYLE}</style>", f'<text class="head" x="20" y="24">{said}</text>', *parts, "</svg>", ""])


def generated() -> dict[Path, str]:
    """The expected content of each file."""
    made = controller.data()
    (flow,) = made["controller_workflows"]
    (template,) = [each for each in made[controller.TEMPLATES] if each["name"] == SURVEY]
    return {FOLDER / "awx-workflow.svg": workflow(flow), FOLDER / "awx-survey.svg": survey(template)}
