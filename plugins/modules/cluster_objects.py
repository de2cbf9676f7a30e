#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The action plugin of the same name does the work; this file is its documentation.

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_objects
short_description: Apply or delete a list of objects in one call
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Hands the whole list to one call of M(kubernetes.core.k8s), as server-side apply, and tells object by object what became of it.
  - All refusals are reported at once, each in one line.
  - An object counts as changed only when a part that is ours differs, not when a controller has written its status meanwhile.
  - A Deployment or LeaderWorkerSet whose definition has no C(spec.replicas) is scaled by someone else. Where the number is ours still, it is not lost with
    the field - as it would be, for 1 - but given up first - a field manager of another name owns it from then on, until somebody scales.
  - The values of Secrets are hidden in the diff, in errors and in the system log of the target.
  - A pod template whose containers read environment variables from Secrets gets the annotation C(llm-d.ai/secret-checksum), by which its pods are
    replaced when a value changes. See M(llm_d.inference.secret_checksums).
options:
  definitions:
    description: The objects. C(apiVersion), C(kind) and C(metadata.name) are required of each.
    type: list
    elements: dict
    required: true
  state:
    description:
      - V(present) applies the definitions in their order.
      - V(absent) deletes exactly these objects, in the reverse order, dependants first. An object, kind or namespace that is not there is absent.
    type: str
    choices: [present, absent]
    default: present
  owned_by:
    description: Labels. An object that exists and does not bear all of them was made by someone else, and is neither changed nor deleted.
    type: dict
    default: {}
  skip_forbidden:
    description: With O(owned_by), whether objects that the account may not read are left out as someone else's.
    type: bool
    default: false
  field_manager:
    description: Name under which the fields are owned.
    type: str
    default: llm_d.inference
  force_conflicts:
    description: Whether to take over fields that another manager owns.
    type: bool
    default: true
extends_documentation_fragment:
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0
attributes:
  check_mode:
    description: Asks the API server by a dry run. Objects whose kind or namespace is not there yet count as created.
  diff_mode:
    description: Shows the parts that differ.
"""

EXAMPLES = r"""
- name: Apply two objects
  llm_d.inference.cluster_objects:
    definitions:
      - apiVersion: v1
        kind: Namespace
        metadata:
          name: llm-d
      - apiVersion: v1
        kind: ConfigMap
        metadata:
          name: settings
          namespace: llm-d
        data:
          color: blue

- name: Delete one of them
  llm_d.inference.cluster_objects:
    state: absent
    definitions:
      - apiVersion: v1
        kind: ConfigMap
        metadata:
          name: settings
          namespace: llm-d
"""

RETURN = r"""
objects:
  description: What became of each definition.
  returned: success, and on refusal of some
  type: list
  elements: dict
  contains:
    api_version:
      description: The API version.
      returned: always
      type: str
      sample: v1
    kind:
      description: The kind.
      returned: always
      type: str
      sample: ConfigMap
    name:
      description: The name.
      returned: always
      type: str
      sample: settings
    namespace:
      description: The namespace, empty when it has none.
      returned: always
      type: str
      sample: llm-d
    generation:
      description: The generation after the call, 0 where the kind has none.
      returned: always
      type: int
      sample: 2
    action:
      description: V(created), V(changed), V(unchanged), V(deleted), V(absent), V(foreign) (left to its owner) or V(refused).
      returned: always
      type: str
      sample: changed
    waitable:
      description: Whether its kind is one to wait for with M(llm_d.inference.resource_ready).
      returned: always
      type: bool
      sample: false
"""
