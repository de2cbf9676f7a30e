"""The claims of playbooks/validate.yml pass on the running stack, and each fails if the stack is broken or does not match the file.

Not covered here: platform/kubernetes, which needs an old cluster, and platform/permissions, which molecule/providers covers.
"""

from __future__ import annotations

import contextlib
import json
import re
import typing as t
from pathlib import Path

import plays
import pytest
from agreement import show
from kubernetes import client
from stack import MODELS, NAMESPACE, Stack, call, until

Claims = dict[str, dict[str, t.Any]]
EVERY = {
    "picker",
    "pool",
    "route",
    "serving",
    "scheduled",
    "counted",
    "endpoints",
    "plugins",
    "sticky",
    "spread",
    "configured",
    "servers",
    "scraped",
    "permissions",
    "unprivileged",
}
PLATFORM = {f"platform/{name}" for name in ("kubernetes", "crds", "controller", "permissions")}
GIE = "registry.k8s.io/gateway-api-inference-extension/epp"
SEES_SECRETS: dict[str, t.Any] = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "too-much", "namespace": NAMESPACE}}


@pytest.fixture(autouse=True)
def as_written(stack: Stack) -> None:
    """Restore the stack of the inventory: other tests have changed it, and have made the servers of `table` report false states."""
    for address in stack.servers("table").values():
        show(address, {"waiting": 0, "running": 0, "kv_usage": 0.0})
    done = stack.as_written()
    assert done.returncode == 0, done.stdout
    for service in ("sim", "table"):
        until(lambda service=service: len(stack.servers(service)) == 4, 60, f"four servers of {service}")


def validate(folder: Path, slo: dict[str, float] | None = None, **variables: t.Any) -> tuple[int, Claims, str]:
    """Run validate.yml: (exit status, {id: claim}, output). Without objectives it sends no load."""
    given = {
        "llm_d_artifacts_dir": str(folder),
        "validation_performance": slo is not None,
        "validation_performance_seconds": 3,
        "validation_wait": 5,
        "llm_d_wait_timeout": 5,
        "llm_d_benchmark": {"services": ["sim"], "concurrency": [2], "max_lag": 5, "max_lag_share": 0, "slo": slo or {}},
        **variables,
    }
    done = plays.run("-i", "molecule/scorers/inventory", "playbooks/validate.yml", "-e", json.dumps(given))
    verdict = json.loads((folder / "verdict.json").read_text())
    return done.returncode, {entry["id"]: entry for entry in verdict["claims"]}, done.stdout


def failed(claims: Claims) -> set[str]:
    """The ids of the failed claims, each of which must have a remedy."""
    names = {name for name, entry in claims.items() if not entry["ok"]}
    assert all(claims[name]["remedy"] for name in names)
    return names


def rolled(name: str) -> bool:
    """Whether a Deployment is rolled out."""
    deployment = client.AppsV1Api().read_namespaced_deployment(name, NAMESPACE)
    status, wanted = deployment.status, deployment.spec.replicas
    counts = (status.updated_replicas, status.replicas, status.ready_replicas)
    return status.observed_generation == deployment.metadata.generation and counts == (wanted, wanted, wanted)


@contextlib.contextmanager
def container(name: str, change: t.Callable[[dict[str, t.Any]], dict[str, t.Any]], wait: bool = True) -> t.Iterator[None]:
    """Replace the first container of a Deployment by `change` of it, and restore it at the end."""
    apps = client.AppsV1Api()
    own = client.ApiClient().sanitize_for_serialization(apps.read_namespaced_deployment(name, NAMESPACE).spec.template.spec.containers[0])
    made = change(own)

    def put(fields: dict[str, t.Any]) -> None:
        body = {"spec": {"template": {"spec": {"containers": [{"name": own["name"], **fields}]}}}}
        apps.patch_namespaced_deployment(name, NAMESPACE, body)

    put(made)
    try:
        if wait:
            until(lambda: rolled(name), 120, f"{name} has rolled")
        yield
    finally:
        put({key: own[key] for key in made})
        until(lambda: rolled(name), 120, f"{name} is as before")


