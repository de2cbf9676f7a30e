# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run playbooks of the collection against a fake API server without a stack, and return what they report."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import plays
from keeping_api_server import PREPARED, KeepingApi
from local_servers import serve

Facts = dict[str, t.Any]
# The variables of the inventory.
FILE: Facts = {
    "llm_d_model_services": [{"name": "sim", "model": {"served_name": "acme/sim"}, "engine": {"type": "simulator"}}],
    "llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"},
    "validation_patient": False,
}


class Job:
    """A fake cluster with what PREPARED has, and a folder for the kubeconfig and the artifacts of the runs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cluster = folder, KeepingApi(ready=True)
        self.cluster.kept.update(PREPARED)

    def run(self, playbook: str, *arguments: str, environment: t.Mapping[str, str] | None = None, **given: t.Any) -> tuple[Facts, list[str]]:
        """Run a playbook: (custom statistics of the run, lines of its output).

        playbook: its path from the folder playbooks, without .yml; arguments: of ansible-playbook; given: extra variables, which replace those of FILE.
        """
        with serve(self.cluster.answer) as api:
            paths = {"llm_d_kubeconfig": plays.kubeconfig(self.folder / "kubeconfig", api), "llm_d_artifacts_dir": str(self.folder / "out")}
            args = ["-i", "paris,", "-c", "local", str(plays.ROOT / "playbooks" / f"{playbook}.yml"), "-e", json.dumps({**FILE, **paths, **given}), *arguments]
            done = plays.run(*args, no_proxy="*", ANSIBLE_SHOW_CUSTOM_STATS="1", ANSIBLE_CALLBACK_RESULT_FORMAT="json", **(environment or {}))
        _before, _head, after = done.stdout.partition("CUSTOM STATS: ")
        shown = next((line for line in after.splitlines() if "RUN: " in line), "RUN: {}")
        return json.loads(shown.partition("RUN: ")[2]), done.stdout.splitlines()
