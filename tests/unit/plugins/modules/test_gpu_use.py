# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A GPU operator is removed only while nobody else uses it, and only where it is ours."""

from __future__ import annotations

import json

import pytest
from ansible_collections.llm_d.inference.plugins.modules import gpu_use
from local_servers import serve

MANAGED, PART = "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of"
OURS, THEIRS = ({MANAGED: "llm_d.inference", PART: name} for name in ("a", "b"))
GPU, HOME = "nvidia.com/gpu", "nvidia-gpu-operator"
SUBSCRIPTIONS, POLICIES = "/apis/operators.coreos.com/v1alpha1", "/apis/nvidia.com/v1"
FEATURES, RULES = "/apis/nfd.openshift.io/v1", "/apis/nfd.openshift.io/v1alpha1"
KINDS = {
    "/api/v1": [("namespaces", "Namespace", False), ("pods", "Pod", True), ("secrets", "Secret", True)],
    POLICIES: [("clusterpolicies", "ClusterPolicy", False)],
    SUBSCRIPTIONS: [("subscriptions", "Subscription", True)],
    FEATURES: [("nodefeaturediscoveries", "NodeFeatureDiscovery", True)],
    RULES: [("nodefeaturerules", "NodeFeatureRule", False)],
}


def thing(name, namespace=None, labels=None, **more):
    return {"metadata": {"name": name, **({"namespace": namespace} if namespace else {}), "labels": labels or {}}, **more}


def pod(name, namespace, labels=None, phase="Running", resource=GPU, **spec):
    """A pod that requests an accelerator, as the API server returns it."""
    resources = {"limits": {resource: "1"}, "requests": {resource: "1", "cpu": "1"}} if resource else {}
    return thing(name, namespace, labels, spec={"containers": [{"name": "main", "resources": resources}], **spec}, status={"phase": phase})


DEFINITIONS = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}},
    {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": {"name": "gpu-operator-certified", "namespace": HOME}},
    {"apiVersion": "nfd.openshift.io/v1", "kind": "NodeFeatureDiscovery", "metadata": {"name": "nfd-instance", "namespace": "openshift-nfd"}},
    {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "gpu-cluster-policy"}},
]


class Api:
    """An API server with an operator of ours, and whatever a test adds; no request but a GET is answered."""

    def __init__(self):
        self.kinds = dict(KINDS)
        self.kept = {
            f"/api/v1/namespaces/{HOME}": thing(HOME, labels=OURS),
            f"{SUBSCRIPTIONS}/namespaces/{HOME}/subscriptions/gpu-operator-certified": thing(
                "gpu-operator-certified", HOME, OURS, spec={"name": "gpu-operator-certified"}
            ),
            f"{FEATURES}/namespaces/openshift-nfd/nodefeaturediscoveries/nfd-instance": thing("nfd-instance", "openshift-nfd", OURS),
            f"{POLICIES}/clusterpolicies/gpu-cluster-policy": thing("gpu-cluster-policy", labels=OURS),
            "/api/v1/namespaces/a/pods/llama": pod("llama", "a", OURS),
            f"/api/v1/namespaces/{HOME}/pods/nvidia-cuda-validator": pod("nvidia-cuda-validator", HOME),
            "/api/v1/namespaces/shop/pods/web": pod("web", "shop", resource=None),
        }

    def add(self, path, item):
        self.kept[f"{path}/{item['metadata']['name']}"] = item

    def answer(self, _handler, method, path, _body):
        plain = path.split("?")[0]
        assert method == "GET"
        if plain in self.kinds:
            return 200, {}, json.dumps({"resources": [{"name": name, "kind": kind, "namespaced": place} for name, kind, place in self.kinds[plain]]})
        if plain in self.kept:
            return 200, {}, json.dumps(self.kept[plain])
        root = next((root for root in self.kinds if plain.startswith(f"{root}/")), None)
        if root and plain.rpartition("/")[2] in {name for name, _kind, _place in self.kinds[root]}:
            room, _slash, plural = plain.rpartition("/")
            items = [item for key, item in self.kept.items() if key.startswith(f"{room}/") and key.split("/")[-2] == plural]
            return 200, {}, json.dumps({"items": items})
        return 404, {}, json.dumps({"kind": "Status", "reason": "NotFound", "code": 404, "message": "not found"})


