# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a module inside the worker when it would run on this host anyway.

A module costs a new interpreter and the import of the Kubernetes client, half a second or more, and a play runs two dozen of them, mostly to find that
nothing has to change. With a local connection, no `become` and the interpreter that Ansible itself runs on, the worker has everything loaded (action
plugins are loaded before workers are forked), so the module's own main() is called there. In every other case the module is sent as usual.
ansible.netcommon runs its modules the same way.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import tempfile
import typing as t
import warnings
from unittest import mock

import yaml
from ansible import constants as C
from ansible.module_utils.common.validation import check_type_dict
from ansible.plugins.action import ActionBase

from . import supported

supported.check()  # before what an older ansible-core, or its Python, cannot load

from ..module_utils.common import credentials, masking
from ..module_utils.common.commands import spelled
from ..module_utils.common.text import all_printable
from ..module_utils.k8s import patience
from ..module_utils.releases.tools import cause
from . import compat, interpreter, run_files

OBJECTS = ("definitions", "existing", "resources")  # fields of results that hold objects of the cluster
CONTENTS = (*OBJECTS, "diff", "invocation", "objects")  # and fields that repeat the contents of objects or files


class InProcess(ActionBase):  # type: ignore[misc]  # Ansible has no types
    """An action that runs its module in the worker where the result is the same."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module of the action's own name."""
        result = super().run(tmp, task_vars)
        args = dict(self._task.args)
        if isinstance(args.get("resources"), list):
            args["resources"] = [reference(item) for item in args["resources"]]
        return {**result, **shown(self._execute_module(module_args=args, task_vars=task_vars))}

    def _execute_module(  # pylint: disable=arguments-differ
        self,
        module_name: str | None = None,
        module_args: dict[str, t.Any] | None = None,
        tmp: str | None = None,
        task_vars: dict[str, t.Any] | None = None,
        **options: t.Any,
    ) -> dict[str, t.Any]:
        name: str = module_name or self._task.action
        variables = task_vars or {}
        run_files.end_with_the_run()
        masking.register(secrets_of(self._task.args if module_args is None else module_args))
        if options or not self._runs_here(variables):
            sent: dict[str, t.Any] = super()._execute_module(module_name=name, module_args=module_args, tmp=tmp, task_vars=task_vars, **options)
            python = interpreter.wanted(self, variables) if self._connection.transport == "local" else None
            old = interpreter.too_old(sent, python)
            return {"failed": True, "changed": False, "msg": old} if old else with_cause(sent)
        arguments = dict(self._task.args if module_args is None else module_args)
        environment = {patience.FOLDER_VARIABLE: C.DEFAULT_LOCAL_TMP, **compat.task_environment(self)}
        with tempfile.TemporaryDirectory(dir=run_files.folder()) as folder, mock.patch.dict(os.environ, environment):
            compat.complete_arguments(self, name, arguments, variables, folder)
            printed = call_main(name, arguments)
        return with_cause(compat.result_of(self, printed))

    def _runs_here(self, variables: dict[str, t.Any]) -> bool:
        """Whether a module that is sent would run as the same user with the same interpreter."""
        if self._connection.transport != "local" or self._connection.become or self._task.async_val:
            return False
        named = interpreter.wanted(self, variables)
        return named is None or same_interpreter(named, sys.executable)


def secrets_of(arguments: dict[str, t.Any]) -> set[str]:
    """Secrets in options that are not no_log where Ansible hides texts that were registered: headers, and a kubeconfig that is given inline."""
    secrets: set[str] = set()
    services = arguments.get("services")
    for options in (arguments, *(services if isinstance(services, list) else ())):
        with contextlib.suppress(AttributeError, TypeError):  # the module refuses what is no mapping
            secrets |= credentials.texts({**check_type_dict(options.get("headers") or {}), **check_type_dict(options.get("shared_headers") or {})})
    kubeconfig = arguments.get("kubeconfig")
    if isinstance(kubeconfig, str) and "\n" in kubeconfig:
        with contextlib.suppress(yaml.YAMLError):
            return secrets | {kubeconfig} | credentials.nested(yaml.safe_load(kubeconfig))
    return secrets | credentials.nested(kubeconfig)


def same_interpreter(one: str, other: str) -> bool:
    """Whether two paths run the same Python with the same libraries: one file, such as python and python3, in one folder.

    The folder counts since the python of a virtual environment is a link to one that has other libraries.
    """
    return os.path.dirname(os.path.abspath(one)) == os.path.dirname(os.path.abspath(other)) and os.path.realpath(one) == os.path.realpath(other)


def reference(item: t.Any) -> t.Any:
    """The part of a definition that a module needs to find the object: Ansible prints the arguments of modules, and a definition may hold secrets."""
    if not isinstance(item, dict) or not isinstance(item.get("metadata"), dict):
        return item
    named = {key: item["metadata"][key] for key in ("name", "namespace", "generation") if key in item["metadata"]}
    return {**{key: item[key] for key in ("apiVersion", "kind") if key in item}, "metadata": named}


def with_cause(result: dict[str, t.Any]) -> dict[str, t.Any]:
    """A module's result, whose error names the version of a library that is known to cause it."""
    messages = [str(result.get(key) or "") for key in ("msg", "module_stderr", "exception")] if result.get("failed") else []
    known = next((known for text in messages if (known := cause(text))), "")
    return {**result, "msg": f"{result.get('msg')}: {known}"} if known else result


def shown(result: dict[str, t.Any]) -> dict[str, t.Any]:
    """A module's result as plays show it: printable, with playbooks named as this user starts them, except fields that are written back unchanged."""
    made: dict[str, t.Any] = spelled({key: value if key in OBJECTS else all_printable(value) for key, value in result.items()}, CONTENTS)
    return made


def call_main(name: str, arguments: dict[str, t.Any]) -> str:
    """What the main() of a collection's module prints when it is called with these arguments."""
    module = importlib.import_module(python_name(name))
    printed = io.StringIO()
    with (
        compat.module_input(arguments),
        compat.key_files_in(run_files.folder()),
        compat.patient_client(),
        contextlib.redirect_stdout(printed),
        contextlib.suppress(SystemExit),
        warnings.catch_warnings(),
    ):
        # urllib3's own, which each worker would write to stderr again; k8s/client.py warns once a run.
        warnings.filterwarnings("ignore", message="Unverified HTTPS request")
        module.main()
    return printed.getvalue()


def python_name(name: str) -> str:
    """The Python name of a module such as `kubernetes.core.k8s`."""
    namespace, collection, module = name.split(".")
    return f"ansible_collections.{namespace}.{collection}.plugins.modules.{module}"
