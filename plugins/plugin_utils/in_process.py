# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a module inside the worker when it would run on this host anyway.

A module costs a new interpreter and the import of the Kubernetes client, half a second or more; a play of ours runs
two dozen of them, mostly to find that there is nothing to do. With a local connection, no `become` and the
interpreter that Ansible itself runs on, the worker has all of it loaded (action plugins are loaded before workers
are forked), so the module's own main() is called there. In every other case the module is sent as usual.
ansible.netcommon runs its modules the same way.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
import tempfile
import typing as t
from unittest import mock

from ansible.module_utils import basic
from ansible.module_utils.common.json import Direction, get_module_encoder
from ansible.plugins.action import ActionBase

from . import run_files

PROFILE = "legacy"


class InProcess(ActionBase):
    """An action whose modules run in the worker where that makes no difference but time."""

    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        """Run the module of the action's own name."""
        return {**super().run(tmp, task_vars), **self._execute_module(task_vars=task_vars)}

    def _execute_module(self, module_name=None, module_args=None, tmp=None, task_vars=None, **options):  # pylint: disable=arguments-differ
        name = module_name or self._task.action
        variables = task_vars or {}
        run_files.end_with_the_run()
        if options or not self._runs_here(variables):
            return super()._execute_module(module_name=name, module_args=module_args, tmp=tmp, task_vars=task_vars, **options)
        arguments = dict(self._task.args if module_args is None else module_args)
        environment: dict[str, t.Any] = {}
        self._compute_environment_string(environment)
        environment = {key: str(value) for key, value in environment.items()}
        with tempfile.TemporaryDirectory(dir=run_files.folder()) as folder, mock.patch.dict(os.environ, environment):
            self._update_module_args(name, arguments, variables)
            arguments["_ansible_tmpdir"] = folder
            answer = {"rc": 0, "stdout": call_main(name, arguments), "stderr": ""}
        result = self._parse_returned_data(answer, PROFILE)
        if isinstance(result, dict):
            return result
        # ansible-core 2.21 parses into an object, and its own _execute_module returns that as a dictionary.
        result.remove_internal_keys()
        return result.as_result_dict(for_round_trip=True)

    def _runs_here(self, variables: dict[str, t.Any]) -> bool:
        """Tell whether a module sent off would come back to this very interpreter as this very user."""
        if self._connection.transport != "local" or self._connection.become or self._task.async_val:
            return False
        interpreter = self._templar.template(variables.get("ansible_python_interpreter", "auto"))
        # By name, not by what the link leads to: a virtual environment's python is a link, and its libraries are not the base's.
        return os.path.abspath(interpreter) == os.path.abspath(sys.executable)


def call_main(name: str, arguments: dict[str, t.Any]) -> str:
    """Call the main() of a collection's module with these arguments; return what it prints."""
    module = importlib.import_module(python_name(name))
    encoder = get_module_encoder(PROFILE, Direction.CONTROLLER_TO_MODULE)
    given = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, cls=encoder).encode()
    printed = io.StringIO()
    settings = mock.patch.multiple(basic, _ANSIBLE_ARGS=given, _ANSIBLE_PROFILE=PROFILE)
    with settings, run_files.key_files(), contextlib.redirect_stdout(printed):
        try:
            module.main()
        except SystemExit:
            pass
    return printed.getvalue()


def python_name(name: str) -> str:
    """Return the Python name of a module such as `kubernetes.core.k8s`."""
    namespace, collection, module = name.split(".")
    return f"ansible_collections.{namespace}.{collection}.plugins.modules.{module}"
