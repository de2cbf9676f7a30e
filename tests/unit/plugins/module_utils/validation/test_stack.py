# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of a stack. The platform, against an API server on loopback: each claim holds there, and fails with a changed cluster."""

from __future__ import annotations

import datetime
import json
import types

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.clock import SYSTEM
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import Cluster, connect
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.validation import stack, targets
from fake_clock import FakeClock
from local_servers import JSON, serve
from waiting import until

HPA = {"provider": "hpa", "min": 1, "max": 2, "metrics": {"queue": 1}}
NEEDS = targets.platform_needs(
    plan(
        {
            "llm_d_model_services": [{"name": "sim", "model": {"served_name": "acme/tiny"}, "engine": {"type": "simulator"}}],
            "llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"},
        }
    )
)
BUNDLE = "{}.networking.k8s.io/bundle-version"


def crd(name, kind=None, version=None):
    return {"metadata": {"name": name, "annotations": {BUNDLE.format(kind): f"v{version}"} if kind else {}}}


class Server:
    """An API server as it is after site.yml, with changes; `denied`: (verb, resource) that this account may not use."""

    def __init__(self, denied=(), version="v1.34.4", pools="v1", crds=None, controller="envoyproxy/gateway:v1.9.1", class_name="envoy-gateway", hidden=()):
        self.denied, self.hidden = denied, hidden
        known = [
            crd("gateways.gateway.networking.k8s.io", "gateway", "1.6.1"),
            crd("inferencepools.inference.networking.k8s.io", "inference", "1.4.0"),
            crd("envoyproxies.gateway.envoyproxy.io"),
        ]
        groups = {"gateway.networking.k8s.io": "v1", "inference.networking.k8s.io": pools, "gateway.envoyproxy.io": "v1alpha1"}
        self.pages = {
            "/version": {"gitVersion": version},
            "/apis": {"groups": [{"name": name, "versions": [{"version": served}]} for name, served in groups.items()]},
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": {"items": known if crds is None else crds},
            "/apis/gateway.networking.k8s.io/v1/gatewayclasses": {
                "items": [{"metadata": {"name": class_name}, "spec": {"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"}}]
            },
        }
        if controller:
            self.pages["/apis/apps/v1/namespaces/envoy-gateway-system/deployments/envoy-gateway"] = {
                "metadata": {"name": "envoy-gateway", "labels": {"app.kubernetes.io/managed-by": "Helm"}},
                "spec": {"template": {"spec": {"containers": [{"name": "envoy-gateway", "image": controller}]}}},
            }
        for name in ("llm-d", "envoy-gateway-system"):
            self.pages[f"/api/v1/namespaces/{name}"] = {"metadata": {"name": name}, "status": {"phase": "Active"}}

    def __call__(self, _handler, method, path, body):
        path = path.partition("?")[0]
        if method == "POST":
            review = json.loads(body)
            permission = review.get("spec", {}).get("resourceAttributes", {})
            status = {"allowed": (permission["verb"], permission["resource"]) not in self.denied} if permission else {"userInfo": {"username": "ci:deployer"}}
            return 201, {"Content-Type": JSON}, json.dumps({"status": status})
        page = None if path in self.hidden else self.pages.get(path)
        code = 200 if page else 403 if path in self.hidden else 404
        return code, {"Content-Type": JSON}, json.dumps(page or {"kind": "Status", "code": code, "message": f"{path}: {code}"})


@pytest.fixture(name="prove")
def proof():
    def prove(server, needs=NEEDS, autoscaled=(), wait=0, patient=True, clock=SYSTEM, arrival=0, progress=""):
        services = [
            {"name": "sim", "deployments": ["sim-decode", "sim-prefill"], "autoscaled": list(autoscaled)},
            {"name": "table", "deployments": ["table-decode"], "autoscaled": []},
        ]
        with serve(server) as api:
            cluster = connect(types.SimpleNamespace(params={"host": api, "api_key": "x-token-12345678"}), clock)
            return stack.platform(cluster, needs, services, stack.Waits(wait, 0, patient).metrics(arrival), patient, str(progress))

    return prove


