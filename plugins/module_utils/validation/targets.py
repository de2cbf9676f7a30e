# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a plan that are validated: objects, services, servers, permissions, queries. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..common.flags import flags_of
from ..common.objects import Facts
from ..epp.expected_behavior import expected_behavior
from ..plan.servers.server import server_targets
from ..releases.deployed import ENGINE_DEFAULTS
from . import claims

try:
    import yaml
except ImportError:
    # the kubernetes library requires it too, so that connect() fails before it is used
    yaml = None  # type: ignore[assignment]

# Series of the endpoint picker that are read.
_SERIES = ("requests", "scheduler_attempts", "ready_endpoints", "plugin_duration", "disagg_decisions")
SIMULATOR_SEQS = 5  # requests that a simulator processes concurrently by default


def plan_error(plan: c.Mapping[str, t.Any]) -> str:
    """The reason why a dictionary is not a plan; empty when it is one."""
    missing = [name for name in ("instance", "namespace", "release", "prerequisites", "gateway", "services") if name not in plan]
    return f"plan lacks {', '.join(missing)}: give lookup('llm_d.inference.plan')" if missing else ""


def of(plan: Facts) -> dict[str, t.Any]:
    """Options of modules: {objects: of resource_ready; services, gateway: of vllm_perf and picker_conformance; servers: of vllm_health_info}."""
    groups = [{key: group[key] for key in ("name", "model", "signals", "replicas")} for group in servers(plan)]
    return {"objects": required_objects(plan), "services": services(plan), "gateway": gateway(plan), "servers": groups}


