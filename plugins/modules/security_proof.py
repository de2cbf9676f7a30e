#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: security_proof
short_description: Claim that endpoint pickers can do what they need and no more, and that pods run without privileges
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Asks the API server what the account of each endpoint picker may do, and looks at the pods that run.
  - What this account may not ask about is not checked, and told as such. Writes nothing.
options:
  namespace:
    description: Namespace of the services.
    type: str
    required: true
  services:
    description: The model services.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the service, with which the claims begin.
        type: str
        required: true
      account:
        description: ServiceAccount of its endpoint picker.
        type: str
        required: true
      rules:
        description: Rules of a Role, with what it needs.
        type: list
        elements: dict
        required: true
      selectors:
        description: Labels of the pods to look at.
        type: list
        elements: dict
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
"""

EXAMPLES = r"""
- name: Look at what an endpoint picker may do
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
  description: The claims, of each service C(rights) and C(unprivileged).
  returned: success, when not in check mode
  type: list
  elements: dict
  sample:
    - {id: llama-8b/rights, ok: false, evidence: "account llm-d/llama-8b-epp may get secrets", remedy: "look for RoleBindings that name it", seconds: 0.1}
not_checked:
  description: What could not be looked at, and why.
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
        {**auth_spec(), "namespace": {"type": "str", "required": True}, "services": {"type": "list", "elements": "dict", "required": True, "options": service}},
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False)
    try:
        look = SecurityCheck(connect(module), module.params["namespace"])
    except ClusterError as error:
        module.fail_json(msg=str(error))
    judged = [look.service(each) for each in module.params["services"]]
    module.exit_json(
        changed=False, claims=[entry for found, _skipped in judged for entry in found], not_checked=[entry for _found, skipped in judged for entry in skipped]
    )


if __name__ == "__main__":
    main()
