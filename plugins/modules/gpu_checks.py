# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_checks
short_description: Run a test pod on each pool of GPUs and check their metrics
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Creates one pod for each resource that a pool of nodes offers, waits until it has succeeded, and deletes it in any case.
  - A pool without a free resource gets no pod and is listed in RV(untested).
  - Reads the page of DCGM's exporter on each node of the pools through the API server.
  - Leaves nothing behind.
options:
  tests:
    description: Test pods, as under C(gpus.checks.pods) of the plan.
    type: list
    elements: dict
    default: []
    suboptions:
      pool:
        description: Name of the pool.
        type: str
        required: true
      resource:
        description: The resource that the pod requests.
        type: str
        required: true
      labels:
        description: Labels of the pool's nodes.
        type: dict
        required: true
      pod:
        description: The pod.
        type: dict
        required: true
  metrics:
    description: Where DCGM's exporters are; left out, metrics are not checked.
    type: dict
    suboptions:
      namespace:
        description: Namespace of the exporters; left out, all namespaces are searched.
        type: str
      selector:
        description: Label selector of their pods.
        type: str
        required: true
      pools:
        description: Pools of nodes, each with C(selector), and C(cut) for GPUs that are partitioned into MIG slices.
        type: list
        elements: dict
        required: true
        suboptions:
          selector:
            description: Label selector of the nodes.
            type: str
            required: true
          cut:
            description: Whether the GPUs are partitioned into MIG slices.
            type: bool
            default: false
  timeout:
    description: Seconds to wait for the pods and the metrics.
    type: int
    default: 300
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Does nothing.
  diff_mode:
    description: There is no difference to show.
    support: none
requirements:
  - python >= 3.11
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
"""

EXAMPLES = r"""
- name: Test the GPUs of each pool
  llm_d.inference.gpu_checks:
    tests: "{{ lookup('llm_d.inference.plan').gpus.checks.pods }}"
    metrics: "{{ lookup('llm_d.inference.plan').gpus.checks.metrics }}"
"""

RETURN = r"""
tested:
  description: Test pods that succeeded.
  returned: always
  type: list
  elements: str
  sample: ["pool cut: nvidia.com/mig-1g.10gb on gpu-a100"]
untested:
  description: Test pods for which no resource was free.
  returned: always
  type: list
  elements: str
  sample: ["pool whole: no nvidia.com/gpu is free"]
problems:
  description: What does not work, each with what to do.
  returned: always
  type: list
  elements: str
  sample: ["node gpu-1: no pod of DCGM's exporter runs on it; check its DaemonSet"]
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.labels import has_labels, whose
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.k8s.platform import free_accelerators
from ..module_utils.k8s.readiness.judge import deletion_verdict
from ..module_utils.preflight.gpu_checks import ENDED, free, missing_series, port, verdict

PAUSE = 1.0
REMOVAL = 60.0  # seconds in which a deleted pod has to be gone
TEXT = {"type": "str", "required": True}
TEST = {"pool": TEXT, "resource": TEXT, "labels": {"type": "dict", "required": True}, "pod": {"type": "dict", "required": True}}
POOL = {"selector": TEXT, "cut": {"type": "bool", "default": False}}
METRICS = {"namespace": {"type": "str"}, "selector": TEXT, "pools": {"type": "list", "elements": "dict", "required": True, "options": POOL}}


def remove(cluster: Cluster, paths: list[str]) -> list[str]:
    """Delete pods, and wait until their names are free again. Returns what holds those that exist after REMOVAL seconds."""
    end = cluster.clock.now() + REMOVAL
    while pods := {path: pod for path in paths if (pod := cluster.find(path))}:
        if cluster.clock.now() >= end:
            states = {path.rpartition("/")[2]: deletion_verdict(pod) for path, pod in pods.items()}
            return [
                f"the test pod {name} is {each.reason} after {REMOVAL:g} s; {each.remedy or 'check the kubelet of its node'}" for name, each in states.items()
            ]
        for path in pods:
            cluster.delete(path, body={"gracePeriodSeconds": 0})
        cluster.clock.sleep(PAUSE)
    return []


