# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole check, against an HTTP server that answers as an API server does: read-only, tolerant of what it may not read, all findings at once."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
import types
import urllib.parse

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.http import registry
from ansible_collections.llm_d.inference.plugins.module_utils.http.transport import UrlTransport
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.report import judge
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.running import running as running_of
from ansible_collections.llm_d.inference.plugins.modules import cluster_preflight
from deployed_stacks import answers, stack
from local_servers import serve
from module_calls import user_output

FILE = {
    "llm_d_charts": {"envoy_gateway": "/nonexistent/gateway-helm"},
    "llm_d_crd_sources": {name: [f"/nonexistent/{name}"] for name in ("gateway_api", "inference_extension", "envoy_gateway")},
    "llm_d_gateway": {"service_type": "ClusterIP"},
    "llm_d_model_services": [{"name": "llama", "model": {"uri": "hf://o/m", "token_secret": "hf"}}],
    "llm_d_preflight": {"images": "ignore"},  # sends no request to a registry of the internet
}
SCHEDULER, OLD = "llm-d/llm-d-inference-scheduler", {"llm_d_release": "scheduler-0.7"}
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
CRD = {
    "metadata": {
        "name": "gateways.gateway.networking.k8s.io",
        "annotations": {"gateway.networking.k8s.io/bundle-version": "v1.6.1"},
        "managedFields": [{"manager": "llm_d.inference"}],
    }
}
ANSWERS = {
    "/version": {"gitVersion": "v1.34.4"},
    "/apis": {"groups": [{"name": "gateway.networking.k8s.io", "versions": [{"version": "v1"}]}]},
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {"items": [CRD]},
    "/api/v1/nodes": {"items": [{"metadata": {"name": "n"}, "status": {"allocatable": {"nvidia.com/gpu": "1"}}}]},
    "/api/v1/pods": {"items": []},
    "/api/v1/namespaces/llm-d": {"metadata": {"name": "llm-d"}, "status": {"phase": "Active"}},
    "/api/v1/namespaces/llm-d/resourcequotas": {"items": []},
    "/api/v1/namespaces/llm-d/limitranges": {"items": []},
    "/apis/storage.k8s.io/v1/storageclasses": {"items": []},
    "/api/v1/namespaces/llm-d/secrets/hf": {"data": {"HF_TOKEN": "c2VjcmV0LXZhbHVl"}},
    "/apis/gateway.networking.k8s.io/v1/gatewayclasses": {"items": []},
}


@pytest.fixture(name="api")
def running(request):
    """An API server; gives its URL and its requests."""
    requests = []
    denied = getattr(request, "param", ())

    def answer(_handler, method, path, body):
        plain = path.split("?")[0]
        requests.append((method, plain))
        if plain in denied:
            return (
                403,
                {"Content-Type": "application/json"},
                json.dumps({"kind": "Status", "reason": "Forbidden", "message": f"{plain} is forbidden", "code": 403}),
            )
        if plain == REVIEWS:
            right = json.loads(body)["spec"]["resourceAttributes"]
            return 201, {}, json.dumps({"status": {"allowed": right["resource"] != "inferencepools"}})
        if plain.endswith("selfsubjectreviews"):
            return 201, {}, json.dumps({"status": {"userInfo": {"username": "jane"}}})
        if plain in ANSWERS:
            return 200, {}, json.dumps(ANSWERS[plain])
        return 404, {}, json.dumps({"kind": "Status", "reason": "NotFound", "code": 404, "message": "not found"})

    with serve(answer) as url:
        yield url, requests


def look(call, api, credentials=(), **more):
    return call(cluster_preflight, host=api[0], api_key="sesame-open", needs=plan({**FILE, **more})["preflight"], credentials=list(credentials))


