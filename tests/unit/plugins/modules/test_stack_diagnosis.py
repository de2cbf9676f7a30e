# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module against an API server and servers behind it, all real HTTP servers of this host: what is collected, that nothing is changed, and faults."""

from __future__ import annotations

import contextlib
import copy
import time

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis import collect_others
from ansible_collections.llm_d.inference.plugins.modules import stack_diagnosis
from engine_servers import SECRETS, engine, keyed, listed
from local_servers import JSON, closed_port, raw, serve, whole
from module_calls import user_output
from stack_objects import EPP_METRICS, NAMESPACE, StackServer, healthy, planned

MODEL = "llm-d/simulated-8b"


@pytest.fixture(name="call")
def patient_call(call, monkeypatch):
    """Runs the module with all the time that a busy host needs."""
    monkeypatch.setattr(collect_others, "SECONDS", 600.0)
    return lambda module, **options: call(module, **{"request_timeout": 60, **options})


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)


def simulator(picked=True, **pages):
    """A simulated server, and the gateway before it."""
    known = engine(
        "vllm",
        **{
            "/version": None,
            "/admin/config": (200, JSON, '{"max-num-seqs":5}'),
            "/v1/models": (200, JSON, listed("vllm", MODEL)),
            "/health/ready": (200, JSON, ""),
            **pages,
        },
    )

    def answer(*request):
        status, headers, body = known(*request)
        return status, {**headers, **({"x-went-into-resp-headers": "true"} if picked else {})}, body

    return answer


@contextlib.contextmanager
def stack(monkeypatch, change=None, server=None, gateway=None, made=None, **options):
    """A healthy stack, changed by `change`, behind an API server that the environment names; gives that server."""
    snap = healthy(made)
    if change:
        change(snap)
    with contextlib.ExitStack() as running:
        url = running.enter_context(serve(server or simulator()))
        epp = running.enter_context(serve(lambda *request: (200, {"Content-Type": "text/plain"}, EPP_METRICS)))
        for pod in snap.objects["Pod"]:
            pod["metadata"]["annotations"] = {"test/url": epp if "epp" in pod["metadata"]["name"] else url}
        port = int((running.enter_context(serve(gateway)) if gateway else url).rpartition(":")[2])
        for obj in snap.objects.get("Gateway", []):
            obj["status"]["addresses"] = [{"type": "IPAddress", "value": "127.0.0.1"}]
        snap.plan["gateway"]["listener"]["port"] = port
        proxy = snap.plan["services"][0]["scheduler"].get("proxy")
        for obj in snap.objects.get("Service", []):
            if proxy and obj["metadata"]["name"] == proxy["name"]:
                proxy["port"] = obj["spec"]["ports"][0]["port"] = port
                obj["spec"]["clusterIP"] = "127.0.0.1"
        api = StackServer(snap, **options)
        # the proxy to a Service goes to the first pod: that of the picker
        api.pods.sort(key=lambda pod: "epp" not in pod["metadata"]["name"])
        monkeypatch.setenv("K8S_AUTH_HOST", running.enter_context(serve(api)))
        monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
        yield api, snap.plan


def test_a_healthy_stack(call, monkeypatch):
    with stack(monkeypatch) as (api, made):
        result = call(stack_diagnosis, plan=made)
    assert result["findings"] == [] and result["ok"] is True and result["changed"] is False and "failed" not in result, result["lines"]
    assert result["looked_at"]["Pod"] == 5 and result["looked_at"]["Deployment"] == 3 and result["not_read"] == []
    assert api.methods == {"GET"}


def test_a_selector_that_matches_no_pod_is_reported_before_its_symptom(call, monkeypatch):
    def change(snap):
        snap.objects["InferencePool"][0]["spec"]["selector"]["matchLabels"] = {"app": "nothing"}

    with stack(monkeypatch, change, gateway=lambda *request: (503, {"Content-Type": "text/plain"}, "no healthy upstream")) as (_api, made):
        result = call(stack_diagnosis, plan=made)
    assert [entry["code"] for entry in result["findings"]] == ["F21", "F21"] and result["findings"][0]["where"] == f"InferencePool {NAMESPACE}/sim"
    assert "the pool selects no pod" in result["summary"] and result["findings"][1]["kind"] == "symptom"
    assert "no healthy upstream" in " ".join(result["findings"][1]["evidence"])


