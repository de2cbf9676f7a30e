# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: project_requests
short_description: Request projects on OpenShift
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Requests each project that does not exist. Accounts that may not create namespaces may request projects, and become their administrators.
  - An existing project stays as it is. A project of someone else looks like one that does not exist, and OpenShift refuses the request for it.
options:
  names:
    description: Names of the projects.
    type: list
    elements: str
    required: true
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.no_diff
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Returns which projects would be requested.
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
    """Whether the account can read the project. OpenShift answers 403 for a project that does not exist or is someone else's."""
    try:
        return cluster.find(f"{ROOT}/projects/{name}") is not None
    except ApiError as error:
        if error.status == 403:
            return False
        raise


def main() -> None:
    """Run the module."""
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
