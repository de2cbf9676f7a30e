"""Every value of the rendered objects comes from the plan, or from a short list of constants of templates.

Every value of the plan is marked before templates print it, so that constants of a template are distinguished from values of the plan: a constant instead of a
field (`number: 8000`), a wrong constant (`Exact`) and a field that is not printed (`affinity`) are found for every provider at once.
"""

from __future__ import annotations

import functools
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.servers.warmup_job import PROGRAM
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import ROLES, TEMPLATES, bundled, render
from contract.gateway_cases import CASES, STANDALONE, file_of

Facts = dict[str, t.Any]
# kind: {path: constants of the templates}. Everything else is a field of the plan.
CONSTANTS: dict[str, dict[str, set[t.Any]]] = {
    "BackendTrafficPolicy": {
        "apiVersion": {"gateway.envoyproxy.io/v1alpha1"},
        "spec.targetRefs[].group": {"gateway.networking.k8s.io"},
        "spec.targetRefs[].kind": {"HTTPRoute"},
    },
    "ConfigMap": {
        "apiVersion": {"v1"},
        "binaryData.warmup.pyz": {bundled(PROGRAM)},
        "data.service": {f"spec:\n  type: {name}\n" for name in ("ClusterIP", "LoadBalancer", "NodePort")},
    },
    "CronJob": {"apiVersion": {"batch/v1"}},
    "Deployment": {
        "apiVersion": {"apps/v1"},
    },
    "EnvoyExtensionPolicy": {
        "apiVersion": {"gateway.envoyproxy.io/v1alpha1"},
        "spec.extProc[].backendRefs[].group": {""},
        "spec.extProc[].backendRefs[].kind": {"Service"},
        "spec.extProc[].failOpen": {False},
        "spec.extProc[].processingMode.allowModeOverride": {False},
        "spec.targetRefs[].group": {"gateway.networking.k8s.io"},
        "spec.targetRefs[].kind": {"HTTPRoute"},
    },
    "EnvoyFilter": {
        "apiVersion": {"networking.istio.io/v1alpha3"},
        "spec.configPatches[].applyTo": {"CLUSTER", "HTTP_FILTER", "HTTP_ROUTE"},
        "spec.configPatches[].match.context": {"GATEWAY"},
        "spec.configPatches[].match.listener.filterChain.filter.name": {"envoy.filters.network.http_connection_manager"},
        "spec.configPatches[].match.listener.filterChain.filter.subFilter.name": {"envoy.filters.http.router"},
        "spec.configPatches[].patch.operation": {"INSERT_BEFORE", "MERGE"},
    },
    "EnvoyProxy": {
        "apiVersion": {"gateway.envoyproxy.io/v1alpha1"},
        "spec.provider.kubernetes.envoyDeployment.container.resources.limits.memory": {"1Gi"},
        "spec.provider.kubernetes.envoyDeployment.container.resources.requests.cpu": {"50m"},
        "spec.provider.kubernetes.envoyDeployment.container.resources.requests.memory": {"128Mi"},
        "spec.provider.kubernetes.envoyDeployment.replicas": {1},
        "spec.provider.type": {"Kubernetes"},
        "spec.telemetry.tracing.provider.openTelemetry.sampler.type": {"ParentBasedTraceIdRatio"},
        "spec.telemetry.tracing.provider.type": {"OpenTelemetry"},
        "spec.routingType": {"Endpoint"},
    },
    "GCPBackendPolicy": {
        "apiVersion": {"networking.gke.io/v1"},
        "spec.default.logging.enabled": {True},
        "spec.targetRef.kind": {"InferencePool"},
    },
    "Gateway": {
        "apiVersion": {"gateway.networking.k8s.io/v1"},
        "spec.listeners[].tls.certificateRefs[].group": {""},
        "spec.listeners[].tls.certificateRefs[].kind": {"Secret"},
        "spec.listeners[].tls.mode": {"Terminate"},
    },
    "HTTPRoute": {
        "apiVersion": {"gateway.networking.k8s.io/v1"},
        "spec.parentRefs[].group": {"gateway.networking.k8s.io"},
        "spec.parentRefs[].kind": {"Gateway"},
        "spec.rules[].filters[].type": {"URLRewrite"},
        "spec.rules[].filters[].urlRewrite.path.replacePrefixMatch": {"/"},
        "spec.rules[].filters[].urlRewrite.path.type": {"ReplacePrefixMatch"},
        "spec.rules[].matches[].path.type": {"PathPrefix"},
    },
    "HealthCheckPolicy": {
        "apiVersion": {"networking.gke.io/v1"},
        "spec.default.config.type": {"HTTP"},
        "spec.targetRef.kind": {"InferencePool"},
    },
    "InferencePool": {
        "spec.endpointPickerRef.kind": {"Service"},
        "spec.extensionRef.kind": {"Service"},
    },
    "LeaderWorkerSet": {
        "spec.leaderWorkerTemplate.restartPolicy": {"RecreateGroupOnPodRestart"},
        "spec.rolloutStrategy.type": {"RollingUpdate"},
    },
    "RoleBinding": {
        "apiVersion": {"rbac.authorization.k8s.io/v1"},
        "roleRef.apiGroup": {"rbac.authorization.k8s.io"},
        "roleRef.kind": {"Role"},
        "subjects[].kind": {"ServiceAccount"},
    },
    "Route": {
        "apiVersion": {"route.openshift.io/v1"},
        "metadata.annotations.haproxy.router.openshift.io/disable_cookies": {"true"},
        "spec.tls.insecureEdgeTerminationPolicy": {"Redirect"},
        "spec.to.kind": {"Service"},
        "spec.to.weight": {100},
        "spec.wildcardPolicy": {"None"},
    },
    "Service": {
        "apiVersion": {"v1"},
        "spec.ports[].appProtocol": {"http", "kubernetes.io/h2c"},
        "spec.ports[].name": {"grpc-ext-proc", "http-metrics"},
        "spec.ports[].protocol": {"TCP"},
        "spec.clusterIP": {"None"},
        "spec.ports[].targetPort": {"grpc", "metrics"},
        "spec.type": {"ClusterIP"},
    },
    "ServiceAccount": {
        "apiVersion": {"v1"},
        "automountServiceAccountToken": {False},
    },
    "AgentgatewayParameters": {"apiVersion": {"agentgateway.dev/v1alpha1"}},
    "DestinationRule": {"apiVersion": {"networking.istio.io/v1"}},
    "GatewayClass": {"apiVersion": {"gateway.networking.k8s.io/v1"}},
    "GatewayParameters": {"apiVersion": {"gateway.kgateway.dev/v1alpha1"}},
    "Namespace": {"apiVersion": {"v1"}},
    "PersistentVolumeClaim": {"apiVersion": {"v1"}},
    "ReferenceGrant": {"apiVersion": {"gateway.networking.k8s.io/v1beta1"}},
    "Role": {"apiVersion": {"rbac.authorization.k8s.io/v1"}},
}
# Fields of a service that no template prints, and what reads them instead.
UNPRINTED = {
    "aliases": "the claims",
    "cache_server.claim.delete": "prune_claims.yml.j2",
    "cache_server.image": "the lists of images; the objects have it",
    "cache_server.name": "the preflight; the objects have it",
    "cache_server.replicas": "the preflight; the objects have it",
    "engine": "the checks of model servers",
    "model": "the verdict, the benchmark",
    "own_account": "a condition",
    "pool.exists": "a condition",
    "pool.version": "a condition",
    "prune_autoscalers": "prune_autoscalers.yml.j2",
    "queried": "the claims",
    "route.backend": "the diagnosis; the rules have it",
    "route.exists": "a condition",
    "route.picked": "a condition",
    "route.strip_prefix": "a condition",
    "routes[].backend": "the diagnosis; the rules have it",
    "routes[].exists": "a condition",
    "routes[].picked": "a condition",
    "routes[].strip_prefix": "a condition",
    "scheduler.config_dir": "the arguments of the endpoint picker",
    "scheduler.config_file": "the arguments of the endpoint picker",
    "scheduler.config_key": "a key of the ConfigMap",
    "scheduler.decides": "what a run of scorers.yml shows",
    "scheduler.notes": "what a run shows",
    "scheduler.drain_seconds": "the claims; the template has it",
    "scheduler.image": "the verdict; the template has it",
    "scheduler.other_pair": "the verdict",
    "scheduler.ports.health": "the template has it",
    "scheduler.proxy.checksum": "the template has it",
    "scheduler.proxy.config_key": "a key of the ConfigMap",
    "scheduler.signals": "the claims",
    "server.added": "what an API server refuses, which is shown with its place in the file",
    "server.args": "the checks of model servers; the template says the same as the file spells it",
    "server.autoscaling.arrival": "the claims",
    "server.autoscaling.asks": "the preflight",
    "server.autoscaling.provider": "the claims",
    "server.drain_seconds": "what the pause of the pod, its grace period and the arguments of vLLM follow",
    "server.engine_port": "the template has it",
    "server.health_path": "the template has it",
    "server.image": "the verdict; the template has it",
    "server.metrics_path": "the PodMonitor has it",
    "server.ours": "what a file may not change; the template has it, with what the file adds",
    "server.port": "the Service has it as target_port",
    "server.port_name": "the PodMonitor has it",
    "server.role": "the selector has it",
    "switched": "the switch of schedulers",
    "restore_point": "the comparison of schedulers",
    "warmup_job.image": "the lists of images; the CronJob has it",
    "warmup_job.program": "the program that it packs",
    "warmup_job.prompts": "prompts.yml.j2",
    "warmup_job.replicas": "the preflight",
}
# A worker gets no requests, and is rolled out with its leader.
OF_A_LEADER = ("added", "args", "image", "labels", "ours", "selector")