def test_a_platform_that_meets_all_needs_passes_every_claim(prove):
    result = prove(Server())
    assert [(entry["id"], entry["ok"]) for entry in result["claims"]] == [
        (f"platform/{name}", True) for name in ("kubernetes", "crds", "controller", "permissions")
    ] and result["not_checked"] == []
    evidence = [entry["evidence"] for entry in result["claims"]]
    assert (
        evidence[0] == "Kubernetes v1.34.4"
        and "inferencepools.inference.networking.k8s.io 1.4.0" in evidence[1]
        and evidence[2] == ("envoy_gateway 1.9.1, GatewayClass envoy-gateway")
    )
    assert f"ci:deployer has the {len(NEEDS['permissions'])} permissions" in evidence[3] and all(entry["seconds"] > 0 for entry in result["claims"])


@pytest.mark.parametrize(
    ("changes", "claim", "evidence"),
    [
        ({"version": "v1.28.9"}, "kubernetes", "Found: v1.28.9. Needed: 1.29"),
        ({"pools": "v1alpha2"}, "crds", "does not serve InferencePools"),
        ({"crds": []}, "crds", "The Gateway API is missing"),
        (
            {
                "crds": [
                    crd("gateways.gateway.networking.k8s.io", "gateway", "1.2.0"),
                    crd("inferencepools.inference.networking.k8s.io", "inference", "1.4.0"),
                    crd("envoyproxies.gateway.envoyproxy.io"),
                ]
            },
            "crds",
            "Found: 1.2.0",
        ),
        ({"controller": None}, "controller", "no controller of envoy_gateway"),
        ({"controller": "envoyproxy/gateway:v1.3.0"}, "controller", "Found: 1.3.0"),
        ({"class_name": "another"}, "controller", "There is no GatewayClass envoy-gateway"),
        ({"denied": {("patch", "deployments"), ("create", "pods/proxy")}}, "permissions", "may not patch deployments.apps in llm-d"),
    ],
)
def test_each_platform_claim_fails_with_its_own_evidence(prove, changes, claim, evidence):
    result = prove(Server(**changes))
    (failed,) = [entry for entry in result["claims"] if not entry["ok"]]
    assert failed["id"] == f"platform/{claim}" and evidence in failed["evidence"] and failed["remedy"]


def test_permissions_of_a_read_only_account_are_not_claimed(prove):
    result = prove(
        Server(
            denied={(permission["verb"], permission["resource"]) for permission in NEEDS["permissions"] if permission["verb"] in ("create", "patch", "delete")}
        )
    )
    assert [entry["id"] for entry in result["not_checked"]] == ["platform/permissions"] and "ci:deployer is read-only" in result["not_checked"][0]["why"]
    assert all(entry["ok"] for entry in result["claims"])


def test_unreadable_platform_objects_do_not_fail_a_claim(prove):
    hidden = (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/gateway.networking.k8s.io/v1/gatewayclasses",
        "/apis/apps/v1/namespaces/envoy-gateway-system/deployments/envoy-gateway",
    )
    result = prove(Server(hidden=hidden))
    assert [entry["ok"] for entry in result["claims"]] == [True] * 4 and "may not read" in result["claims"][2]["evidence"]


SCALERS = "/apis/autoscaling/v2/namespaces/llm-d/horizontalpodautoscalers"


def scaler(name, target, reason="ValidMetricFound", status="True"):
    """A HorizontalPodAutoscaler as Kubernetes 1.34 shows it."""
    return {
        "metadata": {"name": name},
        "spec": {"minReplicas": 2, "maxReplicas": 8, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}},
        "status": {
            "currentReplicas": 4,
            "conditions": [
                {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"},
                {
                    "type": "ScalingActive",
                    "status": status,
                    "reason": reason,
                    "message": "the HPA was unable to compute the replica count" * (status == "False"),
                },
            ],
        },
    }


def idle(autoscaler):
    """An autoscaler with its target scaled to zero."""
    autoscaler["spec"]["minReplicas"] = autoscaler["status"]["currentReplicas"] = 0
    return autoscaler


