# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A summary for users of how the endpoint pickers of a plan decide, or would decide if it were applied. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.objects import Facts, get_path
from ..report import text


def lines(plan: Facts, before: c.Sequence[Facts] | None, verified: c.Sequence[Facts] | None) -> list[str]:
    """How each endpoint picker decides, whether that is new, and the pods that are verified to run it.

    before: the previous definitions of the objects, None if they were not read; verified: {name, pods} as stack_validation returns them, None in check mode,
    where nothing was applied.
    """
    known = {each["name"]: each["pods"] for each in verified or ()}
    output = []
    for service in plan["services"]:
        scheduler = service["scheduler"]
        does = "would run" if verified is None else "runs"
        head = f"{service['name']} {does} release {plan['release']['name']}, {scheduler['decides'][0]}{_change(scheduler, before)}"
        output += text.wrapped(head, indent="  ")
        pods = [f"{pod['pod']} (by its {pod['by']})" for pod in known.get(scheduler["name"], ())]
        details = [*scheduler["decides"][1:], *([f"verified: {', '.join(pods)}"] if pods else [] if verified is None else ["no pod is verified to run it"])]
        output += [line for each in details for line in text.wrapped(f"  {each}", indent="    ")]
    return output


def _change(scheduler: Facts, before: c.Sequence[Facts] | None) -> str:
    """The difference from the previous configuration: new, unchanged or changed; empty if it is unknown."""
    if before is None:
        return ""
    maps = [each for each in before if each.get("kind") == "ConfigMap" and get_path(each, "metadata", "name") == scheduler["name"]]
    there: t.Any = get_path(maps[0], "data", scheduler["config_key"]) if maps else None
    return ", new" if there is None else ", unchanged" if there == scheduler["config"] else ", changed"
