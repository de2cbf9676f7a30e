"""Ways to break a running stack: {name: (codes of which one must rank first or second, function that breaks it and returns the function that repairs it)}.

VERDICTS: for each break a regular expression for the line of a failed claim. Where controllers accept the objects, only requests detect the break.
"""

from __future__ import annotations

import contextlib
import copy
import subprocess
import tempfile
import typing as t
import uuid
from pathlib import Path

import python_image
import strangers
from live_stack import call, until
from stack import MODEL, NAMESPACE, Object, Stack, Undo, path

EPP, DECODE, ROUTE, POOL = "sim-epp", "sim-decode", "sim", "sim"
CONTROLLER = "envoy-gateway-system"
CACHE, HOME = Path("/var/cache/llm-d-local"), Path("/var/lib/llm-d-local")  # of the local cluster
SERVER = (Path(__file__).parent / "breaking_off.py").read_text(encoding="utf-8")
Break = tuple[tuple[str, ...], t.Callable[[Stack], Undo]]


def argument(value: str, instead_of: str = "") -> t.Callable[[Object], None]:
    """Add an argument to a container in place of those that begin with `instead_of`."""

    def change(part: Object) -> None:
        part["args"] = [entry for entry in part.get("args", []) if not instead_of or not entry.startswith(instead_of)] + [value]

    return change


def resources(**limits: str) -> t.Callable[[Object], None]:
    def change(part: Object) -> None:
        amounts = {name.replace("__", "/").replace("_", "."): value for name, value in limits.items()}
        part["resources"] = {"limits": amounts, "requests": amounts}

    return change


def gpu(part: Object) -> None:
    part["resources"] = {"limits": {"nvidia.com/gpu": "1"}}


def unknown_plugin(stack: Stack) -> Undo:
    def change(obj: Object) -> None:
        obj["data"]["config.yaml"] = (
            obj["data"]["config.yaml"].replace("- type: queue-scorer", "- type: quue-scorer").replace("pluginRef: queue-scorer", "pluginRef: quue-scorer")
        )

    return restarting(stack, EPP, stack.edit("configmaps", EPP, change))


def no_permissions(stack: Stack) -> Undo:
    return restarting(stack, EPP, stack.edit("roles", EPP, lambda obj: obj.update(rules=[])))


def restarting(stack: Stack, name: str, mend: Undo) -> Undo:
    """Restart the Deployment's pods after the break, and again after the repair."""
    stack.restart(name)

    def undo() -> None:
        mend()
        stack.restart(name)

    return undo


def deny_all(stack: Stack) -> Undo:
    spec = {"podSelector": {}, "policyTypes": ["Ingress"]}
    return stack.create("networkpolicies", {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny-all"}, "spec": spec})


def quota(stack: Stack) -> Undo:
    """Allow no further pod, and delete a server."""
    undo = stack.create("resourcequotas", {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "full"}, "spec": {"hard": {"pods": "1"}}})
    stack.call("DELETE", path("pods", sorted(stack.servers())[0]), {"gracePeriodSeconds": 0})
    return undo


def second_pool(stack: Stack) -> Undo:
    pool = stack.call("GET", f"/apis/inference.networking.k8s.io/v1/namespaces/{NAMESPACE}/inferencepools/{POOL}")
    made = {"apiVersion": pool["apiVersion"], "kind": "InferencePool", "metadata": {"name": "sim-again"}, "spec": pool["spec"]}
    return stack.create("inferencepools", made)


def no_override(stack: Stack) -> Undo:
    """Make the proxy ignore the choices of the endpoint picker. It serves by its old configuration until the new cluster is warm, which can take 15 s."""
    undo = stack.edit("backendtrafficpolicies", EPP, lambda obj: obj["spec"]["loadBalancer"].pop("endpointOverride"))

    def ignored() -> bool:
        prompt = f"{uuid.uuid4()} who answers? " * 50  # the endpoint picker keeps to one server, as the claim `sticky` requires
        given = {"model": MODEL, "prompt": prompt, "max_tokens": 1}
        return len({call(f"{stack.gateway()}/v1/completions", given)[1]["x-inference-pod"] for _number in range(8)}) > 1

    with undone_where_it_fails(undo):
        until(ignored, 60, "the proxy ignores the choices of the endpoint picker")
    return undo


def no_names(stack: Stack) -> Undo:
    """Stop the cluster's DNS, a program of this host, and restart the gateway's proxy, which resolves its control plane by name."""
    labels = {"labelSelector": "gateway.envoyproxy.io/owning-gateway-name=llm-d-gateway"}
    proxies = [pod["metadata"]["name"] for pod in stack.cluster.get(path("pods", "", CONTROLLER), labels)["items"]]
    assert proxies, "the gateway has no proxy"

    def undo() -> None:
        supervisor("start", "coredns")

    supervisor("stop", "coredns")
    with undone_where_it_fails(undo):
        for name in proxies:
            stack.call("DELETE", path("pods", name, CONTROLLER))
    return undo


@contextlib.contextmanager
def undone_where_it_fails(undo: Undo) -> t.Iterator[None]:
    """Undo the first half of a break if the second half, the body, fails: the caller does not have its `undo` yet."""
    try:
        yield
    except BaseException:
        undo()
        raise


def supervisor(*command: str) -> None:
    """Send one command to the supervisor of the local cluster's programs."""
    subprocess.run([str(CACHE / "python/bin/supervisorctl"), "-c", str(HOME / "config/supervisord.conf"), *command], check=True, capture_output=True)


def another_model(stack: Stack) -> Undo:
    """Add a server with another model to the pool: a foreign Deployment whose pods have the same labels."""
    spec = copy.deepcopy(stack.call("GET", path("deployments", DECODE))["spec"])
    spec["replicas"] = 1
    argument("--served-model-name=acme/other", "--served-model-name")(spec["template"]["spec"]["containers"][0])
    return stack.create("deployments", {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "sim-other"}, "spec": spec})


