"""The next run prunes the objects that the file no longer requests, and nothing else."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.labels import HOME_LABEL, PART_OF
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.applyset import reference
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.record import owned, with_services
from ansible_collections.llm_d.inference.plugins.module_utils.plan.parts.pod_spec import SERVICE_LABEL
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions, with_secrets
from hypothesis import given
from property_tests import examples
from pruned import Facts, pruned

from ..test_build import LLAMA, SIMULATOR, files, user

NEVER = {"Namespace", "Secret", "PersistentVolumeClaim"}
MONITORED = {"scrape": True, "alerts": True, "dashboards": ["grafana", "perses"]}
SCALED = {"provider": "keda", "min": 1, "max": 3, "metrics": {"queue": 5}, "prometheus": "http://prometheus:9090"}


def keys(items: t.Iterable[Facts]) -> set[tuple[str, str, str, str]]:
    return {(item["apiVersion"], item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]) for item in items}


def moved(before: Facts, after: Facts) -> tuple[list[tuple[str, str, str, str]], set[tuple[str, str, str, str]]]:
    """(keys of the objects of the first file that the second prunes, in order; keys of the objects that only the first has)."""
    there = definitions(plan(before))
    return pruned(there, plan(after), plan(before)), keys(there) - keys(definitions(plan(after)))


# Options of the storage of two services.
GIVEN_UP = {"a": {"delete_claim": True}, "b": {}}


@examples(40)
@given(files, files)
def test_exactly_the_objects_that_the_file_no_longer_requests_are_pruned(before: Facts, after: Facts) -> None:
    gone, rest = moved(before, after)
    assert set(gone) == {key for key in rest if key[1] not in NEVER} and len(gone) == len(set(gone))


@examples(20)
@given(files)
def test_a_second_run_prunes_nothing(made: Facts) -> None:
    assert moved(made, made) == ([], set())


PULL = [{"registry": "r.example.com", "username": "u", "password": "p"}]
STANDALONE = {"llm_d_gateway": {"provider": "standalone"}, "llm_d_release": "router-0.10"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"llm_d_monitoring": MONITORED}, {}),
        ({"llm_d_gateway": {"provider": "istio"}}, {}),
        ({"llm_d_gateway": {"provider": "gke"}}, {"llm_d_gateway": {"provider": "kgateway"}}),
        (STANDALONE, {"llm_d_release": "router-0.10"}),
        ({"llm_d_release": "router-0.10"}, STANDALONE),
    ],
)
def test_objects_of_an_option_are_pruned_when_it_is_removed_or_changed(first: Facts, second: Facts) -> None:
    before, after = user(SIMULATOR, **first, llm_d_platform="gke" if "gke" in str(first) else "kubernetes"), user(SIMULATOR, **second)
    gone, rest = moved(before, after)
    assert gone and set(gone) == {key for key in rest if key[1] not in NEVER}


@pytest.mark.parametrize("provider", ["envoy_gateway", "istio", "kgateway", "agentgateway", "standalone", "gke", "openshift"])
def test_objects_in_shared_namespaces_are_labeled_with_their_home_namespace(provider: str) -> None:
    """Objects in the namespaces for routes, Gateways and endpoint pickers have the label; objects in the file's own namespace do not."""
    apart = {"provider": provider, **({} if provider == "standalone" else {"namespace": "gateways", "routes_namespace": "routes"})}
    platform = provider if provider in ("gke", "openshift") else "kubernetes"
    given = user(LLAMA, llm_d_gateway=apart, llm_d_platform=platform, llm_d_monitoring=MONITORED, llm_d_model_token="hf_x", llm_d_image_pull_credentials=PULL)
    planned = plan({**given, **({"llm_d_scheduler_namespace": "pickers"} if provider in ("envoy_gateway", "standalone") else {})})
    made = [item for item in with_secrets(planned) if item["metadata"].get("namespace")]
    controllers = {chart["namespace"] for chart in planned["gateway"]["charts"]}
    homes = {(item["metadata"]["namespace"], item["metadata"]["labels"].get(HOME_LABEL)) for item in made if item["metadata"]["namespace"] not in controllers}
    assert len(homes) > 1 and homes == {(place, None if place == "llm-d" else "llm-d") for place, _home in homes}
    assert all(item["metadata"]["labels"].items() >= planned["labels"].items() for item in made)
    for item in (*owned(made, planned["labels"]), *planned["services"][0]["switched"]):
        place = item["metadata"].get("namespace")
        if place and place not in controllers:
            assert (item["metadata"].get("labels") or {}).get(HOME_LABEL) == (None if place == "llm-d" else "llm-d"), item


