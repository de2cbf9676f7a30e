# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: install_plans
short_description: Approve what the Operator Lifecycle Manager would install
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Waits until OLM has an InstallPlan for each Subscription with manual approval, and approves it if O(approved) names everything in it.
  - Fails on an InstallPlan with anything else. Installed operators stay as they are; an upgrade that waits for approval is not approved.
options:
  subscriptions:
    description: The Subscriptions, each with C(namespace) and C(name).
    type: list
    elements: dict
    required: true
    suboptions:
      namespace:
        description: Its namespace.
        type: str
        required: true
      name:
        description: Its name.
        type: str
        required: true
  approved:
    description: Names of the ClusterServiceVersions that may be installed.
    type: list
    elements: str
    required: true
  timeout:
    description: Seconds to wait for the InstallPlans.
    type: int
    default: 120
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.no_diff
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Reads once, and returns what would be approved.
"""

EXAMPLES = r"""
- name: Approve two operators
  llm_d.inference.install_plans:
    subscriptions:
      - {namespace: openshift-nfd, name: nfd}
      - {namespace: nvidia-gpu-operator, name: gpu-operator-certified}
    approved: [nfd.4.21.0-202601, gpu-operator-certified.v26.3.1]
"""

RETURN = r"""
approved:
  description: InstallPlans that were approved, or would be.
  returned: always
  type: list
  elements: str
  sample: [nvidia-gpu-operator/install-x7k2p]
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.k8s.olm import is_resolving, refusals

ROOT = "/apis/operators.coreos.com/v1alpha1"
PAUSE = 1.0


def plans(cluster: Cluster, subscription: dict) -> tuple[dict, dict | None]:
    """(a Subscription, {} when it does not exist; the InstallPlan that it names)."""
    home = f"{ROOT}/namespaces/{subscription['namespace']}"
    current = cluster.find(f"{home}/subscriptions/{subscription['name']}") or {}
    name = ((current.get("status") or {}).get("installPlanRef") or {}).get("name")
    return current, cluster.find(f"{home}/installplans/{name}") if name else None


def main() -> None:
    """Run the module."""
    names = {key: {"type": "str", "required": True} for key in ("namespace", "name")}
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "subscriptions": {"type": "list", "elements": "dict", "required": True, "options": names},
            "approved": {"type": "list", "elements": "str", "required": True},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    params, done = module.params, []
    try:
        cluster = connect(module)
        deadline = cluster.clock.now() + params["timeout"]
        cluster.be_patient(0 if module.check_mode else params["timeout"])
        while True:
            pairs = [plans(cluster, subscription) for subscription in params["subscriptions"]]
            resolving = [each for each in pairs if is_resolving(*each)]
            if not resolving or module.check_mode or cluster.clock.now() >= deadline:
                break
            cluster.clock.sleep(PAUSE)
        problems = [line for subscription, plan in pairs for line in refusals(subscription, plan, params["approved"])]
        if problems:
            module.fail_json(msg="OLM would install something that is not approved:\n" + "\n".join(f"- {line}" for line in problems), approved=[])
        for subscription, plan in pairs:
            if plan and not plan["spec"].get("approved") and not (subscription.get("status") or {}).get("installedCSV"):
                path = f"{plan['metadata']['namespace']}/{plan['metadata']['name']}"
                if not module.check_mode:
                    where = f"{ROOT}/namespaces/{plan['metadata']['namespace']}/installplans/{plan['metadata']['name']}"
                    cluster.request("PATCH", where, body={"spec": {"approved": True}}, content_type="application/merge-patch+json")
                done.append(path)
    except ClusterError as exc:
        module.fail_json(msg=str(exc), approved=done)
    module.exit_json(changed=bool(done), approved=done)


if __name__ == "__main__":
    main()