def breaking_off(stack: Stack) -> Undo:
    """Replace the servers by the program breaking_off.py, whose streams carry an error behind status 200: the simulator does not."""
    with tempfile.TemporaryDirectory() as folder:
        image = python_image.push(Path(folder))

    def change(part: Object) -> None:
        part.update(image=image, command=["/usr/bin/python3", "-c", SERVER], args=[MODEL])

    return stack.container(DECODE, change)


def backend(namespace: str) -> t.Callable[[Object], None]:
    return lambda obj: obj["spec"]["rules"][0]["backendRefs"][0].update(namespace=namespace)


BREAKS: dict[str, Break] = {
    "picker_scaled_away": (("scaled",), lambda stack: stack.scale(EPP, 0)),
    "picker_deleted": (("absent",), lambda stack: stack.delete("deployments", EPP)),
    "incorrect_picker_configuration": (("config",), unknown_plugin),
    "picker_without_permissions": (("F4",), no_permissions),
    "picker_with_tls_gateway_without": (("F11",), lambda stack: stack.container(EPP, argument("--secure-serving=true", "--secure-serving"))),
    "picker_for_another_pool": (("F5",), lambda stack: stack.container(EPP, argument("--pool-name=smi", "--pool-name="))),
    "picker_with_another_metric": (("drift",), lambda stack: stack.container(EPP, argument("--kv-cache-usage-percentage-metric=vllm:nothing"))),
    "picker_probed_on_another_port": (
        ("F42",),
        lambda stack: stack.container(EPP, lambda part: part.update(startupProbe={"httpGet": {"path": "/", "port": 19000}, "failureThreshold": 99})),
    ),
    "picker_reads_metrics_from_another_path": (
        ("drift",),
        lambda stack: stack.container(EPP, argument("--model-server-metrics-path=/nothing", "--model-server-metrics-path")),
    ),
    "pool_selects_nothing": (
        ("F21",),
        lambda stack: stack.edit("inferencepools", POOL, lambda obj: obj["spec"].update(selector={"matchLabels": {"app": "nothing"}})),
    ),
    "incorrect_pool_target_port": (("F22",), lambda stack: stack.edit("inferencepools", POOL, lambda obj: obj["spec"].update(targetPorts=[{"number": 8200}]))),
    "pool_deleted": (("absent",), lambda stack: stack.delete("inferencepools", POOL)),
    "two_pools_share_the_servers": (("F29",), second_pool),
    "incorrect_service_target_port": (("F22",), lambda stack: stack.edit("services", "sim", lambda obj: obj["spec"]["ports"][0].update(targetPort=9999))),
    "incorrect_picker_service_target_port": (
        ("drift",),
        lambda stack: stack.edit("services", EPP, lambda obj: obj["spec"]["ports"][0].update(targetPort=9999)),
    ),
    "route_with_a_timeout_of_10_ms": (
        ("drift",),
        lambda stack: stack.edit("httproutes", ROUTE, lambda obj: obj["spec"]["rules"][0].update(timeouts={"request": "10ms"})),
    ),
    "listener_for_another_host_name": (
        ("drift",),
        lambda stack: stack.edit("gateways", "llm-d-gateway", lambda obj: obj["spec"]["listeners"][0].update(hostname="other.example.com")),
    ),
    "readiness_probe_changed_by_hand": (
        ("drift",),
        lambda stack: stack.container(DECODE, lambda part: part.update(readinessProbe={"httpGet": {"path": "/nothing", "port": 8000}})),
    ),
    "route_on_another_gateway": (
        ("F8",),
        lambda stack: stack.edit("httproutes", ROUTE, lambda obj: obj["spec"]["parentRefs"][0].update(name="another-gateway")),
    ),
    "route_deleted": (("absent",), lambda stack: stack.delete("httproutes", ROUTE)),
    "route_on_another_path": (
        ("F23",),
        lambda stack: stack.edit("httproutes", ROUTE, lambda obj: obj["spec"]["rules"][0]["matches"][0]["path"].update(value="/elsewhere")),
    ),
    "reference_grant_missing": (("F10",), lambda stack: stack.edit("httproutes", ROUTE, backend("kube-system"))),
    "header_override_missing": (("F26",), no_override),
    "policy_that_asks_the_picker_gone": (("F26",), lambda stack: stack.delete("envoyextensionpolicies", EPP)),
    "proxy_dials_services": (("F52",), lambda stack: stack.edit("envoyproxies", "llm-d-gateway", lambda obj: obj["spec"].update(routingType="Service"))),
    "gateway_of_another_class": (("F7",), lambda stack: stack.edit("gateways", "llm-d-gateway", lambda obj: obj["spec"].update(gatewayClassName="nothing"))),
    "gateway_controller_down": (("controller",), lambda stack: stack.scale("envoy-gateway", 0, CONTROLLER)),
    "network_policy_in_the_way": (("policy",), deny_all),
    "quota_used_up": (("quota",), quota),
    "servers_scaled_away": (("scaled",), lambda stack: stack.scale(DECODE, 0)),
    "incorrect_server_image": (("F34",), lambda stack: stack.container(DECODE, lambda part: part.update(image=part["image"] + "-none"))),
    "server_crash_looping": (("args",), lambda stack: stack.container(DECODE, argument("--nonsense=1"))),
    "server_without_its_secret": (
        ("F17",),
        lambda stack: stack.container(DECODE, lambda part: part.update(envFrom=[{"secretRef": {"name": "llm-d-hf-token"}}])),
    ),
    "server_out_of_memory": (("F18",), lambda stack: stack.container(DECODE, resources(memory="16Mi"))),
    "server_asks_for_a_gpu": (("F13", "F48"), lambda stack: stack.container(DECODE, gpu)),
    "server_asks_for_a_thousand_cores": (("F35",), lambda stack: stack.container(DECODE, resources(cpu="1000"))),
    "server_hung_but_listening": (("hung",), lambda stack: stack.mislead({"time-to-first-token": "60s"})),
    "server_answers_500": (("hung",), lambda stack: stack.mislead({"failure-injection-rate": 100, "failure-types": ["server_error"]})),
    "one_slow_server": (("slow",), lambda stack: stack.mislead({"time-to-first-token": "2s"})),
    "errors_within_the_stream": (("hung",), breaking_off),
    "prefill_servers_gone": (("scaled",), lambda stack: stack.scale("pd-prefill", 0)),
    "dns_down": (("dns",), no_names),
    "incorrect_api_key": (("key",), lambda stack: stack.mislead({"failure-injection-rate": 100, "failure-types": ["invalid_api_key"]}, every=True)),
    "servers_of_another_model": (("mixed",), another_model),
    "route_of_someone_else_with_a_longer_prefix": (("stranger",), strangers.longer_prefix),
    "route_of_someone_else_for_one_path": (("stranger",), strangers.exact_path),
    "policy_of_someone_else_refuses_requests": (("stranger",), strangers.refusing_policy),
    "webhook_of_someone_else_does_not_answer": (("F32",), strangers.silent_webhook),
    "network_policy_of_someone_else_against_egress": (("policy",), strangers.no_egress),
}

