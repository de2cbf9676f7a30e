# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims about objects, configurations of endpoint pickers, model servers, scraping and performance, from the results of modules. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..benchmark.comparison import per_second
from ..common.objects import Facts, dicts, get_path, mapping
from ..common.text import pluralize
from .claims import Claim, Judged, claim, not_run

Names = c.Mapping[tuple[str, str, str], str]


def judge_resources(result: t.Any, names: Names) -> Judged:
    """Claims from a result of resource_ready: {resources, failures: [{kind, namespace, name, reason, remedy, details}], waited, msg}.

    `names`: claim ids by (kind, namespace, name) of the objects with a claim of their own; all others share one claim.
    """
    if not isinstance(result, c.Mapping) or not ("failures" in result or "resources" in result):
        return [not_run("objects/ready", result)], []
    seconds, failed = result.get("waited", 0.0), {_key(entry): entry for entry in result.get("failures") or ()}
    present = {_key({**obj, **obj.get("metadata", {})}): obj for obj in result.get("resources") or ()}
    own = [
        claim(name, False, _resource(failed[key]), failed[key].get("remedy") or "check its events", seconds)
        if key in failed
        else claim(name, True, f"{key[0]} {key[1]}/{key[2]}: {present.get(key, {}).get('reason', 'ready')}", "", seconds)
        for key, name in names.items()
        if key in failed or key in present or failed
    ]
    others = [
        claim(f"objects/{entry['kind']}/{entry['name']}".lower(), False, _resource(entry), entry.get("remedy") or "check its events", seconds)
        for key, entry in failed.items()
        if key not in names
    ]
    if failed:
        return others + own, []
    kinds = [key[0] for key in present if key not in names]
    shown = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
    return [claim("objects/ready", bool(present), f"ready: {shown or 'nothing'}", "deploy something first", seconds), *own], []


def _key(entry: Facts) -> tuple[str, str, str]:
    return str(entry.get("kind")), str(entry.get("namespace") or ""), str(entry.get("name"))


def _resource(entry: Facts) -> str:
    where = "/".join(filter(None, (entry.get("namespace"), entry["name"])))
    return "; ".join([f"{entry['kind']} {where}: {entry.get('reason') or 'not ready'}", *(entry.get("details") or [])[:2]])


def judge_schedulers(result: t.Any, services: c.Sequence[Facts]) -> Judged:
    """Claims from the result of stack.schedulers; `services`: those of the plan."""
    if not isinstance(result, c.Mapping) or not ("schedulers" in result or "failures" in result):
        return [not_run("schedulers/configured", result)], []
    errors = {entry["name"]: entry["error"] for entry in result.get("failures") or ()}
    pods = {entry["name"]: entry["pods"] for entry in result.get("schedulers") or ()}
    claims, skipped, seconds = [], [], result.get("seconds", 0.0)
    for service in services:
        name = service["scheduler"]["name"]
        if name not in errors and not pods.get(name):
            skipped.append({"id": f"{service['name']}/configured", "why": f"the check ended at {', '.join(errors) or 'another'}"})
            continue
        by = ", ".join(f"{pod['pod']} by its {pod['by']}" for pod in pods.get(name) or ())
        evidence = errors.get(name) or f"runs the planned configuration: {by}"
        claims.append(
            claim(
                f"{service['name']}/configured",
                name not in errors,
                evidence,
                "run playbooks/site.yml, which applies the configuration of your file; if it persists, read the endpoint picker's log",
                seconds,
            )
        )
    return claims, skipped


def judge_servers(result: t.Any, groups: c.Sequence[Facts]) -> Judged:
    """Claims from a result of vllm_health_info about `groups` of {name, replicas, block_size, adapters}."""
    if not isinstance(result, c.Mapping) or len(result.get("groups") or ()) != len(groups):
        return ([], []) if not groups else ([not_run("servers/healthy", result)], [])
    claims, skipped = [], []
    for group, health in zip(groups, result["groups"], strict=True):
        claims.append(_servers(group, health))
        blocks = _blocks(group, health)
        if isinstance(blocks, str):
            skipped.append({"id": _related_id(group, "blocks"), "why": blocks})
        elif blocks:
            claims.append(blocks)
        if group["adapters"] and health.get("servers"):
            claims.append(_adapters(group, health))
    return claims, skipped


def _related_id(group: Facts, what: str) -> str:
    """The id of another claim about the same servers: `sim/blocks` for `sim/servers`, `sim/prefill-blocks` for `sim/prefill-servers`."""
    return f"{group['name'].removesuffix('servers')}{what}"


