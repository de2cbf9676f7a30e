"""GPUs: sharing as configured, impossible mixes refused with the reason, configurations as the device plugin and the MIG manager read them."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.plan.gpus.validate_gpus import compute_slices, memory_slices
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.gpu_nodes import trouble
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gpus import MIG, SLICES

Facts = dict[str, t.Any]
CHARTS = {"envoy_gateway": "/c", "gpu_operator": "/c/gpu-operator"}
A100 = {
    "name": "cut",
    "node_selector": {"pool": "a100"},
    "product": "A100-80GB",
    "gpus_per_node": 8,
    "sharing": "mig",
    "profiles": {"3g.40gb": 1, "1g.10gb": 4},
}
SLICED = {"name": "sliced", "node_selector": {"pool": "l40s"}, "product": "L40S", "gpus_per_node": 4, "sharing": "time_slicing", "replicas": 3}
MPS = {"name": "parallel", "node_selector": {"pool": "l4"}, "gpus_per_node": 1, "sharing": "mps", "replicas": 2}
PLAIN = {"name": "whole", "node_selector": {"pool": "h100"}, "gpus_per_node": 8}


def file_of(*pools: Facts, **gpus: t.Any) -> Facts:
    return {"llm_d_charts": CHARTS, "llm_d_gpus": {"operator": "nvidia_helm", "pools": list(pools), **gpus}}


@pytest.mark.parametrize(
    ("pool", "path", "words"),
    [
        ({**A100, "profiles": {"3g.40gb": 2, "1g.10gb": 4}}, "profiles", "need 10 compute and 12 memory slices, and one A100-80GB has 7 and 8"),
        ({**A100, "profiles": {"3g.40gb": 2, "1g.10gb": 1}}, "profiles", "9 memory slices"),
        ({**A100, "profiles": {"7g.80gb": 2}}, "profiles.7g.80gb", "at most 1 of 7g.80gb"),
        ({**A100, "profiles": {"1g.5gb": 1}}, "profiles.1g.5gb", "no profile of A100-80GB. Write one of: 1g.10gb"),
        ({**A100, "profiles": None}, "profiles", "is missing"),
        ({**A100, "product": "L40S"}, "sharing", "L40S cannot be cut into slices. Write time_slicing"),
        ({**A100, "product": None}, "product", "depends on it"),
        ({**A100, "replicas": 2}, "replicas", "cannot be laid over MIG"),
        ({**SLICED, "replicas": 1.5}, "replicas", "1.5 is not possible: a GPU is shared by a whole number of pods. Write 2, or split the nodes"),
        ({**SLICED, "replicas": "1.5"}, "replicas", "whole number of pods"),
        ({**SLICED, "replicas": 1}, "replicas", "shares nothing"),
        ({**SLICED, "replicas": None}, "replicas", "is missing"),
        ({**MPS, "profiles": {"1g.10gb": 1}}, "profiles", "sharing is 'mps'"),
        ({**PLAIN, "node_selector": {}}, "node_selector", "would take every node"),
    ],
)
def test_invalid_gpu_pools_are_refused_with_the_reason(pool: Facts, path: str, words: str) -> None:
    reported = problems(file_of(pool))
    assert [problem.path for problem in reported] == [f"llm_d_gpus.pools[0].{path}"], [str(problem) for problem in reported]
    assert words in str(reported[0])


@pytest.mark.parametrize(
    ("user", "path"),
    [
        (file_of(operator="nvidia_olm"), "llm_d_gpus.operator"),
        (file_of(PLAIN, {**PLAIN, "name": "other"}), "llm_d_gpus.pools[1].node_selector"),
        (file_of(PLAIN, {**SLICED, "name": "whole"}), "llm_d_gpus.pools[1].name"),
        ({"llm_d_platform": "openshift", **file_of(SLICED, operator="amd")}, "llm_d_gpus.pools[0].sharing"),
        (
            {
                **file_of(),
                "llm_d_model_services": [{"name": "a", "model": {"uri": "hf://o/m"}, "accelerator": {"resource": "nvidia.com/mig-3g.40gb", "per_replica": 2}}],
            },
            "llm_d_model_services[0].accelerator.per_replica",
        ),
    ],
)
def test_conflicting_gpu_options_are_refused_with_their_path(user: Facts, path: str) -> None:
    assert [problem.path for problem in problems(user)] == [path]


@pytest.mark.parametrize(
    ("version", "tag"),
    [(None, "v26.7.0"), ("26.3.3", "v26.3.3"), ("v26.7.1", "v26.7.1")],
)
def test_without_a_chart_of_ones_own_nvidias_is_installed(version: str | None, tag: str) -> None:
    user = {**file_of(version=version), "llm_d_charts": {}}
    assert problems(user) == []
    chart = plan(user)["gpus"]["chart"]
    assert (chart["ref"], chart["repo"], chart["version"]) == ("gpu-operator", "https://helm.ngc.nvidia.com/nvidia", tag)
    own = plan({**user, "llm_d_charts": CHARTS})["gpus"]["chart"]
    assert (own["ref"], own["repo"], own["version"]) == ("/c/gpu-operator", None, tag)


@pytest.mark.parametrize("product", [product for product, profiles in MIG.items() if profiles])
def test_every_profile_at_its_highest_count_fits_and_one_more_does_not(product: str) -> None:
    compute, memory = SLICES.get(product, (7, 8))
    for profile, maximum in MIG[product].items():
        assert not problems(file_of({**A100, "product": product, "profiles": {profile: maximum}}))
        assert problems(file_of({**A100, "product": product, "profiles": {profile: maximum + 1}}))
        one = (compute_slices(profile), memory_slices(profile, product))
        assert one[0] * maximum <= compute and one[1] * maximum <= memory
        assert one[0] * (maximum + 1) > compute or one[1] * (maximum + 1) > memory, "the table and the slices agree"


def test_nvidias_own_mix_fits() -> None:
    assert not problems(file_of({**A100, "profiles": {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}}))


def test_configurations_are_what_the_operators_read() -> None:
    gpus = plan(file_of(A100, SLICED, MPS, PLAIN))["gpus"]
    device = {name: yaml.safe_load(text) for name, text in gpus["device_plugin"]["data"].items()}
    assert set(device) == {"default", "sliced", "parallel"}
    assert device["sliced"]["sharing"]["timeSlicing"] == {"failRequestsGreaterThanOne": True, "resources": [{"name": "nvidia.com/gpu", "replicas": 3}]}
    assert device["parallel"]["sharing"]["mps"] == {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}
    assert {entry["flags"]["migStrategy"] for entry in device.values()} == {"mixed"}
    mig = yaml.safe_load(gpus["mig_manager"]["data"]["config.yaml"])
    assert mig["mig-configs"]["cut"] == [{"devices": "all", "mig-enabled": True, "mig-devices": {"3g.40gb": 1, "1g.10gb": 4}}]
    values = gpus["chart"]["values"]
    assert values["mig"]["strategy"] == "mixed"
    assert values["devicePlugin"]["config"] == {"name": gpus["device_plugin"]["name"], "default": "default"}
    assert values["migManager"]["config"]["name"] == gpus["mig_manager"]["name"]


def test_each_pool_has_its_configuration_labels_and_expected_resources() -> None:
    gpus = plan(file_of(A100, SLICED, PLAIN))["gpus"]
    pools = {pool["name"]: pool for pool in gpus["pools"]}
    assert pools["cut"]["labels"] == {"nvidia.com/mig.config": "cut", "nvidia.com/device-plugin.config": None}
    assert pools["cut"]["state_label"] == "nvidia.com/mig.config.state"
    assert pools["cut"]["expected"] == [{"resource": "nvidia.com/mig-3g.40gb", "count": 8}, {"resource": "nvidia.com/mig-1g.10gb", "count": 32}]
    assert pools["sliced"]["labels"] == {"nvidia.com/device-plugin.config": "sliced"} and pools["sliced"]["expected"] == [
        {"resource": "nvidia.com/gpu", "count": 12}
    ]
    assert pools["whole"]["labels"] == {"nvidia.com/device-plugin.config": None} and pools["whole"]["expected"] == [{"resource": "nvidia.com/gpu", "count": 8}]


def test_equal_slices_count_as_gpus() -> None:
    gpus = plan(file_of({**A100, "profiles": {"1g.10gb": 7}}))["gpus"]
    assert gpus["mig_strategy"] == "single" and gpus["pools"][0]["expected"] == [{"resource": "nvidia.com/gpu", "count": 56}]


@pytest.mark.parametrize(("operator", "resource"), [("nvidia_olm", "nvidia.com/gpu"), ("amd", "amd.com/gpu"), ("gaudi", "habana.ai/gaudi")])
def test_accelerators_are_counted_by_the_resource_name_of_their_vendor(operator: str, resource: str) -> None:
    user = {"llm_d_platform": "openshift", "llm_d_gateway": {"provider": "openshift"}, "llm_d_image_registry": "r.example.com"}
    gpus = plan({**user, "llm_d_gpus": {"operator": operator, "pools": [PLAIN]}})["gpus"]
    assert gpus["pools"][0]["expected"] == [{"resource": resource, "count": 8}]


def test_amds_operator_is_waited_for() -> None:
    user = {"llm_d_platform": "openshift", "llm_d_gateway": {"provider": "openshift"}}
    ready = plan({**user, "llm_d_gpus": {"operator": "amd"}})["gpus"]["ready"]
    assert ready == {"api_version": "amd.com/v1alpha1", "kind": "DeviceConfig", "namespace": "kube-amd-gpu", "name": "default"}
    adopted = plan({**user, "llm_d_gpus": {"operator": "amd", "install": False}})["gpus"]["ready"]
    assert adopted == {"api_version": "amd.com/v1alpha1", "kind": "DeviceConfig", "every": True}
    assert plan({**user, "llm_d_gpus": {"operator": "none"}})["gpus"]["ready"] is None


def test_a_node_is_judged_by_what_its_vendor_counts() -> None:
    amd = {"llm_d_platform": "openshift", "llm_d_gateway": {"provider": "openshift"}, "llm_d_gpus": {"operator": "amd", "pools": [PLAIN]}}
    pool = plan(amd)["gpus"]["pools"][0]
    node = {"metadata": {"name": "n", "labels": {}}, "status": {"allocatable": {"amd.com/gpu": "8"}}}
    assert trouble(pool, [node]) == []
    messages = trouble(pool, [{**node, "status": {"allocatable": {"nvidia.com/gpu": "8"}}}])
    assert len(messages) == 1 and "allocatable amd.com/gpu is 0, not 8" in messages[0]


def test_configurations_that_no_pool_uses_are_unwanted() -> None:
    def unwanted(*pools: Facts, **options: t.Any) -> list[str]:
        return [item["metadata"]["name"] for item in plan(file_of(*pools, **options))["gpus"]["prune"]]

    device, mig = "llm-d-device-plugin", "llm-d-mig-parted"
    assert unwanted(A100, SLICED) == [] and unwanted(A100) == [device] and unwanted(MPS) == [mig] and unwanted(PLAIN) == unwanted() == [device, mig]
    assert unwanted(install=False) == unwanted(PLAIN, operator="none") == [], "what is adopted is not changed"


@pytest.mark.parametrize(("platform", "driver"), [("kubernetes", True), ("gke", False), ("eks", False), ("aks", False)])
def test_a_driver_that_the_cloud_brings_is_not_installed(platform: str, driver: bool) -> None:
    gpus = plan({"llm_d_platform": platform, **file_of()})["gpus"]
    assert gpus["chart"]["values"]["driver"] == gpus["chart"]["values"]["toolkit"] == {"enabled": driver}


def test_an_adopted_operator_is_only_verified() -> None:
    gpus = plan(file_of(SLICED, install=False))["gpus"]
    assert not gpus["chart"] and not gpus["device_plugin"] and gpus["pools"][0]["labels"] == {} and gpus["ready"]["kind"] == "ClusterPolicy"


def test_no_gpu_operator_is_configured_by_default() -> None:
    gpus = plan({"llm_d_charts": CHARTS})["gpus"]
    assert not gpus["active"] and not gpus["subscriptions"] and not gpus["namespaces"]


def test_olm_gets_two_subscriptions_with_channel_and_approval() -> None:
    gpus = plan({"llm_d_platform": "openshift", **file_of(operator="nvidia_olm", channel="v26.3", approval="Manual")})["gpus"]
    assert [(item["name"], item["namespace"], item["channel"], item["approval"]) for item in gpus["subscriptions"]] == [
        ("nfd", "openshift-nfd", "stable", "Manual"),
        ("gpu-operator-certified", "nvidia-gpu-operator", "v26.3", "Manual"),
    ]
    assert {
        "operator",
        "daemonsets",
        "driver",
        "toolkit",
        "devicePlugin",
        "dcgm",
        "dcgmExporter",
        "gfd",
        "nodeStatusExporter",
        "mig",
        "migManager",
        "validator",
    } == set(gpus["cluster_policy"])


def test_each_resource_of_a_pool_has_a_test_pod_on_its_nodes() -> None:
    checks = plan(file_of(A100, SLICED))["gpus"]["checks"]
    tried = {test["pod"]["metadata"]["name"]: (test["resource"], test["pod"]["spec"]) for test in checks["pods"]}
    assert {name: resource for name, (resource, _spec) in tried.items()} == {
        "gpu-test-cut-mig-3g-40gb": "nvidia.com/mig-3g.40gb",
        "gpu-test-cut-mig-1g-10gb": "nvidia.com/mig-1g.10gb",
        "gpu-test-sliced-gpu": "nvidia.com/gpu",
    }
    for resource, spec in tried.values():
        assert spec["containers"][0]["resources"] == {"limits": {resource: "1"}} and spec["restartPolicy"] == "Never"
    assert tried["gpu-test-sliced-gpu"][1]["nodeSelector"] == {"pool": "l40s"}
    adopted = plan(file_of(A100, SLICED, install=False))["gpus"]["checks"]
    assert adopted["pods"] == checks["pods"] and adopted["metrics"] == {**checks["metrics"], "namespace": None}, (
        "an adopted operator is verified in its own namespace"
    )
    assert checks["metrics"]["namespace"] == "gpu-operator" and [pool["cut"] for pool in checks["metrics"]["pools"]] == [True, False]


def test_each_gpu_check_can_be_switched_off() -> None:
    assert plan(file_of(A100, checks={"pods": False, "metrics": False}))["gpus"]["checks"] == {"pods": [], "templates": [], "metrics": None}
    assert plan(file_of(PLAIN, operator="none"))["gpus"]["checks"]["metrics"] is None
    openshift = {"llm_d_platform": "openshift", "llm_d_gateway": {"provider": "openshift"}}
    assert plan({**openshift, "llm_d_gpus": {"operator": "amd", "pools": [PLAIN]}})["gpus"]["checks"] == {"pods": [], "templates": [], "metrics": None}


def test_the_image_of_test_pods_is_listed_and_can_be_another() -> None:
    assert "r.example.com/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0" in needed(plan({**file_of(PLAIN), "llm_d_image_registry": "r.example.com"}))["images"]
    assert "acme/gpu:1" in needed(plan({**file_of(PLAIN), "llm_d_images": {"gpu_test": "acme/gpu:1"}}))["images"]


def test_every_image_of_the_operator_chart_uses_the_registry_and_is_listed() -> None:
    file = {**file_of(SLICED), "llm_d_image_registry": "r.example.com/all", "llm_d_image_pull_secrets": ["mirror"]}
    planned = plan(file)
    values, listed = planned["gpus"]["chart"]["values"], needed(planned)["images"]
    assert values["operator"] == {"repository": "r.example.com/all/nvidia", "image": "gpu-operator", "version": "v26.7.0", "imagePullSecrets": ["mirror"]}
    assert values["driver"]["enabled"] and values["driver"]["manager"] == {
        "repository": "r.example.com/all/nvidia/cloud-native",
        "image": "k8s-driver-manager",
        "version": "v0.12.0",
    }
    assert values["node-feature-discovery"] == {
        "image": {"repository": "r.example.com/all/nfd/node-feature-discovery", "tag": "v0.19.0"},
        "imagePullSecrets": [{"name": "mirror"}],
    }
    assert values["devicePlugin"]["config"]["name"] == "llm-d-device-plugin" and values["devicePlugin"]["image"] == "k8s-device-plugin"
    assert "r.example.com/all/nvidia/driver:595.91.07-<system>" in listed and "r.example.com/all/nfd/node-feature-discovery:v0.19.0" in listed
    assert all(name.startswith("r.example.com/all/") for name in planned["gpus"]["images"])


def test_preflight_does_not_check_an_image_tag_that_depends_on_the_nodes() -> None:
    planned = plan(file_of(SLICED))
    listed, checked = needed(planned)["images"], planned["preflight"]["images"]["names"]
    assert [name for name in listed if name not in checked] == ["nvcr.io/nvidia/driver:595.91.07-<system>"] and set(checked) < set(listed)


def test_images_that_the_chart_does_not_start_are_not_listed() -> None:
    assert not [name for name in plan(file_of(SLICED, driver=False, node_feature_discovery=False))["gpus"]["images"] if "driver" in name or "nfd" in name]
    assert "repository" not in plan(file_of(SLICED))["gpus"]["chart"]["values"].get("operator", {}), "without a registry the chart's own is right"
    other = plan({**file_of(SLICED, version="v26.7.1"), "llm_d_image_registry": "r.example.com"})["gpus"]
    assert other["chart"]["values"]["operator"] == {"repository": "r.example.com/nvidia"} and other["images"] == [], "tags of another chart are its own"
    assert plan(file_of(SLICED, install=False))["gpus"]["images"] == []


def test_only_a_manual_approval_has_names() -> None:
    openshift = {"llm_d_platform": "openshift", "llm_d_gateway": {"provider": "openshift"}}
    assert [problem.path for problem in problems({**openshift, "llm_d_gpus": {"operator": "nvidia_olm", "approved": ["x.1"]}})] == ["llm_d_gpus.approved"]
    approval = plan({**openshift, "llm_d_gpus": {"operator": "nvidia_olm", "approval": "Manual", "approved": ["x.1"]}})["gpus"]["approval"]
    assert approval["approved"] == ["x.1"] and [item["name"] for item in approval["subscriptions"]] == ["nfd", "gpu-operator-certified"]


def gaudi_file(**gpus: t.Any) -> Facts:
    return {"llm_d_platform": "openshift", "llm_d_gateway": {"provider": "openshift"}, "llm_d_gpus": {"operator": "gaudi", **gpus}}


@pytest.mark.parametrize(
    ("gaudi", "mirror", "registry"),
    [
        ({}, None, "vault.habana.ai"),
        ({}, "r.example.com/all", "r.example.com/all"),
        ({}, {"vault.habana.ai": "r.example.com/gaudi"}, "r.example.com/gaudi"),
        ({}, {"nvcr.io": "r.example.com/nvidia"}, "vault.habana.ai"),
        ({"registry": "intel.example.com"}, "r.example.com/all", "intel.example.com"),
    ],
)
def test_the_gaudi_operator_gets_the_registry_of_its_images(gaudi: Facts, mirror: t.Any, registry: str) -> None:
    user = {**gaudi_file(gaudi=gaudi), "llm_d_image_registry": mirror}
    assert problems(user) == []
    planned = plan(user)
    assert planned["gpus"]["gaudi_policy"]["image_registry"] == registry
    adopted = plan({**user, "llm_d_gpus": {**user["llm_d_gpus"], "install": False}})
    pulled = set(needed(planned)["images"]) - set(needed(adopted)["images"])
    assert len(pulled) == 6 and all(name.startswith(f"{registry}/") for name in pulled)


def test_an_adopted_gaudi_operator_is_not_configured() -> None:
    assert not problems(gaudi_file(install=False)) and plan(gaudi_file(install=False))["gpus"]["gaudi_policy"] is None
    adopted = plan(gaudi_file(install=False))["gpus"]["ready"]
    assert adopted == {"api_version": "habanalabs.habana.ai/v1", "kind": "ClusterPolicy", "every": True}, "what is adopted is verified, whatever its name"


def test_the_gaudi_operator_gets_the_images_of_one_release_for_one_system() -> None:
    gaudi = {"registry": "mirror.example.com:5000/intel", "packages": "packages.example.com", "system": "rhel_9.2"}
    spec = plan(gaudi_file(version="1.23.0-695", gaudi=gaudi))["gpus"]["gaudi_policy"]
    loader = spec["driver"]["driver_loader"]
    driver = {"repository": "mirror.example.com:5000/intel/habana-ai-operator/driver/rhel9.2/driver-installer", "tag": "1.23.0-695"}
    assert loader["images"] == {"rhel_9.2": driver} and spec["driver"]["driver_runner"]["image"] == driver
    assert loader["repo_server"] == "packages.example.com" and spec["device_plugin"]["image"]["tag"] == "1.23.0"
    plain = plan({**gaudi_file(), "llm_d_image_registry": "r.example.com/all"})["gpus"]["gaudi_policy"]
    assert plain["driver"]["driver_loader"]["repo_server"] == "r.example.com" and plain["image_registry"] == "r.example.com/all"


def test_images_that_the_gaudi_operator_pulls_are_listed() -> None:
    images = needed(plan(gaudi_file(gaudi={"registry": "intel.example.com"})))["images"]
    assert len([name for name in images if name.startswith("intel.example.com/")]) == 6
    assert "intel.example.com/habana-ai-operator/driver/rhel9.4/driver-installer:1.19.1-26" in images


def test_the_policy_of_gaudi_needs_its_permission() -> None:
    def groups(user: Facts) -> set[str]:
        return {permission["group"] for permission in plan(user)["preflight"]["permissions"] if permission["resource"] == "clusterpolicies"}

    assert groups(gaudi_file(gaudi={"registry": "intel.example.com"})) == {"habanalabs.habana.ai"} and groups(gaudi_file(install=False)) == set()
