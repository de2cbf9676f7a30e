"""Options of the user's file reach the objects that the real templates of the roles render."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions, render
from pruned import pruned

Facts = dict[str, t.Any]
ROLES = Path(__file__).resolve().parents[3] / "roles"
TEMPLATES = [ROLES / "gaie_scheduler/templates/scheduler.yml.j2", ROLES / "model_service/templates/servers.yml.j2"]
VLLM: Facts = {"name": "a", "model": {"uri": "hf://org/model"}}
SIM: Facts = {"name": "a", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}


def file_of(service: Facts, **settings: t.Any) -> Facts:
    """A user's file with one service."""
    return {"llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"}, "llm_d_model_services": [service], **settings}


def objects(service: Facts, **settings: t.Any) -> dict[tuple[str, str], Facts]:
    """All objects of the scheduler and the servers of a service, by kind and name."""
    planned = plan(file_of(service, **settings))
    return {(item["kind"], item["metadata"]["name"]): item for template in TEMPLATES for item in render(template, planned)}


def pod(service: Facts, what: str = "decode", **settings: t.Any) -> Facts:
    """The pod template of the servers of a role, or of the endpoint picker ("epp")."""
    return objects(service, **settings)[("Deployment", f"a-{what}")]["spec"]["template"]


def container(service: Facts, what: str = "decode", **settings: t.Any) -> Facts:
    """The only container of such a pod."""
    return pod(service, what, **settings)["spec"]["containers"][0]


def flags(service: Facts, what: str = "decode", **settings: t.Any) -> list[str]:
    """The command line of such a container."""
    return container(service, what, **settings)["args"]


def variables(service: Facts, what: str = "decode") -> Facts:
    """The environment variables of such a container; None for those without a plain value."""
    return {item["name"]: item.get("value") for item in container(service, what)["env"]}


def vllm(**engine: t.Any) -> Facts:
    return {**VLLM, "engine": engine}


FLAGS: list[tuple[str, Facts, str, list[str], list[str]]] = [
    ("revision", {**VLLM, "model": {**VLLM["model"], "revision": "v1.2"}}, "decode", ["org/model", "--revision=v1.2"], []),
    ("no revision", VLLM, "decode", ["org/model"], ["--revision", "--model"]),
    (
        "a model under another name",
        {**VLLM, "model": {"uri": "hf://org/other", "served_name": "m"}},
        "decode",
        ["org/other", "--served-model-name=m"],
        ["org/model", "--model"],
    ),
    ("arguments of vLLM", vllm(args=["--seed=7"]), "decode", ["--seed=7"], []),
    ("arguments of a simulator", {**SIM, "engine": {"type": "simulator", "args": ["--seed=7"]}}, "decode", ["--seed=7"], []),
    ("prefix caching on", vllm(prefix_caching=True), "decode", ["--enable-prefix-caching"], ["--no-enable"]),
    ("prefix caching off", vllm(prefix_caching=False), "decode", ["--no-enable-prefix-caching"], ["--enable-prefix"]),
    ("prefix caching left out", VLLM, "decode", [], ["--enable-prefix", "--no-enable"]),
    ("memory of the accelerator", vllm(gpu_memory_utilization=0.8), "decode", ["--gpu-memory-utilization=0.8"], []),
    ("all memory", vllm(gpu_memory_utilization=1), "decode", ["--gpu-memory-utilization=1"], []),
    ("memory left out", VLLM, "decode", [], ["--gpu-memory"]),
    ("quantization and batch size", vllm(quantization="fp8", max_num_seqs=64), "decode", ["--quantization=fp8", "--max-num-seqs=64"], []),
    ("left to the model", VLLM, "decode", [], ["--quantization", "--max-num-seqs"]),
    ("block size of vLLM", VLLM, "decode", [], ["--block-size"]),
    ("block size of vLLM that was asked for", vllm(block_size=64), "decode", ["--block-size=64"], []),
    ("block size that the endpoint picker has to know", {**VLLM, "scheduler": {"preset": "precise_prefix"}}, "decode", ["--block-size=16"], []),
    (
        "block size on CPUs that the endpoint picker has to know",
        {**vllm(image="acme/vllm-cpu:1"), "accelerator": {"vendor": "none"}, "scheduler": {"preset": "precise_prefix"}},
        "decode",
        ["--block-size=32"],
        [],
    ),
    ("block size on CPUs", {**vllm(image="acme/vllm-cpu:1"), "accelerator": {"vendor": "none"}}, "decode", [], ["--block-size"]),
    ("block size of a simulator", SIM, "decode", ["--block-size=16", "--model=m"], []),
    ("batch size of a simulator", {**SIM, "engine": {"type": "simulator", "max_num_seqs": 9}}, "decode", ["--max-num-seqs=9"], []),
    ("log level of a simulator", {**SIM, "engine": {"type": "simulator", "log_level": "debug"}}, "decode", ["--v=4"], []),
    ("log level left out", SIM, "decode", [], ["--v=", "-v="]),
    ("verbosity", {**SIM, "scheduler": {"verbosity": 5}}, "epp", ["--v=5"], ["--v=2"]),
    ("usual verbosity", SIM, "epp", ["--v=2"], []),
    (
        "further arguments of the endpoint picker",
        {**SIM, "scheduler": {"args": ["--refresh-metrics-interval=20ms", "--tracing=true"]}},
        "epp",
        ["--refresh-metrics-interval=20ms", "--tracing=true"],
        ["--tracing=false"],
    ),
]


