# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boxes, arrows and texts of the pictures of the documentation, light and dark."""

from __future__ import annotations

import collections.abc as c

from plugins.module_utils.report.html import escape

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 11px; fill: #59636e } .head { font-size: 15px; font-weight: 600 }
.box { fill: #f6f8fa; stroke: #8c959f } .field { fill: #fff; stroke: #8c959f } .need { fill: #c9190b } .line { stroke: #8c959f; fill: #8c959f }
.success { stroke: #3e8635; fill: #3e8635 } .failure { stroke: #c9190b; fill: #c9190b } .always { stroke: #06c; fill: #06c }
path { fill: none !important; stroke-width: 2 } path.line { stroke-width: 1 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .box { fill: #21262d; stroke: #656c76 } .field { fill: #0d1117; stroke: #656c76 } .need { fill: #ff7b72 }
.line { stroke: #656c76; fill: #656c76 }
.success { stroke: #56d364; fill: #56d364 } .failure { stroke: #ff7b72; fill: #ff7b72 } .always { stroke: #58a6ff; fill: #58a6ff } }
"""


def picture(title: str, wide: int, high: int, parts: c.Iterable[str], heading: bool = True) -> str:
    """A picture with a title for screen readers, which is also its heading if requested."""
    label = escape(title)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img" aria-label="{label}">'
    shown = [f'<text class="head" x="20" y="24">{label}</text>'] if heading else []
    return "\n".join([head, f"<title>{label}</title><style>{STYLE}</style>", *shown, *parts, "</svg>", ""])


def box(left: int, top: int, wide: int, high: int, round_by: int = 5) -> str:
    """A box with round corners."""
    return f'<rect class="box" x="{left}" y="{top}" width="{wide}" height="{high}" rx="{round_by}"/>'


def text(x: int, y: int, words: str, kind: str = "", anchor: str = "") -> str:
    """A line of text. kind: a class of STYLE; anchor: start, middle or end."""
    attributes = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text{attributes} x="{x}" y="{y}">{escape(words)}</text>'


def arrow(kind: str, path: str, tip: str) -> str:
    """A line, and the triangle at its end."""
    return f'<path class="{kind}" d="{path}"/><polygon class="{kind}" points="{tip}"/>'


def right(kind: str, x: int, y: int, to: int) -> str:
    """An arrow to the right, or to the left where it ends there."""
    back = 7 if to > x else -7
    return arrow(kind, f"M{x} {y} H{to - back}", f"{to - back},{y - 5} {to},{y} {to - back},{y + 5}")


def down(kind: str, start: tuple[int, int], end: tuple[int, int]) -> str:
    """A curved arrow down, or up where it ends there."""
    (x, y), (to, below) = start, end
    back = 7 if below > y else -7
    bend = (below - y) // 2
    return arrow(kind, f"M{x} {y} C{x} {y + bend} {to} {below - bend} {to} {below - back}", f"{to - 5},{below - back} {to},{below} {to + 5},{below - back}")
