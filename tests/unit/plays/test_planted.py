# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing that AWX keeps of a job has a secret: its output with -vvv, its events, its facts, its statistics, its files, and the objects that it writes."""

from __future__ import annotations

import json
from pathlib import Path

import plays
import pytest
from keeping_api_server import PREPARED, KeepingApi
from local_servers import serve
from planted import KUBECONFIG, PLANTED, occurrences, planted_file, runner
from reporting_job import FILE

pytestmark = pytest.mark.rest
# Playbooks that succeed on a cluster without servers, and some that fail there.
PLAYBOOKS = (
    "site", "validate", "diff", "diagnose", "teardown", "scorers", "preflight", "prerequisites", "benchmark", "calibrate", "compare_scorers", "watch",
    "ask_approval", "list_permissions", "list_images", "export",
)  # fmt: skip


def job(folder: Path, playbook: str) -> tuple[str, KeepingApi]:
    """(output of a job, its cluster)."""
    cluster = KeepingApi(ready=True)
    cluster.kept.update(PREPARED)
    with serve(cluster.answer) as api:
        # A bucket on a server that knows none: reports are signed and sent, and the answer is shown.
        bucket = {"s3": {"bucket": "reports", "endpoint": api}}
        here = {
            "llm_d_kubeconfig": plays.kubeconfig(folder / "kubeconfig", api, KUBECONFIG),
            "llm_d_artifacts_dir": str(folder / "out"),
            "llm_d_artifacts": bucket,
        }
        runner(folder, playbook, {**FILE, **planted_file(), **here, "llm_d_wait_timeout": 3}, "paris")
    return (folder / "artifacts/one/stdout").read_text(encoding="utf-8"), cluster


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_no_secret_is_in_what_a_job_leaves(tmp_path: Path, playbook: str) -> None:
    output, cluster = job(tmp_path, f"playbooks/{playbook}.yml")
    assert "PLAY RECAP" in output and "mistake" not in output, output[-3000:]
    given = {tmp_path / "env/extravars", tmp_path / "kubeconfig"}
    # The files of an export are the objects for the cluster, in which values of environment variables and arguments are plain.
    given |= set((tmp_path / "out/export").glob("deployment-*")) if playbook == "export" else set()
    assert occurrences(tmp_path, given) == []
    written = {
        path: json.dumps(item)
        for path, item in cluster.kept.items()
        if "/secrets/" not in path and not any(f"/{kind}/" in path for kind in ("deployments", "pods"))
    }
    assert [(path, name) for path, text in written.items() for name, value in PLANTED.items() if value in text] == []


def test_a_leaked_secret_is_detected_in_output_events_and_facts(tmp_path: Path) -> None:
    """A result that is not printed counts too: AWX keeps all of each result."""
    (tmp_path / "leak.yml").write_text(
        "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.set_fact: {kept: '{{ llm_d_model_token }}', cacheable: true}\n", encoding="utf-8"
    )
    output, _cluster = job(tmp_path, str(tmp_path / "leak.yml"))
    assert "PLAY RECAP" in output, output
    places = {place.split("/")[2] for place, name in occurrences(tmp_path, {tmp_path / "env/extravars"}) if name == "token"}
    assert places == {"stdout", "job_events", "fact_cache"}