@pytest.mark.parametrize(("service", "what", "there", "absent"), [row[1:] for row in FLAGS], ids=[row[0] for row in FLAGS])
def test_options_become_flags(service: Facts, what: str, there: list[str], absent: list[str]) -> None:
    arguments = flags(service, what)
    assert sorted(flag for flag in arguments if flag in there) == sorted(there)
    assert not [flag for flag in arguments if flag.startswith(tuple(absent))]


@pytest.mark.parametrize("role", ["decode", "prefill"])
def test_servers_of_every_role_get_them(role: str) -> None:
    service = {**vllm(gpu_memory_utilization=0.7, quantization="awq", prefix_caching=True, log_level="warning"), "scheduler": {"preset": "disaggregated"}}
    assert {"--gpu-memory-utilization=0.7", "--quantization=awq", "--enable-prefix-caching"} <= set(flags(service, role))
    assert {"name": "VLLM_LOGGING_LEVEL", "value": "WARNING"} in container(service, role)["env"]


@pytest.mark.parametrize("part", ["leader", "worker"])
def test_groups_of_several_nodes_get_them(part: str) -> None:
    engine = {"gpu_memory_utilization": 0.7, "quantization": "fp8", "prefix_caching": False, "log_level": "debug"}
    service = {**VLLM, "engine": engine, "accelerator": {"per_replica": 16, "nodes": 2, "across_nodes": "expert"}}
    group = objects(service)[("LeaderWorkerSet", "a-decode")]["spec"]["leaderWorkerTemplate"]
    server = group[f"{part}Template"]["spec"]["containers"][0]
    assert {"--gpu-memory-utilization=0.7", "--quantization=fp8", "--no-enable-prefix-caching"} <= set(server["args"])
    assert {"name": "VLLM_LOGGING_LEVEL", "value": "DEBUG"} in server["env"]


@pytest.mark.parametrize("level", ["warning", "info", "debug"])
def test_the_log_level_of_vllm_is_its_own_variable(level: str) -> None:
    assert variables(vllm(log_level=level))["VLLM_LOGGING_LEVEL"] == level.upper()
    assert "VLLM_LOGGING_LEVEL" not in variables(VLLM)
    assert variables(vllm(env={"VLLM_LOGGING_LEVEL": "ERROR"}))["VLLM_LOGGING_LEVEL"] == "ERROR"


