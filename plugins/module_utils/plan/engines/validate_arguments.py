# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of the user that contradict an option of the file, independent of the scheduler. Pure."""

from __future__ import annotations

import typing as t

from ...common.flags import flags_of, place_of
from ...common.objects import Facts
from ...releases.deployed import DP_ATTENTION_FLAG, ENGINE_DEFAULTS, FULL_SUPPORT, OPTIONS
from ...releases.gateways import MAX_POOL_PORTS
from ...releases.vllm import number_of
from ...schema.fields import Problem
from .draining import drain_problems
from .engine import block_size, dividing, ranks, vendor
from .multi_node import PARALLEL_FLAGS
from .weights import served_name

# Flags of the endpoint picker that the plan derives, and the option that sets the same.
OWN_FLAGS = {
    "pool-name": "",
    "pool-namespace": "llm_d_namespace",
    "pool-group": "llm_d_release",
    "config-file": "scheduler.document",
    "config-text": "scheduler.document",
    "grpc-port": "",
    "grpc-health-port": "",
    "metrics-port": "",
    "secure-serving": "",
    **dict.fromkeys(("endpoint-selector", "endpoint-target-ports"), ""),
    **dict.fromkeys(
        ("model-server-metrics-port", "model-server-metrics-path", "model-server-metrics-scheme"), ""
    ),  # by default it uses the address of each server
    "v": "scheduler.verbosity",
}
LEADERS = "ha-enable-leader-election"
TOKENS = "metrics-endpoint-auth"
FALSE = ("0", "f", "F", "false", "False", "FALSE")  # as Go reads it: https://pkg.go.dev/strconv#ParseBool


def argument_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """Arguments of the model server and of the endpoint picker that contradict an option, independent of the scheduler."""
    return [
        *_engine_arguments(service, path),
        *_parallel(service, path),
        *_ports(service, path),
        *_picker_arguments(service, path, user),
        *drain_problems(service, path, user),
    ]


def without_cache(service: Facts, path: str) -> list[tuple[str, t.Any]]:
    """(path, value) of each setting of the user's file that disables the prefix cache."""
    engine, user_flags = service["engine"], flags_of(service["engine"]["args"])
    settings: list[tuple[str, t.Any]] = [(f"{path}.engine.prefix_caching", False)] if engine["prefix_caching"] is False else []
    for flag in ("no-enable-prefix-caching", "disable-prefix-caching", "disable-radix-cache", "enable-prefix-caching", "enable-kvcache"):
        if flag in user_flags and (flag.startswith(("no-", "disable-")) or str(user_flags[flag]).lower() == "false"):
            settings.append((place_of(engine["args"], flag, f"{path}.engine.args"), user_flags[flag]))
    return settings


def _engine_arguments(service: Facts, path: str) -> list[Problem]:
    engine, model = service["engine"], service["model"]
    values = {
        "port": engine["port"],
        "block_size": block_size(service),
        "max_model_len": engine["max_model_len"],
        "max_num_seqs": engine["max_num_seqs"],
        "served_name": served_name(model),
        "revision": model["revision"],
    }
    flags = ENGINE_DEFAULTS[engine["type"]]["flags"]
    user_flags = flags_of(engine["args"])
    problems = []
    if engine["type"] == "vllm" and "model" in user_flags and service["accelerator"]["nodes"] == 1:
        why = "the model is the first argument of `vllm serve` already, and versions differ in which of two they take."
        problems.append(Problem(place_of(engine["args"], "model", f"{path}.engine.args"), user_flags["model"], why, "Take it out, and write model.uri."))
    elif engine["type"] not in FULL_SUPPORT:
        again = [name for name in flags["model"] if name in user_flags]
        problems += [
            Problem(place_of(engine["args"], name, f"{path}.engine.args"), user_flags[name], "duplicates model.uri.", "Take it out.") for name in again
        ]
    for word, value in values.items():
        for flag in flags.get(word, ()) if value is not None else ():
            argument = user_flags.get(flag)
            number = number_of(argument) if argument is not None and isinstance(value, int) else None
            if argument is None or value in (argument, number):
                continue
            why = f"--{flag}={argument} contradicts {OPTIONS[word]}, which is {value}: the endpoint picker, the Services and the model servers all go by that."
            legal = argument if isinstance(value, str) else number
            fix = f"Take it out and write {OPTIONS[word]}: {legal}." if legal is not None else f"Take it out, or take out {OPTIONS[word]}."
            problems.append(Problem(place_of(engine["args"], flag, f"{path}.engine.args"), f"--{flag}={argument}", why, fix))
    return problems


