# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The larger pieces of a scheduler configuration: prefix scorers, prefill/decode, saturation and flow control. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...schema.fields import show, suggest
from ..catalog import plugins as catalogue
from ..catalog import presets
from ..catalog.release_lines import LINE_FACTS
from ..catalog.scorers import PREFIX_INDEX
from .draft import Draft, merge, put, upstream
from .resolve import Findings, Part, alias_of, resolve, scorers, type_here

Context = t.Mapping[str, t.Any]
_INDEX_WORDS = {catalogue.plain(param.name): param.name for param in PREFIX_INDEX}
PRECISE_PRODUCER = "precise-prefix-cache-producer"


def declare_scorer(draft: Draft, part: Part, context: Context, name: str, found: Findings) -> str:
    """Declare a scorer with whatever this release needs next to it; return the name that profiles refer to."""
    for companion in presets.COMPANIONS.get(part.alias, ()):
        if draft.line in catalogue.lines_of(companion):
            draft.declare(companion, origin=part.path)
    if part.alias == "prefix" and draft.line in presets.INDEX_MOVED_LINES:
        return _prefix_with_producer(draft, part, name)
    if part.alias == "precise_prefix":
        return _precise(draft, part, context, name, found)
    return draft.declare_part(part, name)


def _prefix_with_producer(draft: Draft, part: Part, name: str) -> str:
    """From 1.5 on the index has a plugin of its own: what the user writes at the scorer goes there."""
    index = {word: value for word, value in part.parameters.items() if catalogue.plain(word) in _INDEX_WORDS}
    if index:
        parameters, words = upstream(index, presets.INDEX_HOME, draft.line)
        draft.declare(presets.INDEX_HOME, parameters, part.path, name, words)
    rest = {word: value for word, value in part.parameters.items() if word not in index}
    parameters, words = upstream(rest, part.type, draft.line)
    return draft.declare(part.type, parameters, part.path, name, words)


def precise_words(part: Part, context: Context) -> dict[str, t.Any]:
    """The words about precise prefix matching, completed from the context (engine, block_size, hash_seed, model)."""
    settled = {word: facts["default"] for word, facts in presets.PRECISE_WORDS.items()}
    settled.update({word: context[word] for word in ("block_size", "hash_seed", "model") if context.get(word) is not None})
    settled["kv_events"] = "bind" if context.get("engine") == "simulator" else "discover"
    settled["kv_events_port"] = presets.PRECISE_EVENTS["kv_events_port"]
    settled["render_url"] = presets.PRECISE_EVENTS["render_url"]
    return {**settled, **{word: part.parameters[word] for word in settled if part.parameters.get(word) is not None}}


def _precise(draft: Draft, part: Part, context: Context, name: str, found: Findings) -> str:
    """Precise prefix matching: a scorer with an index of its own up to 0.8, a producer and a plain prefix scorer in the router."""
    settled = precise_words(part, context)
    router = LINE_FACTS[draft.line].strict
    _check_words(part, settled, router, found)
    parameters, words = _precise_parameters(settled, router)
    own = {word: value for word, value in part.parameters.items() if word not in settled}
    raw, raw_words = upstream(own, PRECISE_PRODUCER if router else part.type, draft.line)
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
    """Our words as nested upstream parameters, and upstream place to word."""
    parameters: dict[str, t.Any] = {}
    words = {"indexerConfig.tokenizersPoolConfig.modelName": "model", "kvEventsConfig.podDiscoveryConfig.socketPort": "kv_events_port"}
    words.update({"kvEventsConfig.zmqEndpoint": "kv_events", "kvEventsConfig.discoverPods": "kv_events"})
    for word, facts in presets.PRECISE_WORDS.items():
        if settled[word] is not None and not (router and (word in presets.PRECISE_TOKENIZER_ONLY or word == "model")):
            put(parameters, facts["path"], settled[word])
            words[facts["path"]] = word
    port = settled["kv_events_port"]
    if settled["kv_events"] == "bind":
        way = {"zmqEndpoint": f"tcp://0.0.0.0:{port}", "discoverPods": False}
    else:
        way = {"discoverPods": True, "podDiscoveryConfig": {"podLabelSelector": f"{presets.SERVING_LABEL}=true", "socketPort": port}}
    parameters["kvEventsConfig"] = {"topicFilter": "kv@", **way}
    return parameters, words


