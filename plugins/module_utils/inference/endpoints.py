# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses of Gateways and Services, read from the cluster, with a bounded wait until an address is assigned."""

from __future__ import annotations

import re
import typing as t

from ..common.clock import Clock
from ..k8s.errors import ClusterError, lasting


class Reader(t.Protocol):
    """The part of k8s.client.Cluster that is used here."""

    clock: Clock

    def get(self, path: str) -> dict[str, t.Any]:
        """One object. Raises when it does not exist, or when the API server does not answer."""


def wait_for_gateway(cluster: Reader, gateway: dict[str, t.Any], wait: float) -> dict[str, t.Any]:
    """Waits up to `wait` seconds until the Gateway is programmed for its current generation and has an address.

    Returns {name, address, url, programmed, message, seconds} as last observed, also when the time is over or waiting does not help. Raises nothing.
    """
    start = cluster.clock.now()
    path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{gateway['namespace']}/gateways/{gateway['name']}"
    while True:
        try:
            resource = cluster.get(path)
            observation = observe_gateway(resource, gateway)
            dns_name = re.fullmatch(r"([^.]+)\.([^.]+)\.svc(\..+)?", observation["address"] or "")
            if dns_name:  # Istio reports a ClusterIP Service by its DNS name, which resolves only inside the cluster
                service = cluster.get(f"/api/v1/namespaces/{dns_name.group(2)}/services/{dns_name.group(1)}")
                addresses = [{"type": "IPAddress", "value": service["spec"]["clusterIP"]}]
                observation = observe_gateway({**resource, "status": {**resource["status"], "addresses": addresses}}, gateway)
        except Exception as error:  # pylint: disable=broad-except  # k8s.client words every error for people
            observation = {"name": f"{gateway['namespace']}/{gateway['name']}", "address": None, "url": None, "programmed": False, "message": str(error)}
            if reason := _permanent(cluster, gateway["namespace"], error):
                return {**observation, "message": reason, "seconds": round(cluster.clock.now() - start, 3)}
        observation["seconds"] = round(cluster.clock.now() - start, 3)
        if (observation["address"] and observation["programmed"]) or observation["seconds"] > wait:
            return observation
        cluster.clock.sleep(1.0)


def namespace_absent(cluster: Reader, namespace: str) -> bool:
    """Whether there is no such namespace, as far as the permissions of this account show."""
    try:
        cluster.get(f"/api/v1/namespaces/{namespace}")
    except ClusterError as error:
        return getattr(error, "status", 0) == 404
    return False


def _permanent(cluster: Reader, namespace: str, error: Exception) -> str:
    """The reason why an absent object will not appear; empty where it may."""
    if getattr(error, "status", 0) == 404 and namespace_absent(cluster, namespace):
        return f"there is no namespace {namespace}: correct the namespace, or create it"
    return str(error) if lasting(error) else ""


def observe_gateway(resource: dict[str, t.Any], gateway: dict[str, t.Any]) -> dict[str, t.Any]:
    """A Gateway object as an observation: {name, address, url, programmed, message}. Pure."""
    metadata, spec, status = resource.get("metadata", {}), resource.get("spec", {}), resource.get("status", {})
    listeners = spec.get("listeners") or [{}]
    listener = next((entry for entry in listeners if entry.get("name") == gateway.get("listener")), listeners[0])
    conditions = {entry.get("type"): entry for entry in status.get("conditions") or []}
    # a condition that is not met comes first, so that the message names it
    condition = next(
        (entry for entry in map(conditions.get, ("Accepted", "Programmed")) if entry and entry.get("status") != "True"), conditions.get("Programmed", {})
    )
    current = condition.get("observedGeneration") in (None, metadata.get("generation"))
    address = next((entry["value"] for entry in status.get("addresses") or [] if entry.get("value")), None)
    reason = " ".join(str(condition[key]) for key in ("reason", "message") if condition.get(key)) or "no controller has processed it"
    return {
        "name": f"{metadata.get('namespace')}/{metadata.get('name')}",
        "address": address,
        "url": listener_url(address, listener) if address else None,
        "programmed": condition.get("status") == "True" and current,
        "message": f"{reason}; {'at ' + address if address else 'it has no address'}"
        + ("" if current else "; its controller has not observed the last change yet"),
    }


def listener_url(address: str, listener: dict[str, t.Any]) -> str:
    """The URL of a listener at an address. Pure."""
    scheme = "https" if listener.get("protocol") in ("HTTPS", "TLS") else "http"
    port = listener.get("port") or _DEFAULT_PORT[scheme]
    host = f"[{address}]" if ":" in address else address
    return f"{scheme}://{host}" + ("" if port == _DEFAULT_PORT[scheme] else f":{port}")


def wait_for_service(cluster: Reader, address: dict[str, t.Any], wait: float) -> str | None:
    """The URL of a Service once it has an address; None when it has none after `wait` seconds. Raises ClusterError for errors that waiting does not fix."""
    start = cluster.clock.now()
    path = f"/api/v1/namespaces/{address['namespace']}/services/{address['name']}"
    while True:
        try:
            url = service_url(cluster.get(path), address["port"])
        except Exception as error:  # pylint: disable=broad-except  # not created yet; the caller reports that it has no address
            if reason := _permanent(cluster, address["namespace"], error):
                raise ClusterError(reason) from error
            url = None
        if url or cluster.clock.now() - start > wait:
            return url
        cluster.clock.sleep(1.0)


def service_url(service: dict[str, t.Any], port: int) -> str | None:
    """The URL of a Service: its load balancer address, else its cluster IP; None where it has neither. Pure."""
    ingress = (service.get("status", {}).get("loadBalancer") or {}).get("ingress") or [{}]
    address = ingress[0].get("ip") or ingress[0].get("hostname")
    if not address and service.get("spec", {}).get("type") != "LoadBalancer":
        address = service.get("spec", {}).get("clusterIP")
    return listener_url(address, {"port": port}) if address and address != "None" else None


_DEFAULT_PORT = {"http": 80, "https": 443}
