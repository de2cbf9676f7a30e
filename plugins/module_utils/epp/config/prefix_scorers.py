# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Declares scorers and the plugins they need in each release line, prefix scorers above all. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...common.scalars import scalar
from ...schema.fields import show
from ..catalog import plugins as catalog
from ..catalog import presets
from ..catalog.release_lines import LINE_FACTS
from ..catalog.scorers import PREFIX_INDEX
from .draft import Draft, merge, set_path, to_upstream
from .resolve import Context, Findings, Part

_INDEX_WORDS = {catalog.normalize(param.name): param.name for param in PREFIX_INDEX}
# Types of the options that are read before the document is typed.
_KINDS = {"block_size": "int", "kv_events_port": "int", "speculative": "bool"}
PRECISE_PRODUCER = "precise-prefix-cache-producer"


def declare_scorer(draft: Draft, part: Part, context: Context, name: str, findings: Findings) -> str:
    """Declare a scorer and the plugins that it needs in this release line; returns the name for profiles."""
    if part.alias == "prefix" and draft.line in presets.INDEX_MOVED_LINES:
        return _prefix_with_producer(draft, part, name)
    if part.alias == "precise_prefix":
        return _precise(draft, part, context, name, findings)
    declare_makers(draft, part, context)
    return draft.declare_part(part, name)


def declare_makers(draft: Draft, part: Part, context: Context) -> None:
    """Declare the plugins that make the data that a scorer or filter reads in this release line, where the draft has none."""
    plugin = catalog.find_plugin(part.type, draft.line)
    parameters = to_upstream(part.parameters, part.type, draft.line)[0]
    for data in catalog.reads(plugin, draft.line, parameters) if plugin is not None else ():
        maker, names_another = catalog.MAKERS.get(data, ("", ""))
        if draft.line in catalog.lines_of(maker) and not parameters.get(names_another) and not _made(draft, data):
            reference = draft.declare(maker, _of_servers(maker, draft.line, context), part.path)
            if maker in catalog.FED_BY:
                _feed(draft, catalog.FED_BY[maker], reference)


def _of_servers(maker: str, line: str, context: Context) -> dict[str, t.Any]:
    """The parameters of an index that describe the servers, as far as the context has them."""
    known = _params(maker, line) if maker == presets.INDEX_HOME else set()
    return {name: context[key] for key, name in presets.INDEX_CONTEXT.items() if name in known and context.get(key)}


def with_server_options(part: Part, requested: Context, line: str) -> Part:
    """A filter with the parameters that the options about the servers set, unless the user sets these on the filter itself."""
    known = _params(part.type, line) - to_upstream(part.parameters, part.type, line)[0].keys()
    set_here = {option: requested[option] for option, name in presets.SERVER_OPTIONS.items() if name in known and requested.get(option) is not None}
    return dataclasses.replace(part, parameters={**part.parameters, **set_here}) if set_here else part


def _params(kind: str, line: str) -> set[str]:
    plugin = catalog.find_plugin(kind, line)
    return {param.name for param in (plugin.params if plugin is not None else ()) if line in param.lines}


def _made(draft: Draft, data: str) -> bool:
    declared = [catalog.find_plugin(item["type"], draft.line) for item in draft.plugins]
    made = {made for plugin in declared if plugin is not None for made in plugin.makes}
    # Before the router all prefix matches of a server are one attribute, which two plugins may not write.
    return data in made or (data == "prefix" and "precise" in made and not LINE_FACTS[draft.line].strict)


def _prefix_with_producer(draft: Draft, part: Part, name: str) -> str:
    """Since 1.5 the prefix index is a separate plugin: parameters of the index that the user sets at the scorer go there."""
    index = {word: value for word, value in part.parameters.items() if catalog.normalize(word) in _INDEX_WORDS}
    if index:
        parameters, words = to_upstream(index, presets.INDEX_HOME, draft.line)
        draft.declare(presets.INDEX_HOME, parameters, part.path, name, words)
    rest = {word: value for word, value in part.parameters.items() if word not in index}
    parameters, words = to_upstream(rest, part.type, draft.line)
    return draft.declare(part.type, parameters, part.path, name, words)


def precise_words(part: Part, context: Context) -> dict[str, t.Any]:
    """The options of precise prefix matching, completed from the context (engine, block_size, usual_block_size, hash_seed, model, tokenizer)."""
    settled = {word: facts["default"] for word, facts in presets.PRECISE_OPTIONS.items()}
    settled["block_size"] = context.get("usual_block_size") or settled["block_size"]
    settled.update({word: context[word] for word in ("block_size", "hash_seed") if context.get(word) is not None})
    settled["model"] = context.get("tokenizer") or context.get("model")
    settled["kv_events"] = "bind" if context.get("engine") == "simulator" else "discover"
    settled["kv_events_port"] = presets.PRECISE_EVENTS["kv_events_port"]
    settled["render_url"] = presets.PRECISE_EVENTS["render_url"]
    return {**settled, **{word: scalar(part.parameters[word], _KINDS.get(word, "str")) for word in settled if part.parameters.get(word) is not None}}