def test_the_reference_of_an_object_keeps_only_its_home_label() -> None:
    there = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "b", "labels": {"x": "y", HOME_LABEL: "c"}}}
    assert reference(there)["metadata"] == {"name": "a", "namespace": "b", "labels": {HOME_LABEL: "c"}}


def test_a_renamed_service_is_pruned_under_its_old_name() -> None:
    gone, _rest = moved(user(SIMULATOR), user({**SIMULATOR, "service": {"name": "chat-api"}}))
    assert gone == [("v1", "Service", "llm-d", "sim")]


def test_the_service_of_prefill_servers_is_pruned_with_them() -> None:
    gone, _rest = moved(user({**SIMULATOR, "scheduler": {"preset": "disaggregated"}}, llm_d_release="scheduler-0.7"), user(SIMULATOR))
    assert {("v1", "Service", "llm-d", "sim-prefill"), ("apps/v1", "Deployment", "llm-d", "sim-prefill")} <= set(gone)
    assert ("v1", "Service", "llm-d", "sim") not in gone


def test_objects_are_deleted_in_order_from_httproutes_to_service_accounts() -> None:
    """cluster_objects deletes in reverse order."""
    scaled = {**SIMULATOR, "name": "b", "route": {"path": "/b"}, "autoscaling": SCALED}
    gone, _rest = moved(user(SIMULATOR, scaled, llm_d_monitoring=MONITORED), user(SIMULATOR, llm_d_monitoring=MONITORED))
    order = [kind for _version, kind, _namespace, _name in reversed(gone)]
    assert order[:2] == ["HTTPRoute", "ScaledObject"] and order[-1] == "ServiceAccount"
    assert order.index("PodMonitor") < order.index("InferencePool") < order.index("Deployment") < order.index("Service") < order.index("ConfigMap")
    assert {name.partition("-")[0] for _version, _kind, _namespace, name in gone} <= {"b", "llm"}


def test_claims_are_pruned_only_when_the_file_allows_it() -> None:
    kept, claimed = user(SIMULATOR), user(SIMULATOR, {**LLAMA, "replicas": 1, "route": {"path": "/llama"}, "storage": {"claim": True, "size": "1Gi"}})
    claim = ("v1", "PersistentVolumeClaim", "llm-d", "llama-8b-weights")
    assert claim in moved(claimed, kept)[1]
    assert claim not in moved(claimed, kept)[0]
    assert claim in moved(claimed, {**kept, "llm_d_prune": {"claims": True}})[0]
    other = user({**LLAMA, "name": "other", "replicas": 1, "model": {"uri": "pvc://llama-8b-weights/m"}}, llm_d_prune={"claims": True})
    assert claim not in moved(claimed, other)[0], "a service of the file has its model in it"


def test_the_pull_secret_of_a_controller_is_pruned_with_its_provider() -> None:
    """It has the label of no record, since it is a member of the records of other files too, and each run would change the label."""
    for scope in ("cluster", "prerequisites"):
        envoy, istio = (
            plan(user(llm_d_scope=scope, llm_d_gateway={"provider": name}, llm_d_image_pull_credentials=PULL)) for name in ("envoy_gateway", "istio")
        )
        secret = next(item for item in with_secrets(envoy) if item["kind"] == "Secret" and item["metadata"]["namespace"] == "envoy-gateway-system")
        assert pruned([secret], istio, envoy) == [("v1", "Secret", "envoy-gateway-system", "llm-d-image-pull")]
        assert pruned([secret], envoy, envoy) == [] and "applyset.kubernetes.io/part-of" not in secret["metadata"]["labels"]


