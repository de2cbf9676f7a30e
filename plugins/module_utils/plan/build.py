# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan: every name, label, port and flag of a deployment, derived once from the user's llm_d_* variables. Pure."""

from __future__ import annotations

import re
import typing as t

from ..common.labels import MANAGED_BY, PART_OF
from ..common.objects import Facts
from ..common.text import redact
from ..k8s.sanitize import REMOVED, hide_environment, redact_part
from ..releases.lines import RELEASES
from ..schema.fields import Problem, complete, empty_name, unknown_key
from ..schema.pods import BLOCKS
from ..schema.variables import SERVICE, VARIABLES
from .checks.validate_benchmark import benchmark_problems
from .checks.validate_gateway import gateway_problems, hostname_problems, proxy_problems, published_problems
from .checks.validate_routes import route_problems
from .checks.validate_services import front_problems, name_problems, object_names, service_problems, unstated_features
from .cluster import reports
from .cluster.leader_workers import leader_worker_problems, leader_worker_set
from .cluster.pins import DIGESTS, pin_problems, pinned
from .cluster.preflight import needs
from .cluster.prerequisites import prerequisites, source_problems
from .cluster.record import RESTORE_SUFFIX, marked, record, restore_point, scheduler_objects
from .cluster.record import VARIABLE as PRUNE
from .cluster.removal import contents
from .cluster.removal import permissions as removal_permissions
from .cluster.secrets import definitions, pull_names, secrets, token_reference
from .engines.adapters import runtime_adapters
from .engines.aliases import alias_names, rewrites
from .engines.api_keys import api_key_reference, api_key_secret
from .engines.engine import spelled_out
from .engines.sidecars import routing_proxy
from .engines.weights import claim, served_name
from .gateways.endpoint_picker import configuration, pool, scheduler
from .gateways.gateway import default_name, listened_hosts, routes_suffix
from .gateways.gateway import gateway as planned_gateway
from .gateways.gateway_policies import service_policies
from .gateways.picker_pod import picker_pod_problems
from .gateways.sharing import by_name, sharing, sharing_problems
from .gpus.gpus import gpus
from .gpus.validate_gpus import gpu_problems
from .observability.autoscaling import autoscalers_to_prune, autoscaling
from .observability.monitoring import monitoring_problems, monitors, observability, prometheus
from .parts.chart_values import VARIABLE as CHART_VALUES
from .parts.chart_values import chart_value_problems
from .parts.names import accepted_names, instance_name, name_suffix, scheduler_namespace, service_name, suffix_problems, with_suffix
from .parts.other_pods import other_pod_problems, other_pods
from .parts.overrides import VARIABLE as OVERRIDES
from .parts.overrides import overriding_scheduler, relocated, unknown_services
from .parts.pod_spec import SERVICE_LABEL, front
from .parts.profiles import VARIABLE as PROFILES
from .parts.profiles import in_profile, profile_problems, with_profiles
from .parts.references import REGISTRY, mirror_problems
from .parts.tracing import tracing_problems
from .servers.cache_server import cache_server
from .servers.pod_template import pod_problems
from .servers.server import routes, server, stage, startup_timeout
from .servers.warmup import warmups
from .servers.warmup_job import warmup_job

PREFIX = "llm_d_"
SERVICES = "llm_d_model_services"


class Mistakes(ValueError):
    """The user's file cannot be planned; `problems` holds every reason."""

    def __init__(self, mistakes: t.Sequence[Problem], of: str = "llm_d_* variables") -> None:
        self.problems = list(mistakes)
        super().__init__(explain(mistakes, of))


def plan(variables: t.Mapping[str, t.Any]) -> Facts:
    """The plan derived from those of `variables` whose names begin with llm_d_. Raises Mistakes with every problem."""
    return derived(completed(variables))


def completed(variables: t.Mapping[str, t.Any]) -> Facts:
    """The `variables` whose names begin with llm_d_, with all defaults. Raises Mistakes with every problem."""
    user, mistakes = _complete(variables)
    if mistakes:
        raise Mistakes(mistakes)
    return user


def derived(user: Facts) -> Facts:
    """The plan of what `completed` returned. Raises Mistakes where images have no digest."""
    planned = _derive(user)
    mistakes = pin_problems(planned, user[DIGESTS])
    if mistakes:
        raise Mistakes(mistakes)
    return planned


def problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """All problems of the user's variables; empty when they can be planned."""
    user, mistakes = _complete(variables)
    return mistakes or (pin_problems(_derive(user), user[DIGESTS]) if user[DIGESTS] else [])


def explain(mistakes: t.Sequence[Problem], of: str = "llm_d_* variables") -> str:
    """A message with one line for each problem. of: the variables that have them."""
    count = "1 mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
    return "\n".join([f"{count} in your {of}. Nothing has been touched.", *(f"  - {redacted(problem)}" for problem in mistakes)])


def redacted(problem: Problem) -> Problem:
    """The problem without secrets in its value, reason and fix, such as an API key in an argument or a password in a URL."""
    (value,) = redact_part(hide_environment([problem.value], REMOVED))  # in a list, an argument is known to end with its text
    return Problem(problem.path, value, redact(problem.reason), redact(problem.fix))


def in_order(mistakes: t.Iterable[Problem]) -> list[Problem]:
    """The problems sorted by path; numbers in paths compare as numbers."""
    return sorted(mistakes, key=lambda problem: [(int(part) if part.isdigit() else -1, part) for part in re.split(r"[.\[\]]+", problem.path)])


def _complete(variables: t.Mapping[str, t.Any]) -> tuple[Facts, list[Problem]]:
    """(the user's variables with all defaults, their problems). Values are checked against each other only where each is right by itself."""
    own = {name: value for name, value in variables.items() if str(name).startswith(PREFIX)}
    mistakes = [unknown_key(name, VARIABLES, "", value) for name, value in own.items() if name not in VARIABLES]
    user: Facts = {}
    for name, field in VARIABLES.items():
        if name == SERVICES:
            continue
        user[name], field_mistakes = complete(own.get(name), field, name)
        mistakes += field_mistakes + empty_name(own, name, field, name)
    services = own.get(SERVICES)
    names = [element.get("profile") if isinstance(element, dict) else None for element in services] if isinstance(services, (list, tuple)) else []
    if any(names):
        services = with_profiles(own[SERVICES], user[PROFILES])
    mistaken = {problem.path.split(".")[0] for problem in mistakes}
    scalars_right, named_right = not mistaken & VARIABLES.keys(), not mistaken & {PROFILES, OVERRIDES}
    if named_right:
        mistakes += profile_problems(user[PROFILES], names)
    if scalars_right:
        mistakes += gpu_problems(user) + monitoring_problems(user) + tracing_problems(user) + mirror_problems(user) + source_problems(user)
        mistakes += gateway_problems({**user, SERVICES: services})
        mistakes += suffix_problems(user, default_name(user["llm_d_gateway"]["provider"]))
    user[SERVICES], service_mistakes = _complete_services(services, user, scalars_right)
    if own.get(SERVICES) is None and scalars_right:
        # A missing variable is no empty list: a play with the wrong inventory must not delete the services of the cluster.
        user[PRUNE] = {**user[PRUNE], "services": False}
    if scalars_right and not service_mistakes:
        service_names = [str(service["name"]) for service in user[SERVICES]]
        user[SERVICES] = [by_name(service, user, service_names) for service in user[SERVICES]]
        mistakes += leader_worker_problems(user, user[SERVICES])
        mistakes += benchmark_problems(user["llm_d_benchmark"], accepted_names(service_names, name_suffix(user)))
        user["llm_d_instance"] = instance_name(user)
    service_mistakes = service_mistakes if mistakes or service_mistakes else _added_problems(user)
    if named_right and service_mistakes:
        ending = name_suffix(user) if scalars_right else ""
        service_mistakes = _written(service_mistakes, own.get(SERVICES), user, ending, {problem.path for problem in mistakes})
    return user, in_order(mistakes + service_mistakes)


