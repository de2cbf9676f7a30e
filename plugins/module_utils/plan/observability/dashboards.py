# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dashboard of one service: its panels, as a ConfigMap for the sidecar of Grafana and as a PersesDashboard. Pure."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import typing as t

from ...common.objects import Facts
from ...releases.metrics import ATTEMPTED, COUNTING_DETECTOR, DECISION, ERROR_CODE, FINISHED, FLOW_CONTROL, INFLIGHT_PLUGIN, LIMITS, PREFIX_PLUGINS
from .alerts import FIRST_ERROR
from .queries import NOTHING, RESTARTS, Queries, Query, by_pod, divided

GRAFANA, PERSES = ("v1", "ConfigMap"), ("perses.dev/v1alpha1", "PersesDashboard")
PERSES_CRD = "persesdashboards.perses.dev"
# The label that Grafana's sidecar selects by default, and the annotation with the folder of the dashboard.
_SIDECAR, _FOLDER = {"grafana_dashboard": "1"}, {"grafana_folder": "llm-d"}
# {unit of Grafana: unit of Perses}.
_UNITS = {"s": "seconds", "reqps": "requests/sec", "percentunit": "percent-decimal", "short": "decimal"}
_WIDTH, _HEIGHT, _COLUMNS = 8, 8, 24
_MEASURES = ("requests", "bytes")  # that flow control limits


@dataclasses.dataclass(frozen=True)
class Panel:
    """One chart. unit: of its axis, as Grafana names it."""

    title: str
    unit: str
    queries: tuple[Query, ...]
    description: str


def object_name(service: str, kind: str) -> str:
    """The name of the dashboard of a service. A ConfigMap has a suffix, since a service has other ConfigMaps; it has no other PersesDashboard."""
    return f"{service}-grafana" if kind == "grafana" else service


def dashboards(service: str, queries: Queries, kinds: t.Sequence[str], release: Facts, document: Facts, labels: Facts, namespace: str) -> list[Facts]:
    """The dashboards of a service: {api_version, kind, name, labels, annotations, data, spec}; data is None for Perses, spec for Grafana."""
    made = panels(queries, release, document)
    objects = []
    for kind in kinds:
        version, name = GRAFANA if kind == "grafana" else PERSES
        page = {f"{namespace}-{service}.json": json.dumps(_grafana(service, namespace, made), indent=1)} if kind == "grafana" else None
        objects.append(
            {
                "api_version": version,
                "kind": name,
                "name": object_name(service, kind),
                "labels": {**labels, **_SIDECAR} if page else labels,
                "annotations": _FOLDER if page else {},
                "data": page,
                "spec": None if page else _perses(service, namespace, made),
            }
        )
    return objects


def panel_queries(queries: Queries, release: Facts, document: Facts) -> list[Facts]:
    """The queries of the claims: {title, queries} of each panel."""
    return [{"title": panel.title, "queries": [query.facts() for query in panel.queries]} for panel in panels(queries, release, document)]


def panels(queries: Queries, release: Facts, document: Facts) -> list[Panel]:
    """The panels of a service, without those for which its engine, release line or scheduler configuration exports no metric."""
    all_panels = [*_of_requests(queries, release), *_of_servers(queries), *_of_picker(queries, release, document), *_of_capacity(queries, release, document)]
    kept = [dataclasses.replace(panel, queries=tuple(query for query in panel.queries if query)) for panel in all_panels]
    return [panel for panel in kept if panel.queries]


def _of_requests(queries: Queries, release: Facts) -> list[Panel]:
    served = queries.server("served", queries.rate_by(FINISHED), queries.answering, f"{{{{{FINISHED}}}}}")
    return [
        Panel("Requests", "reqps", (queries.picker("requests", queries.rate, legend="scheduled"),), "Requests that the endpoint picker sent to a server."),
        Panel("Time to first token", "s", tuple(queries.server_quantiles("first_token")), "As the servers measure it, their queue included."),
        Panel("Time per output token", "s", tuple(queries.server_quantiles("token_interval")), "The interval between two tokens, as the servers measure it."),
        Panel("Request duration", "s", tuple(queries.picker_quantiles("request_duration")), "From the request to the end of the response, at the gateway."),
        Panel(
            "Errors by reason",
            "reqps",
            (queries.picker("request_errors", queries.rate_by(ERROR_CODE), legend=f"{{{{{ERROR_CODE}}}}}", until=FIRST_ERROR),),
            "Requests that failed at the endpoint picker. Lines begin with the first failure.",
        ),
        Panel("Finished requests by reason", "reqps", (served,), "How requests ended at the servers: stop, length, abort, error."),
    ]


