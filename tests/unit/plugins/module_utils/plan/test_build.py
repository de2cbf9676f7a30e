"""The plan agrees with itself, for any valid input: selectors, ports, names, references."""

from __future__ import annotations

import copy
import itertools
import json
import typing as t

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.applyset import reference
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import Mistakes, explain, plan, problems, redacted
from ansible_collections.llm_d.inference.plugins.module_utils.plan.checks.validate_services import LONGEST_NAME, SUFFIXES
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.room import requested
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from ansible_collections.llm_d.inference.plugins.module_utils.schema.fields import Problem
from ansible_collections.llm_d.inference.plugins.module_utils.schema.scheduler import PRESETS
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions
from hypothesis import given
from hypothesis import strategies as st
from planned_pods import main, sidecars, spec
from property_tests import examples

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


def user(*services: Facts, **variables: t.Any) -> Facts:
    """A user's file with these services."""
    return {"llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"}, "llm_d_model_services": list(services), **variables}


names = st.from_regex(r"\A[a-z]([-a-z0-9]{0,12}[a-z0-9])?\Z")
services_of_any_kind = st.builds(
    lambda name, replicas, port, block, preset, simulated, gpus, labels, prefill: {
        "name": name,
        "replicas": replicas,
        "prefill": {"replicas": prefill},
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
    st.sampled_from([None, 8, 16, 32, 64, 128]),
    st.sampled_from(PRESETS),
    st.booleans(),
    st.integers(1, 8),
    st.dictionaries(st.sampled_from(["team", "example.com/tier", "app"]), st.sampled_from(["a", "b", ""])),
    st.integers(0, 3),
)


def keep_what_the_line_has(made: Facts) -> Facts:
    """The file without the services that its release line cannot serve."""
    alone = [service for service in made["llm_d_model_services"] if not problems({**made, "llm_d_model_services": [service]})]
    return {**made, "llm_d_model_services": alone}


files = st.builds(
    lambda services, release: keep_what_the_line_has(user(*services, llm_d_release=release)),
    st.lists(services_of_any_kind, max_size=5, unique_by=lambda service: service["name"]),
    st.sampled_from(sorted(RELEASES)),
).filter(lambda made: not problems(made))


def flag(arguments: list[str], name: str) -> str:
    """The value of a command-line flag, which must occur exactly once."""
    values = [argument.split("=", 1)[1] for argument in arguments if argument.startswith(f"{name}=")]
    assert len(values) == 1, (name, arguments)
    return values[0]


def agree(planned: Facts, service: Facts) -> None:
    """The parts of one planned service fit together."""
    server, pool, picker = service["server"], service["pool"], service["scheduler"]
    for selector, labels in (
        *((one["selector"], one["labels"]) for one in service["servers"]),
        *((pool["selector"], one["labels"]) for one in service["servers"]),
        (service["service"]["selector"], server["labels"]),
        (picker["selector"], picker["labels"]),
    ):
        assert selector and selector.items() <= labels.items()
    assert not pool["selector"].items() <= picker["labels"].items(), "an endpoint picker must not be in its own pool"
    assert {one["port"] for one in service["servers"]} == set(pool["target_ports"]) == {service["service"]["port"], service["route"]["backend"]["port"]}
    for one in service["servers"]:
        listening = {port["containerPort"] for part in sidecars(one) for port in part["ports"]} | {one["engine_port"]}
        assert one["port"] in listening and int(flag(one["args"], "--port")) == one["engine_port"]
        assert flag(one["args"], "--served-model-name") == service["model"]["served_name"]
        assert len({item["name"] for item in main(one)["env"]}) == len(main(one)["env"]), "each variable once"
        for probe in (main(one)[f"{name}Probe"] for name in ("startup", "readiness", "liveness")):
            assert probe["httpGet"]["path"] == "/health" and probe["httpGet"]["port"] in [port["name"] for port in main(one)["ports"]]
    assert [one["name"] for one in service["servers"] if service["service"]["selector"].items() <= one["labels"].items()] == [server["name"]]
    assert service["route"]["backend"]["name"] == service["service"]["name"]
    assert flag(picker["args"], "--pool-name") == pool["name"]
    assert flag(picker["args"], "--pool-namespace") == planned["namespace"]
    assert flag(picker["args"], "--config-file") == f"{picker['config_dir']}/{picker['config_key']}"
    for name, port in (("--grpc-port", "grpc"), ("--grpc-health-port", "health"), ("--metrics-port", "metrics")):
        assert int(flag(picker["args"], name)) == picker["ports"][port]
    assert picker["config"].startswith(f"apiVersion: {planned['release']['config_api_version']}\n")
    assert spec(picker)["terminationGracePeriodSeconds"] > picker["drain_seconds"]


def agree_on_events(service: Facts) -> None:
    """Where prefixes are matched by KV events, both sides name the same block size, seed, port and tokenizer."""
    picker, server = service["scheduler"], service["server"]
    precise = next((item["parameters"] for item in yaml.safe_load(picker["config"])["plugins"] if item["type"].startswith("precise-prefix")), None)
    if precise is None:
        assert not picker["event_ports"] and not sidecars(picker)
        return
    env = {item["name"]: item.get("value") for item in main(server)["env"]}
    assert int(flag(server["args"], "--block-size")) == precise["tokenProcessorConfig"].get("blockSize", precise["tokenProcessorConfig"].get("blockSizeTokens"))
    if service["engine"] == "simulator":
        assert flag(server["args"], "--hash-seed") == precise["tokenProcessorConfig"]["hashSeed"]
        assert flag(server["args"], "--zmq-endpoint") == f"tcp://{picker['events_service']}:{picker['event_ports'][0]['port']}"
        assert precise["kvEventsConfig"]["zmqEndpoint"].endswith(f":{picker['event_ports'][0]['port']}") and picker["publish_not_ready"]
        assert env["POD_IP"] == f"$(SERVER_IP):{server['port']}"
    else:
        assert env["PYTHONHASHSEED"] == precise["tokenProcessorConfig"]["hashSeed"]
        publisher = json.loads(flag(server["args"], "--kv-events-config"))
        assert int(publisher["endpoint"].rpartition(":")[2]) == precise["kvEventsConfig"]["podDiscoveryConfig"]["socketPort"]
        assert publisher["topic"] == f"kv@$(POD_IP):{server['port']}@{service['model']['served_name']}"
    tokenizer = precise["indexerConfig"].get("tokenizersPoolConfig")
    if tokenizer:
        folder = tokenizer["uds"]["socketFile"].rpartition("/")[0]
        assert [mount["mountPath"] for mount in main(picker)["volumeMounts"]][-1] == sidecars(picker)[0]["volumeMounts"][0]["mountPath"] == folder


@examples(60)
@given(files)
def test_the_parts_of_a_service_agree(made: Facts) -> None:
    planned = plan(made)
    for service in planned["services"]:
        agree(planned, service)
        agree_on_events(service)


@pytest.mark.parametrize("engine", ["simulator", "vllm"])
@pytest.mark.parametrize("release", sorted(RELEASES))
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_of_every_line_is_planned_or_refused_with_a_way_out(preset: str, release: str, engine: str) -> None:
    base = SIMULATOR if engine == "simulator" else LLAMA
    made = user({**base, "scheduler": {"preset": preset}}, llm_d_release=release)
    mistakes = problems(made)
    if mistakes:
        impossible = preset in ("precise_prefix", "disaggregated") and release == "gie-1.5" or preset == "sticky" and not release.startswith("router")
        unread = preset == "precise_prefix" and (engine == "simulator") == release.startswith("router")  # tokens, or the events of a newer vLLM
        assert impossible or unread
        assert len(mistakes) == 1 and mistakes[0].path.startswith("llm_d_model_services[0].scheduler") and "prefix_aware" in mistakes[0].fix
        return
    planned = plan(made)
    agree(planned, planned["services"][0])
    agree_on_events(planned["services"][0])
    roles = [one["role"] for one in planned["services"][0]["servers"]]
    assert roles == (["decode", "prefill"] if preset == "disaggregated" else ["decode"])


@examples(60)
@given(files)
def test_pools_never_share_a_server(made: Facts) -> None:
    services = plan(made)["services"]
    for service in services:
        for other in services:
            for one in other["servers"]:
                assert (service["pool"]["selector"].items() <= one["labels"].items()) == (service is other)


@examples(60)
@given(files)
def test_names_are_unique_and_short_enough(made: Facts) -> None:
    taken: set[tuple[str, str]] = set()
    for service in plan(made)["services"]:
        picker, server = service["scheduler"], service["server"]
        own = {
            ("Deployment", picker["name"]),
            *(("Deployment", one["name"]) for one in service["servers"]),
            ("Service", picker["name"]),
            ("Service", picker["events_service"]),
            ("Service", service["service"]["name"]),
            ("InferencePool", service["pool"]["name"]),
            ("HTTPRoute", service["route"]["name"]),
            ("ServiceAccount", picker["service_account"]),
            ("ServiceAccount", server["service_account"]),
        }
        assert len(own) == 8 + len(service["servers"]) and not own & taken
        assert all(len(name) <= 63 for kind, name in own)
        taken |= own


@examples(40)
@given(files, services_of_any_kind)
def test_adding_a_service_changes_no_other(made: Facts, service: Facts) -> None:
    larger = {**made, "llm_d_model_services": [*made["llm_d_model_services"], service]}
    if problems(larger):
        return
    before, after = plan(made), plan(larger)
    assert after["services"][:-1] == before["services"]
    of_services = ("services", "restore_points", "servers_wait_timeout", "preflight", "prune")
    assert {key: value for key, value in after.items() if key not in of_services} == {key: value for key, value in before.items() if key not in of_services}


@examples(20)
@given(files)
def test_the_plan_leaves_its_input_alone_and_is_the_same_every_time(made: Facts) -> None:
    kept = copy.deepcopy(made)
    assert plan(made) == plan(made)
    assert made == kept


def test_the_file_of_the_design_works_as_written() -> None:
    server = plan(user(LLAMA))["services"][0]["server"]
    assert server["args"][0] == "meta-llama/Llama-3.1-8B-Instruct" and main(server)["command"] == ["vllm", "serve"]
    assert flag(server["args"], "--tensor-parallel-size") == "2"
    assert flag(server["args"], "--max-model-len") == "4096"
    assert main(server)["resources"]["limits"] == {"nvidia.com/gpu": 2}
    assert main(server)["resources"]["requests"]["nvidia.com/gpu"] == 2
    term = spec(server)["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]["matchExpressions"][0]
    assert term == {"key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-L40S"]}
    assert {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "llm-d-hf-token", "key": "HF_TOKEN"}}} in main(server)["env"]
    assert spec(server)["volumes"][0] == {"name": "model-cache", "emptyDir": {"sizeLimit": "50Gi"}}


