#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: namespace_contents
short_description: Find what keeps namespaces from being deleted
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Deleting a namespace deletes every object in it, whoever owns it. Lists the objects of all kinds that the API server has, as metadata, and returns
    those that are not ours and that Kubernetes and OpenShift do not create in every namespace. M(llm_d.inference.cluster_objects) deletes no namespace that
    holds one.
  - Objects with our labels, objects that these own (C(ownerReferences)), and those that the other options name are ours. Field managers do not count.
  - A PersistentVolumeClaim that would be left counts, also one of ours, since it holds data.
  - Where the objects of a kind cannot be listed, for lack of permissions or since the server of its API does not answer, the namespace is kept too.
options:
  namespaces:
    description: The namespaces that would be deleted.
    type: list
    elements: str
    required: true
  labels:
    description: Labels of our own objects. Without any, none is ours by its labels.
    type: dict
    default: {}
  home:
    description: Namespace of the file. Elsewhere, only objects that name it in the label C(llm-d.ai/namespace) are ours. Empty for any.
    type: str
    default: ""
  tenants:
    description: Namespaces in which the labels do not count, since another account deploys there.
    type: list
    elements: str
    default: []
  releases:
    description: Our Helm releases.
    type: list
    elements: dict
    default: []
    suboptions:
      release_name:
        description: The name.
        type: str
        required: true
      namespace:
        description: The namespace.
        type: str
        required: true
  marks:
    description: Objects that our controllers create, by the properties of such an object.
    type: list
    elements: dict
    default: []
    suboptions:
      namespace:
        description: Its namespace.
        type: str
        required: true
      kind:
        description: Its kind.
        type: str
      name:
        description: Its name.
        type: str
      labels:
        description: Its labels.
        type: dict
      annotation:
        description: An annotation that it has.
        type: str
  going:
    description: References to objects that are deleted before the namespaces, where they have our labels.
    type: list
    elements: dict
    default: []
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
"""

EXAMPLES = r"""
- name: Find what keeps the namespace
  llm_d.inference.namespace_contents:
    namespaces: [llm-d]
    labels: {app.kubernetes.io/managed-by: llm_d.inference, app.kubernetes.io/part-of: llm-d}
    home: llm-d
"""

RETURN = r"""
kept:
  description: The namespaces that something keeps.
  returned: success
  type: list
  elements: dict
  contains:
    namespace:
      description: The namespace.
      returned: always
      type: str
      sample: llm-d
    objects:
      description: The objects that keep it, without those that another one of them owns.
      returned: always
      type: list
      elements: str
      sample: [Deployment llm-d/notebook, Secret llm-d/llm-d-hf-token]
    lines:
      description: What keeps it, for people, with the first 20 objects.
      returned: always
      type: list
      elements: str
      sample:
        - "the namespace llm-d stays: it holds 2 objects that are not deleted"
        - "  Deployment llm-d/notebook"
        - "  Secret llm-d/llm-d-hf-token"
    summary:
      description: The same in one line.
      returned: always
      type: str
      sample: "the namespace llm-d stays: it holds 2 objects that are not deleted"
"""

import dataclasses
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.k8s.client import auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.k8s.namespace_contents import Ours
from ..module_utils.k8s.namespace_reader import kept_namespaces

_TEXT = {"type": "str", "required": True}
SPEC: dict[str, t.Any] = {
    "namespaces": {"type": "list", "elements": "str", "required": True},
    "labels": {"type": "dict", "default": {}},
    "home": {"type": "str", "default": ""},
    "tenants": {"type": "list", "elements": "str", "default": []},
    "releases": {"type": "list", "elements": "dict", "default": [], "options": {"release_name": _TEXT, "namespace": _TEXT}},
    "marks": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {"namespace": _TEXT, **{name: {"type": "str"} for name in ("kind", "name", "annotation")}, "labels": {"type": "dict"}},
    },
    "going": {"type": "list", "elements": "dict", "default": []},
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={**auth_spec(), **SPEC}, supports_check_mode=True)
    ours = Ours(**{name: module.params[name] for name in SPEC if name != "namespaces"})
    try:
        kept = kept_namespaces(connect(module), module.params["namespaces"], ours)
    except ClusterError as exc:
        module.fail_json(msg=str(exc), kept=[])
    module.exit_json(changed=False, kept=[dataclasses.asdict(each) for each in kept])


if __name__ == "__main__":
    main()