def _precise(draft: Draft, part: Part, context: Context, name: str, findings: Findings) -> str:
    """Precise prefix matching: a scorer with its own index in scheduler-0.7, a producer and a prefix scorer that reads it in the router."""
    settled = precise_words(part, context)
    if part.path == "preset":
        part = dataclasses.replace(part, path="scorers.precise_prefix")  # where its options are written
    router = LINE_FACTS[draft.line].strict
    _check_words(part, settled, router, findings)
    parameters, words = _precise_parameters(settled, router)
    own = {word: value for word, value in part.parameters.items() if word not in settled}
    raw, raw_words = to_upstream(own, PRECISE_PRODUCER if router else part.type, draft.line)
    parameters = merge(parameters, raw)
    words.update(raw_words)
    if parameters.get("speculativeIndexing") is True and LINE_FACTS[draft.line].data_by_gate:
        draft.gate("prepareDataPlugins")
    if not router:
        reference = draft.declare(part.type, parameters, part.path, name, words)
        return _wire(draft, reference, settled["kv_events"])
    draft.declare(
        "token-producer",
        {"modelName": settled["model"], "vllm": {"url": settled["render_url"]}},
        part.path,
        "",
        {"modelName": "model", "vllm.url": "render_url"},
    )
    producer = _wire(draft, draft.declare(PRECISE_PRODUCER, parameters, part.path, name, words), settled["kv_events"])
    return draft.declare("prefix-cache-scorer", {"prefixMatchInfoProducerName": producer}, part.path, "precise")


def _precise_parameters(settled: t.Mapping[str, t.Any], router: bool) -> tuple[dict[str, t.Any], dict[str, str]]:
    """(nested upstream parameters, upstream path to option)."""
    parameters: dict[str, t.Any] = {}
    words = {"indexerConfig.tokenizersPoolConfig.modelName": "model", "kvEventsConfig.podDiscoveryConfig.socketPort": "kv_events_port"}
    words.update({"kvEventsConfig.zmqEndpoint": "kv_events", "kvEventsConfig.discoverPods": "kv_events"})
    for word, facts in presets.PRECISE_OPTIONS.items():
        if settled[word] is not None and not (router and (word in presets.PRECISE_TOKENIZER_ONLY or word == "model")):
            set_path(parameters, facts["path"], settled[word])
            words[facts["path"]] = word
    port = settled["kv_events_port"]
    if settled["kv_events"] == "bind":
        way = {"zmqEndpoint": f"tcp://0.0.0.0:{port}", "discoverPods": False}
    else:
        way = {"discoverPods": True, "podDiscoveryConfig": {"podLabelSelector": f"{presets.SERVING_LABEL}=true", "socketPort": port}}
    parameters["kvEventsConfig"] = {"topicFilter": "kv@", **way}
    return parameters, words


def _check_words(part: Part, settled: t.Mapping[str, t.Any], router: bool, findings: Findings) -> None:
    if settled["kv_events"] not in presets.KV_EVENT_MODES:
        findings.refuse(
            f"{part.path}.kv_events",
            settled["kv_events"],
            f"{show(settled['kv_events'])} is not a transport of KV events.",
            "Write discover (the endpoint picker connects to each server: vLLM) or bind (the servers connect to it: the simulator).",
        )
    port = settled["kv_events_port"]
    if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
        findings.refuse(f"{part.path}.kv_events_port", port, f"{show(port)} is not a port.", "Write a whole number from 1 to 65535.")
    if settled["model"] is None:
        findings.refuse(
            f"{part.path}.model",
            None,
            "is missing: without the model of the tokenizer the endpoint picker refuses to start.",
            "Write the name of its repository, such as meta-llama/Llama-3.1-8B-Instruct.",
        )
    for word in sorted(presets.PRECISE_TOKENIZER_ONLY & set(part.parameters) if router else ()):
        findings.refuse(
            f"{part.path}.{word}",
            part.parameters[word],
            "the router gets tokens from a render service, not from a socket.",
            "Leave it out; render_url is the address of that service.",
        )


def _wire(draft: Draft, name: str, events: str) -> str:
    """Feed the index with endpoint notifications if it discovers servers through the data layer; returns its name.

    The section replaces the default one, so it names the metrics source again.
    """
    if events == "discover" and draft.line not in ("scheduler-0.7",):
        draft.declare("metrics-data-source")
        _feed(draft, "metrics-data-source", draft.declare("core-metrics-extractor"))
        _feed(draft, "endpoint-notification-source", name)
    return name


def _feed(draft: Draft, source: str, extractor: str) -> None:
    """Name an extractor under a data source."""
    reference, entry = draft.declare(source), {"pluginRef": extractor}
    sources = draft.sections.setdefault("dataLayer", {}).setdefault("sources", [])
    extractors = next((known["extractors"] for known in sources if known["pluginRef"] == reference), None)
    if extractors is None:
        sources.append({"pluginRef": reference, "extractors": [entry]})
    elif entry not in extractors:
        extractors.append(entry)
