"""Alerts and dashboards of a service: thresholds, dependence on engine, release line and configuration, and removal when they are switched off."""

from __future__ import annotations

import json
import re
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.releases.engines import ENGINES
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from ansible_collections.llm_d.inference.plugins.module_utils.releases.metrics import GIE_METRICS, PICKER_SIGNALS, SERVER_SIGNALS, SERVERS
from picker_metrics import EXPORTED

Facts = dict[str, t.Any]
SIM: Facts = {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}
VLLM: Facts = {"name": "sim", "model": {"uri": "hf://org/m"}}
BOTH: Facts = {"alerts": True, "dashboards": ["grafana", "perses"], "prometheus": "http://prometheus:9090"}


def user(service: Facts, line: str = "router-0.10", **settings: t.Any) -> Facts:
    return {"llm_d_release": line, "llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [service], "llm_d_monitoring": settings}


def service(*args: t.Any, **settings: t.Any) -> Facts:
    return t.cast(Facts, plan(user(*args, **settings))["services"][0])


def rules(planned: Facts) -> dict[str, str]:
    """{alert and its servers: expression}."""
    return {f"{rule['alert']} {rule['labels'].get('servers', '')}".strip(): rule["expr"] for group in planned["alerts"]["groups"] for rule in group["rules"]}


def panels(planned: Facts) -> dict[str, list[str]]:
    """{title of a panel: its queries}."""
    (page,) = (item["data"]["llm-d-sim.json"] for item in planned["dashboards"] if item["kind"] == "ConfigMap")
    return {panel["title"]: [target["expr"] for target in panel["targets"]] for panel in json.loads(page)["panels"]}


def test_alerts_and_dashboards_are_planned_only_when_requested() -> None:
    planned = service(SIM, scrape=True)
    assert planned["alerts"] is None and planned["dashboards"] == [] and planned["queried"] == {"alerts": [], "dashboards": []}
    watching = [("PrometheusRule", "sim"), ("ConfigMap", "sim-grafana"), ("PersesDashboard", "sim")]
    assert not [item for item in planned["switched"] if (item["kind"], item["metadata"]["name"]) in watching]
    kept = service(SIM, **BOTH)
    assert [(item["kind"], item["metadata"]["name"]) for item in kept["switched"] if (item["kind"], item["metadata"]["name"]) in watching] == watching


def test_thresholds() -> None:
    usual, own = service(SIM, alerts=True), service(SIM, alerts={"queue": 2.5, "kv_cache": 0.5, "errors": 0.2, "ttft_p99": 1.5, "seconds": 90})
    assert usual == {**own, "alerts": usual["alerts"]} and service(SIM, alerts={})["alerts"] == usual["alerts"]
    assert rules(usual)["LlmDQueueHigh sim-decode"].endswith(" > 10") and rules(own)["LlmDQueueHigh sim-decode"].endswith(" > 2.5")
    assert rules(usual)["LlmDKvCacheFull sim-decode"].endswith(" > 0.95") and rules(own)["LlmDKvCacheFull sim-decode"].endswith(" > 0.5")
    assert " > 0.05 and " in rules(usual)["LlmDRequestErrors"] and " > 0.2 and " in rules(own)["LlmDRequestErrors"]
    assert "LlmDFirstTokenSlow" not in rules(usual) and rules(own)["LlmDFirstTokenSlow"].endswith(" > 1.5")
    assert {rule["for"] for group in usual["alerts"]["groups"] for rule in group["rules"]} == {"2m"}
    assert {rule["for"] for group in own["alerts"]["groups"] for rule in group["rules"]} == {"90s"}


def test_responses_of_servers_have_an_alert_where_the_engine_counts_them() -> None:
    alerting = [any(name.startswith("LlmDServerErrors") for name in rules(service(each, alerts=True))) for each in (VLLM, SIM)]
    assert alerting == [True, False]


def test_labels_by_which_a_prometheus_selects() -> None:
    planned = service(SIM, alerts=True, dashboards=["grafana"], labels={"release": "prometheus"})
    assert planned["alerts"]["labels"] == {"release": "prometheus", **planned["labels"]}
    assert planned["dashboards"][0]["labels"] == {"grafana_dashboard": "1", **planned["labels"]}


def test_rare_scrapes_get_a_longer_range() -> None:
    assert "[5m]" in rules(service(SIM, alerts=True, interval=60))["LlmDServerStuck sim-decode"]
    assert "[16m]" in rules(service(SIM, alerts=True, interval=240))["LlmDServerStuck sim-decode"]


def test_pods_of_other_services_are_not_meant() -> None:
    for queries in (rules(service(SIM, **BOTH)).values(), *(panels(service(SIM, **BOTH)).values(),)):
        for query in [each for exprs in queries for each in ([exprs] if isinstance(exprs, str) else exprs)]:
            assert query.count("{") == query.count('{namespace="llm-d",pod=~"sim-') + query.count("{5}")


def test_servers_of_two_roles_and_of_groups() -> None:
    split = service({**VLLM, "scheduler": {"preset": "disaggregated"}}, **BOTH)
    assert {"LlmDServerDown sim-decode", "LlmDServerDown sim-prefill", "LlmDQueueHigh sim-prefill", "LlmDRestarts sim-epp"} <= set(rules(split))
    assert "Prefill and decode" in panels(split) and "Prefill and decode" not in panels(service(VLLM, **BOTH))
    assert "sim-prefill" not in str(panels(split)["Time to first token"]), "a prefill server answers no client"
    groups = service({**VLLM, "accelerator": {"per_replica": 16, "nodes": 2}}, **BOTH)
    assert 'pod=~"sim-decode-[0-9]+"' in rules(groups)["LlmDServerDown sim-decode"], "only leaders are scraped"


@pytest.mark.parametrize(("replicas", "there"), [(1, True), (0, False)])
def test_a_service_without_servers_is_no_alarm(replicas: int, there: bool) -> None:
    assert ("LlmDNoReadyServers" in rules(service({**SIM, "replicas": replicas}, **BOTH))) is there


def test_panels_are_those_of_the_release_line_and_the_configuration() -> None:
    assert "sum by (pod) (rate(vllm:request_success_total{" in panels(service(SIM, "scheduler-0.7", **BOTH))["Picks per server"][0]
    for line, label in (("gie-1.5", "pod_name"), ("router-0.9", "endpoint_name")):
        (picks,) = panels(service(SIM, line, **BOTH))["Picks per server"]
        assert picks.startswith(f"sum by ({label}) (rate(") and "scheduler_attempts_total{" in picks and 'status="success"' in picks
    title, other = "Prefix hit ratio of the endpoint picker", "Saturation as the endpoint picker sees it"
    assert title in panels(service({**SIM, "scheduler": {"preset": "balanced"}}, **BOTH))
    assert title not in panels(service({**SIM, "scheduler": {"preset": "queue"}}, **BOTH))
    assert len(panels(service(SIM, **BOTH))[other]) == 2
    flowing = {**SIM, "scheduler": {"preset": "queue", "flow_control": {}, "feature_gates": ["flowControl"]}}
    assert "llm_d_epp_flow_control_pool_saturation{" in panels(service(flowing, **BOTH))[other][2]
    assert len(panels(service(flowing, "scheduler-0.7", **BOTH))[other]) == 2, "this line does not export it"


def named(value: t.Any, name: str) -> t.Iterator[tuple[str, str]]:
    """(quantile, name) of each query of a quantile. name: the key of the name."""
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from named(each, name)
    expr = str((value.get("expr") or value.get("query") or "") if isinstance(value, dict) else "")
    if match := re.match(r"histogram_quantile\(([0-9.]+), ", expr):
        yield match.group(1), value[name]


def test_each_line_of_a_panel_is_named_by_its_quantile() -> None:
    grafana, perses = service(SIM, **BOTH)["dashboards"]
    for page, name in ((json.loads(grafana["data"]["llm-d-sim.json"]), "legendFormat"), (perses["spec"], "seriesNameFormat")):
        assert set(named(page, name)) == {("0.5", "p50"), ("0.99", "p99")}


GATED: Facts = {"preset": "queue", "feature_gates": ["flowControl"]}
FLOWING: Facts = {"preset": "queue", "scorers": {"active_requests": 1}, "flow_control": {"max_requests": 100, "max_bytes": 1 << 30}}
LIMITS, STALE, IN_FLIGHT = "Flow control limits in use", "Servers with stale metrics", {"Requests in flight", "Tokens in flight"}


DETECTING: Facts = {"saturation": {"queue_depth": 3}, **GATED}
SCHEDULED: list[Facts] = [{}, {"preset": "balanced"}, GATED, FLOWING, DETECTING, {"preset": "disaggregated"}, {"preset": "sticky"}]


@pytest.mark.parametrize("line", sorted(RELEASES))
@pytest.mark.parametrize("scheduler", SCHEDULED)
def test_every_metric_of_a_panel_is_exported_by_the_release_line(scheduler: Facts, line: str) -> None:
    if problems(user({**VLLM, "scheduler": scheduler}, line, **BOTH)):
        assert not line.startswith("router")
        return
    queries = [query for exprs in panels(service({**VLLM, "scheduler": scheduler}, line, **BOTH)).values() for query in exprs]
    names = {name for query in queries for name in re.findall(r"\b((?:llm_d|inference)_\w+)[{]", query)}
    assert len(names) > 6 and {re.sub(r"_(?:bucket|sum|count)$", "", name) for name in names} <= EXPORTED[line]


@pytest.mark.parametrize("line", sorted(RELEASES))
def test_every_signal_is_a_metric_of_its_release_line(line: str) -> None:
    only = set() if line != "gie-1.5" else {GIE_METRICS["disagg_decisions"]}  # it has no servers to decide about
    assert set(RELEASES[line]["metrics"].values()) - EXPORTED[line] == only


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ("gie-1.5", set()),
        ("scheduler-0.7", set()),
        ("router-0.9", set()),
        ("router-0.10", {STALE, *IN_FLIGHT}),
        ("router-0.11", {LIMITS, STALE, *IN_FLIGHT}),
    ],
)
def test_capacity_is_shown_where_the_release_line_exports_it(line: str, there: set[str]) -> None:
    scheduler = FLOWING if line.startswith("router") else GATED
    assert panels(service({**VLLM, "scheduler": scheduler}, line, **BOTH)).keys() & {LIMITS, STALE, *IN_FLIGHT} == there