@pytest.mark.parametrize("engine", ["vllm", "simulator"])
def test_the_image_of_a_service_is_used_unchanged_despite_a_registry_mirror(engine: str) -> None:
    base = VLLM if engine == "vllm" else SIM
    own = {**base, "engine": {"type": engine, "image": "mine/server:v3"}}
    elsewhere = {"llm_d_image_registry": "registry.example.com", "llm_d_images": {engine: "other/server:v1"}, "llm_d_image_pull_policy": "Always"}
    assert container(own, **elsewhere)["image"] == "mine/server:v3" and container(own, **elsewhere)["imagePullPolicy"] == "Always"
    assert container(base, **elsewhere)["image"] == "other/server:v1"
    del elsewhere["llm_d_images"]
    assert container(base, **elsewhere)["image"].startswith("registry.example.com/")


def test_servers_have_the_requested_resources() -> None:
    requested = {"requests": {"cpu": 4, "memory": "16Gi"}, "limits": {"memory": "32Gi"}}
    resources = container({**VLLM, "resources": requested, "accelerator": {"per_replica": 2}})["resources"]
    assert resources == {"requests": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": 2}, "limits": {"memory": "32Gi", "nvidia.com/gpu": 2}}
    assert container({**SIM, "resources": {"limits": {"cpu": "500m"}}})["resources"] == {"limits": {"cpu": "500m"}}
    assert container(VLLM)["resources"]["requests"] == {"cpu": "2", "memory": "8Gi", "nvidia.com/gpu": 1}


def test_the_endpoint_picker_has_the_requested_resources() -> None:
    requested = {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"cpu": 1, "memory": "512Mi"}}
    resources = container({**SIM, "scheduler": {"resources": requested}}, "epp")["resources"]
    assert resources == {"requests": {"cpu": "500m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}
    assert container(SIM, "epp")["resources"] == {"requests": {"cpu": "8", "memory": "8Gi"}, "limits": {"memory": "16Gi"}}


def test_additional_labels_are_set_on_pods_and_not_in_selectors() -> None:
    service = {**SIM, "labels": {"example.com/team": "research", "tier": "gold"}}
    plain, labelled = objects(SIM), objects(service)
    deployment = labelled[("Deployment", "a-decode")]
    template = deployment["spec"]["template"]["metadata"]["labels"]
    assert {"example.com/team": "research", "tier": "gold"}.items() <= template.items()
    before = plain[("Deployment", "a-decode")]["spec"]
    assert deployment["spec"]["selector"] == before["selector"], "a selector cannot change"
    assert before["template"]["metadata"]["labels"].items() <= template.items()
    assert labelled[("InferencePool", "a")] == plain[("InferencePool", "a")] and labelled[("Service", "a")] == plain[("Service", "a")]


def test_the_node_selector_and_tolerations_are_set_on_the_pods() -> None:
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, {"key": "team", "value": "research"}]
    spec = pod({**VLLM, "node_selector": {"pool": "gpu"}, "tolerations": tolerations})["spec"]
    assert spec["nodeSelector"] == {"pool": "gpu"}
    assert spec["tolerations"] == tolerations


def test_pods_use_their_own_or_the_named_existing_service_account() -> None:
    pulling = {"llm_d_image_pull_secrets": ["mirror"]}
    ours, named = objects(VLLM, **pulling), objects({**VLLM, "service_account": "bucket-reader"}, **pulling)
    assert ours[("ServiceAccount", "a")]["imagePullSecrets"] == [{"name": "mirror"}]
    spec = ours[("Deployment", "a-decode")]["spec"]["template"]["spec"]
    assert spec["serviceAccountName"] == "a" and "imagePullSecrets" not in spec
    spec = named[("Deployment", "a-decode")]["spec"]["template"]["spec"]
    assert spec["serviceAccountName"] == "bucket-reader" and spec["imagePullSecrets"] == [{"name": "mirror"}]
    accounts = {name for kind, name in named if kind == "ServiceAccount"}
    assert accounts == {"a-epp"}, "a foreign account is not written, and the endpoint picker keeps its own"


def test_the_own_service_account_is_pruned_when_another_is_named() -> None:
    gone = pruned(definitions(plan(file_of(VLLM))), plan(file_of({**VLLM, "service_account": "other"})))
    assert gone == [("v1", "ServiceAccount", "llm-d", "a")]


@pytest.mark.parametrize(("service", "seconds"), [(VLLM, 1800), (vllm(startup_timeout=2707), 2707), (SIM, 120)])
def test_startup_probe_and_deadlines_allow_the_time_to_load_the_model(service: Facts, seconds: int) -> None:
    deployment = objects(service)[("Deployment", "a-decode")]["spec"]
    server = deployment["template"]["spec"]["containers"][0]
    probe = server["startupProbe"]
    assert seconds <= probe["periodSeconds"] * probe["failureThreshold"] < seconds + probe["periodSeconds"]
    assert probe["httpGet"] == server["readinessProbe"]["httpGet"]
    assert deployment["progressDeadlineSeconds"] > seconds, "the Deployment must not give up before the probe does"
    assert plan(file_of(service))["servers_wait_timeout"] >= seconds


def test_processes_of_one_server_share_memory() -> None:
    for service in ({**VLLM, "accelerator": {"per_replica": 2}}, {**VLLM, "scheduler": {"preset": "disaggregated"}}):
        spec = pod(service)["spec"]
        mounted = [mount["name"] for mount in spec["containers"][0]["volumeMounts"] if mount["mountPath"] == "/dev/shm"]
        volume = next(volume for volume in spec["volumes"] if [volume["name"]] == mounted)
        assert volume["emptyDir"]["medium"] == "Memory", "a container has 64 MiB of its own, too little for NCCL"


def test_the_values_for_tpus_are_those_of_the_well_lit_path() -> None:
    service = {
        **VLLM,
        "engine": {"image": "vllm/vllm-tpu:v0.11.0"},
        "replicas": 2,
        "accelerator": {"vendor": "google", "product": "tpu-v6e-slice", "per_replica": 8},
        "node_selector": {"cloud.google.com/gke-tpu-topology": "2x4"},
        "resources": {"requests": {"memory": "160Gi"}},
    }
    spec = pod(service)["spec"]
    server = spec["containers"][0]
    assert server["resources"] == {"requests": {"memory": "160Gi", "google.com/tpu": 8}, "limits": {"google.com/tpu": 8}}
    assert "--tensor-parallel-size=8" in server["args"] and server["image"] == "vllm/vllm-tpu:v0.11.0"
    assert spec["nodeSelector"] == {"cloud.google.com/gke-tpu-topology": "2x4"}
    term = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0]["matchExpressions"]
    assert term == [{"key": "cloud.google.com/gke-tpu-accelerator", "operator": "In", "values": ["tpu-v6e-slice"]}]
    strategy = objects(service)[("Deployment", "a-decode")]["spec"]["strategy"]["rollingUpdate"]
    assert strategy == {"maxSurge": 0, "maxUnavailable": 1}, "there is no spare slice"


