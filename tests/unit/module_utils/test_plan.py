"""The plan agrees with itself, for any valid input: selectors, ports, names, references."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan import Mistakes, plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan_checks import LONGEST_NAME, SUFFIXES
from ansible_collections.llm_d.inference.plugins.module_utils.schema import PRESETS
from ansible_collections.llm_d.inference.plugins.module_utils.versions import RELEASES
from hypothesis import given, settings
from hypothesis import strategies as st

Facts = dict[str, t.Any]

SIMULATOR: Facts = {"name": "sim", "model": {"served_name": "llm-d/simulated-8b"}, "engine": {"type": "simulator"}}
LLAMA: Facts = {
    "name": "llama-8b",
    "replicas": 4,
    "model": {"uri": "hf://meta-llama/Llama-3.1-8B-Instruct", "token_secret": "llm-d-hf-token"},
    "accelerator": {"vendor": "nvidia", "product": "NVIDIA-L40S", "per_replica": 2},
    "engine": {"type": "vllm", "max_model_len": 4096},
    "scheduler": {"preset": "prefix_aware"},
    "storage": {"size": "50Gi"},
}


def user(*services: Facts, **more: t.Any) -> Facts:
    """A user's file with these services."""
    return {"llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"}, "llm_d_model_services": list(services), **more}


names = st.from_regex(r"\A[a-z]([-a-z0-9]{0,12}[a-z0-9])?\Z")
services_of_any_kind = st.builds(
    lambda name, replicas, port, block, preset, simulated, gpus, labels: {
        "name": name,
        "replicas": replicas,
        "labels": labels,
        "scheduler": {"preset": preset},
        "model": {"served_name": f"org/{name}", "uri": None if simulated else "hf://org/model"},
        "engine": {"type": "simulator" if simulated else "vllm", "port": port, "block_size": block},
        "accelerator": {} if simulated else {"per_replica": gpus},
        "route": {"path": f"/{name}"},
    },
    names,
    st.integers(0, 20),
    st.integers(1024, 65535),
    st.sampled_from([8, 16, 32, 64, 128]),
    st.sampled_from(PRESETS),
    st.booleans(),
    st.integers(1, 8),
    st.dictionaries(st.sampled_from(["team", "example.com/tier", "app"]), st.sampled_from(["a", "b", ""])),
)
files = (
    st.lists(services_of_any_kind, max_size=5, unique_by=lambda service: service["name"])
    .map(lambda found: user(*found))
    .filter(lambda made: not problems(made))
)


def flag(arguments: list[str], name: str) -> str:
    """The value of a command-line flag, which must stand there exactly once."""
    values = [argument.split("=", 1)[1] for argument in arguments if argument.startswith(f"{name}=")]
    assert len(values) == 1, (name, arguments)
    return values[0]


@settings(max_examples=60, deadline=None)
@given(files, st.sampled_from(sorted(RELEASES)))
def test_the_parts_of_a_service_agree(made: Facts, release: str) -> None:
    planned = plan({**made, "llm_d_release": release})
    for service in planned["services"]:
        server, pool, picker = service["server"], service["pool"], service["scheduler"]
        for selector, labels in (
            (server["selector"], server["labels"]),
            (pool["selector"], server["labels"]),
            (service["service"]["selector"], server["labels"]),
            (picker["selector"], picker["labels"]),
        ):
            assert selector and selector.items() <= labels.items()
        assert not pool["selector"].items() <= picker["labels"].items(), "an endpoint picker must not be in its own pool"
        assert (
            {server["port"]}
            == set(pool["target_ports"])
            == {service["service"]["port"], service["route"]["backend"]["port"], int(flag(server["args"], "--port"))}
        )
        assert service["route"]["backend"]["name"] == service["service"]["name"]
        assert flag(picker["args"], "--pool-name") == pool["name"]
        assert flag(picker["args"], "--pool-namespace") == planned["namespace"]
        assert flag(picker["args"], "--config-file") == f"{picker['config_dir']}/{picker['config_key']}"
        for name, port in (("--grpc-port", "grpc"), ("--grpc-health-port", "health"), ("--metrics-port", "metrics")):
            assert int(flag(picker["args"], name)) == picker["ports"][port]
        assert flag(server["args"], "--served-model-name") == service["model"]["served_name"]
        assert picker["config"].startswith(f"apiVersion: {RELEASES[release]['config_api_version']}\n")


