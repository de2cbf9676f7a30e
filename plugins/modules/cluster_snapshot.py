#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_snapshot
short_description: Read objects as they were last applied, for a rollback
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Returns the definitions that this collection last applied of some objects. Applying them again with M(llm_d.inference.cluster_objects) restores the
    objects, and removes what this collection added since.
  - Fields of other owners are not included. Objects that do not exist, or that this collection never applied, are left out.
options:
  resources:
    description: Definitions, objects or references. Of each, C(apiVersion), C(kind), C(metadata.name) and C(metadata.namespace) are read.
    type: list
    elements: dict
    required: true
  kinds:
    description: Only objects of these kinds.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
"""

EXAMPLES = r"""
- name: Read the current state
  llm_d.inference.cluster_snapshot:
    resources: "{{ definitions }}"
  register: before

- name: Roll back
  llm_d.inference.cluster_objects:
    definitions: "{{ before.definitions }}"
"""

RETURN = r"""
definitions:
  description: The objects as they were last applied, in the order of O(resources). Secrets are left out.
  returned: success
  type: list
  elements: dict
  sample:
    - apiVersion: v1
      kind: ConfigMap
      metadata: {name: sim-epp, namespace: llm-d}
      data: {config.yaml: "kind: EndpointPickerConfig\n"}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.k8s.client import FIELD_MANAGER, Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.k8s.field_ownership import applied_definition
from ..module_utils.k8s.related_objects import Ref, references


def snapshot(cluster: Cluster, refs: list[Ref]) -> list[dict]:
    """The definitions we last applied of the objects that exist, with one list request per kind and namespace."""
    groups: dict[tuple[str, str, str], list[Ref]] = {}
    for ref in refs:
        groups.setdefault((ref.api_version, ref.kind, ref.namespace), []).append(ref)
    by_reference: dict[tuple[str, str, str, str], dict] = {}
    for part in cluster.parallel(lambda key: fetch(cluster, key, groups[key]), list(groups)):
        by_reference.update(part)
    objects = (by_reference.get((ref.api_version, ref.kind, ref.namespace, ref.name)) for ref in refs)
    return [definition for definition in (applied_definition(obj, FIELD_MANAGER) for obj in objects if obj) if definition]


def fetch(cluster: Cluster, key: tuple[str, str, str], refs: list[Ref]) -> dict[tuple[str, str, str, str], dict]:
    """The objects of one kind and namespace, by their reference."""
    api_version, kind, namespace = key
    path = cluster.path(api_version, kind, namespace)
    items = ((cluster.find(path) or {}).get("items") or []) if path else []
    wanted = {ref.name for ref in refs}
    # Items of a list lack apiVersion and kind.
    return {(*key, item["metadata"]["name"]): {**item, "apiVersion": api_version, "kind": kind} for item in items if item["metadata"]["name"] in wanted}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "resources": {"type": "list", "elements": "dict", "required": True},
            "kinds": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    kinds = module.params["kinds"]
    try:
        refs = [ref for ref in references(module.params["resources"]) if ref.kind != "Secret" and (not kinds or ref.kind in kinds)]
        definitions = snapshot(connect(module), refs) if refs else []
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    module.exit_json(changed=False, definitions=definitions)


if __name__ == "__main__":
    main()
