# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plots of a page show."""

from __future__ import annotations

import re


def axes(page: str) -> dict[tuple[str, str], list[str]]:
    """(title, label of the axis) -> its ticks, of every axis that has a label."""
    found = {}
    for title, drawn in re.findall(r'<svg[^>]* aria-label="([^"]+)">(.*?)</svg>', page, re.DOTALL):
        for anchor, label in (("middle", r'<text class="label" x='), ("end", r'<text class="label" transform=')):
            for said in re.findall(rf"{label}[^>]*>([^<]+)</text>", drawn):
                found[title, said] = re.findall(rf'<text class="tick"[^>]* text-anchor="{anchor}">([^<]+)</text>', drawn)
    return found


def wrong_axes(page: str) -> dict[tuple[str, str], list[str]]:
    """Axes that are logarithmic although their label does not say so, or the other way round. A logarithmic one has no 0, and the others begin there: so does
    one that is wrongly linear, if the smallest value is small beside the largest."""
    return {axis: ticks for axis, ticks in axes(page).items() if ("0" in ticks) == ("(log)" in axis[1])}
