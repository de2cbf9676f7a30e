# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules for settings that are valid but silently do not work: precise prefix matching, prefix indexes, parameters that belong together. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import get_path, mapping
from ...schema.fields import Problem
from ..catalog.plugins import BY_ITSELF, MAKERS, reads
from ..document import AFFINITY, Declared, ParsedConfig, entries


def precise_prefix(config: ParsedConfig) -> list[Problem]:
    """Settings of precise prefix matching with which no KV event arrives or no block matches (docs/endpoint-picker.md)."""
    problems: list[Problem] = []
    for item in config.makes("precise"):
        path = f"{item.path}.parameters"
        pool = get_path(item.parameters, "indexerConfig", "tokenizersPoolConfig")
        if item.type == "precise-prefix-cache-scorer" and not config.line.strict:
            problems += _tokenizers(pool, f"{path}.indexerConfig.tokenizersPoolConfig")
        events = mapping(item.parameters.get("kvEventsConfig"))
        if events.get("zmqEndpoint") and events.get("discoverPods", True) and (not config.line.strict or _receives_servers(config, item)):
            problems.append(
                Problem(
                    f"{path}.kvEventsConfig.discoverPods",
                    events.get("discoverPods"),
                    "with zmqEndpoint the servers connect to the endpoint picker; with discovery, the default, it also connects to them and retries forever.",
                    "Write discoverPods: false, or remove zmqEndpoint.",
                )
            )
        if not events.get("zmqEndpoint") and events.get("discoverPods", True) is False:
            problems.append(
                Problem(
                    f"{path}.kvEventsConfig",
                    events,
                    "neither discovery nor zmqEndpoint: no KV event ever arrives and every server scores 0.",
                    'Write discoverPods: true for vLLM, or zmqEndpoint: "tcp://0.0.0.0:5557" for servers that connect to it.',
                )
            )
        if item.parameters.get("speculativeIndexing") is True and config.line.data_by_gate and not config.gate("prepareDataPlugins"):
            problems.append(
                Problem(f"{path}.speculativeIndexing", True, "without the gate prepareDataPlugins it has no effect.", "Add prepareDataPlugins to featureGates.")
            )
        problems += _both_sizes(item, path)
    return problems + _precise_wiring(config)


def _tokenizers(pool: t.Any, path: str) -> list[Problem]:
    """Without workers every request hangs without an error; without a socket there is no tokenizer."""
    if not isinstance(pool, dict):
        return []  # already reported as missing
    problems = []
    if "workersCount" not in pool:
        problems.append(
            Problem(
                f"{path}.workersCount",
                None,
                "if omitted, there are 0 workers: every request hangs until the proxy times out, without an error in any log.",
                "Write workersCount: 5.",
            )
        )
    if not get_path(pool, "uds", "socketFile"):
        problems.append(
            Problem(
                f"{path}.uds.socketFile",
                None,
                "without a socket the tokenizer sidecar is unreachable.",
                "Write the path of the socket that the tokenizer sidecar serves.",
            )
        )
    return problems


def _both_sizes(item: Declared, path: str) -> list[Problem]:
    sizes = get_path(item.parameters, "tokenProcessorConfig") or {}
    if isinstance(sizes, dict) and "blockSize" in sizes and "blockSizeTokens" in sizes and sizes["blockSize"] != sizes["blockSizeTokens"]:
        return [
            Problem(
                f"{path}.tokenProcessorConfig.blockSizeTokens",
                sizes["blockSizeTokens"],
                f"contradicts blockSize, which is {sizes['blockSize']}: only one of the two is read.",
                "Write one.",
            )
        ]
    return []


def _precise_wiring(config: ParsedConfig) -> list[Problem]:
    """In the router, precise matching connects to servers only after endpoint-notification-source reports them."""
    problems = []
    for item in config.makes("precise") if config.line.strict else ():
        if not get_path(item.parameters, "kvEventsConfig", "zmqEndpoint") and not _receives_servers(config, item):
            problems.append(
                Problem(
                    item.path,
                    item.name,
                    "no data source reports servers to it, so it never receives a KV event.",
                    f"Add the source endpoint-notification-source with the extractor {item.name} to dataLayer.sources.",
                )
            )
        if not any(made.parameters.get("modelName") for made in config.of_type("token-producer", "tokenizer")):
            problems.append(
                Problem(
                    "plugins",
                    None,
                    "precise matching needs the tokens of the prompt; without a token-producer with modelName it gets an estimate that matches no KV event.",
                    "Declare token-producer with modelName and vllm.url.",
                )
            )
        if not item.has("scorer") and not any(reader.parameters.get("prefixMatchInfoProducerName") == item.name for reader in config.plugins):
            reason, fix = "no scorer reads its result, and no filter.", f"Write prefixMatchInfoProducerName: {item.name} in prefix-cache-scorer or {AFFINITY}."
            problems.append(Problem(item.path, item.name, reason, fix))
    return problems


def _receives_servers(config: ParsedConfig, item: Declared) -> bool:
    """Whether a source of the data layer reports servers to a plugin."""
    sources = entries(config.section("dataLayer"), "sources", dict)
    return any(extractor.get("pluginRef") == item.name for source in sources for extractor in entries(source, "extractors", dict))


