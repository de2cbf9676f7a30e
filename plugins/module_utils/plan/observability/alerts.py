# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Alerts about one service, as a PrometheusRule of the Prometheus operator. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses

from ...common.objects import Facts
from ...releases.metrics import CLIENT_ERRORS, ERROR_CODE, SERVER_ERROR, STATUS
from ..servers.server import min_replicas
from .promql import duration
from .queries import Queries, Query, by_pod

API_VERSION, KIND = "monitoring.coreos.com/v1", "PrometheusRule"
CRD = "prometheusrules.monitoring.coreos.com"
_PAGE = "https://github.com/llm-d/llm_d.inference/blob/main/docs/troubleshooting.md"
# The number of failed requests in the range of a rate from which a share of failures is meaningful, and the number of restarts that is no coincidence.
_FEW, _OFTEN = 5, 3
FIRST_ERROR = "the first request that fails"
_FAILED = f'{STATUS}=~"5.."'  # matches 5xx too, as vLLM groups them


@dataclasses.dataclass(frozen=True)
class AlertText:
    """The text of an alert. summary: a template of Prometheus, whose labels are those of the series, not of the rule; SERVICE stands for NAMESPACE/NAME."""

    severity: str
    summary: str
    meaning: str
    remedy: str


_OF, _POD = "of SERVICE", "{{ $labels.pod }} of SERVICE"
TEXTS: dict[str, AlertText] = {
    "LlmDEndpointPickerDown": AlertText(
        "critical",
        f"No endpoint picker {_OF} answers",
        "Prometheus gets no metrics from any endpoint picker of the service. Without one the gateway rejects its requests, or with failure mode FailOpen sends "
        "them to any server.",
        "Look at the pods and the log of the endpoint picker. If they are well, Prometheus does not scrape them: check the PodMonitor and NetworkPolicies.",
    ),
    "LlmDNoReadyServers": AlertText(
        "critical",
        f"The endpoint picker {_OF} knows no server",
        "The endpoint picker has no ready model server to choose, so every request fails.",
        "Look at the pods of the model servers and their readiness, and whether their labels are those of the InferencePool.",
    ),
    "LlmDServerDown": AlertText(
        "warning",
        f"Model server {_POD} does not answer",
        "The process of a model server does not answer at /metrics in time: it hangs, starts, or has no processor time left.",
        "Read the log of the pod. A server that hangs and is still ready gets requests: delete its pod.",
    ),
    "LlmDServerStuck": AlertText(
        "warning",
        f"Model server {_POD} has requests and makes no progress",
        "Requests run on the server for minutes, and it generates no token.",
        "Read the log of the pod, and on GPUs look for errors of the driver or of NCCL. Delete the pod if it does not recover.",
    ),
    "LlmDQueueHigh": AlertText(
        "warning",
        f"Requests wait at the servers {_OF}",
        "More requests wait per server than the threshold queue of llm_d_monitoring.alerts, so first tokens are late.",
        "Add servers, or limit the load. If one server has most of them, compare the scheduling presets: playbooks/compare_scorers.yml.",
    ),
    "LlmDKvCacheFull": AlertText(
        "warning",
        f"The KV caches of the servers {_OF} are full",
        "The average use of the KV caches is above the threshold kv_cache of llm_d_monitoring.alerts: servers preempt requests and forget prefixes.",
        "Add servers, lower engine.max_model_len, or give the servers more memory for the cache (engine.gpu_memory_utilization).",
    ),
    "LlmDRequestErrors": AlertText(
        "warning",
        f"The endpoint picker {_OF} rejects requests",
        "The share of requests that fail at the endpoint picker is above the threshold errors of llm_d_monitoring.alerts. Mistakes of clients do not count.",
        "Look at the panel with the reasons, and run playbooks/diagnose.yml. ServiceUnavailable: no server is ready; ResourceExhausted: all are saturated.",
    ),
    "LlmDServerErrors": AlertText(
        "warning",
        f"The model servers {_OF} answer with errors",
        "The share of responses of the model servers with a status of 500 or more is above the threshold errors of llm_d_monitoring.alerts.",
        "Read the logs of the servers, and run playbooks/diagnose.yml.",
    ),
    "LlmDRestarts": AlertText(
        "warning",
        f"{_POD} restarts again and again",
        f"The process of a model server or endpoint picker started {_OFTEN} times or more within 15 minutes.",
        "Read the log of the container before it ended (kubectl logs --previous) and its last state: memory, probes, or an error of the program.",
    ),
    "LlmDFirstTokenSlow": AlertText(
        "warning",
        f"First tokens {_OF} are slow",
        "The 99th percentile of the time to first token is above the threshold ttft_p99 of llm_d_monitoring.alerts.",
        "Look at the queue and the prefix hit ratio. Add servers, or choose a preset that follows prefixes.",
    ),
}


@dataclasses.dataclass(frozen=True)
class Alert:
    """One alerting rule. condition: the expression, true while something is wrong; queries: those in it; servers: the workload that it concerns, if any."""

    name: str
    condition: str
    queries: tuple[Query, ...]
    servers: str = ""


