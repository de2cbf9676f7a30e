#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_access
short_description: Check the connection to a cluster and the permissions of the account
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Connects to the API server, and checks that it accepts the credentials and that the account has the given permissions.
  - An error is one line, with what to do. It names all missing permissions at once.
options:
  permissions:
    description: Permissions that the account must have.
    type: list
    elements: dict
    default: []
    suboptions:
      verb:
        description: The verb, such as V(create), or V(*).
        type: str
        required: true
      group:
        description: The API group, empty for the core group.
        type: str
        default: ""
      resource:
        description: The resource, in the plural.
        type: str
        required: true
      namespace:
        description: The namespace. Without it the permission must hold for the whole cluster.
        type: str
  resources:
    description: Objects to find, as definitions or references. Objects and kinds that do not exist are not an error.
    type: list
    elements: dict
    default: []
  skip_forbidden:
    description: Whether objects that the account may not read count as absent. This account cannot have created them.
    type: bool
    default: false
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
"""

EXAMPLES = r"""
- name: Check the connection and two permissions
  llm_d.inference.cluster_access:
    permissions:
      - verb: create
        resource: namespaces
      - verb: create
        group: apps
        resource: deployments
        namespace: llm-d
"""

RETURN = r"""
reached:
  description: V(false) where the API server did not answer, or did not accept the credentials. V(true) where it refused one request only.
  returned: failure
  type: bool
  sample: false
server:
  description: URL of the API server.
  returned: success
  type: str
  sample: https://10.215.0.1:6443
version:
  description: Version of the API server.
  returned: success
  type: str
  sample: 1.34.4
user:
  description: The account, empty when the API server is too old to return it.
  returned: success
  type: str
  sample: system:serviceaccount:llm-d:deployer
existing:
  description: Those of O(resources) that exist, with their names, labels, owners and generations.
  returned: success
  type: list
  elements: dict
  sample:
    - apiVersion: v1
      kind: Namespace
      metadata:
        name: llm-d
        labels: {app.kubernetes.io/part-of: llm-d}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.k8s.access import allowed, reach
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.k8s.related_objects import Observer, references


def find_objects(cluster: Cluster, items: list[dict], skip_forbidden: bool) -> list[dict]:
    """The objects of some definitions or references that exist, with their labels, owners and generations."""
    observer = Observer(cluster, references(items), skip_forbidden)
    keep = ("name", "namespace", "labels", "generation", "ownerReferences")
    return [
        {
            "apiVersion": obj["apiVersion"],
            "kind": obj["kind"],
            "metadata": {key: value for key, value in obj["metadata"].items() if key in keep},
        }
        for group in observer.fetch().values()
        for obj in group
    ]


def words(permission: dict) -> str:
    """A permission as text, such as `create deployments.apps in namespace llm-d`."""
    resource = permission["resource"] + (f".{permission['group']}" if permission.get("group") else "")
    return f"{permission['verb']} {resource}" + (f" in namespace {permission['namespace']}" if permission.get("namespace") else "")


def main() -> None:
    """Run the module."""
    spec = {
        "verb": {"type": "str", "required": True},
        "group": {"type": "str", "default": ""},
        "resource": {"type": "str", "required": True},
        "namespace": {"type": "str"},
    }
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "permissions": {"type": "list", "elements": "dict", "default": [], "options": spec},
            "resources": {"type": "list", "elements": "dict", "default": []},
            "skip_forbidden": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    permissions = module.params["permissions"]
    try:
        cluster = connect(module)
        version, user = reach(cluster)
        answers = cluster.parallel(lambda permission: allowed(cluster, permission), permissions)
        lacking = [words(permission) for permission, has in zip(permissions, answers, strict=True) if not has]
        objects = find_objects(cluster, module.params["resources"], module.params["skip_forbidden"])
    except ClusterError as exc:
        module.fail_json(msg=str(exc), reached=getattr(exc, "status", 401) != 401)
    if lacking:
        remedy = "grant them (playbooks/list_permissions.yml writes what an administrator applies), or use an account that has them"
        module.fail_json(msg=f"the account {user or 'used'!r} lacks permissions on {cluster.server}: {'; '.join(lacking)}; {remedy}", reached=True)
    module.exit_json(changed=False, server=cluster.server, version=version.removeprefix("v"), user=user, existing=objects)


if __name__ == "__main__":
    main()