def _added_problems(user: Facts) -> list[Problem]:
    """Additions of the user to pods and charts that are not allowed. Both depend on the rest of the file, which has to be valid."""
    mistakes = chart_value_problems(user, _charts(user)) if any(user[CHART_VALUES].values()) else []
    if not _adds(user):
        return mistakes
    gateway = planned_gateway(user, {})
    made: list[Facts] = []
    for index, service in enumerate(user[SERVICES]):
        if not _adds(service):
            made.append({"warmup_job": None, "cache_server": None})
            continue
        path, referring = f"{SERVICES}[{index}]", _referring(service, user)
        servers = [{**each, "autoscaling": None} for each in _servers(referring, user, {})]
        made.append({"warmup_job": warmup_job(referring, user, {}, servers), "cache_server": cache_server(referring, user, {})})
        picker = scheduler(referring, user, _release(user), gateway, {}, service["configuration"])
        mistakes += pod_problems(service, path, servers) + picker_pod_problems(service["scheduler"], f"{path}.scheduler", picker["ours"])
    return mistakes + other_pod_problems(other_pods(user, made, gpus(user, {})))


def _adds(part: t.Any) -> bool:
    """Whether a part of the user's file adds anything to a pod."""
    if isinstance(part, dict):
        return any((key in BLOCKS and bool(value)) or _adds(value) for key, value in part.items())
    return isinstance(part, list) and any(_adds(value) for value in part)


def _charts(user: Facts) -> list[Facts]:
    """The charts that the file installs."""
    groups, operators = leader_worker_set(user, user[SERVICES], {}), gpus(user, {})
    rest = [groups["chart"] if groups else None, operators["chart"] if operators["active"] else None]
    return [*planned_gateway(user, {})["charts"], *(chart for chart in rest if chart)]


def _written(mistakes: t.Sequence[Problem], services: t.Any, user: Facts, ending: str, reported: set[str]) -> list[Problem]:
    """The problems at the places of their values: in an override, a profile, or the element. services: as given; ending: of the names of services;
    reported: paths of other problems.

    A mistake in a profile is reported once, however many services use it.
    """
    made = {(problem.path, problem.reason): problem for problem in (_where_written(problem, services, user, ending) for problem in mistakes)}
    return [problem for problem in made.values() if not (problem.path.startswith(PROFILES) and problem.path in reported)]


def _release(user: Facts) -> Facts:
    return {"name": user["llm_d_release"], **RELEASES[user["llm_d_release"]]}


def _where_written(problem: Problem, services: t.Sequence[t.Any], user: Facts, ending: str) -> Problem:
    """The problem at the path of its override or profile, where the value is not in the element."""
    place = re.match(rf"{SERVICES}\[(\d+)\]", problem.path)
    if not place:
        return problem
    path, element = place.group(0), services[int(place.group(1))]
    _block, override = overriding_scheduler(element, user[OVERRIDES], ending)
    moved = relocated(problem, path, override, user[OVERRIDES])
    return in_profile(problem, path, element, user[PROFILES]) if moved is problem else moved


def _complete_services(value: t.Any, user: Facts, scalars_right: bool) -> tuple[list[Facts], list[Problem]]:
    if not isinstance(value, (list, tuple)):
        return complete(value, VARIABLES[SERVICES], SERVICES)
    services: list[Facts] = []
    named: list[tuple[str, Facts]] = []
    valid: list[tuple[str, Facts]] = []
    mistakes: list[Problem] = []
    overrides, ending = user[OVERRIDES], name_suffix(user) if scalars_right else ""
    for index, element in enumerate(value):
        path = f"{SERVICES}[{index}]"
        scheduler_block, _place = overriding_scheduler(element, overrides, ending)
        if scheduler_block is not None:
            element = {**element, "scheduler": scheduler_block}
        service, element_mistakes = complete({} if element is None else element, SERVICE, path)
        element_mistakes += unstated_features(element, path)
        if isinstance(service, dict) and service.get("name") and f"{path}.name" not in [problem.path for problem in element_mistakes]:
            service = with_suffix(service, ending) if ending else service
            named.append((path, service))
        if not element_mistakes and scalars_right and user["llm_d_scheduler_namespace"]:
            service = {**service, "scheduler": {**service["scheduler"], "namespace": scheduler_namespace(user)}}
        if not element_mistakes and scalars_right:
            # Pods get the arguments as they are written, so that new knowledge of an engine changes no pod template, and restarts no server.
            service = {**_spelled(service, user), "prefill": _spelled(service["prefill"], user, service)}
            service["configuration"] = configuration(service, user["llm_d_release"])
        services.append(service)
        if not element_mistakes:
            valid.append((path, service))
            if scalars_right:
                element_mistakes = service_problems(service, path, user)
        mistakes += element_mistakes
    unknown = unknown_services(overrides, accepted_names([str(service["name"]) for _path, service in named], ending))
    alone = scalars_right and user["llm_d_gateway"]["provider"] == "standalone"  # each service has its own address
    names = [service["name"] for _path, service in named]
    routes = [] if alone else route_problems(valid, listened_hosts(user) if scalars_right else ["*"], routes_suffix(user) if scalars_right else "")
    if scalars_right and not alone:
        routes += hostname_problems(user, valid) + published_problems(user, valid) + sharing_problems(user, valid, names)
    taken = {**object_names(names), **{front(service)["name"]: service["name"] for _path, service in valid}, **{name + RESTORE_SUFFIX: name for name in names}}
    proxy = proxy_problems(user, taken) if scalars_right else []
    return services, mistakes + unknown + name_problems(named) + front_problems(valid) + proxy + routes


