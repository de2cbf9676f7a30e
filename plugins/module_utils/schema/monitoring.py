# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the user's file for scraping, alerts and dashboards. Data only."""

from __future__ import annotations

from .fields import Field

ALERTS = Field(
    "dict",
    "Thresholds of the alerts.",
    default={},
    options={
        "queue": Field("float", "Waiting requests per server, on average.", default=10, minimum=0, maximum=1e6),
        "kv_cache": Field("float", "KV-cache usage of the servers, on average, from 0 to 1.", default=0.95, minimum=0, maximum=1),
        "errors": Field("float", "Share of the requests that fail, from 0 to 1.", default=0.05, minimum=0, maximum=1),
        "ttft_p99": Field("float", "The 99th percentile of the time to first token, in seconds. If omitted, no alert on it.", minimum=0.001),
        "seconds": Field("int", "Seconds for which a condition has to hold before its alert fires.", default=120, minimum=1, maximum=86400),
    },
)

MONITORING = {
    "scrape": Field(
        "bool",
        "Create a PodMonitor for each model server and endpoint picker. Requires the PodMonitor CRD, and on OpenShift user workload monitoring.",
        default=False,
    ),
    "interval": Field("int", "Seconds between two scrapes. For Prometheus a value is stale after five minutes.", default=15, minimum=1, maximum=240),
    "labels": Field(
        "map",
        "Additional labels of the PodMonitors and PrometheusRules, by which a Prometheus may select them.",
        default={},
        keys="label_key",
        elements=Field("str", "The value.", format="label_value"),
        example={"release": "prometheus"},
    ),
    "alerts": Field(
        "bool",
        (
            "Create a PrometheusRule with alerts for each model service: C(true), or a mapping of thresholds (C(queue), C(kv_cache), C(errors), C(ttft_p99),"
            " C(seconds)). The alerts need series with the labels C(namespace) and C(pod), which PodMonitors give. Requires the PrometheusRule CRD."
        ),
        default=False,
        otherwise=ALERTS,
    ),
    "dashboards": Field(
        "list",
        (
            "Create a dashboard for each model service: C(grafana), as a ConfigMap with the label C(grafana_dashboard) that Grafana's sidecar reads, or"
            " C(perses), as a PersesDashboard, which requires its CRD."
        ),
        default=[],
        elements=Field("str", "A kind of dashboard.", choices=("grafana", "perses")),
        example=["grafana"],
    ),
    "prometheus": Field(
        "str",
        (
            "The Prometheus that scrapes the servers, as its URL or as C({namespace: monitoring, service: prometheus-operated, port: 9090}), which is"
            " queried through the API server. The validation then runs every query of the alerts and dashboards."
        ),
        format="http_url",
        otherwise=Field(
            "dict",
            "The Service of a Prometheus.",
            options={
                "namespace": Field("str", "Namespace of the Service.", required=True, format="dns_label"),
                "service": Field("str", "Name of the Service.", default="prometheus-operated", format="dns_label"),
                "port": Field("int", "Port of the Service.", default=9090, minimum=1, maximum=65535),
            },
        ),
    ),
}