class Marked:
    """A value with its path in the plan."""

    path: str


class Text(str, Marked):
    pass


class Whole(int, Marked):
    """A whole number or a boolean: printed values are no longer bool, but conditions work as before."""


class Number(float, Marked):
    pass


OF_TYPE: dict[type, t.Any] = {str: Text, bool: Whole, int: Whole, float: Number}
GROUP = {"name": "big", "model": {"uri": "hf://org/m"}, "accelerator": {"per_replica": 16, "nodes": 2}, "service_account": "own", "route": {"path": "/big"}}
APART = {"name": "apart", "model": {"uri": "hf://org/m"}, "scheduler": {"preset": "disaggregated"}, "route": {"path": "/apart"}}
EVENTS = {
    "name": "events",
    "model": {"uri": "hf://org/m"},
    "engine": {"image": "mine/vllm:nightly", "version": "0.23.0"},  # every line reads the events of this version
    "scheduler": {"preset": "precise_prefix"},
    "route": {"path": "/events"},
}
MONITORING = {"scrape": True, "alerts": {"ttft_p99": 2}, "dashboards": ["grafana", "perses"], "prometheus": {"namespace": "monitoring"}}
FULL = {
    "name": "full",
    "model": {"uri": "hf://org/m", "aliases": {"chat": "org/m"}},
    "accelerator": {"per_replica": 2, "product": "L40S"},
    "route": {
        "path": "/full",
        "direct_path": "/past",
        "hostnames": ["chat.example.com"],
        "headers": {"x-variant": "b"},
        "timeouts": {"request": "90s"},
    },
    "node_selector": {"pool": "gpu"},
    "tolerations": [{"key": "gpu"}],
    "storage": {"size": "5Gi"},
    "cache": {"cpu_size": "8Gi", "shared": {"password_secret": "pw", "server": {"size": "1Gi", "persistence": {"size": "3Gi"}}}},
    "autoscaling": {"provider": "hpa", "max": 5, "metrics": {"queue": 3}},
    "warmup": {"prompts": ["Hello"], "schedule": "@daily"},
}