def _check_words(part: Part, settled: t.Mapping[str, t.Any], router: bool, found: Findings) -> None:
    modes = presets.PRECISE_EVENTS["kv_events"]
    if settled["kv_events"] not in modes:
        found.refuse(
            f"{part.path}.kv_events",
            settled["kv_events"],
            f"{show(settled['kv_events'])} is not a way for KV events.",
            "Write discover (the endpoint picker dials each server: vLLM) or bind (the servers dial it: the simulator).",
        )
    port = settled["kv_events_port"]
    if isinstance(port, bool) or not isinstance(port, int) or not 1 <= port <= 65535:
        found.refuse(f"{part.path}.kv_events_port", port, f"{show(port)} is not a port.", "Write a whole number from 1 to 65535.")
    if settled["model"] is None:
        where = f"{part.path}.model" if part.path != "preset" else "scorers.precise_prefix.model"
        found.refuse(
            where, None, "is missing: the tokenizer must know the model, else the endpoint picker refuses to start.", "Write the name that the servers serve."
        )
    for word in sorted(presets.PRECISE_TOKENIZER_ONLY & set(part.parameters) if router else ()):
        found.refuse(
            f"{part.path}.{word}",
            part.parameters[word],
            "the router takes tokens from a render service, not from a socket.",
            "Leave it out; render_url says where that service is.",
        )


def _wire(draft: Draft, name: str, events: str) -> str:
    """Tell the index which servers there are, where the data layer does that; name the metrics too, since the section replaces the default."""
    if events == "discover" and draft.line not in ("scheduler-0.7",):
        draft.declare("metrics-data-source")
        draft.declare("core-metrics-extractor")
        draft.declare("endpoint-notification-source")
        draft.sections["dataLayer"] = {
            "sources": [
                {"pluginRef": "metrics-data-source", "extractors": [{"pluginRef": "core-metrics-extractor"}]},
                {"pluginRef": "endpoint-notification-source", "extractors": [{"pluginRef": name}]},
            ]
        }
    return name


PD_KEYS = ("decider", "non_cached_tokens", "prompt_tokens", "prefill", "decode", "connector", "encode", "stage_order")


def disaggregate(
    draft: Draft, asked: t.Mapping[str, t.Any], base: list[Part], filters: t.Sequence[str], picker: Part, context: Context, found: Findings
) -> None:
    """Two profiles, prefill and decode (three with encode), a decider for each extra stage, and the handler that runs them."""
    line = LINE_FACTS[draft.line]
    for key in asked:
        if key == "threshold":
            found.refuse(
                "disaggregation.threshold",
                asked[key],
                "it counted characters until scheduler 0.5 and is not read since.",
                "Write non_cached_tokens: the least number of uncached tokens worth a prefill server (about a quarter of the characters).",
            )
        elif key not in PD_KEYS:
            near = suggest(key, PD_KEYS)
            found.refuse(
                f"disaggregation.{key}", asked[key], "there is no such option.", f"Did you mean '{near}'?" if near else f"Allowed here: {', '.join(PD_KEYS)}."
            )
    if line.header_handler:
        draft.declare("disagg-headers-handler", origin="disaggregation")
    if not line.strict and alias_of(asked.get("decider", "prefix"), catalogue.DECIDER_ALIASES, draft.line) == "prefix":
        # The decider reads how much is cached from the precise scorer, which publishes that only while it indexes speculatively.
        base = [dataclasses.replace(part, parameters={"speculative": True, **part.parameters}) if part.alias == "precise_prefix" else part for part in base]
    stages = (["encode"] if asked.get("encode") else []) + ["prefill", "decode"]
    for stage in stages:
        _stage(draft, stage, asked.get(stage), base, filters, picker, context, found)
    deciders = {"prefill": _decider(draft, asked, found)}
    if asked.get("encode"):
        deciders["encode"] = draft.declare("always-disagg-multimodal-decider", origin="disaggregation.encode")
    parameters: dict[str, t.Any] = {"deciders": deciders}
    if asked.get("stage_order") is not None:
        parameters["stageOrder"] = asked["stage_order"]
    draft.declare("disagg-profile-handler", parameters, "disaggregation", "", {"stageOrder": "stage_order", "deciders": "decider"})
    if "connector" in asked and asked["connector"] not in presets.CONNECTORS[draft.line]:
        found.refuse(
            "disaggregation.connector",
            asked["connector"],
            f"the sidecar of {draft.line} has no such connector.",
            f"Write one of {', '.join(presets.CONNECTORS[draft.line])}.",
        )


