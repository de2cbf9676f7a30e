"""Servers that span several nodes: the plan is consistent, and installs LeaderWorkerSet where it is needed and nowhere else."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.engines.multi_node import LONGEST_NAME
from ansible_collections.llm_d.inference.plugins.module_utils.validation.targets import security_services, servers
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions
from hypothesis import given
from hypothesis import strategies as st
from planned_pods import main, spec
from property_tests import examples
from pruned import pruned

Facts = dict[str, t.Any]
CHARTS = {"envoy_gateway": "/c/eg", "leader_worker_set": "/c/lws"}
GROUP = "leaderworkerset.x-k8s.io"
LEADER_WORKER_SET = ("LeaderWorkerSet", "big-decode")
DEPLOYMENT = ("Deployment", "big-decode")


def big(**options: t.Any) -> Facts:
    return {"name": "big", "model": {"uri": "hf://org/big"}, "replicas": 2, "accelerator": {"per_replica": 16, "nodes": 2}, **options}


def spanning(**accelerator: t.Any) -> Facts:
    return big(accelerator={"per_replica": 16, "nodes": 2, **accelerator})


def simulated(**accelerator: t.Any) -> Facts:
    return {"name": "big", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "accelerator": {"nodes": 2, **accelerator}}


def file_of(*services: Facts, **variables: t.Any) -> Facts:
    return {"llm_d_charts": CHARTS, "llm_d_model_services": list(services), **variables}


def flags(arguments: list[str]) -> dict[str, str]:
    return dict((argument.split("=", 1) + [""])[:2] for argument in arguments)


@examples(60)
@given(st.integers(2, 16), st.integers(1, 8), st.integers(0, 5), st.sampled_from(["pipeline", "expert", None]))
def test_all_accelerators_of_a_group_are_used_once(nodes: int, local: int, replicas: int, way: str | None) -> None:
    count = nodes * local
    if count > 64:
        return
    placed = {"node_selector": {"a": "b"}, "tolerations": [{"key": "a"}]}
    made = file_of(big(replicas=replicas, accelerator={"per_replica": count, "nodes": nodes, "across_nodes": way}, **placed))
    assert not problems(made)
    planned = plan(made)
    server = planned["services"][0]["server"]
    worker = server["worker"]
    assert (server["kind"], server["nodes"], server["replicas"]) == ("LeaderWorkerSet", nodes, replicas)
    assert main(server)["resources"]["limits"]["nvidia.com/gpu"] == main(worker)["resources"]["limits"]["nvidia.com/gpu"] == local
    values = flags(server["args"])
    sizes = [int(values.get(f"--{kind}-parallel-size", 1)) for kind in ("tensor", "pipeline", "data")]
    assert sizes[0] * sizes[1] * sizes[2] == count
    if way == "expert":
        assert sizes == [1, 1, count] and int(values["--data-parallel-size-local"]) == local and "--enable-expert-parallel" in values
    else:
        assert sizes[:2] == [local, nodes]
    for same in ("image", "env", "resources", "volumeMounts", "lifecycle"):
        assert main(server)[same] == main(worker)[same]
    for same in ("volumes", "nodeSelector", "affinity", "tolerations", "securityContext", "terminationGracePeriodSeconds"):
        assert spec(server)[same] == spec(worker)[same]
    for selector in (planned["services"][0]["pool"]["selector"], planned["services"][0]["service"]["selector"], server["selector"]):
        assert selector.items() <= server["labels"].items() and not selector.items() <= worker["labels"].items()
    assert worker["selector"].items() <= worker["labels"].items() and not worker["selector"].items() <= server["labels"].items()
    needed = next(item for item in planned["preflight"]["resources"] if item["name"] == "big-decode")
    assert (needed["replicas"], needed["nodes"], needed["containers"][0]["limits"]["nvidia.com/gpu"]) == (replicas * nodes, nodes, str(local))


def test_a_simulator_on_several_nodes_is_one_leader_worker_set() -> None:
    planned = plan(file_of(simulated()))
    service = planned["services"][0]
    server, worker = service["server"], service["server"]["worker"]
    assert (server["kind"], server["nodes"], main(server).get("command"), main(worker).get("command")) == ("LeaderWorkerSet", 2, None, None)
    assert server["args"] == worker["args"] == plan(file_of(simulated(nodes=1)))["services"][0]["server"]["args"]
    assert not [item for item in main(server)["env"] if item["name"].startswith(("VLLM", "RAY"))] and main(server)["env"] == main(worker)["env"]
    assert "startupProbe" in main(server) and "startupProbe" not in main(worker) and "limits" not in main(server)["resources"]
    assert not [name for pod in planned["preflight"]["resources"] for each in pod["containers"] for name in each["requests"] if "/" in name]
    for selector in (service["pool"]["selector"], service["service"]["selector"], server["selector"]):
        assert selector.items() <= server["labels"].items() and not selector.items() <= worker["labels"].items()
    assert planned["prerequisites"]["leader_worker_set"]["install"]
    shared = plan(file_of(simulated(vendor="nvidia", per_replica=4)))["services"][0]["server"]
    assert main(shared)["resources"]["limits"] == main(shared["worker"])["resources"]["limits"] == {"nvidia.com/gpu": 2}


def test_vllm_serve_gets_the_model_as_first_argument_without_a_flag() -> None:
    """Some versions of `vllm serve` reject --model."""
    for way in ("pipeline", "expert"):
        server = plan(file_of(spanning(across_nodes=way)))["services"][0]["server"]
        assert server["args"][0] == "org/big" and "--model" not in flags(server["args"])
    alone = plan(file_of(big(accelerator={"per_replica": 2})))["services"][0]["server"]
    assert main(alone)["command"] == ["vllm", "serve"] and alone["worker"] is None
    assert alone["args"][0] == "org/big" and "--model" not in flags(alone["args"])


def test_a_users_own_environment_wins() -> None:
    env = main(plan(file_of({**big(), "engine": {"env": {"VLLM_HOST_IP": "10.1.1.1"}}}))["services"][0]["server"])["env"]
    assert [item["value"] for item in env if item["name"] == "VLLM_HOST_IP"] == ["10.1.1.1"]
    names = [item["name"] for item in main(plan(file_of(big()))["services"][0]["server"])["env"]]
    assert names.index("POD_IP") < names.index("VLLM_HOST_IP"), "a value may refer only to variables before it"


@pytest.mark.parametrize(
    ("service", "place", "words"),
    [
        (spanning(per_replica=15), "accelerator.per_replica", "cannot be laid on 2 nodes in equal parts. Write a multiple of 2, such as 16."),
        (spanning(per_replica=1), "accelerator.per_replica", "such as 2"),
        (big(accelerator={"across_nodes": "expert"}), "accelerator.across_nodes", "is for servers of several nodes"),
        (
            big(engine={"image": "acme/vllm-cpu:1"}, accelerator={"vendor": "none", "nodes": 2}),
            "accelerator.nodes",
            "there are no accelerators that could lie on several nodes",
        ),
        (simulated(across_nodes="expert"), "accelerator.across_nodes", "the simulator has no model that could lie on several nodes"),
        (simulated(vendor="nvidia", per_replica=3), "accelerator.per_replica", "such as 4"),
        (big(name="n" * (LONGEST_NAME + 1)), "name", f"Write a name of at most {LONGEST_NAME} characters"),
        (big(engine={"args": ["--seed=1", "-tp", "4"]}), "engine.args[1]", "--tensor-parallel-size follows from the rest of the plan"),
        (big(engine={"args": ["--data-parallel-size=2"]}), "engine.args[0]", "follows from the rest of the plan"),
        (big(engine={"args": ["--model=other"]}), "engine.args[0]", "follows from the rest of the plan"),
        (big(scheduler={"preset": "precise_prefix"}), "scheduler", "requires KV events"),
        (big(scheduler={"preset": "disaggregated"}), "scheduler", "transfers between prefill and decode"),
        (
            big(replicas=1, model={"uri": "pvc://models/big"}, storage={"access_mode": "ReadWriteOnce"}),
            "storage.access_mode",
            "2 servers cannot share a ReadWriteOnce volume",
        ),
    ],
)
def test_invalid_multi_node_options_are_refused_with_a_remedy(service: Facts, place: str, words: str) -> None:
    reported = problems(file_of(service))
    assert [problem.path for problem in reported] == [f"llm_d_model_services[0].{place}"] and words in str(reported[0])


def test_the_longest_name_fits_all_labels_of_its_pods() -> None:
    """Kubernetes labels the pods of a StatefulSet with its name and a hash of up to ten characters; the StatefulSet of workers is named after its leader."""
    server = plan(file_of(big(name="n" * LONGEST_NAME)))["services"][0]["server"]
    assert len(f"{server['name']}-999-0123456789") == 63


def test_a_change_between_one_and_several_nodes_prunes_the_old_workload() -> None:
    one, several = file_of(big(accelerator={})), file_of(big())
    assert DEPLOYMENT in [(kind, name) for _version, kind, _namespace, name in pruned(definitions(plan(one)), plan(several))]
    assert LEADER_WORKER_SET in [(kind, name) for _version, kind, _namespace, name in pruned(definitions(plan(several)), plan(one))]


def test_the_health_of_leaders_and_the_security_of_all_pods_are_checked() -> None:
    planned = plan(file_of(big()))
    server = planned["services"][0]["server"]
    selector = servers(planned)[0]["replicas"]
    assert selector["count"] == 2 and "llm-d.ai/inference-serving=true" in selector["label_selector"]
    assert server["worker"]["selector"] in security_services(planned)[0]["selectors"]


# LeaderWorkerSet in the cluster


def prerequisites(*services: Facts, **variables: t.Any) -> Facts:
    return plan(file_of(*services, **variables))["prerequisites"]


def test_leader_worker_set_is_installed_only_when_needed_or_requested() -> None:
    without = prerequisites(big(accelerator={}))
    assert without["leader_worker_set"] is None and not [bundle for bundle in without["crds"] if bundle["name"] == "leader-worker-set"]
    assert "lws-system" not in [item["name"] for item in without["namespaces"]]
    needed = prerequisites(big())
    assert needed["leader_worker_set"]["install"] and needed["leader_worker_set"]["chart"]["ref"] == "/c/lws"
    assert [bundle["probe"] for bundle in needed["crds"] if bundle["name"] == "leader-worker-set"] == [f"leaderworkersets.{GROUP}"]
    assert "lws-system" in [item["name"] for item in needed["namespaces"]]
    requested = prerequisites(llm_d_leader_worker_set={"install": True})
    assert requested["leader_worker_set"]["install"], "an administrator may want it before anyone needs it"
    adopted = prerequisites(big(), llm_d_leader_worker_set={"install": False})
    assert adopted["leader_worker_set"]["chart"] is None and adopted["namespaces"] == without["namespaces"] and adopted["crds"] == without["crds"]


def test_an_administrator_installs_it_for_the_rest() -> None:
    half, rest = (plan(file_of(big(), llm_d_scope=scope)) for scope in ("prerequisites", "namespace"))
    assert half["prerequisites"] == plan(file_of(big()))["prerequisites"]
    assert not rest["prerequisites"]["leader_worker_set"]["install"]
    assert rest["preflight"]["leader_worker_set"]["install"] is False and rest["services"] == plan(file_of(big()))["services"]
    assert rest["record"]["controllers"] == rest["record"]["releases"] == []


def test_the_operator_of_openshift_is_left_to_its_catalogue() -> None:
    openshift = {"llm_d_platform": "openshift", "llm_d_gateway": {"provider": "openshift", "service_type": "ClusterIP"}}
    groups = prerequisites(big(), **openshift)["leader_worker_set"]
    assert not groups["install"] and groups["controller"]["namespace"] == "openshift-lws-operator"
    own = prerequisites(big(), **openshift, llm_d_leader_worker_set={"install": True})["leader_worker_set"]
    assert own["install"] and own["controller"]["namespace"] == own["chart"]["namespace"] == "lws-system"


def test_a_controller_is_pruned_when_no_service_needs_it() -> None:
    def kept(*services: Facts, **variables: t.Any) -> bool:
        return ["lws-system", "lws"] in plan(file_of(*services, **variables))["record"]["releases"]

    assert kept(big()) and kept(llm_d_leader_worker_set={"install": True})
    assert not kept(big(accelerator={})) and not kept(big(), llm_d_leader_worker_set={"install": False})
    (row,) = [row for row in plan(file_of())["record"]["controllers"] if row["release_name"] == "lws"]
    assert row["namespace"] == "lws-system" and row["kinds"] == [{"api_version": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}]


def test_a_version_of_ones_own_is_in_all_that_is_fetched() -> None:
    needed = prerequisites(big(), llm_d_leader_worker_set={"version": "v0.10.0"})
    groups = needed["leader_worker_set"]
    assert groups["chart"]["version"] == "0.10.0" and groups["chart"]["values"]["image"]["manager"]["tag"] == "v0.10.0"
    bundle = next(each for each in needed["crds"] if each["name"] == "leader-worker-set")
    assert bundle["version"] == "0.10.0" and all("/v0.10.0/" in source for source in bundle["sources"])
    own = prerequisites(big(), llm_d_crd_sources={"leader_worker_set": ["/mirror/lws"]})
    assert [each["sources"] for each in own["crds"] if each["name"] == "leader-worker-set"] == [["/mirror/lws"]]


def test_a_version_that_will_not_do_is_refused() -> None:
    reported = problems({"llm_d_model_services": [big()], "llm_d_leader_worker_set": {"version": "0.8.0"}})
    assert [problem.path for problem in reported] == ["llm_d_leader_worker_set.version"] and "Write 0.9.0 or newer." in str(reported[0])


def test_without_a_chart_of_ones_own_upstreams_is_installed() -> None:
    user = {"llm_d_model_services": [big()]}
    assert problems(user) == []
    chart = plan(user)["prerequisites"]["leader_worker_set"]["chart"]
    assert (chart["ref"], chart["repo"], chart["version"]) == ("oci://registry.k8s.io/lws/charts/lws", None, "0.11.0")
    assert chart["values"]["image"]["manager"]["repository"] == "registry.k8s.io/lws/lws"
    adopted = {**user, "llm_d_leader_worker_set": {"install": False}}
    assert not problems(adopted) and plan(adopted)["prerequisites"]["leader_worker_set"]["chart"] is None


def test_permissions_are_requested_where_they_are_used() -> None:
    def requested(service: Facts, scope: str) -> set[tuple[str, str | None]]:
        permissions = plan(file_of(service, llm_d_scope=scope))["preflight"]["permissions"]
        return {
            (permission["verb"], permission.get("namespace")) for permission in permissions if permission["resource"] in ("leaderworkersets", "statefulsets")
        }

    assert requested(big(accelerator={}), "cluster") == set()
    assert requested(big(), "namespace") == {(verb, "llm-d") for verb in ("get", "list", "create", "patch", "delete")}
    assert requested(big(), "prerequisites") == {(verb, "lws-system") for verb in ("get", "create", "patch")}
