#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: stack_use
short_description: Refuse to remove a gateway or a claim that others use
version_added: 0.2.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Fails, before anything is removed and with all names at once, while routes of others lead through our gateways, and while workloads of others mount our
    PersistentVolumeClaims. What of the names has not our labels is not removed, and does not count.
  - Where the account may not list routes of the whole cluster, those in the namespaces of the gateways count.
options:
  gateways:
    description: The Gateways that would be removed.
    type: list
    elements: dict
    default: []
    suboptions: &name
      namespace:
        description: The namespace.
        type: str
        required: true
      name:
        description: The name.
        type: str
        required: true
  claims:
    description: The PersistentVolumeClaims that would be removed.
    type: list
    elements: dict
    default: []
    suboptions: *name
  labels:
    description: Labels of our own objects.
    type: dict
    required: true
  force:
    description: Whether to return the names instead of failing.
    type: bool
    default: false
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
"""

EXAMPLES = r"""
- name: Check whether the gateway can be removed
  llm_d.inference.stack_use:
    gateways:
      - {namespace: llm-d, name: llm-d-gateway}
    labels: {app.kubernetes.io/managed-by: llm_d.inference, app.kubernetes.io/part-of: llm-d}
"""

RETURN = r"""
users:
  description: What of others uses them.
  returned: always
  type: list
  elements: str
  sample: ["HTTPRoute shop/search leads through the Gateway llm-d/llm-d-gateway"]
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.labels import has_labels
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ApiError, ClusterError
from ..module_utils.k8s.guests import Name, routes_of_others, users_of_claims

ROUTES = (("v1", "HTTPRoute"), ("v1", "GRPCRoute"), ("v1", "TLSRoute"), ("v1alpha2", "TCPRoute"))
WORKLOADS = (("v1", "Pod"), ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"))
GROUP = "gateway.networking.k8s.io"


def ours(cluster: Cluster, api_version: str, kind: str, names: list[dict[str, str]], labels: dict[str, str]) -> list[Name]:
    """Those of the names that exist and have our labels: others stay where they are. Raises ClusterError."""
    found = [(each["namespace"], each["name"], cluster.path(api_version, kind, each["namespace"], each["name"])) for each in names]
    return [(namespace, name) for namespace, name, path in found if path and has_labels(cluster.find(path) or {}, labels)]


def routes(cluster: Cluster, gateways: list[Name]) -> list[dict[str, t.Any]]:
    """All routes that the account may list. Raises ClusterError."""
    found = []
    for version, kind in ROUTES:
        path = cluster.path(f"{GROUP}/{version}", kind, "")
        try:
            found += cluster.listed(path, kind) if path else []
        except ApiError as exc:
            if exc.status != 403:
                raise
            found += [item for namespace in {namespace for namespace, _name in gateways} for item in readable(cluster, f"{GROUP}/{version}", kind, namespace)]
    return found


def readable(cluster: Cluster, api_version: str, kind: str, namespace: str) -> list[dict[str, t.Any]]:
    """The objects of a kind in a namespace; [] where the account may not list them. Raises ClusterError."""
    try:
        return cluster.listed(cluster.path(api_version, kind, namespace) or "", kind)
    except ApiError as exc:
        if exc.status != 403:
            raise
        return []


def main() -> None:
    """Entry of the module."""
    name = {"namespace": {"type": "str", "required": True}, "name": {"type": "str", "required": True}}
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "gateways": {"type": "list", "elements": "dict", "options": name, "default": []},
            "claims": {"type": "list", "elements": "dict", "options": name, "default": []},
            "labels": {"type": "dict", "required": True},
            "force": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params, labels = module.params, module.params["labels"]
    try:
        cluster = connect(module)
        gateways = ours(cluster, f"{GROUP}/v1", "Gateway", params["gateways"], labels)
        claims = ours(cluster, "v1", "PersistentVolumeClaim", params["claims"], labels)
        users = routes_of_others(gateways, routes(cluster, gateways), labels) if gateways else []
        for namespace in sorted({namespace for namespace, _name in claims}):
            users += users_of_claims(claims, [item for version, kind in WORKLOADS for item in readable(cluster, version, kind, namespace)], labels)
    except ClusterError as exc:
        module.fail_json(msg=str(exc), users=[])
    if users and not params["force"]:
        listing = "\n".join(f"  - {user}" for user in users)
        module.fail_json(
            msg=f"Others use what would be removed. Nothing has been removed.\n{listing}\nRemove these first, or write llm_d_force_removal: true.", users=users
        )
    module.exit_json(changed=False, users=users)


if __name__ == "__main__":
    main()
