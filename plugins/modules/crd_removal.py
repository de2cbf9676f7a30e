# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: crd_removal
short_description: Remove the CRDs that this collection installed
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Removes each CRD that M(llm_d.inference.crd_bundles) applied and that has no other field manager.
  - Removing a CRD deletes all objects of its kind, so nothing is removed while one exists, or where they cannot be listed; the error names them.
  - A CRD that the platform, a chart or anyone else created or took over stays.
options:
  timeout:
    description: Seconds to wait until they are deleted.
    type: int
    default: 60
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Returns what would be removed, or fails with the objects.
  diff_mode:
    description: Shows the names.
"""

EXAMPLES = r"""
- name: Remove the CRDs
  llm_d.inference.crd_removal:
"""

RETURN = r"""
removed:
  description: Names of the CRDs that were removed, or would be.
  returned: always
  type: list
  elements: str
  sample: [inferencepools.inference.networking.k8s.io]
objects:
  description: The objects of these kinds, or why they cannot be listed. Because of them nothing was removed.
  returned: on failure
  type: list
  elements: str
  sample: [inferencepools.inference.networking.k8s.io llm-d/sim]
"""


from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.text import shorten
from ..module_utils.k8s import crds
from ..module_utils.k8s.client import FIELD_MANAGER, Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ApiError, ClusterError

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
SHOWN = 20


def own_crds(cluster: Cluster) -> list[str]:
    """Names of the CRDs whose only field manager is this collection."""
    items = cluster.get(PATH, accept=METADATA_LIST).get("items") or []
    return sorted(item["metadata"]["name"] for item in items if not crds.other_managers(item["metadata"], FIELD_MANAGER))


def versions(cluster: Cluster, names: list[str]) -> dict[str, str]:
    """A served version of each CRD, by name; a CRD without one is missing."""
    served: dict[str, str] = {}
    for group in sorted({name.partition(".")[2] for name in names}):
        for version in (cluster.find(f"/apis/{group}") or {}).get("versions") or []:
            resources = (cluster.find(f"/apis/{version['groupVersion']}") or {}).get("resources") or []
            for resource in resources:
                served.setdefault(f"{resource['name']}.{group}", version["version"])
    return served


def objects(cluster: Cluster, name: str, version: str) -> list[str]:
    """Objects of a CRD's kind, each as `crd namespace/name`: the first SHOWN, then how many more there are; or why they cannot be listed."""
    plural, _dot, group = name.partition(".")
    try:
        answer = cluster.find(f"/apis/{group}/{version}/{plural}", {"limit": str(SHOWN)}, accept=METADATA_LIST) or {}
    except ApiError as exc:
        if exc.status == 401:
            raise
        return [f"{name}: its objects cannot be listed ({shorten(f'{exc.status} {exc.message}', 160)})"]
    places = [item["metadata"] for item in answer.get("items") or []]
    listed = [f"{name} " + (f"{place['namespace']}/" if place.get("namespace") else "") + place["name"] for place in places]
    remaining = (answer.get("metadata") or {}).get("remainingItemCount")
    return listed + ([f"{name}: {remaining} more"] if remaining else [])


def in_use(cluster: Cluster, names: list[str]) -> list[str]:
    """All objects of the CRDs, and those CRDs whose objects cannot be listed, as text. Raises ClusterError."""
    served = versions(cluster, names)
    hidden = [f"{name}: the API server does not serve it, so its objects cannot be listed; remove it by hand" for name in names if name not in served]
    return hidden + [entry for part in cluster.parallel(lambda name: objects(cluster, name, served[name]), list(served)) for entry in part]


def remove(cluster: Cluster, names: list[str], timeout: int) -> None:
    """Delete the CRDs and wait until they are gone. Raises ClusterError."""
    cluster.parallel(lambda name: cluster.delete(f"{PATH}/{name}"), names)
    cluster.be_patient(timeout)
    end = cluster.clock.now() + timeout
    while left := [name for name in names if cluster.find(f"{PATH}/{name}", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")]:
        if cluster.clock.now() > end:
            raise ClusterError(f"after {timeout} s these CRDs still exist: {', '.join(left)}")
        cluster.clock.sleep(0.2)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={**auth_spec(), "timeout": {"type": "int", "default": 60}}, supports_check_mode=True)
    names: list[str] = []
    try:
        cluster = connect(module)
        names = own_crds(cluster)
        entries = in_use(cluster, names)
        if entries:
            listing = "\n".join(f"  - {entry}" for entry in entries)
            msg = f"Objects of these CRDs exist or cannot be listed, and would be deleted with them. Nothing has been removed; delete them first:\n{listing}"
            module.fail_json(msg=msg, removed=[], objects=entries)
        if not module.check_mode:
            remove(cluster, names, module.params["timeout"])
    except ClusterError as exc:
        module.fail_json(msg=str(exc), removed=[])
    result = {"changed": bool(names), "removed": names}
    if module._diff:
        result["diff"] = {"before": "".join(f"{name}\n" for name in names), "after": ""}
    module.exit_json(**result)


if __name__ == "__main__":
    main()