def _blocks(group: Facts, health: Facts) -> Claim | str | None:
    """The claim that KV-cache blocks of the servers have the planned size; the reason or None where it does not apply."""
    sizes = {server["server"]: get_path(server, "metrics", "block_size", "value") for server in health.get("servers") or ()}
    known = {name: int(value) for name, value in sizes.items() if value is not None}
    if group["block_size"] is None or not sizes:
        return None
    if not known:
        return "the servers do not export their block size"
    problems = [f"{name} has blocks of {value} tokens" for name, value in known.items() if value != group["block_size"]]
    return claim(
        _related_id(group, "blocks"),
        not problems,
        "; ".join(problems) or f"{len(known)} servers have the planned blocks of {group['block_size']} tokens",
        f"prefixes are counted in blocks of {group['block_size']} tokens: wait for the servers' rollout to end, and find out who changed --block-size",
        health.get("waited", 0.0),
    )


def _adapters(group: Facts, health: Facts) -> Claim:
    """The claim that every server lists every adapter."""
    lists = {server["server"]: {model["id"] for model in server.get("models") or ()} for server in health["servers"]}
    missing = [f"{server} lacks {', '.join(lacks)}" for server, names in lists.items() if (lacks := [name for name in group["adapters"] if name not in names])]
    return claim(
        _related_id(group, "adapters"),
        not missing,
        "; ".join(missing) or f"{pluralize(len(lists), 'server')} have {pluralize(len(group['adapters']), 'adapter')}",
        "run playbooks/site.yml, which loads what is missing with model.adapters_at_runtime; if it stays missing, read the log of the server",
        health.get("waited", 0.0),
    )


def judge_scraping(routing: t.Any, servers: t.Any, plan: Facts, objects: t.Any) -> Judged:
    """Claims that every endpoint picker and server serves metrics, and that the planned PodMonitors select each of them exactly once.

    `routing`, `servers`, `objects`: the results of stack.Checks. While objects are not ready, which is a
    claim of its own, PodMonitors are not judged.
    """
    ready = objects.get("resources") if isinstance(objects, c.Mapping) and not objects.get("failures") else None
    known = {_key({**obj, **obj.get("metadata", {})}): obj for obj in ready or ()}
    observations = {entry["name"]: entry for entry in (routing.get("observations") if isinstance(routing, c.Mapping) else None) or ()}
    groups = {entry["name"]: entry for entry in (servers.get("groups") if isinstance(servers, c.Mapping) else None) or ()}
    claims = []
    for service in plan["services"]:
        picker, start = observations.get(service["name"]), f"{service['name']}/"
        own_servers = [server for name, group in groups.items() if name.startswith(start) for server in group.get("servers") or ()]
        if not picker or "pickers" not in picker or not own_servers:
            continue  # another claim has the reason
        problems = [
            f"{server['server']}: {check['evidence']}" for server in own_servers for check in server["checks"] if check["name"] == "metrics" and not check["ok"]
        ]
        wanted, count = service["scheduler"]["replicas"], picker["pickers"]
        problems += [f"{count} of {wanted} endpoint pickers answer"] if count < wanted else []
        monitored = bool(known and service["monitors"])
        unselected = _unselected(service, plan["namespace"], known) if monitored else []
        selection = f"; {pluralize(len(service['monitors']), 'PodMonitor')} select each of them for Prometheus once" if monitored else ""
        remedy = (
            "run playbooks/site.yml, and find out who else changes these PodMonitors"
            if unselected and not problems
            else "check the pods' metrics port, NetworkPolicies, and for a picker --metrics-endpoint-auth"
        )
        claims.append(
            claim(
                f"{start}scraped",
                not problems and not unselected,
                "; ".join([*problems, *unselected])
                or f"{pluralize(count, 'endpoint picker')} and {pluralize(len(own_servers), 'server')} answer at /metrics{selection}",
                remedy,
                picker["seconds"]["counted"] + max(group.get("waited", 0.0) for name, group in groups.items() if name.startswith(start)),
            )
        )
    return claims, []


