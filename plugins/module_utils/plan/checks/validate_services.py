# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes in completed model services beyond single values. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...common.flags import place_of
from ...common.objects import Facts, mapping
from ...common.scalars import blank
from ...epp.config.draft import origin_of
from ...k8s.platform import amount
from ...releases.gateways import GATEWAY_PROVIDERS
from ...releases.lines import ACCELERATORS
from ...schema.fields import Problem
from ..engines.adapters import adapter_problems
from ..engines.aliases import alias_problems
from ..engines.api_keys import api_key_problems
from ..engines.engine import engine_problems, vendor
from ..engines.multi_node import node_problems, per_node
from ..engines.out_of_reach import reach_problems
from ..engines.sidecars import TOKENIZER_HEALTH_PORT
from ..engines.stages import agreement_problems, of_prefill, stage_problems
from ..engines.validate_arguments import argument_problems
from ..engines.validate_engine import scheduler_needs, sglang_problems
from ..engines.validate_needs import followed_variables, needs_problems
from ..engines.validate_vllm import version_problems, vllm_problems
from ..engines.weights import CLAIM_SUFFIX, model_uri, served_name, weights_problems
from ..gateways.endpoint_picker import PODS_SUFFIX, PORTS
from ..gateways.standalone import PORTS as STANDALONE_PORTS
from ..observability.autoscaling import autoscaling_problems
from ..parts.environment import environment_problems
from ..parts.names import PICKER_SUFFIXES, name_suffix, scheduler_namespace
from ..parts.overlays import label_problems
from ..servers.cache_server import SUFFIX as CACHE_SUFFIX
from ..servers.caches import cache_problems, with_caches
from ..servers.device_claims import device_claim_problems, inherited_claim_problems
from ..servers.pod_template import with_added_environment
from ..servers.server import DIRECT_SUFFIX, max_replicas
from ..servers.warmup import warmup_problems
from ..servers.warmup_job import SUFFIX as WARMUP_SUFFIX
from .validate_routes import header_problems

# Suffixes of derived object names; the longest one limits the length of a service's name.
SUFFIXES = (
    *("", "-decode", "-prefill", "-events", "-gateway", "-grafana", *PICKER_SUFFIXES.values(), PODS_SUFFIX),
    *(DIRECT_SUFFIX, CLAIM_SUFFIX, CACHE_SUFFIX, WARMUP_SUFFIX),
)  # without that of restore points: no ConfigMap has the name of a service itself
LONGEST_NAME = 63 - max(len(suffix) for suffix in SUFFIXES)


def unstated_features(element: t.Any, path: str) -> list[Problem]:
    """Problems of features of the scheduler without a value in any option, before defaults are added: the file does not say whether the feature is on."""
    block = mapping(mapping(element).get("scheduler"))
    problems = []
    for name, enough in (("disaggregation", "true"), ("flow_control", "enabled: true inside it")):
        options = mapping(block.get(name))
        if options and all(value is None or blank(value) for value in options.values()):
            reason = f"has no value in {', '.join(map(str, options))}."
            problems.append(Problem(f"{path}.scheduler.{name}", None, reason, f"Write {enough} for the defaults, or leave {name} out."))
    return problems


def service_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """The problems within one service. Variables that `container` adds to its servers follow the rules of engine.env."""
    view, places = with_added_environment(service, path)
    return [dataclasses.replace(problem, path=places.get(problem.path, problem.path)) for problem in _service_problems(view, path, user)]


def _service_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    tested = not (service["engine"]["image"] or user["llm_d_images"][service["engine"]["type"]])
    problems = _name_problems(service, path, name_suffix(user))
    problems += _model_problems(service, path) + alias_problems(service, path, user) + adapter_problems(service, path)
    problems += _server_problems(service, path, user, tested)
    problems += node_problems(service, path, name_suffix(user))
    problems += autoscaling_problems(service, path, user["llm_d_monitoring"]["interval"])
    problems += label_problems(service["labels"], f"{path}.labels") + header_problems(service, path, user)
    problems += warmup_problems(service, path, name_suffix(user))
    if service["service_account"] == service["name"]:
        why = "is the account that we make ourselves where none is named."
        problems.append(Problem(f"{path}.service_account", service["service_account"], why, "Take it out, or name one that is there."))
    problems += environment_problems(service["scheduler"]["env"], f"{path}.scheduler.env")
    problems += cache_problems(service, path, user, service["configuration"].requires["vllm"])
    problems += weights_problems(service, path, _servers(service), tested)
    contradictions = argument_problems(service, path, user) + api_key_problems(service, path, user)
    # The scheduler is checked only when the servers are right, and the command line when it is complete, so that each mistake is reported once.
    problems += contradictions or _scheduler_problems(service, path, user) or _unknown_arguments(service, path, user, {problem.path for problem in problems})
    return problems + _prefill_problems(service, path, user, tested, {problem.path for problem in problems})