def test_a_teardown_prunes_and_lists_only_claims_with_delete_claim() -> None:
    storage = {"claim": True, "size": "1Gi"}
    deleted, kept = (
        {**LLAMA, "name": name, "replicas": 1, "route": {"path": f"/{name}"}, "storage": {**storage, **options}} for name, options in GIVEN_UP.items()
    )
    planned = plan(user(deleted, kept))
    there = [item for item in definitions(planned) if item["kind"] == "PersistentVolumeClaim"]
    names = {everything: [key[3] for key in pruned(there, planned, everything=everything)] for everything in (True, False)}
    assert len(there) == 2 and names == {True: ["a-weights"], False: []}
    assert with_services(planned, "b")["record"]["given_up"] == [] and with_services(planned, "a")["record"]["given_up"] == ["a-weights"]


def test_prune_services_false_keeps_services_and_prunes_other_objects() -> None:
    both = user({**SIMULATOR, "name": "a", "route": {"path": "/a"}}, {**SIMULATOR, "name": "b", "route": {"path": "/b"}}, llm_d_monitoring=MONITORED)
    one = user({**SIMULATOR, "name": "a", "route": {"path": "/a"}}, llm_d_prune={"services": False})
    gone, _rest = moved(both, one)
    assert gone and not [key for key in gone if key[3].startswith("b")] and ("monitoring.coreos.com/v1", "PodMonitor", "llm-d", "a-decode") in gone
    assert pruned(definitions(plan(both)), plan(user(llm_d_prune={"services": False})), plan(both)) == []


def test_a_run_for_all_services_ends_what_a_comparison_had_to_restore() -> None:
    """A run for one service does not, since a comparison switches by such runs. The restore point of another instance stays."""
    planned = plan(user(SIMULATOR))
    (point,) = [service["restore_point"] for service in planned["services"]]
    assert [key[3] for key in pruned([point], planned)] == [f"{SIMULATOR['name']}-compare"]
    assert pruned([point], with_services(planned, SIMULATOR["name"])) == []
    assert planned["restore_points"] == [point] and with_services(planned, SIMULATOR["name"])["restore_points"] == []
    assert pruned([point], plan(user(SIMULATOR, llm_d_instance="another"))) == []
    assert {item["metadata"]["name"] for item in definitions(planned)}.isdisjoint({point["metadata"]["name"]})


def test_a_service_that_is_kept_but_not_applied_keeps_its_restore_point() -> None:
    """No run has applied that service since, so it runs as the interrupted comparison left it."""
    (point,) = [service["restore_point"] for service in plan(user(SIMULATOR))["services"]]
    another = {**SIMULATOR, "name": "another"}
    assert pruned([point], plan(user(another, llm_d_prune={"services": False}))) == [] and pruned([point], plan(user(another)))
    assert pruned([point], plan(user(SIMULATOR, llm_d_prune={"services": False})))


def test_a_file_without_the_variable_prunes_no_service() -> None:
    """The variable is missing, for example with the wrong inventory. An empty list has to be written."""
    there = definitions(plan(user(SIMULATOR)))
    without_services = {name: value for name, value in user().items() if name != "llm_d_model_services"}
    assert pruned(there, plan(without_services)) == [] and pruned(there, plan({**without_services, "llm_d_model_services": None})) == []
    assert pruned(there, plan(user()))


def test_installed_crds_and_helm_releases_are_recorded_by_name() -> None:
    made, team = (plan(user(llm_d_scope=scope, llm_d_gateway={"provider": "envoy_gateway"}))["record"] for scope in ("cluster", "namespace"))
    assert made["crds"] == ["gateway-api", "inference-extension", "envoy-gateway"] and made["releases"] == [["envoy-gateway-system", "envoy-gateway"]]
    assert team["crds"] == team["releases"] == []


