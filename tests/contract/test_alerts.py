"""Checks alerts and dashboards with Prometheus' promtool: it accepts every query, and each alert fires for its event, for no other event, and resolves.

promtool is that of the local cluster's cache (local_cluster_extras: [monitoring]), or of the folder LLM_D_BINARIES.
"""

from __future__ import annotations

import os
import re
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.observability.alerts import TEXTS
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render

from . import definitions_of_others as others

Facts = dict[str, t.Any]
ROOT = Path(__file__).resolve().parents[2]
PROMTOOL = Path(os.environ.get("LLM_D_BINARIES", "/var/cache/llm-d-local/bin")) / "promtool"
needs_promtool = pytest.mark.skipif(not PROMTOOL.is_file(), reason="no promtool: local_cluster_extras: [monitoring] builds it, or set LLM_D_BINARIES")
SIM: Facts = {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}, "replicas": 2}
VLLM: Facts = {"name": "sim", "model": {"uri": "hf://org/m"}, "replicas": 2}
SERVICES: dict[str, Facts] = {
    "simulator": SIM,
    "vllm": VLLM,
    "vllm of another image": {**VLLM, "scheduler": {"kv_cache_metric": "my:kv{kind=a}"}},
    "prefill and decode": {**VLLM, "scheduler": {"preset": "disaggregated"}},
    "two nodes": {**VLLM, "accelerator": {"per_replica": 16, "nodes": 2}},
    "flow control": {**VLLM, "scheduler": {"preset": "balanced", "flow_control": {}, "feature_gates": ["flowControl"]}},
    "sglang": {**VLLM, "engine": {"type": "sglang"}},
    "trtllm": {**VLLM, "engine": {"type": "trtllm"}},
    "triton": {**VLLM, "model": {"uri": "hf://org/m", "served_name": "m"}, "engine": {"type": "triton"}, "scheduler": {"preset": "queue"}},
    "tgi": {**VLLM, "engine": {"type": "tgi"}, "scheduler": {"preset": "queue"}},
}
# The panels of every dashboard, and those that an engine does not export metrics for.
PANELS = {"Time to first token", "Time per output token", "Waiting requests", "Running requests", "KV cache use", "Prefix hit ratio of servers"}
PANELS |= {"Decisions per plugin", "Picks per server", "Saturation as the endpoint picker sees it", "Errors by reason", "Restarts", "Scheduling latency"}
LACKING = {
    "tgi": {"Time to first token", "KV cache use", "Prefix hit ratio of servers"},
    "triton": {"Time to first token", "Time per output token", "Prefix hit ratio of servers"},
}


def made(service: Facts, line: str = "router-0.10", **settings: t.Any) -> list[Facts]:
    """The objects of the servers' template."""
    planned = plan(
        {
            "llm_d_release": line,
            "llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"},
            "llm_d_model_services": [service],
            "llm_d_monitoring": {"scrape": True, "alerts": {"ttft_p99": 2}, "dashboards": ["grafana", "perses"], **settings},
        }
    )
    return [item for item in render(ROOT / "roles/model_service/templates/servers.yml.j2", planned) if item["kind"] in KINDS]


KINDS = ("PrometheusRule", "ConfigMap", "PersesDashboard")


def promtool(*arguments: str) -> str:
    """The output of promtool; empty if it succeeds."""
    done = subprocess.run([str(PROMTOOL), *arguments], capture_output=True, text=True, check=False, timeout=120)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def panel_queries(items: t.Sequence[Facts]) -> list[str]:
    """Every query of the dashboards for Grafana and Perses."""
    queries = []
    for item in items:
        if item["kind"] == "ConfigMap":
            (page,) = item["data"].values()
            queries += [target["expr"] for panel in yaml.safe_load(page)["panels"] for target in panel["targets"]]
        elif item["kind"] == "PersesDashboard":
            panels = item["spec"]["panels"].values()
            queries += [query["spec"]["plugin"]["spec"]["query"] for panel in panels for query in panel["spec"]["queries"]]
    return queries