@pytest.mark.parametrize(
    ("items", "ok", "evidence"),
    [
        ([scaler("queue", "sim-decode")], True, "queue keeps sim-decode between 2 and 8 replicas, now 4"),
        ([scaler("queue", "sim-decode", "ScalingDisabled", "False")], True, "queue keeps"),
        ([scaler("queue", "sim-decode", "FailedGetExternalMetric", "False")], False, "queue does not scale sim-decode: ScalingActive"),
        ([idle(scaler("queue", "sim-decode"))], True, "queue keeps sim-decode between 0 and 8 replicas, now 0"),
        ([{**scaler("queue", "sim-prefill"), "status": {}}], False, "AbleToScale is not reported"),
        ([scaler("a", "sim-decode"), scaler("b", "sim-decode")], False, "sim-decode is scaled by a, b at the same time"),
    ],
)
def test_the_scaling_claim_requires_one_working_autoscaler_per_deployment(prove, items, ok, evidence):
    server = Server()
    server.pages[SCALERS] = {"items": [*items, scaler("other", "someone-elses", "FailedGetExternalMetric", "False")]}
    claims = [entry for entry in prove(server, needs={**NEEDS, "permissions": []})["claims"] if "/scaling" in entry["id"]]
    assert [(entry["id"], entry["ok"]) for entry in claims] == [("sim/scaling", ok)] and evidence in claims[0]["evidence"]
    assert bool(claims[0]["remedy"]) is not ok


EVENTS = "/api/v1/namespaces/llm-d/events"
PREFIX = "the HPA was unable to compute the replica count: unable to get external metric llm-d/s0-prometheus/&LabelSelector{" + 300 * "x" + "}: unable to fetch"


def event(name, message, at, reason="KEDAScalerFailed"):
    """An Event as KEDA 2.21 writes it."""
    return {"reason": reason, "message": message, "lastTimestamp": None, "eventTime": at, "involvedObject": {"kind": "ScaledObject", "name": name}}


@pytest.mark.parametrize(
    ("message", "keda", "evidence", "remedy"),
    [
        (
            f"{PREFIX} metrics from external metrics API: rpc error: code = Unknown desc = metric:s0-prometheus encountered error",
            "prometheus metrics 'prometheus' target may be lost, the result is empty",
            "s0-prometheus encountered error; KEDA: prometheus metrics 'prometheus' target may be lost, the result is empty",
            "llm_d_monitoring.scrape",
        ),
        (
            f"{PREFIX} external metrics API: x",
            'Get "http://p:9090/api": dial tcp: lookup p: no such host',
            "lookup p: no such host",
            "check autoscaling.prometheus",
        ),
        (
            f"{PREFIX} metrics from custom metrics API: Internal error occurred: unable to fetch metrics",
            "",
            "unable to fetch metrics",
            "metrics adapter's settings",
        ),
        (f"{PREFIX} metrics from custom metrics API: the server could not find the metric a:b for pods", "", "find the metric a:b", "llm_d_monitoring.scrape"),
        ("something else", "", "FailedGetExternalMetric: something else", "metrics.k8s.io"),
    ],
)
def test_why_a_metric_cannot_be_had(prove, message, keda, evidence, remedy):
    """A Prometheus does not answer, or a query has no series: KEDA reports the cause in an Event, an adapter in the autoscaler."""
    server, item = Server(), scaler("keda-hpa-a", "sim-decode", "FailedGetExternalMetric", "False")
    item["status"]["conditions"][1]["message"] = message
    item["metadata"]["ownerReferences"] = [{"kind": "ScaledObject", "name": "a"}] if keda else []
    server.pages[SCALERS] = {"items": [item]}
    server.pages[EVENTS] = {
        "items": [event("a", "older", "2026-11-01T00:00:00Z"), event("a", keda, "2026-11-02T00:00:00Z"), event("b", "other", "2026-11-03T00:00:00Z")]
    }
    server.pages[EVENTS]["items"].append(event("a", "started", "2026-11-04T00:00:00Z", "KEDAScalersStarted"))
    (claim,) = [entry for entry in prove(server, needs={**NEEDS, "permissions": []})["claims"] if "/scaling" in entry["id"]]
    assert evidence in claim["evidence"] and remedy in claim["remedy"] and "xxx" not in claim["evidence"], claim
    server.hidden = (EVENTS,)
    (claim,) = [entry for entry in prove(server, needs={**NEEDS, "permissions": []})["claims"] if "/scaling" in entry["id"]]
    assert not claim["ok"] and "KEDA: " not in claim["evidence"], "an account that may not read events"


