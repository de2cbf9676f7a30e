# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that become a flag or an environment variable of an engine, and mistakes in them. Pure."""

from __future__ import annotations

import json
import re
import typing as t

from ...common.flags import flags_of, whole_names
from ...common.objects import Facts
from ...releases import sglang, vllm
from ...releases.deployed import (
    CONTEXT_PARALLEL_FLAGS,
    DP_ATTENTION_FLAG,
    ENGINE_DEFAULTS,
    FILE_VARIABLE,
    LOG_LEVELS,
    NAME_VARIABLE,
    OPTIONS,
    REFUSED_IN_ARGS,
    TRITON_OPTIONS,
    engines_with,
    has_option,
)
from ...releases.engines import ENGINES
from ...releases.gateways import PLATFORMS
from ...releases.lines import ACCELERATORS
from ...releases.pairs import others, paired
from ...schema.fields import Problem
from ..parts.references import image
from .weights import model_uri, served_name

# Tokens in a KV-cache block of a simulator, and of vLLM where the endpoint picker has to know the size: the usual size on GPUs. On CPUs vLLM accepts
# only multiples of 32.
_BLOCK, _BLOCK_ON_CPU = 16, 32


_RANKS = ("data-parallel-size-local", "dpl", "data-parallel-size", "dp")
_RANKS_LISTEN = {"data-parallel-multi-port-external-lb", "dpm"}


def vendor(service: Facts) -> str:
    """The vendor of the accelerators that the servers run on."""
    return str(service["accelerator"]["vendor"] or ENGINE_DEFAULTS[service["engine"]["type"]]["vendor"])


def engine_image(service: Facts, user: Facts) -> str:
    """The image of the model servers: the user's, otherwise the one of the release line for their accelerators."""
    engine = service["engine"]
    tested = ENGINE_DEFAULTS[engine["type"]]
    default = paired(tested["images"].get(vendor(service), tested["image"]), engine["type"], user["llm_d_release"], tested["image"])
    return str(engine["image"] or image(user, engine["type"], default))


def other_pair(service: Facts, user: Facts, release: Facts, gateway: Facts) -> str:
    """How the vLLM and the inference extension of a service differ from those that upstream tested its release line with; empty if they do not."""
    from_upstream = gateway["pool"] and user["llm_d_crd_sources"]["inference_extension"] is None
    return others(user["llm_d_release"], vllm_version(service, user), release["crds_version"] if from_upstream else None)


def vllm_version(service: Facts, user: Facts) -> str | None:
    """The version of vLLM: the option, otherwise the one in the tag of the image; None if neither states it, and for other engines."""
    engine = service["engine"]
    if engine["type"] != "vllm":
        return None
    return str(engine["version"]) if engine["version"] else vllm.version_of(engine_image(service, user))


def spelled_out(service: Facts, user: Facts) -> list[str]:
    """engine.args with options in their full spelling, so that an option is found however it is written."""
    engine = service["engine"]
    if engine["type"] == "vllm":
        return vllm.spelled_out(engine["args"], vllm_version(service, user))
    if engine["type"] == "sglang":
        return sglang.spelled_out(engine["args"], sglang.version_of(engine_image(service, user)))
    if engine["type"] == "triton":
        return whole_names(engine["args"], TRITON_OPTIONS)
    if engine["type"] == "tgi":  # -p9000
        return [re.sub(r"\A-p=?(?=\d)", "--port=", argument) for argument in engine["args"]]
    return list(engine["args"])


def block_size(service: Facts) -> int | None:
    """Tokens in a KV-cache block; None if the engine decides."""
    engine = service["engine"]
    return t.cast("int | None", engine["block_size"] or (_BLOCK if engine["type"] == "simulator" else None))


def usual_block_size(service: Facts) -> int:
    """Tokens in a KV-cache block, with a default for components that have to know the number."""
    return block_size(service) or (_BLOCK_ON_CPU if vendor(service) == "none" else _BLOCK)