@needs_promtool
@pytest.mark.parametrize(("name", "line"), [(name, line) for name in SERVICES for line in RELEASES if (name, line) != ("prefill and decode", "gie-1.5")])
def test_prometheus_accepts_every_query(name: str, line: str, tmp_path: Path) -> None:
    items = made(SERVICES[name], line)
    (rule,) = (item for item in items if item["kind"] == "PrometheusRule")
    queries = panel_queries(items)
    assert len(queries) == 2 * len(set(queries)), "Grafana and Perses show the same"
    recorded = [{"record": f"panel:{index}", "expr": query} for index, query in enumerate(queries)]
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [*rule["spec"]["groups"], {"name": "panels", "rules": recorded}]}), encoding="utf-8")
    assert promtool("check", "rules", "--lint=all", "--lint-fatal", str(path)) == ""
    recorded[0]["expr"] += ")"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": recorded}]}), encoding="utf-8")
    assert "parse error" in promtool("check", "rules", str(path))


def test_the_definitions_of_the_operators_take_them() -> None:
    items = [item for item in made(SIM, labels={"release": "prometheus"}) if item["kind"] != "ConfigMap"]
    assert [item["kind"] for item in items] == ["PrometheusRule", "PersesDashboard"]
    assert [others.problems(item) for item in items] == [[], []]
    assert items[0]["metadata"]["labels"]["release"] == "prometheus"
    items[0]["spec"]["groups"][0]["rules"][0]["for"] = "two minutes"
    items[1]["spec"]["layouts"] = "three in a row"
    assert all(others.problems(item) for item in items)


