# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The axes of the plots of a page."""

from __future__ import annotations

import re


def axes(page: str) -> dict[tuple[str, str], list[str]]:
    """{(title of the plot, label of the axis): ticks} of every axis with a label."""
    ticks = {}
    for title, plot in re.findall(r'<svg[^>]* aria-label="([^"]+)">(.*?)</svg>', page, re.DOTALL):
        for anchor, tag in (("middle", r'<text class="label" x='), ("end", r'<text class="label" transform=')):
            for label in re.findall(rf"{tag}[^>]*>([^<]+)</text>", plot):
                ticks[title, label] = re.findall(rf'<text class="tick"[^>]* text-anchor="{anchor}">([^<]+)</text>', plot)
    return ticks


def mislabelled_axes(page: str) -> dict[tuple[str, str], list[str]]:
    """Axes that are logarithmic without (log) in their label, or linear with it. Only linear axes have a tick 0: they begin there, also one that should be
    logarithmic, if its smallest value is small compared with the largest."""
    return {axis: ticks for axis, ticks in axes(page).items() if ("0" in ticks) == ("(log)" in axis[1])}
