# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a gateway is created, deleted and pruned together."""

from __future__ import annotations

from ansible_collections.llm_d.inference.plugins.module_utils.k8s.gateway_parts import parts, prunable


def item(kind, name="x"):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}


CLASS, OTHER_CLASS, PROXY, GATEWAY, ROUTE = item("GatewayClass", "a"), item("GatewayClass", "b"), item("EnvoyProxy"), item("Gateway"), item("Route")


def test_the_order_of_creation_is_kept():
    found = parts([CLASS, PROXY, OTHER_CLASS, GATEWAY, ROUTE])
    assert found == {"classes": [CLASS, OTHER_CLASS], "namespaced": [PROXY, GATEWAY, ROUTE], "gateways": [GATEWAY], "attached": [PROXY, ROUTE]}
    assert parts([]) == {"classes": [], "namespaced": [], "gateways": [], "attached": []}


def test_a_class_in_use_stays_and_a_gateway_of_its_name_does_not():
    found = parts([CLASS, OTHER_CLASS, item("Gateway", "a")], used_classes=["a"])
    assert found["classes"] == [OTHER_CLASS] and found["gateways"] == [item("Gateway", "a")]


CONTROLLERS = [
    {"provider": "istio", "names": ["istio.io/gateway-controller"], "classes": ["istio", "istio-remote"], "namespace": "istio-system", "charts": []},
    {"provider": "kgateway", "names": ["kgateway.dev/kgateway", "kgateway.dev/agentgateway"], "classes": [], "namespace": "kgateway-system", "charts": []},
]
BOTH = ["istio-system", "kgateway-system", "default"]


def test_only_where_we_created_the_namespace():
    assert prunable(CONTROLLERS, [], [], []) == {"remove": [], "kept": []}
    found = prunable(CONTROLLERS, ["istio-system"], ["kgateway.dev/kgateway"], [])
    assert [each["provider"] for each in found["remove"]] == ["istio"] and found["kept"] == []


def test_a_controller_goes_with_the_classes_that_it_created():
    made = [item("GatewayClass", "istio-remote"), item("GatewayClass", "other")]
    found = prunable(CONTROLLERS, BOTH, [], made)
    assert [each["made"] for each in found["remove"]] == [[made[0]], []] and found["kept"] == []
    assert {key: value for key, value in found["remove"][0].items() if key != "made"} == CONTROLLERS[0]


def test_one_used_name_keeps_a_controller():
    found = prunable(CONTROLLERS, BOTH, ["kgateway.dev/agentgateway"], [])
    assert [each["provider"] for each in found["remove"]] == ["istio"] and found["kept"] == ["kgateway"]