def test_a_simulator_needs_no_model_hub_and_accepts_long_prompts() -> None:
    simulator = {**SIMULATOR, "engine": {"type": "simulator", "simulator": {"prefill_time_per_token": "500us", "kv_cache_size": 1400}}}
    server = plan(user(simulator))["services"][0]["server"]
    assert {"--force-dummy-tokenizer=true", "--enable-kvcache=true", "--max-model-len=32768", "--prefill-time-per-token=500us", "--kv-cache-size=1400"} <= set(
        server["args"]
    )
    assert not [argument for argument in server["args"] if argument.startswith("--time-to-first-token")]
    assert {item["name"] for item in main(server)["env"]} == {"POD_NAME", "POD_NAMESPACE", "POD_IP"}
    assert "limits" not in main(server)["resources"]


def test_weights_on_a_claim_are_mounted_read_only() -> None:
    server = plan(user({"name": "a", "model": {"uri": "pvc://models/llama/8b"}}))["services"][0]["server"]
    assert server["args"][0] == "/models/llama/8b"
    assert flag(server["args"], "--served-model-name") == "8b"
    assert {"name": "models", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}} in spec(server)["volumes"]


def test_a_users_own_environment_wins() -> None:
    service = {**SIMULATOR, "engine": {"type": "simulator", "env": {"POD_IP": "$(IP):8000", "EXTRA": "1"}}}
    env = main(plan(user(service))["services"][0]["server"])["env"]
    assert [item for item in env if item["name"] == "POD_IP"] == [{"name": "POD_IP", "value": "$(IP):8000"}]
    assert env[-1] == {"name": "EXTRA", "value": "1"}


def test_the_image_registry_prefixes_all_images_but_those_of_the_user() -> None:
    planned = plan(user({**SIMULATOR, "scheduler": {"image": "mine/epp:v1"}}, llm_d_image_registry="127.0.0.1:5000", llm_d_images={"proxy": "mine/envoy:v2"}))
    assert planned["services"][0]["scheduler"]["image"] == "mine/epp:v1"
    assert main(planned["services"][0]["server"])["image"].startswith("127.0.0.1:5000/llm-d/")
    assert planned["gateway"]["proxy_image"] == "mine/envoy:v2"
    assert planned["gateway"]["chart"]["values"]["global"]["images"]["envoyGateway"]["image"].startswith("127.0.0.1:5000/envoyproxy/gateway:")


def test_a_changed_scorer_weight_changes_only_the_config_and_its_checksum() -> None:
    first, second = (plan(user({**SIMULATOR, "scheduler": {"preset": "balanced", "scorers": {"queue": weight}}}))["services"][0] for weight in (1, 2))
    checksums = [service["scheduler"]["template"]["metadata"].pop("annotations")["llm-d.ai/config-checksum"] for service in (first, second)]
    assert checksums[0] != checksums[1]
    for service in (first, second):
        service["scheduler"] = {key: value for key, value in service["scheduler"].items() if key not in ("config", "decides", "notes")}
    assert first == second


def test_a_path_is_cut_off_before_the_server_but_the_root_is_not() -> None:
    planned = plan(user(SIMULATOR, {**SIMULATOR, "name": "b", "route": {"path": "/b/"}}))
    assert [(service["route"]["path"], service["route"]["strip_prefix"]) for service in planned["services"]] == [("/", False), ("/b", True)]


