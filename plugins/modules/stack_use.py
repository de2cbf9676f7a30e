#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: stack_use
short_description: Refuse to remove a gateway or a claim that others use
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Fails, before anything is removed and with all names at once, while routes of others lead through our gateways, and while workloads of others mount our
    PersistentVolumeClaims. Objects of these names without our labels are not removed, and do not count.
  - Routes are all kinds of the Gateway API that lead through Gateways, and the sets of further listeners that are attached to them.
  - Where the account may not list them in the whole cluster, those in O(namespaces) and in the namespaces of the gateways count, and the number of
    others that the gateway's controller has attached to it.
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
  namespaces:
    description: Namespaces of our routes.
    type: list
    elements: str
    default: []
  labels:
    description: Labels of our own objects.
    type: dict
    required: true
  home:
    description: Namespace of the file. Elsewhere, only objects that name it in the label C(llm-d.ai/namespace) are ours. Empty for any.
    type: str
    default: ""
  skip_forbidden:
    description: Whether Gateways and claims that the account may not read count as absent. This account cannot have created them.
    type: bool
    default: false
  force:
    description: Whether to return the names instead of failing.
    type: bool
    default: false
extends_documentation_fragment:
  - llm_d.inference.internal
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
  description: The objects of others that use them.
  returned: always
  type: list
  elements: str
  sample: ["HTTPRoute shop/search leads through the Gateway llm-d/llm-d-gateway"]
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.labels import has_labels
from ..module_utils.common.text import shorten
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ApiError, ClusterError
from ..module_utils.k8s.guests import GROUPS, Name, is_attached_kind, others_attached, unlisted_attachments, users_of_claims
from ..module_utils.k8s.namespace_reader import kinds

WORKLOADS = {"v1": ("Pod",), "apps/v1": ("Deployment", "StatefulSet", "DaemonSet"), "batch/v1": ("Job", "CronJob")}
GATEWAY = (f"{GROUPS[0]}/v1", "Gateway")
CLAIM = ("v1", "PersistentVolumeClaim")
LAG = 10.0  # seconds for a controller to count the routes of a Gateway again
PAUSE = 0.5


class Attached(t.NamedTuple):
    """What is attached to Gateways. whole: whether the list is complete; failed: kinds that the API server does not list, and its answers."""

    items: list[dict[str, t.Any]]
    whole: bool
    failed: list[str]


