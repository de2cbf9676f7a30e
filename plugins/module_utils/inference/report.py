# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What vllm_health and vllm_health_info share: the parallel check of all servers, and the returned values."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import typing as t
from concurrent.futures import ThreadPoolExecutor

from ..http import tls
from . import health, replicas
from .options import PLACES
from .targets import AbsentError, ServerTarget, Targets, ready

THREADS = 16


def services_error(params: dict[str, t.Any], of_service: c.Callable[[str, dict[str, t.Any]], str]) -> str:
    """The first error about the options of a module that goes to each server of model services; empty when they are valid.

    of_service: the error about one element that is the module's own, by its place.
    """
    if not params["request_timeout"] > 0:
        return f"request_timeout is {params['request_timeout']:g}: these are seconds and must be more than 0"
    for index, service in enumerate(params["services"]):
        place = f"services[{index}]"
        if not (service["urls"] or service["replicas"]):
            return f"{place} names no server: write urls or replicas"
        if wrong := of_service(place, service):
            return wrong
    return ""


RULES: dict[str, t.Any] = {"mutually_exclusive": [PLACES], "required_one_of": [PLACES], "required_by": tls.REQUIRED_BY}


@dataclasses.dataclass
class ServerView:
    """The result of checking all servers once. `wrong` and `remedy`: why the set as a whole is unhealthy."""

    servers: list[tuple[ServerTarget, health.Health]]
    findings: list[dict[str, str]] = dataclasses.field(default_factory=list)
    wrong: str = ""
    remedy: str = ""

    @property
    def healthy(self) -> bool:
        return not self.wrong and all(found.healthy for _target, found in self.servers)

    @property
    def over(self) -> bool:
        """True when another check would not change the result."""
        failed = [found for _target, found in self.servers if not found.healthy]
        return self.healthy or (not self.wrong and bool(failed) and all(health.is_final(found) for found in failed))


def requirements_of(params: c.Mapping[str, t.Any], completions: bool) -> health.Requirements:
    """The requirements on each server that the options state."""
    return health.Requirements(
        params["level"],
        params["model"],
        params["min_model_len"],
        tuple(params["apis"]),
        params["request_timeout"],
        params["engine"],
        tuple(params["signals"]),
        completions,
    )


def check_all(targets: Targets, wanted: health.Requirements, count: int, left: float | None = None) -> ServerView:
    """Finds and checks all servers in parallel; `count` is the number of servers required, `left` about the seconds it may take. Raises ClusterError."""
    found = targets.find()
    if not found:
        return ServerView(
            [], wrong="there is no server to check: no pod is selected, or urls is empty", remedy="check the labels of the pods and their Deployment"
        )
    view = check_servers(found, wanted, left)
    serious = replicas.serious(view.findings)
    if len(found) < count:
        view.wrong, view.remedy = f"{len(found)} of {count} servers exist", "check the Deployment of the servers"
    elif serious:
        view.wrong, view.remedy = f"{serious[0]['what']} ({serious[0]['evidence']})", serious[0]["remedy"]
    return view


def check(params: c.Mapping[str, t.Any], completions: bool, cluster: t.Any = None) -> dict[str, t.Any]:
    """The returned values of one check of one set of servers. `cluster`: a connection, where there is one already. Raises ValueError and ClusterError."""
    targets, wanted = Targets(params, cluster), requirements_of(params, completions)
    count = (params["replicas"] or {}).get("count", 1)
    view, waited, looks = health.poll(lambda left: check_all(targets, wanted, count), lambda view: True, 1.0, 1.0)
    found = result(targets, view, waited, looks)
    return {**found, "msg": view.wrong} if view.wrong else found