@pytest.fixture(name="api")
def _api():
    api = Api()
    with serve(api.answer) as api.url:
        yield api


@pytest.fixture(name="look")
def _look(call, api):
    def look(**options):
        arguments = {
            "definitions": DEFINITIONS,
            "resources": [GPU, "nvidia.com/mig-"],
            "namespaces": ["openshift-nfd", HOME],
            "features": True,
            "labels": OURS,
            "own_namespace": "a",
            **options,
        }
        return call(gpu_use, host=api.url, api_key="sesame-open", **arguments)

    return look


def ids(result):
    return [finding["id"] for finding in result["findings"]]


def test_an_own_gpu_operator_without_other_users_may_be_removed(look):
    result = look()
    assert not result.get("failed") and not result["changed"] and result["findings"] == []


@pytest.mark.parametrize(
    ("added", "wanted", "words"),
    [
        (pod("bert-0", "training"), "gpu_operator/in_use", "Pod training/bert-0 (nvidia.com/gpu)"),
        (pod("sliced", "training", resource="nvidia.com/mig-3g.40gb"), "gpu_operator/in_use", "Pod training/sliced (nvidia.com/mig-3g.40gb)"),
        (pod("llama-b", "b", THEIRS), "gpu_operator/in_use", "Pod b/llama-b of instance b"),
        (pod("notebook", "a"), "gpu_operator/in_use", "Pod a/notebook"),  # someone else's, in our namespace
        (pod("waits", "training", phase="Pending"), "gpu_operator/in_use", "Pod training/waits"),
        (pod("placed", "net", resource=None, nodeSelector={"feature.node.kubernetes.io/pci-15b3.present": "true"}), "nfd/in_use", "Pod net/placed (feature"),
        (
            pod(
                "drawn",
                "net",
                resource=None,
                affinity={
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{"matchExpressions": [{"key": "feature.node.kubernetes.io/pci-15b3.present", "operator": "Exists"}]}]
                        }
                    }
                },
            ),
            "nfd/in_use",
            "Pod net/drawn",
        ),
    ],
)
def test_pods_of_others_keep_it(api, look, added, wanted, words):
    api.add(f"/api/v1/namespaces/{added['metadata']['namespace']}/pods", added)
    result = look()
    assert result["failed"] and ids(result) == [wanted] and words in result["findings"][0]["found"]
    assert "Nothing has been removed.\n  - error  " in result["msg"] and "llm_d_gpus" in result["findings"][0]["how"]


@pytest.mark.parametrize(
    "added",
    [
        pod("done", "training", phase="Succeeded"),
        pod("amd", "training", resource="amd.com/gpu"),
        pod("network", "training", resource="nvidia.com/hostdev"),  # of NVIDIA's network operator
        pod("anywhere", "net", resource=None, nodeSelector={"kubernetes.io/os": "linux"}),
    ],
)
def test_pods_that_do_not_need_it_do_not_matter(api, look, added):
    api.add(f"/api/v1/namespaces/{added['metadata']['namespace']}/pods", added)
    assert ids(look()) == []


@pytest.mark.parametrize(
    ("path", "item", "wanted"),
    [
        (f"{FEATURES}/namespaces/team/nodefeaturediscoveries", thing("other", "team"), "nfd/in_use"),
        (f"{RULES}/nodefeaturerules", thing("sriov-cards"), "nfd/in_use"),
        (
            f"{SUBSCRIPTIONS}/namespaces/openshift-operators/subscriptions",
            thing("gpu", "openshift-operators", spec={"name": "gpu-operator-certified"}),
            "gpu_operator/subscription",
        ),
        (f"{SUBSCRIPTIONS}/namespaces/{HOME}/subscriptions", thing("network", HOME, spec={"name": "network-operator"}), "gpu_operator/subscription"),
    ],
)
def test_custom_resources_of_others_keep_the_operators(api, look, path, item, wanted):
    api.add(path, item)
    assert ids(look()) == [wanted]