def test_the_definitions_that_every_stack_needs_are_installed() -> None:
    """The CRDs of the Gateway API and of the inference extension, from upstream, also for a provider whose routes lead to no pool."""
    for gateway in ({}, {"provider": "istio"}):
        crds = plan(user(SIMULATOR, llm_d_gateway=gateway))["prerequisites"]["crds"]
        probes = {item["name"]: item["probe"] for item in crds if item["sources"]}
        assert probes["gateway-api"] == "gateways.gateway.networking.k8s.io"
        assert probes["inference-extension"] == "inferencepools.inference.networking.k8s.io"


def test_sources_of_definitions_can_be_replaced_or_emptied() -> None:
    planned = plan(user(llm_d_crd_sources={"gateway_api": ["/crds/gateway-api.yaml"], "inference_extension": []}))
    crds = {item["name"]: item["sources"] for item in planned["prerequisites"]["crds"]}
    assert crds["gateway-api"] == ["/crds/gateway-api.yaml"]
    assert crds["inference-extension"] == []
    assert crds["envoy-gateway"][0].startswith("https://github.com/")


def test_sources_of_definitions_by_url() -> None:
    """Plain http needs `insecure: true`. The preflight and lists of sources have the URL alone."""
    pinned = {"url": "https://mirror.example.com/crds.yaml", "sha256": "0" * 64}
    insecure = {"url": "http://mirror.example.com/crds.yaml?raw=1", "insecure": True}
    planned = plan(user(llm_d_crd_sources={"gateway_api": [pinned], "inference_extension": [insecure]}))
    crds = {item["name"]: item["sources"] for item in planned["prerequisites"]["crds"]}
    assert crds["gateway-api"] == [{**pinned, "insecure": False}] and crds["inference-extension"] == [{**insecure, "sha256": None}]
    assert needed(planned)["definitions"][:2] == [pinned["url"], insecure["url"]]
    assert [entry["sources"] for entry in planned["preflight"]["definitions"]][:2] == [[pinned["url"]], [insecure["url"]]]
    plain = "http://mirror.example.com/crds.yaml"
    mistakes = problems(user(llm_d_crd_sources={"gateway_api": ["/crds", plain], "envoy_gateway": [{"url": plain.replace("http", "HTTP")}]}))
    assert [problem.path for problem in mistakes] == ["llm_d_crd_sources.envoy_gateway[0].url"], "a URL is written in lower case"
    mistakes = problems(user(llm_d_crd_sources={"gateway_api": ["/crds", plain], "envoy_gateway": [{"url": plain}], "istio": ["HTTP://x/y"]}))
    assert [problem.path.removeprefix("llm_d_crd_sources.") for problem in mistakes] == ["envoy_gateway[0]", "gateway_api[1]", "istio[0]"]
    assert all("plain http" in problem.reason and "insecure: true" in problem.fix for problem in mistakes)
    mistakes = problems(user(llm_d_crd_sources={"gateway_api": [{"url": "/crds"}, {"sha256": "ABC"}]}))
    assert [problem.path.rpartition(".")[2] for problem in mistakes] == ["url", "sha256", "url"]


def test_an_existing_gateway_controller_needs_no_chart_and_no_namespace() -> None:
    planned = plan({"llm_d_model_services": [SIMULATOR], "llm_d_gateway": {"install": False}})
    assert planned["prerequisites"]["namespaces"] == [{"name": "llm-d"}]


def test_user_id_zero_leaves_the_user_id_to_openshift() -> None:
    contexts = [spec(plan(user(SIMULATOR, llm_d_run_as_user=uid))["services"][0]["server"])["securityContext"] for uid in (0, 1000)]
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


@pytest.mark.parametrize(
    "secret",
    [
        *({block: {"args": args}} for block in ("engine", "scheduler") for args in ("--api-key=planted", "--token=planted", [{"--api-key": "planted"}])),
        {"engine": {"args": ["--hf-token planted --port 80"]}},
        {"llm_d_charts": {"istio": "https://u:planted@h/c"}},
        {"llm_d_charts": {"istio": "https://planted@h/c"}},
        {"llm_d_crd_sources": {"istio": ["/crds", "https://u:planted@h/c"]}},
        {"llm_d_crd_sources": {"istio": ["https://planted@h/c"]}},
        {"llm_d_kubeconfig": {"users": [{"user": {"exec": {"command": "get", "env": [{"name": "A", "value": "planted"}]}}}]}},
    ],
)
def test_a_mistake_does_not_show_the_secret_in_its_value(secret: Facts) -> None:
    mistakes = problems(user(LLAMA, **secret) if next(iter(secret)).startswith("llm_d_") else user({**LLAMA, **secret}))
    assert any("planted" in repr(problem) for problem in mistakes), "a problem has the secret"
    shown = json.dumps([[problem.value, problem.reason, problem.fix] for problem in map(redacted, mistakes)]) + explain(mistakes)
    assert "planted" not in shown and "(removed)" in shown, shown


def test_a_mistake_about_an_argument_shows_no_part_of_its_value() -> None:
    assert redacted(Problem("a", "--api-key=planted b-planted", "is wrong.", "Take it out.")).value == "--api-key=(removed)"


def test_variables_without_the_llm_d_prefix_are_ignored() -> None:
    assert not problems({**user(SIMULATOR), "llmd_other": 1, "ansible_host": "x"})


def test_the_schema_knows_the_presets_of_the_scheduler() -> None:
    from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog import presets

    assert set(PRESETS) == set(presets.PRESETS)


def test_an_empty_scheduler_block_is_the_default_preset() -> None:
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


def test_disaggregation_has_prefill_servers_and_sidecars_on_decode_servers() -> None:
    planned = plan(user({**SIMULATOR, "replicas": 3, "prefill": {"replicas": 2}, "scheduler": {"preset": "disaggregated"}}, llm_d_release="scheduler-0.7"))
    decode, prefill = planned["services"][0]["servers"]
    assert (decode["name"], decode["replicas"], prefill["name"], prefill["replicas"]) == ("sim-decode", 3, "sim-prefill", 2)
    assert (decode["labels"]["llm-d.ai/role"], prefill["labels"]["llm-d.ai/role"]) == ("decode", "prefill")
    proxy = sidecars(decode)[0]
    assert proxy["restartPolicy"] == "Always" and {"--port=8000", "--vllm-port=8200"} <= set(proxy["args"])
    assert decode["engine_port"] == 8200 and prefill["engine_port"] == 8000 and not sidecars(prefill)
    assert proxy["image"] == "ghcr.io/llm-d/llm-d-routing-sidecar:v0.7.1"
    deployments = {item["metadata"]["name"]: item["spec"] for item in definitions(planned) if item["kind"] == "Deployment"}
    assert [deployments[f"sim-{role}"]["replicas"] for role in ("decode", "prefill")] == [3, 2]