def test_grafanas_sidecar_finds_its_dashboard() -> None:
    (page,) = (item for item in made(SIM) if item["kind"] == "ConfigMap")
    assert page["metadata"]["labels"]["grafana_dashboard"] == "1" and page["metadata"]["annotations"] == {"grafana_folder": "llm-d"}
    shown = yaml.safe_load(page["data"]["llm-d-sim.json"])
    panels = shown["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) == len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels})


@pytest.mark.parametrize(("name", "line"), [(name, line) for name in SERVICES for line in RELEASES if (name, line) != ("prefill and decode", "gie-1.5")])
def test_a_dashboard_has_the_panels_that_matter(name: str, line: str) -> None:
    """Every engine and release line has all panels, except those of metrics that the engine does not export."""
    grafana, perses = (item for item in made(SERVICES[name], line) if item["kind"] != "PrometheusRule")
    titles = {panel["title"] for panel in yaml.safe_load(*grafana["data"].values())["panels"]}
    assert PANELS - titles == LACKING.get(name, set())
    assert {panel["spec"]["display"]["name"] for panel in perses["spec"]["panels"].values()} == titles


def test_every_alert_links_to_a_section_of_the_troubleshooting_page() -> None:
    text = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    anchors = {line[4:].strip().lower() for line in text.splitlines() if line.startswith("### ")}
    rules = [rule for item in made(VLLM) if item["kind"] == "PrometheusRule" for group in item["spec"]["groups"] for rule in group["rules"]]
    assert {rule["alert"] for rule in rules} == set(TEXTS)
    for rule in rules:
        page, _hash, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert page.endswith("/docs/troubleshooting.md") and anchor in anchors


# The names of the pods.
SERVERS, PICKER = ("sim-decode-6d9f8b7c5d-abcde", "sim-decode-6d9f8b7c5d-fghij"), "sim-epp-5c9f8b7c5d-klmno"
STEP, BEGINS, ENDS, LAST = 15, 10 * 60, 25 * 60, 60 * 60
Value = t.Callable[[int], str]


def steady(value: float) -> Value:
    return lambda step: str(value)


def growing(by: float) -> Value:
    return lambda step: str(by * step)


def during_event(event: Value, normal: Value) -> Value:
    """The value `event` from 10 to 25 minutes, `normal` before and after."""
    return lambda step: event(step) if BEGINS <= step * STEP < ENDS else normal(step)


def burst(by: float) -> Value:
    """A counter that grows only during the event."""
    first, last = BEGINS // STEP, ENDS // STEP
    return lambda step: str(by * min(max(step - first, 0), last - first))


def slowing(by: float, during: float = 0) -> Value:
    """A counter that grows by less, or not at all, during the event."""
    first, last = BEGINS // STEP, ENDS // STEP
    return lambda step: f"{by * step - (by - during) * min(max(step - first, 0), last - first):g}"


def series(metric: str, pod: str, /, **labels: str) -> str:
    given = {"namespace": "llm-d", "pod": pod, **labels}
    return metric + "{" + ",".join(f'{key}="{value}"' for key, value in given.items()) + "}"


def healthy(engine: str, line: str) -> dict[str, Value]:
    """The series of a healthy service in a Prometheus. The names are written by hand."""
    picker = "llm_d_epp_" if line.startswith("router") else "inference_objective_"
    ready = "llm_d_epp_ready_endpoints" if line.startswith("router") else "inference_pool_ready_pods"
    samples = {series("up", pod): steady(1) for pod in (*SERVERS, PICKER)}
    samples |= {series(ready, PICKER, name="sim"): steady(2), series(f"{picker}request_total", PICKER, model_name="m"): growing(10)}
    samples[series("process_start_time_seconds", PICKER)] = steady(1000)
    for pod in SERVERS:
        samples[series("vllm:num_requests_running", pod)] = steady(3)
        samples[series("vllm:num_requests_waiting", pod)] = steady(1)
        samples[series("vllm:kv_cache_usage_perc", pod)] = steady(0.5)
        samples[series("vllm:generation_tokens_total", pod)] = growing(100)
        for bucket, part in (("0.5", 5), ("1", 5), ("5", 5), ("+Inf", 5)):
            samples[series("vllm:time_to_first_token_seconds_bucket", pod, le=bucket)] = growing(part)
        if engine == "vllm":
            samples[series("http_requests_total", pod, status="2xx")] = growing(10)
            samples[series("process_start_time_seconds", pod)] = steady(1000)
    return samples


def all_of(*names: str) -> t.Callable[[Value], dict[str, Value]]:
    return lambda value: {series(name, pod): value for name in names for pod in SERVERS}


ERRORS = {"router-0.10": "llm_d_epp_request_error_total", "scheduler-0.7": "inference_objective_request_error_total"}
READY = {"router-0.10": "llm_d_epp_ready_endpoints", "scheduler-0.7": "inference_pool_ready_pods"}
# One request in ten takes longer than a second.
LATE = {series("vllm:time_to_first_token_seconds_bucket", pod, le=bucket): slowing(5, 4.5) for pod in SERVERS for bucket in ("0.5", "1")}
LATE |= {series("vllm:time_to_first_token_seconds_bucket", pod, le="+Inf"): growing(5) for pod in SERVERS}
# Each event with the series that change, by release line, and the alerts that fire: {name: pods, or "" for an alert without a pod}.
EVENTS: dict[str, tuple[t.Callable[[str], dict[str, Value]], dict[str, tuple[str, ...]]]] = {
    "nothing": (lambda line: {}, {}),
    "a server hangs": (lambda line: {series("up", SERVERS[0]): during_event(steady(0), steady(1))}, {"LlmDServerDown": SERVERS[:1]}),
    "a server makes no progress": (lambda line: {series("vllm:generation_tokens_total", SERVERS[1]): slowing(100)}, {"LlmDServerStuck": SERVERS[1:]}),
    "idle servers generate nothing": (
        lambda line: {**all_of("vllm:generation_tokens_total")(slowing(100)), **all_of("vllm:num_requests_running")(during_event(steady(0), steady(3)))},
        {},
    ),
    "a request comes after a pause": (
        lambda line: {
            **all_of("vllm:generation_tokens_total")(slowing(100)),
            **all_of("vllm:num_requests_running")(during_event(lambda step: "0" if step * STEP < 21 * 60 else "1", steady(3))),
        },
        {},
    ),
    "the endpoint picker is down": (lambda line: {series("up", PICKER): during_event(steady(0), steady(1))}, {"LlmDEndpointPickerDown": ("",)}),
    "the endpoint picker is gone": (lambda line: {series("up", PICKER): during_event(lambda step: "_", steady(1))}, {"LlmDEndpointPickerDown": ("",)}),
    "no server is ready": (lambda line: {series(READY[line], PICKER, name="sim"): during_event(steady(0), steady(2))}, {"LlmDNoReadyServers": ("",)}),
    "requests wait": (lambda line: all_of("vllm:num_requests_waiting")(during_event(steady(11), steady(0))), {"LlmDQueueHigh": ("",)}),
    "one server has a queue": (lambda line: {series("vllm:num_requests_waiting", SERVERS[0]): during_event(steady(15), steady(0))}, {}),
    "the caches are full": (lambda line: all_of("vllm:kv_cache_usage_perc")(during_event(steady(0.97), steady(0.5))), {"LlmDKvCacheFull": ("",)}),
    "requests are rejected": (lambda line: {series(ERRORS[line], PICKER, error_code="ServiceUnavailable"): burst(1)}, {"LlmDRequestErrors": ("",)}),
    "all requests are rejected": (
        lambda line: {
            series(ERRORS[line], PICKER, error_code="Internal"): burst(1),
            series(ERRORS[line].replace("_error", ""), PICKER, model_name="m"): slowing(10),
        },
        {"LlmDRequestErrors": ("",)},
    ),
    "clients make mistakes": (lambda line: {series(ERRORS[line], PICKER, error_code="BadRequest"): burst(5)}, {}),
    "a few requests of many are rejected": (lambda line: {series(ERRORS[line], PICKER, error_code="Internal"): burst(0.3)}, {}),
    "the only request is rejected": (
        lambda line: {
            series(ERRORS[line], PICKER, error_code="Internal"): burst(0.05),
            series(ERRORS[line].replace("_error", ""), PICKER, model_name="m"): slowing(10),
        },
        {},
    ),
    "the endpoint picker restarts": (
        lambda line: {series("process_start_time_seconds", PICKER): lambda step: str(1000 + min(max(step - 40, 0) // 12, 5))},
        {"LlmDRestarts": (PICKER,)},
    ),
    "first tokens are late": (lambda line: LATE, {"LlmDFirstTokenSlow": ("",)}),
}
OF_SIMULATORS: t.Any = {
    "a server restarts": (
        lambda line: {series("up", SERVERS[0]): during_event(lambda step: str(int(step % 6 != 0)), steady(1))},
        {"LlmDRestarts": SERVERS[:1]},
    ),
    "a server is away twice": (lambda line: {series("up", SERVERS[0]): lambda step: str(int(step not in (48, 49, 80, 81)))}, {}),
}
OF_VLLM: t.Any = {
    "servers answer with errors": (lambda line: {series("http_requests_total", SERVERS[0], status="5xx"): burst(3)}, {"LlmDServerErrors": ("",)}),
    "a server restarts": (
        lambda line: {series("process_start_time_seconds", SERVERS[0]): lambda step: str(1000 + min(max(step - 40, 0) // 12, 5))},
        {"LlmDRestarts": SERVERS[:1]},
    ),
}
CASES = [
    *(("simulator", "scheduler-0.7", event) for event in {**EVENTS, **OF_SIMULATORS}),
    *(("vllm", "router-0.10", event) for event in {**EVENTS, **OF_VLLM}),
]


def expected(rules: t.Sequence[Facts], firing: dict[str, tuple[str, ...]], at: str) -> list[Facts]:
    """The alert tests of promtool: for every alert, the firing ones at a time."""
    checks = []
    for name in dict.fromkeys(rule["alert"] for rule in rules):
        alerts = []
        for pod in firing.get(name, ()):
            about = PICKER.rpartition("-")[0].rpartition("-")[0] if pod == PICKER else "sim-decode"
            rule = next(rule for rule in rules if rule["alert"] == name and rule["labels"].get("servers", about) == about)
            labels = {**rule["labels"], **({"pod": pod} if pod else {})}
            alerts.append(
                {"exp_labels": labels, "exp_annotations": {key: re.sub(r"\{\{ \$labels\.pod \}\}", pod, value) for key, value in rule["annotations"].items()}}
            )
        checks.append({"eval_time": at, "alertname": name, "exp_alerts": alerts})
    return checks


@needs_promtool
@pytest.mark.parametrize(("engine", "line", "event"), CASES)
def test_each_alert_fires_only_for_its_event_and_resolves(engine: str, line: str, event: str, tmp_path: Path) -> None:
    changes, firing = {**EVENTS, **(OF_VLLM if engine == "vllm" else OF_SIMULATORS)}[event]
    (rule,) = (item for item in made(SERVICES[engine], line) if item["kind"] == "PrometheusRule")
    (group,) = rule["spec"]["groups"]
    assert all(alert in {each["alert"] for each in group["rules"]} for alert in firing)
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rule["spec"]), encoding="utf-8")
    samples = {**healthy(engine, line), **changes(line)}
    given = [{"series": name, "values": " ".join(value(step) for step in range(LAST // STEP + 1))} for name, value in samples.items()]
    checks = [*expected(group["rules"], {}, "9m"), *expected(group["rules"], firing, "24m"), *expected(group["rules"], {}, "59m")]
    test = {"rule_files": ["rules.yml"], "evaluation_interval": "15s", "tests": [{"interval": f"{STEP}s", "input_series": given, "alert_rule_test": checks}]}
    (tmp_path / "test.yml").write_text(yaml.safe_dump(test), encoding="utf-8")
    assert promtool("test", "rules", str(tmp_path / "test.yml")) == ""


def test_every_alert_is_provoked() -> None:
    assert {alert for _changes, firing in {**EVENTS, **OF_VLLM, **OF_SIMULATORS}.values() for alert in firing} == set(TEXTS)
