# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan: every name, label, port and flag of a deployment, derived once from the user's llm_d_* variables. Pure."""

from __future__ import annotations

import re
import typing as t

from ..common.labels import MANAGED_BY, PART_OF
from ..releases.gateways import GATEWAY_API
from ..releases.lines import RELEASES
from ..schema.fields import Problem, complete, unknown_key
from ..schema.variables import SERVICE, VARIABLES
from .autoscaling import autoscaling, other_autoscalers
from .cleanup import leftovers, own_namespaces
from .endpoint_picker import configuration, events_service, pool, scheduler
from .gateway import gateway as planned_gateway
from .gateway_policies import beside
from .gpus import gpu_problems, gpus
from .leader_workers import leader_worker_problems, leader_worker_set, retired, trial_rights
from .monitoring import API_VERSION, KIND, monitoring_problems, monitors, unmonitored
from .multi_node import other_kind, spread
from .overrides import VARIABLE as OVERRIDES
from .overrides import overridden, relocated, unknown_services
from .preflight import needs
from .secrets import definitions, named, secrets
from .server import SERVICE_LABEL, route, server, startup_timeout
from .sidecars import routing_proxy
from .validate_benchmark import benchmark_problems
from .validate_gateway import gateway_problems, hostname_problems, platform_owns
from .validate_services import name_problems, route_problems, service_problems
from .warmup import warmups
from .weights import claim, served_name

Facts = dict[str, t.Any]

PREFIX = "llm_d_"
SERVICES = "llm_d_model_services"


class Mistakes(ValueError):
    """The user's file cannot be planned. `problems` says why, all at once."""

    def __init__(self, found: t.Sequence[Problem]) -> None:
        self.problems = list(found)
        super().__init__(explain(found))


def plan(variables: t.Mapping[str, t.Any]) -> Facts:
    """Derive the whole deployment from `variables` (names beginning with llm_d_; others are not looked at). Raises Mistakes."""
    user, found = _complete(variables)
    if found:
        raise Mistakes(found)
    return _derive(user)


def problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """All that is wrong with the user's variables; empty when they can be planned."""
    return _complete(variables)[1]


def explain(found: t.Sequence[Problem]) -> str:
    """A readable text of several lines that names every problem."""
    count = "1 mistake" if len(found) == 1 else f"{len(found)} mistakes"
    return "\n".join([f"{count} in your llm_d_* variables. Nothing has been touched.", *(f"  - {problem}" for problem in found)])


def in_order(found: t.Iterable[Problem]) -> list[Problem]:
    """Problems grouped by place; numbers in paths count as numbers."""
    return sorted(found, key=lambda problem: [(int(part) if part.isdigit() else -1, part) for part in re.split(r"[.\[\]]+", problem.path)])


def _complete(variables: t.Mapping[str, t.Any]) -> tuple[Facts, list[Problem]]:
    """The user's variables with all defaults, and their problems. Cross-checks look only at what is right in itself."""
    own = {name: value for name, value in variables.items() if str(name).startswith(PREFIX)}
    found = [unknown_key(name, VARIABLES, "", value) for name, value in own.items() if name not in VARIABLES]
    user: Facts = {}
    for name, field in VARIABLES.items():
        if name == SERVICES:
            continue
        user[name], wrong = complete(own.get(name), field, name)
        found += wrong
    scalars_right = not [problem for problem in found if problem.path.split(".")[0] in VARIABLES]
    if scalars_right:
        found += gpu_problems(user) + monitoring_problems(user)
        found += gateway_problems({**user, SERVICES: own.get(SERVICES)})
    user[SERVICES], wrong = _complete_services(own.get(SERVICES), user, scalars_right)
    if scalars_right and not wrong:
        found += leader_worker_problems(user, user[SERVICES])
        found += benchmark_problems(user["llm_d_benchmark"], [service["name"] for service in user[SERVICES]])
    return user, in_order(found + wrong)


def _complete_services(value: t.Any, user: Facts, scalars_right: bool) -> tuple[list[Facts], list[Problem]]:
    if not isinstance(value, (list, tuple)):
        return complete(value, VARIABLES[SERVICES], SERVICES)
    services: list[Facts] = []
    named: list[tuple[str, Facts]] = []
    right: list[tuple[str, Facts]] = []
    found: list[Problem] = []
    overrides = user[OVERRIDES]
    for index, element in enumerate(value):
        path = f"{SERVICES}[{index}]"
        element, place = overridden(element, overrides)
        service, wrong = complete({} if element is None else element, SERVICE, path)
        services.append(service)
        if isinstance(service, dict) and service.get("name") and f"{path}.name" not in [problem.path for problem in wrong]:
            named.append((path, service))
        if not wrong:
            right.append((path, service))
            if scalars_right:
                wrong = service_problems(service, path, user)
        found += [relocated(problem, path, place, overrides) for problem in wrong]
    unknown = unknown_services(overrides, [str(service["name"]) for _path, service in named])
    alone = scalars_right and user["llm_d_gateway"]["provider"] == "standalone"  # each with an address of its own
    routes = [] if alone else route_problems(right) + (hostname_problems(user, right) if scalars_right else [])
    return services, found + unknown + name_problems(named) + routes