@settings(max_examples=60, deadline=None)
@given(files)
def test_pools_never_share_a_server(made: Facts) -> None:
    services = plan(made)["services"]
    for service in services:
        for other in services:
            assert (service["pool"]["selector"].items() <= other["server"]["labels"].items()) == (service is other)


@settings(max_examples=60, deadline=None)
@given(files)
def test_names_are_unique_and_short_enough(made: Facts) -> None:
    seen: set[tuple[str, str]] = set()
    for service in plan(made)["services"]:
        picker, server = service["scheduler"], service["server"]
        mine = {
            ("Deployment", picker["name"]),
            ("Deployment", server["name"]),
            ("Service", picker["name"]),
            ("Service", service["service"]["name"]),
            ("InferencePool", service["pool"]["name"]),
            ("HTTPRoute", service["route"]["name"]),
            ("ServiceAccount", picker["service_account"]),
            ("ServiceAccount", server["service_account"]),
        }
        assert len(mine) == 8 and not mine & seen
        assert all(len(name) <= 63 for kind, name in mine)
        seen |= mine


@settings(max_examples=40, deadline=None)
@given(files, services_of_any_kind)
def test_adding_a_service_changes_no_other(made: Facts, service: Facts) -> None:
    more = {**made, "llm_d_model_services": [*made["llm_d_model_services"], service]}
    if problems(more):
        return
    before, after = plan(made), plan(more)
    assert after["services"][:-1] == before["services"]
    assert {key: value for key, value in after.items() if key not in ("services", "servers_wait_timeout")} == {
        key: value for key, value in before.items() if key not in ("services", "servers_wait_timeout")
    }


@settings(max_examples=20, deadline=None)
@given(files)
def test_the_plan_leaves_its_input_alone_and_is_the_same_every_time(made: Facts) -> None:
    kept = copy.deepcopy(made)
    assert plan(made) == plan(made)
    assert made == kept


def test_the_file_of_the_design_works_as_written() -> None:
    server = plan(user(LLAMA))["services"][0]["server"]
    assert flag(server["args"], "--model") == "meta-llama/Llama-3.1-8B-Instruct"
    assert flag(server["args"], "--tensor-parallel-size") == "2"
    assert flag(server["args"], "--max-model-len") == "4096"
    assert server["resources"]["limits"] == {"nvidia.com/gpu": 2}
    assert server["resources"]["requests"]["nvidia.com/gpu"] == 2
    term = server["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]["matchExpressions"][0]
    assert term == {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-L40S"]}
    assert {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "llm-d-hf-token", "key": "HF_TOKEN"}}} in server["env"]
    assert server["volumes"][0] == {"name": "model-cache", "emptyDir": {"sizeLimit": "50Gi"}}


def test_a_simulator_asks_no_model_hub_and_takes_long_prompts() -> None:
    simulator = {**SIMULATOR, "engine": {"type": "simulator", "simulator": {"prefill_time_per_token": "500us", "kv_cache_size": 1400}}}
    server = plan(user(simulator))["services"][0]["server"]
    assert {"--force-dummy-tokenizer=true", "--enable-kvcache=true", "--max-model-len=32768", "--prefill-time-per-token=500us", "--kv-cache-size=1400"} <= set(
        server["args"]
    )
    assert not [argument for argument in server["args"] if argument.startswith("--time-to-first-token")]
    assert {item["name"] for item in server["env"]} == {"POD_NAME", "POD_NAMESPACE", "POD_IP"}
    assert "limits" not in server["resources"]


def test_weights_on_a_claim_are_mounted_read_only() -> None:
    server = plan(user({"name": "a", "model": {"uri": "pvc://models/llama/8b"}}))["services"][0]["server"]
    assert flag(server["args"], "--model") == "/models/llama/8b"
    assert flag(server["args"], "--served-model-name") == "8b"
    assert {"name": "models", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}} in server["volumes"]


def test_a_users_own_environment_wins() -> None:
    service = {**SIMULATOR, "engine": {"type": "simulator", "env": {"POD_IP": "$(IP):8000", "EXTRA": "1"}}}
    env = plan(user(service))["services"][0]["server"]["env"]
    assert [item for item in env if item["name"] == "POD_IP"] == [{"name": "POD_IP", "value": "$(IP):8000"}]
    assert env[-1] == {"name": "EXTRA", "value": "1"}


