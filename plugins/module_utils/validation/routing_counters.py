# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the counters of endpoint pickers and model servers, before and after the traffic of a validation."""

from __future__ import annotations

import collections.abc as c
import concurrent.futures
import dataclasses
import typing as t

from ..common import prometheus_text
from ..common.labels import label_selector
from ..common.objects import Facts, condition, dicts, get_path, mapping, text
from ..epp import observed
from ..http.errors import ExchangeError
from ..http.transport import Transport
from ..http.urls import excerpt
from ..inference.client import OpenAIClient
from ..inference.responses import require_ok
from ..k8s.service_proxy import ServiceTransport
from ..releases.engines import engine_by_metrics
from ..releases.metrics import SERVERS

SERVER_LABELS = ("pod_name", "endpoint_name")  # of scheduler_attempts: gateway-api-inference-extension 1.5, llm-d-router
# Signals of a server, and the paths at which engines serve their metrics, most of them at the first.
SERVED, WAITING = "served", "waiting"
PAGES = ("/metrics", "/prometheus/metrics")
THREADS = 8


def pods(cluster: t.Any, namespace: str, labels: c.Mapping[str, str]) -> list[str]:
    """Names of the ready pods with these labels that are not being deleted. Raises ExchangeError."""
    query = {"labelSelector": label_selector(labels)}
    try:
        items = dicts(mapping(cluster.get(f"/api/v1/namespaces/{namespace}/pods", query)).get("items"))
    except Exception as error:  # pylint: disable=broad-except  # every error of k8s.client has a message for users
        raise ExchangeError("cluster", str(error), "check the connection to the API server, and the permission to list pods") from error
    return [
        text(get_path(pod, "metadata", "name"))
        for pod in items
        if not get_path(pod, "metadata", "deletionTimestamp") and condition(pod.get("status"), "Ready").get("status") == "True"
    ]


class Counters:
    """The sums of the counters of all replicas of an endpoint picker. `find` returns a transport for each; it is called once.

    `names`: the series for requests, scheduler_attempts and, optionally, ready_endpoints, plugin_duration and disagg_decisions.
    """

    def __init__(self, find: c.Callable[[], c.Sequence[Transport]], path: str, names: c.Mapping[str, str]) -> None:
        self._find, self._path, self._names = find, path, names
        self._transports: c.Sequence[Transport] = ()

    def read(self, timeout: float) -> Facts:
        """{pickers, requests, scheduler_attempts, ready_endpoints: total or None, servers, decisions, ran: {what: count}}. Raises ExchangeError.

        `servers` are attempts per server; `ran` is plugins per extension point; `ready_endpoints` is the lowest number of
        any replica.
        """
        self._transports = self._transports or self._find()
        if not self._transports:
            raise ExchangeError("metrics", "no endpoint picker is ready", "check its Deployment and the log of its pods")
        with concurrent.futures.ThreadPoolExecutor(max_workers=THREADS) as pool:
            pages = list(pool.map(lambda transport: self._page(transport, timeout), self._transports))
        samples = [sample for page in pages for sample in page]
        attempts, decisions = self._names.get("scheduler_attempts", ""), self._names.get("disagg_decisions", "")
        where = {"status": "success"} if prometheus_text.total(samples, attempts, {"status": "success"}) is not None else None
        servers = (prometheus_text.by_label(samples, attempts, label, where) for label in SERVER_LABELS)
        ran: dict[str, dict[str, float]] = {}
        for (point, name), count in observed.plugin_runs_of(samples, self._names.get("plugin_duration", "")).items():
            ran.setdefault(point, {})[name] = count
        return {
            "pickers": len(pages),
            "requests": prometheus_text.total(samples, self._names.get("requests", "")),
            "scheduler_attempts": prometheus_text.total(samples, attempts, where),
            "ready_endpoints": _lowest(prometheus_text.total(page, self._names.get("ready_endpoints", "")) for page in pages),
            "servers": next((counts for counts in servers if counts), {}),
            "decisions": prometheus_text.by_label(samples, decisions, "decision_type"),
            "ran": ran,
        }

    def _page(self, transport: Transport, timeout: float) -> list[prometheus_text.Sample]:
        answer = transport.request("GET", self._path, timeout=timeout)
        require_ok(answer)
        samples = prometheus_text.parse(answer.text)
        if not samples:
            raise ExchangeError(
                "metrics",
                f"{answer.request}: no metrics in the answer ({answer.content_type}): {excerpt(answer.text)!r}",
                "check the port and path of the metrics",
            )
        return samples


def _lowest(values: c.Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else min(t.cast("list[float]", known), default=None)


@dataclasses.dataclass(frozen=True)
class Server:
    """One model server, queried directly instead of through the endpoint picker."""

    name: str
    role: str
    client: OpenAIClient

    def total(self, signal: str, timeout: float) -> float:
        """The sum of one signal of its metrics, 0 where it has none. Raises ExchangeError."""
        for path in PAGES:
            answer = self.client.get(path, timeout)
            require_ok(answer)
            samples = prometheus_text.parse(answer.text)
            if engine := engine_by_metrics(samples):
                sums = [prometheus_text.total(samples, source.metric, dict(source.where)) for source in SERVERS[engine].get(signal, ())]
                return next((value for value in sums if value is not None), 0.0)
            if answer.content_type != "application/json":  # statistics of TensorRT-LLM
                break
        return 0.0


class Servers:
    """The model servers of a service, in `groups` of {role, labels, port}."""

    def __init__(self, cluster: t.Any, namespace: str, groups: c.Sequence[c.Mapping[str, t.Any]]) -> None:
        self._cluster, self._namespace, self._groups = cluster, namespace, groups

    def find(self, role: str) -> list[Server]:
        """The ready servers of a role. Raises ExchangeError."""
        return [
            Server(name, role, OpenAIClient(ServiceTransport(self._cluster, self._namespace, name, group["port"], kind="Pod")))
            for group in self._groups
            if group["role"] == role
            for name in pods(self._cluster, self._namespace, group["labels"])
        ]

    def answered(self, role: str, timeout: float) -> dict[str, float]:
        """Requests that each server of a role has answered since it started. Raises ExchangeError."""
        servers = self.find(role)
        with concurrent.futures.ThreadPoolExecutor(max_workers=THREADS) as pool:
            return dict(zip([server.name for server in servers], pool.map(lambda server: server.total(SERVED, timeout), servers), strict=True))