def _spelled(block: Facts, user: Facts, service: Facts | None = None) -> Facts:
    """A block whose engine has its arguments spelled out, and `written_args`, the arguments as written. service: of a block that is no service itself."""
    engine = block["engine"]
    if not engine:
        return block
    whole = {**service, "engine": {**service["engine"], "args": engine["args"]}} if service else block
    return {**block, "written_args": engine["args"], "engine": {**engine, "args": spelled_out(whole, user)}}


def secret_definitions(variables: t.Mapping[str, t.Any]) -> list[Facts]:
    """The Secrets of the plan with their values, which must not be logged. Raises Mistakes."""
    user = completed(variables)
    return definitions(user, secrets(user, _owner(user))["present"])


def _owner(user: Facts) -> Facts:
    """Labels of every object that the collection owns."""
    return {MANAGED_BY: "llm_d.inference", PART_OF: user["llm_d_instance"]}


def _derive(given: Facts) -> Facts:
    # With scope prerequisites the plan does not depend on the services.
    services = [] if given["llm_d_scope"] == "prerequisites" else given[SERVICES]
    user = {**given, SERVICES: [_referring(service, given) for service in services], "llm_d_image_pull_secrets": pull_names(given)}
    release = _release(user)
    labels = _owner(user)
    gateway = planned_gateway(user, labels)
    own = secrets(user, labels)
    groups = leader_worker_set(user, given[SERVICES], labels)
    operators = gpus(user, labels)
    charts = [*gateway["charts"], *([groups["chart"]] if groups and groups["install"] else [])]
    charts += [operators["chart"]] if operators["active"] and operators["chart"] else []
    before = prerequisites(user, release, gateway, groups)
    shared = sharing(services)
    chosen, names = user["llm_d_benchmark"], [service["name"] for service in given[SERVICES]]
    planned = {
        "instance": user["llm_d_instance"],
        "namespace": user["llm_d_namespace"],
        "scheduler_namespace": scheduler_namespace(user),
        "platform": user["llm_d_platform"],
        "scope": user["llm_d_scope"],
        "state": user["llm_d_state"],
        "release": release,
        # The deployment that reports are of; the cluster is filled in where a connection is made.
        "deployment": {"instance": user["llm_d_instance"], "namespace": user["llm_d_namespace"], "cluster": "", "release": release["name"]},
        "labels": labels,
        "foreign": "take" if user["llm_d_adopt"] else "refuse",  # objects of others with the names of planned ones
        "connection": {"kubeconfig": user["llm_d_kubeconfig"], "context": user["llm_d_context"]},
        "wait_timeout": user["llm_d_wait_timeout"],
        "servers_wait_timeout": max([user["llm_d_wait_timeout"], *(startup_timeout(service) for service in user[SERVICES])]),
        "artifacts_dir": user["llm_d_artifacts_dir"],
        "benchmark": {**chosen, "services": chosen["services"] and [service_name(name, user, names) for name in chosen["services"]]},
        "prometheus": prometheus(user),
        "image_registry": user[REGISTRY],
        "image_pull_policy": user["llm_d_image_pull_policy"],
        "image_pull_secrets": [{"name": name} for name in user["llm_d_image_pull_secrets"]],
        "prerequisites": before,
        "secrets": own,
        "gateway": gateway,
        "gpus": operators,
        "force_removal": user["llm_d_force_removal"],
        "confirm": user["llm_d_confirm"],
        "services": [_service(service, shared, user, release, gateway, labels) for service in user[SERVICES]],
    }
    planned["record"] = record(planned, user, groups, charts)
    planned["reports"] = {"config_maps": reports.config_maps(planned, user), "s3": user[reports.VARIABLE]["s3"]}
    own["present"] = [{**head, "metadata": marked(head, planned["record"])} for head in own["present"]]
    planned["restore_points"] = [service["restore_point"] for service in planned["services"]]
    if user[DIGESTS]:
        planned = pinned(planned, user[DIGESTS], user[REGISTRY])
    planned["removal"] = {"contents": contents(planned, user), "permissions": removal_permissions(planned)}
    given_and_planned = user[SERVICES], planned["services"], planned["namespace"]
    return {**planned, "adapters": runtime_adapters(*given_and_planned), "warmups": warmups(*given_and_planned), "preflight": needs(planned, user)}


