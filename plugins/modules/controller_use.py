# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: controller_use
short_description: Look who else uses a gateway's controller
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - A controller, its GatewayClass and its namespace are one for the whole cluster. Whoever installed them may not take them away while others use them.
  - A controller is in use while a Gateway of one of its classes is there that is not about to go, while someone else has made a class for it, or where
    another instance of this collection has made its namespace.
  - A namespace is in use while workloads of another instance, or anyone else's Gateway, are in it, or a claim of ours that was left with its data.
options:
  controllers:
    description: The controllers.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: What its classes call it, their C(controllerName).
        type: str
        required: true
      namespace:
        description: Its namespace, where it has one of its own.
        type: str
      class_name:
        description: The class that our Gateway is of.
        type: str
      classes:
        description: Names of the classes that it makes by itself, each with its C(controllerName).
        type: dict
        default: {}
  namespaces:
    description: Names of namespaces to look into.
    type: list
    elements: str
    default: []
  labels:
    description: Labels of our own objects.
    type: dict
    required: true
  own_namespace:
    description: Where our own Gateway is, which does not count. Left out, every Gateway counts.
    type: str
    default: ""
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0
"""

EXAMPLES = r"""
- name: Look who else uses Envoy Gateway
  llm_d.inference.controller_use:
    controllers:
      - name: gateway.envoyproxy.io/gatewayclass-controller
        namespace: envoy-gateway-system
        class_name: envoy-gateway
    labels: {app.kubernetes.io/managed-by: llm_d.inference, app.kubernetes.io/part-of: llm-d}
    own_namespace: llm-d
"""

RETURN = r"""
used:
  description: Names of the controllers that others use.
  returned: always
  type: list
  elements: str
  sample: [gateway.envoyproxy.io/gatewayclass-controller]
classes:
  description: Names of the classes that a Gateway other than ours is of.
  returned: always
  type: list
  elements: str
  sample: [envoy-gateway]
namespaces:
  description: Names of the namespaces that must stay.
  returned: always
  type: list
  elements: str
  sample: [envoy-gateway-system]
made:
  description: The classes of the controllers that nobody uses, as definitions. A controller that makes them by itself leaves them behind.
  returned: always
  type: list
  elements: dict
  sample: [{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: istio}}]
lines:
  description: What stays and for whose sake.
  returned: always
  type: list
  elements: str
  sample: ["the namespace shared stays: Deployment shared/llama-8b-decode of instance b"]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.labels import MANAGED_BY, PART_OF
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.k8s.shared_controllers import ControllerUse, shared

GATEWAY = "gateway.networking.k8s.io/v1"


def look(cluster: Cluster, params: dict) -> ControllerUse:
    """Everything that may need the controllers and namespaces of `params`."""
    labels, names = params["labels"], [entry["namespace"] for entry in params["controllers"] if entry["namespace"]]
    ours = {"labelSelector": f"{MANAGED_BY}={labels.get(MANAGED_BY)}"}
    others = {"labelSelector": f"{ours['labelSelector']},{PART_OF}!={labels.get(PART_OF)}"}
    jobs = [
        lambda: cluster.listed(f"/apis/{GATEWAY}/gateways", "Gateway"),
        lambda: cluster.listed(f"/apis/{GATEWAY}/gatewayclasses", "GatewayClass"),
        lambda: cluster.listed("/api/v1/namespaces", "Namespace", ours) if names else [],
    ]
    gateways, classes, namespaces = cluster.parallel(lambda job: job(), jobs)
    places = params["namespaces"]
    workloads = cluster.parallel(lambda place: cluster.listed(f"/apis/apps/v1/namespaces/{place}/deployments", "Deployment", others), places)
    kept = cluster.parallel(lambda place: cluster.listed(f"/api/v1/namespaces/{place}/persistentvolumeclaims", "PersistentVolumeClaim", ours), places)
    return ControllerUse(gateways, classes, namespaces, {place: [*running, *left] for place, running, left in zip(places, workloads, kept)})


def main() -> None:
    """Entry of the module."""
    controller = {
        "name": {"type": "str", "required": True},
        "namespace": {"type": "str"},
        "class_name": {"type": "str"},
        "classes": {"type": "dict", "default": {}},
    }
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "controllers": {"type": "list", "elements": "dict", "default": [], "options": controller},
            "namespaces": {"type": "list", "elements": "str", "default": []},
            "labels": {"type": "dict", "required": True},
            "own_namespace": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        found = shared(look(connect(module), params), params["controllers"], params["labels"], params["own_namespace"])
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    made = [{"apiVersion": GATEWAY, "kind": "GatewayClass", "metadata": {"name": name}} for name in found["made"]]
    module.exit_json(changed=False, **{**found, "made": made})


if __name__ == "__main__":
    main()