@contextlib.contextmanager
def custom(group: str, version: str, plural: str, name: str, change: t.Callable[[dict[str, t.Any]], t.Any] | None) -> t.Iterator[None]:
    """Replace an object by a changed one, or delete it, and restore it at the end."""
    api, place = client.CustomObjectsApi(), (group, version, NAMESPACE, plural)
    own = api.get_namespaced_custom_object(*place, name)
    kept = {**own, "metadata": {key: own["metadata"][key] for key in ("name", "namespace", "labels", "annotations") if key in own["metadata"]}}
    kept.pop("status", None)
    api.delete_namespaced_custom_object(*place, name)
    try:
        if change:
            made = json.loads(json.dumps(kept))
            change(made)
            api.create_namespaced_custom_object(*place, made)
        yield
    finally:
        if change:
            api.delete_namespaced_custom_object(*place, name)
        api.create_namespaced_custom_object(*place, kept)


def test_all_claims_hold_of_what_is_well(stack: Stack, tmp_path: Path) -> None:
    # The short waits of validate() are for broken stacks.
    code, claims, shown = validate(tmp_path, {"error_rate_max": 0}, validation_wait=60, llm_d_wait_timeout=60)
    assert code == 0, shown
    assert PLATFORM | {"gateway/programmed", "objects/ready"} <= set(claims)
    for service in ("sim", "table"):
        assert {f"{service}/{name}" for name in EVERY} <= set(claims), sorted(claims)
    assert {"sim/blocks", "sim/cached"} <= set(claims) and all(entry["seconds"] > 0 and entry["group"] for entry in claims.values()), claims
    assert not {"roam", "follow", "split", "avoid", "scaling"} & {name.split("/")[1] for name in claims}
    assert "4 servers" in claims["sim/servers"]["evidence"] and int(re.search(r"of (\d+) requests", claims["sim/performance"]["evidence"])[1]) > 2
    assert [name for name in claims if name.endswith("/performance")] == ["sim/performance"]
    page = (tmp_path / "report.html").read_text()
    assert all(name in page for name in claims) and (tmp_path / "performance/sim/report.html").is_file()