def test_capacity_is_shown_of_what_is_counted_and_limited() -> None:
    def shown(**scheduler: t.Any) -> dict[str, list[str]]:
        return panels(service({**VLLM, "scheduler": scheduler}, "router-0.11", **BOTH))

    assert shown(preset="queue").keys() & {LIMITS, STALE, *IN_FLIGHT} == set(), "nothing is counted there"
    assert shown(preset="sticky")["Tokens in flight"][0].startswith("sum by (endpoint_name) (llm_d_epp_inflight_tokens{")
    assert len(shown(**FLOWING)[LIMITS]) == 4 and len(shown(**GATED)[LIMITS]) == 2, "no series where no limit is set"
    assert len(shown(preset="queue", flow_control={"max_requests": 100, "max_bytes": 0})[LIMITS]) == 3


def test_the_metric_of_another_image_is_queried() -> None:
    planned = service({**VLLM, "scheduler": {"kv_cache_metric": "my:kv{kind=a}"}}, **BOTH)
    assert panels(planned)["KV cache use"] == ['avg by (pod) (my:kv{namespace="llm-d",pod=~"sim-decode-[0-9a-z]+-[0-9a-z]{5}",kind="a"})']


def test_monitoring_claims_send_the_queries_of_alerts_and_panels() -> None:
    planned = service(SIM, **BOTH)
    assert service(SIM, alerts=True, dashboards=["grafana"])["queried"] == {"alerts": [], "dashboards": []}, "no Prometheus is named"
    queried = {entry["title"]: [query["expr"] for query in entry["queries"]] for entry in planned["queried"]["dashboards"]}
    assert queried == panels(planned)
    assert [entry["title"] for entry in planned["queried"]["alerts"]] == list(dict.fromkeys(name.split()[0] for name in rules(planned)))
    for entry in planned["queried"]["alerts"]:
        assert entry["queries"] and all(query["expr"] in str(rules(planned)) and query["metrics"] for query in entry["queries"])


