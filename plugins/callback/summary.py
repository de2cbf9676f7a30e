# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: summary
type: aggregate
author:
  - llm_d.inference contributors (@llm-d)
short_description: The last lines of a run
version_added: 1.0.0
description:
  - Ends a run of a playbook of this collection on one cluster with at most ten lines of 80 columns. They show the results, what failed
    and why, the address of the stack, and the places of the reports.
  - Reads the statistic C(inference_stacks) of the run.
  - Reports an inventory without hosts, which Ansible takes for success.
  - Does nothing in an inventory of several hosts, whose table is that of P(llm_d.inference.fleet#callback).
requirements:
  - Enable it with C(callbacks_enabled = llm_d.inference.summary) in C(ansible.cfg), as the one of this repository does.
"""

import typing as t

from ansible.plugins.callback import CallbackBase
from ansible.utils.display import Display

from ..module_utils.common.objects import Facts
from ..module_utils.validation import summary
from ..plugin_utils.run_facts import failed, stacks, unreachable

display = Display()


class CallbackModule(CallbackBase):  # type: ignore[misc]  # Ansible has no types
    """Keeps failures until the run ends."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "llm_d.inference.summary"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self.failures: dict[str, Facts] = {}
        self.ours = self.empty = False

    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        """Read the hosts of the inventory."""
        hosts = play.get_variable_manager().get_vars(play=play, include_hostvars=False)["groups"]["all"]
        self.disabled, self.empty = len(hosts) > 1, not hosts
        self.ours |= any(role.get_name().startswith("llm_d.inference.") for role in play.get_roles())

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """Keep the failure; the statistics at the end show whether it was rescued."""
        if not ignore_errors:
            self.failures[result.host.get_name()] = failed(result)

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """Keep that the host was not reached."""
        self.failures[result.host.get_name()] = unreachable(result)

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """End the run with the summary."""
        if not self.ours:
            return
        if self.empty and not stats.processed:
            display.display("nothing was done: the inventory has no hosts")
        reports = stacks(stats)
        for host in sorted(stats.processed):
            counts = stats.summarize(host)
            failure = self.failures.get(host) if counts["failures"] or counts["unreachable"] else None
            for line in summary.lines(reports.get(host, {}), failure):
                display.display(line)