S0 = "llm_d_model_services[0]"
REFUSED: list[tuple[str, Facts, str, str]] = [
    ("a second model", vllm(args=["--seed=1", "--model=org/other"]), f"{S0}.engine.args[1]", "the model is the first argument of `vllm serve` already"),
    (
        "prefix caching of a simulator",
        {**SIM, "engine": {"type": "simulator", "prefix_caching": False}},
        f"{S0}.engine.prefix_caching",
        "is no option of the llm-d simulator",
    ),
    (
        "quantization of a simulator",
        {**SIM, "engine": {"type": "simulator", "quantization": "fp8"}},
        f"{S0}.engine.quantization",
        "is no option of the llm-d simulator",
    ),
    ("quantization without a word", vllm(quantization=""), f"{S0}.engine.quantization", "Write something like fp8."),
    ("more than all memory", vllm(gpu_memory_utilization=1.5), f"{S0}.engine.gpu_memory_utilization", "1.5 is more than 1"),
    ("memory in percent", vllm(gpu_memory_utilization="90%"), f"{S0}.engine.gpu_memory_utilization", "Write a number from 0.01 to 1."),
    (
        "memory of no accelerator",
        {**vllm(gpu_memory_utilization=0.5, image="mine/vllm-cpu:v1"), "accelerator": {"vendor": "none"}},
        f"{S0}.engine.gpu_memory_utilization",
        "no accelerator whose memory",
    ),
    (
        "memory set twice",
        vllm(gpu_memory_utilization=0.8, args=["--enforce-eager", "--gpu-memory-utilization", "0.9"]),
        f"{S0}.engine.args[1]",
        "duplicates engine.gpu_memory_utilization (0.8).",
    ),
    ("prefix caching set twice", vllm(prefix_caching=True, args=["--no-enable-prefix-caching"]), f"{S0}.engine.args[0]", "duplicates engine.prefix_caching"),
    ("quantization by its short flag", vllm(quantization="fp8", args=["-q awq"]), f"{S0}.engine.args[0]", "Take it out, or take out engine.quantization."),
    (
        "verbosity of a simulator set twice",
        {**SIM, "engine": {"type": "simulator", "log_level": "info", "args": ["-v=5"]}},
        f"{S0}.engine.args[0]",
        "duplicates engine.log_level (info).",
    ),
    (
        "log level set twice",
        vllm(log_level="info", env={"VLLM_LOGGING_LEVEL": "DEBUG"}),
        f"{S0}.engine.env.VLLM_LOGGING_LEVEL",
        "duplicates engine.log_level",
    ),
    ("an unknown log level", vllm(log_level="loud"), f"{S0}.engine.log_level", "Write one of: warning, info, debug."),
    (
        "no prefix cache where the scheduler follows it",
        {**vllm(prefix_caching=False), "scheduler": {"preset": "precise_prefix"}},
        f"{S0}.engine.prefix_caching",
        "without a prefix cache there are none",
    ),
    ("our own account by name", {**VLLM, "service_account": "a"}, f"{S0}.service_account", "is the account that we make ourselves"),
    ("an account that can be none", {**VLLM, "service_account": "Bucket_Reader"}, f"{S0}.service_account", "'Bucket_Reader' is not lower-case letters"),
    ("revision of a claim", {**VLLM, "model": {"uri": "pvc://c/m", "revision": "main"}}, f"{S0}.model.revision", "only for a model from hf://"),
    ("a negative verbosity", {**SIM, "scheduler": {"verbosity": -1}}, f"{S0}.scheduler.verbosity", "Write a whole number from 0 to 10."),
    ("an amount that is none", {**SIM, "resources": {"requests": {"memory": "much"}}}, f"{S0}.resources.requests.memory", "is not a Kubernetes quantity"),
]


@pytest.mark.parametrize(("service", "path", "words"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_invalid_or_conflicting_options_are_refused_with_their_path(service: Facts, path: str, words: str) -> None:
    refusals = problems(file_of(service))
    assert [problem.path for problem in refusals] == [path]
    assert words in str(refusals[0])


@pytest.mark.parametrize("release", sorted(RELEASES))
def test_every_release_line_accepts_endpoint_picker_args_and_resources(release: str) -> None:
    service = {**SIM, "scheduler": {"verbosity": 4, "args": ["--refresh-prometheus-metrics-interval=1s"], "resources": {"limits": {"memory": "1Gi"}}}}
    server = container(service, "epp", llm_d_release=release)
    assert {"--v=4", "--refresh-prometheus-metrics-interval=1s"} <= set(server["args"]) and server["resources"] == {"limits": {"memory": "1Gi"}}