def _unselected(service: Facts, namespace: str, known: c.Mapping[tuple[str, str, str], Facts]) -> list[str]:
    """One line for each group of pods that PodMonitors do not select as planned: once, and workers never, since they serve no metrics."""
    monitors = {monitor["name"]: known.get((monitor["kind"], monitor["namespace"], monitor["name"])) for monitor in service["monitors"]}
    lines = []
    picker = service["scheduler"]
    for kind, place, name in [*((each["kind"], namespace, each["name"]) for each in service["servers"]), ("Deployment", picker["namespace"], picker["name"])]:
        workload = known.get((kind, place, name))
        group = get_path(workload, "spec", "leaderWorkerTemplate")
        pods = [(name, get_path(group, "leaderTemplate") if group else get_path(workload, "spec", "template"), [name])]
        pods += [(f"{name} (workers)", get_path(group, "workerTemplate"), [])] if group else []
        for what, pod, wanted in pods:
            by = [each for each, monitor in monitors.items() for _port in _scraped_ports(monitor, pod)]
            if by != wanted:
                lines.append(f"the pods of {what} are scraped by {' and '.join(by) or 'no PodMonitor'}, not by {' and '.join(wanted) or 'none'}")
    return lines


def _scraped_ports(monitor: t.Any, pod: t.Any) -> list[str]:
    """The ports on which a PodMonitor scrapes the pods of a template at /metrics."""
    selector, labels = get_path(monitor, "spec", "selector"), mapping(get_path(pod, "metadata", "labels"))
    if mapping(selector).get("matchExpressions") or get_path(monitor, "spec", "namespaceSelector"):
        return []  # the planned PodMonitors have neither
    if any(labels.get(key) != value for key, value in mapping(get_path(selector, "matchLabels")).items()):
        return []
    containers = [*dicts(get_path(pod, "spec", "containers")), *dicts(get_path(pod, "spec", "initContainers"))]
    ports = [port.get("name") for container in containers for port in dicts(container.get("ports"))]
    endpoints = [entry for entry in dicts(get_path(monitor, "spec", "podMetricsEndpoints")) if entry.get("path") in (None, "/metrics")]
    return [entry["port"] for entry in endpoints if entry.get("port") in ports]


def _servers(group: Facts, result: Facts) -> Claim:
    if "servers" not in result:
        return not_run(group["name"], result)
    servers, seconds = result["servers"], result.get("waited", 0.0)
    if result["healthy"] and len(servers) >= group["replicas"]["count"]:
        shown = f"{len(servers)} servers, each answers and exports the picker's metrics: {result['engine']} {result['version'] or ''}".rstrip()
        return claim(group["name"], True, shown, "", seconds)
    if len(servers) < group["replicas"]["count"]:
        return claim(group["name"], False, f"{len(servers)} of {group['replicas']['count']} servers exist", "check the Deployment of the servers", seconds)
    findings = result.get("findings") or ()
    unhealthy = next((server for server in servers if not server["healthy"]), None)
    failed = next((check for check in unhealthy["checks"] if not check["ok"]), None) if unhealthy else None
    evidence = (
        f"{unhealthy['server']}: {failed['evidence']}" if unhealthy and failed else "; ".join(f"{entry['what']} ({entry['evidence']})" for entry in findings)
    )
    remedy = next((entry["remedy"] for entry in findings), "") or (failed["remedy"] if failed else "check the pods of the servers")
    return claim(group["name"], False, evidence or "the servers are not healthy", remedy, seconds)


def judge_performance(result: Facts) -> Claim:
    """The claim from a result of vllm_perf for one of benchmark_runs, which is its `item`."""
    name, seconds = f"{result['item']['name']}/performance", result.get("seconds", 0.0)
    if "stages" not in result:
        return not_run(name, result)
    shown = "; ".join(_stage(stage) for stage in result["stages"])
    if result["verdict"] == "invalid":
        return claim(
            name,
            False,
            f"{'; '.join(result['why'])}; {shown}",
            "this host was too busy to measure: validate from another host, or fewer services at once",
            seconds,
        )
    ok = result["verdict"] == "passed"
    remedy = (
        "measure for longer"
        if result["verdict"] == "inconclusive"
        else "find out with playbooks/benchmark.yml where the time is spent: in the servers with few requests in flight, in the queue with many; then add "
        "replicas or change the preset"
    )
    return claim(name, ok, shown if ok else f"{'; '.join(result['why'])}; {shown}", remedy, seconds)


def _stage(stage: Facts) -> str:
    p90 = stage["ttft_from_schedule_ms"]["p90"]
    first = "" if p90 is None else f", 90 % of first tokens within {p90:.0f} ms"
    return f"{stage['label']}: {stage['ok']} of {stage['requests']} requests{first}, {per_second(stage['output_tokens_per_s'])} output tokens/s"
