# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes the facts of a role on the controller, once."""

from __future__ import annotations

import functools
import os
import typing as t

import yaml
from ansible import context
from ansible.errors import AnsibleActionFail, AnsibleLookupError
from ansible.plugins.action import ActionBase
from jinja2 import TemplateError

from ..plugin_utils import supported

supported.check()  # before what an older ansible-core, or its Python, cannot load

from ..filter.benchmark_runs import benchmark_runs
from ..module_utils.common.commands import spelled
from ..module_utils.common.objects import Facts
from ..module_utils.plan.build import explain
from ..module_utils.plan.cluster.approval import digest
from ..module_utils.plan.cluster.record import owned, wanted
from ..module_utils.plan.cluster.shown import without_additions
from ..module_utils.plan.gpus.gpu_checks import pods_of_checks
from ..module_utils.preflight.running import running
from ..module_utils.validation import targets
from ..module_utils.validation.benchmark_runs import job_definitions
from ..plugin_utils import collection, compat
from ..plugin_utils.interpreter import facts as interpreter_facts
from ..plugin_utils.planning import connection, definitions, host_folder, plain, planned, render, with_secrets
from ..plugin_utils.role_options import given as given_options

Objects = t.Callable[[], list[Facts]]  # all definitions of the plan, which are rendered once


def _running(plan: Facts, objects: Objects) -> Facts | None:
    """The planned deployment in short; None where the services are another file's."""
    empty = {"instance": plan["instance"], "namespace": plan["namespace"], "release": plan["release"]["name"], "services": {}, "gateways": {}}
    return None if plan["scope"] == "prerequisites" else next(iter(running(objects())), empty)


def _shown(plan: Facts, objects: list[Facts], added: bool) -> list[Facts]:
    """The definitions, with the pods of GPU tests and the Job of benchmarks, which runs create and delete."""
    return [*objects, *pods_of_checks(plan["gpus"]["checks"]), *job_definitions(plan, added)]


def _ours(plan: Facts) -> list[Facts]:
    bare = without_additions(plan)
    return _shown(bare, definitions(bare), added=False)


DERIVED: dict[str, t.Callable[[Facts, Objects], t.Any]] = {
    "digest": lambda plan, objects: digest(plan),
    "collections": lambda plan, objects: {"kubernetes.core": collection.version("kubernetes.core")},
    "runs": lambda plan, objects: benchmark_runs(plan),
    "targets": lambda plan, objects: targets.of(plan),
    "everything": lambda plan, objects: objects(),
    "shown": lambda plan, objects: _shown(plan, objects(), added=True),
    "ours": lambda plan, objects: _ours(plan),
    "wanted": lambda plan, objects: wanted([*with_secrets(plan, objects()), *plan["reports"]["config_maps"]]),
    "running": _running,
    "started_at": lambda plan, objects: context.CLIARGS.get("start_at_task"),  # the task that the play starts at; None for the first one
    "owned": lambda plan, objects: owned(with_secrets(plan, objects()), plan["labels"]),
}


class ActionModule(ActionBase):
    """Plan, state, connection and object definitions of a role as plain data, so that no later task computes them again."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: Facts | None = None) -> Facts:
        """Connects to nothing and changes nothing."""
        result = super().run(tmp, task_vars)
        _checked, options = self.validate_argument_spec(
            argument_spec={
                "role": {"type": "str", "required": True},
                "definitions": {"type": "dict", "default": {}},
                "variables": {"type": "dict", "default": {}},
                "derive": {"type": "list", "elements": "str", "choices": sorted(DERIVED), "default": []},
            },
        )
        variables, role, others = task_vars or {}, options["role"], options["variables"]
        try:
            given = None if others else self._given(variables, f"{role}_plan")
            plan = given or planned({**variables, **others}, self._templar.template)
        except AnsibleLookupError as error:
            return {**result, "failed": True, "msg": str(error)}
        own, problems = given_options(role, variables, self._templar.template)
        if problems:
            return {**result, "failed": True, "msg": spelled(explain(problems, f"{role}_* variables"))}
        made = {name: self._rendered(templates, plan) for name, templates in options["definitions"].items()}
        objects = functools.cache(lambda: definitions(plan))
        derived = {name: DERIVED[name](plan, objects) for name in options["derive"]}
        # The plan may hold the key of an API: callbacks do not show it. A failure above is shown.
        return {
            **result,
            **interpreter_facts(self, variables),
            "changed": False,
            "_ansible_no_log": True,
            "plan": plan,
            "state": self._given(variables, f"{role}_state") or plan["state"],
            "host_folder": os.path.join(os.sep, host_folder(variables)).rstrip(os.sep),
            "options": own,
            "connection": connection(variables, plan["connection"]),
            **made,
            **derived,
        }

    def _given(self, variables: Facts, name: str) -> t.Any:
        """The value of a role variable as plain data; None where it is left out."""
        return plain(self._templar.template(variables[name])) if name in variables else None

    def _rendered(self, templates: t.Any, plan: Facts) -> list[Facts]:
        """The definitions of one template or of several, in order."""
        objects: list[Facts] = []
        for name in [templates] if isinstance(templates, str) else templates:
            try:
                objects += render(compat.template_path(self, name), plan)
            except (TemplateError, yaml.YAMLError, ValueError) as error:
                raise AnsibleActionFail(f"{name}: {error}") from error
        return objects
