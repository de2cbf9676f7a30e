# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take the Lease of an instance, and keep it until the run ends."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
import typing as t

from ..module_utils.k8s.lease import EVERY
from ..modules import run_lease  # noqa: F401  # pylint: disable=unused-import  # loaded before workers are forked
from ..plugin_utils import run_files
from ..plugin_utils.followed import Followed


class ActionModule(Followed):
    """Adds the holder of the Lease, and its renewal, to the module. A module that is sent to another host takes none: no process of this run stays there."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """See Followed.run."""
        variables = task_vars or {}
        if not self._runs_here(variables):
            return {"changed": False, "held": False, "waited": 0.0}
        self._task.args = {"holder": holder(variables), **self._task.args}
        # Before it is taken: a run may be killed right after.
        keeper = 0 if self._task.check_mode else self._keep(variables)
        result = super().run(tmp, task_vars)
        if keeper and not result.get("held"):
            os.kill(keeper, signal.SIGTERM)
        return result

    def _keep(self, variables: dict[str, t.Any]) -> int:
        return run_files.until_the_run_ends(EVERY, lambda: self._state("renewed", variables), lambda: self._release(variables))

    def _state(self, state: str, variables: dict[str, t.Any]) -> bool:
        return bool(self._execute_module(module_args={**self._task.args, "state": state}, task_vars=variables).get("held"))

    def _release(self, variables: dict[str, t.Any]) -> None:
        if not self._state("absent", variables):
            time.sleep(run_files.SLOWEST)  # a worker may have been about to take it
            self._state("absent", variables)


def holder(variables: dict[str, t.Any]) -> str:
    """Who runs, such as `job 45 (Deploy) of jane` for AWX, or `jane on laptop, process 4711`."""
    process = os.getppid()  # of the worker: the run
    if job := variables.get("awx_job_id"):
        named, user = variables.get("awx_job_template_name"), variables.get("awx_user_name")
        return f"job {job}" + (f" ({named})" if named else "") + (f" of {user}" if user else "") + f" on {socket.gethostname()}, process {process}"
    user = str(os.getuid())
    with contextlib.suppress(KeyError, OSError):  # the user of a container has no name
        import pwd

        user = pwd.getpwuid(os.getuid()).pw_name
    return f"{user} on {socket.gethostname()}, process {process}"
