# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PodMonitors, which tell Prometheus which model servers and endpoint pickers to scrape. Pure.

One kind for both: prefill servers and servers behind a routing sidecar have no Service, and no permissions for a second kind are needed.
"""

from __future__ import annotations

import typing as t

from ..common.labels import MANAGED_BY, PART_OF
from ..common.objects import Facts
from ..schema.fields import Problem
from .pod_spec import SERVICE_LABEL

VARIABLE = "llm_d_monitoring"
API_VERSION, KIND = "monitoring.coreos.com/v1", "PodMonitor"
CRD = "podmonitors.monitoring.coreos.com"
# Labels that identify our objects.
_OURS = (MANAGED_BY, PART_OF, SERVICE_LABEL)
_PICKER_PORT = "metrics"


def monitors(user: Facts, labels: Facts, servers: t.Sequence[Facts], picker: Facts) -> list[Facts]:
    """The PodMonitors of one service, named after their targets: {api_version, kind, name, labels, interval, selector, port: its name}.

    A server is scraped directly, not through its routing sidecar. In a group of several nodes only the leader has these labels.
    """
    settings = user[VARIABLE]
    if not settings["scrape"]:
        return []
    targets = [(server, server["container_ports"][0]["name"]) for server in servers] + [(picker, _PICKER_PORT)]
    alike = {"api_version": API_VERSION, "kind": KIND, "labels": {**settings["labels"], **labels}, "interval": f"{settings['interval']}s"}
    return [{"name": target["name"], **alike, "selector": target["selector"], "port": port} for target, port in targets]


def monitors_to_prune(name: str, planned: t.Sequence[Facts]) -> list[Facts]:
    """PodMonitors that the service would have with another configuration: {api_version, kind, name}."""
    there = [monitor["name"] for monitor in planned]
    named = [f"{name}-{part}" for part in ("decode", "prefill", "epp")]
    return [{"api_version": API_VERSION, "kind": KIND, "name": each} for each in named if each not in there]


def monitoring_problems(user: Facts) -> list[Problem]:
    """Labels of the user that the collection sets itself."""
    given, why, fix = user[VARIABLE]["labels"], "marks what the collection owns.", "Take it out, or write another label."
    return [Problem(f"{VARIABLE}.labels.{key}", given[key], why, fix) for key in _OURS if key in given]
