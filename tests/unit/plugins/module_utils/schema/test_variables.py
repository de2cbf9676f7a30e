"""Mistakes of users and the messages about them: the place, the value, and what to write."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import problems

SIM: dict[str, t.Any] = {"name": "sim", "model": {"served_name": "llm-d/simulated-8b"}, "engine": {"type": "simulator"}}
# The line whose precise prefix matching simulators can have.
OLD = {"llm_d_release": "scheduler-0.7"}
CHARTS = {"llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"}}
S0, S1 = "llm_d_model_services[0]", "llm_d_model_services[1]"


def sim(**more: t.Any) -> dict[str, t.Any]:
    return {"llm_d_model_services": [{**SIM, **more}]}


def two(**second: t.Any) -> dict[str, t.Any]:
    return {"llm_d_model_services": [SIM, {**SIM, **second}]}


def vllm(**more: t.Any) -> dict[str, t.Any]:
    return {"llm_d_model_services": [{"name": "llama", "model": {"uri": "hf://org/llama"}, "engine": {"type": "vllm"}, **more}]}


PRECISE = {"preset": "precise_prefix"}
TABLE: list[tuple[str, dict[str, t.Any], str, str]] = [
    ("misspelt key", sim(replcas=4), f"{S0}.replcas", "Did you mean 'replicas'?"),
    ("misspelt nested key", sim(engine={"type": "simulator", "max_model_length": 1}), f"{S0}.engine.max_model_length", "Did you mean 'max_model_len'?"),
    (
        "an endpoint picker that asks who scrapes it for a token",
        {**sim(scheduler={"args": ["--tracing=true", "--metrics-endpoint-auth"]}), "llm_d_monitoring": {"scrape": True}},
        f"{S0}.scheduler.args[1]",
        "Take it out, or write 'scrape: false' under llm_d_monitoring",
    ),
    (
        "a label of PodMonitors that says who made them",
        {"llm_d_monitoring": {"labels": {"app.kubernetes.io/part-of": "kube-prometheus"}}},
        "llm_d_monitoring.labels.app.kubernetes.io/part-of",
        "marks what the collection owns.",
    ),
    ("seconds with a unit", {"llm_d_monitoring": {"interval": "15s"}}, "llm_d_monitoring.interval", "whole number"),
    ("misspelt variable", {"llm_d_gatway": {}}, "llm_d_gatway", "Did you mean 'llm_d_gateway'?"),
    ("key one level too high", sim(preset="queue"), f"{S0}.preset", "Write it under scheduler."),
    ("key two levels too high", sim(inter_token_latency="5ms"), f"{S0}.inter_token_latency", "Write it under engine.simulator."),
    ("unknown preset", sim(scheduler={"preset": "balancd"}), f"{S0}.scheduler.preset", "'balancd' is not known here. Did you mean 'balanced'?"),
    ("unknown scorer", sim(scheduler={"scorers": {"qeue": 1}}), f"{S0}.scheduler.scorers.qeue", "Did you mean queue"),
    (
        "preset of another line",
        {**sim(scheduler={"preset": "precise_prefix"}), "llm_d_release": "gie-1.5"},
        f"{S0}.scheduler.preset",
        "Write preset: prefix_aware, or use a release that has it: scheduler-0.7",
    ),
    (
        "prefill where nobody knows it",
        {**sim(scheduler={"preset": "disaggregated"}), "llm_d_release": "gie-1.5"},
        f"{S0}.scheduler.preset",
        "this endpoint picker has no roles",
    ),
    (
        "a simulator that vLLM cannot tokenize for",
        {**sim(scheduler={"preset": "precise_prefix"}), "llm_d_release": "router-0.9"},
        f"{S0}.scheduler",
        "token ids are not those of the simulator",
    ),
    (
        "another block size in the arguments",
        sim(engine={"type": "simulator", "args": ["--block-size", "64"]}, scheduler=PRECISE),
        f"{S0}.engine.args[0]",
        "--block-size=64 contradicts engine.block_size, which is 16",
    ),
    (
        "another block size in the scorer",
        sim(scheduler={"scorers": {"precise_prefix": {"block_size": 64}}}),
        f"{S0}.scheduler.scorers.precise_prefix.block_size",
        "the model server runs with --block-size=16: no block ever matches",
    ),
    (
        "another hash seed in the environment",
        vllm(engine={"env": {"PYTHONHASHSEED": "7"}}, scheduler={"scorers": {"precise_prefix": {"hash_seed": "42"}}}),
        f"{S0}.scheduler.scorers.precise_prefix.hash_seed",
        "the model server hashes with seed 7: no block ever matches",
    ),
    (
        "a hash seed of chance",
        vllm(engine={"env": {"PYTHONHASHSEED": "random"}}, scheduler=PRECISE),
        f"{S0}.engine.env.PYTHONHASHSEED",
        'Write a number in quotes, such as "42".',
    ),
    (
        "another hash seed in the arguments",
        sim(engine={"type": "simulator", "args": ["--hash-seed=9"]}, scheduler=PRECISE),
        f"{S0}.scheduler.scorers.precise_prefix.hash_seed",
        "hashes with seed 9",
    ),
    (
        "KV events that are off",
        vllm(engine={"args": ['--kv-events-config={"enable_kv_cache_events": false}']}, scheduler=PRECISE),
        f"{S0}.engine.args[0]",
        "they are not switched on here",
    ),
    (
        "KV events on another port",
        vllm(engine={"args": ['--kv-events-config={"enable_kv_cache_events": true, "endpoint": "tcp://*:6000"}']}, scheduler=PRECISE),
        f"{S0}.engine.args[0]",
        "on port 6000, and the endpoint picker listens on 5557",
    ),
    (
        "KV events of a nameless server",
        vllm(engine={"args": ['--kv-events-config={"enable_kv_cache_events": true, "topic": "kv@$(POD_IP)@m"}']}, scheduler=PRECISE),
        f"{S0}.engine.args[0]",
        "without a port: every server would silently score 0",
    ),
    (
        "KV events without a prefix cache",
        vllm(engine={"args": ["--enforce-eager", "--no-enable-prefix-caching"]}, scheduler=PRECISE),
        f"{S0}.engine.args[1]",
        "without a prefix cache there are none",
    ),
    (
        "a simulator without a KV cache",
        sim(engine={"type": "simulator", "args": ["--enable-kvcache=false"]}, scheduler=PRECISE),
        f"{S0}.engine.args[0]",
        "the scheduler needs --enable-kvcache=true",
    ),
    (
        "a server under another name",
        sim(engine={"type": "simulator", "env": {"POD_IP": "10.0.0.1"}}, scheduler=PRECISE),
        f"{S0}.engine.env.POD_IP",
        "is the address of a server in its KV events",
    ),
    (
        "tensor parallel over fewer accelerators",
        vllm(accelerator={"per_replica": 4}, engine={"args": ["--tensor-parallel-size=2"]}),
        f"{S0}.engine.args[0]",
        "needs 2 accelerators, and one replica has 4",
    ),
    (
        "tensor parallel over more accelerators",
        vllm(engine={"args": ["-tp", "2"]}),
        f"{S0}.engine.args[0]",
        "Write accelerator.per_replica: 2",
    ),
    (
        "one volume of one node for several servers",
        sim(engine={}, model={"uri": "pvc://models/m"}, replicas=2, storage={"access_mode": "ReadWriteOnce"}),
        f"{S0}.storage.access_mode",
        "2 servers cannot share a ReadWriteOnce volume",
    ),
    (
        "one volume of one node for prefill and decode",
        sim(engine={}, model={"uri": "pvc://models/m"}, storage={"access_mode": "ReadWriteOnce"}, scheduler={"preset": "disaggregated"}),
        f"{S0}.storage.access_mode",
        "2 servers cannot share",
    ),
    ("access mode of no claim", vllm(storage={"access_mode": "ReadWriteOnce"}), f"{S0}.storage.access_mode", "only for a model from pvc://"),
    (
        "events for one of two pickers",
        sim(scheduler={**PRECISE, "replicas": 2}),
        f"{S0}.scheduler.replicas",
        "sends its KV events to one endpoint picker",
    ),
    (
        "leader election",
        sim(scheduler={"args": ["--ha-enable-leader-election"]}),
        f"{S0}.scheduler.args[0]",
        "would wait forever for the old one to go",
    ),
    ("a flag of the plan", sim(scheduler={"args": ["--tracing=false", "--pool-name=x"]}), f"{S0}.scheduler.args[1]", "follows from the rest of the plan"),
    ("a bare false", sim(scheduler={"args": ["--tracing false"]}), f"{S0}.scheduler.args[0]", "Write --tracing=false."),
    ("a flag of former days", sim(scheduler={"args": ["--kv-cache-usage-percentage-metric=x"]}), f"{S0}.scheduler.args[0]", "refuses to start with this flag"),
    ("the port behind the sidecar", sim(engine={"type": "simulator", "port": 8200}, scheduler={"preset": "disaggregated"}), f"{S0}.engine.port", "8200"),
    (
        "encode servers",
        sim(scheduler={"preset": "disaggregated", "disaggregation": {"encode": True}}),
        f"{S0}.scheduler.disaggregation.encode",
        "which the collection does not set up",
    ),
    (
        "misspelt word of disaggregation",
        sim(scheduler={"preset": "disaggregated", "disaggregation": {"non_cached_token": 16}}),
        f"{S0}.scheduler.disaggregation.non_cached_token",
        "Did you mean 'non_cached_tokens'?",
    ),
    (
        "an option of former days",
        sim(scheduler={"preset": "disaggregated", "disaggregation": {"threshold": 100}}),
        f"{S0}.scheduler.disaggregation.threshold",
        "is not supported any more. Write non_cached_tokens:",
    ),
    (
        "neither of two types",
        sim(scheduler={"disaggregation": 5}),
        f"{S0}.scheduler.disaggregation",
        "5 is a whole number, not true or false or a mapping (key: value).",
    ),
    ("unknown handler", sim(scheduler={"profile_handler": "singel"}), f"{S0}.scheduler.profile_handler", "Did you mean single?"),
    ("label of another pool", sim(labels={"llm-d.ai/model-service": "b"}), f"{S0}.labels.llm-d.ai/model-service", "in the pool of 'b' as well"),
    ("unknown provider", {"llm_d_gateway": {"provider": "nginx"}}, "llm_d_gateway.provider", "Write one of: envoy_gateway, envoy_ai_gateway, istio"),
    ("a release line that is gone", {"llm_d_release": "scheduler-0.8"}, "llm_d_release", "Write router-0.9, which replaces it."),
    ("unknown release", {"llm_d_release": "scheduler-0.9"}, "llm_d_release", "gie-1.5, scheduler-0.7"),
    ("name is no DNS label", sim(name="Llama_8B"), f"{S0}.name", "'Llama_8B' is not lower-case letters, digits and '-'"),
    ("name too long", sim(name="x" * 60), f"{S0}.name", "has 60 characters"),
    ("no name", {"llm_d_model_services": [{key: value for key, value in SIM.items() if key != "name"}]}, f"{S0}.name", "is missing."),
    ("two services with one name", two(), f"{S1}.name", f"'sim' is the name of {S0} too."),
    ("names that collide with an ending", two(name="sim-epp", route={"path": "/b"}), f"{S1}.name", "would share the object name 'sim-epp'"),
    (
        "two services on one route",
        two(name="b"),
        f"{S1}.route",
        "path '/' leads to llm_d_model_services[0] ('sim') already. Write a path such as 'route: {path: /b}'",
    ),
    (
        "two services on one host and path",
        {
            "llm_d_model_services": [
                {**SIM, "route": {"hostnames": ["a.example.com"]}},
                {**SIM, "name": "b", "route": {"hostnames": ["b.example.com", "a.example.com"], "path": "/"}},
            ]
        },
        f"{S1}.route",
        "of host 'a.example.com'",
    ),
    ("negative replicas", sim(replicas=-1), f"{S0}.replicas", "-1 is less than 0. Write a whole number, at least 0."),
    ("text for a number", sim(replicas="four"), f"{S0}.replicas", "'four' is a string, not a whole number. Write a whole number, at least 0."),
    ("number for a text", sim(model={"served_name": 8}), f"{S0}.model.served_name", 'Write it in quotes: "8".'),
    ("truth value for a number", sim(replicas=True), f"{S0}.replicas", "is true/false, not a whole number"),
    ("port out of range", sim(engine={"type": "simulator", "port": 80}), f"{S0}.engine.port", "80 is less than 1024. Write a whole number from 1024 to 65535."),
    ("mapping for the list of services", {"llm_d_model_services": {"sim": SIM}}, "llm_d_model_services", "Put '- ' in front of each element."),
    ("text for the list of services", {"llm_d_model_services": "sim"}, "llm_d_model_services", "is a string, not a list"),
    ("empty element", {"llm_d_model_services": [None, {**SIM, "model": None}]}, f"{S1}.model", "is missing."),
    ("element is a text", {"llm_d_model_services": ["sim"]}, S0, "'sim' is a string, not a mapping"),
    ("vLLM without a model", sim(engine={"type": "vllm"}), f"{S0}.model.uri", "the engine has no model to load. Write hf://"),
    ("model without a scheme", sim(engine={}, model={"uri": "meta-llama/Llama-3.1-8B"}), f"{S0}.model.uri", "hf://ORGANISATION/MODEL, pvc://CLAIM/PATH"),
    ("simulator without a name", sim(model={}), f"{S0}.model.served_name", "clients have no name to ask for"),
    (
        "simulator settings on vLLM",
        sim(model={"uri": "hf://a/b"}, engine={"simulator": {"seed": 1}}),
        f"{S0}.engine.simulator",
        "is not for an engine of type vllm",
    ),
    (
        "two clocks in a simulator",
        sim(engine={"type": "simulator", "simulator": {"time_to_first_token": "1s", "prefill_time_per_token": "1ms"}}),
        f"{S0}.engine.simulator.time_to_first_token",
        "would make the simulator ignore prefill_time_per_token",
    ),
    (
        "duration without a unit",
        sim(engine={"type": "simulator", "simulator": {"inter_token_latency": "5"}}),
        f"{S0}.engine.simulator.inter_token_latency",
        "Write something like 20ms.",
    ),
    ("storage of a simulator", sim(storage={"size": "5Gi"}), f"{S0}.storage.size", "loads no weights"),
    ("token of a simulator", sim(model={"served_name": "x", "token_secret": "s"}), f"{S0}.model.token_secret", "only for a model from hf://"),
    (
        "product nobody labels",
        sim(model={"uri": "hf://a/b"}, engine={"image": "a/b:c"}, accelerator={"vendor": "intel_gaudi", "product": "G3"}),
        f"{S0}.accelerator.product",
        "Use node_selector.",
    ),
    (
        "accelerators among the other resources",
        vllm(resources={"limits": {"nvidia.com/gpu": 4, "rdma/ib": 1}}),
        f"{S0}.resources.limits.nvidia.com/gpu",
        "contradicts accelerator.per_replica (1), which would replace it. Take it out, and write accelerator.per_replica: 4.",
    ),
    (
        "a port of the transfer of KV caches",
        vllm(engine={"port": 5600}, scheduler={"preset": "disaggregated"}),
        f"{S0}.engine.port",
        "5600 is where the server hands over KV caches. Write another port, such as 8000.",
    ),
    (
        "a port of the transfer from another accelerator",
        vllm(engine={"port": 5603}, accelerator={"per_replica": 4}, scheduler={"preset": "disaggregated"}),
        f"{S0}.engine.port",
        "5603 is where the server hands over KV caches",
    ),
    (
        "a port of the transfer that the environment moves",
        vllm(engine={"port": 7000, "env": {"VLLM_NIXL_SIDE_CHANNEL_PORT": "7000"}}, scheduler={"preset": "disaggregated"}),
        f"{S0}.engine.port",
        "7000 is where the server hands over KV caches",
    ),
    (
        "a port of the transfer with a blank",
        vllm(engine={"env": {"VLLM_NIXL_SIDE_CHANNEL_PORT": " 8000"}}, scheduler={"preset": "disaggregated"}),
        f"{S0}.engine.port",
        "8000 is where the server hands over KV caches. Write another port, such as 8080.",
    ),
    (
        "a transfer at the port of the server behind its sidecar",
        vllm(engine={"env": {"VLLM_NIXL_SIDE_CHANNEL_PORT": "8200"}}, scheduler={"preset": "disaggregated"}),
        f"{S0}.engine.env.VLLM_NIXL_SIDE_CHANNEL_PORT",
        "8200 is where a decode server listens behind its routing sidecar",
    ),
    (
        "a port that KV events have",
        {**sim(model={"uri": "hf://a/b"}, engine={"port": 5557}, scheduler={"preset": "precise_prefix"}), "llm_d_release": "router-0.10"},
        f"{S0}.engine.port",
        "5557 is where the server publishes its KV events. Write another port",
    ),
    ("another pool", sim(scheduler={"args": ["--endpoint-selector=a=b"]}), f"{S0}.scheduler.args[0]", "--endpoint-selector follows from the rest"),
    ("metrics elsewhere", sim(scheduler={"args": ["--model-server-metrics-port=9"]}), f"{S0}.scheduler.args[0]", "follows from the rest of the plan"),
    ("half a device", vllm(resources={"limits": {"rdma/ib": "1.5"}}), f"{S0}.resources.limits.rdma/ib", "whole ones only. Write a whole number, such as 2."),
    ("accelerators of nobody", sim(accelerator={"per_replica": 2}), f"{S0}.accelerator.vendor", "says that there is no accelerator"),
    ("a label of ours", sim(labels={"llm-d.ai/role": "prefill"}), f"{S0}.labels.llm-d.ai/role", "belongs to the collection"),
    (
        "failing open where none can",
        sim(scheduler={"failure_mode": "FailOpen"}),
        f"{S0}.scheduler.failure_mode",
        "is not supported with envoy_gateway. Write FailClose",
    ),
    ("chart that is a bare name", {"llm_d_charts": {"envoy_gateway": "gateway-helm"}}, "llm_d_charts.envoy_gateway", "an oci:// reference without a version"),
    ("chart with its version", {"llm_d_charts": {"envoy_gateway": "oci://r/c/gateway-helm:v1.9.1"}}, "llm_d_charts.envoy_gateway", "without a version"),
    ("instance is no label", {"llm_d_instance": "My LLMs"}, "llm_d_instance", "'My LLMs' is not lower-case letters"),
    ("image without a tag", {"llm_d_images": {"epp": "llm-d/epp"}}, "llm_d_images.epp", "an image with its tag or digest"),
    ("registry with a slash at its end", {"llm_d_image_registry": "registry/"}, "llm_d_image_registry", "without a trailing '/'"),
]


@pytest.mark.parametrize(("variables", "path", "words"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_mistake_names_its_place_and_what_to_write(variables: dict[str, t.Any], path: str, words: str) -> None:
    mistakes = {problem.path: problem for problem in problems({**CHARTS, **OLD, **variables})}
    assert path in mistakes, list(mistakes)
    assert words in str(mistakes[path])
    assert str(mistakes[path]).startswith(f"{path}: ")


def test_each_table_row_causes_only_the_mistake_it_describes() -> None:
    paths_by_row = {row[0]: [problem.path for problem in problems({**CHARTS, **OLD, **row[1]})] for row in TABLE}
    assert {name: paths for name, paths in paths_by_row.items() if len(paths) != 1} == {
        "two services with one name": [f"{S1}.name", f"{S1}.route"],
        "empty element": ["llm_d_model_services[0].model", "llm_d_model_services[0].name", f"{S1}.model"],
    }


def test_the_base_of_the_table_is_right() -> None:
    assert problems({**CHARTS, **sim()}) == []