def _stage(draft: Draft, stage: str, own: t.Any, base: list[Part], filters: t.Sequence[str], picker: Part, context: Context, found: Findings) -> None:
    """One profile: the role's filter, the user's filters, its scorers and its picker. `own`: {scorers, picker} of this stage alone."""
    path = f"disaggregation.{stage}"
    settings = own if isinstance(own, dict) else {}
    if own is not None and not isinstance(own, (dict, bool)):
        found.refuse(path, own, f"{show(own)} is not a mapping.", "Write scorers and picker of this stage.")
    for key in settings.keys() - {"scorers", "picker"}:
        found.refuse(f"{path}.{key}", settings[key], "there is no such option.", "Allowed here: scorers, picker.")
    parts = base
    if isinstance(settings.get("scorers"), dict):
        parts = scorers(settings["scorers"], {}, draft.line, f"{path}.scorers", found)
    if isinstance(settings.get("picker"), str):
        resolved = resolve(settings["picker"], catalogue.PICKER_ALIASES, "picker", draft.line, f"{path}.picker", found)
        picker = Part(*resolved, f"{path}.picker") if resolved is not None else picker
    references = [(declare_scorer(draft, part, context, stage, found), part) for part in parts]
    role = draft.declare(f"{stage}-filter", origin="disaggregation")
    draft.profile(stage, [role, *filters], references, draft.declare_part(picker, stage), path if own else "disaggregation")


def _decider(draft: Draft, asked: t.Mapping[str, t.Any], found: Findings) -> str:
    """The plugin that says whether a request is worth a prefill server. prefix: by its uncached tokens; always."""
    word = asked.get("decider", "prefix")
    alias = alias_of(word, catalogue.DECIDER_ALIASES, draft.line)
    if alias is None:
        found.refuse("disaggregation.decider", word, f"there is no decider {show(word)}.", "Write prefix (by the number of uncached tokens) or always.")
        alias = "prefix"
    kind = type_here(alias, catalogue.DECIDER_ALIASES, draft.line)
    if alias == "always":
        for key in ("non_cached_tokens", "prompt_tokens"):
            if asked.get(key) is not None:
                found.refuse(f"disaggregation.{key}", asked[key], "the decider always looks at nothing.", f"Leave {key} out, or write decider: prefix.")
        return draft.declare(kind, origin="disaggregation.decider")
    parameters = {"nonCachedTokens": asked.get("non_cached_tokens", presets.NON_CACHED_TOKENS)}
    if asked.get("prompt_tokens") is not None:
        parameters["promptTokens"] = asked["prompt_tokens"]
    if LINE_FACTS[draft.line].data_by_gate:
        draft.gate("prepareDataPlugins")
    return draft.declare(kind, parameters, "disaggregation", "", {"nonCachedTokens": "non_cached_tokens", "promptTokens": "prompt_tokens"})