def _parallel(service: Facts, path: str) -> list[Problem]:
    """Parallelism flags whose product is not the number of accelerators of a replica."""
    if service["engine"]["type"] == "simulator" or vendor(service) == "none":
        return []
    arguments, wanted = service["engine"]["args"], service["accelerator"]["per_replica"]
    user_flags = flags_of(arguments)
    if service["accelerator"]["nodes"] > 1:
        fix = "Take it out; see accelerator.per_replica, accelerator.nodes and accelerator.across_nodes."
        return [
            Problem(place_of(arguments, flag, f"{path}.engine.args"), user_flags[flag], f"--{flag} follows from the rest of the plan for several nodes.", fix)
            for flag in PARALLEL_FLAGS
            if flag in user_flags
        ]
    shared = DP_ATTENTION_FLAG.get(service["engine"]["type"], "")
    if shared in user_flags and service["accelerator"]["data"] > 1:
        why = f"is divided from the accelerators of tensor parallelism, which engines with --{shared} share."
        return [Problem(f"{path}.accelerator.data", service["accelerator"]["data"], why, "Take it out, and write --dp-size in engine.args.")]
    given = {word: str(value) for word, value in dividing(service).items() if value is not None}
    if not given or not all(value.isdigit() for value in given.values()):
        return []
    total = 1
    for value in given.values():
        total *= int(value)
    if total == wanted:
        return []
    shown = " ".join(f"--{flag}={value}" for flag, value in given.items())
    return [
        Problem(
            place_of(arguments, next(iter(given)), f"{path}.engine.args"),
            shown,
            f"{shown} needs {total} accelerators, and one replica has {wanted} (accelerator.per_replica).",
            f"Write accelerator.per_replica: {total}, or take the argument out: by default the engine uses all of them for tensor parallelism.",
        )
    ]


def _ports(service: Facts, path: str) -> list[Problem]:
    """More ranks with a port of their own than an InferencePool can have ports."""
    count = ranks(service)
    if count <= MAX_POOL_PORTS:
        return []
    why = f"has {count} ranks with a port each, and an InferencePool takes {MAX_POOL_PORTS} ports."
    return [Problem(f"{path}.engine.args", service["engine"]["args"], why, f"Write {MAX_POOL_PORTS} ranks or fewer, and more replicas.")]


def _picker_arguments(service: Facts, path: str, user: Facts) -> list[Problem]:
    arguments = service["scheduler"]["args"]
    user_flags, where = flags_of(arguments), f"{path}.scheduler.args"
    problems = [
        Problem(
            place_of(arguments, flag, where),
            user_flags[flag],
            f"--{flag} follows from the rest of the plan.",
            f"Take it out; write {option} instead." if option else "Take it out.",
        )
        for flag, option in OWN_FLAGS.items()
        if flag in user_flags
    ]
    if LEADERS in user_flags and user_flags[LEADERS] not in FALSE:
        problems.append(
            Problem(
                place_of(arguments, LEADERS, where),
                user_flags[LEADERS],
                "with leader election only the leader is ready: the new endpoint picker of a rollout would wait forever for the old one to go.",
                "Take it out: with scheduler.replicas above 1 all of them answer.",
            )
        )
    if user["llm_d_monitoring"]["scrape"] and TOKENS in user_flags and user_flags[TOKENS] not in FALSE:
        problems.append(
            Problem(
                place_of(arguments, TOKENS, where),
                user_flags[TOKENS],
                "an endpoint picker that checks tokens needs permissions for the whole cluster, and so does what scrapes it: we grant neither.",
                "Take it out, or write 'scrape: false' under llm_d_monitoring and set up tokens, permissions and scraping yourself.",
            )
        )
    return problems