def max_model_len(service: Facts) -> int | None:
    """Tokens of the longest prompt with its answer, as set in the file; None if the engine uses the limit of the model."""
    engine, user_flags = service["engine"], flags_of(service["engine"]["args"])
    argument = next((user_flags[flag] for flag in ENGINE_DEFAULTS[engine["type"]]["flags"].get("max_model_len", ()) if user_flags.get(flag)), None)
    return t.cast("int | None", engine["max_model_len"]) or (vllm.number_of(argument) if argument else None)


def ranks(service: Facts) -> int:
    """The number of data-parallel ranks of a server that listen on consecutive ports of their own; 1 if all are behind one port."""
    engine = service["engine"]
    user_flags = flags_of(engine["args"])
    if engine["type"] == "simulator":
        given = user_flags.get("data-parallel-size")
    else:  # https://github.com/vllm-project/vllm/pull/40841; without the flag vLLM itself chooses the rank behind its one port
        given = next((user_flags[flag] for flag in _RANKS if user_flags.get(flag)), None) if _RANKS_LISTEN & user_flags.keys() else None
    return int(given) if given and given.isdecimal() and len(given) < 5 else 1


def dividing(service: Facts) -> dict[str, str | None]:
    """{flag: value} of the user's flags that divide the accelerators of a server of one node."""
    engine, user_flags = service["engine"]["type"], flags_of(service["engine"]["args"])
    options = ("tensor", "pipeline") if DP_ATTENTION_FLAG.get(engine) in user_flags else ("tensor", "pipeline", "data")
    words = [word for option in options for word in ENGINE_DEFAULTS[engine]["flags"].get(option, ())]
    return {word: user_flags[word] for word in (*words, *CONTEXT_PARALLEL_FLAGS.get(engine, ())) if word in user_flags}


def arguments(engine: Facts, values: Facts) -> list[str]:
    """The flags for the values that are set. values: by option, in the order of OPTIONS in releases/deployed.py."""
    flags = ENGINE_DEFAULTS[engine["type"]]["flags"]
    rendered = [_flag(flags[option], value, values) for option, value in values.items() if value is not None and option in flags]
    return [flag for flag in rendered if flag] + _level(engine, "--")


def _flag(names: tuple[str, ...], value: t.Any, values: Facts) -> str:
    if not isinstance(value, bool):
        return f"--{names[0]}={value}" if names[0] else str(value)
    name = names[0 if value else 1]
    return f"--{name}{values.get('tensor') or 1}" if name.endswith("=") else f"--{name}" if name else ""


def _level(engine: Facts, start: str) -> list[str]:
    """[`name=value`] of the log level, if it is set. start: "--" if the engine takes it as a flag, empty for a variable; [] if the engine takes the other."""
    name, words = ENGINE_DEFAULTS[engine["type"]]["level"]
    return [f"{name}={words[LOG_LEVELS.index(engine['log_level'])]}"] if engine["log_level"] and name.startswith("--") == (start == "--") else []


def environment(engine: Facts, values: Facts) -> list[Facts]:
    """The environment variables of the engine: its fixed ones, its log level, its configuration file."""
    facts = ENGINE_DEFAULTS[engine["type"]]
    variables = dict(facts["env"]) | dict(item.split("=", 1) for item in _level(engine, ""))
    if facts["file"]:
        variables |= {FILE_VARIABLE: _file(facts, values), NAME_VARIABLE: values["served_name"]}
    return [{"name": name, "value": value} for name, value in variables.items()]


def _file(facts: Facts, values: Facts) -> str:
    """The configuration file of an engine, in JSON."""
    text: Facts = dict(facts["settings"])
    for option, key in facts["file"].items():
        if values.get(option) is not None:
            head, _dot, rest = key.partition(".")
            text |= {head: {**text.get(head, {}), rest: values[option]} if rest else values[option]}
    return json.dumps(text, separators=(",", ":"))


