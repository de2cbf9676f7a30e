# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks that a plan asks for, and the verdict of their claims, with its table and curl lines. Pure."""

from __future__ import annotations

import collections.abc as c
import json
import shlex
import typing as t
import urllib.parse

from ..common.flags import flags_of
from ..common.objects import Facts
from ..plan.server import server_targets
from ..releases.deployed import ENGINE_DEFAULTS
from ..report import text
from . import claims, stack_claims
from .warmup_claims import judge

# Series of the endpoint picker that module routing_proof reads.
_SERIES = ("requests", "scheduler_attempts", "ready_endpoints", "plugin_duration", "disagg_decisions")

WIDEST = 28  # columns of the names of claims that leave room for evidence beside them
BELOW = 6  # columns before evidence that stands below a claim
SIMULATOR_SEQS = 5  # requests that a simulator processes concurrently by default
# The group of a claim, by the end of its id.
GROUPS = {
    "gateway": ("programmed", "route", "weights", "serving"),
    "scheduler": ("picker", "pool", "configured", "endpoints", "plugins", "scheduled", "counted", "obeyed"),
    "servers": ("servers", "adapters"),
    "routing policy": ("sticky", "spread", "roam", "follow", "avoid"),
    "prefill and decode": ("split",),
    "scaling": ("scaling",),
    "aliases": ("aliases",),
    "caches": ("cached", "blocks", "warm"),
    "scraping": ("scraped",),
    "monitoring": ("alerts", "dashboards"),
    "security": ("rights", "unprivileged"),
    "performance": ("performance",),
}


def group_of(name: str) -> str:
    """The group of a claim: `platform` and `objects` by the start of its id, all others by its end."""
    start, _slash, what = name.partition("/")
    last = what.rpartition("-")[2]
    return start if start in ("platform", "objects") else next((group for group, ends in GROUPS.items() if last in ends), start)


def targets(plan: Facts) -> list[dict[str, t.Any]]:
    """The services of a plan as option `services` of routing_proof."""
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
            "api_key_secret": service["server"]["api_key_secret"],
            # Where an autoscaler sets it, routing_proof uses the number that the endpoint picker knows.
            "replicas": _fixed(service["server"]),
            "max_num_seqs": _places(service) or (SIMULATOR_SEQS if service["engine"] == "simulator" else None),
            "endpoints": None if None in map(_fixed, service["servers"]) else sum(map(_fixed, service["servers"])),
            # Servers that connect to the endpoint picker stay with the previous one until it has ended.
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
    found = plan["gateway"]
    return {"namespace": found["namespace"], "name": found["name"], "listener": found["listener"]["name"]} if found["gateway_api"] else None


def _host(hostnames: c.Sequence[str], listener: str | None) -> str | None:
    """A host name that both the route and the listener accept; a wildcard accepts any label."""
    named = [name for name in (*hostnames, listener) if name]
    exact = [name for name in named if not name.startswith("*")]
    return exact[0] if exact else (named[0].replace("*", "validation", 1) if named else None)


def required_objects(plan: Facts) -> list[dict[str, t.Any]]:
    """References to the objects that must be ready: {api_version, kind, namespace, name, and least for workloads of a planned number of replicas}."""
    gateway, namespace = plan["gateway"], plan["namespace"]
    found: list[dict[str, t.Any]] = []
    if gateway["gateway_api"]:
        found.append(_reference("gateway.networking.k8s.io/v1", "Gateway", gateway["namespace"], gateway["name"]))
    if gateway.get("install"):
        found += [{**_reference("apps/v1", each["kind"], each["namespace"], each["name"]), **_least(1, each["kind"])} for each in gateway["controllers"]]
    groups = plan["prerequisites"]["leader_worker_set"]
    if groups and groups["install"]:
        found.append({**_reference(*(groups["controller"][key] for key in ("api_version", "kind", "namespace", "name"))), **_least(1)})
    for service in plan["services"]:
        picker = service["scheduler"]
        found += [
            *({**_reference(each["api_version"], each["kind"], namespace, each["name"]), **_least(_fixed(each))} for each in service["servers"]),
            {**_reference("apps/v1", "Deployment", picker["namespace"], picker["name"]), **_least(picker["replicas"])},
        ]
        watched = [*service["monitors"], *([service["alerts"]] if service["alerts"] else []), *service["dashboards"]]
        found += [_reference(item["api_version"], item["kind"], item.get("namespace", namespace), item["name"]) for item in watched]
        if service["pool"]["exists"]:
            parent = {"parent": f"{gateway['namespace']}/{gateway['name']}"} if gateway["pool_status"] and service["route"]["exists"] else {}
            found.append({**_reference(service["pool"]["api_version"], "InferencePool", namespace, service["pool"]["name"]), **parent})
        found += [_reference("gateway.networking.k8s.io/v1", "HTTPRoute", each["namespace"], each["name"]) for each in service["routes"]]
    return found


