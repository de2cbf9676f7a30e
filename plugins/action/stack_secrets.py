# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply the Secrets with values of the user's file. The values are read here, so that they are not arguments of a task, which callbacks could show."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

from ..module_utils.common.labels import MANAGED_BY, PART_OF
from ..module_utils.plan.build import Mistakes, explain, secret_definitions
from ..module_utils.schema.fields import Problem
from ..plugin_utils.in_process import shown
from ..plugin_utils.planning import read
from .cluster_objects import OPTIONS
from .cluster_objects import ActionModule as ClusterObjects


class ActionModule(ClusterObjects):
    """Like cluster_objects, with definitions made from the variables of the host."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Fail with the problems of the user's file, or apply the Secrets."""
        result = ActionBase.run(self, tmp, task_vars)
        foreign = {"foreign": {"type": "str", "choices": ["refuse", "take"], "default": "refuse"}}
        # Arguments for the connection pass unchecked; those of cluster_objects, which are set below, are refused.
        _checked, given = self.validate_argument_spec(argument_spec={**{name: {"type": "raw"} for name in self._task.args if name not in OPTIONS}, **foreign})
        user, problems = read(task_vars or {}, self._templar.template)
        try:
            definitions = [] if problems else secret_definitions(user)
        except Mistakes as mistakes:
            problems: list[Problem] = mistakes.problems
        if problems:
            return {**result, "failed": True, "msg": explain(problems)}
        labels = definitions[0]["metadata"]["labels"] if definitions else {}
        owner = {name: labels[name] for name in (MANAGED_BY, PART_OF) if name in labels}
        options = {
            "definitions": definitions,
            "state": "present",
            "owned_by": owner,
            "foreign": given["foreign"],
            "skip_forbidden": False,
            "force_conflicts": True,
            "field_manager": "llm_d.inference",
        }
        return shown(self.bring(result, options, task_vars))
