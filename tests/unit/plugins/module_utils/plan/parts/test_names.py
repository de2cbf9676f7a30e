"""A suffix is at every name of a file's objects, and nowhere else; two files with different suffixes share no object. Endpoint pickers in a namespace of
their own: the objects in that namespace, those that stay with the servers, and the references between them.
"""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems, secret_definitions
from ansible_collections.llm_d.inference.plugins.module_utils.plan.checks.validate_services import LONGEST_NAME
from ansible_collections.llm_d.inference.plugins.module_utils.plan.parts.names import SUFFIX
from ansible_collections.llm_d.inference.plugins.module_utils.plan.parts.pod_spec import HOME_LABEL
from ansible_collections.llm_d.inference.plugins.module_utils.validation import targets
from ansible_collections.llm_d.inference.plugins.module_utils.validation.benchmark_runs import runs
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions
from pruned import Facts, pruned

from ..test_build import LLAMA, SIMULATOR, user

ZOO: Facts = {**SIMULATOR, "name": "zoo", "route": {"path": "/first", "direct_path": "/direct"}, "scheduler": {"preset": "disaggregated"}}
YAK: Facts = {**SIMULATOR, "name": "yak", "route": {"path": "/second", "name": "perch"}, "service": {"name": "barn"}}
# A service with shared requests, a scheduled warm-up, and adapters that are loaded while servers run.
FULL: Facts = {
    **ZOO,
    "model": {**ZOO["model"], "adapters": [{"name": "sql", "source": "org/sql"}], "adapters_at_runtime": True},
    "route": {**ZOO["route"], "weights": {"zoo": 90, "yak": 10}},
    "warmup": {"prompts": ["Once upon a time. " * 20], "schedule": "@hourly"},
}
FEATURES: Facts = {"llm_d_release": "scheduler-0.7", "llm_d_monitoring": {"scrape": True, "alerts": True, "dashboards": ["grafana"]}, "llm_d_model_token": "t"}
# Objects that files share: they belong to the cluster.
COMMON = {"Namespace", "GatewayClass"}


def file_of(**variables: object) -> Facts:
    return user(ZOO, YAK, **{**FEATURES, **variables})


def text(made: Facts) -> str:
    """All objects as text, without checksums and programs, in which a name can occur by chance."""
    objects = json.dumps([definitions(plan(made)), targets.required_objects(plan(made))], sort_keys=True)
    objects = re.sub(r'(?<="applyset.kubernetes.io/part-of": )"[^"]+"', "", objects)
    return re.sub(r'"llm-d.ai/[a-z]+-checksum": "[0-9a-f]+"|"uid\\": \\"[0-9a-f]+|"binaryData": {[^}]*}', "", objects)


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"llm_d_gateway": {"name": "entrance", "routes_namespace": "teams"}},
        {"llm_d_gateway": {"provider": "istio"}},
        {"llm_d_model_services": [FULL, YAK]},
        {"llm_d_model_services": [FULL, YAK], "llm_d_gateway": {"provider": "agentgateway", "name": "entrance"}},
    ],
)
def test_the_suffix_is_appended_to_every_name_and_changes_nothing_else(variables: Facts) -> None:
    gateway = variables.get("llm_d_gateway", {}).get("name") or ("llm-d-gateway-istio" if "llm_d_gateway" in variables else "llm-d-gateway")
    renamed = re.sub(rf"zoo|yak|perch|barn|{gateway}", lambda match: f"{match.group(0)}-blue", text(file_of(**variables)))
    renamed = renamed.replace('part-of": "llm-d"', 'part-of": "llm-d-blue"').replace('"llm-d-model-token"', '"llm-d-blue-model-token"')
    assert text(file_of(**variables, **{SUFFIX: "-blue"})) == renamed


def test_two_suffixes_never_meet() -> None:
    blue, green = (definitions(plan(file_of(**{SUFFIX: each}))) for each in ("-blue", "-green"))
    there = [{(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]) for item in items} for items in (blue, green)]
    assert {kind for kind, _namespace, _name in there[0] & there[1]} <= COMMON
    assert pruned(blue, plan(file_of(**{SUFFIX: "-green"}))) == []
    assert pruned(blue, plan({**file_of(**{SUFFIX: "-blue"}), "llm_d_model_services": []}))


