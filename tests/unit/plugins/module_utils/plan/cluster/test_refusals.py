# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields that the API server rejects are reported with their path in the user's file."""

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
        ("Deployment", "sim-decode", f"is invalid: [{POD}.containers[0].resources.limits[x]: Invalid value]", "llm_d_model_services[1].resources.limits[x]"),
        ("Deployment", "a-prefill", f"is invalid: {POD}.containers[0].env[1].name: Invalid value", "llm_d_model_services[0].engine.env.THEIRS"),
        ("Deployment", "a-decode", f"is invalid: * {POD}.containers[0].image: Required value", "llm_d_model_services[0].engine.image"),
        ("Deployment", "a-decode", f"is invalid: {POD}.imagePullSecrets[0].name: Required", "llm_d_image_pull_secrets"),
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
    lines = refusals([{"kind": kind, "name": name, "namespace": "llm-d", "problem": problem}], PLAN, [definition])
    assert lines == [f"{kind} llm-d/{name}: {problem} ({place})"]


ADDING = {
    "name": "sim",
    "model": {"uri": "hf://a/b"},
    "accelerator": {"per_replica": 16, "nodes": 2},
    "node_selector": {"pool": "gpu"},
    "tolerations": [{"key": "gpu"}],
    "pod": {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}], "labels": {"example.com/a": "b"}, "runtimeClassName": "x"},
    "container": {"volumeMounts": [{"name": "a", "mountPath": "/a"}], "env": [{"name": "A", "value": "b"}]},
    "scheduler": {"preset": "queue", "pod": {"priorityClassName": "x"}},
    "cache": {"cpu_size": "8Gi", "shared": {"server": {"size": "1Gi", "pod": {"hostname": "x"}}, "password_secret": "pw"}},
}
SPLIT = {
    **{name: ADDING[name] for name in ("model", "pod", "container", "tolerations")},
    "name": "sim",
    "scheduler": {"preset": "disaggregated"},
    "prefill": {"pod": {"volumes": [{"name": "c", "emptyDir": {}}], "tolerations": [{"key": "prefill"}], "runtimeClassName": "y"}},
}
LEADER, WORKER = (f"spec.leaderWorkerTemplate.{part}Template" for part in ("leader", "worker"))


def volume(pod: dict, name: str) -> int:
    """The index of a volume."""
    return [each["name"] for each in pod["template"]["spec"]["volumes"]].index(name)


@pytest.mark.parametrize(
    ("service", "name", "field", "path"),
    [
        (ADDING, "sim-decode", f"{LEADER}.spec.tolerations[0].operator", "tolerations[0].operator"),
        (ADDING, "sim-decode", f"{WORKER}.spec.nodeSelector", "node_selector"),
        (ADDING, "sim-decode", f"{WORKER}.spec.runtimeClassName", "pod.runtimeClassName"),
        (ADDING, "sim-decode", f"{LEADER}.spec.volumes[{{b}}].emptyDir.sizeLimit", "pod.volumes[1].emptyDir.sizeLimit"),
        (ADDING, "sim-decode", f"{LEADER}.metadata.labels[example.com/a]", "pod.labels.example.com/a"),
        (ADDING, "sim-decode", f"{LEADER}.spec.volumes[0].name", "storage"),
        (ADDING, "sim-epp", f"{POD}.priorityClassName", "scheduler.pod.priorityClassName"),
        (ADDING, "sim-cache", f"{POD}.hostname", "cache.shared.server.pod.hostname"),
        (SPLIT, "sim-decode", f"{POD}.runtimeClassName", "pod.runtimeClassName"),
        (SPLIT, "sim-prefill", f"{POD}.runtimeClassName", "prefill.pod.runtimeClassName"),
        (SPLIT, "sim-prefill", f"{POD}.tolerations[0].key", "prefill.pod.tolerations[0].key"),
        (SPLIT, "sim-decode", f"{POD}.tolerations[0].key", "tolerations[0].key"),
        (SPLIT, "sim-prefill", f"{POD}.volumes[{{c}}]", "prefill.pod.volumes[0]"),
        (SPLIT, "sim-prefill", f"{POD}.volumes[{{a}}].emptyDir", "pod.volumes[0].emptyDir"),
        (SPLIT, "sim-prefill", f"{POD}.containers[0].resources.limits[x]", "resources.limits[x]"),
    ],
)
def test_a_refused_field_of_a_pod_is_reported_at_its_option_in_the_file(service: dict, name: str, field: str, path: str) -> None:
    planned = plan({"llm_d_charts": {"leader_worker_set": "/c"}, "llm_d_model_services": [service]})
    pod = next((each for each in planned["services"][0]["servers"] if each["name"] == name), planned["services"][0]["server"])
    field = field.format_map({each: volume(pod, each) for each in "abc" if f"{{{each}}}" in field})
    definition = next(
        item for item in definitions(planned) if item["metadata"]["name"] == name and item["kind"] in ("Deployment", "LeaderWorkerSet", "StatefulSet")
    )
    about = {"kind": definition["kind"], "name": name, "namespace": "llm-d"}
    (line,) = refusals([{**about, "problem": f"is invalid: {field}: Invalid value"}], planned, [definition])
    assert line.endswith(f"(llm_d_model_services[0].{path})"), line


def test_every_object_of_a_service_is_known_as_its_own() -> None:
    service = {"model": {"uri": "hf://a/b"}, "resources": {"requests": {"cpu": "1"}}, "scheduler": {"preset": "disaggregated"}}
    planned = plan({"llm_d_model_services": [{"name": "llm-d", **service}, {"name": "llm-d-gateway-two", **service, "route": {"path": "/two"}}]})
    everything = definitions(planned)
    for item in everything:
        titles = {"kind": item["kind"], "name": item["metadata"]["name"], "namespace": item["metadata"].get("namespace", ""), "problem": "denied the request"}
        (line,) = refusals([titles], planned, everything)
        wanted = SHARED.get(item["kind"]) or f"llm_d_model_services[{int('two' in titles['name'])}]"
        assert f"({wanted})" in line or f"({wanted}.scheduler)" in line, line
