# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet
type: aggregate
author:
  - llm_d.inference contributors (@llm-d)
short_description: One page for all clusters of an inventory
version_added: 1.0.0
description:
  - Where the inventory has more than one host, each a cluster, ends a run of a playbook of this collection with a table that has one line for each cluster.
  - After a run that validates, writes the same as C(fleet/index.html) and C(fleet/fleet.json) into the folder of artifacts,
    also where clusters failed, were refused or could not be reached. A cluster that had no part in the run keeps the row of its last one.
  - Where the file of a cluster has C(llm_d_artifacts.s3), the page is kept there, too, as C(PREFIX/fleet/TIME/index.html).
  - This is a callback and not a play, since Ansible runs no further play once all hosts have failed.
  - Does nothing in an inventory of one host.
requirements:
  - Enable it with C(callbacks_enabled = llm_d.inference.fleet) in C(ansible.cfg), as the one of this repository does.
"""

import contextlib
import datetime
import json
import os
import typing as t
from pathlib import Path

from ansible.plugins.callback import CallbackBase
from ansible.utils.display import Display

from ..module_utils.common.objects import Facts, get_path, text
from ..module_utils.http import s3
from ..module_utils.validation import fleet
from ..plugin_utils.run_facts import INPUTS, failed, stacks, unreachable

SET_FACT = "ansible.builtin.set_fact"
VALIDATION = "llm_d.inference.validation"
display = Display()


class CallbackModule(CallbackBase):  # type: ignore[misc]  # Ansible has no types
    """Keeps facts from the tasks of each host until the run ends."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "llm_d.inference.fleet"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self.hosts: list[str] = []
        self.facts: dict[str, Facts] = {}
        self.validates = self.checks = self.fatal = False

    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        """Read the hosts of the inventory. With one host this callback is disabled, since Ansible would copy each result for it."""
        self.hosts = list(play.get_variable_manager().get_vars(play=play, include_hostvars=False)["groups"]["all"])
        self.disabled = len(self.hosts) < 2
        self.validates |= any(role.get_name() == VALIDATION for role in play.get_roles())
        self.fatal |= bool(play.any_errors_fatal) or play.max_fail_percentage is not None

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """Keep the summary of the file, and the verdict."""
        if result.task.action == INPUTS:
            self._of(result)["inputs"] = result.result
            self.checks |= bool(result.task.check_mode)
        elif result.task.action == SET_FACT and "validation_verdict" in result.result.get("ansible_facts", {}):
            self._of(result)["verdict"] = result.result["ansible_facts"]["validation_verdict"]

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """Keep the failure; the statistics at the end show whether it was rescued."""
        if ignore_errors:
            return
        if result.task.action == INPUTS:
            self._of(result)["inputs"] = result.result
            self.checks |= bool(result.task.check_mode)
        self._of(result)["failure"] = failed(result)

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """Keep that the host from which the cluster is reached was unreachable."""
        self._of(result)["failure"] = unreachable(result)

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """Write the page, and end the run with the table."""
        with_artifacts = {host: self.facts[host] for host in self.hosts if "artifacts_dir" in self.facts.get(host, {}).get("inputs", {})}
        if not with_artifacts:
            return
        for host, facts in self.facts.items():
            counts = stats.summarize(host)
            if not counts["failures"] and not counts["unreachable"]:
                facts.pop("failure", None)
        time = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        folders = {host: Path(facts["inputs"]["artifacts_dir"]) for host, facts in with_artifacts.items()}
        folder = Path(next(iter(with_artifacts.values()))["inputs"]["fleet_dir"])
        stopped = self.fatal and any("failure" in facts for facts in self.facts.values())
        rows = {
            host: fleet.row(host, facts, time, stopped, os.path.relpath(folders.get(host, folder) / "report.html", folder))
            for host, facts in self.facts.items()
        }
        outcomes = [row for row in rows.values() if row["state"] != "done"]
        page = folder / "index.html" if self.validates and outcomes and not self.checks else None
        if page:
            report = fleet.report(self.hosts, rows, _earlier(folder), time)
            try:
                _write(folder / "fleet.json", json.dumps(report, indent=2) + "\n")
                _write(page, fleet.page(report))
            except OSError as error:
                display.warning(f"Cannot write {error.filename2 or error.filename or page}: {error.strerror}. Check the owner and the contents of the folder.")
                page = None
        pages = [str(page)] if page else []
        if page and (bucket := next((facts["inputs"]["artifacts_s3"] for facts in with_artifacts.values() if facts["inputs"].get("artifacts_s3")), None)):
            pages.append(_kept(bucket, report, stacks(stats)))
        for line in fleet.table([rows[host] for host in self.hosts if host in rows], pages):
            display.display(line)

    def _of(self, result: t.Any) -> Facts:
        return self.facts.setdefault(result.host.get_name(), {})


def _kept(bucket: Facts, report: Facts, reports: Facts) -> str:
    """The URL of the page in the bucket, which links to the reports there, or why it could not be put there."""
    prefix = f"{bucket['prefix']}/fleet/{report['time'].replace('-', '').replace(':', '')}"
    rows = []
    for row in report["clusters"]:
        there = text(get_path(reports, row["host"], "verdict", "reports", "s3"))
        beside = there.startswith(s3.url_of(bucket, "", ""))
        rows.append({**row, "page": os.path.relpath(f"{there}/report.html", s3.url_of(bucket, prefix, "")) if beside else None})
    moved = {**report, "clusters": rows}
    try:
        return s3.put(bucket, prefix, {"index.html": fleet.page(moved), "fleet.json": json.dumps(moved, indent=2) + "\n"}, os.environ)[0]
    except s3.BucketError as error:
        return f"not in s3: {error}"


def _earlier(folder: Path) -> dict[str, Facts]:
    """The rows of earlier runs by host; none where there was no run, or its file cannot be read."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        return {row["host"]: row for row in json.loads((folder / "fleet.json").read_text(encoding="utf-8"))["clusters"]}
    return {}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
