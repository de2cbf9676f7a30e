# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes in completed model services beyond single values. Pure."""

from __future__ import annotations

import typing as t

from ..common.objects import Facts
from ..releases.gateways import GATEWAY_PROVIDERS
from ..releases.lines import ACCELERATORS
from ..schema.fields import Problem
from .autoscaling import autoscaling_problems
from .endpoint_picker import configuration
from .engine import engine_problems, vendor
from .multi_node import node_problems
from .pod_spec import SERVICE_LABEL
from .server import max_replicas
from .validate_arguments import argument_problems, needs_problems, place_of
from .validate_vllm import version_problems, vllm_problems
from .warmup import warmup_problems
from .weights import CLAIM_SUFFIX, served_name, weights_problems

# Suffixes of derived object names; the longest one limits the length of a service's name.
SUFFIXES = ("", "-epp", "-decode", "-prefill", "-events", "-gateway", "-grafana", "-epp-pods", CLAIM_SUFFIX)
LONGEST_NAME = 63 - max(len(suffix) for suffix in SUFFIXES)
OWN_LABELS = ("llm-d.ai/", "app.kubernetes.io/", "inference.networking.")


def service_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """The problems within one service."""
    found = _name_problems(service, path)
    found += _model_problems(service, path)
    found += engine_problems(service, path) + version_problems(service, path)
    found += _accelerator_problems(service, path)
    found += node_problems(service, path)
    found += autoscaling_problems(service, path)
    found += _label_problems(service, path)
    found += warmup_problems(service, path)
    if service["service_account"] == service["name"]:
        why = "is the account that we make ourselves where none is named."
        found.append(Problem(f"{path}.service_account", service["service_account"], why, "Take it out, or name one that is there."))
    tested = not (service["engine"]["image"] or user["llm_d_images"]["vllm"])
    found += weights_problems(service, path, _servers(service, user), tested)
    contradictions = argument_problems(service, path, user)
    # The scheduler is checked only when the servers are right, and the command line when it is complete, so that each mistake is reported once.
    found += contradictions or _scheduler_problems(service, path, user) or _unknown_arguments(service, path, user, {problem.path for problem in found})
    return found


def object_names(services: t.Iterable[str]) -> dict[str, str]:
    """{name of an object: name of the service that it is for}."""
    return {name + suffix: name for name in services for suffix in SUFFIXES}


def name_problems(services: t.Iterable[tuple[str, Facts]]) -> list[Problem]:
    """Services with colliding names or derived names. Takes (path, service) pairs."""
    seen: dict[str, tuple[str, str]] = {}
    return [problem for path, service in services for problem in _same_name(service["name"], path, seen)]


def route_problems(services: t.Iterable[tuple[str, Facts]]) -> list[Problem]:
    """Services with the same host and path. Takes (path, service) pairs."""
    seen: dict[tuple[str, str], tuple[str, Facts]] = {}
    return [problem for path, service in services for problem in _same_route(service, path, seen)]


def _name_problems(service: Facts, path: str) -> list[Problem]:
    name = service["name"]
    if name[0].isdigit():
        why = f"'{name}' begins with a digit, and the Service of this name has to begin with a letter."
        return [Problem(f"{path}.name", name, why, f"Write a name that begins with a letter, such as m-{name}.")]
    if len(name) <= LONGEST_NAME:
        return []
    return [
        Problem(
            f"{path}.name",
            name,
            f"'{name}' has {len(name)} characters; with endings such as '-prefill' it would pass the 63 that Kubernetes allows.",
            f"Write a name of at most {LONGEST_NAME} characters, such as {name[:LONGEST_NAME].rstrip('-')}.",
        )
    ]


def _model_problems(service: Facts, path: str) -> list[Problem]:
    model, simulated = service["model"], service["engine"]["type"] == "simulator"
    found = []
    if not simulated and not model["uri"]:
        found.append(
            Problem(f"{path}.model.uri", None, "is missing, and vLLM has no model to load.", "Write hf://ORGANISATION/MODEL, or one of the other forms.")
        )
    elif not served_name(model):
        found.append(
            Problem(f"{path}.model.served_name", None, "is missing, so that clients have no name to ask for.", f"Write a name such as {service['name']}.")
        )
    return found


def _accelerator_problems(service: Facts, path: str) -> list[Problem]:
    accelerator, brand = service["accelerator"], vendor(service)
    found = []
    if accelerator["product"] and not ACCELERATORS[brand]["product_label"]:
        found.append(
            Problem(f"{path}.accelerator.product", accelerator["product"], f"cannot be told from the node labels of vendor {brand}.", "Use node_selector.")
        )
    if (accelerator["resource"] or "").startswith("nvidia.com/mig-") and accelerator["per_replica"] > 1:
        found.append(
            Problem(
                f"{path}.accelerator.per_replica",
                accelerator["per_replica"],
                "a process sees one MIG slice only, so that a model cannot be spread over several.",
                "Write 1, with a larger slice, or whole GPUs.",
            )
        )
    if brand == "none" and (accelerator["resource"] or accelerator["per_replica"] > 1):
        found.append(
            Problem(
                f"{path}.accelerator.vendor",
                brand,
                "says that there is no accelerator, yet some are asked for.",
                "Write the vendor, or take out resource and per_replica.",
            )
        )
    return found


