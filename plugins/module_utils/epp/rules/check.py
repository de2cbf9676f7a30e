# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates an EndpointPickerConfig for a release line: all problems at once, and notes on what is deprecated or overridden. Pure."""

from __future__ import annotations

import json
import typing as t

from ...common.flags import flags_of
from ...common.objects import get_path, mapping
from ...schema.fields import Problem
from ..catalog.plugins import reads
from ..catalog.release_lines import BOOLEAN_FLAGS, FIELD_NOTES, FLAG_MOVES, FORBIDDEN_FLAGS, LINE_FLAGS, METRICS_EXTRACTOR, NEW_API, OLD_API
from ..catalog.types import LINES, Plugin
from ..document import Declared, ParsedConfig, parse_config
from . import disaggregation, parsed_values, profiles, references, semantics

EXPERIMENTAL = "--allow-experimental-plugins"
_PREDICTOR = (
    "it needs the latency predictor, which no role deploys; without it every prediction fails. The endpoint picker calls the servers that scheduler.env "
    "names by TRAINING_SERVER_URL and PREDICTION_SERVER_URL, else http://localhost:8000 and http://localhost:8001 in its own pod."
)
RULES = (*references.RULES, *profiles.RULES, *disaggregation.RULES, *semantics.RULES, *parsed_values.RULES)