def object_claims(plan: Facts) -> dict[tuple[str, str, str], str]:
    """Claim ids by (kind, namespace, name) of the objects with a claim of their own."""
    found = {}
    for service in plan["services"]:
        name = service["name"]
        found[("Deployment", service["scheduler"]["namespace"], service["scheduler"]["name"])] = f"{name}/picker"
        if service["pool"]["exists"]:
            found[("InferencePool", plan["namespace"], service["pool"]["name"])] = f"{name}/pool"
        for each in service["routes"][:1]:
            found[("HTTPRoute", each["namespace"], each["name"])] = f"{name}/route"
    return found


def _address(service: Facts) -> dict[str, t.Any] | None:
    """The Service in front of a model without a gateway; None where there is a gateway."""
    proxy = service["scheduler"]["proxy"]
    return {"namespace": service["scheduler"]["namespace"], "name": proxy["name"], "port": proxy["port"]} if proxy else None


def _reference(api_version: str, kind: str, namespace: str, name: str) -> dict[str, t.Any]:
    return {"api_version": api_version, "kind": kind, "namespace": namespace, "name": name}


def _least(replicas: int | None, kind: str = "Deployment") -> dict[str, int]:
    """How many replicas a workload has to ask for; nothing where an autoscaler, or its kind, decides."""
    return {"least": replicas} if replicas and kind != "DaemonSet" else {}


def assemble(plan: Facts, results: Facts, collection: str) -> dict[str, t.Any]:
    """The verdict on a plan. `results`: registered results of the checks, by {access, platform, objects, warmup, routing, schedulers, servers, monitoring,
    security, performance, time}.

    A check that failed as a whole is a failed claim; where that of the access failed, it is the only one.
    """
    access = results.get("access")
    if access and access.get("failed"):
        return verdict([claims.not_run("platform/seen", access)], [], [], versions(plan, None, collection), results.get("time", ""), plan.get("deployment"))
    routing, seen = results.get("routing"), results.get("servers")
    judged = [
        _module_claims("platform/seen", results.get("platform")),
        stack_claims.judge_resources(results.get("objects"), object_claims(plan)),
        judge(results.get("warmup"), plan["warmups"]),
        _module_claims("routing/proven", routing),
        stack_claims.judge_schedulers(results.get("schedulers"), plan["services"]),
        stack_claims.judge_servers(seen, servers(plan)),
        stack_claims.judge_scraping(routing, seen, plan, results.get("objects")),
        _module_claims("monitoring/proven", results.get("monitoring")) if monitoring(plan) else ([], []),
        _module_claims("security/proven", results.get("security")),
        stack_claims.judge_performance(results.get("performance")),
    ]
    found, skipped = [entry for part in judged for entry in part[0]], [entry for part in judged for entry in part[1]]
    facts = routing if isinstance(routing, c.Mapping) and "claims" in routing else {}
    of = {**(plan.get("deployment") or {}), **({"cluster": access["server"]} if access and access.get("server") else {})}
    return verdict(
        found, skipped, facts.get("endpoints", []), versions(plan, facts.get("kubernetes"), collection), facts.get("time") or results.get("time", ""), of
    )


def _module_claims(name: str, result: t.Any) -> claims.Judged:
    """The claims that a module returned; a failed claim where it returned none."""
    ran = isinstance(result, c.Mapping) and "claims" in result
    return (result["claims"], result["not_checked"]) if ran else ([claims.not_run(name, result)], [])


def servers(plan: Facts) -> list[dict[str, t.Any]]:
    """Each group of equal servers: claim id, model, `replicas` and `signals` as options of vllm_health_info, and the planned size of KV-cache blocks."""
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


def _fixed(server: Facts) -> int | None:
    """The planned number of servers; None where an autoscaler sets it."""
    return None if server["autoscaling"] else server["replicas"]


def _places(service: Facts) -> int | None:
    """Requests that a server processes at once, where its arguments say it."""
    names = ENGINE_DEFAULTS[service["engine"]]["flags"].get("max_num_seqs", ())
    return next((found for name in names if (found := _number(service["server"]["args"], name))), None)


def _number(arguments: c.Sequence[str], flag: str) -> int | None:
    given = flags_of(arguments).get(flag) or ""
    return int(given) if given.isdigit() else None


def security_services(plan: Facts) -> list[dict[str, t.Any]]:
    """The services of a plan as option `services` of security_proof."""
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
    """The options of monitoring_proof; None where no Prometheus is named, or no service has alerts or dashboards."""
    services = [{"name": service["name"], "queried": service["queried"]} for service in plan["services"] if any(service["queried"].values())]
    return {**plan["prometheus"], "services_namespace": plan["namespace"], "services": services} if plan["prometheus"] and services else None


def platform_needs(plan: Facts) -> dict[str, t.Any]:
    """The needs of a plan after its deployment, with nothing left to install."""
    needs = plan["preflight"]
    return {**needs, "installs": dict.fromkeys(needs["installs"], False), "gateway": {**needs["gateway"], "create_class": False}}


