# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: controller_use
short_description: Find out who else uses a gateway's controller
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Internal to the roles of this collection; its options and results may change in any release.
  - A gateway controller, its GatewayClass and its namespace exist once per cluster. They must not be removed while others use them.
  - A controller is in use while a Gateway of one of its classes exists outside O(own_namespace), while someone else created a class for it, or when
    another instance of this collection created its namespace.
  - A namespace is in use while it has workloads of another instance, a Gateway of someone else, or a claim of this instance that was kept for its data.
options:
  controllers:
    description: The controllers.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The C(controllerName) of its classes.
        type: str
        required: true
      namespace:
        description: Its namespace, if it has one of its own.
        type: str
      class_name:
        description: The class of our Gateway.
        type: str
      classes:
        description: Names of the classes that it creates itself, each with its C(controllerName).
        type: dict
        default: {}
  namespaces:
    description: Names of namespaces to check.
    type: list
    elements: str
    default: []
  labels:
    description: Labels of our own objects.
    type: dict
    required: true
  own_namespace:
    description: Namespace of our own Gateway, which does not count. Without it every Gateway counts.
    type: str
    default: ""
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
"""

EXAMPLES = r"""
- name: Find out who else uses Envoy Gateway
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
  description: Names of the classes of other Gateways.
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
  description: Definitions of the classes of unused controllers that create them. Such a controller does not delete them.
  returned: always
  type: list
  elements: dict
  sample: [{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: istio}}]
lines:
  description: What stays, and why.
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


def observe(cluster: Cluster, params: dict) -> ControllerUse:
    """The objects that may use the controllers and namespaces of `params`."""
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
    return ControllerUse(gateways, classes, namespaces, {place: [*running, *left] for place, running, left in zip(places, workloads, kept, strict=True)})


def main() -> None:
    """Run the module."""
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
        found = shared(observe(connect(module), params), params["controllers"], params["labels"], params["own_namespace"])
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    made = [{"apiVersion": GATEWAY, "kind": "GatewayClass", "metadata": {"name": name}} for name in found["made"]]
    module.exit_json(changed=False, **{**found, "made": made})


if __name__ == "__main__":
    main()