def test_all_missing_prerequisites_are_reported_at_once_and_nothing_changes(call, api):
    result = look(call, api)
    assert result["failed"] and "prerequisites are missing. Nothing has been touched.\n" in result["msg"]
    kept = call(cluster_preflight, host=api[0], api_key="sesame-open", needs=plan(FILE)["preflight"], refuse=False)
    assert not kept.get("failed") and (kept["msg"], kept["findings"]) == (result["msg"], result["findings"])
    ids = [finding["id"] for finding in result["findings"]]
    assert {"permissions/lacking", "host/chart"} <= set(ids) <= {"permissions/lacking", "host/chart", "host/helm"}
    assert "may not get, list, create, patch, delete, watch inferencepools" in result["msg"] and "The account jane" in result["msg"]
    assert {method for method, path in api[1] if not re.search("reviews$", path)} == {"GET"}
    assert result["platform"] == {"name": "kubernetes", "flavour": "kubernetes", "version": "v1.34.4"}
    assert result["facts"]["crds"] == {"gateways.gateway.networking.k8s.io": {"version": "1.6.1", "owner": "llm_d.inference"}}


@pytest.mark.parametrize(
    ("groups", "scrape", "wanted"),
    [
        (["config.openshift.io"], True, 1),
        (["config.openshift.io"], False, 0),
        ([], True, 0),
    ],
)
def test_openshift_monitoring_is_checked_only_on_openshift_with_scrape(call, api, monkeypatch, groups, scrape, wanted):
    """The ConfigMap of the monitoring is read once there, and on no other platform."""
    monkeypatch.setitem(ANSWERS, "/apis", {"groups": [*ANSWERS["/apis"]["groups"], *({"name": name, "versions": [{"version": "v1"}]} for name in groups)]})
    result = look(call, api, llm_d_monitoring={"scrape": scrape})
    config = "/api/v1/namespaces/openshift-monitoring/configmaps/cluster-monitoring-config"
    assert [path for _method, path in api[1]].count(config) == wanted
    assert ("monitoring/user_workloads" in [finding["id"] for finding in result["findings"]]) is bool(wanted)


@pytest.fixture(name="chart")
def only_the_chart(monkeypatch, tmp_path):
    """Restricts the check to one chart."""
    monkeypatch.setattr(cluster_preflight, "POLL", 0.1)
    monkeypatch.setattr(cluster_preflight, "judge", lambda facts, needs: [finding for finding in judge(facts, needs) if finding.id == "host/chart"])
    return tmp_path / "gateway-helm"


def patiently(call, api, tmp_path, chart, timeout):
    needs = plan({**FILE, "llm_d_charts": {"envoy_gateway": str(chart)}})["preflight"]
    return call(cluster_preflight, host=api[0], api_key="sesame-open", needs=needs, timeout=timeout, progress_path=str(tmp_path / "progress"))


def test_a_prerequisite_that_appears_in_time_is_waited_for(call, api, chart, tmp_path):
    progress = tmp_path / "progress"

    def bring():
        while not progress.exists():
            time.sleep(0.01)
        chart.mkdir()

    threading.Thread(target=bring, daemon=True).start()
    result = patiently(call, api, tmp_path, chart, 60)
    assert not result.get("failed"), result
    assert result["findings"] == [] and re.fullmatch(r"(waiting (5\d|60) s more for host/chart\n)+", progress.read_text(encoding="utf-8"))


def test_a_prerequisite_that_is_missing_at_the_timeout_is_reported(call, api, chart, tmp_path):
    assert "1 prerequisite is missing" in patiently(call, api, tmp_path, chart, 1)["msg"]
    (tmp_path / "progress").unlink(missing_ok=True)  # there is none where the first check took the whole second
    result = patiently(call, api, tmp_path, chart, 0)
    assert result["failed"] and not (tmp_path / "progress").exists(), "it waits only where that is requested"


def planned(**more):
    """The planned deployment, as role_facts derives it of a file."""
    return next(iter(running_of(stack(**more))))