def _label_problems(service: Facts, path: str) -> list[Problem]:
    """Labels by which pools and Services select: a server with the label of another service would be in two pools."""
    found = []
    for key, value in service["labels"].items():
        if key == SERVICE_LABEL:
            reason = f"is what InferencePools select servers by: these would be in the pool of '{value}' as well."
        elif key.startswith(OWN_LABELS):
            reason = "belongs to the collection, which selects pods by it."
        else:
            continue
        found.append(Problem(f"{path}.labels.{key}", value, reason, "Write a label with a prefix of your own."))
    return found


def _servers(service: Facts, user: Facts) -> int:
    """The largest number of pods that load the model."""
    prefill = max_replicas(service, "prefill") if "prefill" in configuration(service, user["llm_d_release"]).requires["roles"] else 0
    return (max_replicas(service, "decode") + prefill) * int(service["accelerator"]["nodes"])


def _scheduler_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    built = configuration(service, user["llm_d_release"])
    found = [Problem(_scheduler_place(problem.path, path, service), problem.value, problem.reason, problem.fix) for problem in built.problems]
    if not found:
        found = needs_problems(service, path, user, built.requires)
    provider = GATEWAY_PROVIDERS[user["llm_d_gateway"]["provider"]]
    wanted = service["scheduler"]["failure_mode"]
    if provider and wanted and wanted not in provider["failure_modes"]:
        can = " or ".join(provider["failure_modes"])
        found.append(
            Problem(
                f"{path}.scheduler.failure_mode", wanted, f"'{wanted}' cannot be had with {user['llm_d_gateway']['provider']}.", f"Write {can}, or take it out."
            )
        )
    return found


def _unknown_arguments(service: Facts, path: str, user: Facts, told: set[str]) -> list[Problem]:
    """Arguments that the version of vLLM refuses, at paths of which nothing was told."""
    required = configuration(service, user["llm_d_release"]).requires["vllm"]
    return [problem for problem in vllm_problems(service, path, user, required) if problem.path not in told]


def _scheduler_place(inner: str, path: str, service: Facts) -> str:
    """The path in the user's file for a path that the scheduler configuration reports."""
    if inner.endswith("kvEventsConfig.topicFilter"):  # set by the server's flag
        return place_of(service["engine"]["args"], "kv-events-config", f"{path}.engine.args")
    places = (("server_args", "engine.args"), ("server_env", "engine.env"), ("epp_args", "scheduler.args"))
    for theirs, ours in (*((word, f"{path}.{place}") for word, place in places), ("release", "llm_d_release")):
        if inner == theirs or inner.startswith((f"{theirs}[", f"{theirs}.")):
            return ours + inner[len(theirs) :]
    if inner.startswith("preset."):  # options of a preset are those of its one scorer with them
        inner = inner.replace("preset.", "scorers.precise_prefix.", 1)
    return f"{path}.scheduler.{inner}".rstrip(".")


def _same_name(name: str, path: str, seen: dict[str, tuple[str, str]]) -> list[Problem]:
    """`seen` maps every object name so far to (path, service name) of its owner."""
    for suffix in SUFFIXES:
        owner = seen.get(name + suffix)
        if owner is not None:
            what = (
                f"'{name}' is the name of {owner[0]} too."
                if owner[1] == name
                else f"'{name}' and '{owner[1]}' ({owner[0]}) would share the object name '{name}{suffix}'."
            )
            return [Problem(f"{path}.name", name, what, "Give each model service a name of its own.")]
    seen.update({name + suffix: (path, name) for suffix in SUFFIXES})
    return []


def _same_route(service: Facts, path: str, seen: dict[tuple[str, str], tuple[str, Facts]]) -> list[Problem]:
    prefix = service["route"]["path"].rstrip("/") or "/"
    found: list[Problem] = []
    for host in service["route"]["hostnames"] or ["*"]:
        owner = seen.setdefault((host, prefix), (path, service))
        if owner[1] is not service and not found:
            where = f"path '{prefix}'" + (f" of host '{host}'" if host != "*" else "")
            found.append(
                Problem(
                    f"{path}.route",
                    service["route"],
                    f"{where} leads to {owner[0]} ('{owner[1]['name']}') already.",
                    f"Write a path such as 'route: {{path: /{service['name']}}}', or hostnames of its own.",
                )
            )
    return found