def test_claims_fail_on_a_stack_that_was_changed_by_hand(stack: Stack, tmp_path: Path) -> None:
    rbac, apps = client.RbacAuthorizationV1Api(), client.AppsV1Api()
    rbac.create_namespaced_role(NAMESPACE, {**SEES_SECRETS, "kind": "Role", "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]})
    rbac.create_namespaced_role_binding(
        NAMESPACE,
        {
            **SEES_SECRETS,
            "kind": "RoleBinding",
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "too-much"},
            "subjects": [{"kind": "ServiceAccount", "name": "sim-epp", "namespace": NAMESPACE}],
        },
    )
    try:
        switched = stack.switch("sim", {"preset": "queue"})
        assert switched.returncode == 0, switched.stdout
        apps.patch_namespaced_deployment("sim-decode", NAMESPACE, {"spec": {"replicas": 3}})
        until(lambda: len(stack.servers("sim")) == 3, 60, "three servers")
        code, claims, shown = validate(tmp_path, {"ttft_p50_ms": 0.01})
    finally:
        rbac.delete_namespaced_role_binding("too-much", NAMESPACE)
        rbac.delete_namespaced_role("too-much", NAMESPACE)
        apps.patch_namespaced_deployment("sim-decode", NAMESPACE, {"spec": {"replicas": 4}})
        back = stack.switch("sim", {"preset": "balanced"})
    assert back.returncode == 0, back.stdout
    names = failed(claims)
    assert code != 0 and {f"sim/{name}" for name in ("configured", "plugins", "endpoints", "servers", "permissions", "performance")} <= names, shown
    assert not {name for name in names if name.startswith("table/")}, shown
    assert "may get secrets" in claims["sim/permissions"]["evidence"] and "3 of 4 servers" in claims["sim/servers"]["evidence"]
    assert "ttft_p50_ms" in claims["sim/performance"]["evidence"] and "prefix-cache-scorer did not run" in claims["sim/plugins"]["evidence"]


@pytest.mark.parametrize(
    ("preset", "promise", "other"),
    [("round_robin", "roam", "balanced"), ("queue", "avoid", "round_robin"), ("precise_prefix", "follow", "balanced"), ("disaggregated", "split", "balanced")],
)
@pytest.mark.rest
def test_the_claim_of_a_preset_holds_only_on_a_stack_with_that_preset(stack: Stack, tmp_path: Path, preset: str, promise: str, other: str) -> None:
    """The claim of a preset fails on a stack with another preset, and passes with this one."""
    overrides = {"llm_d_scheduler_overrides": {"sim": {"preset": preset}}}
    if other != "balanced":
        switched = stack.switch("sim", {"preset": other})
        assert switched.returncode == 0, switched.stdout
    code, claims, shown = validate(tmp_path, **overrides)
    assert code != 0 and {f"sim/{promise}", "sim/configured"} <= failed(claims), shown
    switched = stack.switch("sim", {"preset": preset})
    assert switched.returncode == 0, switched.stdout
    # Servers that have just started connect to the endpoint picker for KV events a few seconds later; the claim waits for that.
    code, claims, shown = validate(tmp_path, **overrides)
    print(claims[f"sim/{promise}"]["evidence"])
    assert code == 0 and claims[f"sim/{promise}"]["ok"], shown


def instead(argument: str) -> t.Callable[[dict[str, t.Any]], dict[str, t.Any]]:
    """A change that replaces the value of an existing argument."""
    flag = argument.split("=")[0]

    def change(own: dict[str, t.Any]) -> dict[str, t.Any]:
        args = [argument if each.split("=")[0] == flag else each for each in own["args"]]
        assert args != own["args"]
        return {"args": args}

    return change


@pytest.mark.rest
def test_servers_with_other_blocks(tmp_path: Path) -> None:
    with container("sim-decode", instead("--block-size=64")):
        code, claims, shown = validate(tmp_path)
    assert code != 0 and "sim/blocks" in failed(claims) and "blocks of 64 tokens" in claims["sim/blocks"]["evidence"], shown


@pytest.mark.rest
def test_servers_without_a_cache(tmp_path: Path) -> None:
    """The simulator reports zero cached tokens for every request."""
    with container("sim-decode", instead("--enable-kvcache=false")):
        code, claims, shown = validate(tmp_path)
    assert code != 0 and "sim/cached" in failed(claims), shown
    assert re.match(r"0 of \d+ requests after the first found", claims["sim/cached"]["evidence"]), claims["sim/cached"]


@pytest.mark.rest
def test_an_endpoint_picker_that_does_not_start(tmp_path: Path) -> None:
    with container("table-epp", lambda own: {"image": own["image"] + "-none"}, wait=False):
        code, claims, shown = validate(tmp_path)
    assert code != 0 and "table/picker" in failed(claims) and claims["table/serving"]["ok"] and claims["sim/picker"]["ok"], shown


@pytest.mark.rest
def test_an_endpoint_picker_that_is_planned_and_not_there(tmp_path: Path) -> None:
    code, claims, shown = validate(tmp_path, llm_d_scheduler_overrides={"table": {"replicas": 2}})
    assert code != 0 and failed(claims) == {"table/picker", "table/scraped"}, shown
    assert "spec.replicas is 1, 2 planned" in claims["table/picker"]["evidence"] and "1 of 2 endpoint pickers" in claims["table/scraped"]["evidence"]


@pytest.mark.rest
def test_an_autoscaler_without_metrics(tmp_path: Path) -> None:
    """This cluster has no metrics server. Until its first sync an autoscaler has no conditions, which is a failure too."""
    api, target = client.AutoscalingV2Api(), {"apiVersion": "apps/v1", "kind": "Deployment", "name": "table-decode"}
    api.create_namespaced_horizontal_pod_autoscaler(
        NAMESPACE,
        {
            "metadata": {"name": "by-cpu"},
            "spec": {
                "minReplicas": 4,
                "maxReplicas": 5,
                "scaleTargetRef": target,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}],
            },
        },
    )
    try:
        code, claims, shown = validate(tmp_path)
    finally:
        api.delete_namespaced_horizontal_pod_autoscaler("by-cpu", NAMESPACE)
    assert code != 0 and failed(claims) == {"table/scaling"} and "by-cpu does not scale table-decode" in claims["table/scaling"]["evidence"], shown


@pytest.mark.rest
def test_a_route_to_nowhere(tmp_path: Path) -> None:
    def nowhere(route: dict[str, t.Any]) -> None:
        route["spec"]["parentRefs"][0]["name"] = "nowhere"

    with custom("gateway.networking.k8s.io", "v1", "httproutes", "table", nowhere):
        code, claims, shown = validate(tmp_path)
    assert code != 0 and {"table/route", "table/serving"} <= failed(claims) and claims["sim/route"]["ok"], shown


