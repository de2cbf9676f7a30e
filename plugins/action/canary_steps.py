# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the steps of a canary on the controller."""

from __future__ import annotations

from ansible.plugins.action import ActionBase

from ..module_utils.common.commands import spelled
from ..module_utils.common.objects import Facts
from ..module_utils.common.scalars import blank
from ..module_utils.plan.build import Mistakes, explain
from ..module_utils.plan.canary import KINDS, WHAT, canary
from ..plugin_utils.interpreter import facts as interpreter_facts
from ..plugin_utils.planning import definitions, plain, read
from ..plugin_utils.role_options import given


class ActionModule(ActionBase):
    """The plan and the objects of each step, and of the user's file."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: Facts | None = None) -> Facts:
        """Connects to nothing and changes nothing."""
        result = super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(
            argument_spec={name: {"type": "raw", "required": name in ("steps", "pause")} for name in ("service", "to", "steps", "pause")},
        )
        user, problems = read(task_vars or {}, self._templar.template)
        if problems:
            return {**result, "failed": True, "msg": spelled(explain(problems))}
        own, option_problems = given("canary", task_vars or {}, self._templar.template)
        if option_problems:
            return {**result, "failed": True, "msg": explain(option_problems, WHAT)}
        try:
            made = canary(user, {name: own[name] if blank(value) else value for name, value in plain(options).items()})
        except Mistakes as mistakes:
            return {**result, "failed": True, "msg": spelled(str(mistakes))}
        everything = [[item for item in definitions(step["plan"]) if item["kind"] in KINDS] for step in (made["before"], *made["steps"])]
        moving = [number for number, versions in enumerate(zip(*everything, strict=True)) if any(item != versions[0] for item in versions)]
        before, *steps = (
            {**step, "objects": [items[number] for number in moving]} for step, items in zip([made["before"], *made["steps"]], everything, strict=True)
        )
        plan = before["plan"]
        # As with role_facts, callbacks do not show it.
        return {
            **result,
            **interpreter_facts(self, task_vars or {}),
            **made,
            "changed": False,
            "_ansible_no_log": True,
            "options": own,
            "before": before,
            "steps": steps,
            "state": plan["state"],
            "connection": {name: value for name, value in plan["connection"].items() if value},
        }