def prometheus_rule(service: Facts, queries: Queries, settings: Facts, labels: Facts, namespace: str) -> Facts:
    """The PrometheusRule of a service: {api_version, kind, name, labels, groups, queries: [{title: the alert, queries: for the claims}]}."""
    # Without alerts for which the engine exports no metric.
    alerts = [alert for alert in _alerts(service, queries, settings) if all(alert.queries)]
    hold = duration(settings["seconds"])
    group = {"name": f"{namespace}/{service['name']}", "rules": [_rule(alert, hold, service["name"], namespace) for alert in alerts]}
    by_alert: dict[str, dict[str, Facts]] = {}
    for alert in alerts:
        by_alert.setdefault(alert.name, {}).update({query.expr: query.facts() for query in alert.queries})
    return {
        "api_version": API_VERSION,
        "kind": KIND,
        "name": service["name"],
        "labels": labels,
        "groups": [group],
        "queries": [{"title": name, "queries": list(exprs.values())} for name, exprs in by_alert.items()],
    }


def _rule(alert: Alert, hold: str, service: str, namespace: str) -> Facts:
    text = TEXTS[alert.name]
    return {
        "alert": alert.name,
        "expr": alert.condition,
        "for": hold,
        "labels": {"severity": text.severity, "namespace": namespace, "model_service": service, **({"servers": alert.servers} if alert.servers else {})},
        "annotations": {
            "summary": text.summary.replace("SERVICE", f"{namespace}/{service}"),
            "description": f"{text.meaning} {text.remedy}",
            "runbook_url": f"{_PAGE}#{alert.name.lower()}",
        },
    }


def _alerts(service: Facts, queries: Queries, settings: Facts) -> c.Iterator[Alert]:
    up = Query(queries.up(queries.pickers), ("up",))
    yield Alert("LlmDEndpointPickerDown", f"absent({up.expr} == 1)", (up,))
    if all(min_replicas(service, server["role"]) for server in queries.servers):
        ready = queries.picker("ready_endpoints", lambda chosen: f"max({chosen})")
        yield Alert("LlmDNoReadyServers", f"{ready.expr} < 1", (ready,))
    for server in queries.servers:
        yield from _of_servers(server, queries, settings)
    yield from _of_requests(queries, settings)
    for part in (*queries.servers, *queries.pickers):
        restarts = queries.restarts([part])
        yield Alert("LlmDRestarts", f"({restarts.expr}) >= {_OFTEN}", (restarts,), part["name"])


def _of_servers(server: Facts, queries: Queries, settings: Facts) -> c.Iterator[Alert]:
    name, parts = server["name"], [server]
    up = Query(queries.up(parts), ("up",))
    yield Alert("LlmDServerDown", f"{up.expr} == 0", (up,), name)
    running = queries.server("running", lambda chosen: f"sum by (pod) (min_over_time({chosen}[{queries.range}]))", parts)
    # The simulator exports this counter only after its first request.
    tokens = queries.server("output_tokens", queries.rate_by("pod"), parts, until="the first request")
    yield Alert("LlmDServerStuck", f"({running.expr}) > 0 unless ({tokens.expr}) > 0", (running, tokens), name)
    waiting = queries.server("waiting", by_pod("sum"), parts)
    yield Alert("LlmDQueueHigh", f"avg({waiting.expr}) > {settings['queue']:g}", (waiting,), name)
    use = queries.server("kv_cache", by_pod("avg"), parts)
    yield Alert("LlmDKvCacheFull", f"avg({use.expr}) > {settings['kv_cache']:g}", (use,), name)


def _of_requests(queries: Queries, settings: Facts) -> c.Iterator[Alert]:
    limit, counted = f"{settings['errors']:g}", (f'{ERROR_CODE}!~"{"|".join(CLIENT_ERRORS)}"',)
    failed = queries.picker("request_errors", queries.rate, (), counted, until=FIRST_ERROR)
    requests = queries.picker("requests", queries.rate)
    # Requests that the endpoint picker rejects are not counted in its requests.
    rejected = queries.picker("request_errors", queries.rate, (), (f'{ERROR_CODE}!="{SERVER_ERROR}"',))
    failed_count = queries.picker("request_errors", lambda chosen: f"sum(increase({chosen}[{queries.range}]))", (), counted)
    total = f"({requests.expr} or vector(0)) + ({rejected.expr} or vector(0))"
    yield Alert("LlmDRequestErrors", f"({failed.expr}) / ({total}) > {limit} and ({failed_count.expr}) >= {_FEW}", (failed, requests))
    errors = queries.server("responses", lambda chosen: queries.rate(_with(chosen, _FAILED)), until=FIRST_ERROR)
    if errors:
        responses = queries.server("responses", queries.rate)
        error_count = queries.server("responses", lambda chosen: f"sum(increase({_with(chosen, _FAILED)}[{queries.range}]))")
        yield Alert("LlmDServerErrors", f"({errors.expr}) / ({responses.expr}) > {limit} and ({error_count.expr}) >= {_FEW}", (errors, responses))
    if settings["ttft_p99"] is not None:
        for slow in queries.server_quantiles("first_token")[1:]:
            yield Alert("LlmDFirstTokenSlow", f"{slow.expr} > {settings['ttft_p99']:g}", (slow,))


def _with(chosen: str, matcher: str) -> str:
    return f"{chosen[:-1]},{matcher}}}"
