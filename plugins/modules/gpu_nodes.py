# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_nodes
short_description: Label the nodes of GPU pools and wait for their resources
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Gives each node of a pool the labels that select how its GPUs are shared, and waits for the expected allocatable resources.
  - Node labels are written by a merge patch; no other label is touched.
options:
  state:
    description: With V(absent), the labels are removed from the nodes, whatever their value, without waiting.
    type: str
    choices: [present, absent]
    default: present
  pools:
    description: Node pools, as under C(gpus.pools) of the plan.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the pool.
        type: str
        required: true
      selector:
        description: Label selector of its nodes.
        type: str
        required: true
      labels:
        description: Labels to set; one with the value null is removed. Empty where an operator is only verified.
        type: dict
        default: {}
      corrected:
        description: Labels to set on nodes that have them with another value.
        type: dict
        default: {}
      expected:
        description: Allocatable resources that each node must have, each with C(resource) and C(count), which is null for any number.
        type: list
        elements: dict
        default: []
      state_label:
        description: Label in which the MIG manager reports its progress.
        type: str
  timeout:
    description: Seconds to wait.
    type: int
    default: 900
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Reports which nodes would be labelled, without waiting.
  diff_mode:
    description: Shows the labels.
requirements:
  - python >= 3.11
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
"""

EXAMPLES = r"""
- name: Share the GPUs as planned
  llm_d.inference.gpu_nodes:
    pools: "{{ lookup('llm_d.inference.plan').gpus.pools }}"
"""

RETURN = r"""
labelled:
  description: Nodes whose labels were changed.
  returned: always
  type: list
  elements: str
  sample: [gpu-1]
nodes:
  description: Nodes of each pool.
  returned: always
  type: dict
  sample: {a100: [gpu-1, gpu-2]}
problems:
  description: Differences from the expected state, each with its remedy.
  returned: always
  type: list
  elements: str
  sample: ["pool a100: node gpu-1: allocatable nvidia.com/gpu is 1, not 8; check the pods of the device plugin on it, and gpus_per_node"]
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.preflight.gpu_nodes import missing_labels, our_labels, trouble

POOL = {
    "name": {"type": "str", "required": True},
    "selector": {"type": "str", "required": True},
    "labels": {"type": "dict", "default": {}},
    "corrected": {"type": "dict", "default": {}},
    "expected": {"type": "list", "elements": "dict", "default": []},
    "state_label": {"type": "str"},
}
PAUSE = 2.0


def nodes_of(cluster: Cluster, pool: dict) -> list[dict]:
    """The nodes of a pool."""
    return cluster.get("/api/v1/nodes", {"labelSelector": pool["selector"]}).get("items") or []


def main() -> None:
    """Entry of the module."""
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "pools": {"type": "list", "elements": "dict", "required": True, "options": POOL},
            "timeout": {"type": "int", "default": 900},
        },
        supports_check_mode=True,
    )
    pools, wanted = module.params["pools"], module.params["state"] == "present"
    before, after, problems = {}, {}, []
    try:
        cluster = connect(module)
        members = {pool["name"]: nodes_of(cluster, pool) for pool in pools}
        for pool in pools:
            for node in members[pool["name"]]:
                lacking = (missing_labels if wanted else our_labels)(node, pool["labels"], pool["corrected"])
                name = node["metadata"]["name"]
                if lacking:
                    labels = node["metadata"].get("labels") or {}
                    before[name], after[name] = {key: labels.get(key) for key in lacking}, lacking
                    if not module.check_mode:
                        cluster.request("PATCH", f"/api/v1/nodes/{name}", body={"metadata": {"labels": lacking}}, content_type="application/merge-patch+json")
        deadline = cluster.clock.now() + module.params["timeout"]
        cluster.be_patient(module.params["timeout"])
        while wanted and not module.check_mode:
            problems = [line for pool in pools for line in trouble(pool, nodes_of(cluster, pool))]
            if not problems or cluster.clock.now() >= deadline:
                break
            cluster.clock.sleep(PAUSE)
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    names = {pool: [node["metadata"]["name"] for node in nodes] for pool, nodes in members.items()}
    result = {"changed": bool(after), "labelled": sorted(after), "nodes": names, "problems": problems, "diff": {"before": before, "after": after}}
    if problems:
        module.fail_json(msg="the GPUs are not shared as requested:\n" + "\n".join(f"- {line}" for line in problems), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