def test_a_comparison_knows_all_objects_that_another_preset_changes() -> None:
    """Otherwise it could not restore these objects."""
    scaled = {"provider": "keda", "min": 1, "max": 3, "metrics": {"queue": 5}, "prometheus": "http://prometheus:9090"}
    warmed = {"schedule": "@hourly", "prompts": ["You answer in one word, and you never say why."]}
    monitored = {"scrape": True, "alerts": True, "dashboards": ["grafana", "perses"]}
    for options in ({"replicas": 2}, {"autoscaling": scaled, "warmup": warmed}):
        made = {}
        for preset in ("round_robin", "prefix_aware", "precise_prefix", "disaggregated"):
            service = {**SIMULATOR, **options, "scheduler": {"preset": preset}}
            planned = plan(user(service, llm_d_release="scheduler-0.7", llm_d_monitoring=monitored))
            made[preset] = {json.dumps(reference(item)): item for item in definitions(planned)}
        switched = {json.dumps(item) for item in planned["services"][0]["switched"]}
        for one, other in itertools.combinations(made.values(), 2):
            assert {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)} <= switched


def test_each_stage_has_a_service_and_the_main_one_selects_decode_servers() -> None:
    planned = plan(user({**SIMULATOR, "scheduler": {"preset": "disaggregated"}}, llm_d_release="scheduler-0.7"))["services"][0]
    decode, prefill = planned["stages"]
    assert (decode["name"], prefill["name"]) == ("sim", "sim-prefill") and planned["service"] == decode
    assert [stage["selector"] for stage in (decode, prefill)] == [server["selector"] for server in planned["servers"]]
    assert (prefill["port"], prefill["target_port"]) == (8000, 8000)
    assert prefill["labels"] == {**planned["labels"], "llm-d.ai/role": "prefill"} and decode["labels"] == planned["labels"]
    assert {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "sim-prefill", "namespace": "llm-d"}} in planned["switched"]
    assert [stage["name"] for stage in plan(user(SIMULATOR))["services"][0]["stages"]] == ["sim"]


OWN_SERVICE: Facts = {**SIMULATOR, "service": {"name": "chat-api", "port": 80}, "route": {"path": "/a", "direct_path": "/b"}}


@pytest.mark.parametrize(
    ("gateway", "backends"),
    [
        ({}, [("Service", "chat-api", 80), ("Service", "chat-api", 80)]),
        ({"provider": "istio"}, [("InferencePool", "sim", 8000), ("Service", "chat-api", 80)]),
    ],
)
def test_the_service_in_front_of_the_servers_has_a_name_and_a_port_of_its_own(gateway: Facts, backends: list[tuple[str, str, int]]) -> None:
    planned = plan(user(OWN_SERVICE, llm_d_gateway=gateway))
    (service,) = planned["services"]
    (front,) = [item["spec"] for item in definitions(planned) if item["kind"] == "Service" and item["metadata"]["name"] == "chat-api"]
    (port,) = front["ports"]
    assert (port["port"], port["targetPort"], front["selector"]) == (80, 8000, service["server"]["selector"])
    assert [tuple(route["backend"][key] for key in ("kind", "name", "port")) for route in service["routes"]] == backends
    assert (service["pool"]["name"], service["pool"]["target_ports"]) == ("sim", [8000])


def test_policies_with_ext_proc_are_for_the_service_in_front() -> None:
    gateway = {"provider": "istio", "connection": "ext_proc", "traffic": {"max_requests": 9}}
    policies = plan(user(OWN_SERVICE, llm_d_gateway=gateway))["services"][0]["gateway"]
    assert (policies["filter"]["service"], policies["filter"]["port"]) == ("chat-api.llm-d.svc.cluster.local", 80)
    assert "chat-api.llm-d.svc.cluster.local" in [rule["host"] for rule in policies["rules"]]


@pytest.mark.parametrize(
    ("name", "variables", "words"),
    [
        ("2nd", {}, "begins with a digit"),
        ("sim-epp", {}, "would both be named 'sim-epp'"),
        ("other-decode", {}, "of this service and of model service 'other'"),
        ("llm-d-gateway-istio-istio", {"llm_d_gateway": {"provider": "istio"}}, "objects of the gateway and of model service 'sim'"),
    ],
)
def test_a_service_in_front_with_the_name_of_another_object_is_refused(name: str, variables: Facts, words: str) -> None:
    other = {**SIMULATOR, "name": "other", "route": {"path": "/other"}}
    (mistake,) = problems(user({**SIMULATOR, "service": {"name": name}}, other, **variables))
    assert words in str(mistake) and (mistake.path == "llm_d_model_services[0].service.name" or variables)


def test_a_restore_point_has_its_name_among_configmaps_only() -> None:
    other = {**SIMULATOR, "name": "sim-compare", "route": {"path": "/other"}, "service": {"name": "other-compare"}}
    assert problems(user(SIMULATOR, other, {**SIMULATOR, "name": "other", "route": {"path": "/third"}})) == []
    # The parameters of Istio's proxy are in a ConfigMap with the name of the Gateway.
    (mistake,) = problems(user(SIMULATOR, llm_d_gateway={"provider": "istio", "name": "sim-compare", "service_type": "ClusterIP"}))
    assert mistake.path == "llm_d_gateway.name" and "'sim-compare'" in str(mistake)


def test_images_of_sidecars_can_be_replaced() -> None:
    images = {"routing_sidecar": "mine/sidecar:v1", "tokenizer": "mine/tokenizer:v1"}
    services = plan(
        user(
            {**SIMULATOR, "scheduler": {"preset": "disaggregated"}},
            {**SIMULATOR, "name": "b", "route": {"path": "/b"}, "scheduler": {"preset": "precise_prefix"}},
            llm_d_images=images,
            llm_d_release="scheduler-0.7",
        )
    )["services"]
    assert sidecars(services[0]["server"])[0]["image"] == "mine/sidecar:v1"
    assert sidecars(services[1]["scheduler"])[0]["image"] == "mine/tokenizer:v1"


def test_the_seed_of_the_environment_is_that_of_the_scheduler() -> None:
    service = plan(user({**LLAMA, "engine": {"env": {"PYTHONHASHSEED": "7"}}, "scheduler": {"preset": "precise_prefix"}}))["services"][0]
    assert 'hashSeed: "7"' in service["scheduler"]["config"] or "hashSeed: '7'" in service["scheduler"]["config"]
    agree_on_events(service)


def test_parallelism_of_the_user_replaces_that_of_the_plan() -> None:
    made = {**LLAMA, "accelerator": {"per_replica": 4}, "engine": {"args": ["--tensor-parallel-size=2", "--data-parallel-size=2"]}}
    assert flag(plan(user(made))["services"][0]["server"]["args"], "--tensor-parallel-size") == "2"