def test_a_registry_goes_in_front_of_every_image_but_the_users_own() -> None:
    planned = plan(user({**SIMULATOR, "scheduler": {"image": "mine/epp:v1"}}, llm_d_image_registry="127.0.0.1:5000", llm_d_images={"proxy": "mine/envoy:v2"}))
    assert planned["services"][0]["scheduler"]["image"] == "mine/epp:v1"
    assert planned["services"][0]["server"]["image"].startswith("127.0.0.1:5000/llm-d/")
    assert planned["gateway"]["proxy_image"] == "mine/envoy:v2"
    assert planned["gateway"]["chart"]["values"]["global"]["images"]["envoyGateway"]["image"].startswith("127.0.0.1:5000/envoyproxy/gateway:")


def test_a_changed_scorer_changes_the_checksum_and_nothing_else() -> None:
    first, second = (plan(user({**SIMULATOR, "scheduler": {"preset": "balanced", "scorers": {"queue": weight}}}))["services"][0] for weight in (1, 2))
    assert first["scheduler"]["checksum"] != second["scheduler"]["checksum"]
    for service in (first, second):
        service["scheduler"] = {key: value for key, value in service["scheduler"].items() if key not in ("checksum", "config", "notes")}
    assert first == second


def test_a_path_is_cut_off_before_the_server_but_the_root_is_not() -> None:
    planned = plan(user(SIMULATOR, {**SIMULATOR, "name": "b", "route": {"path": "/b/"}}))
    assert [(service["route"]["path"], service["route"]["strip_prefix"]) for service in planned["services"]] == [("/", False), ("/b", True)]


def test_sources_of_definitions_can_be_replaced_or_emptied() -> None:
    planned = plan(user(llm_d_crd_sources={"gateway_api": ["/crds/gateway-api.yaml"], "inference_extension": []}))
    crds = {item["name"]: item["sources"] for item in planned["prerequisites"]["crds"]}
    assert crds["gateway-api"] == ["/crds/gateway-api.yaml"]
    assert crds["inference-extension"] == []
    assert crds["envoy-gateway"][0].startswith("https://github.com/")


def test_an_existing_gateway_controller_needs_no_chart_and_no_namespace() -> None:
    planned = plan({"llm_d_model_services": [SIMULATOR], "llm_d_gateway": {"install": False}})
    assert planned["prerequisites"]["namespaces"] == [{"name": "llm-d"}]


def test_openshift_gives_the_user_id_itself() -> None:
    contexts = [plan(user(SIMULATOR, llm_d_run_as_user=uid))["services"][0]["server"]["pod_security"] for uid in (0, 1000)]
    assert "runAsUser" not in contexts[0] and contexts[1]["runAsUser"] == 1000
    assert all(context["runAsNonRoot"] for context in contexts)


def test_an_endpoint_picker_may_only_read() -> None:
    for release in RELEASES.values():
        for rule in release["rules"]:
            assert set(rule["verbs"]) == {"get", "list", "watch"}
            assert "*" not in rule["resources"] + rule["apiGroups"]


def test_the_longest_name_fits_with_every_ending() -> None:
    name = "a" * LONGEST_NAME
    assert not problems(user({**SIMULATOR, "name": name}))
    assert max(len(name + suffix) for suffix in SUFFIXES) == 63


def test_mistakes_are_raised_all_at_once() -> None:
    with pytest.raises(Mistakes) as caught:
        plan(user({**SIMULATOR, "replicas": -1}, llm_d_release="scheduler-7"))
    assert len(caught.value.problems) == 2
    assert "2 mistakes in your llm_d_* variables" in str(caught.value)


def test_other_variables_are_not_looked_at() -> None:
    assert not problems({**user(SIMULATOR), "llmd_other": 1, "ansible_host": "x"})


def test_the_schema_knows_the_presets_of_the_scheduler() -> None:
    from ansible_collections.llm_d.inference.plugins.module_utils import epp_presets, schema

    assert set(schema.PRESETS) | set(schema.PLANNED_PRESETS) == set(epp_presets.PRESETS)


def test_a_scheduler_without_anything_does_what_the_release_does_by_itself() -> None:
    texts = [plan(user({**SIMULATOR, "scheduler": block}))["services"][0]["scheduler"]["config"] for block in (None, {}, {"preset": "default"})]
    assert texts[0] == texts[1] == texts[2]


def test_an_expert_may_write_the_whole_configuration() -> None:
    document = {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
        "plugins": [{"type": "queue-scorer"}, {"type": "max-score-picker"}, {"type": "single-profile-handler"}],
        "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer", "weight": 1}, {"pluginRef": "max-score-picker"}]}],
    }
    config = plan(user({**SIMULATOR, "scheduler": {"document": document}}))["services"][0]["scheduler"]["config"]
    assert "queue-scorer" in config and "prefix-cache-scorer" not in config
