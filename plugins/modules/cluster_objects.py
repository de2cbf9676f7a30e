#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The action plugin of the same name does the work; this file is its documentation.

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_objects
short_description: Apply or delete a list of objects in one call
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Applies the whole list with one call of M(kubernetes.core.k8s), as server-side apply, and returns the outcome for each object.
  - All refusals are reported at once, each in one line.
  - An object counts as changed only when a field other than status and server-side metadata differs.
  - A Deployment or LeaderWorkerSet whose definition omits C(spec.replicas) is scaled by someone else. If O(field_manager) still owns the number, another
    field manager takes it over first, since server-side apply would otherwise reset it to 1.
  - The values of Secrets are hidden in the diff, in errors and in the system log of the target.
  - A pod template whose containers read environment variables from Secrets gets the annotation C(llm-d.ai/secret-checksum), so that its pods are
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
      - V(absent) deletes exactly these objects, in reverse order. An object whose kind or namespace does not exist is absent.
    type: str
    choices: [present, absent]
    default: present
  owned_by:
    description:
      - Labels. An object that exists without all of them belongs to someone else, and is neither changed nor deleted.
      - So does one whose label C(llm-d.ai/namespace) is not that of its definition.
    type: dict
    default: {}
  contents:
    description:
      - With O(state=absent), which objects in a Namespace are ours, as options of M(llm_d.inference.namespace_contents). C(labels) are O(owned_by) if left out.
      - A Namespace that holds other objects, except those that Kubernetes and OpenShift create in every namespace, is not deleted.
    type: dict
    default: {}
  foreign:
    description:
      - With O(owned_by) and O(state=present), what happens where objects belong to someone else.
      - V(keep) leaves them as they are and applies the others. V(refuse) applies nothing. V(take) applies them as any other.
    type: str
    choices: [keep, refuse, take]
    default: keep
  refused:
    description:
      - What happens where the API server refuses objects. V(fail) fails the task, and V(report) returns them as any other outcome.
      - Where no object was handled, such as without an API server, the task fails in any case.
    type: str
    choices: [fail, report]
    default: fail
  skip_forbidden:
    description: With O(owned_by), whether objects that the account may not read are left out, as someone else's.
    type: bool
    default: false
  events:
    description:
      - Whether to create an Event for each namespaced object that is created or changed, which lists the changed fields.
      - An account that may not create Events creates none.
    type: bool
    default: false
  stand_in:
    description:
      - In check mode, a namespace in which objects are tried, with other names, whose own namespace does not exist yet. Only what makes an object invalid
        counts there.
      - The pod templates of a LeaderWorkerSet, which its webhook does not check, are tried as Deployments.
    type: str
    default: ""
  field_manager:
    description: Name under which the fields are owned.
    type: str
    default: llm_d.inference
  force_conflicts:
    description: Whether to take over fields that another manager owns.
    type: bool
    default: true
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Makes a dry run on the API server. Objects whose kind or namespace does not exist yet count as created.
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
foreign:
  description: Kinds, namespaces and names of the objects of others, and their owners.
  returned: with O(foreign=refuse), where there are any
  type: list
  elements: str
  sample: [Service llm-d/sim (of shop)]
kept:
  description: Why Namespaces are kept, for people.
  returned: with O(state=absent), where there are Namespaces among O(definitions)
  type: list
  elements: str
  sample: ["the namespace llm-d stays: Deployment llm-d/notebook"]
objects:
  description: The outcome for each definition.
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
      description: The generation after the call, 0 for kinds without one.
      returned: always
      type: int
      sample: 2
    action:
      description:
        - V(created), V(changed), V(unchanged), V(deleted), V(absent), V(foreign) (left to its owner), V(kept) (for its contents) or V(refused).
      returned: always
      type: str
      sample: changed
    problem:
      description: Why it was refused or kept, or who owns it, else empty.
      returned: always
      type: str
      sample: ""
    untried:
      description:
        - In check mode V(kind), V(namespace) or V(reference), where the API server could not try it since its kind, its namespace or an object that it
          refers to does not exist yet; V(answer) where the API server refused it for a reason that may not hold when it is applied. Else empty.
      returned: always
      type: str
      sample: ""
    waitable:
      description: Whether its kind is one to wait for with M(llm_d.inference.resource_ready).
      returned: always
      type: bool
      sample: false
"""
