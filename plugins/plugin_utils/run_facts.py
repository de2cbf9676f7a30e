# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a run that callbacks keep: failed tasks, and the statistics about stacks."""

from __future__ import annotations

import typing as t

from ..module_utils.common.objects import Facts

INPUTS = "llm_d.inference.inputs"
STATISTIC = "inference_stacks"


def stacks(stats: t.Any) -> Facts:
    """{HOST: {NAME: report}} of the statistics of a run, see role reports; empty where it has none."""
    return (stats.custom.get("_run") or {}).get(STATISTIC) or {}


def failed(result: t.Any) -> Facts:
    """{task, msg, problems, reached} of the result of a task; of a loop, of its first item that failed. problems: mistakes in the user's file."""
    outcome = result.result
    items = [item for item in outcome.get("results") or [] if isinstance(item, dict) and item.get("failed")]
    outcome = items[0] if items else outcome
    why = outcome.get("msg") or outcome.get("censored") or "it gives no reason"
    return {
        "task": result.task_name,
        "msg": "\n".join(map(str, why)) if isinstance(why, list) else str(why),
        "problems": outcome.get("problems") if result.task.action == INPUTS else None,
        "reached": outcome.get("reached"),
    }


def unreachable(result: t.Any) -> Facts:
    """The same for a host that was not reached."""
    return {"task": result.task_name, "msg": str(result.result.get("msg", "")), "reached": False}
