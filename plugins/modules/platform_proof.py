#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: platform_proof
short_description: Claim that the cluster below a stack is what the stack needs
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Looks at the version of the cluster, at the definitions that are known there, at the controller of the gateway, and at what this account may do.
  - The checks are those of M(llm_d.inference.cluster_preflight), of a cluster where nothing is left to be installed. Writes nothing.
  - What this account may not read is not claimed.
options:
  needs:
    description: What is needed, as C(platform) of P(llm_d.inference.validation_targets#filter).
    type: dict
    required: true
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0
attributes:
  check_mode:
    description: Looks at nothing, since nothing was applied.
seealso:
  - module: llm_d.inference.cluster_preflight
"""

EXAMPLES = r"""
- name: Look at the cluster below the stack
  llm_d.inference.platform_proof:
    needs: "{{ (lookup('llm_d.inference.plan') | llm_d.inference.validation_targets).platform }}"
"""

RETURN = r"""
claims:
  description: The claims C(platform/kubernetes), C(platform/definitions), C(platform/controller) and C(platform/rights), those that the needs are about.
  returned: success, when not in check mode
  type: list
  elements: dict
  sample:
    - {id: platform/kubernetes, ok: true, evidence: Kubernetes v1.34.4, remedy: "", seconds: 0.1}
not_checked:
  description: What was not claimed, and why.
  returned: success, when not in check mode
  type: list
  elements: dict
  sample: [{id: platform/rights, why: "the account system:serviceaccount:ci:viewer only looks: it may write nothing of this plan"}]
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llm_d.inference.plugins.module_utils.cluster import auth_spec, connect
from ansible_collections.llm_d.inference.plugins.module_utils.cluster_errors import ClusterError
from ansible_collections.llm_d.inference.plugins.module_utils.platform_proof import FACTS, judge
from ansible_collections.llm_d.inference.plugins.module_utils.preflight_facts import collect


def main() -> None:
    """Entry point."""
    module = AnsibleModule({**auth_spec(), "needs": {"type": "dict", "required": True}}, supports_check_mode=True)
    if module.check_mode:
        module.exit_json(changed=False)
    needs, start = module.params["needs"], time.monotonic()
    try:
        facts = collect(connect(module), needs, FACTS)
    except ClusterError as error:
        module.fail_json(msg=str(error))
    claims, skipped = judge(facts, needs, time.monotonic() - start)
    module.exit_json(changed=False, claims=claims, not_checked=skipped)


if __name__ == "__main__":
    main()
