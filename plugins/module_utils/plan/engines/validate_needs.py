# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements of a scheduler that a service does not meet: roles, ports, KV events, a tokenizer, arguments and environment of its servers. Pure."""

from __future__ import annotations

import json

from ...common.flags import flags_of, place_of
from ...common.objects import Facts
from ...epp.catalog.presets import SEED, SIDE_CHANNEL_PORT, SIDECAR_SERVER_PORT
from ...releases.deployed import ENGINE_DEFAULTS, LISTENER_VARIABLES, LISTENERS
from ...releases.vllm import number_of
from ...schema.fields import Problem
from ..parts.environment import stated
from .engine import ranks
from .multi_node import meeting_port, scheduler_problems
from .validate_arguments import without_cache
from .weights import model_uri

LAST_PORT = 65535
SIDE_CHANNEL = "VLLM_NIXL_SIDE_CHANNEL_PORT"
_EVENTS = "by it a server names itself in its KV events; the scheduler would take them for those of another."
_OURS_ALONE = {
    "POD_IP": _EVENTS,
    "SERVER_IP": _EVENTS,
    "VLLM_NIXL_SIDE_CHANNEL_HOST": "decode servers fetch KV caches from this address, and each prefill server has its own.",
}


def followed_variables(service: Facts) -> set[str]:
    """Variables of model servers that the endpoint picker or other parts of the pod have to agree with."""
    return {SEED, SIDE_CHANNEL, *LISTENER_VARIABLES.get(service["engine"]["type"], {}).values()}


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


def _roles(service: Facts, path: str, required: Facts) -> list[Problem]:
    found = []
    if "encode" in required["roles"]:
        reason = "needs encode servers, which the collection does not set up."
        own = next((word for word in ("document", "plugins") if service["scheduler"].get(word)), None)
        if own:
            fix = "Take the profile and the decider of encode out of it; prefill and decode can be told apart."
            return [Problem(f"{path}.scheduler.{own}", None, reason, fix)]
        found.append(Problem(f"{path}.scheduler.disaggregation.encode", True, reason, "Take it out; prefill and decode can be told apart."))
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
        given, option = stated(engine["env"]).get(SIDE_CHANNEL, str(SIDE_CHANNEL_PORT)), f"{path}.engine.env.{SIDE_CHANNEL}"
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
        said = asked.get(flag) or stated(engine["env"]).get(variable) or usual
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
    if not asked or service["engine"]["type"] == "simulator" or model_uri(model).scheme != "file" or user["llm_d_images"]["tokenizer"]:
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
