# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: local_pki
short_description: Issue the certificates and kubeconfigs of the local cluster
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Manages a certificate authority, its certificates, signing keys and kubeconfigs in a folder.
  - Issues what is missing, expires within 30 days, or is requested with other names.
  - Meant for the cluster of the P(llm_d.inference.local_cluster#role) role on this host, not for production.
requirements:
  - cryptography
attributes:
  check_mode:
    description: Returns what would be issued.
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.options.local_pki
  - llm_d.inference.attributes.no_diff
  - llm_d.inference.attributes
"""

EXAMPLES = r"""
- name: Issue the administrator's certificate and kubeconfig
  llm_d.inference.local_pki:
    directory: /var/lib/llm-d-local/pki
    authority: llm-d-local
    server: https://10.215.0.1:6443
    certificates:
      - name: admin
        common_name: llm-d-local-admin
        organizations: [system:masters]
    kubeconfigs:
      - certificate: admin
        path: /var/lib/llm-d-local/admin.kubeconfig
"""

RETURN = r"""
issued:
  description: Names of what was issued and paths of what was written.
  returned: always
  type: list
  elements: str
  sample: [ca, admin, /var/lib/llm-d-local/admin.kubeconfig]
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..module_utils.common.module_options import argument_spec
from ..module_utils.local_cluster import pki
from ..module_utils.local_cluster.options import LOCAL_PKI


def main() -> None:
    module = AnsibleModule(argument_spec(LOCAL_PKI), supports_check_mode=True)
    if pki.MISSING:
        module.fail_json(msg=missing_required_lib(pki.MISSING))
    options, issue = module.params, not module.check_mode
    authority = pki.Authority(options["directory"], options["authority"])
    authority.authority(issue)
    for each in options["certificates"]:
        authority.certificate(each["name"], each["common_name"], each["organizations"], each["alternatives"], issue)
    for each in options["keys"]:
        authority.key(each, issue)
    for each in options["kubeconfigs"]:
        authority.kubeconfig(each["certificate"], each["path"], options["server"], options["cluster"], issue)
    module.exit_json(changed=bool(authority.changed), issued=authority.changed)


if __name__ == "__main__":
    main()
