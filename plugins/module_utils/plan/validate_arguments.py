# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments and environment of the user that contradict the plan, and requirements of a scheduler that a service does not meet. Pure."""

from __future__ import annotations

import json
import typing as t

from ..common.flags import flags_of
from ..common.objects import Facts
from ..epp.catalog.presets import SIDE_CHANNEL_PORT, SIDECAR_SERVER_PORT
from ..releases.deployed import ENGINE_DEFAULTS, LISTENER_VARIABLES, LISTENERS, OPTIONS, SHARED, WHOLE
from ..releases.gateways import POOL_PORTS
from ..releases.vllm import number_of
from ..schema.fields import Problem
from .draining import drain_problems
from .engine import block_size, dividing, ranks, vendor
from .multi_node import PARALLEL_FLAGS, meeting_port, scheduler_problems
from .weights import scheme, served_name

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
    **dict.fromkeys(("model-server-metrics-port", "model-server-metrics-path", "model-server-metrics-scheme"), ""),  # without them it looks where servers are
    "v": "scheduler.verbosity",
}
LEADERS = "ha-enable-leader-election"
TOKENS = "metrics-endpoint-auth"
LAST_PORT = 65535
FALSE = ("0", "f", "F", "false", "False", "FALSE")  # as Go reads it: https://pkg.go.dev/strconv#ParseBool
SIDE_CHANNEL = "VLLM_NIXL_SIDE_CHANNEL_PORT"
_EVENTS = "by it a server names itself in its KV events; the scheduler would take them for those of another."
_OURS_ALONE = {
    "POD_IP": _EVENTS,
    "SERVER_IP": _EVENTS,
    "VLLM_NIXL_SIDE_CHANNEL_HOST": "decode servers fetch KV caches from this address, and each prefill server has its own.",
}


def argument_problems(service: Facts, path: str, user: Facts) -> list[Problem]:
    """Arguments of the model server and of the endpoint picker that contradict an option, whatever the scheduler."""
    return [
        *_engine_arguments(service, path),
        *_parallel(service, path),
        *_ports(service, path),
        *_picker_arguments(service, path, user),
        *drain_problems(service, path, user),
    ]


def needs_problems(service: Facts, path: str, user: Facts, required: Facts) -> list[Problem]:
    """Requirements of the scheduler configuration (epp/config/requirements.py) that this service cannot meet."""
    return [
        *scheduler_problems(service, path, required),
        *_roles(service, path, required),
        *_taken_ports(service, path, required),
        *_events(service, path, required),
        *_tokenizer(service, path, user, required),
        *_required_arguments(service, path, required),
        *_required_environment(service, path, required),
    ]


def place_of(arguments: t.Sequence[str], flag: str, path: str) -> str:
    """The path of a flag in a list of arguments; `path` is that of the list."""
    for index, argument in enumerate(arguments):
        if argument.lstrip("-").replace(" ", "=").split("=", 1)[0] == flag:
            return f"{path}[{index}]"
    return path


def without_cache(service: Facts, path: str) -> list[tuple[str, t.Any]]:
    """(path, value) of everything in the user's file that turns off the prefix cache."""
    engine, theirs = service["engine"], flags_of(service["engine"]["args"])
    found: list[tuple[str, t.Any]] = [(f"{path}.engine.prefix_caching", False)] if engine["prefix_caching"] is False else []
    for flag in ("no-enable-prefix-caching", "disable-radix-cache", "enable-prefix-caching", "enable-kvcache"):
        if flag in theirs and (flag.startswith(("no-", "disable-")) or str(theirs[flag]).lower() == "false"):
            found.append((place_of(engine["args"], flag, f"{path}.engine.args"), theirs[flag]))
    return found


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
    theirs = flags_of(engine["args"])
    found = []
    if engine["type"] == "vllm" and "model" in theirs and service["accelerator"]["nodes"] == 1:
        why = "the model is the first argument of `vllm serve` already, and versions differ in which of two they take."
        found.append(Problem(place_of(engine["args"], "model", f"{path}.engine.args"), theirs["model"], why, "Take it out, and write model.uri."))
    elif engine["type"] not in WHOLE:
        again = [name for name in flags["model"] if name in theirs]
        found += [Problem(place_of(engine["args"], name, f"{path}.engine.args"), theirs[name], "is what model.uri says.", "Take it out.") for name in again]
    for word, value in values.items():
        for flag in flags.get(word, ()) if value is not None else ():
            said = theirs.get(flag)
            number = number_of(said) if said is not None and isinstance(value, int) else None
            if said is None or value in (said, number):
                continue
            why = f"--{flag}={said} contradicts {OPTIONS[word]}, which is {value}: the endpoint picker, the Services and the model servers all go by that."
            legal = said if isinstance(value, str) else number
            fix = f"Take it out and write {OPTIONS[word]}: {legal}." if legal is not None else f"Take it out, or take out {OPTIONS[word]}."
            found.append(Problem(place_of(engine["args"], flag, f"{path}.engine.args"), f"--{flag}={said}", why, fix))
    return found