def test_a_foreign_httproute_is_reported_before_its_symptom(call, monkeypatch):
    def change(snap):
        theirs = copy.deepcopy(next(obj for obj in snap.objects["HTTPRoute"] if obj["metadata"]["name"] == "sim"))
        theirs["metadata"] = {"name": "theirs", "namespace": NAMESPACE, "creationTimestamp": "2026-12-01T00:00:00Z"}
        theirs["spec"]["rules"][0]["matches"][0]["path"]["value"] = "/v1"
        snap.objects["HTTPRoute"].append(theirs)

    with stack(monkeypatch, change, gateway=lambda *request: (404, {"Content-Type": "text/plain"}, "")) as (_api, made):
        result = call(stack_diagnosis, plan=made)
    assert [entry["code"] for entry in result["findings"]] == ["stranger", "F23"] and "HTTPRoute llm-d/theirs" in result["summary"]


def test_an_account_of_the_namespaces_finds_what_is_attached_there(call, monkeypatch):
    def change(snap):
        refs = [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "sim"}]
        metadata = {"name": "theirs", "namespace": NAMESPACE}
        snap.others = [{"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "SecurityPolicy", "metadata": metadata, "spec": {"targetRefs": refs}}]

    for refuses, codes, reported in ((("in all namespaces",), ["stranger"], False), (("SecurityPolicy",), [], True)):
        with stack(monkeypatch, change, refuses=refuses) as (_api, made):
            result = call(stack_diagnosis, plan=made)
        assert [entry["code"] for entry in result["findings"] if entry["code"] != "permissions"] == codes, result["lines"]
        assert ("what others attach: SecurityPolicy" in " ".join(result["not_read"])) is reported


def test_the_log_of_a_crashing_pod_is_read(call, monkeypatch):
    def change(snap):
        pod = next(pod for pod in snap.objects["Pod"] if "sim-decode" in pod["metadata"]["name"])
        pod["status"]["conditions"] = [{"type": "Ready", "status": "False"}, {"type": "PodScheduled", "status": "True"}]
        pod["status"]["containerStatuses"] = [
            {
                "name": "server",
                "ready": False,
                "restartCount": 5,
                "image": "i",
                "lastState": {"terminated": {"exitCode": 2}},
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            }
        ]

    with stack(monkeypatch, change, logs={"sim-decode-744dfd47c8-4bn0t": "unknown flag: --nonsense\n"}) as (_api, made):
        result = call(stack_diagnosis, plan=made)
    assert [entry["code"] for entry in result["findings"]] == ["args"] and "unknown flag" in result["findings"][0]["evidence"][0]


@pytest.mark.parametrize(
    "server, code",
    [
        (simulator(**{"/v1/completions": (500, "text/plain", "oops")}), "hung"),
        (simulator(**{"/metrics": None}), "metrics"),
        (simulator(**{"/v1/models": (401, JSON, '{"error":"Unauthorized"}')}), "key"),
        (simulator(picked=False), "F26"),
    ],
)
def test_requests_to_the_model_servers_reveal_their_faults(call, monkeypatch, server, code):
    with stack(monkeypatch, server=server) as (_api, made):
        result = call(stack_diagnosis, plan=made)
    assert code in [entry["code"] for entry in result["findings"][:2]], result["lines"]


def test_servers_get_no_requests_in_check_mode_or_with_requests_false(call, monkeypatch):
    with stack(monkeypatch, server=simulator(**{"/v1/completions": (500, "text/plain", "oops")})) as (_api, made):
        assert call(stack_diagnosis, check=True, plan=made)["findings"] == []
        assert call(stack_diagnosis, plan=made, requests=False)["findings"] == []


def test_a_gateway_that_cannot_be_reached_from_here(call, monkeypatch):
    def change(snap):
        snap.objects["Gateway"][0]["status"]["addresses"][0]["value"] = "127.0.0.1"

    with stack(monkeypatch, change) as (_api, made):
        made["gateway"]["listener"]["port"] = closed_port()
        result = call(stack_diagnosis, plan=made)
    assert [entry["code"] for entry in result["findings"]] == ["unreachable"] and "connection refused" in result["findings"][0]["evidence"][0]


def recording(server, requests):
    """The server, with its requests recorded."""

    def answer(handler, method, path, body):
        requests.append((method, path))
        return server(handler, method, path, body)

    return answer


def test_each_endpoint_picker_proxy_is_requested_when_there_is_no_gateway(call, monkeypatch):
    requests = []
    with stack(monkeypatch, gateway=recording(simulator(), requests), made=planned({"provider": "standalone"})) as (api, made):
        result = call(stack_diagnosis, plan=made)
    assert result["findings"] == [], result["lines"]
    assert requests == [("POST", "/v1/completions")] and api.methods == {"GET"}


@pytest.mark.parametrize(
    ("server", "code", "where"),
    [
        (lambda *request: (503, {"Content-Type": "text/plain"}, "no healthy upstream"), "F21", "proxy of sim, http://127.0.0.1"),
        (simulator(picked=False), "F26", "proxy of sim"),
    ],
)
def test_a_proxy_that_fails_or_bypasses_the_endpoint_picker_is_reported(call, monkeypatch, server, code, where):
    with stack(monkeypatch, gateway=server, made=planned({"provider": "standalone"})) as (_api, made):
        result = call(stack_diagnosis, plan=made)
    assert [entry["code"] for entry in result["findings"]] == [code] and result["findings"][0]["where"].startswith(where), result["lines"]


def test_an_unreachable_proxy_is_requested_through_the_api_server(call, monkeypatch):
    with stack(monkeypatch, made=planned({"provider": "standalone"})) as (_api, made):
        made["services"][0]["scheduler"]["proxy"]["port"] = closed_port()
        result = call(stack_diagnosis, plan=made)
    assert [entry["code"] for entry in result["findings"]] == ["answer"] and "Service llm-d/sim-gateway" in result["findings"][0]["evidence"][0], result[
        "lines"
    ]


def test_a_proxy_without_its_service(call, monkeypatch):
    def change(snap):
        snap.objects["Service"] = [obj for obj in snap.objects["Service"] if obj["metadata"]["name"] != "sim-gateway"]

    with stack(monkeypatch, change, made=planned({"provider": "standalone"})) as (_api, made):
        result = call(stack_diagnosis, plan=made)
    assert [(entry["code"], entry["where"]) for entry in result["findings"]] == [("absent", "Service llm-d/sim-gateway")], result["lines"]


def test_an_empty_cluster_lacks_the_namespace_and_crds_and_has_no_other_cause(call, monkeypatch):
    def change(snap):
        for kind in snap.objects:
            snap.objects[kind] = []
        snap.crds = {}

    without = ("gateway.networking.k8s.io/v1", "gateway.networking.k8s.io/v1beta1", "inference.networking.k8s.io/v1", "gateway.envoyproxy.io/v1alpha1")
    with stack(monkeypatch, change, without=without) as (_api, made):
        result = call(stack_diagnosis, plan=made)
    assert {entry["code"] for entry in result["findings"][:3]} == {"namespace", "F1"} and "failed" not in result
    assert all(entry["kind"] != "cause" or entry["code"] in ("namespace", "F1") for entry in result["findings"])


def test_unreadable_objects_are_reported_without_false_findings(call, monkeypatch):
    with stack(monkeypatch, refuses=("Pod", "NetworkPolicy")) as (_api, made):
        result = call(stack_diagnosis, plan=made, requests=False)
    assert result["findings"][0]["code"] == "permissions" and any("Pod in llm-d" in line for line in result["not_read"])
    assert "F21" not in [entry["code"] for entry in result["findings"]]


@pytest.mark.parametrize("how", ["refused", pytest.param("hangs", marks=pytest.mark.timing), "html"])
def test_an_unreachable_api_server_is_reported_in_one_line(call, monkeypatch, how):
    def hangs(connection):
        time.sleep(30)

    with raw(hangs) as silent, serve(lambda *request: (200, {"Content-Type": "text/html"}, "<html>Sign in</html>")) as html:
        monkeypatch.setenv("K8S_AUTH_HOST", {"refused": f"http://127.0.0.1:{closed_port()}", "hangs": silent, "html": html}[how])
        monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
        result = call(stack_diagnosis, plan=planned())
    assert [entry["code"] for entry in result["findings"]] == ["api"] and result["ok"] is False and "failed" not in result
    assert "\n" not in result["summary"] and "sk-token" not in user_output({**result, "invocation": None})


@pytest.mark.parametrize(
    "options, message",
    [
        ({"plan": {}}, "plan lacks instance"),
        ({}, "plan"),
        ({"plan": planned(), "request_timeout": 0}, "request_timeout must be more than 0"),
    ],
)
def test_options_that_do_not_fit(call, options, message):
    result = call(stack_diagnosis, **options)
    assert result["failed"] is True and message in result["msg"]


@pytest.mark.parametrize("secret", [True, False])
def test_requests_to_servers_with_a_key_use_the_key_from_their_secret(call, monkeypatch, secret):
    def change(snap):
        metadata = {"name": "keys", "namespace": NAMESPACE}
        snap.objects["Secret"] = [{**item, "apiVersion": "v1", "metadata": metadata} for item in SECRETS.values()] if secret else []

    made = planned(model={"uri": "hf://llm-d/simulated-8b", "served_name": MODEL, "api_key": {"secret": "keys"}}, engine={})
    with stack(monkeypatch, change, server=keyed(simulator()), made=made) as (api, made):
        result = call(stack_diagnosis, plan=made)
    assert "sk-model" not in str(result) and bool(api.port_forwards) is secret
    unread = "servers of sim in llm-d, API key of sim in llm-d: there is no Secret llm-d/keys with the API key of the servers"
    assert result["findings"] == [] and [line.partition(": create")[0] for line in result["not_read"]] == ([] if secret else [unread]), result


@pytest.mark.parametrize("body", ["Incorrect API key provided: {key}", '{{"error": {{"message": "no such key: {key}"}}}}'])
def test_a_key_that_the_gateway_refuses_and_repeats_is_not_shown(call, monkeypatch, body):
    def change(snap):
        snap.objects["Secret"] = [{**item, "apiVersion": "v1", "metadata": {"name": "keys", "namespace": NAMESPACE}} for item in SECRETS.values()]

    def refuses(handler, *_request):
        key = handler.headers["Authorization"].removeprefix("Bearer ")
        return 401, {"Content-Type": JSON if body.startswith("{") else "text/plain"}, body.format(key=key)

    made = planned(model={"uri": "hf://llm-d/simulated-8b", "served_name": MODEL, "api_key": {"secret": "keys"}}, engine={})
    with stack(monkeypatch, change, server=keyed(simulator()), gateway=refuses, made=made) as (_api, made):
        result = call(stack_diagnosis, plan=made)
    assert [entry["code"] for entry in result["findings"]] == ["key"] and "***" in str(result) and "sk-model" not in str(result), result


@pytest.mark.parametrize("protocol", ["HTTP", "HTTPS"])
def test_an_api_key_is_not_sent_to_an_unverified_https_address(call, monkeypatch, certificate, protocol):
    authorizations = []

    def stranger(handler, *_request):
        authorizations.append(handler.headers["Authorization"])
        return 200, {"Content-Type": JSON}, whole(MODEL)

    def change(snap):
        snap.objects["Secret"] = [{**item, "apiVersion": "v1", "metadata": {"name": "keys", "namespace": NAMESPACE}} for item in SECRETS.values()]
        proxy = next(pod for pod in snap.objects["Pod"] if pod["metadata"]["uid"] == "uid-proxy")
        metadata = {"name": "envoy", "namespace": proxy["metadata"]["namespace"], "labels": proxy["metadata"]["labels"]}
        spec = {"clusterIP": "127.0.0.1", "selector": proxy["metadata"]["labels"], "ports": [{"port": 443, "targetPort": 10443}]}
        snap.objects["Service"].append({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})
        snap.objects["Gateway"][0]["spec"]["listeners"] = [{"name": "http", "protocol": protocol, "port": 443, "hostname": "chat.example.com"}]

    made = planned(model={"uri": "hf://llm-d/simulated-8b", "served_name": MODEL, "api_key": {"secret": "keys"}}, engine={})
    made["gateway"]["listener"].update(name="http", protocol=protocol, hostname="chat.example.com")
    tls = certificate if protocol == "HTTPS" else None
    with (
        serve(stranger, tls) as address,
        serve(keyed(simulator()), tls) as gateway,
        stack(monkeypatch, change, server=keyed(simulator()), made=made) as (api, made),
    ):
        made["gateway"]["listener"]["port"] = int(address.rpartition(":")[2])
        for pod in api.pods:
            pod["metadata"]["annotations"]["test/url"] = gateway if pod["metadata"]["uid"] == "uid-proxy" else pod["metadata"]["annotations"]["test/url"]
        result = call(stack_diagnosis, plan=made)
        forwarded = [path for path in api.requests if "portforward" in path and "envoy-llm-d-gateway" in path]
        if tls:
            with monkeypatch.context() as patched:
                patched.setattr(api, "forward", lambda *_request: api.status(403, "Forbidden", "no ports for you"))
                refused = call(stack_diagnosis, plan=made)
            api.snap.objects["Service"].pop()
            absent = call(stack_diagnosis, plan=made)
            assert absent["findings"] == [] and "no Service has the labels" in str(absent["not_read"]), absent
            assert [entry["code"] for entry in refused["findings"]] == ["permissions"], refused
            assert all(part in str(refused["not_read"]) for part in ("servers of sim", "answer of sim", "pods/portforward")), refused
    assert (authorizations, bool(forwarded)) == (([], True) if tls else (["Bearer sk-model"], False)) and result["not_read"] == [], result
    assert [entry["code"] for entry in result["findings"]] == ([] if tls else ["F26"]), result