def test_changes_to_an_existing_deployment_are_reported(call, api, monkeypatch):
    for path, content in answers(stack(llm_d_release="router-0.9", llm_d_preflight={"images": "ignore"})).items():
        monkeypatch.setitem(ANSWERS, path, content)
    needs = plan({**FILE, "llm_d_model_services": [{"name": "sim", "model": {"served_name": "acme/sim"}, "engine": {"type": "simulator"}}]})["preflight"]
    options = {"host": api[0], "api_key": "sesame-open", "needs": needs}
    changed = call(cluster_preflight, planned=planned(llm_d_release="router-0.10"), **options)
    assert changed["changes"] == ["release line: from router-0.9 to router-0.10"]
    at = changed["shown"].index("this changes an existing deployment: llm-d in namespace llm-d")
    assert changed["shown"][at + 1 :] == ["  release line: from router-0.9 to router-0.10"] and changed["shown"][1].startswith("error ")
    same = call(cluster_preflight, planned=planned(llm_d_release="router-0.9"), **options)
    assert same["changes"] == [] and "this changes" not in "\n".join(same["shown"])
    assert call(cluster_preflight, **options)["changes"] == [], "nothing is compared without it"


@pytest.mark.parametrize("api", [("/apis/apps/v1/namespaces/llm-d/deployments",)], indirect=True)
def test_a_stack_that_may_not_be_listed_is_no_change(call, api, monkeypatch):
    for path, content in answers(stack(llm_d_release="router-0.9")).items():
        monkeypatch.setitem(ANSWERS, path, content)
    result = call(cluster_preflight, host=api[0], api_key="sesame-open", needs=plan(dict(FILE))["preflight"], planned=planned(llm_d_release="router-0.10"))
    assert result["changes"] == []


@pytest.mark.parametrize("api", [("/apis/apps/v1/namespaces/edge/deployments", "/api/v1/namespaces/edge/configmaps")], indirect=True)
def test_the_namespace_of_the_gateway_hides_no_change_of_the_servers(call, api, monkeypatch):
    """The namespace belongs to another team: the account has no permissions for workloads in it, and only the Gateway of the stack is there."""
    edge = {"llm_d_gateway": {"service_type": "ClusterIP", "namespace": "edge"}}
    for path, content in answers(stack(llm_d_release="router-0.9", **edge)).items():
        monkeypatch.setitem(ANSWERS, path, content)
    needs = plan({**FILE, **edge})["preflight"]
    result = call(cluster_preflight, host=api[0], api_key="sesame-open", needs=needs, planned=planned(llm_d_release="router-0.10", **edge))
    assert result["changes"] == ["release line: from router-0.9 to router-0.10"]


def test_no_secret_is_shown(call, api):
    assert "c2VjcmV0LXZhbHVl" not in json.dumps(look(call, api))


@pytest.mark.parametrize("api", [("/api/v1/nodes", "/api/v1/pods", "/api/v1/namespaces/llm-d/secrets/hf")], indirect=True)
def test_unreadable_objects_do_not_stop_the_preflight(call, api):
    result = look(call, api)
    assert not [finding["id"] for finding in result["findings"] if finding["id"].startswith(("accelerators", "secret"))]
    assert result["facts"]["nodes"] is None


def test_a_server_that_is_not_a_kubernetes_api_server_is_reported(call):
    with serve(lambda *_args: (200, {}, "<html>hello</html>")) as url:
        result = call(cluster_preflight, host=url, api_key="sesame-open", needs=plan(FILE)["preflight"])
    assert result["failed"] and "does not answer like a Kubernetes API server" in result["msg"]


def test_a_registry_that_requires_credentials_counts_as_reachable():
    with serve(lambda *_args: (401, {}, "")) as url:
        assert cluster_preflight.registry_problem(url.split("//")[1]) is None
    assert cluster_preflight.registry_problem("127.0.0.1:1/mirror")