@pytest.mark.parametrize(
    ("parts", "flags"),
    [
        ({}, {"tensor": "8"}),
        ({"pipeline": 2}, {"tensor": "4", "pipeline": "2"}),
        ({"pipeline": 8}, {"pipeline": "8"}),
        ({"data": 4}, {"tensor": "2", "data": "4"}),
        ({"data": 2, "pipeline": 2, "expert": True}, {"tensor": "2", "pipeline": "2", "data": "2"}),
    ],
)
def test_the_accelerators_of_a_node_are_divided_among_stages(parts: Facts, flags: dict[str, str]) -> None:
    args = plan(user({**LLAMA, "accelerator": {"per_replica": 8, **parts}}))["services"][0]["server"]["args"]
    sizes = {argument[2:].partition("-")[0]: argument.partition("=")[2] for argument in args if "-parallel-size=" in argument}
    assert sizes == flags and ("--enable-expert-parallel" in args) is bool(parts.get("expert"))


@pytest.mark.parametrize(
    ("accelerator", "engine", "words"),
    [
        ({"per_replica": 4, "pipeline": 3}, {}, "Write numbers whose product divides 4, or per_replica: 6."),
        ({"per_replica": 4, "pipeline": 2, "data": 4}, {}, "in 8 unequal parts"),
        ({"vendor": "none", "pipeline": 2}, {"image": "mine/vllm-cpu:v1"}, "is of no use"),
        ({"pipeline": 2}, {"type": "simulator"}, "is of no use"),
        ({"per_replica": 8, "pipeline": 2, "nodes": 2}, {}, "write across_nodes: pipeline"),
        ({"per_replica": 8, "pipeline": 2}, {"args": ["--tensor-parallel-size=4"]}, "--tensor-parallel-size in engine.args"),
        ({"per_replica": 8, "expert": True, "nodes": 2}, {}, "write across_nodes: expert"),
        ({"expert": True}, {}, "there is one accelerator"),
    ],
)
def test_stages_that_contradict_the_rest_are_refused(accelerator: Facts, engine: Facts, words: str) -> None:
    mistakes = problems(user({**LLAMA, "accelerator": accelerator, "engine": engine}, llm_d_charts={"envoy_gateway": "/c", "leader_worker_set": "/c"}))
    here = [problem for problem in mistakes if problem.path in [f"llm_d_model_services[0].accelerator.{part}" for part in ("pipeline", "data", "expert")]]
    assert len(here) == 1 and words in str(here[0]), mistakes


def test_servers_finish_in_flight_requests_within_drain_seconds() -> None:
    engine = {**SIMULATOR["engine"], "drain_seconds": 90}
    server = plan(user({**SIMULATOR, "engine": engine}))["services"][0]["server"]
    assert server["drain_seconds"] == 90 and spec(server)["terminationGracePeriodSeconds"] > 90


@pytest.mark.parametrize("provider", ["envoy_gateway", "envoy_ai_gateway", "istio", "standalone"])
def test_the_gateway_reaches_the_endpoint_picker_at_the_port_of_the_file(provider: str) -> None:
    def written(port: int) -> str:
        gateway = {"provider": provider, **({"connection": "ext_proc"} if provider == "istio" else {})}
        line = "router-0.10" if provider == "standalone" else "scheduler-0.7"
        made = {**SIMULATOR, "scheduler": {"grpc_port": port}}
        return json.dumps(definitions(plan(user(made, llm_d_gateway=gateway, llm_d_release=line))))

    usual, own = written(9002), written(9777)
    # Checksums of the port differ too.
    assert "9777" not in usual and "9002" not in own and usual.count("9002") == own.count("9777") >= 4


@pytest.mark.parametrize(
    ("port", "preset", "provider", "what"),
    [
        (9003, "queue", "envoy_gateway", "health"),
        (9090, "queue", "envoy_gateway", "metrics"),
        (5557, "precise_prefix", "envoy_gateway", "kv-events"),
        (8082, "precise_prefix", "envoy_gateway", "tokenizer"),
        (8081, "queue", "standalone", "requests"),
    ],
)
def test_a_grpc_port_that_the_endpoint_picker_pod_already_uses_is_refused(port: int, preset: str, provider: str, what: str) -> None:
    service = {**SIMULATOR, "scheduler": {"preset": preset, "grpc_port": port}}
    (problem,) = problems(user(service, llm_d_gateway={"provider": provider}, llm_d_release="scheduler-0.7"))
    assert problem.path == "llm_d_model_services[0].scheduler.grpc_port" and problem.reason == f"is the port for its {what} in the pod of the endpoint picker."


def test_events_at_a_port_of_the_endpoint_picker_are_refused() -> None:
    service = {**SIMULATOR, "scheduler": {"preset": "precise_prefix", "scorers": {"precise_prefix": {"kv_events_port": 9090}}}}
    (problem,) = problems(user(service, llm_d_release="scheduler-0.7"))
    assert problem.path == "llm_d_model_services[0].scheduler.scorers.precise_prefix.kv_events_port" and "the port for its metrics" in problem.reason


def test_a_renderer_beside_the_endpoint_picker_keeps_its_port() -> None:
    service = {"name": "a", "model": {"uri": "hf://org/m"}, "scheduler": {"preset": "precise_prefix", "grpc_port": 8082}}
    (problem,) = problems(user(service))
    assert problem.path == "llm_d_model_services[0].scheduler.grpc_port" and "the port for its vllm-render" in problem.reason


@pytest.mark.parametrize("provider", ["envoy_gateway", "envoy_ai_gateway"])
def test_a_route_has_the_name_of_the_file_and_what_refers_to_it_too(provider: str) -> None:
    objects = definitions(plan(user({**SIMULATOR, "route": {"name": "entry"}}, llm_d_gateway={"provider": provider}, llm_d_release="scheduler-0.7")))
    assert [item["metadata"]["name"] for item in objects if item["kind"] == "HTTPRoute"] == ["entry"]
    targets = [ref["name"] for item in objects for ref in item.get("spec", {}).get("targetRefs", []) if ref["kind"] == "HTTPRoute"]
    assert set(targets) == ({"entry"} if provider == "envoy_gateway" else set())


def test_an_envoy_filter_matches_the_route_by_the_name_in_the_file() -> None:
    gateway = {"provider": "istio", "connection": "ext_proc"}
    objects = definitions(plan(user({**SIMULATOR, "route": {"name": "entry"}}, llm_d_gateway=gateway)))
    (patches,) = [item["spec"]["configPatches"] for item in objects if item["kind"] == "EnvoyFilter"]
    assert [patch["match"]["routeConfiguration"]["vhost"]["route"]["name"] for patch in patches if patch["applyTo"] == "HTTP_ROUTE"] == ["llm-d.entry.0"]


@pytest.mark.parametrize(("timeouts", "request_timeout"), [({}, "0s"), ({"timeouts": {"request": "90s"}}, "90s")])
def test_a_route_waits_for_an_answer_without_end_unless_the_file_has_a_limit(timeouts: Facts, request_timeout: str) -> None:
    objects = definitions(plan(user({**SIMULATOR, "route": {"direct_path": "/direct", **timeouts}})))
    rules = [rule for item in objects if item["kind"] == "HTTPRoute" for rule in item["spec"]["rules"]]
    assert [rule["timeouts"] for rule in rules] == [{"request": request_timeout}] * 2


