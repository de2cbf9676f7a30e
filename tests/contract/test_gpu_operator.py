"""The GPU operator's objects pass the real definitions of OLM, and agree with each other."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render

from . import definitions_of_others as others

Facts = dict[str, t.Any]
TEMPLATES = Path(__file__).resolve().parents[2] / "roles/gpu_operator/templates"
OLM: Facts = {
    "llm_d_platform": "openshift",
    "llm_d_gateway": {"provider": "openshift"},
    "llm_d_gpus": {
        "operator": "nvidia_olm",
        "channel": "v26.3",
        "pools": [
            {"name": "a", "node_selector": {"pool": "a"}, "sharing": "time_slicing", "replicas": 2},
            {"name": "b", "node_selector": {"pool": "b"}, "sharing": "mig", "product": "H100-80GB", "profiles": {"1g.10gb": 7}},
        ],
    },
}


GAUDI: Facts = {
    "llm_d_platform": "openshift",
    "llm_d_gateway": {"provider": "openshift"},
    "llm_d_gpus": {"operator": "gaudi", "gaudi": {"registry": "intel.example.com"}},
}


def made(user: Facts) -> tuple[Facts, list[Facts]]:
    planned = plan(user)
    return planned, [item for name in ("operator.yml.j2", "policy.yml.j2") for item in render(TEMPLATES / name, planned)]


def test_subscriptions_pass_the_crds_of_olm() -> None:
    planned, items = made(OLM)
    olm = [item for item in items if item["apiVersion"].startswith("operators.coreos.com/")]
    assert len(olm) == 4 and not [problem for item in olm for problem in others.problems(item)]
    namespaces = {item["metadata"]["name"] for item in items if item["kind"] == "Namespace"}
    assert {item["metadata"]["namespace"] for item in olm} == namespaces == {"openshift-nfd", "nvidia-gpu-operator"}
    assert all(planned["labels"].items() <= item["metadata"]["labels"].items() for item in items)


def test_cluster_policy_and_node_feature_discovery_pass_their_definitions() -> None:
    items = [item for item in made(OLM)[1] if item["kind"] in ("ClusterPolicy", "NodeFeatureDiscovery")]
    assert len(items) == 2 and not [problem for item in items for problem in others.problems(item)]


def test_the_gaudi_operator_gets_its_subscription_and_its_policy() -> None:
    planned, items = made(GAUDI)
    assert [item["kind"] for item in items] == ["Namespace", "OperatorGroup", "Subscription", "ClusterPolicy"]
    assert not [problem for item in items[1:] for problem in others.problems(item)]
    ready, policy = planned["gpus"]["ready"], items[3]
    assert (policy["apiVersion"], policy["kind"], policy["metadata"]["name"]) == (ready["api_version"], ready["kind"], ready["name"]), "it is waited for"
    assert all(planned["labels"].items() <= item["metadata"]["labels"].items() for item in items), "removal finds them by the labels"
    assert made({**GAUDI, "llm_d_gpus": {**GAUDI["llm_d_gpus"], "install": False}})[1] == []


def test_amds_operator_gets_its_subscription_and_the_device_config_that_is_waited_for() -> None:
    planned, items = made({"llm_d_platform": "openshift", "llm_d_gateway": {"provider": "openshift"}, "llm_d_gpus": {"operator": "amd"}})
    assert [item["kind"] for item in items] == ["Namespace", "OperatorGroup", "Subscription", "DeviceConfig"]
    assert not [problem for item in items[1:] for problem in others.problems(item)]
    ready, config = planned["gpus"]["ready"], items[3]
    assert ready == {"api_version": config["apiVersion"], "kind": config["kind"], **{key: config["metadata"][key] for key in ("name", "namespace")}}
    assert planned["preflight"]["gpu_operator"]["kind"] == "DeviceConfig", "preflight checks for a foreign one"


def test_the_policy_names_configurations_that_are_there() -> None:
    _planned, items = made(OLM)
    configs = {item["metadata"]["name"]: item["data"] for item in items if item["kind"] == "ConfigMap"}
    spec = next(item for item in items if item["kind"] == "ClusterPolicy")["spec"]
    assert spec["devicePlugin"]["config"]["default"] in configs[spec["devicePlugin"]["config"]["name"]]
    assert list(configs[spec["migManager"]["config"]["name"]]) == ["config.yaml"]


def test_nothing_is_created_when_llm_d_gpus_is_not_set() -> None:
    assert made({"llm_d_platform": "openshift", "llm_d_gateway": {"provider": "openshift"}})[1] == []


def test_an_adopted_operator_is_not_written() -> None:
    assert made({**OLM, "llm_d_gpus": {**OLM["llm_d_gpus"], "install": False}})[1] == []


def test_config_maps_of_former_gpu_sharing_are_listed_for_pruning() -> None:
    shared, whole = OLM, {**OLM, "llm_d_gpus": {**OLM["llm_d_gpus"], "pools": [{"name": "a", "node_selector": {"pool": "a"}}]}}

    def keys(items: list[Facts]) -> set[tuple[str, str, str, str]]:
        return {(item["apiVersion"], item["kind"], item["metadata"]["name"], item["metadata"]["namespace"]) for item in items}

    before = keys([item for item in made(shared)[1] if item["kind"] == "ConfigMap"])
    planned, items = made(whole)
    assert len(before) == 2 and keys(planned["gpus"]["prune"]) == before and not [item for item in items if item["kind"] == "ConfigMap"]
    assert made(shared)[0]["gpus"]["prune"] == []