def test_sources_of_missing_components_are_requested_once_per_host(call, api):
    requests = []
    with serve(lambda _handler, method, path, _body: requests.append((method, path)) or (404, {}, "")) as server:
        gone = "http://127.0.0.1:1"
        urls = {"gateway_api": [f"{gone}/not-asked"], "inference_extension": [f"{server}/a.yaml", f"{server}/b.yaml"], "envoy_gateway": [f"{gone}/c.yaml"]}
        sources = {name: [{"url": url, "insecure": True} for url in places] for name, places in urls.items()}
        charts = {"envoy_gateway": f"oci://{server.split('//')[1]}/charts/gateway-helm"}
        result = look(call, api, llm_d_crd_sources=sources, llm_d_charts=charts)
    silent = [finding for finding in result["findings"] if finding["id"] == "host/source"]
    assert [finding["what"].partition(",")[0] for finding in silent] == ["127.0.0.1:1"] and silent[0]["severity"] == "warning"
    assert "refused" in silent[0]["found"].lower() and requests == [("GET", "/v2/")]


def test_installed_components_need_no_source():
    definition, chart = "http://127.0.0.1:1/a", "oci://127.0.0.1:1/c"
    sources = {**FILE["llm_d_crd_sources"], "gateway_api": [{"url": definition, "insecure": True}]}
    needs = plan({**FILE, "llm_d_crd_sources": sources, "llm_d_charts": {"envoy_gateway": chart}})["preflight"]
    installed = {bundle["probe"]: {"version": bundle["version"]} for bundle in needs["definitions"]}
    older = {**installed, "gateways.gateway.networking.k8s.io": {"version": "0.9.0"}}
    running = {"envoy-gateway-system/envoy-gateway": {"metadata": {}}}
    assert cluster_preflight.wanted_sources(needs, {"crds": installed, "controllers": running}) == []
    assert cluster_preflight.wanted_sources(needs, {"crds": {}, "controllers": dict.fromkeys(running)}) == [definition, chart]
    assert cluster_preflight.wanted_sources(needs, {"crds": older, "controllers": running}) == [definition], "it is upgraded"


def test_a_chart_is_requested_only_while_its_component_is_missing():
    refs = {part: f"oci://{part}.example.com/chart" for part in ("controllers", "leader_worker_set", "gpu_operator")}
    needs = {"definitions": [], "charts": [{"ref": ref, "brings": part} for part, ref in refs.items()]}
    installed = {"controllers": {"a/b": {}}, "leader_worker_set": {"namespace": {}, "controller": {}}, "gpu_operator": {"namespace": {}, "policies": [{}]}}
    nowhere = {"controllers": {"a/b": None}, "leader_worker_set": {"namespace": None, "controller": None}, "gpu_operator": {"namespace": None, "policies": []}}
    assert cluster_preflight.wanted_sources(needs, installed) == cluster_preflight.wanted_sources(needs, {}) == []
    for part, ref in refs.items():
        assert cluster_preflight.wanted_sources(needs, {**installed, part: nowhere[part]}) == [ref]


def test_each_image_registry_is_checked_to_be_reachable(call, api):
    with serve(lambda *_args: (401, {}, "")) as server:
        images = {"epp": "127.0.0.1:1/epp:1"}
        result = look(call, api, llm_d_images=images, llm_d_image_registry=server.split("//")[1], llm_d_preflight={"images": "warning"})
    silent = [finding for finding in result["findings"] if finding["id"] == "host/registry"]
    assert len(silent) == 1 and "The image registry 127.0.0.1:1 does not answer" in silent[0]["what"] and silent[0]["severity"] == "warning"
    assert "refused" in silent[0]["found"].lower() and not [finding for finding in result["findings"] if finding["id"] == "host/source"]


@pytest.fixture(name="mirror")
def image_registry():
    """A registry that has everything but the scheduler's image; gives its host and its requests."""
    requests = []

    def answer(handler, method, path, _body):
        requests.append((method, path, handler.headers.get("Authorization")))
        return (404 if SCHEDULER in path else 200), {}, ""

    with serve(answer) as url:
        yield url.split("//")[1], requests


def images_of(result):
    return [finding for finding in result["findings"] if finding["id"] == "host/image"]