def _of_servers(queries: Queries) -> list[Panel]:
    hits, looked_up = (queries.server(signal, queries.rate_by("pod")) for signal in ("prefix_hits", "prefix_queries"))
    gauge = queries.server("hit_ratio", by_pod("avg"), legend="{{pod}}")
    return [
        Panel("Waiting requests", "short", (queries.server("waiting", by_pod("sum"), legend="{{pod}}"),), "The queue of each server."),
        Panel("Running requests", "short", (queries.server("running", by_pod("sum"), legend="{{pod}}"),), "Requests that each server processes at once."),
        Panel("KV cache use", "percentunit", (queries.server("kv_cache", by_pod("avg"), legend="{{pod}}"),), "Share of the KV-cache blocks in use."),
        Panel(
            "Prefix hit ratio of servers",
            "percentunit",
            (divided(hits, looked_up, "{{pod}}") or gauge,),
            "Share of prompt tokens that a server had in its prefix cache.",
        ),
        Panel("Output tokens", "short", (queries.server("output_tokens", queries.rate_by("pod"), legend="{{pod}}"),), "Generated tokens per second."),
        Panel("Restarts", "short", (queries.restarts((*queries.servers, *queries.pickers)),), f"Starts of each process within {RESTARTS}."),
    ]


def _of_picker(queries: Queries, release: Facts, document: Facts) -> list[Panel]:
    plugins = _plugins(document)
    picked = release["picked_label"]
    picks = queries.picker("scheduler_attempts", queries.rate_by(picked), [ATTEMPTED], legend=f"{{{{{picked}}}}}") if picked else None
    prefixes = divided(
        queries.picker("prefix_hit_ratio", queries.rate, suffix="_sum"), queries.picker("prefix_hit_ratio", queries.rate, suffix="_count"), "expected"
    )
    charts = [
        Panel(
            "Picks per server",
            "reqps",
            (picks or queries.server("served", queries.rate_by("pod"), queries.answering, "{{pod}}"),),
            "How the endpoint picker distributes requests." if picks else "Completed requests of each server: this release line does not count its picks.",
        ),
        Panel(
            "Decisions per plugin",
            "reqps",
            (
                queries.picker(
                    "plugin_duration", queries.rate_by("extension_point", "plugin_type"), legend="{{extension_point}} {{plugin_type}}", suffix="_count"
                ),
            ),
            "How often each plugin of the endpoint picker decides.",
        ),
        Panel("Scheduling latency", "s", tuple(queries.picker_quantiles("scheduler_duration")), "Time that the endpoint picker takes to choose a server."),
        Panel(
            "Saturation as the endpoint picker sees it",
            "short",
            (
                queries.picker("pool_queue", lambda chosen: f"max({chosen})", legend="waiting requests per server"),
                queries.picker("pool_kv_cache", lambda chosen: f"max({chosen})", legend="KV cache use"),
                queries.picker("saturation", lambda chosen: f"max({chosen})", legend="saturation") if _flows(document) else NOTHING,
            ),
            "Averages over all servers, which flow control and saturation detection compare with their thresholds.",
        ),
        Panel("Ready servers", "short", (queries.picker("ready_endpoints", lambda chosen: f"max({chosen})", legend="ready"),), "Servers to choose from."),
    ]
    if any(plugin in PREFIX_PLUGINS for plugin in plugins):
        text = "Share of a prompt that the endpoint picker expects in the cache of the server that matches best."
        charts.append(Panel("Prefix hit ratio of the endpoint picker", "percentunit", (prefixes,), text))
    if len(queries.servers) > 1:
        split = queries.picker("disagg_decisions", queries.rate_by(DECISION), legend=f"{{{{{DECISION}}}}}")
        charts.append(Panel("Prefill and decode", "reqps", (split,), "Whether requests went to a prefill server first."))
    return charts


