"""The PodMonitors of the roles: the Prometheus operator's CRD accepts them, and each of our pods is scraped exactly once, at its engine."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.related_objects import Ref
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.wait import named
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.validation import stack_claims
from ansible_collections.llm_d.inference.plugins.module_utils.validation import targets as validated
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render

from . import definitions_of_others as others

Facts = dict[str, t.Any]
ROLES = Path(__file__).resolve().parents[2] / "roles"
TEMPLATES = [ROLES / "gaie_scheduler/templates/scheduler.yml.j2", ROLES / "model_service/templates/servers.yml.j2"]
SIM: Facts = {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "replicas": 2, "labels": {"team": "a"}}
VLLM: Facts = {"name": "llama", "model": {"uri": "hf://org/llama"}}
# Each with its scrape targets: (PodMonitor, container, port).
CASES: dict[str, tuple[list[Facts], list[tuple[str, str, int]]]] = {
    "alike": ([SIM], [("sim-decode", "server", 8000), ("sim-epp", "epp", 9090)]),
    "with a port of its own": (
        [{**SIM, "engine": {"type": "simulator", "port": 8123}, "scheduler": {"replicas": 2}}],
        [("sim-decode", "server", 8123), ("sim-epp", "epp", 9090)],
    ),
    "KV events": ([{**SIM, "scheduler": {"preset": "precise_prefix"}}], [("sim-decode", "server", 8000), ("sim-epp", "epp", 9090)]),
    "prefill and decode, past the sidecar": (
        [{**VLLM, "scheduler": {"preset": "disaggregated"}}],
        [("llama-decode", "server", 8200), ("llama-epp", "epp", 9090), ("llama-prefill", "server", 8000)],
    ),
    "groups, of which the leader answers": (
        [{**VLLM, "accelerator": {"per_replica": 16, "nodes": 2, "across_nodes": "expert"}}],
        [("llama-decode", "server", 8000), ("llama-epp", "epp", 9090)],
    ),
    "two services": (
        [SIM, {**VLLM, "route": {"path": "/llama"}}],
        [("llama-decode", "server", 8000), ("llama-epp", "epp", 9090), ("sim-decode", "server", 8000), ("sim-epp", "epp", 9090)],
    ),
}


def planned_and_made(services: list[Facts], provider: str = "envoy_gateway", **monitoring: t.Any) -> tuple[Facts, list[Facts]]:
    """(plan, objects)."""
    planned = plan(
        {
            "llm_d_release": "scheduler-0.7",
            "llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"},
            "llm_d_gateway": {"provider": provider},
            "llm_d_model_services": services,
            "llm_d_monitoring": {"scrape": True, **monitoring},
        }
    )
    return planned, [item for template in TEMPLATES for item in render(template, planned)]


def pods(items: t.Sequence[Facts]) -> list[Facts]:
    """All pod templates, those of workers included."""
    templates = []
    for item in items:
        if item["kind"] == "Deployment":
            templates.append(item["spec"]["template"])
        elif item["kind"] == "LeaderWorkerSet":
            group = item["spec"]["leaderWorkerTemplate"]
            templates += [group["leaderTemplate"], group["workerTemplate"]]
    return templates


def targets(items: t.Sequence[Facts]) -> list[tuple[str, str, int]]:
    """The scrape targets of a Prometheus by its discovery of pods: every container, native sidecars included, with a port of the name."""
    scraped = []
    for monitor in (item for item in items if item["kind"] == "PodMonitor"):
        assert set(monitor["spec"]) == {"selector", "podMetricsEndpoints"} and set(monitor["spec"]["selector"]) == {"matchLabels"}
        wanted = monitor["spec"]["selector"]["matchLabels"].items()
        for pod in (pod for pod in pods(items) if wanted <= pod["metadata"]["labels"].items()):
            for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])):
                for endpoint in monitor["spec"]["podMetricsEndpoints"]:
                    scraped += [
                        (monitor["metadata"]["name"], container["name"], port["containerPort"])
                        for port in container.get("ports", [])
                        if port.get("name") == endpoint["port"]
                    ]
    return sorted(scraped)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("provider", ["envoy_gateway", "standalone"])
def test_each_pod_is_scraped_once_at_its_engine(name: str, provider: str) -> None:
    services, wanted = CASES[name]
    routed = [{key: value for key, value in service.items() if key != "route" or provider != "standalone"} for service in services]
    _planned, items = planned_and_made(routed, provider)
    picker = "-epp-solo" if provider == "standalone" else "-epp"
    assert targets(items) == [(name.replace("-epp", picker), *rest) for name, *rest in wanted]


def test_the_prometheus_operator_crd_accepts_the_pod_monitors() -> None:
    monitors = [item for item in planned_and_made(CASES["two services"][0], interval=60, labels={"release": "prometheus"})[1] if item["kind"] == "PodMonitor"]
    assert len(monitors) == 4 and {item["apiVersion"] for item in monitors} == {"monitoring.coreos.com/v1"}
    for item in monitors:
        assert others.problems(item) == []
        assert item["metadata"]["labels"]["release"] == "prometheus" and item["spec"]["podMetricsEndpoints"][0]["interval"] == "60s"
        mistake = copy.deepcopy(item)
        mistake["spec"]["podMetricsEndpoints"][0].update(interval="60 seconds", ports=["http"])
        assert len(others.problems(mistake)) == 2


def returned(item: Facts) -> Facts:
    """An object as the module resource_ready returns it."""
    metadata = item["metadata"]
    return named(Ref(item["apiVersion"], item["kind"], metadata.get("namespace") or "", metadata["name"]), item, "ready")


def judged(services: list[Facts], spoil: t.Callable[[list[Facts]], None] = lambda items: None) -> Facts:
    """The claim about scraping of the first service in an otherwise healthy stack."""
    planned, items = planned_and_made(services)
    spoil(items)
    routing = {
        "observations": [{"name": service["name"], "pickers": service["scheduler"]["replicas"], "seconds": {"counted": 0.1}} for service in planned["services"]]
    }
    groups = [{"name": each["name"], "waited": 0.1, "servers": [{"server": "x", "checks": []}]} for each in validated.servers(planned)]
    return stack_claims.judge_scraping(routing, {"groups": groups}, planned, {"resources": [returned(item) for item in items]})[0][0]


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_holds_of_what_the_roles_make(name: str) -> None:
    services, wanted = CASES[name]
    claim = judged(services)
    mine = [each for each, _container, _port in wanted if each.startswith(services[0]["name"])]
    assert claim["ok"] and f"; {len(mine)} PodMonitors select each of them for Prometheus once" in claim["evidence"]


def test_validation_requires_pod_monitors_only_when_scrape_is_enabled() -> None:
    planned, items = planned_and_made([SIM])
    wanted = [(item["apiVersion"], item["kind"], item["metadata"]["name"]) for item in items if item["kind"] == "PodMonitor"]
    checked = [(ref["api_version"], ref["kind"], ref["name"]) for ref in validated.required_objects(planned)]
    assert len(wanted) == 2 and set(wanted) <= set(checked)
    asleep, made = planned_and_made([SIM], scrape=False)
    assert "PodMonitor" not in [item["kind"] for item in made] + [ref["kind"] for ref in validated.required_objects(asleep)]


def monitor_of(items: list[Facts], name: str) -> Facts:
    return next(item for item in items if item["kind"] == "PodMonitor" and item["metadata"]["name"] == name)


def without(name: str) -> t.Callable[[list[Facts]], None]:
    return lambda items: items.remove(monitor_of(items, name))


def with_spec(name: str, **spec: t.Any) -> t.Callable[[list[Facts]], None]:
    return lambda items: monitor_of(items, name)["spec"].update(spec)


SERVERS = {"llm-d.ai/model-service": "llama", "llm-d.ai/inference-serving": "true"}
GROUPS = "groups, of which the leader answers"
SPLIT = "prefill and decode, past the sidecar"
NOBODY = "the pods of llama-decode are scraped by no PodMonitor, not by llama-decode"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (without("llama-decode"), NOBODY),
        (with_spec("llama-epp", podMetricsEndpoints=[{"port": "http-metrics"}]), "llama-epp are scraped by no PodMonitor"),
        (with_spec("llama-decode", podMetricsEndpoints=[{"port": "engine", "path": "/stats"}]), NOBODY),
        (with_spec("llama-decode", podMetricsEndpoints=[{"port": "engine"}, {"port": "http"}]), "llama-decode are scraped by llama-decode and llama-decode"),
        (with_spec("llama-prefill", selector={"matchLabels": SERVERS}), "the pods of llama-decode are scraped by llama-decode and llama-prefill"),
        (with_spec("llama-decode", selector={"matchLabels": {**SERVERS, "llm-d.ai/role": "decoder"}}), NOBODY),
        (with_spec("llama-decode", namespaceSelector={"matchNames": ["other"]}), NOBODY),
        (with_spec("llama-decode", selector={"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}), NOBODY),
    ],
)
def test_the_claim_fails_when_a_pod_is_not_scraped_exactly_once(spoil: t.Callable[[list[Facts]], None], words: str) -> None:
    claim = judged(CASES[SPLIT][0], spoil)
    assert not claim["ok"] and words in claim["evidence"] and "PodMonitors" in claim["remedy"]


def test_workers_of_a_group_must_not_be_scraped() -> None:
    def spoil(items: list[Facts]) -> None:
        del monitor_of(items, "llama-decode")["spec"]["selector"]["matchLabels"]["llm-d.ai/inference-serving"]
        group = next(item for item in items if item["kind"] == "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
        group["workerTemplate"]["spec"]["containers"][0]["ports"] = group["leaderTemplate"]["spec"]["containers"][0]["ports"]

    claim = judged(CASES[GROUPS][0], spoil)
    assert not claim["ok"] and "the pods of llama-decode (workers) are scraped by llama-decode, not by none" in claim["evidence"]