def test_two_routes_cannot_have_one_name() -> None:
    first, second = ({**SIMULATOR, "name": name, "route": {"path": f"/{name}"}} for name in ("a", "b"))
    (problem,) = problems(user(first, {**second, "route": {"path": "/b", "name": "a"}}))
    assert problem.path == "llm_d_model_services[1].route.name" and "llm_d_model_services[0]" in problem.reason
    past = {**first, "route": {"path": "/a", "direct_path": "/past"}}
    (problem,) = problems(user(past, {**second, "route": {"path": "/b", "name": "a-direct"}}))
    assert problem.path == "llm_d_model_services[1].route.name" and "llm_d_model_services[0]" in problem.reason
    (problem,) = problems(user({**first, "route": {"path": "/a", "name": "c-direct"}}, {**second, "route": {"path": "/b", "direct_path": "/p", "name": "c"}}))
    assert problem.path == "llm_d_model_services[1].route.name" and "makes c-direct" in problem.reason


@pytest.mark.parametrize(
    ("first", "second", "place", "why"),
    [
        ({}, {}, "route", "path '/' leads to llm_d_model_services[0] ('a') already."),
        ({"hostnames": ["a.b"]}, {"hostnames": ["c.d", "a.b"]}, "route", "path '/' of host 'a.b' leads to"),
        ({"headers": {"x-v": "b"}}, {"headers": {"X-V": "b"}}, "route.headers", "can have these headers and those of llm_d_model_services[0] ('a')"),
        ({"headers": {"x-v": "b"}}, {"headers": {"x-w": "c"}}, "route.headers", "Write another value of the same header."),
        ({}, {"headers": {"x-v": "b"}}, "", ""),
        ({"headers": {"x-v": "a"}}, {"headers": {"x-v": "b"}}, "", ""),
        ({"headers": {"x-v": "a"}}, {"headers": {"x-v": "a", "x-w": "b"}}, "", ""),  # the route with more headers takes precedence
        ({"hostnames": ["a.b"]}, {"hostnames": ["c.d"]}, "", ""),
        ({"direct_path": "/b/"}, {"path": "/b"}, "route.path", "is that of llm_d_model_services[0].route.direct_path already"),
        ({"path": "/b"}, {"path": "/c", "direct_path": "/b"}, "route.direct_path", "is that of llm_d_model_services[0].route.path already"),
        ({"path": "/b"}, {"path": "/c", "direct_path": "/c"}, "route.direct_path", "is that of llm_d_model_services[1].route.path already"),
        ({"direct_path": "/a"}, {"path": "/c", "direct_path": "/d"}, "", ""),
        ({"headers": {"x v": "b"}}, {"path": "/b"}, "route.headers.x v", "the name of an HTTP header"),
    ],
)
def test_routes_that_match_the_same_requests_are_refused(first: Facts, second: Facts, place: str, why: str) -> None:
    mistakes = problems(user({**SIMULATOR, "name": "a", "route": first}, {**SIMULATOR, "name": "b", "route": second}))
    at = 0 if "x v" in place else 1
    assert [problem.path for problem in mistakes] == [f"llm_d_model_services[{at}].{place}"] * bool(place)
    assert all(why in str(problem) for problem in mistakes)


@pytest.mark.parametrize(
    ("scheduler", "prefill", "words"),
    [
        ({"preset": "balanced"}, {"replicas": 2}, "scheduler preset balanced has no prefill servers"),
        ({}, {"replicas": 2}, "scheduler preset default has no prefill servers"),
        ({"scorers": {"queue": 1}}, {"replicas": 2}, "your scheduler has no prefill servers"),
        ({"preset": "balanced", "scorers": {"queue": 2}}, {"replicas": 2}, "scheduler preset balanced has"),
        ({"preset": "balanced"}, {}, None),
        ({"preset": "disaggregated"}, {"replicas": 2}, None),
    ],
)
def test_unused_prefill_servers_are_noted(scheduler: Facts, prefill: Facts, words: str | None) -> None:
    made = plan(user({**SIMULATOR, "scheduler": scheduler, "prefill": prefill}, llm_d_release="scheduler-0.7"))
    notes = [note for note in made["services"][0]["scheduler"]["notes"] if "prefill is not used" in note]
    assert len(notes) == bool(words) and all(str(words) in note for note in notes)


@pytest.mark.parametrize(
    ("accelerator", "amount", "fix"),
    [
        ({}, "1", None),
        ({}, 1, None),
        ({"per_replica": 4, "nodes": 2}, 2, None),
        ({"per_replica": 4, "nodes": 2}, 4, "write accelerator.per_replica: 8."),
        ({}, "4", "write accelerator.per_replica: 4."),
        ({}, "2k", "write accelerator.per_replica: 2000."),
        ({}, "500m", "Take it out."),
        ({}, 0, "Take it out."),
    ],
)
def test_accelerators_named_twice_have_to_be_as_many(accelerator: Facts, amount: str | int, fix: str | None) -> None:
    service = {"name": "a", "model": {"uri": "hf://org/m"}, "accelerator": accelerator, "resources": {"limits": {"nvidia.com/gpu": amount}}}
    mistakes = problems(user(service, llm_d_charts={"envoy_gateway": "/c", "leader_worker_set": "/c"}))
    assert [problem.path for problem in mistakes] == ["llm_d_model_services[0].resources.limits.nvidia.com/gpu"] * bool(fix)
    assert all(str(problem).endswith(str(fix)) for problem in mistakes)


@pytest.mark.parametrize("off", ["false", "False", "f", "0"])
def test_flags_of_the_endpoint_picker_that_are_off_are_accepted(off: str) -> None:
    args = [f"--ha-enable-leader-election={off}", f"--metrics-endpoint-auth={off}"]
    assert problems(user({**SIMULATOR, "scheduler": {"args": args}}, llm_d_monitoring={"scrape": True})) == []


def test_devices_beside_the_accelerators_are_counted_however_they_are_written() -> None:
    service = {"name": "a", "model": {"uri": "hf://org/m"}, "resources": {"limits": {"rdma/ib": "1k", "example.com/nic": "2.0"}}}
    server = next(each for each in plan(user(service))["preflight"]["resources"] if each["server"])
    assert {name: int(value) for name, value in requested(server["containers"]).items() if "/" in name} == {
        "nvidia.com/gpu": 1,
        "rdma/ib": 1000,
        "example.com/nic": 2,
    }


@pytest.mark.parametrize(
    ("listeners", "hosts", "refused"),
    [
        (["a.b"], ["a.b"], True),  # a route without a host has that of the listener
        (["c.d", "a.b"], ["a.b"], True),
        (["*.b"], ["*.b"], True),
        (["*.b"], ["a.b"], False),  # the longer one comes first
        ([None], ["a.b"], False),
        ([None, "a.b"], ["a.b"], True),
        (["a.b"], [], True),
    ],
)
def test_a_route_without_a_host_has_those_of_the_listeners(listeners: list[str | None], hosts: list[str], refused: bool) -> None:
    first, *others = [{"hostname": host, "port": 80 + number} for number, host in enumerate(listeners)]
    gateway = {"listener": first, "listeners": [{"name": f"more-{number}", **each} for number, each in enumerate(others)]}
    services = [{**SIMULATOR, "name": "a"}, {**SIMULATOR, "name": "b", "route": {"hostnames": hosts}}]
    for made in (services, [{**services[0], "route": services[1].get("route", {})}, {**services[1], "route": {}}]):
        mistakes = problems(user(*made, llm_d_gateway=gateway))
        assert [problem.path for problem in mistakes] == ["llm_d_model_services[1].route"] * refused, mistakes
    assert bool(problems(user(*services, llm_d_gateway={**gateway, "create": False}))) == (not hosts)


