# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the endpoint pickers of a plan run after it was applied, or would run, for people. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.objects import Facts, get_path
from ..report import text


def lines(plan: Facts, before: c.Sequence[Facts] | None, verified: c.Sequence[Facts] | None) -> list[str]:
    """How each endpoint picker decides, whether that is new, and the pods that are verified to run it.

    before: the definitions of the objects as they were before, None where nobody read them; verified: {name, pods} as stack_validation returns them, None
    where nothing was applied, in check mode.
    """
    known = {each["name"]: each["pods"] for each in verified or ()}
    found = []
    for service in plan["services"]:
        scheduler = service["scheduler"]
        does = "would run" if verified is None else "runs"
        head = f"{service['name']} {does} release {plan['release']['name']}, {scheduler['decides'][0]}{_change(scheduler, before)}"
        found += text.wrapped(head, indent="  ")
        pods = [f"{pod['pod']} (by its {pod['by']})" for pod in known.get(scheduler["name"], ())]
        told = [*scheduler["decides"][1:], *([f"verified: {', '.join(pods)}"] if pods else [] if verified is None else ["no pod is verified to run it"])]
        found += [line for each in told for line in text.wrapped(f"  {each}", indent="    ")]
    return found


def _change(scheduler: Facts, before: c.Sequence[Facts] | None) -> str:
    """Whether the configuration is the one that ran before."""
    if before is None:
        return ""
    maps = [each for each in before if each.get("kind") == "ConfigMap" and get_path(each, "metadata", "name") == scheduler["name"]]
    there: t.Any = get_path(maps[0], "data", scheduler["config_key"]) if maps else None
    return ", new" if there is None else ", unchanged" if there == scheduler["config"] else ", changed"