@pytest.mark.parametrize("severity", ["error", "warning"])
def test_an_image_that_the_mirror_lacks_is_reported(call, api, mirror, severity):
    host, requests = mirror
    result = look(call, api, **OLD, llm_d_image_registry=host, llm_d_preflight={"images": severity})
    (missing,) = images_of(result)
    assert f"{host}/{SCHEDULER}:v0.7.1" in missing["what"] and missing["found"] == "the registry does not have it (HTTP 404)"
    assert missing["severity"] == severity and "llm_d_images" in missing["how"]
    assert (missing["what"] in result["msg"].partition("\n")[2]) is (severity == "error") and result["failed"]
    assert {path.split("/manifests/")[0] for method, path, _account in requests if method == "HEAD"} == {
        f"/v2/{name}" for name in (SCHEDULER, "envoyproxy/gateway", "envoyproxy/envoy", "vllm/vllm-openai")
    }


def test_no_registry_is_requested_when_images_are_ignored(call, api, mirror):
    host, requests = mirror
    result = look(call, api, llm_d_image_registry=host, llm_d_preflight={"images": "ignore"})
    assert images_of(result) == [] and requests == []


def test_an_image_removed_upstream_is_reported_with_its_replacement(call, api, monkeypatch):
    """The registry denies an anonymous request for a token of a package that is gone, as ghcr.io does."""
    tokens = []

    def answer(handler, _method, path, _body):
        if path.startswith("/token"):
            tokens.append(dict(urllib.parse.parse_qsl(path.partition("?")[2])))
            if SCHEDULER in path or SCHEDULER in tokens[-1].get("scope", ""):
                return 403, {}, json.dumps({"errors": [{"code": "DENIED", "message": "requested access to the resource is denied"}]})
            return 200, {}, json.dumps({"token": "anonymous"})
        if handler.headers.get("Authorization") == "Bearer anonymous":
            return 200, {}, ""
        name = path.removeprefix("/v2/").partition("/manifests/")[0]
        challenge = f'Bearer realm="http://{handler.headers["Host"]}/token",service="ghcr.io",scope="repository:{name}:pull"'
        return 401, {"WWW-Authenticate": challenge}, json.dumps({"errors": [{"code": "UNAUTHORIZED"}]})

    with serve(answer) as url:
        monkeypatch.setattr(registry, "_registry", lambda _host, _timeout: UrlTransport(url))
        monkeypatch.setattr(cluster_preflight, "registry_problem", lambda _host: None)
        result = look(call, api, **OLD, llm_d_preflight={"images": "error"})
    (gone,) = images_of(result)
    assert gone["what"] == f"The image ghcr.io/{SCHEDULER}:v0.7.1 cannot be pulled." and gone["found"] == "the registry wants an account (HTTP 401)"
    assert "Upstream removed it for ghcr.io/llm-d/llm-d-router-endpoint-picker" in gone["how"] and gone["severity"] == "error"
    assert result["failed"] and gone["what"] in result["msg"]
    assert {"service": "ghcr.io", "scope": f"repository:{SCHEDULER}:pull"} in tokens


def test_registry_requests_use_accounts_of_the_file_before_those_of_secrets(call, api, monkeypatch):
    """An account of the file takes precedence over one in a Secret; neither is in the result."""
    authorizations = []

    def answer(handler, _method, _path, _body):
        authorizations.append(handler.headers.get("Authorization"))
        return (200 if authorizations[-1] else 401), {"WWW-Authenticate": 'Basic realm="x"'}, ""

    def basic(name, password):
        return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()

    with serve(answer) as url:
        host = url.split("//")[1]
        config = base64.b64encode(json.dumps({"auths": {host: {"username": "robot", "password": "from-the-secret"}}}).encode()).decode()
        monkeypatch.setitem(ANSWERS, "/api/v1/namespaces/llm-d/secrets/mirror", {"data": {".dockerconfigjson": config}})
        more = {"llm_d_image_registry": host, "llm_d_preflight": {"images": "error"}, "llm_d_image_pull_secrets": ["mirror", "missing"]}
        result = look(call, api, **more)
        assert images_of(result) == [] and set(filter(None, authorizations)) == {basic("robot", "from-the-secret")}
        authorizations.clear()
        own = look(call, api, [{"registry": f"{host}/path", "username": "me", "password": "of-the-file"}], **more)
        assert images_of(own) == [] and set(filter(None, authorizations)) == {basic("me", "of-the-file")}
    assert not [word for word in ("from-the-secret", "of-the-file") if word in user_output(result, own)]