def test_a_controller_is_needed_also_where_someone_else_installs_it() -> None:
    for provider, namespace in (("envoy_gateway", "envoy-gateway-system"), ("istio", "istio-system")):
        for install in (True, False):
            assert plan(user(llm_d_gateway={"provider": provider, "install": install}))["record"]["needed"] == [namespace]
    assert plan(user(llm_d_gateway={"provider": "standalone"}))["record"]["needed"] == []
    group = {"name": "big", "model": {"uri": "hf://a/b"}, "accelerator": {"per_replica": 16, "nodes": 2}}
    assert plan(user(group, llm_d_leader_worker_set={"install": False}, llm_d_gateway={"provider": "standalone"}))["record"]["needed"] == ["lws-system"]


def test_an_administrators_run_prunes_no_services() -> None:
    there = definitions(plan(user(SIMULATOR)))
    assert pruned(there, plan(user(llm_d_scope="prerequisites"))) == [] and pruned(there, plan(user()))


def test_another_instance_and_objects_of_strangers_stay() -> None:
    there = definitions(plan(user(SIMULATOR, llm_d_instance="other")))
    assert pruned(there, plan(user())) == []
    bare = copy.deepcopy(definitions(plan(user(SIMULATOR))))
    for item in bare:
        item["metadata"].pop("labels", None)
    assert pruned(bare, plan(user())) == []


@pytest.mark.parametrize("connection", ["pool", "ext_proc"])
def test_files_of_one_instance_name_that_share_namespaces_leave_each_other_alone(connection: str) -> None:
    """Two teams share a Gateway and a namespace for routes, with the default instance; in some cases, both are in one team's own namespace."""

    def team(home: str, name: str, **gateway: t.Any) -> Facts:
        shared = {"provider": "istio", "connection": connection, "create": False, "name": "shared", **gateway}
        return user({**SIMULATOR, "name": name, "route": {"path": f"/{name}"}}, llm_d_namespace=home, llm_d_gateway=shared)

    apart = {"namespace": "infra", **({"routes_namespace": "routes"} if connection == "ext_proc" else {})}
    inside = {"namespace": "one", **({"routes_namespace": "one"} if connection == "ext_proc" else {})}
    for first, second, name in (
        (team("one", "a", **apart), team("two", "b", **apart), "b"),
        (team("one", "a", namespace="one"), team("two", "b", **inside), "b"),
        (team("one", "a", namespace="one"), team("two", "a", namespace="one"), "a"),
    ):
        there = definitions(plan(first)) + definitions(plan(second))
        assert pruned(there, plan(first)) == pruned(there, plan(second)) == []
        gone = pruned(there, plan({**second, "llm_d_model_services": []}))
        assert ("apps/v1", "Deployment", "two", f"{name}-epp-tls") in gone and not set(gone) & keys(definitions(plan(first)))
        of_second = keys(item for item in definitions(plan(second)) if SERVICE_LABEL in (item["metadata"].get("labels") or {}))
        assert {key for key in of_second if key[1] not in NEVER} == set(gone), "also what is in the namespaces of others"


def test_an_object_with_an_owner_reference_is_not_pruned() -> None:
    """KEDA's HorizontalPodAutoscaler has the labels of its ScaledObject."""
    planned = plan(user())
    metadata = {"name": "keda-hpa-a", "namespace": "llm-d", "labels": planned["labels"]}
    scaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata}
    assert pruned([scaler], planned)
    assert not pruned([{**scaler, "metadata": {**metadata, "ownerReferences": [{"kind": "ScaledObject"}]}}], planned)


@examples(20)
@given(files)
def test_a_plan_of_one_service_touches_no_other(made: Facts) -> None:
    planned = plan(made)
    there = definitions(planned)
    # Another instance of the collection has services with the same names, and other objects.
    foreign = copy.deepcopy([item for item in there if item["metadata"].get("labels")])
    for item in foreign:
        item["metadata"].update(name=f"{item['metadata']['name']}-x", labels={**item["metadata"]["labels"], PART_OF: "another"})
    for service in planned["services"]:
        alone = with_services(planned, service["name"])
        assert pruned(foreign, alone) == []
        assert [each["name"] for each in alone["services"]] == [service["name"]] and pruned(there, alone) == []
        assert {warmup["name"] for warmup in alone["warmups"]} <= {service["name"]}