def check_sets(groups: c.Sequence[c.Mapping[str, t.Any]], completions: bool, cluster: t.Any = None) -> dict[str, t.Any]:
    """The returned values of a parallel check of several sets over one connection. A set that cannot be checked has only a msg."""
    shared = Targets({key: groups[0][key] for key in ("kubeconfig", "context")}, cluster).cluster if groups else None

    def one(group: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
        try:
            found = check(group, completions, shared)
            return {"name": group["name"], **{key: value for key, value in found.items() if key != "changed"}}
        except Exception as error:  # pylint: disable=broad-except  # the other sets are still returned
            return {"name": group["name"], "healthy": False, "msg": str(error)}

    with ThreadPoolExecutor(max_workers=len(groups) or 1) as pool:
        found = list(pool.map(one, groups))
    return {"changed": False, "healthy": all(each["healthy"] for each in found), "groups": found}


def wait(targets: Targets, wanted: health.Requirements, count: int, timeout: float, interval: float) -> tuple[ServerView, float, int]:
    """(last view, seconds waited, number of views) once all servers are healthy, another check changes nothing, or the time is over.

    What is absent may come, and an API server that does not answer may answer again. Raises ValueError and ClusterError for what waiting does not heal.
    """

    def view(left: float) -> ServerView:
        try:
            return check_all(targets, wanted, count, left)
        except AbsentError as absent:
            return ServerView([], wrong=str(absent).partition(": ")[0], remedy=str(absent).partition(": ")[2])

    return health.poll(view, lambda seen: seen.over, timeout, interval)


def check_servers(found: c.Sequence[ServerTarget], wanted: health.Requirements, left: float | None = None) -> ServerView:
    """Checks these servers in parallel and compares them. `left`: about the seconds it may take."""
    with ThreadPoolExecutor(max_workers=min(THREADS, len(found) or 1)) as pool:
        healths = list(pool.map(lambda target: health.check_once(target.client, wanted, timeout=left, pages=target.pages), found))
    view = ServerView(list(zip(found, healths, strict=True)))
    view.findings = replicas.compare([server_facts(target, seen) for target, seen in view.servers]) if len(found) > 1 else []
    return view


def server_facts(target: ServerTarget, found: health.Health) -> dict[str, t.Any]:
    """The returned values of one server."""
    return {
        "server": target.name,
        "ready": ready(target.pod),
        "healthy": found.healthy,
        "level": found.reached,
        "engine": found.engine or None,
        "version": found.version,
        "checks": [dataclasses.asdict(check) for check in found.checks],
        "notes": list(found.notes),
        "models": [{"id": model.id, "max_model_len": model.max_model_len} for model in found.models],
        "metrics": {name: {"name": reading.metric, "value": reading.value} for name, reading in found.metrics.items()},
    }


def result(targets: Targets, view: ServerView, waited: float, looks: int) -> dict[str, t.Any]:
    """The returned values of a module. Where a field holds one server's value, that of the first unhealthy server is returned."""
    servers = [server_facts(target, found) for target, found in view.servers]
    speaker = next((entry for entry in servers if not entry["healthy"]), servers[0] if servers else {})
    models = {model["id"]: model for entry in servers for model in entry["models"]}
    return {
        "changed": False,
        "healthy": view.healthy,
        "waited": waited,
        "looks": looks,
        "servers": servers,
        "findings": [*pod_findings(targets, view), *view.findings],
        "level": speaker.get("level", ""),
        "checks": speaker.get("checks", []),
        "models": list(models.values()),
        "metrics": speaker.get("metrics", {}),
        "version": _common(servers, "version"),
        "engine": _common(servers, "engine"),
    }


def pod_findings(targets: Targets, view: ServerView) -> list[dict[str, str]]:
    """Findings about the pods of unhealthy servers whose failure is in the catalog."""
    found = []
    for target, seen in view.servers:
        failure = None if seen.healthy else targets.known_failure(target)
        if failure:
            found.append(replicas.finding(failure.code, failure.what, target.name, seen.failed.evidence if seen.failed else "", failure.remedy))
    return found


def _common(servers: c.Sequence[c.Mapping[str, t.Any]], key: str) -> str | None:
    values = {entry[key] for entry in servers}
    return values.pop() if len(values) == 1 else None


def failure_message(view: ServerView, found: c.Mapping[str, t.Any], level: str) -> str:
    """One line that says why the servers have not reached the level, with the remedy."""
    bad = [(target, seen) for target, seen in view.servers if not seen.healthy]
    if not bad:
        return f"not {level} after {found['waited']:g} s: {view.wrong}. Remedy: {view.remedy}"
    target, seen = bad[0]
    failed, cause = seen.failed or health.Check("", False, "", 0.0), next((entry for entry in found["findings"] if entry["where"] == target.name), None)
    who = f"{len(bad)} of {len(view.servers)} servers, {target.name}: " if len(view.servers) > 1 else ""
    because = f" ({cause['code']}: {cause['what']})" if cause and cause["where"].startswith("Pod") else ""
    return f"not {level} after {found['waited']:g} s: {who}{failed.evidence}{because}. Remedy: {cause['remedy'] if cause and because else failed.remedy}"


def option_errors(params: c.Mapping[str, t.Any]) -> str:
    """The error about numeric options; empty when they are valid."""
    seconds = [name for name in ("timeout", "request_timeout", "interval") if name in params and not params[name] > 0]
    if seconds:
        return f"{', '.join(f'{name} is {params[name]:g}' for name in seconds)}: these are seconds and must be more than 0"
    if params["retries"] < 0:
        return f"retries is {params['retries']}: it must be 0 or more"
    if (params.get("replicas") or {}).get("count", 1) < 1:
        return f"replicas.count is {params['replicas']['count']}: it must be 1 or more"
    return ""
