# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to services: resolves the gateway's address, then probes every service in parallel."""

from __future__ import annotations

import collections.abc as c
import concurrent.futures
import datetime
import time
import typing as t

from ..http import tls
from ..http.transport import Transport, UrlTransport, unanswered
from ..inference import api_keys
from ..inference.client import OpenAIClient
from ..inference.endpoints import wait_for_gateway, wait_for_service
from ..inference.targets import ServerTarget, Targets, route_headers
from ..k8s.errors import ClusterError
from ..k8s.service_proxy import ServiceTransport
from . import claims, routing_claims, shares
from .probe_traffic import ProbeLimits
from .routing_counters import Counters, Servers, pods
from .routing_probe import Prober

THREADS = 8  # services that are probed at a time


class Proof:
    """Sends requests to services, and judges all claims about their routing.

    `options`: `gateway` and `services` of stack_validation; `cluster`: a k8s.client.Cluster, None where no option needs one.
    """

    def __init__(self, options: dict[str, t.Any], cluster: t.Any, limits: ProbeLimits) -> None:
        self._options, self._cluster, self._limits = options, cluster, limits
        self._address_errors: dict[str, str] = {}  # by name of a service

    def run(self) -> dict[str, t.Any]:
        """{ok, claims, not_checked, endpoints, observations, kubernetes, time, seconds}. Raises ValueError and ClusterError where an API key is missing."""
        start = time.monotonic()
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        judged: list[claims.Judged] = []
        base = None
        if self._options["gateway"]:
            gateway = wait_for_gateway(self._cluster, self._options["gateway"], self._limits.wait)
            judged.append(claims.judge_gateway(gateway))
            base = gateway["url"]
        services = [
            {**self._with_api_key(service), "url": service["url"] or self._url(service, base), "url_option": service["url"]}
            for service in self._options["services"]
        ]
        reachable = [service for service in services if service["url"]]
        for service in services:
            if not service["url"]:
                why = self._address_errors.get(service["name"]) or f"its {'Service' if service.get('address') else 'gateway'} has no address"
                judged.append(([], [{"id": service["name"], "why": why}]))
        with concurrent.futures.ThreadPoolExecutor(max_workers=THREADS) as pool:
            observations = list(pool.map(self._probe, reachable))
        judged += [routing_claims.judge_service(observation) for observation in observations]
        healthy = {service["name"]: service for service, observation in zip(reachable, observations, strict=True) if observation["health"]["healthy"]}
        # The weights of one service after the other, and last, since endpoint pickers would count any other request as well.
        judged += [shares.judge(service["name"], service["weights"], self._observe_shares(service, healthy)) for service in services if service.get("weights")]
        all_claims = [claim for part in judged for claim in part[0]]
        return {
            "ok": bool(all_claims) and all(claim["ok"] for claim in all_claims),
            "claims": all_claims,
            "not_checked": [entry for part in judged for entry in part[1]],
            "endpoints": [
                {**{key: service.get(key) for key in ("name", "url", "model", "host_header", "headers", "api_key_secret")}, "through": observation["through"]}
                for service, observation in zip(reachable, observations, strict=True)
            ],
            "observations": observations,
            "kubernetes": self._kubernetes(),
            "time": now,
            "seconds": round(time.monotonic() - start, 3),
        }

    def _with_api_key(self, service: dict[str, t.Any]) -> dict[str, t.Any]:
        """The service with the API key from its Secret. Raises ValueError and ClusterError."""
        secret = service.get("api_key_secret")
        return {**service, "api_key": api_keys.read(self._cluster, secret)} if secret else service

    def _url(self, service: dict[str, t.Any], base: str | None) -> str | None:
        """The address of a service: that of its Service, or its path at `base`, the address of the Gateway; None where there is none."""
        if service.get("address"):
            try:
                return wait_for_service(self._cluster, service["address"], self._limits.wait)
            except ClusterError as error:
                self._address_errors[service["name"]] = str(error)
                return None
        return base and base + (service["path"] or "").rstrip("/")

    def _probe(self, service: dict[str, t.Any]) -> dict[str, t.Any]:
        """The observation of one service."""
        client, through = self._client(service)
        groups = service.get("servers") or {}
        servers = Servers(self._cluster, groups["namespace"], groups["groups"]) if groups else None
        return Prober({**service, "through": through}, client, self._counters(service.get("metrics")), self._limits, servers).run()

    def _client(self, service: dict[str, t.Any]) -> tuple[OpenAIClient, str | None]:
        """(a client of the service, the Service to which it forwards a port; None without a port-forward)."""
        forward = self._forward(service) if not service["url_option"] and unanswered(service["url"], service["use_proxy"]) else None
        if forward:
            return forward.client, forward.name
        transport = UrlTransport(service["url"], use_proxy=service["use_proxy"], **tls.chosen(service))
        return OpenAIClient(transport, service.get("api_key"), route_headers(service)), None

    def _observe_shares(self, service: dict[str, t.Any], healthy: dict[str, dict[str, t.Any]]) -> dict[str, t.Any] | None:
        """The result of shares.observe for the services in the weights of this one; None unless all of them are healthy and have counters."""
        counters = {name: self._counters(healthy[name].get("metrics")) for name in service["weights"] if name in healthy}
        known = {name: each for name, each in counters.items() if each}
        if len(known) < len(service["weights"]):
            return None
        client, _through = self._client({**service, "headers": service["shared_headers"]})
        request = (service["model"], "Who answers?")
        return shares.observe(
            lambda: client.complete(*request, max_tokens=1, api=service.get("api") or "completions", timeout=self._limits.request_timeout),
            known,
            service["weights"],
            self._limits,
        )

    def _forward(self, service: dict[str, t.Any]) -> ServerTarget | None:
        """A port-forward to the Gateway or Service, for an address that this host has no route to; None where that is not possible either."""
        target = {"service": service["address"]} if service.get("address") else {"gateway": self._options["gateway"]}
        options = {key: service.get(key) for key in ("api_key", "host_header", "headers", *tls.OPTIONS)}
        prefix = "" if service.get("address") else (service["path"] or "").rstrip("/")
        try:
            return Targets({**options, **target, "through": "port_forward", "prefix": prefix}, self._cluster).find()[0]
        except (ValueError, ClusterError):
            return None  # the request to the address reports the error

    def _counters(self, metrics: dict[str, t.Any] | None) -> Counters | None:
        """The counters of an endpoint picker. metrics: the option of a service."""
        if not metrics:
            return None

        def find() -> list[Transport]:
            if metrics.get("url"):
                return [UrlTransport(metrics["url"], use_proxy=False)]
            names = pods(self._cluster, metrics["namespace"], metrics["labels"])
            return [ServiceTransport(self._cluster, metrics["namespace"], name, metrics["port"], kind="Pod") for name in names]

        return Counters(find, metrics["path"], metrics["names"])

    def _kubernetes(self) -> str | None:
        """The API server's version; None where it cannot be read, which is no failure."""
        try:
            return self._cluster.get("/version").get("gitVersion") if self._cluster else None
        except Exception:  # pylint: disable=broad-except
            return None


def needs_cluster(options: c.Mapping[str, t.Any]) -> bool:
    """Whether an option needs the API server."""
    keys = ("address", "servers", "api_key_secret")
    services = options["services"]
    return bool(options["gateway"]) or any(any(map(each.get, keys)) or (each.get("metrics") or {}).get("namespace") for each in services)