def test_a_missing_planned_autoscaler_fails_the_scaling_claim(prove):
    server, needs = Server(), {**NEEDS, "permissions": []}
    server.pages[SCALERS] = {"items": [scaler("queue", "sim-prefill")]}
    (claim,) = [entry for entry in prove(server, needs=needs, autoscaled=["sim-decode", "sim-prefill"])["claims"] if "/scaling" in entry["id"]]
    assert not claim["ok"] and claim["evidence"] == "no autoscaler targets sim-decode, and the plan has one for it" and "ScaledObject" in claim["remedy"]
    server.pages[SCALERS]["items"].append(scaler("more", "sim-decode"))
    (claim,) = [entry for entry in prove(server, needs=needs, autoscaled=["sim-decode", "sim-prefill"])["claims"] if "/scaling" in entry["id"]]
    assert claim["ok"] and not claim["remedy"]


class Late(Server):
    """Its autoscaler reports conditions only after `READS` reads of it."""

    MADE = scaler("queue", "sim-decode")
    reads, READS = 0, 2

    def __call__(self, handler, method, path, body):
        if path.startswith(SCALERS):
            self.reads += 1
            item = self.MADE
            self.pages[SCALERS] = {"items": [item if self.reads > self.READS else {**item, "status": {}}]}
        return super().__call__(handler, method, path, body)


def test_the_check_waits_for_a_planned_autoscaler_to_report_conditions(prove):
    needs, server = {**NEEDS, "permissions": []}, Late()
    claims = prove(server, needs=needs, autoscaled=["sim-decode"], wait=30, clock=FakeClock())["claims"]
    assert [entry["ok"] for entry in claims if "/scaling" in entry["id"]] == [True] and server.reads == 3
    server = Late()
    claims = prove(server, needs=needs, wait=30)["claims"]
    assert [entry["ok"] for entry in claims if "/scaling" in entry["id"]] == [False] and server.reads == 1, "that of someone else is not waited for"


@pytest.mark.parametrize(("wait", "patient", "ok"), [(5, True, True), (0, True, False), (5, False, False)])
def test_metrics_may_take_longer_than_answers(prove, tmp_path, wait, patient, ok):
    """A Prometheus observes new monitors up to a minute after the run has created them. With `wait` 0, or without a change, there is no wait."""

    class Unscraped(Late):
        READS = 30

    needs, file = {**NEEDS, "permissions": []}, tmp_path / "progress"
    claims = prove(Unscraped(), needs, ["sim-decode"], wait, patient, FakeClock(), arrival=60, progress=file)["claims"]
    assert [entry["ok"] for entry in claims if "/scaling" in entry["id"]] == [ok]
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    assert ("waiting 10 s: sim/scaling: queue does not scale sim-decode: AbleToScale is not reported" in lines) == ok, lines