def _server_problems(service: Facts, path: str, user: Facts, tested: bool) -> list[Problem]:
    """Mistakes in the options of servers. tested: whether the engine is the tested image."""
    problems = engine_problems(service, path, tested) + version_problems(service, path, user) + reach_problems(service, path)
    problems += device_claim_problems(service, path)
    return problems + _accelerator_problems(service, path) + environment_problems(service["engine"]["env"], f"{path}.engine.env", followed_variables(service))


def _prefill_problems(service: Facts, path: str, user: Facts, tested: bool, reported: set[str]) -> list[Problem]:
    """Mistakes in the options of prefill servers, by the same rules. reported: paths of the mistakes in the rest of the service."""
    if agreed := agreement_problems(service, path) + inherited_claim_problems(service, path):
        return agreed
    view, place = of_prefill(service), f"{path}.prefill"
    problems = _server_problems(view, place, user, tested) + argument_problems(view, place, user) + api_key_problems(view, place, user)
    if not problems and not reported:
        requires = service["configuration"].requires
        problems = (needs_problems(view, place, user, requires) if requires["roles"] else []) or _unknown_arguments(view, place, user, set())
    return stage_problems(service, path, problems, reported)


def object_names(services: t.Iterable[str]) -> dict[str, str]:
    """{name of an object: name of the service that it is for}."""
    return {name + suffix: name for name in services for suffix in SUFFIXES}


def name_problems(services: t.Iterable[tuple[str, Facts]]) -> list[Problem]:
    """Problems of services with the same names or derived names. Takes (path, service) pairs."""
    owners: dict[str, tuple[str, str]] = {}
    return [problem for path, service in services for problem in _same_name(service["name"], path, owners)]


def front_problems(services: t.Sequence[tuple[str, Facts]]) -> list[Problem]:
    """Problems of Services in front of servers with a name that Kubernetes rejects, or that another object has. Takes (path, service) pairs."""
    problems = []
    taken = object_names(service["name"] for _path, service in services)
    for path, service in services:
        name, place = service["service"]["name"], f"{path}.service.name"
        if not name or name == service["name"]:
            continue
        if name[0].isdigit():
            problems.append(Problem(place, name, "begins with a digit, and a Service has to begin with a letter.", f"Write a name such as m-{name}."))
        elif name in taken:
            why = f"objects of this service and of model service '{taken[name]}' would both be named '{name}'."
            problems.append(Problem(place, name, why, "Write another name, or take it out."))
        taken[name] = service["name"]
    return problems


def _name_problems(service: Facts, path: str, ending: str) -> list[Problem]:
    name, longest = service["name"], LONGEST_NAME - len(ending)
    if name[0].isdigit():
        why = f"'{name}' begins with a digit, and the Service of this name has to begin with a letter."
        return [Problem(f"{path}.name", name, why, f"Write a name that begins with a letter, such as m-{name.removesuffix(ending)}.")]
    if len(name) <= LONGEST_NAME:
        return []
    return [
        Problem(
            f"{path}.name",
            name,
            f"'{name}' has {len(name)} characters; with endings such as '-prefill' it would pass the 63 that Kubernetes allows.",
            f"Write a name of at most {longest} characters, such as {name[:longest].rstrip('-')}.",
        )
    ]


def _model_problems(service: Facts, path: str) -> list[Problem]:
    model, simulated = service["model"], service["engine"]["type"] == "simulator"
    problems = []
    if not simulated and not model["uri"]:
        problems.append(
            Problem(f"{path}.model.uri", None, "is missing, and the engine has no model to load.", "Write hf://ORGANISATION/MODEL, or one of the other forms.")
        )
    elif not served_name(model):
        problems.append(
            Problem(f"{path}.model.served_name", None, "is missing, so that clients have no name to ask for.", f"Write a name such as {service['name']}.")
        )
    return problems


def _accelerator_problems(service: Facts, path: str) -> list[Problem]:
    accelerator, brand = service["accelerator"], vendor(service)
    resource, problems = accelerator["resource"] or ACCELERATORS[brand]["resource"], []
    for part, amounts in (service["resources"] or {}).items():
        wanted = amount((amounts or {}).get(resource))
        if resource in (amounts or {}) and brand != "none" and not accelerator["claim"] and wanted != per_node(service):
            why = f"contradicts accelerator.per_replica ({accelerator['per_replica']}), which would replace it."
            fix = f"Take it out, and write accelerator.per_replica: {wanted * accelerator['nodes']:f}." if wanted == int(wanted) > 0 else "Take it out."
            problems.append(Problem(f"{path}.resources.{part}.{resource}", amounts[resource], why, fix))
        for key, value in (amounts or {}).items():
            if "/" in key and key != resource and amount(value) % 1:
                why, fix = "is of a device, and Kubernetes gives whole ones only.", f"Write a whole number, such as {int(amount(value)) + 1}."
                problems.append(Problem(f"{path}.resources.{part}.{key}", value, why, fix))
    if accelerator["product"] and not ACCELERATORS[brand]["product_label"]:
        problems.append(Problem(f"{path}.accelerator.product", accelerator["product"], f"is not in the node labels of vendor {brand}.", "Use node_selector."))
    if (accelerator["resource"] or "").startswith("nvidia.com/mig-") and accelerator["per_replica"] > 1:
        problems.append(
            Problem(
                f"{path}.accelerator.per_replica",
                accelerator["per_replica"],
                "a process sees one MIG slice only, so that a model cannot be spread over several.",
                "Write 1, with a larger slice, or whole GPUs.",
            )
        )
    if brand == "none" and (accelerator["resource"] or accelerator["per_replica"] > 1):
        problems.append(
            Problem(
                f"{path}.accelerator.vendor",
                brand,
                "says that there is no accelerator, but other options request some.",
                "Write the vendor, or take out resource and per_replica.",
            )
        )
    return problems


