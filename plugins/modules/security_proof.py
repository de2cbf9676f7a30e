#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: security_proof
short_description: Validate the permissions of endpoint pickers and the privileges of pods
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Asks the API server for the permissions of the account of each endpoint picker, and checks the running pods.
  - What this account has no permission to check is returned in RV(not_checked). Read-only.
options:
  namespace:
    description: Namespace of the services.
    type: str
    required: true
  account_namespace:
    description: Namespace of the endpoint pickers and their accounts. If omitted, O(namespace).
    type: str
  services:
    description: The model services.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the service, the start of the claim ids.
        type: str
        required: true
      account:
        description: ServiceAccount of its endpoint picker.
        type: str
        required: true
      rules:
        description: The permissions that it needs, as rules of a Role.
        type: list
        elements: dict
        required: true
      selectors:
        description: Labels of the pods to check.
        type: list
        elements: dict
        required: true
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
attributes:
  check_mode:
    description: Checks nothing, since nothing was applied.
"""

EXAMPLES = r"""
- name: Check the permissions of an endpoint picker
  llm_d.inference.security_proof:
    namespace: llm-d
    services:
      - name: llama-8b
        account: llama-8b-epp
        rules:
          - {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
        selectors:
          - {llm-d.ai/model-service: llama-8b}
"""

RETURN = r"""
claims:
  description: The claims C(rights) and C(unprivileged) of each service.
  returned: success, when not in check mode
  type: list
  elements: dict
  sample:
    - {id: llama-8b/rights, ok: false, evidence: "account llm-d/llama-8b-epp may get secrets", remedy: "find the RoleBindings that name it", seconds: 0.1}
not_checked:
  description: What was not checked, and why.
  returned: success, when not in check mode
  type: list
  elements: dict
  sample: []
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.k8s.client import auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.validation.security_claims import SecurityCheck


def main() -> None:
    """Entry point."""
    service = {
        "name": {"type": "str", "required": True},
        "account": {"type": "str", "required": True},
        "rules": {"type": "list", "elements": "dict", "required": True},
        "selectors": {"type": "list", "elements": "dict", "required": True},
    }
    module = AnsibleModule(
        {
            **auth_spec(),
            "namespace": {"type": "str", "required": True},
            "account_namespace": {"type": "str"},
            "services": {"type": "list", "elements": "dict", "required": True, "options": service},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False)
    try:
        check = SecurityCheck(connect(module), module.params["namespace"], module.params["account_namespace"])
    except ClusterError as error:
        module.fail_json(msg=str(error))
    judged = [check.service(each) for each in module.params["services"]]
    module.exit_json(
        changed=False, claims=[entry for found, _skipped in judged for entry in found], not_checked=[entry for _found, skipped in judged for entry in skipped]
    )


if __name__ == "__main__":
    main()