def _parallel(service: Facts, path: str) -> list[Problem]:
    """Parallelism flags whose product is not the number of accelerators of one replica."""
    if service["engine"]["type"] == "simulator" or vendor(service) == "none":
        return []
    arguments, wanted = service["engine"]["args"], service["accelerator"]["per_replica"]
    theirs = flags_of(arguments)
    if service["accelerator"]["nodes"] > 1:
        fix = "Take it out; see accelerator.per_replica, accelerator.nodes and accelerator.across_nodes."
        return [
            Problem(place_of(arguments, flag, f"{path}.engine.args"), theirs[flag], f"--{flag} follows from the rest of the plan for several nodes.", fix)
            for flag in PARALLEL_FLAGS
            if flag in theirs
        ]
    shared = SHARED.get(service["engine"]["type"], "")
    if shared in theirs and service["accelerator"]["data"] > 1:
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
    shown = " ".join(f"{'--' if len(flag) > 2 else '-'}{flag}={value}" for flag, value in given.items())
    return [
        Problem(
            place_of(arguments, next(iter(given)), f"{path}.engine.args"),
            shown,
            f"{shown} needs {total} accelerators, and one replica has {wanted} (accelerator.per_replica).",
            f"Write accelerator.per_replica: {total}, or take the argument out: the engine is told to use all of them by tensor parallelism.",
        )
    ]


def _ports(service: Facts, path: str) -> list[Problem]:
    """More ranks with a port each than a pool has ports."""
    count = ranks(service)
    if count <= POOL_PORTS:
        return []
    why = f"has {count} ranks with a port each, and an InferencePool takes {POOL_PORTS} ports."
    return [Problem(f"{path}.engine.args", service["engine"]["args"], why, f"Write {POOL_PORTS} ranks or fewer, and more replicas.")]


def _picker_arguments(service: Facts, path: str, user: Facts) -> list[Problem]:
    arguments = service["scheduler"]["args"]
    theirs, where = flags_of(arguments), f"{path}.scheduler.args"
    found = [
        Problem(
            place_of(arguments, flag, where),
            theirs[flag],
            f"--{flag} follows from the rest of the plan.",
            f"Take it out; write {option} instead." if option else "Take it out.",
        )
        for flag, option in OWN_FLAGS.items()
        if flag in theirs
    ]
    if LEADERS in theirs and theirs[LEADERS] not in FALSE:
        found.append(
            Problem(
                place_of(arguments, LEADERS, where),
                theirs[LEADERS],
                "with leader election only the leader is ready: the new endpoint picker of a rollout would wait for ever for the old one to go.",
                "Take it out: with scheduler.replicas above 1 all of them answer.",
            )
        )
    if user["llm_d_monitoring"]["scrape"] and TOKENS in theirs and theirs[TOKENS] not in FALSE:
        found.append(
            Problem(
                place_of(arguments, TOKENS, where),
                theirs[TOKENS],
                "an endpoint picker that checks tokens needs permissions for the whole cluster, and so does what scrapes it: we grant neither.",
                "Take it out, or write 'scrape: false' under llm_d_monitoring and set up tokens, permissions and scraping yourself.",
            )
        )
    return found


def _roles(service: Facts, path: str, required: Facts) -> list[Problem]:
    found = []
    if "encode" in required["roles"]:
        found.append(
            Problem(
                f"{path}.scheduler.disaggregation.encode",
                True,
                "needs encode servers, which the collection does not set up.",
                "Take it out; prefill and decode can be told apart.",
            )
        )
    return found


