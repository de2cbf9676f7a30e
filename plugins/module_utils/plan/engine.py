# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that become a flag or an environment variable of an engine, and mistakes in them. Pure."""

from __future__ import annotations

import typing as t

from ..common.flags import flags_of
from ..common.objects import Facts
from ..releases.lines import ACCELERATORS, ENGINE_DEFAULTS
from ..schema.fields import Problem
from .references import image

# Verbosity of the simulator, as in klog: its WARN, INFO and DEBUG.
VERBOSITY = {"warning": 1, "info": 2, "debug": 4}
LEVEL_VARIABLE = "VLLM_LOGGING_LEVEL"
# Options of vLLM only, and the flags that set the same. The first one is written; for a boolean, the first or the second.
_TUNING = {
    "gpu_memory_utilization": ("gpu-memory-utilization",),
    "quantization": ("quantization", "q"),
    "prefix_caching": ("enable-prefix-caching", "no-enable-prefix-caching"),
}
# Tokens in a KV-cache block of a simulator, and of vLLM where the endpoint picker has to know the size: the usual one of GPUs. On CPUs vLLM has
# multiples of 32 only.
_BLOCK, _BLOCK_ON_CPU = 16, 32


def vendor(service: Facts) -> str:
    """The vendor of the accelerators that the servers run on."""
    return str(service["accelerator"]["vendor"] or ENGINE_DEFAULTS[service["engine"]["type"]]["vendor"])


def engine_image(service: Facts, user: Facts) -> str:
    """The image of the model servers: the user's, else the tested one for their accelerators."""
    engine = service["engine"]
    tested = ENGINE_DEFAULTS[engine["type"]]
    return str(engine["image"] or image(user, engine["type"], tested["images"].get(vendor(service), tested["image"])))


def block_size(service: Facts) -> int | None:
    """Tokens in a KV-cache block; None where vLLM decides."""
    engine = service["engine"]
    return t.cast("int | None", engine["block_size"] or (_BLOCK if engine["type"] == "simulator" else None))


def usual_block_size(service: Facts) -> int:
    """Tokens in a KV-cache block where somebody else has to know the number and the user has not set it."""
    return block_size(service) or (_BLOCK_ON_CPU if vendor(service) == "none" else _BLOCK)


def arguments(engine: Facts) -> list[str]:
    """The flags for the options that are set."""
    if engine["type"] == "simulator":
        return [f"--v={VERBOSITY[engine['log_level']]}"] if engine["log_level"] else []
    return [_flag(names, engine[option]) for option, names in _TUNING.items() if engine[option] is not None]


def _flag(names: tuple[str, ...], value: t.Any) -> str:
    return f"--{names[0 if value else 1]}" if isinstance(value, bool) else f"--{names[0]}={value}"


def environment(engine: Facts) -> list[Facts]:
    """The environment variables for the options that are set."""
    level = engine["log_level"]
    return [{"name": LEVEL_VARIABLE, "value": level.upper()}] if level and engine["type"] == "vllm" else []


def engine_problems(service: Facts, path: str) -> list[Problem]:
    """Options that the engine does not have, and options that engine.args or engine.env set again."""
    return [*_simulator(service, path), *_of_vllm(service, path), *_twice(service, path)]


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


def _of_vllm(service: Facts, path: str) -> list[Problem]:
    engine = service["engine"]
    given = [option for option in _TUNING if engine[option] is not None]
    if engine["type"] != "vllm":
        return [Problem(f"{path}.engine.{option}", engine[option], "is for vLLM only.", "Take it out, or write 'type: vllm'.") for option in given]
    if "gpu_memory_utilization" in given and not ACCELERATORS[vendor(service)]["resource"]:
        value = engine["gpu_memory_utilization"]
        return [Problem(f"{path}.engine.gpu_memory_utilization", value, "is of no use: there is no accelerator whose memory it could divide.", "Take it out.")]
    return []


def _twice(service: Facts, path: str) -> list[Problem]:
    """Options that an argument or a variable of the user sets too: only one of the two would take effect."""
    engine = service["engine"]
    flags = {option: names for option, names in _TUNING.items() if engine[option] is not None}
    if engine["log_level"] and engine["type"] == "simulator":
        flags["log_level"] = ("v",)
    found = []
    for index, argument in enumerate(engine["args"]):
        for option, names in flags.items():
            if argument.startswith("-") and next(iter(flags_of([argument])), "") in names:
                found.append(_said(f"{path}.engine.args[{index}]", argument, option, engine[option]))
    if engine["log_level"] and engine["type"] == "vllm" and LEVEL_VARIABLE in engine["env"]:
        found.append(_said(f"{path}.engine.env.{LEVEL_VARIABLE}", None, "log_level", engine["log_level"]))
    return found


def _said(place: str, value: t.Any, option: str, set_to: t.Any) -> Problem:
    shown = str(set_to).lower() if isinstance(set_to, bool) else set_to
    return Problem(place, value, f"is what engine.{option} says, which is {shown} here.", f"Take it out, or take out engine.{option}.")