def _servers(service: Facts) -> int:
    """The largest number of pods that load the model."""
    prefill = max_replicas(service, "prefill") if "prefill" in service["configuration"].requires["roles"] else 0
    return (max_replicas(service, "decode") + prefill) * int(service["accelerator"]["nodes"])


def _scheduler_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    built = service["configuration"]
    problems = [dataclasses.replace(problem, path=_scheduler_place(problem.path, path, service)) for problem in built.problems]
    elsewhere = scheduler_namespace(user) != user["llm_d_namespace"] and any(sidecar["on"] == "epp" for sidecar in built.requires["sidecars"])
    if elsewhere and service["engine"]["type"] != "simulator" and model_uri(service["model"]).scheme == "pvc":
        why = "the tokenizer beside the endpoint picker would mount the claim of the model, which is in the namespace of the servers."
        fix = "Take it out, or write another preset, such as preset: prefix_aware."
        problems.append(Problem("llm_d_scheduler_namespace", user["llm_d_scheduler_namespace"], why, fix))
    if not problems:
        problems = scheduler_needs(service, path, built) or needs_problems(service, path, user, built.requires)
    provider = GATEWAY_PROVIDERS[user["llm_d_gateway"]["provider"]]
    events = {each["name"]: each["port"] for each in built.requires["epp"]["ports"]}
    beside = {**PORTS, **{each["name"]: each.get("port") or TOKENIZER_HEALTH_PORT for each in built.requires["sidecars"] if each["on"] == "epp"}}
    beside |= STANDALONE_PORTS if user["llm_d_gateway"]["provider"] == "standalone" else {}
    grpc, within = service["scheduler"]["grpc_port"], "in the pod of the endpoint picker."
    if taken := [name for name, port in {**beside, **events}.items() if port == grpc]:
        problems.append(
            Problem(f"{path}.scheduler.grpc_port", grpc, f"is the port for its {taken[0]} {within}", "Write another port, or take it out for 9002.")
        )
    for name in (name for name, port in beside.items() if port in events.values()):
        place = f"{path}.scheduler.scorers.precise_prefix.kv_events_port"
        problems.append(Problem(place, beside[name], f"is the port for its {name} {within}", "Write another port, or take it out for 5557."))
    wanted = service["scheduler"]["failure_mode"]
    if provider and wanted and wanted not in provider["failure_modes"]:
        can = " or ".join(provider["failure_modes"])
        problems.append(
            Problem(
                f"{path}.scheduler.failure_mode",
                wanted,
                f"'{wanted}' is not supported with {user['llm_d_gateway']['provider']}.",
                f"Write {can}, or take it out.",
            )
        )
    return problems


def _unknown_arguments(service: Facts, path: str, user: Facts, reported: set[str]) -> list[Problem]:
    """Arguments that the version of the engine does not have, at paths without a reported problem."""
    required = with_caches(service, service["configuration"].requires["vllm"])
    problems = vllm_problems(service, path, user, required) + sglang_problems(service, path, user)
    return [problem for problem in problems if problem.path not in reported]


def _scheduler_place(inner: str, path: str, service: Facts) -> str:
    """The path in the user's file for a path that the scheduler configuration reports."""
    if inner.endswith("kvEventsConfig.topicFilter"):  # set by the server's flag
        return place_of(service["engine"]["args"], "kv-events-config", f"{path}.engine.args")
    places = {"": f"{path}.scheduler.", "server_env": f"{path}.engine.env", "epp_args": f"{path}.scheduler.args", "release": "llm_d_release"}
    return origin_of(inner, places).rstrip(".")


def _same_name(name: str, path: str, owners: dict[str, tuple[str, str]]) -> list[Problem]:
    """The problem of a name that collides with an earlier one. owners: {object name: (path, service name)}, to which those of this name are added."""
    for suffix in SUFFIXES:
        owner = owners.get(name + suffix)
        if owner is not None:
            what = (
                f"'{name}' is the name of {owner[0]} too."
                if owner[1] == name
                else f"'{name}' and '{owner[1]}' ({owner[0]}) would share the object name '{name}{suffix}'."
            )
            return [Problem(f"{path}.name", name, what, "Give each model service a name of its own.")]
    owners.update({name + suffix: (path, name) for suffix in SUFFIXES})
    return []
