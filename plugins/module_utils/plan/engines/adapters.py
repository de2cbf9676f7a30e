# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LoRA adapters of model services: arguments of servers that load them at startup, and the options of vllm_adapters for those loaded at run time. Pure."""

from __future__ import annotations

import json
import typing as t

from ...common.flags import flags_of, place_of
from ...common.labels import label_selector
from ...common.objects import Facts
from ...releases.deployed import ADAPTER_SETTINGS
from ...releases.engines import ENGINES
from ...schema.fields import Problem
from .weights import served_name

_FLAG, _OFF = "lora-modules", "no-enable-lora"
# vLLM with several API server processes refuses to load adapters at run time: only one of the processes would have them.
_PROCESSES = ("data-parallel-size", "dp", "api-server-count", "asc")


def adapter_arguments(service: Facts) -> list[str]:
    """The arguments for adapters. They do not name adapters that are loaded at run time, so a change of these replaces no pod."""
    model, own = service["model"], flags_of(service["engine"]["args"])
    if not (model["adapters"] or model["adapters_at_runtime"]):
        return []
    flags = [flag for flag in ADAPTER_SETTINGS[service["engine"]["type"]]["args"] if flag.lstrip("-") not in own]
    if model["adapters_at_runtime"]:
        return flags
    return [*flags, f"--{_FLAG}", *(json.dumps({"name": each["name"], "path": each["source"]}) for each in model["adapters"])]


def adapter_environment(service: Facts) -> list[Facts]:
    """The environment variables for adapters at run time."""
    if not service["model"]["adapters_at_runtime"]:
        return []
    return [{"name": name, "value": value} for name, value in ADAPTER_SETTINGS[service["engine"]["type"]]["env"].items()]


def runtime_adapters(services: t.Sequence[Facts], planned: t.Sequence[Facts], namespace: str) -> list[Facts]:
    """The services that load adapters at run time and have servers, as the module vllm_adapters takes them.

    services: those of the user's file, completed; planned: the same services as planned, in the same order.
    """
    return [
        {
            "name": facts["name"],
            "adapters": service["model"]["adapters"],
            "replicas": [engine_targets(server, namespace) for server in facts["servers"] if server["replicas"]],
        }
        for service, facts in zip(services, planned, strict=True)
        if service["model"]["adapters_at_runtime"] and any(server["replicas"] for server in facts["servers"])
    ]


def engine_targets(server: Facts, namespace: str) -> Facts:
    """The planned servers of one role as an element of the option `replicas` of vllm_adapters: the server itself, also behind a routing sidecar."""
    key = {"api_key_secret": server["api_key_secret"]} if server["api_key_secret"] else {}
    return {"namespace": namespace, "label_selector": label_selector(server["selector"]), "port": str(server["engine_port"]), **key}


def adapter_problems(service: Facts, path: str) -> list[Problem]:
    """Adapters that the servers cannot load, or that no request could name."""
    model, engine, place = service["model"], service["engine"], f"{path}.model.adapters"
    if not (model["adapters"] or model["adapters_at_runtime"]):
        return []
    if engine["type"] not in ADAPTER_SETTINGS:
        known, title = " or ".join(f"'type: {name}'" for name in ADAPTER_SETTINGS), ENGINES[engine["type"]].title
        option = "adapters" if model["adapters"] else "adapters_at_runtime"
        why = f"is not set up for {title}."
        return [Problem(f"{path}.model.{option}", model[option], why, f"Write {known}, or the arguments of {title} under engine.args.")]
    problems, user_flags, args_path = [], flags_of(engine["args"]), f"{path}.engine.args"
    if _FLAG in user_flags:
        problems.append(
            Problem(place_of(engine["args"], _FLAG, args_path), user_flags[_FLAG], "duplicates model.adapters.", "Take it out, and write them there.")
        )
    if _OFF in user_flags:
        problems.append(
            Problem(place_of(engine["args"], _OFF, args_path), f"--{_OFF}", "leaves servers that load no adapters.", "Take it out, or take out adapters.")
        )
    taken = {str(served_name(model)): "the served name", **dict.fromkeys(model["aliases"], "an alias")}
    for index, adapter in enumerate(model["adapters"]):
        if holder := taken.get(adapter["name"]):
            problems.append(Problem(f"{place}[{index}].name", adapter["name"], f"is {holder} already.", "Write another name."))
        taken[adapter["name"]] = "another adapter"
    if model["adapters_at_runtime"]:
        why, fix = (
            "has several processes answer, and vLLM cannot load adapters into all of them while they run.",
            "Take it out, or take out adapters_at_runtime.",
        )
        problems += [
            Problem(place_of(engine["args"], flag, args_path), user_flags[flag], why, fix) for flag in _PROCESSES if user_flags.get(flag) not in (None, "1")
        ]
        if service["accelerator"]["data"] > 1:
            problems.append(Problem(f"{path}.accelerator.data", service["accelerator"]["data"], why, fix))
    return problems