def engine_problems(service: Facts, path: str, tested: bool) -> list[Problem]:
    """Options that the engine does not have, and options that engine.args or engine.env set again. tested: whether the image is the tested one."""
    return [*_simulator(service, path), *_unknown(service, path), *_vendor(service, path, tested), *_name(service, path), *_twice(service, path)]


def engine_warnings(service: Facts, roles: t.Collection[str]) -> list[str]:
    """Warnings about the servers that the user chose. roles: those of the scheduler; empty if it does not distinguish servers."""
    name = service["engine"]["type"]
    facts = ENGINE_DEFAULTS[name]
    warnings = [facts["warning"]] if facts["warning"] else []
    if service["warmup"] and not facts["cached_tokens"]:
        warnings.append(f"{ENGINES[name].title} does not say how many tokens of a prompt were cached, so the effect of the warm-up cannot be checked")
    scaled = service["autoscaling"] or (service["prefill"] or {}).get("autoscaling")
    if service["model"]["adapters_at_runtime"] and scaled and not (service["warmup"] or {}).get("schedule"):
        warnings.append("servers that its autoscaler adds have no adapters until the next run; warmup.schedule loads them before")
    if "prefill" not in roles and any(value is not None for value in service["prefill"].values()):
        settings = service["scheduler"]
        own = any(settings[option] for option in ("scorers", "filters", "picker", "disaggregation", "plugins", "profiles", "document"))
        which = "your scheduler" if own and not settings["preset"] else f"scheduler preset {settings['preset'] or 'default'}"
        warnings.append(f"prefill is not used, since {which} has no prefill servers (preset: disaggregated has)")
    return [f"{service['name']}: {text}." for text in warnings]


def runtime_warnings(service: Facts, user: Facts) -> list[str]:
    """A warning if the platform does not make the container runtime of its GPUs the default. NVIDIA's operator needs no runtime class since 25.10 (CDI)."""
    name = PLATFORMS[user["llm_d_platform"]].get("runtime_class")
    if not name or vendor(service) != "nvidia" or user["llm_d_gpus"]["operator"] != "none" or "runtimeClassName" in (service["pod"] or {}):
        return []
    why = f"{user['llm_d_platform']} gives GPUs to pods of the runtime class {name}, unless that is its default runtime"
    return [f"{service['name']}: {why}. Write 'pod: {{runtimeClassName: {name}}}', or have NVIDIA's operator installed."]


def _simulator(service: Facts, path: str) -> list[Problem]:
    engine = service["engine"]
    simulator = engine["simulator"]
    if engine["type"] != "simulator":
        if simulator is None:
            return []
        return [Problem(f"{path}.engine.simulator", simulator, f"is not for an engine of type {engine['type']}.", "Take it out, or write 'type: simulator'.")]
    both = [option for option in ("prefill_overhead", "prefill_time_per_token") if simulator and simulator[option]]
    if simulator and simulator["time_to_first_token"] and both:
        return [
            Problem(
                f"{path}.engine.simulator.time_to_first_token",
                simulator["time_to_first_token"],
                f"would make the simulator ignore {' and '.join(both)}.",
                f"Take out either time_to_first_token or {' and '.join(both)}.",
            )
        ]
    return []


def _unknown(service: Facts, path: str) -> list[Problem]:
    """Options under engine that this engine does not have, or that have no effect here."""
    engine = service["engine"]
    name = engine["type"]
    problems = []
    for option, place in OPTIONS.items():
        part, _dot, word = place.partition(".")
        if part == "engine" and engine[word] is not None and not has_option(name, option):
            problems.append(
                Problem(f"{path}.{place}", engine[word], f"is no option of {ENGINES[name].title}.", f"Take it out, or write type: {engines_with(option)}.")
            )
    value = engine["gpu_memory_utilization"]
    if value is not None and name != "simulator" and not ACCELERATORS[vendor(service)]["resource"]:
        why = "is of no use: there is no accelerator whose memory it could divide."
        problems.append(Problem(f"{path}.engine.gpu_memory_utilization", value, why, "Take it out."))
    return problems


