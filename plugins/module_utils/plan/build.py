# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan: every name, label, port and flag of a deployment, derived once from the user's llm_d_* variables. Pure."""

from __future__ import annotations

import re
import typing as t

from ..common.labels import MANAGED_BY, PART_OF
from ..common.objects import Facts
from ..releases.lines import RELEASES
from ..schema.fields import Problem, complete, empty_name, unknown_key
from ..schema.variables import SERVICE, VARIABLES
from .autoscaling import autoscalers_to_prune, autoscaling
from .cleanup import scheduler_objects, service_objects_to_prune, to_prune
from .endpoint_picker import configuration, pool, scheduler
from .gateway import gateway as planned_gateway
from .gateway_policies import service_policies
from .gpus import gpus
from .leader_workers import controllers_to_prune, leader_worker_problems, leader_worker_set
from .monitoring import monitoring_problems, monitoring_to_prune, monitors, observability, prometheus
from .overrides import VARIABLE as OVERRIDES
from .overrides import overriding_scheduler, relocated, unknown_services
from .pins import DIGESTS, pin_problems, pinned
from .pod_spec import SERVICE_LABEL
from .preflight import needs
from .prerequisites import prerequisites, source_problems
from .references import REGISTRY, mirror_problems
from .secrets import definitions, pull_names, secrets, token_reference
from .server import route, server, startup_timeout
from .sidecars import routing_proxy
from .validate_benchmark import benchmark_problems
from .validate_gateway import gateway_problems, hostname_problems, proxy_problems
from .validate_gpus import gpu_problems
from .validate_services import name_problems, object_names, route_problems, service_problems
from .warmup import warmups
from .weights import claim, served_name

PREFIX = "llm_d_"
SERVICES = "llm_d_model_services"


class Mistakes(ValueError):
    """The user's file cannot be planned; `problems` holds every reason."""

    def __init__(self, found: t.Sequence[Problem]) -> None:
        self.problems = list(found)
        super().__init__(explain(found))


def plan(variables: t.Mapping[str, t.Any]) -> Facts:
    """The plan derived from those of `variables` whose names begin with llm_d_. Raises Mistakes with every problem."""
    user, found = _complete(variables)
    if found:
        raise Mistakes(found)
    planned = _derive(user)
    found = pin_problems(planned, user[DIGESTS])
    if found:
        raise Mistakes(found)
    return planned


def problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """All problems of the user's variables; empty when they can be planned."""
    user, found = _complete(variables)
    return found or (pin_problems(_derive(user), user[DIGESTS]) if user[DIGESTS] else [])


def explain(found: t.Sequence[Problem]) -> str:
    """A message with one line for each problem."""
    count = "1 mistake" if len(found) == 1 else f"{len(found)} mistakes"
    return "\n".join([f"{count} in your llm_d_* variables. Nothing has been touched.", *(f"  - {problem}" for problem in found)])


def in_order(found: t.Iterable[Problem]) -> list[Problem]:
    """The problems sorted by path; numbers in paths compare as numbers."""
    return sorted(found, key=lambda problem: [(int(part) if part.isdigit() else -1, part) for part in re.split(r"[.\[\]]+", problem.path)])


def _complete(variables: t.Mapping[str, t.Any]) -> tuple[Facts, list[Problem]]:
    """(the user's variables with all defaults, their problems). Values are checked against each other only where each is right by itself."""
    own = {name: value for name, value in variables.items() if str(name).startswith(PREFIX)}
    found = [unknown_key(name, VARIABLES, "", value) for name, value in own.items() if name not in VARIABLES]
    user: Facts = {}
    for name, field in VARIABLES.items():
        if name == SERVICES:
            continue
        user[name], wrong = complete(own.get(name), field, name)
        found += wrong + empty_name(own, name, field, name)
    scalars_right = not [problem for problem in found if problem.path.split(".")[0] in VARIABLES]
    if scalars_right:
        found += gpu_problems(user) + monitoring_problems(user) + mirror_problems(user) + source_problems(user)
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
        scheduler_block, place = overriding_scheduler(element, overrides)
        if scheduler_block is not None:
            element = {**element, "scheduler": scheduler_block}
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
    alone = scalars_right and user["llm_d_gateway"]["provider"] == "standalone"  # each service has its own address
    routes = [] if alone else route_problems(right) + (hostname_problems(user, right) if scalars_right else [])
    proxy = proxy_problems(user, object_names(service["name"] for _path, service in named)) if scalars_right else []
    return services, found + unknown + name_problems(named) + proxy + routes


