#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: platform_proof
short_description: Validate that the cluster meets the needs of a stack
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Checks the version of the cluster, its CRDs, the controller of the gateway, and the permissions of this account.
  - The checks are those of M(llm_d.inference.cluster_preflight), for a cluster with nothing left to install. Read-only.
  - What this account has no permission to read is not claimed.
options:
  needs:
    description: The needs of the stack, as C(platform) of P(llm_d.inference.validation_targets#filter).
    type: dict
    required: true
  services:
    description:
      - The model services, each with its C(name) and the names of its C(deployments) in C(needs.namespace).
      - An autoscaler of one of them, whoever created it, is claimed to work.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the service.
        type: str
        required: true
      deployments:
        description: Names of the Deployments, or LeaderWorkerSets, of its servers.
        type: list
        elements: str
        required: true
      autoscaled:
        description: Those of C(deployments) that must have an autoscaler.
        type: list
        elements: str
        default: []
  wait:
    description: Seconds to wait until the autoscalers of O(services[].autoscaled) work.
    type: float
    default: 0
  patient:
    description: Whether to wait for any of these autoscalers. With V(false) only those are waited for that are younger than O(wait).
    type: bool
    default: true
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
attributes:
  check_mode:
    description: Checks nothing, since nothing was applied.
seealso:
  - module: llm_d.inference.cluster_preflight
"""

EXAMPLES = r"""
- name: Check the cluster under the stack
  llm_d.inference.platform_proof:
    needs: "{{ (lookup('llm_d.inference.plan') | llm_d.inference.validation_targets).platform }}"
"""

RETURN = r"""
claims:
  description:
    - The claims C(platform/kubernetes), C(platform/definitions), C(platform/controller) and C(platform/rights), as far as the needs concern them.
    - C(NAME/scaling) for each service with an autoscaler.
  returned: success, when not in check mode
  type: list
  elements: dict
  sample:
    - {id: platform/kubernetes, ok: true, evidence: Kubernetes v1.34.4, remedy: "", seconds: 0.1}
not_checked:
  description: What was not checked, and why.
  returned: success, when not in check mode
  type: list
  elements: dict
  sample: [{id: platform/rights, why: "the account system:serviceaccount:ci:viewer is read-only: it can create or change nothing of this plan"}]
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.objects import dicts
from ..module_utils.k8s.client import auth_spec, connect
from ..module_utils.k8s.errors import ApiError, ClusterError
from ..module_utils.preflight.facts import collect
from ..module_utils.validation import autoscaler_claims
from ..module_utils.validation.platform_claims import FACTS, judge


def autoscaler_claims_of(cluster, namespace, services, wait, patient=True):
    """(claims, not checked) about autoscalers. `wait`: seconds until those of the plan must work; patient: see the option. Raises ClusterError."""
    start = cluster.clock.now()
    cluster.be_patient(wait)
    ours = {f"{service['name']}/scaling" for service in services if service["autoscaled"]}
    while True:
        try:
            found = cluster.find(autoscaler_claims.PATH.format(namespace)) or {}
        except ApiError as error:
            if error.status != 403:
                raise
            return [], [{"id": f"{service['name']}/scaling", "why": "this account has no permission to list autoscalers"} for service in services]
        claims = autoscaler_claims.judge(dicts(found.get("items")), services, cluster.clock.now() - start)
        # A new autoscaler reports no conditions until it has read its metrics.
        under_way = patient or autoscaler_claims.young(dicts(found.get("items")), services, cluster.server_time(), wait)
        if not any(entry["id"] in ours and not entry["ok"] for entry in claims) or not under_way or cluster.clock.now() - start >= wait:
            break
        cluster.clock.sleep(min(1.0, max(0.0, start + wait - cluster.clock.now())))
    if not all(entry["ok"] for entry in claims):
        told = autoscaler_claims.told(events_of(cluster, namespace))
        claims = autoscaler_claims.judge(dicts(found.get("items")), services, cluster.clock.now() - start, told)
    return claims, []


def events_of(cluster, namespace):
    """Warnings of KEDA; none where this account may not read events. Raises ClusterError."""
    try:
        return dicts((cluster.find(autoscaler_claims.EVENTS.format(namespace), autoscaler_claims.OF_KEDA) or {}).get("items"))
    except ApiError as error:
        if error.status != 403:
            raise
        return []


def main() -> None:
    """Entry point."""
    service = {
        "name": {"type": "str", "required": True},
        "deployments": {"type": "list", "elements": "str", "required": True},
        "autoscaled": {"type": "list", "elements": "str", "default": []},
    }
    module = AnsibleModule(
        {
            **auth_spec(),
            "needs": {"type": "dict", "required": True},
            "services": {"type": "list", "elements": "dict", "default": [], "options": service},
            "wait": {"type": "float", "default": 0},
            "patient": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False)
    needs, start = module.params["needs"], time.monotonic()
    try:
        cluster = connect(module)
        facts = collect(cluster, needs, FACTS)
        claims, skipped = judge(facts, needs, time.monotonic() - start)
        more, left = autoscaler_claims_of(cluster, needs["namespace"], module.params["services"], module.params["wait"], module.params["patient"])
    except ClusterError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, claims=claims + more, not_checked=skipped + left)


if __name__ == "__main__":
    main()
