# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a long module and display its progress."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..module_utils.common.commands import spelled
from ..module_utils.common.text import printable
from ..module_utils.report.text import WIDTH, wrapped
from . import run_files
from .in_process import InProcess, shown
from .planning import fleet

display = Display()


class Followed(InProcess):
    """With a local connection the module appends lines to a file that this process made, and a thread here displays them.

    With any other connection, in check mode and with no_log, the module runs without progress.
    """

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module of the action's own name with a `progress_path`."""
        result: dict[str, t.Any] = ActionBase.run(self, tmp, task_vars)
        args = dict(self._task.args)
        follower = None
        if self._connection.transport == "local" and not self._task.check_mode and not self._task.no_log and "progress_path" not in args:
            follower = Follower(prefix_of(task_vars or {}))
            args["progress_path"] = follower.path
        try:
            result.update(shown(self._execute_module(module_args=args, task_vars=task_vars)))
        finally:
            if follower:
                follower.stop()
        return result


def prefix_of(variables: dict[str, t.Any]) -> str:
    """The prefix of each line: the name of the host, where there are several hosts."""
    return f"{variables['inventory_hostname']}: " if len(fleet(variables)) > 1 else ""


class Follower:
    """Displays lines that are appended to a temporary file, each after `before`, until stopped."""

    def __init__(self, before: str = "", interval: float = 0.3) -> None:
        self._before = before
        handle, self.path = tempfile.mkstemp(prefix="progress-", dir=run_files.folder())
        os.close(handle)
        self._file = open(self.path, encoding="utf-8", newline="\n")  # noqa: SIM115  # the thread closes it
        self._interval = interval
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Display the remaining lines and remove the file."""
        self._end.set()
        self._thread.join(timeout=5)
        with contextlib.suppress(OSError):
            os.unlink(self.path)

    def _follow(self) -> None:
        rest = ""
        # Opened by the constructor: stop() may remove the file before this thread runs.
        with self._file as file:
            while True:
                ended = self._end.is_set()
                rest += file.read()
                *lines, rest = rest.split("\n")
                for line in lines:
                    for part in wrapped(f"    {self._before}{spelled(printable(line))}", WIDTH, "      "):
                        display.display(part)
                if ended:
                    return
                self._end.wait(self._interval)
