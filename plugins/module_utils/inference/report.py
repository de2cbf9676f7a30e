# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parallel check of all servers, and the returned values, for vllm_health and vllm_health_info."""

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

    of_service: returns the module's own error about an element of `services`, by its place, such as services[0].
    """
    if not params["request_timeout"] > 0:
        return f"request_timeout is {params['request_timeout']:g}: these are seconds and must be more than 0"
    for index, service in enumerate(params["services"]):
        place = f"services[{index}]"
        if not (service["urls"] or service["replicas"]):
            return f"{place} names no server: write urls or replicas"
        if error := of_service(place, service):
            return error
    return ""


RULES: dict[str, t.Any] = {"mutually_exclusive": [PLACES], "required_one_of": [PLACES], "required_by": tls.REQUIRED_BY}


@dataclasses.dataclass
class ServerView:
    """The result of checking all servers once. `problem` and `remedy`: why the set as a whole is unhealthy."""

    servers: list[tuple[ServerTarget, health.Health]]
    findings: list[dict[str, str]] = dataclasses.field(default_factory=list)
    problem: str = ""
    remedy: str = ""

    @property
    def healthy(self) -> bool:
        return not self.problem and all(state.healthy for _target, state in self.servers)

    @property
    def final(self) -> bool:
        """True when another check would not change the result."""
        failed = [state for _target, state in self.servers if not state.healthy]
        return self.healthy or (not self.problem and bool(failed) and all(health.is_final(state) for state in failed))


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
    servers = targets.find()
    if not servers:
        return ServerView(
            [], problem="there is no server to check: no pod is selected, or urls is empty", remedy="check the labels of the pods and their Deployment"
        )
    view = check_servers(servers, wanted, left)
    serious = replicas.serious(view.findings)
    if len(servers) < count:
        view.problem, view.remedy = f"{len(servers)} of {count} servers exist", "check the Deployment of the servers"
    elif serious:
        view.problem, view.remedy = f"{serious[0]['what']} ({serious[0]['evidence']})", serious[0]["remedy"]
    return view


def check(params: c.Mapping[str, t.Any], completions: bool, cluster: t.Any = None) -> dict[str, t.Any]:
    """The returned values of one check of one set of servers. `cluster`: a connection, where there is one already. Raises ValueError and ClusterError."""
    targets, wanted = Targets(params, cluster), requirements_of(params, completions)
    count = (params["replicas"] or {}).get("count", 1)
    view, waited, looks = health.poll(lambda left: check_all(targets, wanted, count), lambda view: True, 1.0, 1.0)
    returned = result(targets, view, waited, looks)
    return {**returned, "msg": view.problem} if view.problem else returned


def check_sets(groups: c.Sequence[c.Mapping[str, t.Any]], completions: bool, cluster: t.Any = None) -> dict[str, t.Any]:
    """The returned values of a parallel check of several sets over one connection. A set that cannot be checked has only a msg."""
    shared = Targets({key: groups[0][key] for key in ("kubeconfig", "context")}, cluster).cluster if groups else None

    def one(group: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
        try:
            returned = check(group, completions, shared)
            return {"name": group["name"], **{key: value for key, value in returned.items() if key != "changed"}}
        except Exception as error:  # pylint: disable=broad-except  # the other sets are still returned
            return {"name": group["name"], "healthy": False, "msg": str(error)}

    with ThreadPoolExecutor(max_workers=len(groups) or 1) as pool:
        sets = list(pool.map(one, groups))
    return {"changed": False, "healthy": all(each["healthy"] for each in sets), "groups": sets}


def wait(targets: Targets, wanted: health.Requirements, count: int, timeout: float, interval: float) -> tuple[ServerView, float, int]:
    """(last view, seconds waited, number of views) once all servers are healthy, another check changes nothing, or the time is over.

    An absent object may be created, and an unreachable API server may recover. Raises ValueError and ClusterError for errors that waiting does not fix.
    """

    def view(left: float) -> ServerView:
        try:
            return check_all(targets, wanted, count, left)
        except AbsentError as absent:
            return ServerView([], problem=str(absent).partition(": ")[0], remedy=str(absent).partition(": ")[2])

    return health.poll(view, lambda last: last.final, timeout, interval)


def check_servers(targets: c.Sequence[ServerTarget], wanted: health.Requirements, left: float | None = None) -> ServerView:
    """Checks these servers in parallel and compares them. `left`: about the seconds it may take."""
    with ThreadPoolExecutor(max_workers=min(THREADS, len(targets) or 1)) as pool:
        healths = list(pool.map(lambda target: health.check_once(target.client, wanted, timeout=left, pages=target.pages), targets))
    view = ServerView(list(zip(targets, healths, strict=True)))
    view.findings = replicas.compare([server_facts(target, state) for target, state in view.servers]) if len(targets) > 1 else []
    return view


def server_facts(target: ServerTarget, state: health.Health) -> dict[str, t.Any]:
    """The returned values of one server."""
    return {
        "server": target.name,
        "ready": ready(target.pod),
        "healthy": state.healthy,
        "level": state.reached,
        "engine": state.engine or None,
        "version": state.version,
        "checks": [dataclasses.asdict(check) for check in state.checks],
        "notes": list(state.notes),
        "models": [{"id": model.id, "max_model_len": model.max_model_len} for model in state.models],
        "metrics": {name: {"name": reading.metric, "value": reading.value} for name, reading in state.metrics.items()},
    }


def result(targets: Targets, view: ServerView, waited: float, looks: int) -> dict[str, t.Any]:
    """The returned values of a module. Where a field holds one server's value, that of the first unhealthy server is returned."""
    servers = [server_facts(target, state) for target, state in view.servers]
    selected = next((entry for entry in servers if not entry["healthy"]), servers[0] if servers else {})
    models = {model["id"]: model for entry in servers for model in entry["models"]}
    return {
        "changed": False,
        "healthy": view.healthy,
        "waited": waited,
        "looks": looks,
        "servers": servers,
        "findings": [*pod_findings(targets, view), *view.findings],
        "level": selected.get("level", ""),
        "checks": selected.get("checks", []),
        "models": list(models.values()),
        "metrics": selected.get("metrics", {}),
        "version": _common(servers, "version"),
        "engine": _common(servers, "engine"),
    }


