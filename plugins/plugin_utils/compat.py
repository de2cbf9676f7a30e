# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The private APIs of ansible-core, and of the Kubernetes client library in a worker, that this collection uses. No other plugin touches one.

They are what it takes to run a module's main() in a worker with the arguments, environment and result of a module that Ansible sends; ansible-core
publishes no way to do that. tests/contract/test_private_apis.py compares the installed version with TRIED.
"""

from __future__ import annotations

import contextlib
import json
import sys
import typing as t
from pathlib import Path
from unittest import mock

from ansible.module_utils import basic
from ansible.module_utils.common.json import Direction, get_module_encoder

from ..module_utils.k8s.errors import ClusterError, explain, refusal
from ..module_utils.k8s.patience import CONNECT_TIMEOUT, READ_TIMEOUT, Patience, credentials_of, is_repeatable

# Versions that the tests of plugin_utils passed with; plugins/module_utils/k8s/compat.py has those of kubernetes.core and the client library.
TRIED = {"ansible-core": ("2.20.10", "2.21.5", "2.22.0rc1")}
# How modules serialize what they take and return.
PROFILE = "legacy"


class Action(t.Protocol):
    """The private methods of ansible.plugins.action.ActionBase that are used here."""

    def _compute_environment_string(self, raw_environment_out: dict[str, t.Any]) -> str: ...

    def _update_module_args(self, module_name: str, module_args: dict[str, t.Any], task_vars: dict[str, t.Any]) -> None: ...

    def _parse_returned_data(self, res: dict[str, t.Any], profile: str) -> t.Any: ...

    def _find_needle(self, dirname: str, needle: str) -> str: ...


def task_environment(action: Action) -> dict[str, str]:
    """The variables of the task's `environment`, templated."""
    variables: dict[str, t.Any] = {}
    action._compute_environment_string(variables)
    return {name: str(value) for name, value in variables.items()}


def complete_arguments(action: Action, name: str, arguments: dict[str, t.Any], variables: dict[str, t.Any], folder: str) -> None:
    """Add what Ansible passes to every module (check mode, diff, no_log, ...) to its arguments, with `folder` for its temporary files."""
    action._update_module_args(name, arguments, variables)
    arguments["_ansible_tmpdir"] = folder


def result_of(action: Action, printed: str) -> dict[str, t.Any]:
    """The result of a module from what its main() printed."""
    parsed = action._parse_returned_data({"rc": 0, "stdout": printed, "stderr": ""}, PROFILE)
    if isinstance(parsed, dict):
        return parsed
    # ansible-core 2.21 returns a UnifiedTaskResult, of which its own _execute_module returns this much.
    parsed.remove_internal_keys()
    result: dict[str, t.Any] = parsed.as_result_dict(for_round_trip=True)
    return result


def template_path(action: Action, name: str) -> str:
    """The path of a template of the task's role. Raises AnsibleError where there is none."""
    return action._find_needle("templates", name)


@contextlib.contextmanager
def module_input(arguments: dict[str, t.Any]) -> t.Iterator[None]:
    """An AnsibleModule that is made in this context reads these arguments."""
    encoder = get_module_encoder(PROFILE, Direction.CONTROLLER_TO_MODULE)
    given = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, cls=encoder).encode()
    with mock.patch.multiple(basic, _ANSIBLE_ARGS=given, _ANSIBLE_PROFILE=PROFILE):
        yield


@contextlib.contextmanager
def patient_client() -> t.Iterator[None]:
    """Requests of kubernetes.core end in bounded time, and are repeated as those of this collection are.

    By default it waits without limit for the answer of a connection that was cut silently, and repeats nothing.
    """
    library = sys.modules.get("kubernetes.dynamic.client")
    if library is None:
        yield
        return
    once = library.DynamicClient.request
    known: dict[str, Patience] = {}

    def request(client: t.Any, method: str, path: str, body: t.Any = None, **options: t.Any) -> t.Any:
        server = client.configuration.host
        if server not in known:
            known[server] = Patience(server, credentials=credentials_of(client.configuration))
        query = options.get("query_params") or []

        def send() -> t.Any:
            return once(client, method, path, body, **{"_request_timeout": (CONNECT_TIMEOUT, READ_TIMEOUT), **options, "query_params": list(query)})

        parameters = {"dryRun": options["dry_run"]} if options.get("dry_run") else {}
        return known[server].repeated(is_repeatable(method.upper(), path, parameters), send, lambda exc: _meaning(exc, server))

    with mock.patch.object(library.DynamicClient, "request", request):
        yield


def _meaning(exc: Exception, server: str) -> ClusterError | None:
    if isinstance(status := getattr(exc, "status", None), int):
        retry_after = (getattr(exc, "headers", None) or {}).get("Retry-After", "")
        return refusal(status, getattr(exc, "body", None) or "", server, "a request", retry_after)
    return explain(exc, server) if type(exc).__module__.startswith("urllib3.") else None


@contextlib.contextmanager
def key_files_in(folder: str) -> t.Iterator[None]:
    """The Kubernetes client writes the keys and certificates of a kubeconfig into `folder`, and they are removed when this context ends.

    By default it writes them to the system's temporary folder and removes them when the interpreter exits. A worker does not exit: it is ended as soon as it
    has answered.
    """
    library = sys.modules.get("kubernetes.config.kube_config")
    if library is None:
        yield
        return
    write = library._create_temp_file_with_content

    def within(content: t.Any, temp_file_path: str | None = None, force_recreate: bool = False) -> t.Any:
        return write(content, temp_file_path or folder, force_recreate)

    with mock.patch.object(library, "_create_temp_file_with_content", within):
        try:
            yield
        finally:
            for content, path in list(library._temp_files.items()):
                if Path(path).parent == Path(folder):
                    Path(path).unlink(missing_ok=True)
                    del library._temp_files[content]
