# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the user's llm_d_* variables on the control node."""

from __future__ import annotations

import dataclasses
import typing as t

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..plugin_utils import supported

supported.check()  # before what an older ansible-core, or its Python, cannot load

from ..module_utils.common.commands import spelled
from ..module_utils.common.objects import get_path
from ..module_utils.plan.build import PREFIX, Mistakes, explain, in_order, plan, redacted
from ..module_utils.plan.build import problems as problems_of
from ..module_utils.schema.fields import Problem
from ..module_utils.schema.variables import VARIABLES
from ..plugin_utils.compared_presets import preset_problems
from ..plugin_utils.interpreter import facts as interpreter_facts
from ..plugin_utils.planning import fleet, fleet_folder, read, same_place
from ..plugin_utils.results import without_credentials
from ..plugin_utils.role_options import given, locked_paths, missing_options, option_problems
from ..plugin_utils.run_files import remove_orphans

CALLBACK = "llm_d.inference.fleet"
NO_PAGE = (
    f"There is no page for all clusters of this inventory: write callbacks_enabled = {CALLBACK} into section [defaults] of ansible.cfg,"
    f" or set ANSIBLE_CALLBACKS_ENABLED={CALLBACK}."
)
COMPARE = "llm_d.inference.compare"
STATE, OURS = "llm_d_state", "llm_d.inference."
CREATED = ("prerequisites", "gpu_operator", "record", "gateway_provider", "gaie_scheduler", "model_service")  # by these roles, in this order
display = Display()


def _bucket(user: dict[str, t.Any]) -> dict[str, t.Any]:
    """The bucket of reports, for the page of all clusters; empty without a bucket, and for an invalid one."""
    bucket, known = get_path(user, "llm_d_artifacts", "s3"), VARIABLES["llm_d_artifacts"].options["s3"].options
    if not isinstance(bucket, dict) or not isinstance(bucket.get("bucket"), str):
        return {}
    return {name: bucket.get(name) or field.default for name, field in known.items()}


class ActionModule(ActionBase):
    """Fail with all mistakes at once, or return a summary of the plan."""

    _requires_connection = False
    _supports_check_mode = True
    _VALID_ARGS = frozenset(("playbook",))

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Check the variables; makes no connection. Removes temporary files of runs that were killed."""
        result = super().run(tmp, task_vars)
        remove_orphans()
        variables = task_vars or {}
        playbook = self._task.args.get("playbook")
        if playbook:
            return {**result, "changed": False, **_refused(in_order(self._options(variables) + missing_options(playbook, variables)))}
        if len(fleet(variables)) > 1 and CALLBACK not in (constants.CALLBACKS_ENABLED or []):
            display.warning(NO_PAGE)
        user, untemplated = read(variables, self._templar.template)
        result.update(artifacts_dir=user["llm_d_artifacts_dir"], fleet_dir=fleet_folder(variables, user), artifacts_s3=_bucket(user))
        failed = {problem.path for problem in untemplated}
        # A variable whose template failed is absent from `user`; do not report it as missing too.
        problems = untemplated + [problem for problem in problems_of(user) if problem.path not in failed]
        problems += self._options(variables) + self._removals(user)
        problems += without_credentials(user)
        if COMPARE in [role.get_name() for role in self._roles()]:
            options, option_errors = given("compare", variables, self._templar.template)
            problems += [] if option_errors else preset_problems(user, options, problems)
        problems += locked_paths(variables, self._templar.template) if self._connection.transport == "local" else []
        # A play of the user that sets the connection otherwise than by the variables has to distinguish its hosts itself.
        problems = in_order(problems if self._task.module_defaults or any(self._task.environment or []) else problems + same_place(variables))
        result.update(**(_refused(problems) or {"changed": False, **_summary(user), **interpreter_facts(self, variables)}))
        return result

    def _options(self, variables: dict[str, t.Any]) -> list[Problem]:
        """The problems of options of roles and playbooks, before Ansible itself checks those of later roles, with less helpful messages."""
        extra, roles = self._task.get_variable_manager().extra_vars, [role.get_name(include_role_fqcn=False) for role in self._roles()]
        return option_problems(variables, extra, roles, self._templar.template)

    def _removals(self, user: dict[str, t.Any]) -> list[Problem]:
        """The problem of a play in the order of creation that would remove objects before their dependents. Roles with their own state do not count."""
        if user.get(STATE) != "absent":
            return []
        given, positions = {**self._task.get_variable_manager().extra_vars, **(self._task.play.get_vars() if self._task.play else {})}, []
        for role in self._roles():
            name = role.get_name().removeprefix(OURS)
            if name in CREATED and f"{name}_state" not in {**given, **role.vars, **role.get_role_params()}:
                positions.append(CREATED.index(name))
        if positions == sorted(positions, reverse=True):
            return []
        why = "this play runs in the order of creation: it would first remove what the rest depends on, without confirmation."
        return [Problem(STATE, "absent", f"'absent': {why}", "Leave it out, and run playbooks/teardown.yml, which removes in reverse order.")]

    def _roles(self) -> list[t.Any]:
        """The roles of the play, without those that its tasks include."""
        return self._task.play.get_roles() if self._task.play else []


def _refused(problems: list[Problem]) -> dict[str, t.Any]:
    """The failure by these problems; {} for none."""
    if not problems:
        return {}
    return {"failed": True, "msg": spelled(explain(problems, _subject(problems))), "problems": [dataclasses.asdict(redacted(problem)) for problem in problems]}


def _subject(problems: list[Problem]) -> str:
    """What the problems are about, for the message."""
    return "llm_d_* variables" if all(problem.path.startswith(PREFIX) for problem in problems) else "variables"


def _summary(user: dict[str, t.Any]) -> dict[str, t.Any]:
    try:
        planned = plan(user)
    except Mistakes as mistakes:  # problems() found none, so this is a bug: fail rather than crash
        return {"failed": True, "msg": str(mistakes)}
    return {
        "services": [service["name"] for service in planned["services"]],
        "provider": planned["gateway"]["provider"],
        "release": planned["release"]["name"],
        "instance": planned["instance"],
        "namespace": planned["namespace"],
    }