def _vendor(service: Facts, path: str, tested: bool) -> list[Problem]:
    """Accelerators for which there is no tested image."""
    name, brand = service["engine"]["type"], vendor(service)
    facts = ENGINE_DEFAULTS[name]
    if name == "simulator" or not tested or brand in (facts["vendor"], *facts["images"]):
        return []
    why = f"has no tested image of {ENGINES[name].title}, only {facts['vendor']} has."
    return [Problem(f"{path}.accelerator.vendor", brand, why, f"Write the image under engine.image, vendor: {facts['vendor']}, or 'type: vllm'.")]


def _name(service: Facts, path: str) -> list[Problem]:
    """Served names that the engine cannot use, since it has no option for the name."""
    model, name = service["model"], service["engine"]["type"]
    served = served_name(model)
    if not served or not model["uri"] or has_option(name, "served_name"):
        return []
    place, title = f"{path}.model.served_name", ENGINES[name].title
    if "model" in ENGINE_DEFAULTS[name]["file"]:
        why = f"'{served}' is the name of a folder with {title}, which cannot have a slash."
        return [Problem(place, served, why, f"Write a name without one, such as {served.rpartition('/')[2]}.")] if "/" in served else []
    why = f"{title} has no option for it, and lists the model as {model_uri(model).location}."
    return [Problem(place, served, why, f"Write served_name: {model_uri(model).location}.")] if served != model_uri(model).location else []


def _twice(service: Facts, path: str) -> list[Problem]:
    """Options that an argument or an environment variable of the user sets again: only one of the two would take effect."""
    engine = service["engine"]
    facts = ENGINE_DEFAULTS[engine["type"]]
    level = facts["level"][0]
    flags = {option: facts["flags"].get(option, ()) for option in REFUSED_IN_ARGS if engine[option] is not None}
    if engine["log_level"]:
        flags["log_level"] = (level.lstrip("-"),)
    problems = []
    for index, argument in enumerate(engine["args"]):
        for option, names in flags.items():
            if argument.startswith("-") and next(iter(flags_of([argument])), "") in names:
                problems.append(_set_twice(f"{path}.engine.args[{index}]", argument, option, engine[option]))
    if engine["log_level"] and level in engine["env"]:
        problems.append(_set_twice(f"{path}.engine.env.{level}", None, "log_level", engine["log_level"]))
    if engine["type"] == "tgi":
        problems += _by_variables(service, path)
    if facts["file"] and FILE_VARIABLE in engine["env"]:
        why = "has the options of this file for the engine, which would not take effect."
        problems.append(Problem(f"{path}.engine.env.{FILE_VARIABLE}", None, why, "Take it out, and write the options under engine."))
    return problems


def _by_variables(service: Facts, path: str) -> list[Problem]:
    """Environment variables that contradict an option: TGI also reads each argument from a variable of the same name."""
    problems, env = [], service["engine"]["env"]
    for option, names in ENGINE_DEFAULTS["tgi"]["flags"].items():
        variable = names[0].upper().replace("-", "_")
        part, _dot, word = OPTIONS[option].partition(".")
        set_to = service[part][word]
        if variable in env and set_to is not None and env[variable] != str(set_to):
            why = f"is --{names[0]} for {ENGINES['tgi'].title}, and contradicts {OPTIONS[option]}, which is {set_to}."
            problems.append(Problem(f"{path}.engine.env.{variable}", None, why, f"Take it out, and write it under {OPTIONS[option]}."))
    return problems


def _set_twice(place: str, value: t.Any, option: str, set_to: t.Any) -> Problem:
    shown = str(set_to).lower() if isinstance(set_to, bool) else set_to
    return Problem(place, value, f"duplicates engine.{option} ({shown}).", f"Take it out, or take out engine.{option}.")