def marked(value: t.Any, path: str = "", memo: dict[int, t.Any] | None = None) -> t.Any:
    """The value with every scalar marked; an object that is in the plan twice keeps one path. memo: marked objects by id."""
    memo = {} if memo is None else memo
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, dict):
        memo[id(value)] = {key: marked(item, f"{path}.{key}".lstrip("."), memo) for key, item in value.items()}
        return memo[id(value)]
    if isinstance(value, (list, tuple)):
        memo[id(value)] = [marked(item, f"{path}[]", memo) for item in value]
        return memo[id(value)]
    if type(value) not in OF_TYPE:
        return value
    scalar = OF_TYPE[type(value)](value)
    scalar.path = path
    return scalar


def leaves(node: t.Any, path: str = "") -> t.Iterator[tuple[str, t.Any]]:
    """(path, value) of every scalar."""
    if isinstance(node, dict):
        for key, item in node.items():
            yield from leaves(item, f"{path}.{key}".lstrip("."))
    elif isinstance(node, list):
        for item in node:
            yield from leaves(item, f"{path}[]")
    else:
        yield path, node


@functools.cache
def case(name: str) -> tuple[Facts, list[Facts]]:
    """(marked plan, objects) of services with every part that a service can have."""
    gateway, variables = {**CASES, **STANDALONE}[name]
    services = [FULL, GROUP, APART, EVENTS]
    if gateway["provider"] == "standalone":
        services = [{**{key: value for key, value in service.items() if key != "route"}, "model": {"uri": "hf://org/m"}} for service in services]
    if variables.get("llm_d_release") == "scheduler-0.7":
        services = [*services, {**services[3], "name": "bound", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}]
        services[4] |= {"route": {"path": "/bound"}} if "route" in services[3] else {}
    given = {**file_of(gateway, variables), "llm_d_model_services": services, "llm_d_monitoring": MONITORING, "llm_d_namespace": "elsewhere"}
    made = plan({"llm_d_image_pull_secrets": ["pull"], **given})
    planned = marked({"services": made["services"], **made})  # services first, since they share values with the release line
    return planned, [item for template in TEMPLATES for item in render(ROLES / template, planned)]