@pytest.mark.rest
def test_claims_fail_when_requests_bypass_the_endpoint_picker(stack: Stack, tmp_path: Path) -> None:
    """The gateway has no policy to call the endpoint picker, but the Service of the route still answers."""

    def answers(picked: bool) -> bool:
        body = {"model": MODELS["sim"], "prompt": "who picks?", "max_tokens": 1}
        status, headers, _content = call(f"{stack.url('sim')}/v1/completions", body)
        return status == 200 and ("x-went-into-resp-headers" in headers) is picked

    with custom("gateway.envoyproxy.io", "v1alpha1", "envoyextensionpolicies", "sim-epp", None):
        until(lambda: answers(picked=False), 30, "the gateway no longer asks the endpoint picker")
        code, claims, shown = validate(tmp_path)
    until(lambda: answers(picked=True), 30, "the gateway asks the endpoint picker again")
    assert code != 0 and {"sim/scheduled", "sim/counted"} <= failed(claims), shown
    assert claims["sim/scheduled"]["evidence"].startswith("0 of ") and claims["sim/serving"]["ok"] and claims["table/scheduled"]["ok"], shown


@pytest.mark.rest
def test_a_gateway_of_another_class(tmp_path: Path) -> None:
    """No controller handles it. It is an additional Gateway, since a replaced one would get another address."""
    api, place = client.CustomObjectsApi(), ("gateway.networking.k8s.io", "v1", NAMESPACE, "gateways")
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    api.create_namespaced_custom_object(
        *place,
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway",
            "metadata": {"name": "another"},
            "spec": {"gatewayClassName": "nothing", "listeners": [listener]},
        },
    )
    try:
        code, claims, shown = validate(
            tmp_path, llm_d_gateway={"provider": "envoy_gateway", "service_type": "ClusterIP", "name": "another"}, validation_wait=0, llm_d_wait_timeout=2
        )
    finally:
        api.delete_namespaced_custom_object(*place, "another")
    assert code != 0 and "gateway/programmed" in failed(claims), shown
    assert f"Gateway {NAMESPACE}/another: " in claims["gateway/programmed"]["evidence"] and "it has no address" in claims["gateway/programmed"]["evidence"]


@pytest.mark.rest
def test_a_pool_that_is_gone(tmp_path: Path) -> None:
    with custom("inference.networking.k8s.io", "v1", "inferencepools", "table", None):
        code, claims, shown = validate(tmp_path)
    assert code != 0 and "table/pool" in failed(claims) and claims["sim/pool"]["ok"], shown
    until(lambda: rolled("table-epp"), 120, "the endpoint picker has its pool again")


@pytest.mark.rest
def test_claims_fail_when_the_cluster_has_another_gateway_than_the_file(tmp_path: Path) -> None:
    code, claims, shown = validate(tmp_path, llm_d_gateway={"provider": "agentgateway", "service_type": "ClusterIP"}, llm_d_charts={"agentgateway": "/nowhere"})
    assert code != 0 and {"platform/crds", "platform/controller"} <= failed(claims) and claims["platform/kubernetes"]["ok"], shown
    assert "agentgateway" in claims["platform/crds"]["evidence"]


@pytest.mark.rest
def test_a_server_that_was_not_picked_answers(stack: Stack, tmp_path: Path) -> None:
    """The release counts attempts per server."""
    if call(f"http://127.0.0.1:5215/v2/{GIE}/tags/list")[0] != 200:
        pytest.skip("the local registry has no endpoint picker of gie-1.5")
    switched = stack.as_written(llm_d_release="gie-1.5")
    assert switched.returncode == 0, switched.stdout
    code, claims, shown = validate(tmp_path, llm_d_release="gie-1.5")
    assert code == 0 and claims["sim/obeyed"]["ok"] and claims["table/obeyed"]["ok"], shown
    group = ("gateway.envoyproxy.io", "v1alpha1", "backendtrafficpolicies")
    with custom(*group, "sim-epp", lambda policy: policy["spec"]["loadBalancer"].pop("endpointOverride")):
        story = "the same words again and again " * 60
        until(lambda: len({stack.ask("sim", story) for _number in range(8)}) > 1, 60, "the proxy chooses by itself")
        code, claims, shown = validate(tmp_path, llm_d_release="gie-1.5")
    print(claims["sim/obeyed"]["evidence"])
    assert code != 0 and "sim/obeyed" in failed(claims) and claims["sim/counted"]["ok"] and claims["table/obeyed"]["ok"], shown
