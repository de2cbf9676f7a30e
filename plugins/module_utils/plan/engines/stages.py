# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of prefill servers, and settings that must be equal in both stages of a service with disaggregation. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ...common.flags import flags_of, place_of
from ...common.objects import Facts, mapping
from ...schema.fields import Problem

# Settings that decode servers compare before they read the KV cache of a prefill server, or that clients and the endpoint picker expect of both.
# https://docs.vllm.ai/en/stable/features/nixl_connector_compatibility/
AGREED_FLAGS = (
    *("attention-backend", "attention-config", "block-size", "calculate-kv-scales", "chat-template", "chat-template-content-format", "code-revision"),
    *("disable-sliding-window", "dtype", "hf-config-path", "hf-overrides", "kv-cache-dtype", "kv-cache-dtype-skip-layers", "kv-transfer-config"),
    *("mamba-block-size", "mamba-cache-dtype", "mamba-cache-mode", "mamba-ssm-cache-dtype", "max-model-len", "mm-processor-kwargs", "model", "port"),
    *("quantization", "quantization-config", "revision", "rope-scaling", "rope-theta", "served-model-name", "speculative-config"),
    *("tokenizer", "tokenizer-mode", "tokenizer-revision"),
)
NO_ENGINE: Facts = {"args": [], "env": {}, "simulator": None}  # the block `engine` of prefill servers, where the file has none
AGREED_VARIABLES = ("VLLM_ATTENTION_BACKEND", "VLLM_KV_CACHE_LAYOUT")
_AGREE = "is of both stages: decode servers read the KV cache of prefill servers, and clients do not tell them apart."


def of_prefill(service: Facts) -> Facts:
    """The service with the options of its prefill servers in place of those of all servers. Arguments under prefill come last, where they win."""
    own = service["prefill"]
    below, above = service["engine"], own["engine"] or NO_ENGINE
    engine = {**below, **_stated(above), "args": below["args"] + above["args"], "env": {**below["env"], **above["env"]}}
    if above["simulator"]:
        engine["simulator"] = {**above["simulator"], **mapping(below["simulator"]), **_stated(above["simulator"])}
    accelerator = {**service["accelerator"], **_stated(own["accelerator"])}
    written = service["written_args"] + own.get("written_args", [])
    return {**service, "engine": engine, "written_args": written, "accelerator": accelerator, "resources": own["resources"] or service["resources"]}


def tensor_parallelism(service: Facts) -> int:
    """The number of accelerators among which a server divides the model."""
    accelerator = service["accelerator"]
    return int(accelerator["per_replica"] // (accelerator["pipeline"] * accelerator["data"]))


def stage_warnings(service: Facts) -> list[str]:
    """A warning if prefill and decode servers differ in tensor parallelism. Source: as of AGREED_FLAGS."""
    sizes = [tensor_parallelism(each) for each in (of_prefill(service), service)]
    if sizes[0] == sizes[1] or service["engine"]["type"] == "simulator":
        return []
    text = (
        f"{service['name']}: prefill servers divide the model among {sizes[0]} accelerators and decode servers among {sizes[1]}. vLLM's NixlConnector transfers"
    )
    return [f"{text} KV caches between them only in the layout HND, its default, and not those of models with Mamba layers."]


def agreement_problems(service: Facts, path: str) -> list[Problem]:
    """Arguments and variables under prefill that must be equal in both stages."""
    engine, place = mapping(service["prefill"]["engine"]), f"{path}.prefill.engine"
    arguments, env = engine.get("args", []), engine.get("env", {})
    flags = [flag for flag in flags_of(arguments) if flag in AGREED_FLAGS]
    problems = [Problem(place_of(arguments, flag, f"{place}.args"), None, _AGREE, "Write it under engine.args, or an option of engine.") for flag in flags]
    return problems + [Problem(f"{place}.env.{name}", None, _AGREE, "Write it under engine.env.") for name in AGREED_VARIABLES if name in env]


def stage_problems(service: Facts, path: str, problems: t.Iterable[Problem], reported: t.Collection[str]) -> list[Problem]:
    """Problems of the prefill servers, each with the path where its option is written, without those whose path is in `reported`.

    problems: those of the service of of_prefill(), with paths below `path`.prefill; reported: paths of problems that are reported already.
    """
    located = [dataclasses.replace(problem, path=_place(service, path, problem.path)) for problem in problems]
    return [problem for problem in located if problem.path not in reported]


def _place(service: Facts, path: str, place: str) -> str:
    """The path of an option of prefill servers: under prefill if it is set there, otherwise in the options of all servers."""
    inner = place.removeprefix(f"{path}.prefill.")
    argument = re.match(r"engine\.args\[(\d+)\]", inner)
    if argument:
        index, before = int(argument.group(1)), len(service["engine"]["args"])
        return f"{path}.engine.args[{index}]" if index < before else f"{path}.prefill.engine.args[{index - before}]"
    if inner == place or _has(service["prefill"], inner):
        return place
    return f"{path}.{inner}"


def _has(block: Facts, inner: str) -> bool:
    """Whether the option at the path is set under prefill."""
    first, _dot, rest = inner.partition(".")
    if rest.startswith("env."):
        return rest.removeprefix("env.") in mapping(mapping(block[first])["env"] if block[first] else {})
    if first not in ("accelerator", "engine"):
        return block.get(first) is not None
    return mapping(block[first]).get(rest.partition(".")[0]) not in (None, [], {})


def _stated(block: t.Any) -> Facts:
    return {name: value for name, value in mapping(block).items() if value is not None}