def test_the_gateway_of_another_provider_is_pruned_under_its_name() -> None:
    made = file_of(**{SUFFIX: "-blue"})
    before = plan({**made, "llm_d_scheduler_namespace": "pickers", "llm_d_gateway": {"routes_namespace": "routes"}})
    after = plan({**made, "llm_d_gateway": {"provider": "istio"}})
    removed = {(kind, namespace, name) for _version, kind, namespace, name in pruned(definitions(before), after, before)}
    assert ("Gateway", "llm-d", "llm-d-gateway-blue") in removed and ("ReferenceGrant", "pickers", "llm-d-gateway-blue-llm-d") in removed


def test_a_gateway_of_someone_else_keeps_its_name() -> None:
    for gateway in ({"provider": "none", "name": "shared"}, {"create": False, "name": "shared"}):
        assert plan(file_of(llm_d_gateway=gateway, **{SUFFIX: "-blue"}))["gateway"]["name"] == "shared"


@pytest.mark.parametrize("written", ["zoo", "zoo-blue"])
def test_the_file_refers_to_services_with_the_suffix_or_without(written: str) -> None:
    made = file_of(llm_d_benchmark={"services": [written]}, llm_d_scheduler_overrides={written: {"preset": "queue"}}, **{SUFFIX: "-blue"})
    planned = plan(made)
    assert [each["name"] for each in runs(planned)] == ["zoo-blue"]
    assert [len(service["servers"]) for service in planned["services"]] == [1, 1], "the override is for this one"
    for given, path in (
        ({"llm_d_benchmark": {"services": ["zo"]}}, "llm_d_benchmark.services[0]"),
        ({"llm_d_scheduler_overrides": {"zo": {}}}, "llm_d_scheduler_overrides.zo"),
    ):
        (problem,) = problems(file_of(**given, **{SUFFIX: "-blue"}))
        assert (problem.path, problem.fix) == (path, "Did you mean zoo?")


@pytest.mark.parametrize("weights", [{"zoo": 9, "yak": 1}, {"zoo-blue": 9, "yak-blue": 1}, {"zoo": 9, "yak-blue": 1}])
@pytest.mark.parametrize("provider", ["envoy_gateway", "agentgateway"])
def test_weights_name_services_with_the_suffix_or_without(weights: Facts, provider: str) -> None:
    zoo = {**FULL, "route": {**FULL["route"], "weights": weights}}
    made = file_of(llm_d_model_services=[zoo, YAK], llm_d_gateway={"provider": provider}, **{SUFFIX: "-blue"})
    planned = plan(made)
    end = planned["gateway"]["routes_suffix"]
    routes = {item["metadata"]["name"].replace(end, ""): item["spec"]["rules"] for item in definitions(planned) if item["kind"] == "HTTPRoute"}
    parts = {"zoo-blue.yak-blue"} if provider == "envoy_gateway" else set()
    assert set(routes) == {"zoo-blue", "zoo-blue-direct", "perch-blue"} | parts
    pins = [each["value"] for rule in routes["zoo-blue"] for each in rule["matches"][0].get("headers", []) if each["name"] == "x-llm-d-service"]
    assert pins == ["zoo-blue"]
    target = targets.services(planned)[0]
    assert (target["weights"], target["headers"]["x-llm-d-service"]) == ({"zoo-blue": 9, "yak-blue": 1}, "zoo-blue")


def test_the_name_of_an_element_precedes_the_same_name_with_the_suffix() -> None:
    zoo = {**FULL, "route": {**FULL["route"], "weights": {"zoo": 9, "zoo-blue": 1}}}
    planned = plan(file_of(llm_d_model_services=[zoo, {**YAK, "name": "zoo-blue"}], **{SUFFIX: "-blue"}))
    assert planned["services"][0]["weights"] == {"zoo-blue": 9, "zoo-blue-blue": 1}


@pytest.mark.parametrize(
    ("weights", "place", "words"),
    [
        ({"zoo": 9, "yka": 1}, ".yka", "Write one of those that are: yak."),
        ({"zoo-blue": 9, "yka-blue": 1}, ".yka-blue", "Write one of those that are: yak."),
        ({"yak": 1}, "", "Add 'zoo: 90', or 0"),
        ({"zoo": 9, "yak": 1, "yak-blue": 2}, ".yak-blue", "is the same service as 'yak'."),
    ],
)
def test_weights_that_name_no_service_are_reported_at_their_path(weights: Facts, place: str, words: str) -> None:
    zoo = {**FULL, "route": {**FULL["route"], "weights": weights}}
    (problem,) = problems(file_of(llm_d_model_services=[zoo, YAK], **{SUFFIX: "-blue"}))
    assert problem.path == f"llm_d_model_services[0].route.weights{place}" and words in str(problem)