def _service(service: Facts, shared: dict[str, Facts], user: Facts, release: Facts, gateway: Facts, plan_labels: Facts) -> Facts:
    labels = {**plan_labels, SERVICE_LABEL: service["name"]}
    built = service["configuration"]
    servers = _servers(service, user, labels)
    decode = servers[0]
    service_routes = routes(service, shared, gateway, user["llm_d_namespace"], labels)
    planned_pool = pool(service, gateway, decode["port"] != decode["engine_port"])
    picker = scheduler(service, user, release, gateway, labels, built)
    for each in servers:
        each["autoscaling"] = autoscaling(service, each, picker, release, user["llm_d_namespace"], user["llm_d_monitoring"]["interval"])
    stages = [stage(service, each, labels) for each in servers]
    scraped = monitors(user, labels, servers, picker)
    observed = observability(service, user, release, labels, servers, picker, built.document)
    return {
        "name": service["name"],
        "labels": labels,
        "model": {
            "uri": service["model"]["uri"],
            "served_name": served_name(service["model"]),
            "adapters": [adapter["name"] for adapter in service["model"]["adapters"]],
        },
        "engine": service["engine"]["type"],
        "api_key_secret": api_key_secret(service, user["llm_d_namespace"]),
        "claim": claim(service),
        "cache_server": cache_server(service, user, labels),
        "warmup_job": warmup_job(service, user, labels, servers),
        "own_account": not service["service_account"],
        "server": decode,
        "servers": servers,
        # Before anything is applied, and so not by the record: two autoscalers would fight over spec.replicas, and KEDA's webhook rejects a second one.
        "prune_autoscalers": autoscalers_to_prune(service, servers),
        "switched": scheduler_objects(service, user, picker["name"]),
        "restore_point": restore_point(service["name"], user["llm_d_namespace"], plan_labels),
        "monitors": scraped,
        **observed,
        "service": stages[0],
        "stages": stages,
        "pool": planned_pool,
        "rewrites": rewrites(service, release),
        "aliases": alias_names(service),
        "weights": service["route"]["weights"],
        "gateway": service_policies(service, user, gateway, planned_pool["failure_mode"], labels),
        "scheduler": picker,
        "route": service_routes[0],
        "routes": service_routes if service_routes[0]["exists"] else [],
    }


def _referring(service: Facts, user: Facts) -> Facts:
    """The service with the names of the Secrets that the plan creates for it."""
    return {**service, "model": {**service["model"], **token_reference(service, user), **api_key_reference(service, user)}}


def _servers(service: Facts, user: Facts, labels: Facts) -> list[Facts]:
    """The servers of a service; the decode servers, which every scheduler has, are first."""
    release, required = _release(user), service["configuration"].requires
    roles = sorted(required["roles"] or ["decode"])
    return [server(service, user, labels, required, role, _proxy(service, user, release, required, role)) for role in roles]


def _proxy(service: Facts, user: Facts, release: Facts, required: Facts, role: str) -> Facts | None:
    """The routing sidecar of the servers of a role; None where the scheduler requires none."""
    wanted = next((sidecar for sidecar in required["sidecars"] if sidecar["on"] == role), None)
    return routing_proxy(service, user, release, wanted) if wanted else None
