# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The requests of modules to an API server that enforces the file of playbooks/list_permissions.yml, which grants all of them in its namespaces.

molecule/providers/live/test_restricted_account.py deploys with exactly these permissions on a real API server.
"""

from __future__ import annotations

import contextlib
import json
import typing as t
from itertools import product
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import k8s_job
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis import collect_others
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.permissions_file import chosen, objects
from ansible_collections.llm_d.inference.plugins.module_utils.validation import targets
from ansible_collections.llm_d.inference.plugins.module_utils.validation.benchmark_runs import runs
from ansible_collections.llm_d.inference.plugins.modules import (
    cluster_access,
    cluster_drift,
    cluster_evidence,
    cluster_preflight,
    resource_ready,
    scorer_config,
    stack_diagnosis,
    stack_validation,
    vllm_adapters,
    vllm_health,
    vllm_health_info,
    vllm_perf,
    vllm_warmup,
)
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions
from enforcing import Enforcing, Request, allows, granted, request_of
from engine_servers import engine, listed
from job_cluster import Cluster as JobCluster
from job_cluster import kubeconfig
from local_servers import JSON, SSE, chunk, serve, stream
from module_calls import call_module, clock_of_the_system
from stack_objects import CRDS, EPP_METRICS, KINDS, NAMESPACE, StackServer, healthy

from .gateway_cases import CASES, STANDALONE, case

__all__ = ["call_module", "clock_of_the_system"]

Facts = dict[str, t.Any]
MODEL = "llm-d/simulated-8b"
CHARTS = {"envoy_gateway": "/charts", "istio": "/charts", "istio_base": "/charts"}
SERVICE: Facts = {"name": "sim", "model": {"served_name": MODEL}, "replicas": 2, "engine": {"type": "simulator", "block_size": 16}}
# User's files by name.
FILES: dict[str, Facts] = {
    "envoy_gateway": {"llm_d_gateway": {"service_type": "ClusterIP"}},
    "istio": {"llm_d_gateway": {"provider": "istio", "service_type": "ClusterIP"}},
    "standalone": {"llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"}},
    "someone else's gateway": {"llm_d_gateway": {"provider": "none", "name": "llm-d-gateway", "service_type": "ClusterIP"}},
    "namespaces of their own": {
        "llm_d_gateway": {"service_type": "ClusterIP", "namespace": "edge", "routes_namespace": "routes"},
        "llm_d_scheduler_namespace": "pickers",
    },
    "all kinds": {
        "llm_d_gateway": {"service_type": "ClusterIP"},
        "llm_d_monitoring": {"scrape": True, "alerts": True, "prometheus": {"namespace": "monitoring", "service": "prometheus"}},
        "llm_d_model_services": [
            {
                **SERVICE,
                "replicas": None,
                "autoscaling": {"provider": "hpa", "min": 2, "max": 4, "metrics": {"queue": 5}},
                "warmup": {"prompts": ["You are the assistant of a shop."]},
                "route": {"hostnames": ["chat.example.com"]},
            }
        ],
    },
}


def planned(name: str, scope: str, **variables: t.Any) -> Facts:
    return plan({"llm_d_release": "scheduler-0.7", "llm_d_charts": CHARTS, "llm_d_scope": scope, "llm_d_model_services": [SERVICE], **FILES[name], **variables})


def rules(made: Facts) -> list[tuple[str, Facts]]:
    """The permissions of the account of the file: (namespace, rule)."""
    file = objects(made, chosen({})[0])
    (account,) = [item["metadata"]["name"] for item in file if item["kind"] == "ServiceAccount"]
    return granted(file, account)


class World(StackServer):
    """A healthy stack, with access reviews and CRDs of an API server."""

    def __call__(self, handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        if path.endswith("/localsubjectaccessreviews"):
            spec = json.loads(body)["spec"]["resourceAttributes"]
            wanted = Request(spec["verb"], spec.get("group", ""), "/".join(filter(None, (spec["resource"], spec.get("subresource")))))
            rules_of = [("", rule) for service in self.snap.services for rule in self.snap.plan["release"]["rules"] if service]
            return self.json({"status": {"allowed": allows(rules_of, wanted)}})
        if path.endswith("/selfsubjectreviews"):
            return self.json({"status": {"userInfo": {"username": "restricted"}}})
        if path.partition("?")[0].endswith("/customresourcedefinitions"):
            return self.json({"items": [{"metadata": {"name": name}} for name in CRDS]})
        return super().__call__(handler, method, path, body)


@contextlib.contextmanager
def cluster(monkeypatch: pytest.MonkeyPatch, made: Facts) -> t.Iterator[Enforcing]:
    """The stack of a plan, behind an API server that enforces its file."""
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    snap = healthy(made)
    with contextlib.ExitStack() as running:
        server = engine("vllm", **{"/v1/models": (200, JSON, listed("vllm", MODEL))})

        def answer(*request):
            status, headers, body = server(*request)
            return status, {**headers, "x-went-into-resp-headers": "true"}, body

        url = running.enter_context(serve(answer))
        epp = running.enter_context(serve(lambda *request: (200, {"Content-Type": "text/plain"}, EPP_METRICS)))
        for pod in snap.objects["Pod"]:
            pod["metadata"]["annotations"] = {"test/url": epp if "epp" in pod["metadata"]["name"] else url}
        for obj in snap.objects["Gateway"]:
            obj["metadata"]["namespace"] = made["gateway"]["namespace"]
            obj["status"]["addresses"] = [{"type": "IPAddress", "value": "127.0.0.1"}]
        port = made["gateway"]["listener"]["port"] = int(url.rpartition(":")[2])
        for obj in snap.objects["Gateway"]:
            obj["metadata"]["name"], obj["spec"]["listeners"][0]["port"] = made["gateway"]["name"], port
        for service in made["services"]:
            if service["scheduler"].get("proxy"):
                service["scheduler"]["proxy"]["port"] = port
        for obj in snap.objects["Service"]:
            if obj["metadata"]["name"].endswith("-gateway"):
                obj["spec"]["ports"][0]["port"], obj["spec"]["clusterIP"] = port, "127.0.0.1"
        shown = {(obj["kind"], obj["metadata"]["name"]) for kind in KINDS.values() for obj in snap.of(kind)}
        world = World(snap, planned=[obj for obj in definitions(made) if (obj["kind"], obj["metadata"]["name"]) not in shown])
        world.pods.sort(key=lambda pod: "epp" not in pod["metadata"]["name"])
        api = Enforcing(world, rules(made))
        monkeypatch.setenv("K8S_AUTH_HOST", running.enter_context(serve(api)))
        monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
        yield api


def calls(made: Facts, folder: Path) -> dict[str, tuple[t.Any, Facts]]:
    """Each module with the options that the roles pass to it."""
    needs = targets.of(made)
    picker = made["services"][0]["scheduler"]["name"]
    replicas = {
        "namespace": NAMESPACE,
        "label_selector": ",".join(f"{key}={value}" for key, value in made["services"][0]["server"]["selector"].items()),
        "port": 8000,
    }
    return {
        "cluster_access": (cluster_access, {}),
        "cluster_preflight": (cluster_preflight, {"needs": {**made["preflight"], "registries": [], "charts": [], "definitions": []}}),
        "resource_ready": (resource_ready, {"resources": needs["objects"], "timeout": 10}),
        "vllm_warmup": (vllm_warmup, {"services": made["warmups"], "request_timeout": 60}),
        "vllm_health_info": (vllm_health_info, {"groups": needs["servers"], "level": "metrics", "request_timeout": 60}),
        "stack_validation": (stack_validation, {"plan": made, "wait": 1, "timeout": 10, "settle": 0, "request_timeout": 60}),
        "stack_diagnosis": (stack_diagnosis, {"plan": made, "definitions": definitions(made), "request_timeout": 60}),
        "cluster_evidence": (cluster_evidence, {"resources": needs["objects"], "path": str(folder / "evidence")}),
        "cluster_drift": (cluster_drift, {"definitions": definitions(made), "labels": made["labels"]}),
        "scorer_config": (
            scorer_config,
            {"release": made["release"]["name"], "scorers": {"queue": 1}, "target": {"namespace": made["scheduler_namespace"], "name": picker}, "timeout": 10},
        ),
        "vllm_health": (vllm_health, {"replicas": replicas, "model": MODEL, "api_key": "sk-test", "through": "port_forward", "timeout": 10}),
        "vllm_adapters": (vllm_adapters, {"services": made["adapters"]}),
        "vllm_perf": (vllm_perf, perf(made, folder)),
    }


def perf(made: Facts, folder: Path) -> Facts:
    run = runs(made, 1.0)[0]
    kept = {key: value for key, value in run.items() if value and key in ("url", "gateway", "service", "path", "host_header", "headers", "model")}
    return {
        **kept,
        "stages": [{"concurrency": 1, "requests": 1}],
        "workload": {"output_len": 1},
        "artifacts": str(folder / "perf"),
        "max_lag": 60,
        "max_lag_share": 0,
    }


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect_others, "SECONDS", 600.0)


def granted_places(made: Facts) -> set[str]:
    """The namespaces in which the file grants permissions; empty for the whole cluster."""
    return {item["metadata"].get("namespace", "") for item in objects(made, chosen({})[0]) if "rules" in item}


# The resources that the modules below request together. A module that stopped early would request fewer.
RESOURCES = {
    "pods", "pods/log", "pods/proxy", "pods/portforward", "services", "services/proxy", "configmaps", "events", "deployments", "replicasets", "namespaces",
    "resourcequotas", "networkpolicies", "horizontalpodautoscalers", "localsubjectaccessreviews", "inferencepools", "roles", "serviceaccounts", "nodes",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        pytest.param(name, scope, marks=() if name == "all kinds" else pytest.mark.rest)
        for scope, names in (("namespace", FILES), ("cluster", ("istio", "namespaces of their own", "all kinds")))
        for name in names
    ],
)
def test_modules_send_no_request_that_the_generated_permissions_refuse(
    name: str, scope: str, call: t.Any, clock: t.Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made, refused = planned(name, scope), {}
    places = granted_places(made)
    assert ("" in places) is (scope == "cluster"), "a Role grants only namespaced resources"
    with cluster(monkeypatch, made) as api:
        for module, (code, options) in calls(made, tmp_path).items():
            call(code, **options)
            refused[module] = sorted({str(attempt) for attempt in api.refused if attempt.namespace in places})
            api.refused.clear()
    assert not {module: attempts for module, attempts in refused.items() if attempts}
    assert RESOURCES - {attempt.resource for attempt in api.requests} == set()


SCALER: Facts = {
    "metadata": {"name": "theirs", "namespace": NAMESPACE},
    "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "sim-decode"}, "minReplicas": 1, "maxReplicas": 4},
    "status": {"conditions": [{"type": name, "status": "True"} for name in ("AbleToScale", "ScalingActive")]},
}


def test_a_healthy_stack_is_healthy_for_the_account_of_the_file(call: t.Any, clock: t.Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = planned("envoy_gateway", "namespace")
    with cluster(monkeypatch, made) as api:
        api.server.snap.objects["HorizontalPodAutoscaler"] = [SCALER]
        options = calls(made, tmp_path)
        diagnosed = call(stack_diagnosis, **options["stack_diagnosis"][1])
        verdict = call(stack_validation, **{**options["stack_validation"][1], "checks": ["platform", "security"]})["verdict"]
    assert diagnosed["ok"] is True and diagnosed["findings"] == [], diagnosed["lines"]
    (line,) = diagnosed["not_read"]
    assert "Node" in line and "kube-system" in line and NAMESPACE + " " not in line
    assert verdict["not_checked"] == [] and verdict["ok"], verdict
    assert {"sim/permissions", "sim/scaling", "platform/permissions"} <= {claim["id"] for claim in verdict["claims"]}
    assert api.refused and not [attempt for attempt in api.refused if attempt.namespace == NAMESPACE]


def test_a_measurement_as_a_job(call: t.Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(k8s_job, "POLL", 0.05)
    made = planned("envoy_gateway", "namespace", llm_d_benchmark={"job": {"image": "python:3.12-slim"}})
    usage = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 1}}
    with serve(lambda *_request: (200, {"Content-Type": SSE}, stream(chunk("To", "length"), usage))) as url:
        api = Enforcing(JobCluster(tmp_path), rules(made))
        with serve(api) as server:
            where = {"url": url, "job": {"namespace": NAMESPACE, "image": "python:3.12-slim"}, "kubeconfig": kubeconfig(tmp_path, server)}
            result = call(vllm_perf, **{key: value for key, value in perf(made, tmp_path).items() if key != "gateway"}, **where)
    assert not result.get("failed"), result
    # It is deleted with its Job, which owns it.
    assert [(attempt.verb, attempt.resource) for attempt in api.refused] == [("delete", "secrets")]
    assert not allows(rules(planned("envoy_gateway", "namespace")), request("POST", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"))


@pytest.mark.parametrize("name", {**CASES, **STANDALONE})
def test_the_file_grants_what_our_roles_grant(name: str) -> None:
    """Kubernetes lets an account grant only its own permissions."""
    made, defined = case(name)
    held = rules(made)
    for role in (item for item in defined if item["kind"] == "Role"):
        wanted = [
            Request(verb, group, resource, role["metadata"]["namespace"], object_name)
            for rule in role["rules"]
            for verb, group, resource, object_name in product(rule["verbs"], rule["apiGroups"], rule["resources"], rule.get("resourceNames", [""]))
        ]
        assert wanted and not [permission for permission in wanted if not allows(held, permission)], role["metadata"]["name"]


def request(method: str, path: str) -> Request:
    parsed = request_of(method, path)
    assert parsed
    return parsed


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/namespaces/llm-d", Request("get", "", "namespaces", "llm-d", "llm-d")),
        ("GET", "/api/v1/namespaces", Request("list", "", "namespaces")),
        ("GET", "/api/v1/namespaces/a/pods?labelSelector=b", Request("list", "", "pods", "a")),
        ("GET", "/api/v1/namespaces/a/pods/b/log?container=c", Request("get", "", "pods/log", "a", "b")),
        ("POST", "/api/v1/namespaces/a/pods/b:8000/proxy/v1/completions", Request("create", "", "pods/proxy", "a", "b:8000")),
        ("PATCH", "/apis/apps/v1/namespaces/a/deployments/b?dryRun=All", Request("patch", "apps", "deployments", "a", "b")),
        ("GET", "/apis/gateway.networking.k8s.io/v1/gatewayclasses/b", Request("get", "gateway.networking.k8s.io", "gatewayclasses", "", "b")),
        ("DELETE", "/api/v1/namespaces/a/secrets", Request("deletecollection", "", "secrets", "a")),
        ("GET", "/apis/apps/v1", None),
        ("GET", "/version", None),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", None),
    ],
)
def test_requests_are_judged_as_rbac_does(method: str, path: str, expected: Request | None) -> None:
    assert request_of(method, path) == expected


def test_rules_grant_what_they_name_and_no_more() -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    one = {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": ["get", "list"]}
    held = [("a", rule), ("a", one), ("", {"apiGroups": ["*"], "resources": ["nodes"], "verbs": ["*"]})]
    assert (
        allows(held, Request("get", "", "pods", "a", "x"))
        and allows(held, Request("list", "", "nodes"))
        and allows(held, Request("get", "", "secrets", "a", "mine"))
    )
    for attempt in (
        Request("get", "", "pods", "b"),
        Request("get", "", "pods/log", "a"),
        Request("list", "", "pods", "a"),
        Request("get", "", "pods"),
        Request("get", "", "secrets", "a", "theirs"),
        Request("list", "", "secrets", "a"),
        Request("get", "apps", "pods", "a"),
    ):
        assert not allows(held, attempt), attempt