def test_shared_routes_lead_to_the_service_where_routes_use_no_pool() -> None:
    yak = {**YAK, "service": {"name": "barn", "port": 81}}
    made = file_of(llm_d_model_services=[FULL, yak], llm_d_gateway={"provider": "envoy_gateway", "connection": "ext_proc"}, **{SUFFIX: "-blue"})
    rules = {item["metadata"]["name"]: item["spec"]["rules"] for item in definitions(plan(made)) if item["kind"] == "HTTPRoute"}
    for name in ("perch-blue", "zoo-blue.yak-blue"):
        assert [(each["kind"], each["name"], each["port"]) for rule in rules[name] for each in rule["backendRefs"]] == [("Service", "barn-blue", 81)], name


@pytest.mark.parametrize(
    ("variables", "service", "path", "words"),
    [
        ({SUFFIX: "Blue"}, {}, SUFFIX, "ending with a letter or digit"),
        ({SUFFIX: "-"}, {}, SUFFIX, "ending with a letter or digit"),
        ({SUFFIX: "-" + "x" * 20}, {}, SUFFIX, "at most 20"),
        ({SUFFIX: "-blue", "llm_d_instance": "i" * 60}, {}, SUFFIX, "a name has at most 63 characters"),
        ({SUFFIX: "-blue", "llm_d_gateway": {"name": "g" * 60}}, {}, SUFFIX, "g-blue' has 65 characters"),
        ({SUFFIX: "-blue"}, {"name": "n" * LONGEST_NAME}, "llm_d_model_services[0].name", f"at most {LONGEST_NAME - 5} characters, such as nnn"),
        ({SUFFIX: "-blue"}, {"name": "n" * 41, "warmup": FULL["warmup"]}, "llm_d_model_services[0].name", "at most 40 characters, or take out"),
        ({SUFFIX: "-blue"}, {"name": "n" * 40, "accelerator": {"nodes": 2}}, "llm_d_model_services[0].name", "at most 36 characters, such as nnn"),
    ],
)
def test_names_that_are_too_long_are_refused(variables: Facts, service: Facts, path: str, words: str) -> None:
    made = user({**SIMULATOR, **service}, **variables)
    if "accelerator" in service:
        made["llm_d_charts"] = {**made.get("llm_d_charts", {}), "leader_worker_set": "/c"}
    (problem,) = problems(made)
    assert problem.path == path and words in str(problem)


def test_the_longest_name_fits_with_its_suffix() -> None:
    assert not problems(user({**SIMULATOR, "name": "n" * (LONGEST_NAME - 5)}, **{SUFFIX: "-blue"}))
    assert not problems(user({**SIMULATOR, "name": "n" * 40, "warmup": FULL["warmup"]}, **{SUFFIX: "-blue"}))


APART: Facts = {"llm_d_scheduler_namespace": "pickers"}
WATCHED: Facts = {"llm_d_monitoring": {"scrape": True, "alerts": True, "dashboards": ["grafana"]}, "llm_d_model_token": "t", "llm_d_release": "scheduler-0.7"}
PRECISE: Facts = {**SIMULATOR, "scheduler": {"preset": "precise_prefix"}}
STANDALONE: Facts = {"llm_d_gateway": {"provider": "standalone"}}
BY_HAND: Facts = {"llm_d_gateway": {"provider": "istio", "connection": "ext_proc", "traffic": {"max_requests": 9}}}


def placed(made: Facts) -> set[tuple[str, str, str]]:
    return {(item["kind"], item["metadata"]["name"], item["metadata"].get("namespace", "")) for item in definitions(plan(made))}


@pytest.mark.parametrize(
    ("variables", "moved"),
    [
        ({}, set()),
        (BY_HAND, {("DestinationRule", "sim-epp-tls")}),
        (STANDALONE, {("ConfigMap", "sim-gateway"), ("Service", "sim-gateway")}),
    ],
)
def test_only_objects_of_the_endpoint_picker_move_to_the_scheduler_namespace(variables: Facts, moved: set[tuple[str, str]]) -> None:
    beside, apart = (placed(user(PRECISE, **{**WATCHED, **variables, **where})) for where in ({}, APART))
    picker = "sim-epp-tls" if variables is BY_HAND else "sim-epp-solo" if variables is STANDALONE else "sim-epp"
    own = {("Service", "sim-events"), *((kind, picker) for kind in ("ServiceAccount", "ConfigMap", "Deployment", "Service", "PodMonitor"))}
    assert {(kind, name) for kind, name, _place in beside - apart} == own | moved
    made = {("Namespace", "pickers", ""), *(("ReferenceGrant", "llm-d-gateway-llm-d", "pickers") for _one in [1] if not variables)}
    assert apart - beside == {(kind, name, "pickers") for kind, name in own | moved} | made