def _of_capacity(queries: Queries, release: Facts, document: Facts) -> list[Panel]:
    """Panels of the in-flight requests and tokens that the endpoint picker counts at each server, and of the use of the limits of flow control."""
    server = release["picked_label"]
    charts = [
        Panel(
            f"{measure.capitalize()} in flight",
            "short",
            (queries.picker(f"inflight_{measure}", lambda chosen: f"sum by ({server}) ({chosen})", legend=f"{{{{{server}}}}}"),),
            f"{measure.capitalize()} of each server that the endpoint picker has sent there and that are not answered: by these it scores and filters.",
        )
        for measure in ("requests", "tokens")
        if INFLIGHT_PLUGIN in _plugins(document)
    ]
    if not _flows(document):
        return charts
    bands = [
        queries.picker(f"band_{measure}", lambda chosen: f"max by (priority) ({chosen})", legend=f"{measure}, priority {{{{priority}}}}")
        for measure in _MEASURES
    ]
    totals = [
        queries.picker(f"all_{measure}", lambda chosen: f"max({chosen})", legend=f"{measure}, all") for measure in _MEASURES if _limited(document, measure)
    ]
    stale = NOTHING if COUNTING_DETECTOR in _plugins(document) else queries.picker("stale_endpoints", lambda chosen: f"max({chosen})", legend="servers")
    text = "Share of the limits of flow control that waiting requests take, by priority, and of all together where the file limits them: at 1 it refuses more."
    return [
        *charts,
        Panel("Flow control limits in use", "percentunit", (*bands, *totals), text),
        Panel("Servers with stale metrics", "short", (stale,), "Servers whose metrics are missing or old, which flow control takes for saturated."),
    ]


def _plugins(document: Facts) -> list[t.Any]:
    return [entry.get("type") for entry in document.get("plugins") or ()]


def _flows(document: Facts) -> bool:
    """Whether flow control is on, so that requests wait in the endpoint picker."""
    return FLOW_CONTROL in [str(gate) for gate in document.get("featureGates") or ()]


def _limited(document: Facts, measure: str) -> bool:
    return str((document.get("flowControl") or {}).get(LIMITS[f"all_{measure}"]) or 0) != "0"


def _grafana(service: str, namespace: str, made: t.Sequence[Panel]) -> Facts:
    source = {"type": "prometheus", "uid": "${datasource}"}
    variable = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "uid": hashlib.sha256(f"{namespace}/{service}".encode()).hexdigest()[:32],
        "title": f"llm-d {namespace}/{service}",
        "tags": ["llm-d"],
        "schemaVersion": 39,
        "editable": True,
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "30s",
        "templating": {"list": [variable]},
        "panels": [
            {
                "id": index + 1,
                "type": "timeseries",
                "title": panel.title,
                "description": panel.description,
                "datasource": source,
                "gridPos": {"x": x, "y": y, "w": _WIDTH, "h": _HEIGHT},
                "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
                "targets": [
                    {"refId": chr(ord("A") + at), "datasource": source, "expr": query.expr, "legendFormat": query.legend or "__auto"}
                    for at, query in enumerate(panel.queries)
                ],
            }
            for index, (panel, x, y) in enumerate(_placed(made))
        ],
    }


def _perses(service: str, namespace: str, made: t.Sequence[Panel]) -> Facts:
    placed = list(_placed(made))
    return {
        "display": {"name": f"llm-d {namespace}/{service}"},
        "duration": "1h",
        "panels": {
            f"panel{index}": {
                "kind": "Panel",
                "spec": {
                    "display": {"name": panel.title, "description": panel.description},
                    "plugin": {"kind": "TimeSeriesChart", "spec": {"yAxis": {"min": 0, "format": {"unit": _UNITS[panel.unit]}}}},
                    "queries": [_perses_query(query) for query in panel.queries],
                },
            }
            for index, (panel, _x, _y) in enumerate(placed)
        },
        "layouts": [
            {
                "kind": "Grid",
                "spec": {
                    "items": [
                        {"x": x, "y": y, "width": _WIDTH, "height": _HEIGHT, "content": {"$ref": f"#/spec/panels/panel{index}"}}
                        for index, (_panel, x, y) in enumerate(placed)
                    ]
                },
            }
        ],
    }


def _perses_query(query: Query) -> Facts:
    spec = {"query": query.expr, **({"seriesNameFormat": query.legend} if query.legend else {})}
    return {"kind": "TimeSeriesQuery", "spec": {"plugin": {"kind": "PrometheusTimeSeriesQuery", "spec": spec}}}


def _placed(made: t.Sequence[Panel]) -> t.Iterator[tuple[Panel, int, int]]:
    """(panel, x, y), three panels in a row."""
    for index, panel in enumerate(made):
        place = index * _WIDTH
        yield panel, place % _COLUMNS, place // _COLUMNS * _HEIGHT