@pytest.mark.parametrize(("seconds", "reads"), [(5, 3), (3600, 1)])
def test_a_verdict_waits_for_a_new_autoscaler_only(prove, monkeypatch, seconds, reads):
    now = datetime.datetime(2026, 11, 26, 12, tzinfo=datetime.UTC)
    monkeypatch.setattr(Cluster, "server_time", lambda _self: now.timestamp())

    created = (now - datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    monkeypatch.setitem(Late.MADE["metadata"], "creationTimestamp", created)
    server = Late()
    claims = prove(server, needs={**NEEDS, "permissions": []}, autoscaled=["sim-decode"], wait=30, patient=False, clock=FakeClock())["claims"]
    assert [entry["ok"] for entry in claims if "/scaling" in entry["id"]] == [reads == 3] and server.reads == reads


def test_autoscalers_that_may_not_be_read_are_not_claimed(prove):
    result = prove(Server(hidden=(SCALERS,)))
    assert [entry["id"] for entry in result["not_checked"]] == ["sim/scaling", "table/scaling"]


def test_a_version_request_refused_by_the_api_server_raises_an_api_error(prove):
    with pytest.raises(ApiError, match="403"):
        prove(Server(hidden=("/version",)))


READY, HOPELESS = {"resources": [], "waited": 0.1}, {"failures": [{"kind": "HTTPRoute"}], "msg": "1 of 5 objects is not ready"}
SERVES, SILENT = {"ok": True, "claims": []}, {"ok": False, "claims": []}


@pytest.mark.parametrize(
    ("given", "objects", "routing", "seconds"),
    [
        ({}, READY, SERVES, (10, 60, 60, 180)),
        ({}, HOPELESS, SILENT, (10, 60, 60, 180)),
        ({"patient": False}, READY, SERVES, (5, 5, 12, 180)),
        ({"patient": False}, READY, SILENT, (5, 5, 12, 0)),
        ({"patient": False}, HOPELESS, SILENT, (5, 0, 12, 0)),
        ({"patient": False, "wait": 3, "request_timeout": 60}, READY, SERVES, (60, 3, 3, 180)),
        ({"patient": False}, {"msg": "the API server is away"}, {}, (5, 5, 12, 0)),
    ],
)
def test_checks_wait_longer_after_a_change_than_for_the_verdict_alone(given, objects, routing, seconds):
    """The four waits are for a request, for answers, for the log of an endpoint picker, and for scrapes."""
    waits = stack.Waits(**{"wait": 60, "timeout": 300, "patient": True, **given})
    assert (waits.request, waits.answer(objects), waits.log, waits.scrape(routing, 180)) == seconds


class Order(stack.Checks):
    """Records when each check begins and ends. Checks that need not wait for requests through the gateway end after them."""

    def __init__(self, plan, **options):
        super().__init__(types.SimpleNamespace(), plan, [], stack.Waits(0, 0, True), None, **options)
        self.record = []

    def _check(self, name):
        if name not in self._names:
            return
        self.record.append((name, "begins"))
        if name in ("platform", "schedulers", "security"):
            until(lambda: ("routing", "ends") in self.record)
        self.record.append((name, "ends"))
        self._results[name] = {"name": name}


def test_the_routing_check_runs_apart_from_other_checks_that_send_requests(plan):
    plan = {**plan, "warmups": [{"name": "sim"}], "prometheus": {"url": "http://p", "timeout": 300}}
    plan["services"][0]["queried"] = {"alerts": [{"title": "a"}]}
    order = Order(plan)
    assert set(order.run()) == set(stack.CHECKS)
    places = {entry: index for index, entry in enumerate(order.record)}
    one_after_the_other = [("objects", "ends"), ("warmup", "begins"), ("warmup", "ends"), ("routing", "begins"), ("routing", "ends"), ("servers", "begins")]
    assert [places[each] for each in one_after_the_other] == sorted(places[each] for each in one_after_the_other)
    assert places["monitoring", "begins"] > places["routing", "ends"] and places["security", "begins"] > places["objects", "ends"]
    assert places["platform", "ends"] > places["routing", "ends"], "these run beside all that"


@pytest.mark.parametrize(("scaling", "seconds"), [(HPA, 240), ({"provider": "external"}, 60)])
def test_how_long_metrics_may_take_is_the_plans(monkeypatch, scaling, seconds):
    """Two minutes until a Prometheus observes its monitors, and four scrapes; there is no wait for an autoscaler that is not in the plan."""
    scaled = {"replicas": None, "autoscaling": scaling}
    service = {"name": "sim", "model": {"served_name": "acme/tiny"}, "engine": {"type": "simulator"}, **scaled}
    file = {"llm_d_model_services": [service], "llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_monitoring": {"scrape": True, "interval": 30}}
    monkeypatch.setattr(stack, "platform", lambda _cluster, _needs, _services, wait, *_more: {"wait": wait})
    checks = stack.Checks(types.SimpleNamespace(), plan(file), [], stack.Waits(60, 0, True), None, names=["platform"])
    assert checks.run() == {"platform": {"wait": seconds}}


def test_only_requested_checks_that_the_plan_needs_are_run(plan):
    assert set(Order(plan, names=["objects", "warmup", "monitoring"]).run()) == {"objects"}


def test_a_check_that_crashes_is_reported_and_the_other_checks_run(plan, monkeypatch):
    checks = stack.Checks(types.SimpleNamespace(), plan, [], stack.Waits(0, 0, True), None, names=["security", "servers"])
    monkeypatch.setattr(stack.report, "check_sets", lambda *_rest: {"groups": []})
    results = checks.run()
    assert results["servers"] == {"groups": []} and "no attribute" in results["security"]["msg"]
