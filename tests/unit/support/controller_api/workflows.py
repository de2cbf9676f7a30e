# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A workflow job: which node follows which, and what one job gives to the next (awx/main/scheduler/dag_workflow.py, awx/main/models/workflow.py).

One node runs after the other, where AWX runs those at once that do not wait for each other.
"""

from __future__ import annotations

import collections.abc as c
import time

from controller_api import jobs, prompts
from controller_api.fields import Values
from controller_api.store import TEMPLATES, Row, Store, now

FOLLOWS = {"success_nodes": (False,), "failure_nodes": (True,), "always_nodes": (False, True)}  # and whether the job before has failed


def decided(approval: Row) -> None:
    """Waits until somebody has approved or denied. Nobody lets an approval expire here."""
    while approval["status"] == "pending":
        time.sleep(0.1)


def run(store: Store, flow: Row, work: c.Callable[[Row], None], ask: c.Callable[[Row], None] = decided) -> None:
    """Runs the nodes to their end, which the row of the workflow job says then. work: runs a job; ask: has an approval decided on."""
    flow.values |= {"status": "running", "started": now()}
    nodes = store.where("workflow_job_template_nodes", workflow_job_template=flow["workflow_job_template"])
    started: dict[int, Row] = flow.hidden["nodes"]  # the jobs of nodes
    over: dict[int, Values] = {}  # what the nodes that have ended, or do not run, give to the next ones
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
    """Runs the job of a node, or has it approved or denied."""
    template = store.get(TEMPLATES, node["unified_job_template"])
    if template.kind == "workflow_approval_templates":
        flow.hidden["nodes"][node.id] = approval = store.add("workflow_approvals", {"name": template.name, "description": template["description"]})
        ask(approval)
        approval.values |= {"failed": approval["status"] != "successful", "finished": now()}
        return
    given = {"extra_vars": {**prompts.launched(store, template, node["extra_data"]), **known}}
    flow.hidden["nodes"][node.id] = job = jobs.made(store, template, given, flow)
    work(job)
