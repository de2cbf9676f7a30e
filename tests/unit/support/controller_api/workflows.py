# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A workflow job: the order of its nodes, and the variables that jobs pass on (awx/main/scheduler/dag_workflow.py, awx/main/models/workflow.py).

Nodes run one after the other; AWX runs independent ones at the same time.
"""

from __future__ import annotations

import collections.abc as c
import time

from controller_api import jobs, prompts
from controller_api.fields import Values
from controller_api.store import TEMPLATES, Row, Store, now

# The values of `failed` of a job after which each of its links is followed.
FOLLOWS = {"success_nodes": (False,), "failure_nodes": (True,), "always_nodes": (False, True)}


def decided(approval: Row) -> None:
    """Waits until a step is approved or denied. Here approvals do not expire."""
    while approval["status"] == "pending":
        time.sleep(0.1)


def run(store: Store, flow: Row, work: c.Callable[[Row], None], ask: c.Callable[[Row], None] = decided) -> None:
    """Runs all nodes, and stores the outcome in the row of the workflow job. work: runs a job; ask: waits for the decision on an approval."""
    flow.values |= {"status": "running", "started": now()}
    nodes = store.where("workflow_job_template_nodes", workflow_job_template=flow["workflow_job_template"])
    started: dict[int, Row] = flow.hidden["nodes"]  # the jobs by the id of their node
    over: dict[int, Values] = {}  # variables that nodes which have ended, or do not run, pass on
    while len(over) < len(nodes):
        for node in nodes:
            before = [(parent, link) for parent in nodes for link in FOLLOWS if node.id in parent.lists[link]]
            if node.id in over or any(parent.id not in over for parent, _link in before):
                continue
            known = {name: value for parent, _link in before for name, value in over[parent.id].items()}
            if not before or any(parent.id in started and started[parent.id]["failed"] in FOLLOWS[link] for parent, link in before):
                _run(store, flow, node, known, work, ask)
                known |= started[node.id].values.get("artifacts", {})
            over[node.id] = known
    failed = any(node.id in started and started[node.id]["failed"] and not (node.lists["failure_nodes"] or node.lists["always_nodes"]) for node in nodes)
    flow.values |= {"status": "failed" if failed else "successful", "failed": failed, "finished": now()}


def _run(store: Store, flow: Row, node: Row, known: Values, work: c.Callable[[Row], None], ask: c.Callable[[Row], None]) -> None:
    """Runs the job of a node, or waits for the decision on its approval."""
    template = store.get(TEMPLATES, node["unified_job_template"])
    if template.kind == "workflow_approval_templates":
        flow.hidden["nodes"][node.id] = approval = store.add("workflow_approvals", {"name": template.name, "description": template["description"]})
        ask(approval)
        approval.values |= {"failed": approval["status"] != "successful", "finished": now()}
        return
    given = {"extra_vars": {**prompts.launched(store, template, node["extra_data"]), **known}}
    flow.hidden["nodes"][node.id] = job = jobs.made(store, template, given, flow)
    work(job)
