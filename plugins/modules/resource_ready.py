#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: resource_ready
short_description: Wait until objects of a cluster are ready, and say why when they are not
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Waits for all given objects at once, each by the rules of readiness of its kind, for the current generation.
  - Deployments, StatefulSets and DaemonSets must be updated and available with no old replica left. Gateways must be programmed with every
    listener. Routes must be accepted by every parent they name. Policies must be accepted by their ancestors.
  - Fails after O(timeout), or when waiting longer cannot help (an image that does not exist, a missing Secret, a lasting crash). With O(patient=false)
    also where no operation is in progress that could still help.
  - A container that ends twice with the same error is not waited for, unless the error may pass, such as a refused connection or a name that does not resolve.
  - The error has for each object the problem, the evidence from its pods, events and logs, and the remedy. What looks like a secret is removed from log lines.
  - Displays its progress with a local connection.
options:
  resources:
    description:
      - Definitions, objects or references.
      - With C(parent=NAMESPACE/NAME), an InferencePool is ready only when this Gateway reports on it.
      - With C(least=N), a workload whose C(spec.replicas) is less than N is not ready, and waiting does not help.
      - With C(every=true) instead of a name, all objects of the kind, of which at least one must exist.
      - Of each, C(apiVersion), C(kind), C(metadata.name), C(metadata.namespace) and C(metadata.generation) are read. The short
        form C({api_version, kind, name, namespace}) works too. With C(label_selector) instead of a name, all
        objects with these labels, if any.
    type: list
    elements: dict
    required: true
  state:
    description: V(absent) waits until the objects are gone.
    type: str
    choices: [ready, absent]
    default: ready
  timeout:
    description: Seconds to wait.
    type: int
    default: 300
  interval:
    description: Seconds between two polls.
    type: float
    default: 0.5
  fail_fast:
    description: Whether to fail before O(timeout) when waiting longer cannot help.
    type: bool
    default: true
  patient:
    description:
      - Whether absent objects may still appear, as after a change.
      - V(false) is for a verdict on what runs. Then it waits only for operations in progress, such as a rollout, an image that is pulled, a model that
        is loaded, nodes that an autoscaler adds, and for what someone has paused. It fails at once when an object is absent; within seconds when an object, an
        image or a pod is refused, when a container is in a crash loop or when no node takes a pod; and when a registry or a controller has not answered for a
        while.
    type: bool
    default: true
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.progress
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  check_mode:
    description: Does not wait, since check mode changes nothing to wait for. Returns what it would wait for.
"""

EXAMPLES = r"""
- name: Wait for what was applied
  llm_d.inference.resource_ready:
    resources: "{{ lookup('ansible.builtin.file', 'manifests/llama-8b.yml') | from_yaml_all | list }}"
    timeout: 600

- name: Wait for one Gateway
  llm_d.inference.resource_ready:
    resources:
      - api_version: gateway.networking.k8s.io/v1
        kind: Gateway
        name: llm-d-gateway
        namespace: llm-d

- name: Wait until the proxies of a gateway are gone
  llm_d.inference.resource_ready:
    state: absent
    resources:
      - api_version: apps/v1
        kind: Deployment
        namespace: envoy-gateway-system
        label_selector:
          gateway.envoyproxy.io/owning-gateway-name: llm-d-gateway
"""

RETURN = r"""
resources:
  description:
    - The objects that exist at the end, as M(kubernetes.core.k8s_info) takes them, with C(reason), why they are ready, and of their C(spec) the labels, ports
      and selectors by which they are scraped. Other fields are not returned, since callbacks show them and the environment of pods may be secret.
  returned: success, when not in check mode
  type: list
  elements: dict
  sample:
    - {api_version: apps/v1, kind: Deployment, name: sim, namespace: llm-d, reason: 3/3 ready}
waited:
  description: Seconds spent.
  returned: always
  type: float
  sample: 12.4
waiting_for:
  description: The objects that were, or would be, waited for.
  returned: always
  type: list
  elements: str
  sample: [Deployment llm-d/sim]
failures:
  description: The objects that are not ready.
  returned: on failure
  type: list
  elements: dict
  contains:
    kind:
      description: Kind of the object.
      returned: always
      type: str
      sample: Deployment
    name:
      description: Name of the object.
      returned: always
      type: str
      sample: sim
    namespace:
      description: Namespace of the object, empty when it has none.
      returned: always
      type: str
      sample: llm-d
    reason:
      description: Why it is not ready.
      returned: always
      type: str
      sample: "0/1 ready (container sim crashes (exit code 2, 4 restarts))"
    remedy:
      description: What to do about it, empty when that is not known.
      returned: always
      type: str
      sample: read its last log lines
    terminal:
      description: Whether waiting longer cannot help.
      returned: always
      type: bool
      sample: true
    details:
      description: Evidence from pods, events and logs.
      returned: always
      type: list
      elements: str
      sample: ["pod sim-7d9c, log of sim: unknown flag: --modell"]
msg:
  description: Which objects were not ready at the end of the time, each with its reason.
  returned: on failure
  type: str
  sample: "1 of 4 objects is not ready after 300 s"
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.k8s.client import auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.k8s.related_objects import references
from ..module_utils.k8s.wait import Wait


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "resources": {"type": "list", "elements": "dict", "required": True},
            "state": {"type": "str", "choices": ["ready", "absent"], "default": "ready"},
            "timeout": {"type": "int", "default": 300},
            "interval": {"type": "float", "default": 0.5},
            "fail_fast": {"type": "bool", "default": True},
            "patient": {"type": "bool", "default": True},
            "progress_path": {"type": "path"},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        refs = references(params["resources"])
        if module.check_mode or not refs:
            module.exit_json(changed=False, waited=0.0, waiting_for=[str(ref) for ref in refs], **({} if module.check_mode else {"resources": []}))
        wait = Wait(connect(module), refs, params["state"], params["progress_path"] or "", params["patient"])
        done = wait.run(params["timeout"], max(params["interval"], 0.1), params["fail_fast"])
        outcome = wait.outcome(done)
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    if not done:
        module.fail_json(**outcome)
    module.exit_json(changed=False, **outcome)


if __name__ == "__main__":
    main()