def _taken_ports(service: Facts, path: str, required: Facts) -> list[Problem]:
    """Ports of a pod on which two of its parts would listen, and what is no port."""
    engine, events, own = service["engine"], f"{path}.scheduler.scorers.precise_prefix.kv_events_port", f"{path}.engine.port"
    found: dict[str, Problem] = {}
    # (first, how many, whose, the option): each rank has the next one.
    held = [(engine["port"], ranks(service), "where clients ask the server", own)]
    held += [(item["port"], _engines(service), "where the server publishes its KV events", events) for item in required["vllm"]["ports"]]
    if required["roles"]:
        held.append((SIDECAR_SERVER_PORT, ranks(service), "where a decode server listens behind its routing sidecar", ""))
    if required["roles"] and engine["type"] != "simulator":
        given, option = str(engine["env"].get(SIDE_CHANNEL, SIDE_CHANNEL_PORT)), f"{path}.engine.env.{SIDE_CHANNEL}"
        if not number_of(given):
            found[option] = Problem(option, None, "is no port, and vLLM reads one there.", f'Write one in quotes, such as "{SIDE_CHANNEL_PORT}".')
        held.append((number_of(given) or 0, service["accelerator"]["per_replica"], "where the server hands over KV caches", option))
    if meeting := meeting_port(service):
        held.append((meeting, 1, "where the nodes of a server meet", ""))
    held += _listeners(service, path)
    for index, (first, count, whose, option) in enumerate(held):
        if first + count - 1 > LAST_PORT:
            why = f"needs the ports up to {first + count - 1}, and {LAST_PORT} is the last one." if count > 1 else "is no port."
            found.setdefault(option, Problem(option, first, why, f"Write {LAST_PORT + 1 - count} or less."))
        for other, more, another, theirs in held[index + 1 :]:
            if first < other + more and other < first + count:
                place = option or theirs
                used = f"{f'uses {first} to {first + count - 1}, and ' if count > 1 and option else ''}{max(first, other)} is {another if option else whose}."
                fix = f"Write another port, such as {8080 if max(first, other) == 8000 else 8000}." if place == own else "Write another port."
                found.setdefault(place, Problem(place, first if option else other, used, fix))
    return list(found.values())


def _engines(service: Facts) -> int:
    """How many data-parallel engines a server has, each of which publishes KV events on a port of its own."""
    theirs = flags_of(service["engine"]["args"])
    given = [number_of(str(theirs.get(flag))) for flag in ENGINE_DEFAULTS[service["engine"]["type"]]["flags"].get("data", ())]
    return max(int(service["accelerator"]["data"]), *(number or 1 for number in given), 1)


def _listeners(service: Facts, path: str) -> list[tuple[int, int, str, str]]:
    """Where a server listens besides its port, as _taken_ports has it."""
    engine, asked = service["engine"], flags_of(service["engine"]["args"])
    found = []
    for flag, (by, usual, whose) in LISTENERS.get(engine["type"], {}).items():
        variable = LISTENER_VARIABLES.get(engine["type"], {}).get(flag, "")
        said = asked.get(flag) or engine["env"].get(variable) or usual
        port = number_of(str(said))
        if port is None or (by and by not in asked):
            continue
        option = (
            f"{path}.engine.env.{variable}"
            if flag not in asked and variable in engine["env"]
            else place_of(engine["args"], flag if flag in asked else by, f"{path}.engine.args")
        )
        found.append((port, 1, f"where {whose} listens (--{flag})", option))
    return found


def _events(service: Facts, path: str, required: Facts) -> list[Problem]:
    found = []
    replicas = service["scheduler"]["replicas"]
    if required["epp"]["publish_not_ready"] and replicas > 1:
        found.append(
            Problem(
                f"{path}.scheduler.replicas",
                replicas,
                "each server that dials sends its KV events to one endpoint picker only; the others would score it 0.",
                "Write replicas: 1, or kv_events: discover where the servers can be dialled (vLLM).",
            )
        )
    if service["engine"]["type"] == "simulator" and [sidecar for sidecar in required["sidecars"] if sidecar["kind"] == "render"]:
        found.append(
            Problem(
                f"{path}.scheduler",
                service["scheduler"]["preset"],
                "precise prefix matching of the router renders prompts with vLLM, whose token ids are not those of the simulator: every server would score 0.",
                "Use preset: prefix_aware, or llm_d_release: scheduler-0.7, whose tokenizer can be the simulator's.",
            )
        )
    return found