# Requests are still answered and scheduled as claimed, or the network of this cluster enforces no policy: the verdict may pass.
UNNOTICED = {
    "picker_reads_metrics_from_another_path",
    "two_pools_share_the_servers",
    "incorrect_service_target_port",  # the gateway sends requests to the pods that the endpoint picker chooses
    "network_policy_in_the_way",
    "network_policy_of_someone_else_against_egress",
    "webhook_of_someone_else_does_not_answer",
    "route_with_a_timeout_of_10_ms",  # most answers of this simulator are faster
    "one_slow_server",
}
# {break for which a verdict takes longer: why}.
SLOW = {"one_slow_server": "requests are sent one after the other on purpose, and each answer of this server takes two seconds or more"}
VERDICTS: dict[str, str] = {
    "picker_scaled_away": r"^sim/picker: .*spec\.replicas is 0, 1 planned",
    "picker_deleted": r"^sim/picker: Deployment llm-d/sim-epp: does not exist",
    "incorrect_picker_configuration": r"^sim/(picker|configured): .*quue-scorer",
    "picker_without_permissions": r"^sim/picker: .*forbidden",
    "picker_with_tls_gateway_without": r"^sim/serving: ",
    "picker_for_another_pool": r"^sim/picker: .*Pool is not initialized",
    "picker_with_another_metric": r"^sim/picker: .*kv-cache-usage-percentage-metric",
    "picker_probed_on_another_port": r"^sim/picker: .*:19000",
    "pool_selects_nothing": r"^sim/serving: ",
    "incorrect_pool_target_port": r"^sim/(serving|endpoints): ",
    "pool_deleted": r"^sim/pool: InferencePool llm-d/sim: does not exist",
    "incorrect_picker_service_target_port": r"^sim/(serving|scheduled): ",
    "listener_for_another_host_name": r"^sim/serving: .*404",
    "readiness_probe_changed_by_hand": r"^objects/deployment/sim-decode: .*statuscode: 404",
    "route_on_another_gateway": r"^sim/route: .*Gateway llm-d/another-gateway does not exist",
    "route_deleted": r"^sim/route: HTTPRoute llm-d/sim: does not exist",
    "route_on_another_path": r"^sim/serving: .*404",
    "reference_grant_missing": r"^sim/route: .*RefNotPermitted",
    "header_override_missing": r"^sim/",
    "policy_that_asks_the_picker_gone": r"^sim/(serving|scheduled|counted|obeyed): ",
    "proxy_dials_services": r"^sim/",
    "gateway_of_another_class": r"^objects/gateway/llm-d-gateway: .*GatewayClass nothing does not exist",
    "gateway_controller_down": r"^objects/deployment/envoy-gateway: .*spec\.replicas is 0, 1 planned",
    "quota_used_up": r"^objects/deployment/sim-decode: .*quota",
    "servers_scaled_away": r"^objects/deployment/sim-decode: .*spec\.replicas is 0, 2 planned",
    "incorrect_server_image": r"^objects/deployment/sim-decode: .*-none cannot be pulled",
    "server_crash_looping": r"^objects/deployment/sim-decode: .*nonsense",
    "server_without_its_secret": r"^objects/deployment/sim-decode: .*secret llm-d-hf-token, which does not exist",
    "server_out_of_memory": r"^objects/deployment/sim-decode: .*memory",
    "server_asks_for_a_gpu": r"^objects/deployment/sim-decode: .*nvidia\.com/gpu",
    "server_asks_for_a_thousand_cores": r"^objects/deployment/sim-decode: .*enough cpu",
    "server_hung_but_listening": r"^sim/(serving|servers): ",
    "server_answers_500": r"^sim/(serving|servers): ",
    "errors_within_the_stream": r"^sim/(serving|servers): .*EngineCore encountered an issue",
    "prefill_servers_gone": r"^objects/deployment/pd-prefill: .*spec\.replicas is 0, 1 planned",
    "dns_down": r"^(objects/gateway/|gateway/programmed|(sim|pd)/serving)",
    "incorrect_api_key": r"^sim/(serving|servers): .*401",
    "servers_of_another_model": r"^sim/",
    "route_of_someone_else_with_a_longer_prefix": r"^sim/serving: ",
    "route_of_someone_else_for_one_path": r"^sim/serving: ",
    "policy_of_someone_else_refuses_requests": r"^sim/serving: .*403",
}