def ours(cluster: Cluster, api_version: str, kind: str, names: list[dict[str, str]], params: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """The objects of these names that have our labels: others stay where they are. Raises ClusterError."""
    objects = []
    for each in names:
        path = cluster.path(api_version, kind, each["namespace"], each["name"])
        try:
            item = cluster.find(path) if path else None
        except ApiError as exc:
            if exc.status != 403 or not params["skip_forbidden"]:
                raise
            item = None
        if has_labels(item or {}, params["labels"]):
            objects.append({**item, "metadata": {**item["metadata"], **each}})
    return objects


def name_of(item: dict[str, t.Any]) -> Name:
    return item["metadata"]["namespace"], item["metadata"]["name"]


def attached(cluster: Cluster, namespaces: set[str]) -> Attached:
    """All routes and sets of listeners that the account may list: of the cluster, else of these namespaces. Raises ClusterError."""
    known, broken = kinds(cluster, GROUPS)
    items, whole, failed = [], True, [f"{version} does not answer: {why}" for version, why in broken.items()]
    for kind in known:
        if is_attached_kind(kind.kind):
            try:
                items += cluster.listed(kind.path(), kind.kind)
            except ApiError as exc:
                whole = False
                if exc.status == 403:
                    items += [item for namespace in sorted(namespaces) for item in readable(cluster, kind.path(namespace), kind.kind) or []]
                elif exc.status == 401:
                    raise
                else:
                    failed.append(f"{kind.title} cannot be listed: {shorten(f'{exc.status} {exc.message}', 160)}")
    return Attached(items, whole and not failed, failed)


def readable(cluster: Cluster, path: str | None, kind: str) -> list[dict[str, t.Any]] | None:
    """The objects at a path, none where the API server does not serve the kind; None where the account may not list them. Raises ClusterError."""
    try:
        return cluster.listed(path, kind) if path else []
    except ApiError as exc:
        if exc.status != 403:
            raise
        return None


def users_of_gateways(cluster: Cluster, names: list[dict[str, str]], params: dict[str, t.Any]) -> tuple[list[str], list[str]]:
    """(objects of others that are attached to our Gateways, kinds of which they are not known). Raises ClusterError."""
    labels, end = params["labels"], cluster.clock.now() + LAG
    while True:
        gateways = ours(cluster, *GATEWAY, names, params)
        if not gateways:
            return [], []
        attachments = attached(cluster, {*params["namespaces"], *(name_of(item)[0] for item in gateways)})
        users = others_attached([name_of(item) for item in gateways], attachments.items, labels, params["home"])
        unlisted = {"/".join(name_of(item)): unlisted_attachments(item, attachments.items) for item in gateways} if not attachments.whole else {}
        # A controller updates its count with a delay.
        if users or not any(unlisted.values()) or cluster.clock.now() > end:
            break
        cluster.clock.sleep(PAUSE)
    users += [f"the controller of the Gateway {name} has attached {words}, which this account cannot list" for name, words in unlisted.items() if words]
    if any(not (item.get("status") or {}).get("listeners") for item in gateways):
        users += [f"it is not known who uses the Gateways: {why}" for why in attachments.failed]  # no controller has counted the routes
    return users, attachments.failed


def users_of_mounts(cluster: Cluster, given: list[dict[str, str]], params: dict[str, t.Any]) -> tuple[list[str], list[str]]:
    """(workloads of others that mount our claims, reasons why some are not known). Raises ClusterError."""
    users, unknown = [], []
    claims = [name_of(item) for item in ours(cluster, *CLAIM, given, params)]
    for place in sorted({namespace for namespace, _name in claims}):
        workloads = {kind: readable(cluster, cluster.path(version, kind, place), kind) for version, names in WORKLOADS.items() for kind in names}
        users += users_of_claims(claims, [item for items in workloads.values() for item in items or []], params["labels"])
        hidden = [kind for kind, items in workloads.items() if items is None]
        if "Pod" in hidden:
            users.append(f"it is not known which pods mount the PersistentVolumeClaims in namespace {place}, which this account may not list")
        elif hidden:
            unknown.append(f"only the pods that mount the PersistentVolumeClaims in namespace {place} are known: this account may not list {', '.join(hidden)}")
    return users, unknown


def main() -> None:
    """Entry of the module."""
    name = {"namespace": {"type": "str", "required": True}, "name": {"type": "str", "required": True}}
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "gateways": {"type": "list", "elements": "dict", "options": name, "default": []},
            "claims": {"type": "list", "elements": "dict", "options": name, "default": []},
            "namespaces": {"type": "list", "elements": "str", "default": []},
            "labels": {"type": "dict", "required": True},
            "home": {"type": "str", "default": ""},
            "skip_forbidden": {"type": "bool", "default": False},
            "force": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        cluster = connect(module)
        cluster.be_patient(LAG)
        users, unknown = users_of_gateways(cluster, params["gateways"], params)
        mounting, unlisted = users_of_mounts(cluster, params["claims"], params)
    except ClusterError as exc:
        module.fail_json(msg=str(exc), users=[])
    users += mounting
    if users and not params["force"]:
        listing = "\n".join(f"  - {user}" for user in users)
        module.fail_json(
            msg=f"Others use what would be removed. Nothing has been removed.\n{listing}\nRemove these first, or write llm_d_force_removal: true.", users=users
        )
    for why in [*unknown, *unlisted]:
        module.warn(why)
    module.exit_json(changed=False, users=users)


if __name__ == "__main__":
    main()
