"""The plays respect OpenShift's restrictions and requirements, and refuse what it cannot serve before any change."""

from __future__ import annotations

import base64
import json
import re
import typing as t
from pathlib import Path

import pytest
import shape
from api import Api
from namespaces import RANGE

Facts = dict[str, t.Any]
SHOP = "shop"


def versions(api: Api) -> dict[str, str]:
    """{path: generation, labels and data} of the objects that a run may write."""
    paths = [shape.CRDS, "/api/v1/namespaces", "/apis/gateway.networking.k8s.io/v1/gatewayclasses", "/apis/nvidia.com/v1/clusterpolicies"]
    paths += [f"/api/v1/namespaces/llm-d/{kind}" for kind in ("configmaps", "services", "serviceaccounts")]
    paths += ["/apis/apps/v1/namespaces/llm-d/deployments", "/apis/gateway.networking.k8s.io/v1/namespaces/llm-d/gateways"]
    objects = {}
    for path in paths:
        for item in api.items(path):
            metadata = item["metadata"]
            objects[f"{path}/{metadata['name']}"] = f"{metadata.get('generation', '')} {sorted(metadata.get('labels', {}).items())} {item.get('data', '')}"
    return objects


def test_the_gateway_api_was_never_written(api: Api) -> None:
    """The API server has counted no further denial, and the CRDs have not changed since they were sealed."""
    note = api.call("GET", "/api/v1/namespaces/openshift-ingress-operator/configmaps/sealed")["data"]
    crds = [item for item in api.items(shape.CRDS) if item["spec"]["group"] == "gateway.networking.k8s.io"]
    assert len(crds) == 5
    for crd in crds:
        assert {entry["manager"] for entry in crd["metadata"]["managedFields"]} == {"ingress-operator", "kube-apiserver"}
        assert crd["metadata"]["annotations"]["gateway.networking.k8s.io/bundle-version"] == "v1.3.0"
    assert api.call("GET", f"{shape.CRDS}/gateways.gateway.networking.k8s.io")["metadata"]["resourceVersion"] == note["sealed"]
    assert int(note["denials"]) > 0, "the seal was tested when it was applied"
    assert shape.denials(api) == int(note["denials"])


def test_pods_run_as_openshift_wants_them(api: Api) -> None:
    namespace = api.call("GET", "/api/v1/namespaces/llm-d")["metadata"]
    assert namespace["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert "openshift.io/cluster-monitoring" not in namespace["labels"]
    first, size = (int(part) for part in namespace["annotations"][RANGE].split("/"))
    pods = api.items("/api/v1/namespaces/llm-d/pods")
    assert {pod["metadata"]["labels"].get("llm-d.ai/role", "other") for pod in pods} == {"decode", "other"} and len(pods) == 4
    for pod in pods:
        assert pod["metadata"]["annotations"]["openshift.io/scc"] == "restricted-v2"
        assert pod["status"]["phase"] == "Running"
        assert all(first <= part["securityContext"]["runAsUser"] < first + size for part in pod["spec"]["containers"])


def test_preflight_knows_the_platform(play: t.Callable[..., t.Any]) -> None:
    done = play("playbooks/preflight.yml", prerequisites_show_facts=True)
    assert done.ok and done.unchanged, done.text
    assert "openshift" in done.text and shape.VERSION in done.text


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"llm_d_platform": "kubernetes", "llm_d_gateway": {"provider": "standalone"}, "llm_d_gpus": {}}, "platform/other"),
        ({"llm_d_run_as_user": 65532}, "openshift/user_id"),
        ({"llm_d_gateway": {"provider": "openshift", "pool_version": "v1alpha2", "service_type": "ClusterIP"}}, "openshift/pool_version"),
        ({"llm_d_gateway": {"provider": "gke"}}, "llm_d_gateway.provider"),
        ({"llm_d_gpus": {"operator": "nvidia_helm"}}, "llm_d_gpus.operator"),
        ({"llm_d_gateway": {"provider": "openshift", "service_type": "LoadBalancer"}}, "load_balancer/none"),
    ],
)
def test_unsupported_options_are_refused_on_openshift_before_any_change(api: Api, play: t.Callable[..., t.Any], variables: Facts, words: str) -> None:
    before = versions(api)
    done = play("playbooks/site.yml", **variables)
    assert not done.ok and words in done.text, done.text[-3000:]
    assert versions(api) == before


@pytest.fixture(name="developer")
def of_developer(api: Api, tmp_path: Path) -> t.Iterator[Path]:
    """A kubeconfig of an account without permissions; the teardown deletes its project."""
    path = "/api/v1/namespaces/openshift-marketplace/serviceaccounts/developer/token"
    answer = api.call("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}})
    authority = base64.b64encode(Path("/var/lib/llm-d-local/pki/ca.crt").read_bytes()).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": api.cluster.server, "certificate-authority-data": authority}}],
        "users": [{"name": "it", "user": {"token": answer["status"]["token"]}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config), encoding="utf-8")
    yield file
    api.delete(f"/api/v1/namespaces/{SHOP}")


def test_an_account_that_cannot_create_namespaces_requests_a_project_once(api: Api, play: t.Callable[..., t.Any], developer: Path) -> None:
    """The whole stack with permissions in one project only, which does not exist at first."""
    mine = {"llm_d_kubeconfig": str(developer), "llm_d_scope": "namespace", "llm_d_namespace": SHOP, "llm_d_gpus": {}}
    refused = play("playbooks/site.yml", **mine)
    assert not refused.ok and "permissions/lacking" in refused.text and not api.find(f"/api/v1/namespaces/{SHOP}"), refused.text[-3000:]
    done = play("playbooks/site.yml", llm_d_request_project=True, **mine)
    assert done.ok and re.search(r"OK: (\d+) of \1 claims hold", done.text), done.text[-4000:]
    made = api.call("GET", f"/api/v1/namespaces/{SHOP}")["metadata"]
    assert made["annotations"]["openshift.io/requester"] == "system:serviceaccount:openshift-marketplace:developer"
    again = play("playbooks/site.yml", llm_d_request_project=True, **mine)
    assert again.ok and again.unchanged, again.text[-4000:]
    assert api.call("GET", f"/api/v1/namespaces/{SHOP}")["metadata"]["uid"] == made["uid"]
    gone = play("playbooks/teardown.yml", llm_d_request_project=True, **mine)
    assert gone.ok, gone.text[-4000:]
    assert not api.items(f"/apis/apps/v1/namespaces/{SHOP}/deployments", "app.kubernetes.io/managed-by=llm_d.inference")
