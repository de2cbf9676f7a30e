# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: controller_use
short_description: Find out who else uses a controller
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Internal to the roles of this collection; its options and results may change in any release.
  - A gateway controller, its GatewayClass and its namespace exist once per cluster. They must not be removed while others use them.
  - A controller is in use while a Gateway of one of its classes exists outside O(own_namespace), while someone else created a class for it, when
    another instance of this collection created its namespace, or while anyone else has an object of the kinds that it serves.
  - So is one of which this cannot be found out, for want of permissions or since the API server does not answer.
options:
  controllers:
    description: The controllers.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The C(controllerName) of its classes, or the API group that it serves.
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
      mesh:
        description: Labels, each of which says that the controller serves the pods of a namespace.
        type: dict
        default: {}
      kinds:
        description: For a controller that serves no Gateways, the kinds that it serves.
        type: list
        elements: dict
        default: []
        suboptions:
          api_version:
            description: The API version.
            type: str
            required: true
          kind:
            description: The kind.
            type: str
            required: true
      installed:
        description: Whether its Helm release is removed where nobody uses it. It is not where its namespace has not O(labels).
        type: bool
        default: false
  labels:
    description: Labels of our own objects.
    type: dict
    required: true
  own_namespace:
    description: Namespace of our own Gateway, which does not count. Without it every Gateway counts.
    type: str
    default: ""
  home:
    description: Namespace of the file, whose own objects of C(kinds) do not count. Without it every object counts, and Gateways are ours by O(labels) alone.
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
  description: Names of the namespaces of controllers that must stay.
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
  sample: ["the controller istio.io/gateway-controller stays, and with it what it needs: Gateway shop/front is of class istio"]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.text import shorten
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ApiError, ClusterError
from ..module_utils.k8s.namespace_reader import METADATA
from ..module_utils.k8s.shared_controllers import ControllerUse, shared

GATEWAY = "gateway.networking.k8s.io/v1"


def listed(cluster: Cluster, path: str, kind: str) -> list[dict] | str:
    """The objects of a kind; why they are not known."""
    try:
        return cluster.listed(path, kind, **({"accept": METADATA.format("List")} if kind == "Namespace" else {}))
    except ApiError as exc:
        if exc.status == 401:
            raise
        plural = path.rpartition("/")[2]
        return f"this account may not list {plural}" if exc.status == 403 else f"{plural} cannot be listed: {shorten(f'{exc.status} {exc.message}', 160)}"


def observe(cluster: Cluster, controllers: list[dict]) -> ControllerUse:
    """The objects that may use the controllers."""
    of_gateways = [entry for entry in controllers if not entry["kinds"]]
    jobs = [(f"/apis/{GATEWAY}/gateways", "Gateway"), (f"/apis/{GATEWAY}/gatewayclasses", "GatewayClass")] if of_gateways else []
    jobs += [("/api/v1/namespaces", "Namespace")] if any(entry["namespace"] for entry in of_gateways) else []
    asked = {kind["kind"]: cluster.path(kind["api_version"], kind["kind"]) for entry in controllers for kind in entry["kinds"]}
    jobs += [(path, kind) for kind, path in asked.items() if path]
    answers = dict(zip([kind for _path, kind in jobs], cluster.parallel(lambda job: listed(cluster, *job), jobs), strict=True))
    found = {kind: [] if isinstance(answer, str) else answer for kind, answer in answers.items()}
    kinds = {entry["name"]: [kind["kind"] for kind in entry["kinds"]] or ["Gateway", "GatewayClass", "Namespace"] for entry in controllers}
    return ControllerUse(
        gateways=found.get("Gateway", []),
        classes=found.get("GatewayClass", []),
        namespaces=found.get("Namespace", []),
        served={entry["name"]: [item for kind in entry["kinds"] for item in found.get(kind["kind"], [])] for entry in controllers},
        unread={name: [answer for kind in of if isinstance(answer := answers.get(kind), str)] for name, of in kinds.items()},
    )


def main() -> None:
    """Run the module."""
    kind = {"api_version": {"type": "str", "required": True}, "kind": {"type": "str", "required": True}}
    controller = {
        "name": {"type": "str", "required": True},
        "namespace": {"type": "str"},
        "class_name": {"type": "str"},
        "classes": {"type": "dict", "default": {}},
        "mesh": {"type": "dict", "default": {}},
        "kinds": {"type": "list", "elements": "dict", "default": [], "options": kind},
        "installed": {"type": "bool", "default": False},
    }
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "controllers": {"type": "list", "elements": "dict", "default": [], "options": controller},
            "labels": {"type": "dict", "required": True},
            "own_namespace": {"type": "str", "default": ""},
            "home": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        found = shared(observe(connect(module), params["controllers"]), params["controllers"], params["labels"], params["own_namespace"], params["home"])
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    made = [{"apiVersion": GATEWAY, "kind": "GatewayClass", "metadata": {"name": name}} for name in found["made"]]
    module.exit_json(changed=False, **{**found, "made": made})


if __name__ == "__main__":
    main()
