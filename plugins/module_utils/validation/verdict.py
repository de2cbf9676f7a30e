# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict of the claims about a stack, with its table and curl lines. Pure."""

from __future__ import annotations

import collections.abc as c
import json
import shlex
import typing as t
import urllib.parse

from ..common.objects import Facts
from ..report import text
from . import claims, stack_claims, targets
from .warmup_claims import judge

# The checks of a validation, in the order of their claims in a verdict.
CHECKS = ("platform", "objects", "warmup", "routing", "schedulers", "servers", "monitoring", "security")
# Groups of claims in reports: {group: the last words of claim ids, after the last `/` or `-`}.
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
    "security": ("permissions", "unprivileged"),
    "performance": ("performance",),
}


def group_of(name: str) -> str:
    """The group of a claim: `platform` and `objects` by the start of its id, all others by its end."""
    start, _slash, what = name.partition("/")
    last = what.rpartition("-")[2]
    return start if start in ("platform", "objects") else next((group for group, ends in GROUPS.items() if last in ends), start)


def assemble(plan: Facts, results: Facts, collection: str, checks: c.Collection[str] = CHECKS) -> dict[str, t.Any]:
    """The verdict on a plan. `results`: {each of `checks`: its result from stack.Checks, access: {server} or {failed, msg}, time}.

    A check that failed as a whole is a failed claim; where access failed, that is the only claim. `collection`: its version.
    """
    access = results.get("access")
    if access and access.get("failed"):
        return verdict(
            [claims.not_run("platform/reachable", access)], [], [], versions(plan, None, collection), results.get("time", ""), plan.get("deployment")
        )
    result: t.Callable[[str], t.Any] = results.get
    routing, servers = result("routing"), result("servers")
    judges: dict[str, t.Callable[[], claims.Judged]] = {
        "platform": lambda: _own_claims("platform/reachable", result("platform")),
        "objects": lambda: stack_claims.judge_resources(result("objects"), targets.object_claims(plan)),
        "warmup": lambda: judge(result("warmup"), plan["warmups"]),
        "routing": lambda: _own_claims("routing/proven", routing),
        "schedulers": lambda: stack_claims.judge_schedulers(result("schedulers"), plan["services"]),
        "servers": lambda: _joined(
            stack_claims.judge_servers(servers, targets.servers(plan)), stack_claims.judge_scraping(routing, servers, plan, result("objects"))
        ),
        "monitoring": lambda: _own_claims("monitoring/proven", result("monitoring")) if targets.monitoring(plan) else ([], []),
        "security": lambda: _own_claims("security/proven", result("security")),
    }
    judged, skipped = _joined(*(judges[name]() for name in CHECKS if name in checks))
    facts = routing if isinstance(routing, c.Mapping) and "claims" in routing else {}
    deployment = {**(plan.get("deployment") or {}), **({"cluster": access["server"]} if access and access.get("server") else {})}
    return verdict(
        judged,
        skipped,
        facts.get("endpoints", []),
        versions(plan, facts.get("kubernetes"), collection),
        facts.get("time") or results.get("time", ""),
        deployment,
    )


def _own_claims(name: str, result: t.Any) -> claims.Judged:
    """The claims that are in the result of a check; the failed claim `name` where the check did not run."""
    ran = isinstance(result, c.Mapping) and "claims" in result
    return (result["claims"], result["not_checked"]) if ran else ([claims.not_run(name, result)], [])


def _joined(*parts: claims.Judged) -> claims.Judged:
    return [entry for part in parts for entry in part[0]], [entry for part in parts for entry in part[1]]


def with_performance(content: Facts, results: c.Sequence[Facts]) -> dict[str, t.Any]:
    """The content of verdict.json with the claims of a benchmark. `results`: of vllm_perf, one for each element of benchmark_runs."""
    added = [_grouped(entry) for entry in map(stack_claims.judge_performance, results)]
    return {**content, "ok": content["ok"] and all(entry["ok"] for entry in added), "claims": [*content["claims"], *added]}


def _grouped(entry: claims.Claim) -> claims.Claim:
    return {"id": entry["id"], "group": group_of(entry["id"]), **entry}


def versions(plan: Facts, kubernetes: str | None, collection: str) -> dict[str, t.Any]:
    """The planned versions and images, and `kubernetes`, the version of the API server."""
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
        "claims": [_grouped(entry) for entry in claims],
        "not_checked": [dict(entry) for entry in skipped],
        "versions": dict(versions),
    }


def table(content: c.Mapping[str, t.Any]) -> list[str]:
    """The verdict as lines of text; at the end the curl line of each endpoint, and the deployment."""
    lines = []
    for entry in [*content["claims"], *content["not_checked"]]:
        mark, seconds = ("-", "") if "why" in entry else ("ok" if entry["ok"] else "FAIL", f"{entry['seconds']:.2f} s")
        head = f"{mark:4}{seconds:>8}  "
        evidence = f"not checked: {entry['why']}" if "why" in entry else entry["evidence"]
        lines += text.wrapped(f"{head}{entry['id']}: {evidence}", indent=" " * len(head))
    lines.append(_headline(content))
    lines += [f"note: {name}: {pair}" for name, pair in content["versions"].get("other_pairs", {}).items()]
    lines += [line for entry in content["endpoints"] for line in text.command(curl(entry))]
    return lines + (text.wrapped(f"deployment: {text.subject(content)}", indent="  ") if text.subject(content) else [])


def summary(content: c.Mapping[str, t.Any]) -> Facts:
    """{ok, summary, endpoint, endpoints, versions}, for the next job of a workflow and for an approval."""
    failed = [entry["id"] for entry in content["claims"] if not entry["ok"]]
    models = [{key: entry[key] for key in ("name", "url", "model")} for entry in content["endpoints"]]
    return {
        "ok": content["ok"],
        "summary": _headline(content) + (f", not {', '.join(failed)}" if failed else ""),
        "endpoint": content["endpoint"],
        "endpoints": models,
        "versions": content["versions"],
    }


def _headline(content: c.Mapping[str, t.Any]) -> str:
    held = sum(entry["ok"] for entry in content["claims"])
    return f"{'OK' if content['ok'] else 'NOT OK'}: {held} of {len(content['claims'])} claims hold"


def curl(endpoint: c.Mapping[str, t.Any]) -> str:
    """A curl command for one completion through the gateway, after a port-forward where this host has no route to the gateway."""
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