@functools.cache
def constants() -> dict[tuple[str, str], set[t.Any]]:
    """{(kind, path): constants of the templates there} of all cases."""
    by_place: dict[tuple[str, str], set[t.Any]] = {}
    for name in (*CASES, *STANDALONE):
        for item in case(name)[1]:
            for path, value in leaves(item):
                if not isinstance(value, Marked) and path != "kind":  # the kind is the key of the table
                    by_place.setdefault((item["kind"], path), set()).add(value)
    return by_place


def test_templates_contain_exactly_the_listed_constants() -> None:
    by_kind: dict[str, dict[str, set[t.Any]]] = {}
    for (kind, path), values in constants().items():
        by_kind.setdefault(kind, {})[path] = values
    assert by_kind == CONSTANTS


def test_every_field_of_a_service_is_printed_or_read_by_someone_else() -> None:
    planned, printed = set(), set()
    for name in (*CASES, *STANDALONE):
        made, items = case(name)
        planned |= {value.path for _path, value in leaves(made["services"], "services") if isinstance(value, Marked)}
        printed |= {value.path for item in items for _path, value in leaves(item) if isinstance(value, Marked)}
    fields = {path.removeprefix("services[].").replace("servers[]", "server", 1) for path in planned}
    shown = {path.removeprefix("services[].").replace("servers[]", "server", 1) for path in printed if path.startswith("services[].")}
    silent = (*UNPRINTED, *(f"server.worker.{name}" for name in OF_A_LEADER))
    left_out = {field for field in fields - shown if not any(field == name or field.startswith((f"{name}.", f"{name}[")) for name in silent)}
    assert not left_out
    needless = {name for name in UNPRINTED if not any(field == name or field.startswith((f"{name}.", f"{name}[")) for field in fields - shown)}
    assert not needless, "it is printed, or no longer planned"


@pytest.mark.parametrize("name", [*CASES, *STANDALONE])
def test_everything_is_in_the_namespace_of_the_file(name: str) -> None:
    planned, items = case(name)
    for item in items:
        where = item["metadata"].get("namespace")
        assert where is None or isinstance(where, Marked), item["metadata"]
        if item["kind"] in ("Deployment", "LeaderWorkerSet", "Service", "InferencePool", "ServiceAccount", "Role", "RoleBinding", "PersistentVolumeClaim"):
            assert where == "elsewhere"
    usual = planned["gateway"]["namespace"] == "elsewhere" or {**CASES, **STANDALONE}[name][0].get("namespace")
    assert usual, "by default the gateway is in the namespace of the models"
    names = [value for item in items for path, value in leaves(item) if path.split(".")[-1] in ("namespace", "namespaces[]")]
    assert "llm-d" not in names


@pytest.mark.parametrize("name", [*CASES, *STANDALONE])
def test_every_service_has_its_pool_and_its_route(name: str) -> None:
    planned, items = case(name)
    kinds = [item["kind"] for item in items]
    count = len(planned["services"])
    assert kinds.count("InferencePool") == (0 if name == "standalone without pools" else count)
    assert kinds.count("HTTPRoute") == (0 if name in STANDALONE else count + 1)  # one has a direct route as well
    assert kinds.count("Deployment") + kinds.count("LeaderWorkerSet") >= 2 * count


def test_a_prefix_is_cut_off_where_it_is_more_than_the_root() -> None:
    routes = [item for item in case("envoy_gateway")[1] if item["kind"] == "HTTPRoute"]
    assert routes and all(len(item["spec"]["rules"][0]["filters"]) == 1 for item in routes)
    root = plan(file_of({"provider": "envoy_gateway"}, {"llm_d_model_services": [{**FULL, "route": {"path": "/"}}]}))
    (route,) = [item for item in render(ROLES / TEMPLATES[6], root) if item["kind"] == "HTTPRoute"]
    assert "filters" not in route["spec"]["rules"][0] and route["spec"]["rules"][0]["matches"] == [{"path": {"type": "PathPrefix", "value": "/"}}]