def parsed(config: str) -> Facts:
    """The configuration of an endpoint picker."""
    configuration: Facts = yaml.load(config, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return configuration


def services_with_promises(plan: Facts) -> list[dict[str, t.Any]]:
    """The services of a plan as option `services` of stack_validation: those of services(), with what their scheduling policies promise."""
    configs = [parsed(service["scheduler"]["config"]) for service in plan["services"]]
    return [{**target, **expected_behavior(config, plan["release"]["name"])} for target, config in zip(services(plan), configs, strict=True)]


def services(plan: Facts) -> list[dict[str, t.Any]]:
    """The services of a plan, for every module that sends requests to them."""
    return [
        {
            "name": service["name"],
            "model": service["model"]["served_name"],
            "aliases": service["aliases"],
            "path": service["route"]["path"],
            "address": _address(service),
            "host_header": _host(service["route"].get("hostnames") or [], plan["gateway"]["listener"].get("hostname")),
            "headers": {**headers, **(service["route"].get("pin") or {})},
            "weights": service["weights"],
            "shared_headers": headers,
            "api_key_secret": service["api_key_secret"],
            # None where an autoscaler sets the number: then the number of servers that the endpoint picker reports counts.
            "replicas": _fixed_replicas(service["server"]),
            "max_num_seqs": _max_num_seqs(service) or (SIMULATOR_SEQS if service["engine"] == "simulator" else None),
            "endpoints": None if None in map(_fixed_replicas, service["servers"]) else sum(map(_fixed_replicas, service["servers"])),
            # Servers that send their KV events to the endpoint picker stay connected to the previous one until it has ended.
            "events_wait": claims.EVENTS_WAIT + service["scheduler"]["drain_seconds"],
            "servers": {
                "namespace": plan["namespace"],
                "groups": [{"role": server["role"], "labels": server["selector"], "port": str(server["port"])} for server in service["servers"]],
            },
            "metrics": {
                "namespace": service["scheduler"]["namespace"],
                "labels": service["scheduler"]["selector"],
                "port": str(service["scheduler"]["ports"]["metrics"]),
                "names": {key: plan["release"]["metrics"][key] for key in _SERIES},
            },
        }
        for service in plan["services"]
        for headers in [{each["name"]: each["value"] for each in service["route"].get("headers") or []}]
    ]


def gateway(plan: Facts) -> dict[str, t.Any] | None:
    """The Gateway to send requests to; None where every model has an address of its own."""
    planned = plan["gateway"]
    return {"namespace": planned["namespace"], "name": planned["name"], "listener": planned["listener"]["name"]} if planned["gateway_api"] else None


def _host(hostnames: c.Sequence[str], listener: str | None) -> str | None:
    """A host name that both the route and the listener accept; a wildcard accepts any label."""
    named = [name for name in (*hostnames, listener) if name]
    exact = [name for name in named if not name.startswith("*")]
    return exact[0] if exact else (named[0].replace("*", "validation", 1) if named else None)


def required_objects(plan: Facts) -> list[dict[str, t.Any]]:
    """References to the objects that must be ready: {api_version, kind, namespace, name}.

    Workloads with a planned number of replicas also have `least`; pools whose status must name our Gateway also have `parent`, its namespace/name.
    """
    gateway, namespace = plan["gateway"], plan["namespace"]
    references: list[dict[str, t.Any]] = []
    if gateway["gateway_api"]:
        references.append(_reference("gateway.networking.k8s.io/v1", "Gateway", gateway["namespace"], gateway["name"]))
    if gateway.get("install"):
        references += [{**_reference("apps/v1", each["kind"], each["namespace"], each["name"]), **_least(1, each["kind"])} for each in gateway["controllers"]]
    groups = plan["prerequisites"]["leader_worker_set"]
    if groups and groups["install"]:
        references.append({**_reference(*(groups["controller"][key] for key in ("api_version", "kind", "namespace", "name"))), **_least(1)})
    for service in plan["services"]:
        picker = service["scheduler"]
        references += [
            *({**_reference(each["api_version"], each["kind"], namespace, each["name"]), **_least(_fixed_replicas(each))} for each in service["servers"]),
            {**_reference("apps/v1", "Deployment", picker["namespace"], picker["name"]), **_least(picker["replicas"])},
        ]
        watched = [*service["monitors"], *([service["alerts"]] if service["alerts"] else []), *service["dashboards"]]
        references += [_reference(item["api_version"], item["kind"], item.get("namespace", namespace), item["name"]) for item in watched]
        if service["pool"]["exists"]:
            parent = {"parent": f"{gateway['namespace']}/{gateway['name']}"} if gateway["pool_status"] and service["route"]["exists"] else {}
            references.append({**_reference(service["pool"]["api_version"], "InferencePool", namespace, service["pool"]["name"]), **parent})
        references += [_reference("gateway.networking.k8s.io/v1", "HTTPRoute", each["namespace"], each["name"]) for each in service["routes"]]
    return references


def object_claims(plan: Facts) -> dict[tuple[str, str, str], str]:
    """Claim ids by (kind, namespace, name) of the objects with a claim of their own."""
    names = {}
    for service in plan["services"]:
        name = service["name"]
        names[("Deployment", service["scheduler"]["namespace"], service["scheduler"]["name"])] = f"{name}/picker"
        if service["pool"]["exists"]:
            names[("InferencePool", plan["namespace"], service["pool"]["name"])] = f"{name}/pool"
        for each in service["routes"][:1]:
            names[("HTTPRoute", each["namespace"], each["name"])] = f"{name}/route"
    return names


def _address(service: Facts) -> dict[str, t.Any] | None:
    """The Service in front of a model without a gateway; None where there is a gateway."""
    proxy = service["scheduler"]["proxy"]
    return {"namespace": service["scheduler"]["namespace"], "name": proxy["name"], "port": proxy["port"]} if proxy else None


def _reference(api_version: str, kind: str, namespace: str, name: str) -> dict[str, t.Any]:
    return {"api_version": api_version, "kind": kind, "namespace": namespace, "name": name}


def _least(replicas: int | None, kind: str = "Deployment") -> dict[str, int]:
    """{least: the number of replicas that a workload must request}; empty where an autoscaler sets it, and for a DaemonSet."""
    return {"least": replicas} if replicas and kind != "DaemonSet" else {}


def servers(plan: Facts) -> list[dict[str, t.Any]]:
    """Each group of equal servers: {name: claim id, model, replicas, signals, block_size: planned tokens in a KV-cache block or None, adapters}.

    `replicas` and `signals` are options of vllm_health_info.
    """
    return [
        {
            "name": f"{service['name']}/servers" if server["role"] == "decode" else f"{service['name']}/{server['role']}-servers",
            "model": service["model"]["served_name"],
            "replicas": server_targets(server, plan["namespace"]),
            "signals": service["scheduler"]["signals"],
            "block_size": _number(server["args"], "block-size"),
            "adapters": service["model"]["adapters"],
        }
        for service in plan["services"]
        for server in service["servers"]
        if server["replicas"]
    ]


def _fixed_replicas(server: Facts) -> int | None:
    """The planned number of servers; None where an autoscaler sets it."""
    return None if server["autoscaling"] else server["replicas"]


def _max_num_seqs(service: Facts) -> int | None:
    """The number of requests that a server processes concurrently; None where its arguments do not set it."""
    names = ENGINE_DEFAULTS[service["engine"]]["flags"].get("max_num_seqs", ())
    return next((value for name in names if (value := _number(service["server"]["args"], name))), None)


def _number(arguments: c.Sequence[str], flag: str) -> int | None:
    """The number that a flag has in the arguments; None without the flag or without a number."""
    value = flags_of(arguments).get(flag) or ""
    return int(value) if value.isdigit() else None


def security_services(plan: Facts) -> list[dict[str, t.Any]]:
    """The services of a plan as security_claims.SecurityCheck takes them."""
    return [
        {
            "name": service["name"],
            "account": service["scheduler"]["service_account"],
            "rules": service["scheduler"]["rules"],
            "selectors": [
                *(part["selector"] for server in service["servers"] for part in (server, server["worker"]) if part),
                service["scheduler"]["selector"],
            ],
        }
        for service in plan["services"]
    ]


def monitoring(plan: Facts) -> dict[str, t.Any] | None:
    """The Prometheus to query, and the queries of each service; None where no Prometheus is named, or no service has alerts or dashboards."""
    services = [{"name": service["name"], "queried": service["queried"]} for service in plan["services"] if any(service["queried"].values())]
    return {**plan["prometheus"], "services_namespace": plan["namespace"], "services": services} if plan["prometheus"] and services else None


def platform_needs(plan: Facts) -> dict[str, t.Any]:
    """The requirements of a plan on the cluster, in the form of the preflight, for a plan that is deployed: nothing is to be installed any more."""
    needs = plan["preflight"]
    return {**needs, "installs": dict.fromkeys(needs["installs"], False), "gateway": {**needs["gateway"], "create_class": False}}


def autoscaled_services(plan: Facts) -> list[dict[str, t.Any]]:
    """The services of a plan as autoscaler_claims.judge takes them, with `arrival`: seconds until their metrics must have arrived, 0 without an autoscaler."""
    scaled = [(service, [server for server in service["servers"] if (server["autoscaling"] or {}).get("autoscaler")]) for service in plan["services"]]
    return [
        {
            "name": service["name"],
            "deployments": [server["name"] for server in service["servers"]],
            "autoscaled": [server["name"] for server in servers],
            "arrival": max([server["autoscaling"]["arrival"] for server in servers], default=0),
        }
        for service, servers in scaled
    ]