def saturation(draft: Draft, asked: t.Mapping[str, t.Any], found: Findings) -> None:
    """When a server counts as full: a section of its own up to 0.7, a plugin since 1.5."""
    known = presets.FRIENDLY_SATURATION
    for key in asked.keys() - known.keys():
        near = suggest(key, known)
        found.refuse(f"saturation.{key}", asked[key], "there is no such option.", f"Did you mean '{near}'?" if near else f"Allowed here: {', '.join(known)}.")
    values = {known[key]: asked[key] for key in known if asked.get(key) is not None}
    if not values:
        return
    back = {known[key]: key for key in known}
    if LINE_FACTS[draft.line].inline_saturation:
        draft.sections["saturationDetector"] = values
        draft.origins.update({f"saturationDetector.{name}": f"saturation.{word}" for name, word in back.items()})
        return
    name = draft.declare("utilization-detector", values, "saturation", "", back)
    if LINE_FACTS[draft.line].strict:
        draft.sections.setdefault("flowControl", {})["saturationDetector"] = {"pluginRef": name}
    else:
        draft.sections["saturationDetector"] = {"pluginRef": name}


def flow_control(draft: Draft, asked: t.Mapping[str, t.Any], found: Findings) -> None:
    """Queues by priority inside the endpoint picker."""
    words = {
        **presets.FRIENDLY_FLOW,
        "default_band": "defaultPriorityBand",
        "default_negative_band": "defaultNegativePriorityBand",
        "bands": "priorityBands",
        "usage_limit": "usageLimitPolicyPluginRef",
    }
    for key in asked.keys() - words.keys() - {"enabled"}:
        near = suggest(key, words)
        found.refuse(
            f"flow_control.{key}", asked[key], "there is no such option.", f"Did you mean '{near}'?" if near else f"Allowed here: enabled, {', '.join(words)}."
        )
    if asked.get("enabled", True) is False:
        return
    draft.gate("flowControl")
    section = draft.sections.setdefault("flowControl", {})
    for key, name in presets.FRIENDLY_FLOW.items():
        if asked.get(key) is not None:
            section[name] = asked[key]
    for key in ("default_band", "default_negative_band"):
        if asked.get(key) is not None:
            section[words[key]] = _band(draft, asked[key], f"flow_control.{key}", found)
    if isinstance(asked.get("bands"), list):
        section["priorityBands"] = [_band(draft, band, f"flow_control.bands[{index}]", found) for index, band in enumerate(asked["bands"])]
    if asked.get("usage_limit") is not None:
        section["usageLimitPolicyPluginRef"] = draft.declare(
            "static-usage-limit-policy", {"threshold": asked["usage_limit"]}, "flow_control", "", {"threshold": "usage_limit"}
        )
    draft.origins.update({f"flowControl.{name}": f"flow_control.{key}" for key, name in words.items()})
    if not section:
        del draft.sections["flowControl"]


def _band(draft: Draft, asked: t.Any, path: str, found: Findings) -> dict[str, t.Any]:
    if not isinstance(asked, dict):
        found.refuse(path, asked, f"{show(asked)} is not a mapping.", "Write priority, max_bytes, max_requests, fairness, ordering.")
        return {}
    band = {name: asked[key] for key, name in presets.FRIENDLY_BAND.items() if asked.get(key) is not None}
    for key, aliases, name in (("fairness", catalogue.FAIRNESS_ALIASES, "fairnessPolicyRef"), ("ordering", catalogue.ORDERING_ALIASES, "orderingPolicyRef")):
        if asked.get(key) is not None:
            resolved = resolve(asked[key], aliases, key, draft.line, f"{path}.{key}", found)
            if resolved is not None:
                band[name] = draft.declare(resolved[1], origin=f"{path}.{key}")
    for key in asked.keys() - {*presets.FRIENDLY_BAND, "fairness", "ordering"}:
        found.refuse(f"{path}.{key}", asked[key], "there is no such option.", f"Allowed here: {', '.join(presets.FRIENDLY_BAND)}, fairness, ordering.")
    return band