def secret_definitions(variables: t.Mapping[str, t.Any]) -> list[Facts]:
    """The Secrets of the plan with their values, which must not be shown. Raises Mistakes."""
    user, found = _complete(variables)
    if found:
        raise Mistakes(found)
    return definitions(user, secrets(user, _owner(user))["present"])


def _owner(user: Facts) -> Facts:
    """Labels of all that is ours."""
    return {MANAGED_BY: "llm_d.inference", PART_OF: user["llm_d_instance"]}


def _derive(given: Facts) -> Facts:
    # An administrator's half is the same whatever is served later.
    user = named({**given, SERVICES: []} if given["llm_d_scope"] == "prerequisites" else given)
    release = {"name": user["llm_d_release"], **RELEASES[user["llm_d_release"]]}
    labels = _owner(user)
    gateway = planned_gateway(user)
    own = secrets(user, labels)
    groups = leader_worker_set(user, given[SERVICES], labels)
    planned = {
        "instance": user["llm_d_instance"],
        "namespace": user["llm_d_namespace"],
        "platform": user["llm_d_platform"],
        "scope": user["llm_d_scope"],
        "state": user["llm_d_state"],
        "release": release,
        "labels": labels,
        "connection": {"kubeconfig": user["llm_d_kubeconfig"], "context": user["llm_d_context"]},
        "wait_timeout": user["llm_d_wait_timeout"],
        "servers_wait_timeout": max([user["llm_d_wait_timeout"], *(startup_timeout(service) for service in user[SERVICES])]),
        "artifacts_dir": user["llm_d_artifacts_dir"],
        "benchmark": user["llm_d_benchmark"],
        "image_pull_policy": user["llm_d_image_pull_policy"],
        "image_pull_secrets": [{"name": name} for name in user["llm_d_image_pull_secrets"]],
        "prerequisites": _prerequisites(user, release, gateway, groups),
        "secrets": own,
        "gateway": gateway,
        "gpus": gpus(user, labels),
        "leftovers": leftovers(user[SERVICES], user, gateway, own["unwanted"], retired(user, groups)),
        "services": [_service(service, user, release, gateway, labels) for service in user[SERVICES]],
    }
    return {**planned, "warmups": warmups(user[SERVICES], planned["services"], planned["namespace"]), "preflight": needs(planned, user)}


def _service(service: Facts, user: Facts, release: Facts, gateway: Facts, plan_labels: Facts) -> Facts:
    labels = {**plan_labels, SERVICE_LABEL: service["name"]}
    built = configuration(service, release["name"])
    roles = sorted(built.requires["roles"] or ["decode"])  # decode first: it is there whatever the scheduler
    servers = [spread(service, server(service, user, labels, built.requires, role, _proxy(service, user, release, built.requires, role))) for role in roles]
    for each in servers:
        each["autoscaling"] = autoscaling(service, each, user["llm_d_namespace"])
    decode = servers[0]
    planned_pool = pool(service, user, release, gateway)
    picker = scheduler(service, user, release, gateway, labels, built)
    scraped = monitors(user, labels, servers, picker)
    return {
        "name": service["name"],
        "labels": labels,
        "model": {"uri": service["model"]["uri"], "served_name": served_name(service["model"])},
        "engine": service["engine"]["type"],
        "claim": claim(service),
        "own_account": not service["service_account"],
        "server": decode,
        "servers": servers,
        "leftovers": _leftovers(service, servers, built.requires) + unmonitored(service["name"], scraped),
        # Gone before anything is applied: each pulls at the number of servers, and none lets another have it.
        "other_autoscalers": other_autoscalers(service, servers),
        "switched": _switched(service, user),
        "monitors": scraped,
        # By number: while sidecars come or go, old and new pods give the same port different names.
        "service": {"name": service["name"], "port": decode["port"], "selector": decode["selector"], "target_port": decode["port"]},
        "pool": planned_pool,
        "gateway": beside(service, user, gateway, planned_pool["failure_mode"]),
        "scheduler": picker,
        "route": route(service, gateway),
    }


