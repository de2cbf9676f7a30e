# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of the routing proof: the gateway's address from the cluster, then every service probed in parallel."""

from __future__ import annotations

import collections.abc as c
import concurrent.futures
import datetime
import re
import time
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils import claims, claims_routing, tls_options
from ansible_collections.llm_d.inference.plugins.module_utils.http_transport import ServiceTransport, Transport, UrlTransport
from ansible_collections.llm_d.inference.plugins.module_utils.openai_api import Client
from ansible_collections.llm_d.inference.plugins.module_utils.routing_counters import Counters, Servers, pods
from ansible_collections.llm_d.inference.plugins.module_utils.routing_probe import Limits, Prober

THREADS = 8
_DEFAULT_PORT = {"http": 80, "https": 443}


class Reader(t.Protocol):
    """What cluster.Cluster offers."""

    def get(self, path: str) -> dict[str, t.Any]:
        """One object. Raises when there is none or no answer."""


def look_at_gateway(cluster: Reader, gateway: dict[str, t.Any], wait: float) -> dict[str, t.Any]:
    """Waits until the Gateway is programmed for its current generation and has an address. Result as claims.judge_gateway wants it."""
    start = time.monotonic()
    path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{gateway['namespace']}/gateways/{gateway['name']}"
    while True:
        try:
            found = cluster.get(path)
            seen = read_gateway(found, gateway)
            inside = re.fullmatch(r"([^.]+)\.([^.]+)\.svc(\..+)?", seen["address"] or "")
            if inside:  # Istio's word for a Service without an address outside: a name that only pods can resolve
                service = cluster.get(f"/api/v1/namespaces/{inside.group(2)}/services/{inside.group(1)}")
                addresses = [{"type": "IPAddress", "value": service["spec"]["clusterIP"]}]
                seen = read_gateway({**found, "status": {**found["status"], "addresses": addresses}}, gateway)
        except Exception as error:  # pylint: disable=broad-except  # cluster.py words every trouble for people
            seen = {"name": f"{gateway['namespace']}/{gateway['name']}", "address": None, "url": None, "programmed": False, "message": str(error)}
        seen["seconds"] = round(time.monotonic() - start, 3)
        if (seen["address"] and seen["programmed"]) or seen["seconds"] > wait:
            return seen
        time.sleep(1.0)


def read_gateway(found: dict[str, t.Any], gateway: dict[str, t.Any]) -> dict[str, t.Any]:
    """A Gateway object as an observation: {name, address, url, programmed, message}. Pure."""
    metadata, spec, status = found.get("metadata", {}), found.get("spec", {}), found.get("status", {})
    listeners = spec.get("listeners") or [{}]
    listener = next((entry for entry in listeners if entry.get("name") == gateway.get("listener")), listeners[0])
    conditions = {entry.get("type"): entry for entry in status.get("conditions") or []}
    # the one that is not met, so that it is the one that is told
    condition = next((entry for entry in map(conditions.get, ("Accepted", "Programmed")) if entry and entry.get("status") != "True"),
                     conditions.get("Programmed", {}))
    current = condition.get("observedGeneration") in (None, metadata.get("generation"))
    address = next((entry["value"] for entry in status.get("addresses") or [] if entry.get("value")), None)
    said = " ".join(str(condition[key]) for key in ("reason", "message") if condition.get(key)) or "no controller has looked at it"
    return {
        "name": f"{metadata.get('namespace')}/{metadata.get('name')}",
        "address": address,
        "url": url_of(address, listener) if address else None,
        "programmed": condition.get("status") == "True" and current,
        "message": f"{said}; {'at ' + address if address else 'it has no address'}" + ("" if current else "; its controller has not seen the last change yet"),
    }


def url_of(address: str, listener: dict[str, t.Any]) -> str:
    """The URL of a listener at an address. Pure."""
    scheme = "https" if listener.get("protocol") in ("HTTPS", "TLS") else "http"
    port = listener.get("port") or _DEFAULT_PORT[scheme]
    host = f"[{address}]" if ":" in address else address
    return f"{scheme}://{host}" + ("" if port == _DEFAULT_PORT[scheme] else f":{port}")