@pytest.mark.parametrize(
    ("listeners", "one", "other", "refused"),
    [
        (["a.b.c"], [], ["*.b.c"], True),
        (["a.b.c"], ["*.b.c"], ["a.b.c"], True),
        (["*.c"], ["*.b.c"], ["a.b.c"], False),
        (["*.b.c"], ["*.c"], [], True),
        (["x.b.c", "a.b.c"], ["x.b.c"], ["*.b.c"], True),
        (["x.b.c", "a.b.c"], ["x.b.c"], ["a.b.c"], False),
        ([None, "a.b.c"], ["*.b.c"], [], True),
        ([None], ["*.b.c"], ["a.b.c"], False),
    ],
)
def test_routes_share_the_hosts_that_they_have_in_common_with_the_listeners(
    listeners: list[str | None], one: list[str], other: list[str], refused: bool
) -> None:
    first, *others = [{"hostname": host, "port": 80 + number} for number, host in enumerate(listeners)]
    gateway = {"listener": first, "listeners": [{"name": f"more-{number}", **each} for number, each in enumerate(others)]}
    for hosts in ((one, other), (other, one)):
        services = [{**SIMULATOR, "name": f"s{number}", "route": {"hostnames": each}} for number, each in enumerate(hosts)]
        mistakes = problems(user(*services, llm_d_gateway=gateway))
        assert [problem.path for problem in mistakes] == ["llm_d_model_services[1].route"] * refused, mistakes


@pytest.mark.parametrize("provider", ["envoy_gateway", "istio"])
def test_the_direct_route_leads_to_the_service_and_no_policy_to_it(provider: str) -> None:
    service = {**SIMULATOR, "route": {"name": "entry", "direct_path": "/direct/", "hostnames": ["a.b"], "headers": {"x-v": "b"}}}
    objects = definitions(plan(user(service, llm_d_gateway={"provider": provider})))
    routes = {item["metadata"]["name"]: item["spec"] for item in objects if item["kind"] == "HTTPRoute"}
    assert set(routes) == {"entry", "entry-direct"} and routes["entry-direct"]["hostnames"] == ["a.b"]
    (rule,) = routes["entry-direct"]["rules"]
    assert rule["matches"][0] == {"path": {"type": "PathPrefix", "value": "/direct"}, "headers": [{"name": "x-v", "value": "b"}]}
    assert rule["filters"][0]["urlRewrite"]["path"] == {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}
    (backend,) = rule["backendRefs"]
    assert (backend["group"], backend["kind"], backend["name"], backend["port"]) == ("", "Service", SIMULATOR["name"], 8000)
    kind = {"envoy_gateway": "Service", "istio": "InferencePool"}[provider]
    assert routes["entry"]["rules"][0]["backendRefs"][0]["kind"] == kind
    targets = [ref["name"] for item in objects for ref in item.get("spec", {}).get("targetRefs", []) if ref["kind"] == "HTTPRoute"]
    assert "entry-direct" not in targets


@pytest.mark.parametrize(
    ("traffic", "balancer", "connections", "requests"),
    [
        ({}, {"type": "LeastRequest"}, 40000, 40000),
        ({"load_balancing": "ROUND_ROBIN", "max_requests": 9}, {"type": "RoundRobin"}, 40000, 9),
        ({"load_balancing": "RANDOM", "max_connections": 8}, {"type": "Random"}, 8, 40000),
        ({"session_cookie": "a"}, {"type": "ConsistentHash", "consistentHash": {"type": "Cookie", "cookie": {"name": "a"}}}, 40000, 40000),
        ({"session_header": "x-a"}, {"type": "ConsistentHash", "consistentHash": {"type": "Headers", "headers": [{"name": "x-a"}]}}, 40000, 40000),
    ],
)
def test_limits_and_balancing_reach_the_policy_of_the_route(traffic: Facts, balancer: Facts, connections: int, requests: int) -> None:
    planned = plan(user(SIMULATOR, llm_d_gateway={"provider": "envoy_gateway", "traffic": traffic}))
    policies = {item["kind"]: item["spec"] for item in definitions(planned) if item["kind"] in ("BackendTrafficPolicy", "EnvoyExtensionPolicy")}
    spec = policies["BackendTrafficPolicy"]
    assert spec["loadBalancer"].pop("endpointOverride") == {"extractFrom": [{"header": "x-gateway-destination-endpoint"}]}
    assert spec["loadBalancer"] == balancer
    assert spec["circuitBreaker"] == {"maxConnections": connections, "maxParallelRequests": requests, "maxPendingRequests": requests}
    # The connection to the endpoint picker has a stream for each in-flight request.
    streams = policies["EnvoyExtensionPolicy"]["extProc"][0]["backendSettings"]["circuitBreaker"]
    assert streams == dict.fromkeys(("maxConnections", "maxParallelRequests", "maxPendingRequests"), 40000)


@pytest.mark.parametrize(
    ("traffic", "policy"),
    [
        (
            {"load_balancing": "ROUND_ROBIN", "max_requests": 9},
            {"loadBalancer": {"simple": "ROUND_ROBIN"}, "connectionPool": {"http": {"http2MaxRequests": 9}}},
        ),
        ({"load_balancing": "RANDOM", "max_connections": 8}, {"loadBalancer": {"simple": "RANDOM"}, "connectionPool": {"tcp": {"maxConnections": 8}}}),
        ({"session_header": "x-a"}, {"loadBalancer": {"consistentHash": {"httpHeaderName": "x-a"}}}),
        ({"session_cookie": "a"}, {"loadBalancer": {"consistentHash": {"httpCookie": {"name": "a", "ttl": "0s"}}}}),
    ],
)
def test_limits_and_balancing_reach_the_rule_of_istio(traffic: Facts, policy: Facts) -> None:
    gateway = {"provider": "istio", "connection": "ext_proc", "traffic": traffic}
    rules = {item["spec"]["host"]: item["spec"] for item in definitions(plan(user(SIMULATOR, llm_d_gateway=gateway))) if item["kind"] == "DestinationRule"}
    assert rules["sim.llm-d.svc.cluster.local"]["trafficPolicy"] == policy


