# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Monitoring of a service: PodMonitors, alerts, dashboards, and the queries that the claims send to Prometheus. Pure.

Servers and endpoint pickers have the same kind of monitor: no Service leads to a server behind its routing sidecar, and a second kind would need more
permissions.
"""

from __future__ import annotations

import typing as t

from ...common.labels import MANAGED_BY, PART_OF
from ...common.objects import Facts
from ...schema.fields import Problem, complete
from ...schema.monitoring import ALERTS
from ..parts.pod_spec import SERVICE_LABEL, labels_in
from . import alerts, dashboards
from .promql import arrival
from .queries import Queries

VARIABLE = "llm_d_monitoring"
API_VERSION, KIND = "monitoring.coreos.com/v1", "PodMonitor"
CRD = "podmonitors.monitoring.coreos.com"
# Labels that identify our objects.
_OURS = (MANAGED_BY, PART_OF, SERVICE_LABEL)
_PICKER_PORT = "metrics"


def monitors(user: Facts, labels: Facts, servers: t.Sequence[Facts], picker: Facts) -> list[Facts]:
    """The PodMonitors of one service, named after their targets: {api_version, kind, name, namespace, labels, interval, selector, port: its name, path}.

    A server is scraped directly, not through its routing sidecar. In a group of several nodes only the leader has these labels.
    """
    settings = user[VARIABLE]
    if not settings["scrape"]:
        return []
    targets = [(server, server["port_name"], server["metrics_path"]) for server in servers] + [(picker, _PICKER_PORT, "/metrics")]
    home: str = user["llm_d_namespace"]
    alike = {"api_version": API_VERSION, "kind": KIND, "interval": f"{settings['interval']}s"}
    return [
        {
            "name": target["name"],
            "namespace": target.get("namespace", home),
            **alike,
            "labels": {**settings["labels"], **labels_in(str(target.get("namespace", home)), home, labels)},
            "selector": target["selector"],
            "port": port,
            "path": path,
        }
        for target, port, path in targets
    ]


def observability(service: Facts, user: Facts, release: Facts, labels: Facts, servers: t.Sequence[Facts], picker: Facts, document: Facts) -> Facts:
    """{alerts: the PrometheusRule or None, dashboards, queried: {id of a claim: its queries; empty if the file names no Prometheus}}."""
    settings, namespace, name = user[VARIABLE], user["llm_d_namespace"], service["name"]
    queries = Queries(service, servers, picker, release, namespace, settings["interval"])
    limits = complete({}, ALERTS, "")[0] if settings["alerts"] is True else settings["alerts"]
    rule = alerts.prometheus_rule(service, queries, limits, {**settings["labels"], **labels}, namespace) if limits else None
    pages = dashboards.dashboards(name, queries, settings["dashboards"], release, document, labels, namespace)
    queried = {
        "alerts": rule["queries"] if rule else [],
        "dashboards": dashboards.panel_queries(queries, release, document) if pages else [],
    }
    return {
        "alerts": {key: value for key, value in rule.items() if key != "queries"} if rule else None,
        "dashboards": pages,
        "queried": queried if settings["prometheus"] else dict.fromkeys(queried, []),
    }


def prometheus(user: Facts) -> Facts | None:
    """The access to the user's Prometheus, with the seconds until it has data of new targets as `timeout`; None if the file names no Prometheus."""
    settings = user[VARIABLE]
    given = settings["prometheus"]
    if not given:
        return None
    waited = {"timeout": arrival(settings["interval"])}
    return {"url": given, **waited} if isinstance(given, str) else {**given, **waited}


def switched(name: str, settings: Facts) -> list[tuple[str, str, str]]:
    """(API version, kind, name) of the monitoring objects that another scheduler configuration of the service may change. `settings`: llm_d_monitoring."""
    pod_monitors = [(API_VERSION, KIND, f"{name}-{part}") for part in ("decode", "prefill") if settings["scrape"]]
    wanted = {alerts.KIND: bool(settings["alerts"]), dashboards.GRAFANA[1]: "grafana" in settings["dashboards"]}
    wanted[dashboards.PERSES[1]] = "perses" in settings["dashboards"]
    return pod_monitors + [item for item in _observing(name) if wanted[item[1]]]


def _observing(name: str) -> list[tuple[str, str, str]]:
    pages = {"grafana": dashboards.GRAFANA, "perses": dashboards.PERSES}
    return [(alerts.API_VERSION, alerts.KIND, name), *((*kind, dashboards.object_name(name, word)) for word, kind in pages.items())]


def crds(services: t.Sequence[Facts]) -> list[tuple[str, str, str]]:
    """(CRD, purpose, option) of each kind of Prometheus and Perses objects that the services have."""
    kinds = {page["kind"] for service in services for page in service["dashboards"]}
    rows = [(CRD, "Model servers and endpoint pickers are to be scraped", "scrape")] if any(service["monitors"] for service in services) else []
    rows += [(alerts.CRD, "Alerts are to be created", "alerts")] if any(service["alerts"] for service in services) else []
    return rows + ([(dashboards.PERSES_CRD, "Dashboards of Perses are to be created", "dashboards")] if dashboards.PERSES[1] in kinds else [])


def monitoring_problems(user: Facts) -> list[Problem]:
    """Labels in the user's file that the collection sets itself."""
    given, why, fix = user[VARIABLE]["labels"], "marks what the collection owns.", "Take it out, or write another label."
    return [Problem(f"{VARIABLE}.labels.{key}", given[key], why, fix) for key in _OURS if key in given]
