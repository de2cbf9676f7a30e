# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readiness of recorded objects of the Gateway API, each broken in one way that has led to a wrong verdict before."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.objects import Verdict
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.readiness.judge import judge
from recorded import changed, condition, recorded


def test_a_gateway_that_was_programmed_before_the_last_change_is_not_ready():
    verdict = judge(changed(recorded("gateway"), "metadata.generation", 2))
    assert verdict.reason == "Accepted is reported for generation 1, not yet for 2" and not verdict.ready


def test_a_gateway_without_address():
    obj = recorded("gateway")
    condition(obj["status"], "Programmed").update(status="False", reason="AddressNotAssigned", message="No addresses have been assigned to the Gateway")
    verdict = judge(obj)
    assert verdict.reason.startswith("Programmed=False AddressNotAssigned") and "ClusterIP" in verdict.remedy


def test_a_gateway_without_a_controller_is_not_ready():
    obj = recorded("gateway")
    obj["status"] = {"conditions": [{"type": "Accepted", "status": "Unknown", "reason": "Pending", "message": "Waiting for controller"}]}
    assert "controller runs" in judge(obj).remedy and not judge(obj).ready


def test_every_listener_counts():
    obj = recorded("gateway")
    obj["spec"]["listeners"].append({"name": "https", "port": 443, "protocol": "HTTPS"})
    assert judge(obj).reason == "listener https: Programmed is not reported yet"
    second = copy.deepcopy(obj["status"]["listeners"][0])
    second["name"] = "https"
    condition(second, "ResolvedRefs").update(status="False", reason="InvalidCertificateRef", message="Secret llm-d/tls does not exist")
    obj["status"]["listeners"].append(second)
    verdict = judge(obj)
    assert verdict.reason.startswith("listener https: ResolvedRefs=False InvalidCertificateRef") and "TLS Secret" in verdict.remedy


def route_entry(obj, **parent):
    entry = copy.deepcopy(obj["status"]["parents"][0])
    entry["parentRef"].update(parent)
    return entry


def test_every_wanted_parent_of_a_route_is_searched():
    obj = recorded("httproute")
    obj["spec"]["parentRefs"].append({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "second"})
    assert judge(obj).reason == "parent second: no controller has taken it up"
    obj["status"]["parents"].insert(0, route_entry(obj, name="second"))
    assert judge(obj) == Verdict(True, "accepted by 2 parents")
    condition(obj["status"]["parents"][0], "ResolvedRefs").update(status="False", reason="BackendNotFound", message="Service llm-d/sim not found")
    assert judge(obj).reason.startswith("parent second: ResolvedRefs=False BackendNotFound") and "create the backend" in judge(obj).remedy


def test_a_policy_controller_may_own_the_first_entry():
    obj = recorded("httproute")
    foreign = route_entry(obj)
    foreign["controllerName"] = "kuadrant.io/policy-controller"
    foreign["conditions"] = [{"type": "kuadrant.io/AuthPolicyAffected", "status": "True", "observedGeneration": 1}]
    obj["status"]["parents"].insert(0, foreign)
    assert judge(obj).ready
    condition(obj["status"]["parents"][1], "Accepted").update(status="False", reason="NotAllowedByListeners", message="not allowed")
    assert "NotAllowedByListeners" in judge(obj).reason and "allowedRoutes" in judge(obj).remedy


def test_one_controller_that_accepts_is_enough():
    obj = recorded("httproute")
    obj["status"]["parents"].insert(0, route_entry(obj))
    condition(obj["status"]["parents"][0], "Accepted").update(status="False", reason="NoMatchingParent", message="left by a controller that is gone")
    assert judge(obj).ready


@pytest.mark.parametrize("difference", [{"name": "other"}, {"sectionName": "https"}, {"namespace": "elsewhere"}, {"port": 8080}, {"kind": "Service"}])
def test_an_entry_for_another_parent_does_not_count(difference):
    obj = recorded("httproute")
    obj["status"]["parents"] = [route_entry(obj, **difference)]
    assert "no controller has taken it up" in judge(obj).reason


def test_a_stale_route_is_not_ready():
    assert "not yet for 2" in judge(changed(recorded("httproute"), "metadata.generation", 2)).reason


def pool_with(*parents):
    obj = recorded("inferencepool")
    obj["status"] = {"parents": list(parents)}
    return obj


def parent(name, kind="Gateway", **states):
    conditions = [{"type": key, "status": value[0], "reason": value[1], "observedGeneration": 1} for key, value in states.items()]
    return {"parentRef": {"kind": kind, "namespace": "llm-d", "name": name}, "conditions": conditions}


GOOD = {"Accepted": ("True", "Accepted"), "ResolvedRefs": ("True", "ResolvedRefs")}


def test_an_inference_pool_without_a_reporting_controller_is_ready():
    nobody = parent("default", "Status", Accepted=("Unknown", "Pending"))
    assert judge(pool_with(nobody)).ready and judge(pool_with()).ready


def test_an_inference_pool_with_parents():
    assert judge(pool_with(parent("a", **GOOD))) == Verdict(True, "accepted by Gateway llm-d/a")
    bad = parent("b", Accepted=("True", "Accepted"), ResolvedRefs=("False", "InvalidExtensionRef"))
    verdict = judge(pool_with(parent("a", **GOOD), bad))
    assert verdict.reason == "parent b: ResolvedRefs=False InvalidExtensionRef" and "endpoint picker" in verdict.remedy
    assert not judge(changed(pool_with(parent("a", **GOOD)), "metadata.generation", 2)).ready


def test_a_v1alpha2_inference_pool_is_judged_by_its_status_parent_field():
    obj = pool_with()
    obj.update(apiVersion="inference.networking.x-k8s.io/v1alpha2", status={"parent": [parent("a", Accepted=("False", "NotSupportedByParent"))]})
    assert not judge(obj).ready and "another provider" in judge(obj).remedy


def test_policies():
    obj = recorded("envoyextensionpolicy")
    assert "targetRefs" in judge(changed(obj, "status", {})).remedy
    assert not judge(changed(obj, "metadata.generation", 9)).ready
    condition(obj["status"]["ancestors"][0], "Accepted").update(status="False", reason="TargetNotFound", message="Target HTTPRoute not found")
    assert judge(obj).reason.startswith("Accepted=False TargetNotFound") and "does not exist" in judge(obj).remedy


def test_an_overridden_policy_is_not_in_force():
    obj = recorded("backendtrafficpolicy")
    obj["status"]["ancestors"][0]["conditions"].append({"type": "Overridden", "status": "True", "reason": "Overridden", "message": "by another"})
    assert not judge(obj).ready
