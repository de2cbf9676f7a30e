"""Every provider's objects agree with each other and with the real definitions of their kinds; the real Envoy accepts their Envoy configuration."""

from __future__ import annotations

import glob
import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gateways import GATEWAY_PROVIDERS
from pruned import pruned

from . import definitions_of_others as others
from .gateway_cases import CASES, STANDALONE, case, file_of, objects

Facts = dict[str, t.Any]
ALL = [*CASES, *STANDALONE]
BUILT_IN = {"", "apps", "rbac.authorization.k8s.io"}
ENVOYS = [os.environ.get("LLM_D_ENVOY", ""), *glob.glob("/var/cache/llm-d-local/python/lib/python3*/site-packages/envoy/_bin/envoy")]


def group(item: Facts) -> str:
    return item["apiVersion"].rpartition("/")[0]


def find(items: list[Facts], kind: str, name: str, namespace: str | None = None) -> Facts:
    """The only object of a kind and a name."""
    same = [item for item in items if item["kind"] == kind and item["metadata"]["name"] == name and namespace in (None, item["metadata"].get("namespace"))]
    assert len(same) == 1, (kind, name, namespace, [(item["kind"], item["metadata"]) for item in items])
    return same[0]


def of_kind(items: list[Facts], *kinds: str) -> list[Facts]:
    return [item for item in items if item["kind"] in kinds]


def granted(items: list[Facts], source: Facts, target_kind: str, name: str, namespace: str) -> bool:
    """Whether a ReferenceGrant lets the source (group, kind, namespace) refer to a target in another namespace."""
    for grant in of_kind(items, "ReferenceGrant"):
        applies = grant["metadata"]["namespace"] == namespace and source in grant["spec"]["from"]
        if applies and any(to["kind"] == target_kind and to.get("name") in (None, name) for to in grant["spec"]["to"]):
            return True
    return False


def test_every_provider_has_a_case() -> None:
    assert {gateway["provider"] for gateway, _variables in {**CASES, **STANDALONE}.values()} == set(GATEWAY_PROVIDERS)


@pytest.mark.parametrize("name", ALL)
def test_objects_pass_the_definitions_of_their_kinds(name: str) -> None:
    _plan, items = case(name)
    problems = {f"{item['kind']} {item['metadata']['name']}": others.problems(item) for item in items if group(item) not in BUILT_IN}
    assert not {what: why for what, why in problems.items() if why}


def test_the_schemas_refuse_invalid_objects() -> None:
    _plan, items = case("istio by hand")
    for kind, change in (("DestinationRule", {"trafficPolic": {}}), ("EnvoyFilter", {"workloadSelecto": {}}), ("Gateway", {"gatewayClass": "x"})):
        item = of_kind(items, kind)[0]
        assert others.problems({**item, "spec": {**item["spec"], **change}})
    _plan, items = case("gke")
    item = of_kind(items, "HealthCheckPolicy")[0]
    assert others.problems({**item, "spec": {"default": {}}})


