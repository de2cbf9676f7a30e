# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the steps of a canary on the control node."""

from __future__ import annotations

from ansible.plugins.action import ActionBase

from ..module_utils.common.commands import spelled
from ..module_utils.common.objects import Facts
from ..module_utils.common.scalars import blank
from ..module_utils.plan.build import Mistakes, explain
from ..module_utils.plan.canary import KINDS, WHAT, canary
from ..plugin_utils.interpreter import facts as interpreter_facts
from ..plugin_utils.planning import connection, definitions, plain, read
from ..plugin_utils.role_options import given


class ActionModule(ActionBase):
    """Returns the plan and the changed objects of each step, and of the state before them, which the user's file describes."""

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
        role_options, role_option_problems = given("canary", task_vars or {}, self._templar.template)
        if role_option_problems:
            return {**result, "failed": True, "msg": explain(role_option_problems, WHAT)}
        try:
            made = canary(user, {name: role_options[name] if blank(value) else value for name, value in plain(options).items()})
        except Mistakes as mistakes:
            return {**result, "failed": True, "msg": spelled(str(mistakes))}
        # The objects of all states, in the same order; only those that differ between states are returned.
        objects_by_state = [[item for item in definitions(step["plan"]) if item["kind"] in KINDS] for step in (made["before"], *made["steps"])]
        changing = [index for index, versions in enumerate(zip(*objects_by_state, strict=True)) if any(item != versions[0] for item in versions)]
        before, *steps = (
            {**step, "objects": [items[index] for index in changing]} for step, items in zip([made["before"], *made["steps"]], objects_by_state, strict=True)
        )
        plan = before["plan"]
        # Plans may contain an API key, so callbacks do not show the result; role_facts does the same.
        return {
            **result,
            **interpreter_facts(self, task_vars or {}),
            **made,
            "changed": False,
            "_ansible_no_log": True,
            "options": role_options,
            "before": before,
            "steps": steps,
            "state": plan["state"],
            "connection": connection(task_vars or {}, plan["connection"]),
        }
