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
from tools.svg import box, down, picture, right, text

FOLDER = Path(__file__).resolve().parent.parent / "docs/pictures"
SURVEY = "llm-d: Deploy a model service with inference scheduling"
LINKS = {"success_nodes": "success", "failure_nodes": "failure", "always_nodes": "always"}
WIDE, HIGH, APART, BELOW = 150, 56, 40, 78  # of a node, and between two of them
Facts = dict[str, t.Any]


def workflow(flow: Facts) -> str:
    """The nodes of a workflow, with arrows from each to its successors: those that follow upon success in one row, the others below it."""
    nodes = {node["identifier"]: node for node in flow["simplified_workflow_nodes"]}
    row = [next(iter(nodes))]
    while following := nodes[row[-1]].get("success_nodes"):
        row += following
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
    return picture(flow["name"], wide, 50 + 2 * HIGH + BELOW + 50, [*drawn, *boxes, *legend])


def _node(corner: tuple[int, int], node: Facts) -> c.Iterator[str]:
    left, top = corner
    approval = "approval_node" in node
    name = node["approval_node"]["name"] if approval else node["unified_job_template"]
    yield box(left, top, WIDE, HIGH, HIGH // 2 if approval else 5)
    lines = textwrap.wrap(name.removeprefix("llm-d: "), 18)
    first = top + HIGH // 2 + 5 - 8 * (len(lines) - 1)
    yield from (text(left + WIDE // 2, first + 16 * number, line, anchor="middle") for number, line in enumerate(lines))


def _link(start: tuple[int, int], end: tuple[int, int], kind: str) -> str:
    """An arrow to the right in a row, or down to the one below."""
    if start[1] == end[1]:
        return right(kind, start[0] + WIDE, start[1] + HIGH // 2, end[0])
    return down(kind, (start[0] + WIDE // 2, start[1] + HIGH), (end[0] + WIDE // 2 + (start[0] - end[0]) // 12, end[1]))


def survey(template: Facts) -> str:
    """The questions of a survey, in two columns."""
    parts, questions = [], template["survey_spec"]["spec"]
    tops = [50, 50]
    for number, question in enumerate(questions):
        left, top = 20 + 420 * (number % 2), tops[number % 2]
        need = '<tspan class="need"> *</tspan>' if question["required"] else ""
        parts.append(f'<text x="{left}" y="{top}">{escape(question["question_name"])}{need}</text>')
        lines = textwrap.wrap(question["question_description"], 66)
        parts += [text(left, top + 18 + 15 * line, words, "small") for line, words in enumerate(lines)]
        field = top + 10 + 15 * len(lines)
        parts.append(f'<rect class="field" x="{left}" y="{field}" width="390" height="30" rx="3"/>')
        if "choices" in question:
            parts += [text(left + 10, field + 19, _fitted(question["choices"]), "small"), text(left + 370, field + 20, "▾")]
        tops[number % 2] = field + 62
    return picture(template["name"], 850, max(tops) - 12, parts)


def _fitted(choices: list[str]) -> str:
    """The choices that fit into a field."""
    return textwrap.shorten(", ".join(choices), 60, placeholder=" …")


def generated() -> dict[Path, str]:
    """The expected content of each file."""
    made = controller.data()
    (flow,) = made["controller_workflows"]
    (template,) = [each for each in made[controller.TEMPLATES] if each["name"] == SURVEY]
    return {FOLDER / "awx-workflow.svg": workflow(flow), FOLDER / "awx-survey.svg": survey(template)}
