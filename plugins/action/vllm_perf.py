# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module of the same name and shows how it goes: rate, in flight, failures, first tokens."""

from __future__ import annotations

from ansible.plugins.action import ActionBase

from ansible_collections.llm_d.inference.plugins.action.resource_ready import Follower
from ansible_collections.llm_d.inference.plugins.modules import vllm_perf  # noqa: F401  # pylint: disable=unused-import  # loaded before workers are forked
from ansible_collections.llm_d.inference.plugins.plugin_utils.in_process import InProcess


class ActionModule(InProcess):
    """With a local connection the module and this process share a file: the module appends lines, a thread here displays them."""

    def run(self, tmp=None, task_vars=None):
        result = ActionBase.run(self, tmp, task_vars)
        args = dict(self._task.args)
        follower = None
        if self._connection.transport == "local" and not self._task.check_mode and not self._task.no_log and "progress_path" not in args:
            follower = Follower()
            args["progress_path"] = follower.path
        try:
            result.update(self._execute_module(module_name="llm_d.inference.vllm_perf", module_args=args, task_vars=task_vars))
        finally:
            if follower:
                follower.stop()
        return result