def _leftovers(service: Facts, servers: list[Facts], required: Facts) -> list[Facts]:
    """What another scheduler of this service, number of nodes or account would have had and this one has not."""
    found = [other_kind(servers[0])]  # prefill servers are of one node always
    if "prefill" not in [server["role"] for server in servers]:
        found.append({"api_version": "apps/v1", "kind": "Deployment", "name": f"{service['name']}-prefill"})
    if service["service_account"]:
        found.append({"api_version": "v1", "kind": "ServiceAccount", "name": service["name"]})
    return found + ([] if required["epp"]["ports"] else [{"api_version": "v1", "kind": "Service", "name": events_service(service)}])


def _switched(service: Facts, user: Facts) -> list[Facts]:
    """References to all that another scheduler of this service may change, make or take away."""
    name = service["name"]
    kinds = [("v1", "ConfigMap", f"{name}-epp"), ("v1", "Service", f"{name}-epp"), ("v1", "Service", events_service(service))]
    kinds += [("apps/v1", "Deployment", f"{name}-{part}") for part in ("epp", "decode", "prefill")]
    kinds += [(API_VERSION, KIND, f"{name}-{part}") for part in ("decode", "prefill") if user["llm_d_monitoring"]["scrape"]]
    return [{"apiVersion": version, "kind": kind, "metadata": {"name": each, "namespace": user["llm_d_namespace"]}} for version, kind, each in kinds]


def _proxy(service: Facts, user: Facts, release: Facts, required: Facts, role: str) -> Facts | None:
    """The routing sidecar of the servers of a role, if they have one."""
    wanted = next((sidecar for sidecar in required["sidecars"] if sidecar["on"] == role), None)
    return routing_proxy(service, user, release, wanted) if wanted else None


def _prerequisites(user: Facts, release: Facts, gateway: Facts, groups: Facts | None) -> Facts:
    """What has to be there first: namespaces, and definitions in the order of their application."""
    theirs = gateway["crds"]
    requested = [user["llm_d_namespace"]] if user["llm_d_request_project"] else []
    # Who requests a project is its administrator: that is for the account that will work in it.
    projects = requested if user["llm_d_scope"] != "prerequisites" else []
    if user["llm_d_scope"] == "namespace":
        return {"namespaces": [], "projects": projects, "crds": [], "rights": [], "leader_worker_set": groups, "retired": [], "own_namespaces": []}
    crds = []
    if gateway["gateway_api"]:
        if not platform_owns(user, "gateway-api"):
            annotation, probe = "gateway.networking.k8s.io/bundle-version", "gateways.gateway.networking.k8s.io"
            crds.append(_definitions(user, "gateway-api", GATEWAY_API["version"], annotation, probe, GATEWAY_API["sources"]))
    if gateway["pool"]:
        annotation, probe = "inference.networking.k8s.io/bundle-version", f"inferencepools.{gateway['pool_group']}"
        crds.append(_definitions(user, "inference-extension", release["crds_version"], annotation, probe, release["crds_sources"]))
    if gateway["install"] and theirs["name"]:
        crds.append(_definitions(user, theirs["name"], gateway["version"], None, theirs["probe"], theirs["sources"]))
    charts = list(gateway["charts"])
    if groups and groups["install"]:
        crds.append(_definitions(user, "leader-worker-set", groups["version"], None, groups["crd"], groups["sources"]))
        charts.append(groups["chart"])
    # Where the Gateway stands apart, that namespace is someone else's.
    names = [user["llm_d_namespace"], *(chart["namespace"] for chart in charts)]
    return {
        "namespaces": [{"name": name} for name in dict.fromkeys(names) if name not in requested],
        "projects": projects,
        "crds": crds,
        "rights": _rights(crds) + trial_rights(groups),
        "leader_worker_set": groups,
        # What goes with the rest even when it is wanted no more, if its namespace is ours.
        "retired": retired(user, None),
        "own_namespaces": own_namespaces(user),
    }


def _definitions(user: Facts, name: str, version: str, annotation: str | None, probe: str, default: list[str]) -> Facts:
    own = user["llm_d_crd_sources"][name.replace("-", "_")]
    return {"name": name, "version": version, "annotation": annotation, "probe": probe, "sources": default if own is None else own}


def _rights(crds: list[Facts]) -> list[Facts]:
    """Rights that the first contact asks for."""
    verbs = ("get", "patch", "create") if any(bundle["sources"] for bundle in crds) else ("get",) if crds else ()
    found: list[Facts] = [{"verb": verb, "group": "apiextensions.k8s.io", "resource": "customresourcedefinitions"} for verb in verbs]
    return found + [{"verb": verb, "resource": "namespaces"} for verb in ("list", "create", "delete")]