def test_endpoint_picker_and_servers_reference_each_other_across_namespaces() -> None:
    planned = plan(user(PRECISE, **WATCHED, **APART))
    items = {(item["kind"], item["metadata"]["name"]): item for item in definitions(planned)}
    (service,) = planned["services"]
    assert {"--pool-name=sim", "--pool-namespace=llm-d"} <= set(service["scheduler"]["args"])
    binding, role = items["RoleBinding", "sim-epp"], items["Role", "sim-epp"]
    assert binding["metadata"]["namespace"] == role["metadata"]["namespace"] == "llm-d"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "sim-epp", "namespace": "pickers"}]
    assert "tcp://sim-events.pickers:5557" in json.dumps(items["Deployment", "sim-decode"]), "servers send their events there"
    (backend,) = items["EnvoyExtensionPolicy", "sim-epp"]["spec"]["extProc"][0]["backendRefs"]
    assert (backend["name"], backend["namespace"]) == ("sim-epp", "pickers")
    grant = items["ReferenceGrant", "llm-d-gateway-llm-d"]["spec"]
    assert grant["from"] == [{"group": "gateway.envoyproxy.io", "kind": "EnvoyExtensionPolicy", "namespace": "llm-d"}]
    assert grant["to"] == [{"group": "", "kind": "Service"}]
    for kind in ("Deployment", "ConfigMap", "Service", "ServiceAccount", "PodMonitor"):
        assert items[kind, "sim-epp"]["metadata"]["labels"][HOME_LABEL] == "llm-d"
    assert HOME_LABEL not in role["metadata"]["labels"] and HOME_LABEL not in items["InferencePool", "sim"]["metadata"]["labels"]
    assert 'namespace=\\"pickers\\",pod=~\\"sim-epp-' in json.dumps(items["PrometheusRule", "sim"])
    assert 'namespace=~\\\\\\"llm-d|pickers\\\\\\"' in json.dumps(items["ConfigMap", "sim-grafana"]), "the restarts of all"


def test_no_grant_is_needed_where_the_policy_is_in_the_namespace_of_the_endpoint_picker() -> None:
    made = user(SIMULATOR, **APART, llm_d_gateway={"routes_namespace": "pickers"})
    assert [(grant["name"], grant["namespace"]) for grant in plan(made)["gateway"]["grants"]] == [("llm-d-gateway-routes", "llm-d")]


def test_an_envoy_filter_calls_the_endpoint_picker_in_its_namespace() -> None:
    policies = plan(user(SIMULATOR, **BY_HAND, **APART))["services"][0]["gateway"]
    assert "outbound|9002||sim-epp-tls.pickers.svc.cluster.local" in json.dumps(policies["filter"])
    assert policies["filter"]["service"] == "sim.llm-d.svc.cluster.local"
    assert {rule["host"]: rule["namespace"] for rule in policies["rules"]} == {
        "sim-epp-tls.pickers.svc.cluster.local": "pickers",
        "sim.llm-d.svc.cluster.local": "llm-d",
    }


def test_claims_and_preflight_have_the_namespace_of_the_endpoint_picker() -> None:
    planned = plan(user(SIMULATOR, **WATCHED, **APART, llm_d_image_pull_secrets=["own"]))
    (target,) = targets.services(planned)
    assert (target["metrics"]["namespace"], target["servers"]["namespace"]) == ("pickers", "llm-d")
    places = {(each["kind"], each["name"]): each["namespace"] for each in targets.required_objects(planned)}
    assert places["Deployment", "sim-epp"] == places["PodMonitor", "sim-epp"] == "pickers"
    assert places["Deployment", "sim-decode"] == places["PodMonitor", "sim-decode"] == "llm-d"
    assert ("Deployment", "pickers", "sim-epp") in targets.object_claims(planned)
    needs = planned["preflight"]
    assert {"llm-d", "pickers"} <= set(needs["namespaces"]) and "pickers" in needs["made"]
    assert {(each["namespace"], each["name"]) for each in needs["named"]} == {("llm-d", "own"), ("pickers", "own")}
    assert [each["name"] for each in needs["resources"]] == ["sim-decode"], "the preflight reads the quotas of the servers' namespace"
    standalone = plan(user(SIMULATOR, **STANDALONE, **APART))
    assert targets.services(standalone)[0]["address"]["namespace"] == "pickers"