def _tokenizer(service: Facts, path: str, user: Facts, required: Facts) -> list[Problem]:
    """A tokenizer that only the engine's image has."""
    model, asked = service["model"], [sidecar for sidecar in required["sidecars"] if sidecar["on"] == "epp"]
    if not asked or service["engine"]["type"] == "simulator" or scheme(model) != "file" or user["llm_d_images"]["tokenizer"]:
        return []
    why = "is a folder of the engine's image, and precise prefix matching needs the tokenizer beside the endpoint picker as well."
    return [Problem(f"{path}.model.uri", model["uri"], why, "Write pvc://CLAIM/PATH, or an image with that folder under llm_d_images.tokenizer.")]


def _required_arguments(service: Facts, path: str, required: Facts) -> list[Problem]:
    """Flags that differ from what the scheduler requires: it would wait for KV events or transfers that never come."""
    arguments, needed = service["engine"]["args"], flags_of(required["vllm"]["args"])
    theirs, where = flags_of(arguments), f"{path}.engine.args"
    found = []
    for flag, value in needed.items():
        if flag not in theirs or theirs[flag] == value:
            continue
        if flag in _WHOLE_JSON:
            found += _WHOLE_JSON[flag](str(theirs[flag]), str(value), place_of(arguments, flag, where))
        elif flag not in ("block-size", "hash-seed", "event-batch-size"):  # the rules of the configuration judge the first two
            found.append(Problem(place_of(arguments, flag, where), theirs[flag], f"the scheduler needs --{flag}={value}.", "Take it out."))
    if "kv-events-config" in needed:
        why = "the scheduler matches prefixes by KV events, and without a prefix cache there are none."
        told = [problem.path for problem in found]
        found += [Problem(place, value, why, "Take it out.") for place, value in without_cache(service, path) if place not in told]
    return found


def _kv_events(theirs: str, ours: str, where: str) -> list[Problem]:
    """A --kv-events-config of the user that does not publish, or not on the port of the endpoint picker."""
    try:
        config = json.loads(theirs)
    except ValueError:
        return []  # a rule of the scheduler configuration reports it
    if not isinstance(config, dict) or config.get("enable_kv_cache_events") is not True:
        return [
            Problem(
                where,
                theirs,
                "replaces what the plan writes: the scheduler matches prefixes by KV events, and they are not switched on here.",
                f'Write "enable_kv_cache_events": true in it, or take it out: the plan writes {ours}.',
            )
        ]
    port, wanted = str(config.get("endpoint", "tcp://*:5557")).rpartition(":")[2], json.loads(ours)["endpoint"].rpartition(":")[2]
    if port != wanted:
        fix = f"Write port {wanted}, or kv_events_port: {port} under scheduler.scorers.precise_prefix."
        return [Problem(where, theirs, f"KV events are published on port {port}, and the endpoint picker listens on {wanted}.", fix)]
    if str(config.get("topic", "")).count("@") < 2:
        why = "replaces what the plan writes, and has no topic kv@ADDRESS:PORT@MODEL: the endpoint picker would not know whose events these are."
        return [Problem(where, theirs, why, f"Write it, or take it out: the plan writes {ours}.")]
    return []


def _kv_transfer(theirs: str, ours: str, where: str) -> list[Problem]:
    """A --kv-transfer-config of the user that transfers nothing."""
    try:
        config = json.loads(theirs)
    except ValueError:
        config = None
    if isinstance(config, dict) and config.get("kv_connector"):
        return []
    why = "replaces what the plan writes, and names no kv_connector: decode servers would get nothing from prefill servers."
    return [Problem(where, theirs, why, f'Write "kv_connector" in it, or take it out: the plan writes {ours}.')]


_WHOLE_JSON = {"kv-events-config": _kv_events, "kv-transfer-config": _kv_transfer}


def _required_environment(service: Facts, path: str, required: Facts) -> list[Problem]:
    theirs = service["engine"]["env"]
    needed = {item["name"] for item in required["vllm"]["env"]}
    return [
        Problem(f"{path}.engine.env.{name}", None, why, "Take it out.")
        for name, why in _OURS_ALONE.items()
        if name in needed and theirs.get(name, "$(POD_IP)") != "$(POD_IP)"
    ]