def run(cluster: Cluster, tests: list[dict], deadline: float) -> tuple[list[str], list[str]]:
    """Run all test pods in parallel; (those that succeeded, problems)."""
    paths, succeeded, problems = {}, [], []
    try:
        for test in tests:
            metadata = test["pod"]["metadata"]
            root = f"/api/v1/namespaces/{metadata['namespace']}/pods"
            if (existing := cluster.find(f"{root}/{metadata['name']}")) and not has_labels(existing, metadata["labels"]):
                remedy = f"write another name for the pool {test['pool']} under llm_d_gpus.pools, or have it deleted"
                raise ClusterError(f"the test pod cannot be made: there is a Pod {metadata['namespace']}/{metadata['name']} {whose(existing)}; {remedy}")
            if held := remove(cluster, [f"{root}/{metadata['name']}"]):  # left by a run that was killed
                raise ClusterError(held[0])
            cluster.request("POST", root, body=test["pod"])
            paths[f"{root}/{metadata['name']}"] = test
        while True:
            pods = {path: cluster.find(path) or {} for path in paths}
            if all((pod.get("status") or {}).get("phase") in ENDED for pod in pods.values()) or cluster.clock.now() >= deadline:
                break
            cluster.clock.sleep(PAUSE)
        for path, test in paths.items():
            if problem := verdict(pods[path], test):
                problems.append(problem)
            else:
                succeeded.append(f"pool {test['pool']}: {test['resource']} on {pods[path]['spec'].get('nodeName')}")
    finally:
        problems += remove(cluster, list(paths))
    return succeeded, problems


def missing_metrics(cluster: Cluster, metrics: dict) -> list[str]:
    """Metrics that the exporters of the pools' nodes lack, each with what to do."""
    place = f"/api/v1/namespaces/{metrics['namespace']}/pods" if metrics.get("namespace") else "/api/v1/pods"
    pods = cluster.get(place, {"labelSelector": metrics["selector"]}).get("items") or []
    exporters = {pod["spec"].get("nodeName"): pod for pod in pods if (pod.get("status") or {}).get("phase") == "Running"}
    lines = []
    for pool in metrics["pools"]:
        for node in cluster.get("/api/v1/nodes", {"labelSelector": pool["selector"]}).get("items") or []:
            name = node["metadata"]["name"]
            if name not in exporters:
                lines.append(f"node {name}: no pod of DCGM's exporter runs on it; check its DaemonSet")
                continue
            pod = exporters[name]
            path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}:{port(pod)}/proxy/metrics"
            try:
                lines.append(missing_series(name, cluster.read_text(path), pool["cut"]))
            except ClusterError as error:
                lines.append(f"node {name}: DCGM's exporter does not answer: {error}")
    return [line for line in lines if line]


def main() -> None:
    """Entry of the module."""
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "tests": {"type": "list", "elements": "dict", "default": [], "options": TEST},
            "metrics": {"type": "dict", "options": METRICS},
            "timeout": {"type": "int", "default": 300},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False, tested=[], untested=[], problems=[])
    tests, metrics, untested = module.params["tests"], module.params["metrics"], []
    try:
        cluster = connect(module)
        deadline = cluster.clock.now() + module.params["timeout"]
        cluster.be_patient(module.params["timeout"])
        facts = {kind: cluster.get(f"/api/v1/{kind}").get("items") or [] for kind in ("nodes", "pods")} if tests else {}
        room = [test for test in tests if free(free_accelerators(facts, test["resource"]), test["labels"])]
        untested = [f"pool {test['pool']}: no {test['resource']} is free" for test in tests if test not in room]
        tested, problems = run(cluster, room, deadline)
        lacking = missing_metrics(cluster, metrics) if metrics else []
        while lacking and cluster.clock.now() < deadline:
            cluster.clock.sleep(PAUSE)
            lacking = missing_metrics(cluster, metrics)
    except ClusterError as exc:
        module.fail_json(msg=str(exc), tested=[], untested=untested, problems=[])
    result = {"changed": False, "tested": tested, "untested": untested, "problems": problems + lacking}
    if result["problems"]:
        module.fail_json(msg="the GPUs do not work as requested:\n" + "\n".join(f"- {line}" for line in result["problems"]), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