def test_warm_up_stays_with_servers_and_shares_are_measured_at_endpoint_pickers() -> None:
    planned = plan(user(FULL, YAK, **APART))
    job = {(item["kind"], item["metadata"]["namespace"]) for item in definitions(planned) if item["metadata"]["name"] == "zoo-warmup"}
    assert job == {(kind, "llm-d") for kind in ("ServiceAccount", "Role", "RoleBinding", "ConfigMap", "CronJob")}
    assert "pickers" not in planned["services"][0]["warmup_job"]["options"]
    assert [each["name"] for each in planned["preflight"]["resources"]] == ["zoo-decode", "zoo-prefill", "zoo-warmup", "yak-decode"]
    measured = targets.services(planned)
    assert measured[0]["weights"] == {"zoo": 90, "yak": 10} and {each["metrics"]["namespace"] for each in measured} == {"pickers"}
    policies = [item for item in definitions(planned) if item["kind"] == "EnvoyExtensionPolicy"]
    namespaces = {each["name"]: item["spec"]["extProc"][0]["backendRefs"][0]["namespace"] for item in policies for each in item["spec"]["targetRefs"]}
    assert namespaces == dict.fromkeys(("zoo", "perch", "zoo.yak"), "pickers")


def test_secrets_are_in_both_namespaces_once() -> None:
    made = user(LLAMA, **APART, llm_d_model_token="t", llm_d_image_pull_credentials=[{"registry": "r.example.com", "username": "u", "password": "p"}])
    names = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in secret_definitions(made)]
    wanted = [(place, f"llm-d-{name}") for place in ("llm-d", "pickers") for name in ("model-token", "image-pull")]
    assert sorted(each for each in names if each[0] in ("llm-d", "pickers")) == sorted(wanted)


def test_the_account_needs_permissions_in_both_namespaces() -> None:
    made = user(SIMULATOR, **WATCHED, **APART)
    permissions = {(each["verb"], each["resource"]) for each in plan(made)["preflight"]["permissions"] if each.get("namespace") == "pickers"}
    for resource in ("deployments", "services", "configmaps", "serviceaccounts", "podmonitors", "referencegrants"):
        assert {("create", resource), ("list", resource), ("delete", resource)} <= permissions, resource
    assert {("get", "services/proxy"), ("get", "pods/log"), ("create", "events")} <= permissions
    by_hand = plan(user(SIMULATOR, **BY_HAND, **APART))["preflight"]["permissions"]
    assert {each["namespace"] for each in by_hand if each["resource"] == "destinationrules"} == {"llm-d", "pickers"}
    assert not [resource for _verb, resource in permissions if resource in ("roles", "rolebindings", "inferencepools", "persistentvolumeclaims")]


def test_removed_services_are_pruned_in_both_namespaces() -> None:
    other = {**SIMULATOR, "name": "other", "route": {"path": "/other"}}
    there = definitions(plan(user(PRECISE, other, **WATCHED, **APART)))
    removed = pruned(there, plan(user({**PRECISE, "scheduler": {"preset": "queue"}}, **WATCHED, **APART)))
    assert ("v1", "Service", "pickers", "sim-events") in removed, "the preset requires it no longer"
    of_other = {(kind, name) for _version, kind, place, name in removed if place == "pickers" and name.startswith("other")}
    assert of_other == {(kind, "other-epp") for kind in ("ServiceAccount", "ConfigMap", "Deployment", "Service", "PodMonitor")}
    assert not pruned(there, plan(user(PRECISE, other, **WATCHED, **APART, llm_d_namespace="elsewhere"))), "they belong to the file of another namespace"


@pytest.mark.parametrize(
    ("service", "variables", "words"),
    [
        ({}, {"llm_d_gateway": {"provider": "istio"}}, "istio reads it in the namespace of the pool"),
        ({}, {"llm_d_gateway": {"provider": "kgateway"}}, "Take it out, or write a provider that takes the namespace"),
        (
            {
                "engine": {"type": "vllm", "image": "mine/vllm:nightly", "version": "0.23.0"},
                "model": {"uri": "pvc://claim/model"},
                "scheduler": {"preset": "precise_prefix"},
            },
            {"llm_d_release": "scheduler-0.7"},
            "would mount the claim of the model",
        ),
    ],
)
def test_another_namespace_of_endpoint_pickers_is_refused_where_it_is_not_supported(service: Facts, variables: Facts, words: str) -> None:
    made = user({**SIMULATOR, **service}, **variables)
    assert not problems(made)
    (problem,) = problems({**made, **APART})
    assert problem.path == "llm_d_scheduler_namespace" and words in str(problem)
    assert not problems({**made, "llm_d_scheduler_namespace": "llm-d"}), "the namespace of the servers is accepted"
