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
_EVENTS = "is the address of a server in its KV events: with another value, the scheduler would attribute them to another server."
_OURS_ALONE = {
    "POD_IP": _EVENTS,
    "SERVER_IP": _EVENTS,
    "VLLM_NIXL_SIDE_CHANNEL_HOST": "is the address from which decode servers fetch KV caches, which differs between prefill servers.",
}


def followed_variables(service: Facts) -> set[str]:
    """Variables of model servers whose values the plan also uses for the endpoint picker or for other parts of the pod."""
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
    problems = []
    if "encode" in required["roles"]:
        reason = "needs encode servers, which the collection does not set up."
        own = next((word for word in ("document", "plugins") if service["scheduler"].get(word)), None)
        if own:
            fix = "Take the profile and the decider of encode out of it; prefill and decode can be separate."
            return [Problem(f"{path}.scheduler.{own}", None, reason, fix)]
        problems.append(Problem(f"{path}.scheduler.disaggregation.encode", True, reason, "Take it out; prefill and decode can be separate."))
    return problems


def _taken_ports(service: Facts, path: str, required: Facts) -> list[Problem]:
    """Ports of a pod on which two of its parts would listen, and values that are no port."""
    engine, events, own = service["engine"], f"{path}.scheduler.scorers.precise_prefix.kv_events_port", f"{path}.engine.port"
    problems: dict[str, Problem] = {}
    # (first port, number of ports, purpose, path of the option): each rank has the next port.
    listeners = [(engine["port"], ranks(service), "where clients ask the server", own)]
    listeners += [(item["port"], _engines(service), "where the server publishes its KV events", events) for item in required["vllm"]["ports"]]
    if required["roles"]:
        listeners.append((SIDECAR_SERVER_PORT, ranks(service), "where a decode server listens behind its routing sidecar", ""))
    if required["roles"] and engine["type"] != "simulator":
        given, option = stated(engine["env"]).get(SIDE_CHANNEL, str(SIDE_CHANNEL_PORT)), f"{path}.engine.env.{SIDE_CHANNEL}"
        if not number_of(given):
            problems[option] = Problem(option, None, "is no port, and vLLM reads one there.", f'Write one in quotes, such as "{SIDE_CHANNEL_PORT}".')
        listeners.append((number_of(given) or 0, service["accelerator"]["per_replica"], "where the server hands over KV caches", option))
    if meeting := meeting_port(service):
        listeners.append((meeting, 1, "where the nodes of a server meet", ""))
    listeners += _listeners(service, path)
    for index, (first, count, purpose, option) in enumerate(listeners):
        if first + count - 1 > LAST_PORT:
            why = f"needs the ports up to {first + count - 1}, and {LAST_PORT} is the last one." if count > 1 else "is no port."
            problems.setdefault(option, Problem(option, first, why, f"Write {LAST_PORT + 1 - count} or less."))
        for other, other_count, other_purpose, other_option in listeners[index + 1 :]:
            if first < other + other_count and other < first + count:
                place = option or other_option
                used_for = other_purpose if option else purpose
                why = f"{f'uses {first} to {first + count - 1}, and ' if count > 1 and option else ''}{max(first, other)} is {used_for}."
                fix = f"Write another port, such as {8080 if max(first, other) == 8000 else 8000}." if place == own else "Write another port."
                problems.setdefault(place, Problem(place, first if option else other, why, fix))
    return list(problems.values())


def _engines(service: Facts) -> int:
    """The number of data-parallel engines of a server. Each publishes KV events on a port of its own."""
    user_flags = flags_of(service["engine"]["args"])
    given = [number_of(str(user_flags.get(flag))) for flag in ENGINE_DEFAULTS[service["engine"]["type"]]["flags"].get("data", ())]
    return max(int(service["accelerator"]["data"]), *(number or 1 for number in given), 1)


def _listeners(service: Facts, path: str) -> list[tuple[int, int, str, str]]:
    """Other ports on which the server listens: (port, number of ports, purpose, path of the option)."""
    engine, user_flags = service["engine"], flags_of(service["engine"]["args"])
    listeners = []
    for flag, (switch, default, listener) in LISTENERS.get(engine["type"], {}).items():
        variable = LISTENER_VARIABLES.get(engine["type"], {}).get(flag, "")
        value = user_flags.get(flag) or stated(engine["env"]).get(variable) or default
        port = number_of(str(value))
        if port is None or (switch and switch not in user_flags):
            continue
        option = (
            f"{path}.engine.env.{variable}"
            if flag not in user_flags and variable in engine["env"]
            else place_of(engine["args"], flag if flag in user_flags else switch, f"{path}.engine.args")
        )
        listeners.append((port, 1, f"where {listener} listens (--{flag})", option))
    return listeners