POLICIES = "/apis/nvidia.com/v1"


@pytest.mark.parametrize(("known", "wanted"), [(True, ["gpu_operator/foreign"]), (False, [])])
def test_a_gpu_operator_that_the_collection_did_not_install_is_reported(call, api, monkeypatch, known, wanted):
    if known:
        monkeypatch.setitem(ANSWERS, POLICIES, {"resources": [{"name": "clusterpolicies", "kind": "ClusterPolicy", "namespaced": False}]})
        monkeypatch.setitem(ANSWERS, f"{POLICIES}/clusterpolicies", {"items": [{"metadata": {"name": "theirs"}}]})
    charts = {**FILE["llm_d_charts"], "gpu_operator": "/nonexistent/gpu-operator"}
    result = look(call, api, llm_d_gpus={"operator": "nvidia_helm"}, llm_d_charts=charts)
    assert [finding["id"] for finding in result["findings"] if finding["id"].startswith("gpu_operator")] == wanted
    assert sum(finding["id"] == "host/chart" for finding in result["findings"]) == 2, "the operator's chart is looked for too"


@pytest.mark.parametrize(("present", "wanted"), [(True, ["controller/shared"]), (False, [])])
def test_a_gateway_extension_that_the_run_would_remove_is_reported(call, api, monkeypatch, present, wanted):
    if present:
        monkeypatch.setitem(ANSWERS, "/apis/apps/v1/namespaces/envoy-ai-gateway-system/deployments/ai-gateway-controller", {"metadata": {}})
        monkeypatch.setitem(ANSWERS, "/api/v1/namespaces/envoy-ai-gateway-system", {"metadata": {"name": "envoy-ai-gateway-system"}})
    assert [finding["id"] for finding in look(call, api)["findings"] if finding["id"].startswith("controller")] == wanted


@pytest.mark.parametrize(("output", "version"), [("v3.5.4+g1b5edb6", "3.5.4"), ("v4.0.1+g12500dd", "4.0.1"), ("what?", None)])
def test_the_helm_version_is_read_from_its_output(tmp_path, output, version):
    helm = tmp_path / "helm"
    helm.write_text(f"#!/bin/sh\necho '{output}'\n", encoding="utf-8")
    assert cluster_preflight.helm_version(str(helm)) is None, "it may not be run"
    helm.chmod(0o755)
    assert cluster_preflight.helm_version(str(helm)) == version


@pytest.mark.parametrize(("exceptions", "reported"), [("", True), ("localhost,.example.com", False), ("*.example.com", True), ("api.example.com:6443", False)])
def test_a_proxy_between_the_host_and_the_api_server_is_reported(monkeypatch, exceptions, reported):
    """The installed client library matches NO_PROXY: version 37 knows names, networks and ports, and no `*.`. The proxy's password is not shown."""
    monkeypatch.setenv("HTTPS_PROXY", "http://me:s3cret-word@proxy.example.com:3128")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, exceptions)
    needs = plan({**FILE, "llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"}})["preflight"]
    facts = {"version": "v1.34.4", "groups": {}, "permissions": []}
    server = connect(types.SimpleNamespace(params={"host": "https://api.example.com:6443", "api_key": "sesame-open"}))
    facts["host"] = cluster_preflight.host_facts(needs, server, facts, [], {})
    assert "s3cret-word" not in json.dumps(facts)
    findings = [finding for finding in judge(facts, needs) if finding.id.startswith("host/")]
    assert [finding.id for finding in findings] == (["host/proxy"] if reported else []), "and the libraries of this host are new enough"
    libraries = facts["host"]["libraries"]
    assert set(libraries) == {"kubernetes", "yaml", "urllib3", "requests", "python", "websocket"}
    assert {name for name, version in libraries.items() if not version} == {"websocket"}, "which nobody needs"