@pytest.mark.parametrize("name", ALL)
def test_objects_are_unique_and_have_the_labels_of_the_collection(name: str) -> None:
    planned, items = case(name)
    keys = [(item["apiVersion"], item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in items]
    assert len(set(keys)) == len(keys)
    assert all(planned["labels"].items() <= item["metadata"]["labels"].items() for item in items)


@pytest.mark.parametrize("name", CASES)
def test_routes_lead_from_the_gateway_to_what_is_there(name: str) -> None:
    planned, items = case(name)
    gateway = planned["gateway"]
    routes = of_kind(items, "HTTPRoute")
    assert len(routes) == sum(len(service["routes"]) for service in planned["services"])
    for route in routes:
        home = route["metadata"]["namespace"]
        assert home == gateway["routes_namespace"]
        parent = route["spec"]["parentRefs"][0]
        assert (parent["name"], parent["namespace"]) == (gateway["name"], gateway["namespace"])
        for backend in (each for rule in route["spec"]["rules"] for each in rule["backendRefs"]):
            target = find(items, backend["kind"], backend["name"], backend.get("namespace", home))
            assert group(target) == backend["group"]
            if backend.get("namespace", home) != home:
                source = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": home}
                assert granted(items, source, backend["kind"], backend["name"], backend["namespace"])
    if gateway["create"]:
        made = find(items, "Gateway", gateway["name"], gateway["namespace"])
        for listener in made["spec"]["listeners"]:
            allowed = listener["allowedRoutes"]["namespaces"]
            home = gateway["routes_namespace"]
            assert allowed["from"] == "Same" if home == gateway["namespace"] else allowed["selector"]["matchLabels"]["kubernetes.io/metadata.name"] == home
            for secret in listener.get("tls", {}).get("certificateRefs", []):
                source = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": gateway["namespace"]}
                assert secret["namespace"] == gateway["namespace"] or granted(items, source, "Secret", secret["name"], secret["namespace"])
        parameters = made["spec"].get("infrastructure", {}).get("parametersRef")
        if parameters:
            assert group(find(items, parameters["kind"], parameters["name"], gateway["namespace"])) == parameters["group"]
    else:
        assert not of_kind(items, "Gateway", "GatewayClass")


@pytest.mark.parametrize("provider", ["envoy_gateway", "envoy_ai_gateway", "istio", "agentgateway"])
def test_the_gateway_has_the_name_and_the_class_of_the_file(provider: str) -> None:
    planned = plan(file_of({"provider": provider, "name": "entrance", "class_name": "outside"}, {}))
    items = objects(planned)
    (gateway,), (made,) = of_kind(items, "Gateway"), of_kind(items, "GatewayClass")
    assert (gateway["metadata"]["name"], gateway["spec"]["gatewayClassName"]) == ("entrance", "outside")
    assert (made["metadata"]["name"], made["spec"]["controllerName"]) == ("outside", GATEWAY_PROVIDERS[provider]["controller_name"])
    assert {route["spec"]["parentRefs"][0]["name"] for route in of_kind(items, "HTTPRoute")} == {"entrance"}


@pytest.mark.parametrize("name", CASES)
def test_pools_name_their_endpoint_picker_and_it_reads_them(name: str) -> None:
    planned, items = case(name)
    for service in planned["services"]:
        pool, picker = find(items, "InferencePool", service["name"]), service["scheduler"]
        assert pool["apiVersion"] == service["pool"]["api_version"]
        spec = pool["spec"]
        reference = spec.get("endpointPickerRef") or spec["extensionRef"]
        port = reference["port"]["number"] if "port" in reference else reference["portNumber"]
        assert port in [each["port"] for each in find(items, "Service", reference["name"])["spec"]["ports"]]
        assert reference["failureMode"] in planned["gateway"]["failure_modes"]
        selector = spec["selector"].get("matchLabels", spec["selector"])
        assert selector.items() <= find(items, "Deployment", f"{service['name']}-decode")["spec"]["template"]["metadata"]["labels"].items()
        assert f"--pool-group={group(pool)}" in picker["args"]
        assert [group(pool)] in [rule["apiGroups"] for rule in picker["rules"] if rule["resources"] == ["inferencepools"]]


@pytest.mark.parametrize("name", CASES)
def test_proxy_and_endpoint_picker_agree_on_tls(name: str) -> None:
    planned, items = case(name)
    for service in planned["services"]:
        secure = "--secure-serving=true" in service["scheduler"]["args"]
        rules = [rule for rule in of_kind(items, "DestinationRule") if rule["spec"]["host"].startswith(f"{service['scheduler']['name']}.")]
        if planned["gateway"]["provider"] in ("istio", "openshift"):
            assert [rule["spec"]["trafficPolicy"]["tls"]["mode"] for rule in rules] == (["SIMPLE"] if secure else [])
        else:
            assert not rules and secure == (planned["gateway"]["provider"] != "envoy_gateway")


def test_google_gets_its_policies_and_no_timeouts() -> None:
    _plan, items = case("gke")
    assert not any("timeouts" in rule for route in of_kind(items, "HTTPRoute") for rule in route["spec"]["rules"])
    assert not of_kind(items, "GatewayClass"), "Google's own"
    for kind in ("HealthCheckPolicy", "GCPBackendPolicy"):
        for policy in of_kind(items, kind):
            target = policy["spec"]["targetRef"]
            assert group(find(items, target["kind"], target["name"])) == target["group"]
    assert [policy["spec"]["default"]["timeoutSec"] for policy in of_kind(items, "GCPBackendPolicy")] == [300, 90]


def test_a_route_of_openshift_leads_to_the_proxy_and_outwaits_long_answers() -> None:
    for name, termination in (("openshift", "edge"), ("openshift https", "passthrough")):
        planned, items = case(name)
        route = of_kind(items, "Route")[0]
        assert route["spec"]["to"]["name"] == f"{planned['gateway']['name']}-openshift-default"
        assert route["spec"]["port"]["targetPort"] in [listener["name"] for listener in planned["gateway"]["listeners"]]
        assert route["spec"]["tls"]["termination"] == termination
        assert route["metadata"]["annotations"]["haproxy.router.openshift.io/timeout"] == "3600s"


@pytest.mark.parametrize(
    ("name", "kind", "path", "image"),
    [
        ("kgateway mirrored", "AgentgatewayParameters", ("image",), "mirror:5000/agentgateway:v0.11.2"),
        ("kgateway envoy mirrored", "GatewayParameters", ("kube", "envoyContainer", "image"), "mirror:5000/all/kgateway-dev/envoy-wrapper:v2.1.2"),
        ("kgateway envoy", "GatewayParameters", ("kube", "envoyContainer", "image"), "cr.kgateway.dev/kgateway-dev/envoy-wrapper:v2.1.2"),
    ],
)
def test_kgateway_proxy_images_follow_the_mirror_and_are_listed(name: str, kind: str, path: tuple[str, ...], image: str) -> None:
    planned, items = case(name)
    made = of_kind(items, kind)[0]
    assert made["metadata"]["name"] == of_kind(items, "Gateway")[0]["spec"]["infrastructure"]["parametersRef"]["name"]
    parts = made["spec"]
    for key in path:
        parts = parts[key]
    assert "{registry}/{repository}:{tag}".format(**parts) == image and image in needed(planned)["images"]


def test_proxies_get_the_image_pull_secrets_of_the_file() -> None:
    """The schema of the overlay accepts everything, so the test checks that it has the shape of a Deployment."""
    parameters = of_kind(case("agentgateway with credentials")[1], "AgentgatewayParameters")[0]["spec"]
    assert parameters["deployment"]["spec"]["template"]["spec"]["imagePullSecrets"] == [{"name": "mirror"}]
    proxy = of_kind(case("envoy_gateway with credentials")[1], "EnvoyProxy")[0]["spec"]["provider"]["kubernetes"]["envoyDeployment"]["patch"]["value"]
    assert proxy["spec"]["template"]["spec"]["imagePullSecrets"] == [{"name": "mirror"}]
    parameters = of_kind(case("kgateway mirrored")[1], "AgentgatewayParameters")[0]["spec"]
    assert parameters["deployment"]["spec"]["template"]["spec"]["imagePullSecrets"] == [{"name": "mirror"}]
    assert of_kind(case("kgateway envoy mirrored")[1], "GatewayParameters")[0]["spec"]["kube"]["podTemplate"] == {"imagePullSecrets": [{"name": "mirror"}]}
    proxy = of_kind(case("envoy_gateway")[1], "EnvoyProxy")[0]["spec"]["provider"]["kubernetes"]["envoyDeployment"]["patch"]["value"]
    assert "imagePullSecrets" not in proxy["spec"]["template"]["spec"]


@pytest.mark.parametrize("name", ["istio by hand", "istio by hand, apart"])
def test_envoy_filters_call_the_endpoint_picker_on_own_routes_and_obey_it(name: str) -> None:
    planned, items = case(name)
    for service in planned["services"]:
        filters = [item for item in of_kind(items, "EnvoyFilter") if service["gateway"]["filter"]["name"] == item["metadata"]["name"]]
        spec = filters[0]["spec"]
        assert filters[0]["metadata"]["namespace"] == planned["gateway"]["namespace"]
        assert spec["workloadSelector"]["labels"] == {"gateway.networking.k8s.io/gateway-name": planned["gateway"]["name"]}
        insert, enable, obey = (patch["patch"]["value"] for patch in spec["configPatches"])
        assert insert["disabled"] is True and list(enable["typed_per_filter_config"]) == [insert["name"]]
        route = find(items, "HTTPRoute", service["route"]["name"])
        matched = [patch["match"] for patch in spec["configPatches"]]
        assert matched[1]["routeConfiguration"]["vhost"]["route"]["name"] == f"{route['metadata']['namespace']}.{route['metadata']['name']}.0"
        backend = route["spec"]["rules"][0]["backendRefs"][0]
        assert backend["kind"] == "Service" and matched[2]["cluster"] == {
            "service": f"{backend['name']}.llm-d.svc.cluster.local",
            "portNumber": backend["port"],
        }
        cluster = insert["typed_config"]["grpc_service"]["envoy_grpc"]["cluster_name"]
        assert cluster == f"outbound|9002||{service['scheduler']['name']}.llm-d.svc.cluster.local"
        assert "envoy.lb" in insert["typed_config"]["metadata_options"]["receiving_namespaces"]["untyped"]
        source = obey["load_balancing_policy"]["policies"][0]["typed_extension_config"]["typed_config"]["override_host_sources"][0]["metadata"]
        assert (source["key"], source["path"][0]["key"]) == ("envoy.lb", "x-gateway-destination-endpoint")


def envoy() -> str:
    program = next((path for path in ENVOYS if path and Path(path).is_file()), None)
    if not program:
        pytest.skip("no Envoy: bring up the local cluster, or set LLM_D_ENVOY")
    return program


def validated(configuration: Facts, folder: Path) -> None:
    """Check that the real Envoy accepts a configuration."""
    (folder / "envoy.yaml").write_text(json.dumps(configuration), encoding="utf-8")
    done = subprocess.run([envoy(), "--mode", "validate", "-c", str(folder / "envoy.yaml")], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]


def test_envoy_accepts_the_patches_of_the_envoy_filters(tmp_path: Path) -> None:
    """They are inserted as Istio inserts them: the filters before the router, the override on the route, the policy into the cluster."""
    planned, items = case("istio by hand")
    configuration = yaml.safe_load(case("standalone")[0]["services"][0]["scheduler"]["proxy"]["config"])
    static = configuration["static_resources"]
    manager = static["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    router, clusters = manager["http_filters"][-1], [each for each in static["clusters"] if each["name"] == "admin"]
    manager["http_filters"], routes = [], []
    for item in of_kind(items, "EnvoyFilter"):
        insert, enable, obey = (patch["patch"]["value"] for patch in item["spec"]["configPatches"])
        name = item["metadata"]["name"]
        manager["http_filters"].append(insert)
        routes.append({"match": {"prefix": f"/{name}"}, "route": {"cluster": name}, **enable})
        picker = insert["typed_config"]["grpc_service"]["envoy_grpc"]["cluster_name"]
        servers = {"name": name, "connect_timeout": "1s", "type": "STATIC", "load_assignment": {"cluster_name": name, "endpoints": []}, **obey}
        clusters += [servers, {"name": picker, "connect_timeout": "1s", "type": "STATIC", "load_assignment": {"cluster_name": picker, "endpoints": []}}]
    manager["http_filters"].append(router)
    manager["route_config"]["virtual_hosts"][0]["routes"] = routes
    static["clusters"] = clusters
    validated(configuration, tmp_path)
    assert len(routes) == len(planned["services"])


@pytest.mark.parametrize("name", ["standalone", "standalone traced"])
def test_envoy_accepts_the_standalone_configuration(name: str, tmp_path: Path) -> None:
    proxy = case(name)[0]["services"][0]["scheduler"]["proxy"]
    validated(yaml.safe_load(proxy["config"]), tmp_path)


@pytest.mark.parametrize(("name", "bundles"), [("standalone", {"inference-extension"}), ("standalone without pools", set())])
def test_a_standalone_picker_needs_no_gateway_api(name: str, bundles: set[str]) -> None:
    planned, items = case(name)
    assert {group(item) for item in items} - BUILT_IN == ({"inference.networking.k8s.io"} if bundles else set())
    assert {bundle["name"] for bundle in planned["prerequisites"]["crds"]} == bundles and [each["name"] for each in planned["prerequisites"]["namespaces"]] == [
        "llm-d"
    ]
    for service in planned["services"]:
        picker = service["scheduler"]
        pod = find(items, "Deployment", picker["name"])["spec"]["template"]
        proxy = find(items, "Service", f"{service['name']}-gateway")
        assert proxy["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        container = pod["spec"]["initContainers"][-1]
        assert proxy["spec"]["ports"][0]["targetPort"] in [port["containerPort"] for port in container["ports"]]
        assert list(find(items, "ConfigMap", f"{service['name']}-gateway")["data"]) == [picker["proxy"]["config_key"]]
        assert container["args"][1] == f"{container['volumeMounts'][0]['mountPath']}/{picker['proxy']['config_key']}"
        if bundles:
            assert f"--pool-name={service['name']}" in picker["args"] and not [argument for argument in picker["args"] if "--endpoint-" in argument]
            continue
        given = next(argument for argument in picker["args"] if argument.startswith("--endpoint-selector="))
        selector = dict(pair.split("=", 1) for pair in given.split("=", 1)[1].split(","))
        assert selector.items() <= find(items, "Deployment", f"{service['name']}-decode")["spec"]["template"]["metadata"]["labels"].items()
        assert not [argument for argument in picker["args"] if argument.startswith("--pool-name=")]


def test_proxies_that_resolve_a_name_get_the_addresses_of_the_endpoint_pickers_pods() -> None:
    """The Service is headless: with a single address, the proxies' connections would stay with one pod, even when another replaces it."""
    planned, items = case("envoy_ai_gateway")
    for service in planned["services"]:
        named = find(items, "InferencePool", service["name"])["spec"]["endpointPickerRef"]
        picker = find(items, "Service", named["name"])["spec"]
        assert picker["clusterIP"] == "None" and picker["selector"] == service["scheduler"]["selector"]
        ports = [
            port["containerPort"] for port in find(items, "Deployment", service["scheduler"]["name"])["spec"]["template"]["spec"]["containers"][0]["ports"]
        ]
        assert named["port"]["number"] in ports, "nothing in between translates a port"


@pytest.mark.parametrize("before", ALL)
def test_a_provider_change_prunes_only_objects_that_the_new_one_lacks(before: str) -> None:
    """Every object of one provider that the next one lacks is pruned, if both use the same namespaces."""
    apart = "apart" in before
    old_plan, old = case(before)
    for after in ALL:
        if ("apart" in after) != apart or "none" in (before, after) or "namespace" in before + after:
            continue
        new_plan, new = case(after)
        if new_plan["gateway"]["routes_namespace"] != old_plan["gateway"]["routes_namespace"]:
            continue
        keys = {(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"], group(item)) for item in new}
        gone = {(kind, place or None, name, version.rpartition("/")[0]) for version, kind, place, name in pruned(old, new_plan, old_plan)}
        assert not keys & gone, "no needed object is pruned"
        if new_plan["gateway"]["provider"] == old_plan["gateway"]["provider"]:
            continue
        for item in old:
            key = (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"], group(item))
            assert key in keys | gone, (before, after, key)