def pod_findings(targets: Targets, view: ServerView) -> list[dict[str, str]]:
    """Findings about the pods of unhealthy servers whose failure is in the catalog."""
    findings = []
    for target, state in view.servers:
        failure = None if state.healthy else targets.known_failure(target)
        if failure:
            findings.append(replicas.finding(failure.code, failure.what, target.name, state.failed.evidence if state.failed else "", failure.remedy))
    return findings


def _common(servers: c.Sequence[c.Mapping[str, t.Any]], key: str) -> str | None:
    values = {entry[key] for entry in servers}
    return values.pop() if len(values) == 1 else None


def failure_message(view: ServerView, returned: c.Mapping[str, t.Any], level: str) -> str:
    """One line with the reason why the servers have not reached the level, and the remedy. returned: the returned values of the module."""
    unhealthy = [(target, state) for target, state in view.servers if not state.healthy]
    if not unhealthy:
        return f"not {level} after {returned['waited']:g} s: {view.problem}. Remedy: {view.remedy}"
    target, state = unhealthy[0]
    failed, cause = state.failed or health.Check("", False, "", 0.0), next((entry for entry in returned["findings"] if entry["where"] == target.name), None)
    who = f"{len(unhealthy)} of {len(view.servers)} servers, {target.name}: " if len(view.servers) > 1 else ""
    because = f" ({cause['code']}: {cause['what']})" if cause and cause["where"].startswith("Pod") else ""
    return f"not {level} after {returned['waited']:g} s: {who}{failed.evidence}{because}. Remedy: {cause['remedy'] if cause and because else failed.remedy}"


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