def look_at_service(cluster: Reader, address: dict[str, t.Any], wait: float) -> str | None:
    """Waits until the Service has an address; its URL, or None."""
    start = time.monotonic()
    path = f"/api/v1/namespaces/{address['namespace']}/services/{address['name']}"
    while True:
        try:
            found = read_service(cluster.get(path), address["port"])
        except Exception:  # pylint: disable=broad-except  # not there yet, and told as such
            found = None
        if found or time.monotonic() - start > wait:
            return found
        time.sleep(1.0)


def read_service(found: dict[str, t.Any], port: int) -> str | None:
    """The URL of a Service from outside where it has one, else inside the cluster. Pure."""
    ingress = (found.get("status", {}).get("loadBalancer") or {}).get("ingress") or [{}]
    address = ingress[0].get("ip") or ingress[0].get("hostname")
    if not address and found.get("spec", {}).get("type") != "LoadBalancer":
        address = found.get("spec", {}).get("clusterIP")
    return url_of(address, {"port": port}) if address and address != "None" else None


class Proof:
    """`options`: the options of the routing_proof module. `cluster`: None where no option needs one."""

    def __init__(self, options: dict[str, t.Any], cluster: t.Any, limits: Limits) -> None:
        self._options, self._cluster, self._limits = options, cluster, limits

    def run(self) -> dict[str, t.Any]:
        """{ok, claims, not_checked, endpoints, observations, kubernetes, time, seconds}."""
        start = time.monotonic()
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        judged: list[claims.Judged] = []
        base = None
        if self._options["gateway"]:
            gateway = look_at_gateway(self._cluster, self._options["gateway"], self._limits.wait)
            judged.append(claims.judge_gateway(gateway))
            base = gateway["url"]
        services = [{**service, "url": service["url"] or self._url(service, base)} for service in self._options["services"]]
        reachable = [service for service in services if service["url"]]
        for service in services:
            if not service["url"]:
                judged.append(([], [{"id": service["name"], "why": f"its {'Service' if service.get('address') else 'gateway'} has no address"}]))
        with concurrent.futures.ThreadPoolExecutor(max_workers=THREADS) as pool:
            observations = list(pool.map(self._probe, reachable))
        judged += [claims_routing.judge_service(seen) for seen in observations]
        found = [claim for part in judged for claim in part[0]]
        return {
            "ok": bool(found) and all(claim["ok"] for claim in found),
            "claims": found,
            "not_checked": [entry for part in judged for entry in part[1]],
            "endpoints": [{key: service.get(key) for key in ("name", "url", "model", "host_header")} for service in reachable],
            "observations": observations,
            "kubernetes": self._kubernetes(),
            "time": now,
            "seconds": round(time.monotonic() - start, 3),
        }

    def _url(self, service: dict[str, t.Any], base: str | None) -> str | None:
        if service.get("address"):
            return look_at_service(self._cluster, service["address"], self._limits.wait)
        return base and base + (service["path"] or "").rstrip("/")

    def _probe(self, service: dict[str, t.Any]) -> dict[str, t.Any]:
        headers = {"Host": service["host_header"]} if service.get("host_header") else None
        transport = UrlTransport(service["url"], use_proxy=service["use_proxy"], **tls_options.chosen(service))
        client, groups = Client(transport, service.get("api_key"), headers), service.get("servers") or {}
        servers = Servers(self._cluster, groups["namespace"], groups["groups"]) if groups else None
        return Prober(service, client, self._counters(service.get("metrics")), self._limits, servers).run()

    def _counters(self, metrics: dict[str, t.Any] | None) -> Counters | None:
        if not metrics:
            return None

        def find() -> list[Transport]:
            if metrics.get("url"):
                return [UrlTransport(metrics["url"], use_proxy=False)]
            found = pods(self._cluster, metrics["namespace"], metrics["labels"])
            return [ServiceTransport(self._cluster, metrics["namespace"], name, metrics["port"], kind="Pod") for name in found]

        return Counters(find, metrics["path"], metrics["names"])

    def _kubernetes(self) -> str | None:
        """The API server's version; not knowing it is no failure."""
        try:
            return self._cluster.get("/version").get("gitVersion") if self._cluster else None
        except Exception:  # pylint: disable=broad-except
            return None


def needs_cluster(options: c.Mapping[str, t.Any]) -> bool:
    """Whether something is only to be had from the API server."""
    services = options["services"]
    return bool(options["gateway"]) or any(each.get("address") or each.get("servers") or (each.get("metrics") or {}).get("namespace") for each in services)
