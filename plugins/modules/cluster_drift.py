# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_drift
short_description: Compare objects in the cluster with their definitions
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Applies each definition in a server-side dry run, and returns which fields of which objects would change, with the value in the cluster and the planned one.
  - Returns fields that others have added as well, which applying leaves as they are.
  - Names the manager that has set a field last, and when, from the managed fields of the object.
  - Where the API server refuses the dry run, the definition itself is compared.
  - Values of Secrets and of environment variables are not shown. The number of replicas is not compared where the definition leaves it to an autoscaler.
options:
  definitions:
    description: The definitions.
    type: list
    elements: dict
    required: true
  labels:
    description: Labels of what this deployment creates. A Namespace or GatewayClass without them belongs to someone else, and is not compared.
    type: dict
    default: {}
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
"""

EXAMPLES = r"""
- name: Compare the cluster with what was applied to it
  llm_d.inference.cluster_drift:
    definitions: "{{ lookup('ansible.builtin.file', 'manifests/llama-8b.yml') | from_yaml_all | list }}"
    labels: {app.kubernetes.io/part-of: llama-8b}
  register: drift

- name: Show what differs
  ansible.builtin.debug:
    var: drift.objects
"""

RETURN = r"""
ok:
  description: Whether every object is as defined.
  returned: success
  type: bool
  sample: false
objects:
  description: The objects that differ, in the order of their definitions.
  returned: success
  type: list
  elements: dict
  sample:
    - where: Service llm-d/llama-8b-epp
      missing: false
      problem: ""
      differences:
        - field: "spec.ports[name=grpc-ext-proc].targetPort"
          found: "9999"
          planned: "9002"
          by: kubectl-edit
          at: "2026-11-22T12:00:00Z"
  contains:
    where:
      description: Kind, namespace and name.
      type: str
    missing:
      description: Whether the object does not exist.
      type: bool
    problem:
      description: Why the object could not be read; empty when it was.
      type: str
    differences:
      description: The fields that differ, each with its value in the cluster, the planned one, and manager and time of its last change where they are known.
      type: list
      elements: dict
summary:
  description: The result as text.
  returned: success
  type: str
  sample: "24 objects compared: each is as planned"
lines:
  description: The differences as lines of text.
  returned: success
  type: list
  elements: str
  sample: ["Service llm-d/llama-8b-epp: spec.ports[name=grpc-ext-proc].targetPort is 9999, planned: 9002; last set by kubectl-edit at 2026-11-22T12:00:00Z"]
msg:
  description: Why the cluster could not be read.
  returned: on failure
  type: str
  sample: "the API server https://10.0.0.1:6443 did not answer within 10 s"
"""

import dataclasses

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.diagnosis.drift_reader import read_drift
from ..module_utils.k8s.client import auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.report.text import wrapped


def summary(checked: int, differing: int, lines: list[str]) -> str:
    """The result for people."""
    if not differing:
        return f"{checked} objects compared: each is as planned"
    remedy = "playbooks/site.yml sets the fields of your file again; what others have added, they have to remove."
    paragraphs = [f"{differing} of {checked} objects are not as planned:", *(f"- {line}" for line in lines), remedy]
    return "\n".join(part for paragraph in paragraphs for part in wrapped(paragraph, indent="  "))


def main() -> None:
    """Entry of the module."""
    spec = {"definitions": {"type": "list", "elements": "dict", "required": True}, "labels": {"type": "dict", "default": {}}}
    module = AnsibleModule({**auth_spec(), **spec}, supports_check_mode=True)
    try:
        cluster = connect(module)
        cluster.get("/version", timeout=10)
        drifts = read_drift(cluster, module.params["definitions"], module.params["labels"])
    except ClusterError as error:
        module.fail_json(msg=str(error))
    lines = [f"{drift.where}: {line}" for drift in drifts for line in drift.lines()]
    objects = [{**dataclasses.asdict(drift), "differences": [dataclasses.asdict(each) for each in drift.differences]} for drift in drifts]
    module.exit_json(changed=False, ok=not drifts, summary=summary(len(module.params["definitions"]), len(drifts), lines), objects=objects, lines=lines)


if __name__ == "__main__":
    main()