def check(document: t.Any, release: str, context: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """Every problem of a document in a release line; paths are paths in the document.

    `context` (all optional): server_args (list), server_env (name to value), epp_args (list), engine (of releases/deployed.py).
    """
    if not isinstance(document, dict):
        return [Problem("", document, "the configuration is not a mapping (key: value).", "Write an EndpointPickerConfig.")]
    config = parse_config(document, release)
    problems = [problem for rule in RULES for problem in rule(config)]
    settings = {} if context is None else context
    return problems + _flags(config, settings) + server_problems(config, settings)


def notes(document: dict[str, t.Any], release: str) -> list[str]:
    """Notes on a valid document: deprecated forms, experimental plugins, values that the endpoint picker overrides."""
    config = parse_config(document, release)
    remarks = [text for lines, field, text in FIELD_NOTES if release in lines and document.get(field) is not None]
    if document.get("apiVersion") == OLD_API and NEW_API in config.line.api_versions:
        remarks.append(f"apiVersion {OLD_API} is deprecated since router 0.9; {NEW_API} replaces it.")
    remarks += [f"{item.type}: {item.plugin.deprecated}" for item in config.plugins if item.plugin is not None and item.plugin.deprecated]
    remarks += [f"{item.type} is experimental in {release}: the endpoint picker needs {EXPERIMENTAL}." for item in experimental(config)]
    remarks += [f"The feature gate {gate} has no effect in {release}." for gate, does in config.line.gates.items() if not does and config.gate(gate)]
    remarks += references.idle(config) + profiles.ties(config) + profiles.affinity(config)
    predicted = [item.name for item in config.plugins if item.plugin is not None and _predicts(item, item.plugin, release)]
    remarks += [f"{', '.join(predicted)}: {_PREDICTOR}"] if predicted else []
    for item in config.plugins:
        given = item.parameters
        if "blockSizeTokens" in given and "autoTune" not in given and item.type in ("prefix-cache-scorer", "approx-prefix-cache-producer"):
            remarks.append(f"{item.name}: autoTune is on, so blockSizeTokens counts only until a server reports its own block size.")
        if (
            config.line.strict
            and item.type == "approx-prefix-cache-producer"
            and isinstance(given.get("blockSizeTokens"), int)
            and given["blockSizeTokens"] < 64
        ):
            remarks.append(f"{item.name}: blocks of less than 64 tokens are raised to 64 when a request arrives.")
    return remarks


def _predicts(item: Declared, plugin: Plugin, release: str) -> bool:
    """Whether a plugin predicts latencies itself, or reads predictions (the router creates a predictor for it)."""
    return item.type.startswith("predicted-latency-") or "latency" in reads(plugin, release, item.parameters)


def experimental(config: ParsedConfig) -> list[t.Any]:
    """The declared plugins that require --allow-experimental-plugins."""
    return [item for item in config.plugins if item.plugin is not None and config.line.name in item.plugin.alpha]


def _flags(config: ParsedConfig, context: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of the endpoint picker's flags: flags that stop it, and booleans without '=', which are always true."""
    arguments = [str(item) for item in context.get("epp_args") or []]
    problems: list[Problem] = []
    for index, argument in enumerate(arguments):
        name, given, _value = argument.lstrip("-").partition("=")
        name = name.split(" ")[0]
        if argument.startswith("-") and name in FORBIDDEN_FLAGS:
            option = "kv_cache_metric, or " if FORBIDDEN_FLAGS[name] == "kvUsageSpec" else ""
            problems.append(
                Problem(
                    f"epp_args[{index}]",
                    argument,
                    f"{config.line.name} refuses to start with this flag.",
                    f"Write {option}{FORBIDDEN_FLAGS[name]} in the parameter engineConfigs of {METRICS_EXTRACTOR[config.line.name]}.",
                )
            )
        elif argument.startswith("-") and config.line.name not in LINE_FLAGS.get(name, (config.line.name,)):
            lines = ", ".join(line for line in LINES if line in LINE_FLAGS[name])
            moved = f"write {FLAG_MOVES[name]} in the parameters of metrics-data-source" if name in FLAG_MOVES else "leave it out"
            reason = f"{config.line.name} has no such flag, and the endpoint picker exits."
            problems.append(Problem(f"epp_args[{index}]", argument, reason, f"Use a release that has it ({lines}), or {moved}."))
        elif argument.startswith("-") and name in BOOLEAN_FLAGS and not given and _says_false(argument, arguments[index + 1 : index + 2]):
            problems.append(Problem(f"epp_args[{index}]", argument, "a boolean flag without '=' is true, whatever follows it.", f"Write --{name}=false."))
    if experimental(config) and arguments and flags_of(arguments).get("allow-experimental-plugins", "false") not in (None, "true"):
        names = ", ".join(sorted({item.type for item in experimental(config)}))
        problems.append(
            Problem("epp_args", arguments, f"{names}: experimental in {config.line.name}, and the flag for them is not set.", f"Add {EXPERIMENTAL}.")
        )
    return problems


def _says_false(argument: str, following: list[str]) -> bool:
    return argument.endswith(" false") or following == ["false"]


def server_problems(config: ParsedConfig, context: t.Mapping[str, t.Any]) -> list[Problem]:
    """Settings of precise prefix matching that must agree with the model server."""
    makers = config.makes("precise")
    if not makers or all(context.get(name) is None for name in ("server_args", "server_env", "engine")):
        return []
    item, flags = makers[0], flags_of(context.get("server_args"))
    path = f"{item.path}.parameters"
    problems: list[Problem] = [] if config.line.own_keys else _keys(item, flags, context)
    if context.get("engine") == "simulator" and not get_path(item.parameters, "kvEventsConfig", "zmqEndpoint"):
        reason = (
            "the simulator connects to the endpoint picker: with discovery the endpoint picker connects to the simulator as well, and no event ever arrives."
        )
        fix = 'Write zmqEndpoint: "tcp://0.0.0.0:5557" and discoverPods: false.'
        problems.append(Problem(f"{path}.kvEventsConfig.zmqEndpoint", None, reason, fix))
    return problems + _topic(flags.get("kv-events-config"), path) + _publishes(flags, context, path)


def _keys(item: Declared, flags: t.Mapping[str, t.Any], context: t.Mapping[str, t.Any]) -> list[Problem]:
    """In scheduler-0.7 the keys of KV blocks are those of the model server: both sides hash blocks of one size with one seed."""
    path = f"{item.path}.parameters.tokenProcessorConfig"
    sizes, env = mapping(get_path(item.parameters, "tokenProcessorConfig")), context.get("server_env") or {}
    size, seed = sizes.get("blockSizeTokens") or sizes.get("blockSize") or 16, str(sizes.get("hashSeed", ""))
    problems: list[Problem] = []
    if flags.get("block-size") and flags["block-size"] != str(size):
        reason = f"the model server runs with --block-size={flags['block-size']}: no block ever matches."
        problems.append(Problem(f"{path}.blockSize", size, reason, "Write the same number on both sides."))
    server_seed = env.get("PYTHONHASHSEED", flags.get("hash-seed"))
    if server_seed is not None and str(server_seed) != seed:
        reason = f"the model server hashes with seed {server_seed}: no block ever matches."
        problems.append(Problem(f"{path}.hashSeed", seed, reason, "Write the same text on both sides."))
    elif "PYTHONHASHSEED" in env and not seed.isdigit():
        reason = "every server would hash with a seed of its own, and no block would ever match."
        place = "server_env.PYTHONHASHSEED" if context.get("hash_seed") is not None else f"{path}.hashSeed"
        problems.append(Problem(place, None, reason, 'Write a number in quotes, such as "42".'))
    return problems


def _topic(text: str | None, path: str) -> list[Problem]:
    """Scores are looked up by address:port: with the address alone in the topic, blocks are indexed, but every server scores 0."""
    try:
        topic = str(get_path(json.loads(text or "{}"), "topic") or "")
    except ValueError:
        return [Problem(f"{path}.kvEventsConfig", text, "the model server's --kv-events-config is not JSON.", "Write one JSON object.")]
    pod = topic.split("@")[1] if topic.count("@") >= 2 else ""
    if pod and ":" not in pod:
        return [
            Problem(
                f"{path}.kvEventsConfig.topicFilter",
                topic,
                f"the model server publishes as {pod}, without a port: every server would silently score 0.",
                "Write the topic kv@ADDRESS:PORT@MODEL in the model server's --kv-events-config.",
            )
        ]
    return []


def _publishes(flags: t.Mapping[str, t.Any], context: t.Mapping[str, t.Any], path: str) -> list[Problem]:
    if context.get("engine") != "vllm" or context.get("server_args") is None or "kv-events-config" in flags:
        return []
    return [
        Problem(
            f"{path}.kvEventsConfig",
            None,
            "the model server publishes no KV events: every server would score 0.",
            "Start vLLM with --kv-events-config (see what this preset requires).",
        )
    ]