def _events(service: Facts, path: str, required: Facts) -> list[Problem]:
    problems = []
    replicas = service["scheduler"]["replicas"]
    if required["epp"]["publish_not_ready"] and replicas > 1:
        problems.append(
            Problem(
                f"{path}.scheduler.replicas",
                replicas,
                "must be 1: a server sends its KV events to one endpoint picker, and the others would score it 0.",
                "Write replicas: 1, or kv_events: discover, with which endpoint pickers connect to the servers (vLLM).",
            )
        )
    if service["engine"]["type"] == "simulator" and [sidecar for sidecar in required["sidecars"] if sidecar["kind"] == "render"]:
        problems.append(
            Problem(
                f"{path}.scheduler",
                service["scheduler"]["preset"],
                "precise prefix matching of the router renders prompts with vLLM, whose token ids are not those of the simulator: every server would score 0.",
                "Use preset: prefix_aware, or llm_d_release: scheduler-0.7, whose tokenizer can be the simulator's.",
            )
        )
    return problems


def _tokenizer(service: Facts, path: str, user: Facts, required: Facts) -> list[Problem]:
    """A tokenizer that only the image of the engine contains."""
    model, sidecars = service["model"], [sidecar for sidecar in required["sidecars"] if sidecar["on"] == "epp"]
    if not sidecars or service["engine"]["type"] == "simulator" or model_uri(model).scheme != "file" or user["llm_d_images"]["tokenizer"]:
        return []
    why = "is a folder of the engine's image, and precise prefix matching needs the tokenizer beside the endpoint picker as well."
    return [Problem(f"{path}.model.uri", model["uri"], why, "Write pvc://CLAIM/PATH, or an image with that folder under llm_d_images.tokenizer.")]


def _required_arguments(service: Facts, path: str, required: Facts) -> list[Problem]:
    """Flags that differ from those that the scheduler requires: it would wait for KV events or transfers that never happen."""
    arguments, needed = service["engine"]["args"], flags_of(required["vllm"]["args"])
    user_flags, where = flags_of(arguments), f"{path}.engine.args"
    problems = []
    for flag, value in needed.items():
        if flag not in user_flags or user_flags[flag] == value:
            continue
        if flag in _WHOLE_JSON:
            problems += _WHOLE_JSON[flag](str(user_flags[flag]), str(value), place_of(arguments, flag, where))
        elif flag not in ("block-size", "hash-seed", "event-batch-size"):  # rules of the scheduler configuration check the first two
            problems.append(Problem(place_of(arguments, flag, where), user_flags[flag], f"the scheduler needs --{flag}={value}.", "Take it out."))
    if "kv-events-config" in needed:
        why = "the scheduler matches prefixes by KV events, and without a prefix cache there are none."
        reported = [problem.path for problem in problems]
        problems += [Problem(place, value, why, "Take it out.") for place, value in without_cache(service, path) if place not in reported]
    return problems


def _kv_events(argument: str, planned: str, place: str) -> list[Problem]:
    """A --kv-events-config of the user that publishes no events, or not on the port of the endpoint picker."""
    try:
        config = json.loads(argument)
    except ValueError:
        return []  # a rule of the scheduler configuration reports it
    if not isinstance(config, dict) or config.get("enable_kv_cache_events") is not True:
        return [
            Problem(
                place,
                argument,
                "replaces what the plan writes: the scheduler matches prefixes by KV events, and they are not switched on here.",
                f'Write "enable_kv_cache_events": true in it, or take it out: the plan writes {planned}.',
            )
        ]
    port, wanted = str(config.get("endpoint", "tcp://*:5557")).rpartition(":")[2], json.loads(planned)["endpoint"].rpartition(":")[2]
    if port != wanted:
        fix = f"Write port {wanted}, or kv_events_port: {port} under scheduler.scorers.precise_prefix."
        return [Problem(place, argument, f"KV events are published on port {port}, and the endpoint picker listens on {wanted}.", fix)]
    if str(config.get("topic", "")).count("@") < 2:
        why = "replaces what the plan writes, and has no topic kv@ADDRESS:PORT@MODEL: the endpoint picker would not know whose events these are."
        return [Problem(place, argument, why, f"Write it, or take it out: the plan writes {planned}.")]
    return []


def _kv_transfer(argument: str, planned: str, place: str) -> list[Problem]:
    """A --kv-transfer-config of the user that transfers nothing."""
    try:
        config = json.loads(argument)
    except ValueError:
        config = None
    if isinstance(config, dict) and config.get("kv_connector"):
        return []
    why = "replaces what the plan writes, and names no kv_connector: decode servers would get nothing from prefill servers."
    return [Problem(place, argument, why, f'Write "kv_connector" in it, or take it out: the plan writes {planned}.')]


_WHOLE_JSON = {"kv-events-config": _kv_events, "kv-transfer-config": _kv_transfer}


def _required_environment(service: Facts, path: str, required: Facts) -> list[Problem]:
    env = service["engine"]["env"]
    needed = {item["name"] for item in required["vllm"]["env"]}
    return [
        Problem(f"{path}.engine.env.{name}", None, why, "Take it out.")
        for name, why in _OURS_ALONE.items()
        if name in needed and env.get(name, "$(POD_IP)") != "$(POD_IP)"
    ]