def test_access_to_prometheus() -> None:
    assert plan(user(SIM, **BOTH))["prometheus"] == {"url": "http://prometheus:9090", "timeout": 180}
    by_service = plan(user(SIM, alerts=True, interval=60, prometheus={"namespace": "monitoring"}))
    assert by_service["prometheus"] == {"namespace": "monitoring", "service": "prometheus-operated", "port": 9090, "timeout": 360}
    assert {"verb": "get", "group": "", "resource": "services/proxy", "namespace": "monitoring"} in by_service["preflight"]["permissions"]
    assert plan(user(SIM, alerts=True))["prometheus"] is None


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"alerts": {"queues": 5}}, "llm_d_monitoring.alerts.queues"),
        ({"alerts": {"errors": 5}}, "llm_d_monitoring.alerts.errors"),
        ({"alerts": "sometimes"}, "llm_d_monitoring.alerts"),
        ({"dashboards": ["kibana"]}, "llm_d_monitoring.dashboards[0]"),
        ({"prometheus": "prometheus:9090"}, "llm_d_monitoring.prometheus"),
        ({"prometheus": {"service": "prometheus"}}, "llm_d_monitoring.prometheus.namespace"),
    ],
)
def test_mistakes(settings: Facts, path: str) -> None:
    assert [problem.path for problem in problems(user(SIM, **settings))] == [path]


SHARES, COUNTS = {"band_requests", "band_bytes", "all_requests", "all_bytes"}, {"inflight_requests", "inflight_tokens", "stale_endpoints"}
LATER: dict[str, set[str]] = {"router-0.11": set(), "router-0.10": SHARES, "router-0.9": SHARES | COUNTS, "gie-1.5": SHARES | COUNTS}
LATER["scheduler-0.7"] = SHARES | COUNTS | {"saturation"}


def test_the_table_of_metrics_is_whole() -> None:
    """All engines export the signals of alerts and panels; Triton and Text Generation Inference export fewer."""
    always = {"waiting", "running", "kv_cache", "first_token", "token_interval", "served", "output_tokens"}
    assert set(SERVERS) == set(ENGINES)
    for engine, signals in SERVERS.items():
        assert set(signals) <= set(SERVER_SIGNALS) and (engine in ("triton", "tgi") or always <= set(signals))
    for line, facts in RELEASES.items():
        assert set(facts["metrics"]) <= set(PICKER_SIGNALS) and set(PICKER_SIGNALS) - set(facts["metrics"]) == LATER[line], line