def autoscaled_services(plan: Facts) -> list[dict[str, t.Any]]:
    """The services of a plan as option `services` of platform_proof."""
    return [
        {
            "name": service["name"],
            "deployments": [server["name"] for server in service["servers"]],
            "autoscaled": [server["name"] for server in service["servers"] if server["autoscaling"] and server["autoscaling"]["autoscaler"]],
        }
        for service in plan["services"]
    ]


def versions(plan: Facts, kubernetes: str | None, collection: str) -> dict[str, t.Any]:
    """The planned versions and images."""
    gateway = plan["gateway"]
    return {
        "collection": collection,
        "release": plan["release"]["name"],
        "kubernetes": kubernetes,
        "gateway": {"provider": gateway["provider"], "version": gateway["chart"]["version"], "proxy_image": gateway["proxy_image"]},
        "crds": {entry["name"]: entry["version"] for entry in plan["prerequisites"]["crds"]},
        "services": {service["name"]: {"scheduler": service["scheduler"]["image"], "server": service["server"]["image"]} for service in plan["services"]},
        "other_pairs": {service["name"]: service["scheduler"]["other_pair"] for service in plan["services"] if service["scheduler"]["other_pair"]},
    }


def verdict(
    claims: c.Sequence[claims.Claim],
    skipped: c.Sequence[c.Mapping[str, str]],
    endpoints: c.Sequence[c.Mapping[str, t.Any]],
    versions: c.Mapping[str, t.Any],
    time: str,
    deployment: c.Mapping[str, str] | None = None,
) -> dict[str, t.Any]:
    """The content of verdict.json. Without claims the verdict is not ok. deployment: {instance, namespace, cluster, release}."""
    return {
        "ok": bool(claims) and all(entry["ok"] for entry in claims),
        "time": time,
        **(deployment or {}),
        "endpoint": endpoints[0]["url"] if endpoints else None,
        "endpoints": [dict(entry) for entry in endpoints],
        "claims": [{"id": entry["id"], "group": group_of(entry["id"]), **entry} for entry in claims],
        "not_checked": [dict(entry) for entry in skipped],
        "versions": dict(versions),
    }


def table(found: c.Mapping[str, t.Any]) -> list[str]:
    """The verdict as lines of text; at the end the curl line of each endpoint, and what deployment it is of. Evidence stands below a claim with a long name."""
    width = max([len(entry["id"]) for entry in [*found["claims"], *found["not_checked"]]] or [0])
    beside = width <= WIDEST
    lines = []
    for entry in [*found["claims"], *found["not_checked"]]:
        mark, seconds = ("-", "") if "why" in entry else ("ok" if entry["ok"] else "FAIL", f"{entry['seconds']:6.2f} s")
        head = f"{mark:4}  {entry['id']:{width if beside else 0}}  {seconds:8}  "
        evidence = f"not checked: {entry['why']}" if "why" in entry else entry["evidence"]
        indent = " " * (len(head) if beside else BELOW)
        lines += text.wrapped(head + evidence, text.TABLE, indent) if beside else [head.rstrip(), *text.wrapped(indent + evidence, text.TABLE, indent)]
    held = sum(entry["ok"] for entry in found["claims"])
    lines.append(f"{'OK' if found['ok'] else 'NOT OK'}: {held} of {len(found['claims'])} claims hold")
    lines += [f"note: {name}: {pair}" for name, pair in found["versions"].get("other_pairs", {}).items()]
    lines += [line for entry in found["endpoints"] for line in text.command(curl(entry))]
    return lines + (text.wrapped(f"deployment: {text.subject(found)}", text.TABLE, "  ") if text.subject(found) else [])


def curl(endpoint: c.Mapping[str, t.Any]) -> str:
    """A curl command for one completion through the gateway, after the port-forward that it needs where this host has no route there."""
    body = json.dumps({"model": endpoint["model"], "prompt": "Say hello.", "max_tokens": 16})
    host = f"-H {shlex.quote('Host: ' + endpoint['host_header'])} " if endpoint.get("host_header") else ""
    host += "".join(f"-H {shlex.quote(f'{name}: {value}')} " for name, value in (endpoint.get("headers") or {}).items())
    if secret := endpoint.get("api_key_secret"):
        field = secret["key"].replace(".", "\\.")
        host += f"""-H "Authorization: Bearer $(kubectl -n {secret["namespace"]} get secret {secret["name"]} -o jsonpath='{{.data.{field}}}' | base64 -d)" """
    url, forward = endpoint["url"], ""
    if endpoint.get("through"):
        namespace, _slash, name = endpoint["through"].removeprefix("Service ").partition("/")
        parts = urllib.parse.urlsplit(url)
        forward = f"kubectl -n {namespace} port-forward service/{name} 8080:{parts.port or (443 if parts.scheme == 'https' else 80)} & "
        url = f"{parts.scheme}://127.0.0.1:8080{parts.path}"
    return f"{forward}curl -si {shlex.quote(url + '/v1/completions')} {host}-H 'Content-Type: application/json' -d {shlex.quote(body)}"