def cold_requests(config: ParsedConfig) -> list[Problem]:
    """no-hit-lru-scorer must name the declared prefix scorer; otherwise every request counts as cold."""
    problems = []
    for item in config.of_type("no-hit-lru-scorer"):
        if not config.makes("prefix") and not config.makes("precise") and not config.of_type("prefix-cache-scorer") and not config.line.strict:
            problems.append(Problem(item.path, item.name, "there is no prefix scorer: every request would count as cold.", "Add a prefix scorer."))
        if not config.line.data_by_gate:
            continue
        name, kind = item.parameters.get("prefixPluginName", "prefix-cache-scorer"), item.parameters.get("prefixPluginType", "prefix-cache-scorer")
        target = config.named(name)
        if target is None and "prefixPluginName" not in item.parameters and config.makes("precise"):
            problems.append(
                Problem(
                    f"{item.path}.parameters.prefixPluginName",
                    None,
                    "it reads prefix-cache-scorer by default, which is not declared: every request would count as cold.",
                    f"Write prefixPluginName: {config.makes('precise')[0].name} and prefixPluginType: precise-prefix-cache-scorer.",
                )
            )
        elif target is not None and target.type != kind:
            problems.append(
                Problem(
                    f"{item.path}.parameters.prefixPluginType",
                    kind,
                    f"{name} is of type {target.type}: name and type must agree, else every request counts as cold.",
                    f"Write prefixPluginType: {target.type}.",
                )
            )
    return problems


def parameters_together(config: ParsedConfig) -> list[Problem]:
    """Parameters that require or exclude each other."""
    problems: list[Problem] = []
    for item in config.plugins:
        if item.plugin is None:
            continue
        path, given = f"{item.path}.parameters", item.parameters
        if item.type == "by-label" and not given.get("validValues") and not given.get("allowsNoLabel"):
            problems.append(
                Problem(
                    f"{path}.validValues",
                    given.get("validValues"),
                    "without values and without allowsNoLabel the filter refuses to start.",
                    "Write the label values to keep.",
                )
            )
        if item.type == "session-id-producer" and bool(given.get("headerName")) == bool(given.get("cookieName")):
            problems.append(Problem(path, sorted(given), "it takes exactly one of headerName and cookieName.", "Write one of them."))
        tokens = config.line.strict and "tokens" in item.plugin.makes
        if tokens and "estimate" in given and {"vllm", "modelName"} & set(given):
            problems.append(Problem(path, sorted(given), "it has one backend: estimate, or vllm with modelName.", "Keep one of the two."))
        if tokens and "vllm" in given and not given.get("modelName"):
            problems.append(Problem(f"{path}.modelName", None, "the vllm backend requires the model.", "Write the name that the servers serve."))
        span = get_path(given, "algorithm", "normalization", "fixedRange")
        if isinstance(span, dict) and all(isinstance(span.get(end), (int, float)) for end in ("min", "max")) and span["min"] >= span["max"]:
            problems.append(Problem(f"{path}.algorithm.normalization.fixedRange", span, "min must be less than max.", "Write a smaller min or a larger max."))
        if item.type == "priority-holdback-policy" and isinstance(given.get("minCeiling"), (int, float)) and given["minCeiling"] >= given.get("maxCeiling", 1):
            problems.append(Problem(f"{path}.minCeiling", given["minCeiling"], "minCeiling must be less than maxCeiling.", "Write a smaller minCeiling."))
    return problems


def priority_bands(config: ParsedConfig) -> list[Problem]:
    """Each priority has at most one band of flow control."""
    problems: list[Problem] = []
    priorities: set[t.Any] = set()
    for index, band in enumerate(entries(config.section("flowControl"), "priorityBands", dict)):
        priority = band.get("priority", 0)
        if priority in priorities:
            problems.append(
                Problem(f"flowControl.priorityBands[{index}].priority", priority, "another band has this priority.", "Give each band its own priority.")
            )
        priorities.add(priority)
    return problems


def latency_scorer_gate(config: ParsedConfig) -> list[Problem]:
    """predicted-latency-scorer of GIE 1.4 reads data that is produced only with the feature gate."""
    if not config.line.data_by_gate or config.gate("prepareDataPlugins"):
        return []
    return [
        Problem(
            "featureGates", config.document.get("featureGates"), f"{item.name} needs the gate prepareDataPlugins.", "Add prepareDataPlugins to featureGates."
        )
        for item in config.of_type("predicted-latency-scorer")
    ]


def missing_producers(config: ParsedConfig) -> list[Problem]:
    """In 1.5 only the prefix producer is created by itself; the router creates those of BY_ITSELF, and refuses to start without another one."""
    if config.line.data_by_gate:
        return []
    effect = "the endpoint picker refuses to start" if config.line.strict else "every server would score the same"
    return [
        Problem(
            item.path,
            item.name,
            f"{item.type} needs {MAKERS[data][0]}, which is not declared: {effect}.",
            f"Declare {MAKERS[data][0]}.",
        )
        for item in config.plugins
        if item.plugin is not None
        for data in reads(item.plugin, config.line.name, item.parameters, optional=False)
        if data in MAKERS and not _made(config, item, data)
    ]


def _made(config: ParsedConfig, item: Declared, data: str) -> bool:
    """Whether a plugin finds the data it reads: the router looks for a plugin of one name, older lines for any that makes it."""
    maker, names_another = MAKERS[data]
    if not config.line.strict:
        return bool(config.makes(data)) or (data == "prefix" and bool(config.makes("precise") or config.of_type("prefix-cache-scorer")))
    if data in BY_ITSELF or item.parameters.get(names_another):
        return True
    return any(made.name == maker or not names_another for made in config.makes(data))


RULES: tuple[t.Callable[[ParsedConfig], list[Problem]], ...] = (
    precise_prefix,
    cold_requests,
    parameters_together,
    priority_bands,
    latency_scorer_gate,
    missing_producers,
)
