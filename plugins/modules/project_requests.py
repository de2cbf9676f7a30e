# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: project_requests
short_description: Request projects on OpenShift
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Requests each project that does not exist. Those who may not create namespaces may request projects, and become their administrators.
  - A project that exists is left as it is. One that is someone else's cannot be told from one that is not there, and the request for it is refused.
options:
  names:
    description: Names of the projects.
    type: list
    elements: str
    required: true
extends_documentation_fragment:
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Says which projects would be requested.
  diff_mode:
    description: There is no difference to show.
    support: none
requirements:
  - python >= 3.11
  - kubernetes >= 24.2.0
"""

EXAMPLES = r"""
- name: Request a project
  llm_d.inference.project_requests:
    names: [llm-d]
"""

RETURN = r"""
requested:
  description: Projects that were requested, or would be.
  returned: always
  type: list
  elements: str
  sample: [llm-d]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.k8s.client import auth_spec, connect
from ..module_utils.k8s.errors import ApiError, ClusterError

ROOT = "/apis/project.openshift.io/v1"


def exists(cluster, name: str) -> bool:
    """Whether the account sees the project. OpenShift forbids to look at what is not there, or not one's own."""
    try:
        return cluster.find(f"{ROOT}/projects/{name}") is not None
    except ApiError as error:
        if error.status == 403:
            return False
        raise


def main() -> None:
    """Entry of the module."""
    module = AnsibleModule(argument_spec={**auth_spec(), "names": {"type": "list", "elements": "str", "required": True}}, supports_check_mode=True)
    requested = []
    try:
        cluster = connect(module)
        for name in module.params["names"]:
            if exists(cluster, name):
                continue
            if not module.check_mode:
                body = {"apiVersion": "project.openshift.io/v1", "kind": "ProjectRequest", "metadata": {"name": name}}
                cluster.request("POST", f"{ROOT}/projectrequests", body=body)
            requested.append(name)
    except ClusterError as exc:
        module.fail_json(msg=str(exc), requested=requested)
    module.exit_json(changed=bool(requested), requested=requested)


if __name__ == "__main__":
    main()
