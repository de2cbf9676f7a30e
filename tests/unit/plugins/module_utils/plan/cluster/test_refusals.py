# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server refuses is shown with its place in the user's file."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.refusals import refusals
from ansible_collections.llm_d.inference.plugins.module_utils.plan.parts.pod_spec import SERVICE_LABEL
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions

PLAN = {"services": [{"name": "a"}, {"name": "sim"}, {"name": "a-b"}]}
ENV = [{"name": "OURS"}, {"name": "THEIRS"}]
SHARED = dict.fromkeys(("EnvoyProxy", "Gateway", "GatewayClass"), "llm_d_gateway") | {"Namespace": "llm_d_namespace"}
POD = "spec.template.spec"


@pytest.mark.parametrize(
    ("kind", "name", "problem", "place"),
    [
        (
            "Deployment",
            "sim-decode",
            f'"sim-decode" is invalid: {POD}.tolerations[0].operator: bad',
            "llm_d_model_services[1].tolerations[0].operator",
        ),
        ("Deployment", "sim-decode", f"is invalid: [{POD}.containers[0].resources.limits[x]: Invalid value]", "llm_d_model_services[1].resources.limits[x]"),
        ("Deployment", "a-prefill", f"is invalid: {POD}.containers[0].env[1].name: Invalid value", "llm_d_model_services[0].engine.env.THEIRS"),
        ("Deployment", "a-decode", f"is invalid: * {POD}.containers[0].image: Required value", "llm_d_model_services[0].engine.image"),
        ("Deployment", "a-decode", f"is invalid: {POD}.imagePullSecrets[0].name: Required", "llm_d_image_pull_secrets"),
        ("LeaderWorkerSet", "a-decode", "is invalid: spec.leaderWorkerTemplate.workerTemplate.spec.nodeSelector: bad", "llm_d_model_services[0].node_selector"),
        ("Deployment", "sim-epp", f"is invalid: {POD}.containers[0].resources.requests: bad", "llm_d_model_services[1].scheduler.resources.requests"),
        ("Deployment", "sim-epp", f"is invalid: {POD}.containers[1].name: bad", "llm_d_model_services[1].scheduler"),
        ("HTTPRoute", "sim", "is invalid: spec.hostnames: Too many: 17: must have at most 16 items", "llm_d_model_services[1].route.hostnames"),
        ("HTTPRoute", "sim", "is invalid: spec.rules[0].matches[0].path: Invalid value", "llm_d_model_services[1].route"),
        ("Gateway", "llm-d-gateway", "is invalid: spec.listeners: Too many: 65", "llm_d_gateway.listeners"),
        ("Gateway", "llm-d-gateway", "is invalid: spec.listeners[0].hostname: bad", "llm_d_gateway.listener.hostname"),
        ("Gateway", "llm-d-gateway", "is invalid: spec.listeners[2].hostname: bad", "llm_d_gateway.listeners[1].hostname"),
        ("Deployment", "a-b-decode", f"is invalid: {POD}.containers[0].ports[1].containerPort: bad", "llm_d_model_services[2].engine.port"),
        ("Deployment", "a-b-decode", f"is invalid: {POD}.volumes[2].name: bad", "llm_d_model_services[2].storage"),
        ("PersistentVolumeClaim", "sim-weights", "is invalid: spec.resources[storage]: Invalid value", "llm_d_model_services[1].storage.size"),
        ("ConfigMap", "sim-epp", "denied by policy", "llm_d_model_services[1].scheduler"),
        ("Role", "simple", "denied by policy", "llm_d_gateway"),
    ],
)
def test_the_place_in_the_file(kind: str, name: str, problem: str, place: str) -> None:
    labels = {SERVICE_LABEL: name.rpartition("-")[0] or name} if kind not in ("Gateway", "Role") else {}
    metadata = {"name": name, "namespace": "llm-d", "labels": labels}
    definition = {"kind": kind, "metadata": metadata, "spec": {"template": {"spec": {"containers": [{"env": ENV}]}}}}
    found = refusals([{"kind": kind, "name": name, "namespace": "llm-d", "problem": problem}], PLAN, [definition])
    assert found == [f"{kind} llm-d/{name}: {problem} ({place})"]


def test_every_object_of_a_service_is_known_as_its_own() -> None:
    service = {"model": {"uri": "hf://a/b"}, "resources": {"requests": {"cpu": "1"}}, "scheduler": {"preset": "disaggregated"}}
    planned = plan({"llm_d_model_services": [{"name": "llm-d", **service}, {"name": "llm-d-gateway-two", **service, "route": {"path": "/two"}}]})
    everything = definitions(planned)
    for item in everything:
        titles = {"kind": item["kind"], "name": item["metadata"]["name"], "namespace": item["metadata"].get("namespace", ""), "problem": "denied the request"}
        (line,) = refusals([titles], planned, everything)
        wanted = SHARED.get(item["kind"]) or f"llm_d_model_services[{int('two' in titles['name'])}]"
        assert f"({wanted})" in line or f"({wanted}.scheduler)" in line, line