def test_users_of_node_feature_discovery_are_ignored_when_it_stays(api, look):
    api.add(f"{RULES}/nodefeaturerules", thing("sriov-cards"))
    assert ids(look(features=False)) == []
    api.kept[f"{RULES}/nodefeaturerules/sriov-cards"]["metadata"]["ownerReferences"] = [{"kind": "ClusterPolicy", "name": "gpu-cluster-policy"}]
    assert ids(look()) == [], "a rule of an operator's own goes with it"


@pytest.mark.parametrize("labels", [{}, THEIRS])
def test_an_operator_that_we_did_not_install_is_not_removed(api, look, labels):
    for item in api.kept.values():
        if item["metadata"].get("labels") == OURS and item["metadata"]["name"] != "llama":
            item["metadata"]["labels"] = labels
    result = look()
    assert ids(result) == ["gpu_operator/foreign"] and "ClusterPolicy gpu-cluster-policy" in result["findings"][0]["found"]
    assert ("of instance b" in result["findings"][0]["found"]) == bool(labels) and "'install: false'" in result["findings"][0]["how"]


def test_all_reasons_against_a_removal_are_reported_at_once(api, look):
    api.kept[f"{POLICIES}/clusterpolicies/gpu-cluster-policy"]["metadata"]["labels"] = {}
    api.add("/api/v1/namespaces/training/pods", pod("bert-0", "training"))
    api.add(f"{RULES}/nodefeaturerules", thing("sriov-cards"))
    api.add(f"{SUBSCRIPTIONS}/namespaces/{HOME}/subscriptions", thing("network", HOME, spec={"name": "network-operator"}))
    result = look()
    assert ids(result) == ["gpu_operator/foreign", "gpu_operator/subscription", "gpu_operator/in_use", "nfd/in_use"]
    assert result["msg"].count("\n  - error  ") == 4 and all(finding["how"].endswith(".") for finding in result["findings"])


def test_a_helm_release_counts_as_own_when_its_namespace_has_own_labels(api, look):
    path, release = "/api/v1/namespaces/gpu-operator", {"release_name": "gpu-operator", "namespace": "gpu-operator"}
    options = {"definitions": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gpu-operator"}}], "release": release}
    api.kept[path] = thing("gpu-operator", labels=OURS)
    api.add(f"{path}/secrets", thing("sh.helm.release.v1.gpu-operator.v1", "gpu-operator", {"owner": "helm", "name": "gpu-operator"}))
    assert ids(look(**options)) == []
    api.kept[path]["metadata"]["labels"] = {}
    result = look(**options)
    assert ids(result) == ["gpu_operator/release"] and "helm uninstall -n gpu-operator gpu-operator" in result["findings"][0]["how"]
    del api.kept[f"{path}/secrets/sh.helm.release.v1.gpu-operator.v1"]
    assert ids(look(**options)) == [], "a namespace alone is no operator"


def test_no_finding_is_reported_when_the_operator_is_already_removed(api, look):
    api.kept = {path: item for path, item in api.kept.items() if item["metadata"].get("labels") != OURS}
    api.add("/api/v1/namespaces/training/pods", pod("bert-0", "training"))
    assert ids(look()) == [], "a second teardown passes"
    api.kinds = {"/api/v1": KINDS["/api/v1"]}
    assert ids(look()) == [], "and where the kinds are gone"


def test_the_removal_check_fails_when_reading_is_forbidden(call):
    def denied(*_arguments):
        return 403, {}, json.dumps({"kind": "Status", "reason": "Forbidden", "code": 403, "message": "pods is forbidden"})

    with serve(denied) as url:
        result = call(gpu_use, host=url, api_key="sesame-open", definitions=[], resources=[GPU], labels=OURS, own_namespace="a")
    assert result["failed"] and "forbidden" in result["msg"]