@pytest.mark.parametrize(
    ("headers", "place", "words"),
    [
        ({"X-V": "a", "x-v": "b"}, "x-v", "is the same header as X-V, since names of headers have no case. Write one of them."),
        ({"Host": "a.example.com"}, "Host", "is the host name of a request. Write it as 'hostnames: [a.example.com]' of the route."),
        ({"connection": "x"}, "connection", "is of a connection, and each client and proxy writes its own. Take it out."),
        ({"Authorization": "Bearer sk-planted"}, "Authorization", "is what llm_d_benchmark.api_key is sent in. Write one of the two."),
        (
            {"Authorization": "sk-planted", "authorization": "sk-planted"},
            "authorization",
            "is the same header as Authorization, since names of headers have no case.",
        ),
        ({"x-v": "za\u017c\u00f3\u0142\u0107"}, "x-v", "holds a character that headers cannot hold."),
        ({"x-v": "a "}, "x-v", "has a blank at its beginning or end"),
        ({"x-v": " b"}, "x-v", "has a blank at its beginning or end"),
    ],
)
def test_headers_that_no_client_can_send_are_refused(headers: Facts, place: str, words: str) -> None:
    *_others, mistake = problems(user({**SIMULATOR, "route": {"headers": headers}}, llm_d_benchmark={"api_key": "sk-planted-too"}))
    assert mistake.path == f"llm_d_model_services[0].route.headers.{place}" and words in str(redacted(mistake)) and "planted" not in repr(mistake)
    assert place != "Authorization" or not problems(user({**SIMULATOR, "route": {"headers": headers}}))


def test_counts_and_lengths_beyond_the_limits_of_the_gateway_api_are_refused() -> None:
    route = {"hostnames": [f"h{number}.example.com" for number in range(17)], "headers": {f"x-{number}": "a" for number in range(17)}}
    listeners = [{"name": f"l{number}", "port": 1000 + number} for number in range(64)]
    mistakes = {problem.path: str(problem) for problem in problems(user({**SIMULATOR, "route": route}, llm_d_gateway={"listeners": listeners}))}
    assert {path.partition(".")[2]: "Write at most" in text for path, text in mistakes.items()} == dict.fromkeys(
        ("listeners", "route.hostnames", "route.headers"), True
    )
    fewer = {"hostnames": route["hostnames"][:16], "headers": dict(list(route["headers"].items())[:16])}
    assert not problems(user({**SIMULATOR, "route": fewer}, llm_d_gateway={"listeners": listeners[:63]}))
    (long,) = problems(user({**SIMULATOR, "route": {"headers": {"x-a": "b" * 4097}}}))
    assert long.path.endswith("route.headers.x-a") and "has 4097 characters. Write 1 to 4,096." in str(long)


def test_a_route_matches_the_headers_of_the_file() -> None:
    variant = {**SIMULATOR, "name": "b", "route": {"headers": {"x-variant": "on"}}}
    routes = {item["metadata"]["name"]: item for item in definitions(plan(user(SIMULATOR, variant))) if item["kind"] == "HTTPRoute"}
    ((match,), (other,)) = (routes[name]["spec"]["rules"][0]["matches"] for name in ("b", SIMULATOR["name"]))
    assert match == {"path": {"type": "PathPrefix", "value": "/"}, "headers": [{"name": "x-variant", "value": "on"}]}
    assert other == {"path": {"type": "PathPrefix", "value": "/"}}


def test_an_endpoint_picker_is_replaced_without_a_gap() -> None:
    picker = plan(user({**SIMULATOR, "scheduler": {"drain_seconds": 45, "args": ["--tracing=true"], "env": {"A": "b"}}}))["services"][0]["scheduler"]
    assert picker["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert picker["drain_seconds"] == 45 and spec(picker)["terminationGracePeriodSeconds"] > 45
    assert flag(picker["args"], "--tracing") == "true"
    assert {"name": "A", "value": "b"} in main(picker)["env"]


@pytest.mark.parametrize(
    ("preset", "scrape", "there"),
    [
        ("queue", False, []),
        ("queue", True, ["sim-decode", "sim-epp"]),
        ("disaggregated", True, ["sim-decode", "sim-prefill", "sim-epp"]),
        ("disaggregated", False, []),
    ],
)
def test_pod_monitors_are_planned_only_when_scraping_is_enabled(preset: str, scrape: bool, there: list[str]) -> None:
    made = user({**SIMULATOR, "scheduler": {"preset": preset}}, llm_d_monitoring={"scrape": scrape, "labels": {"release": "prometheus"}})
    service = plan(made)["services"][0]
    assert [monitor["name"] for monitor in service["monitors"]] == there
    assert all({"release": "prometheus", **service["labels"]}.items() <= monitor["labels"].items() for monitor in service["monitors"])
    # Another scheduler adds or removes those of the servers; without scraping, the kind is not read, as the cluster may not have it.
    switched = [item["metadata"]["name"] for item in service["switched"] if item["kind"] == "PodMonitor"]
    assert switched == (["sim-decode", "sim-prefill"] if scrape else [])


AI_GATEWAY: Facts = {"llm_d_gateway": {"provider": "envoy_ai_gateway"}}
RANKED: Facts = {**SIMULATOR, "engine": {"type": "simulator", "args": ["--data-parallel-size=3"]}}
VLLM_RANKS = ["--data-parallel-size=2", "--data-parallel-size-local", "2"]


@pytest.mark.parametrize(
    ("service", "variables", "ports"),
    [
        (RANKED, AI_GATEWAY, [8000, 8001, 8002]),
        (SIMULATOR, AI_GATEWAY, [8000]),
        ({**RANKED, "engine": {**RANKED["engine"], "args": ["--data-parallel-size=8"], "port": 9000}}, AI_GATEWAY, list(range(9000, 9008))),
        (
            RANKED,
            {"llm_d_gateway": {"provider": "openshift", "pool_version": "v1alpha2"}, "llm_d_platform": "openshift", "llm_d_release": "scheduler-0.7"},
            [8000],
        ),  # has one port only
        (RANKED, {}, [8000]),  # Envoy Gateway goes to addresses of a Service
        ({**RANKED, "scheduler": {"preset": "disaggregated"}, "prefill": {"replicas": 1}}, AI_GATEWAY, [8000]),  # a routing sidecar listens
        ({**LLAMA, "accelerator": {"per_replica": 2}, "engine": {"args": ["-dp=2"]}}, AI_GATEWAY, [8000]),  # vLLM chooses the rank behind its port
        ({**LLAMA, "accelerator": {"vendor": "none"}, "engine": {"args": [*VLLM_RANKS, "--data-parallel-multi-port-external-lb"]}}, AI_GATEWAY, [8000, 8001]),
    ],
)
def test_a_pool_has_a_port_for_each_rank_that_listens_on_one(service: Facts, variables: Facts, ports: list[int]) -> None:
    made = {**user(service), **variables}
    assert problems(made) == []
    assert plan(made)["services"][0]["pool"]["target_ports"] == ports


def test_a_pool_has_eight_ports_at_most() -> None:
    (mistake,) = problems({**user({**RANKED, "engine": {**RANKED["engine"], "args": ["--data-parallel-size=9"]}}), **AI_GATEWAY})
    assert mistake.path == "llm_d_model_services[0].engine.args" and "has 9 ranks" in mistake.reason
