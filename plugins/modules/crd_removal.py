# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: crd_removal
short_description: Remove the CustomResourceDefinitions that this collection installed
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Removes each definition that M(llm_d.inference.crd_bundles) applied and nobody else has a part in.
  - With a definition go all objects of its kind. Nothing is removed while there is one; the error names them.
  - A definition that the platform, a chart or anyone else made or took over stays.
options:
  timeout:
    description: Seconds to wait until they are gone.
    type: int
    default: 60
extends_documentation_fragment:
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Says what would be removed, or why nothing would.
  diff_mode:
    description: Shows the names.
requirements:
  - python >= 3.11
  - kubernetes >= 24.2.0
"""

EXAMPLES = r"""
- name: Remove the definitions
  llm_d.inference.crd_removal:
"""

RETURN = r"""
removed:
  description: Names of the definitions that were removed, or would be.
  returned: always
  type: list
  elements: str
  sample: [inferencepools.inference.networking.k8s.io]
objects:
  description: Objects of these kinds, for whose sake nothing was removed.
  returned: on failure
  type: list
  elements: str
  sample: [inferencepools.inference.networking.k8s.io llm-d/sim]
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.k8s import crds
from ..module_utils.k8s.client import FIELD_MANAGER, Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ClusterError

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
SHOWN = 20


def ours(cluster: Cluster) -> list[str]:
    """Names of the definitions that are ours alone."""
    found = cluster.get(PATH, accept=METADATA_LIST).get("items") or []
    return sorted(item["metadata"]["name"] for item in found if not crds.other_managers(item["metadata"], FIELD_MANAGER))


def versions(cluster: Cluster, names: list[str]) -> dict[str, str]:
    """A version in which each definition is served; one that is served in none is missing."""
    found: dict[str, str] = {}
    for group in sorted({name.partition(".")[2] for name in names}):
        for version in (cluster.find(f"/apis/{group}") or {}).get("versions") or []:
            resources = (cluster.find(f"/apis/{version['groupVersion']}") or {}).get("resources") or []
            for resource in resources:
                found.setdefault(f"{resource['name']}.{group}", version["version"])
    return found


def objects(cluster: Cluster, name: str, version: str) -> list[str]:
    """Objects of a definition's kind, each as `definition namespace/name`; no more than can be shown, then how many more there are."""
    plural, _dot, group = name.partition(".")
    answer = cluster.find(f"/apis/{group}/{version}/{plural}", {"limit": str(SHOWN)}, accept=METADATA_LIST) or {}
    places = [item["metadata"] for item in answer.get("items") or []]
    listed = [f"{name} " + (f"{place['namespace']}/" if place.get("namespace") else "") + place["name"] for place in places]
    more = (answer.get("metadata") or {}).get("remainingItemCount")
    return listed + ([f"{name}: {more} more"] if more else [])


def in_use(cluster: Cluster, names: list[str]) -> list[str]:
    """All objects of the definitions. Raises ClusterError for a definition whose objects cannot be seen."""
    served = versions(cluster, names)
    hidden = [name for name in names if name not in served]
    if hidden:
        raise ClusterError(f"the API server does not serve {', '.join(hidden)}, so that nobody can tell whether there are objects of it; remove it by hand")
    return [entry for part in cluster.parallel(lambda name: objects(cluster, name, served[name]), names) for entry in part]


def remove(cluster: Cluster, names: list[str], timeout: int) -> None:
    """Remove the definitions and wait until they are gone. Raises ClusterError."""
    cluster.parallel(lambda name: cluster.request("DELETE", f"{PATH}/{name}"), names)
    end = time.monotonic() + timeout
    while left := [name for name in names if cluster.find(f"{PATH}/{name}", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")]:
        if time.monotonic() > end:
            raise ClusterError(f"after {timeout} s these definitions are still there: {', '.join(left)}")
        time.sleep(0.2)


def main() -> None:
    """Entry of the module."""
    module = AnsibleModule(argument_spec={**auth_spec(), "timeout": {"type": "int", "default": 60}}, supports_check_mode=True)
    names: list[str] = []
    try:
        cluster = connect(module)
        names = ours(cluster)
        found = in_use(cluster, names)
        if found:
            listing = "\n".join(f"  - {entry}" for entry in found)
            msg = f"There are objects of these definitions, which would go with them. Nothing has been removed; delete them first:\n{listing}"
            module.fail_json(msg=msg, removed=[], objects=found)
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