def secret_definitions(variables: t.Mapping[str, t.Any]) -> list[Facts]:
    """The Secrets of the plan with their values, which must not be logged. Raises Mistakes."""
    user, found = _complete(variables)
    if found:
        raise Mistakes(found)
    return definitions(user, secrets(user, _owner(user))["present"])


def _owner(user: Facts) -> Facts:
    """Labels of every object that the collection owns."""
    return {MANAGED_BY: "llm_d.inference", PART_OF: user["llm_d_instance"]}


def _derive(given: Facts) -> Facts:
    # With scope prerequisites the plan does not depend on the services.
    services = [] if given["llm_d_scope"] == "prerequisites" else given[SERVICES]
    services = [{**service, "model": {**service["model"], **token_reference(service, given)}} for service in services]
    user = {**given, SERVICES: services, "llm_d_image_pull_secrets": pull_names(given)}
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
        "prometheus": prometheus(user),
        "image_registry": user[REGISTRY],
        "image_pull_policy": user["llm_d_image_pull_policy"],
        "image_pull_secrets": [{"name": name} for name in user["llm_d_image_pull_secrets"]],
        "prerequisites": prerequisites(user, release, gateway, groups),
        "secrets": own,
        "gateway": gateway,
        "gpus": gpus(user, labels),
        "prune": to_prune(user[SERVICES], user, gateway, own["prune"], controllers_to_prune(user, groups)),
        "services": [_service(service, user, release, gateway, labels) for service in user[SERVICES]],
    }
    if user[DIGESTS]:
        planned = pinned(planned, user[DIGESTS], user[REGISTRY])
    return {**planned, "warmups": warmups(user[SERVICES], planned["services"], planned["namespace"]), "preflight": needs(planned, user)}


def _service(service: Facts, user: Facts, release: Facts, gateway: Facts, plan_labels: Facts) -> Facts:
    labels = {**plan_labels, SERVICE_LABEL: service["name"]}
    built = configuration(service, release["name"])
    roles = sorted(built.requires["roles"] or ["decode"])  # decode comes first: every scheduler has it
    servers = [server(service, user, labels, built.requires, role, _proxy(service, user, release, built.requires, role)) for role in roles]
    for each in servers:
        each["autoscaling"] = autoscaling(service, each, user["llm_d_namespace"])
    decode = servers[0]
    planned_pool = pool(service, user, release, gateway)
    picker = scheduler(service, user, release, gateway, labels, built)
    scraped = monitors(user, labels, servers, picker)
    observed = observability(service, user, release, labels, servers, picker, built.document)
    return {
        "name": service["name"],
        "labels": labels,
        "model": {"uri": service["model"]["uri"], "served_name": served_name(service["model"])},
        "engine": service["engine"]["type"],
        "claim": claim(service),
        "own_account": not service["service_account"],
        "server": decode,
        "servers": servers,
        "prune": service_objects_to_prune(service, servers, built.requires) + monitoring_to_prune(service["name"], scraped, observed),
        # Pruned before anything is applied: two autoscalers would fight over spec.replicas, and KEDA's webhook rejects a second one.
        "prune_autoscalers": autoscalers_to_prune(service, servers),
        "switched": scheduler_objects(service, user),
        "monitors": scraped,
        **observed,
        # By number: during a rollout that adds or removes sidecars, old and new pods name the same port differently.
        "service": {"name": service["name"], "port": decode["port"], "selector": decode["selector"], "target_port": decode["port"]},
        "pool": planned_pool,
        "gateway": service_policies(service, user, gateway, planned_pool["failure_mode"]),
        "scheduler": picker,
        "route": route(service, gateway),
    }


def _proxy(service: Facts, user: Facts, release: Facts, required: Facts, role: str) -> Facts | None:
    """The routing sidecar of the servers of a role; None where the scheduler requires none."""
    wanted = next((sidecar for sidecar in required["sidecars"] if sidecar["on"] == role), None)
    return routing_proxy(service, user, release, wanted) if wanted else None
