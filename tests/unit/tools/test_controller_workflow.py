# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The workflow "llm-d: Change after approval", in the order in which AWX runs its nodes: any failure is diagnosed, and the workflow fails."""

from __future__ import annotations

import pytest
from controller_api import workflows
from controller_api.store import Row, Store

from tools import controller

(FLOW,) = controller.data()["controller_workflows"]
NODES = {node["identifier"]: node for node in FLOW["simplified_workflow_nodes"]}


def ran(failing: str, denied: bool = False) -> tuple[list[str], str]:
    """(jobs that ran, status of the workflow), if the job of a node fails, or the change is denied."""
    store = Store({})
    flow = store.add("workflow_job_templates", {"name": FLOW["name"]})
    rows = {}
    for name, node in NODES.items():
        kind = "workflow_approval_templates" if "approval_node" in node else "job_templates"
        template = store.add(kind, {"name": name})
        rows[name] = store.add("workflow_job_template_nodes", {"identifier": name, "workflow_job_template": flow.id, "unified_job_template": template.id})
    for name, node in NODES.items():
        for link in workflows.FOLLOWS:
            rows[name].lists[link] = [rows[to].id for to in node.get(link, [])]
    job = store.add("workflow_jobs", {"name": FLOW["name"], "workflow_job_template": flow.id})
    job.hidden["nodes"] = {}
    names = []

    def work(row: Row) -> None:
        names.append(row.name)
        row.values |= {"failed": row.name in (failing, "end"), "artifacts": {row.name: 1}}
        assert row.hidden["extra_vars"] == dict.fromkeys(names[:-1], 1)  # everything that the earlier jobs have set

    workflows.run(store, job, work, lambda approval: approval.values.update(status="failed" if denied else "successful"))
    return names, job["status"]


@pytest.mark.parametrize(
    ("failing", "names"),
    [
        ("", ["ask", "deploy", "validate", "benchmark"]),
        ("ask", ["ask", "diagnose", "end"]),
        ("deploy", ["ask", "deploy", "diagnose", "end"]),
        ("validate", ["ask", "deploy", "validate", "diagnose", "end"]),
        ("benchmark", ["ask", "deploy", "validate", "benchmark", "diagnose", "end"]),
    ],
)
def test_a_job_that_fails_is_followed_by_a_diagnosis_and_fails_the_workflow(failing: str, names: list[str]) -> None:
    assert ran(failing) == (names, "failed" if failing else "successful")


def test_a_change_that_is_denied_is_not_deployed_and_fails_the_workflow() -> None:
    assert ran("", denied=True) == (["ask"], "failed")
