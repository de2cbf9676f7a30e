# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a document means what its author wants: prefill/decode, precise prefix, prefix indexes, silent traps. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.epp_view import Declared, View, dig, entries
from ansible_collections.llm_d.inference.plugins.module_utils.fields import Problem

_PD_HANDLERS = ("disagg-profile-handler", "pd-profile-handler")
_FLAT = ("decodeProfile", "prefillProfile", "encodeProfile", "deciderPluginName", "prefillDeciderPluginName", "encodeDeciderPluginName")


def pd_settings(view: View) -> tuple[Declared, dict[str, str], dict[str, str]] | None:
    """The prefill/decode handler, its profile names and its deciders by stage; None when there is no such handler."""
    handler = next(iter(view.of_type(*_PD_HANDLERS)), None)
    if handler is None:
        return None
    given = handler.parameters
    nested, flat = dig(given, "profiles") or {}, {stage: given.get(f"{stage}Profile") for stage in ("decode", "prefill", "encode")}
    profiles = {stage: str((nested.get(stage) if isinstance(nested, dict) else None) or flat[stage] or stage) for stage in ("decode", "prefill", "encode")}
    deciders = {stage: dig(given, "deciders", stage) or given.get(f"{stage}DeciderPluginName") for stage in ("prefill", "encode")}
    deciders["prefill"] = deciders["prefill"] or given.get("deciderPluginName") or ("prefix-based-pd-decider" if handler.type == "pd-profile-handler" else None)
    return handler, profiles, {stage: str(name) for stage, name in deciders.items() if name}


def disaggregation(view: View) -> list[Problem]:
    """Prefill/decode: profiles, deciders and the header that carries the choice."""
    settings = pd_settings(view)
    if settings is None:
        return [Problem(item.path, item.name, "no prefill/decode profile handler reads it.", "Declare disagg-profile-handler, or remove it.") for item in view.of("headers")]
    handler, profiles, deciders = settings
    path = f"{handler.path}.parameters"
    names = [profile.name for profile in view.profiles]
    problems: list[Problem] = []
    nested = [key for key in ("profiles", "deciders") if handler.parameters.get(key)]
    flat = [key for key in _FLAT if handler.parameters.get(key)]
    if handler.type == "disagg-profile-handler" and nested and flat:
        problems.append(Problem(path, flat, "old flat parameters and profiles/deciders do not mix: the endpoint picker refuses to start.", f"Write {', '.join(flat)} under profiles and deciders."))
    if profiles["decode"] not in names:
        problems.append(Problem("schedulingProfiles", names, f"{handler.name} runs profile {profiles['decode']} first, and there is none.", f"Add a profile {profiles['decode']} with decode-filter."))
    for stage in ("prefill", "encode"):
        if stage in deciders and profiles[stage] not in names:
            problems.append(Problem("schedulingProfiles", names, f"{handler.name} has a decider for {stage} and there is no profile {profiles[stage]}: the stage would never run.",
                                    f"Add a profile {profiles[stage]} with {stage}-filter."))
        elif stage not in deciders and profiles[stage] in names:
            problems.append(Problem(f"{path}.deciders", None, f"profile {profiles[stage]} exists and no decider ever runs it.",
                                    f"Name a decider in deciders.{stage}, or remove the profile."))
    return problems + _stages(view, profiles) + _headers(view, profiles, deciders) + _decider(view, handler, deciders)


def _stages(view: View, profiles: dict[str, str]) -> list[Problem]:
    """A stage that filters nothing would choose among servers of every role."""
    return [Problem(profile.path, profile.name, f"profile {profile.name} has no filter: the {stage} stage would choose among servers of every role.", f"Add {stage}-filter as its first plugin.")
            for stage, name in profiles.items() for profile in view.profiles
            if profile.name == name and not [item for item in profile.of("filter") if item.declared and item.declared.type != "context-length-aware"]]


def _headers(view: View, profiles: dict[str, str], deciders: dict[str, str]) -> list[Problem]:
    """Before router 0.9 a plugin of its own must write the header, else disaggregation silently never happens."""
    writers = view.of("headers")
    if not view.line.header_handler or not deciders:
        return []
    if not writers:
        return [Problem("plugins", None, f"{view.line.name} needs a plugin that tells the decode server which server prefills; without it nothing is ever disaggregated.",
                        "Declare disagg-headers-handler.")]
    problems = []
    for stage in ("prefill", "encode"):
        written = writers[0].parameters.get(f"{stage}Profile", stage)
        if stage in deciders and written != profiles[stage]:
            problems.append(Problem(f"{writers[0].path}.parameters.{stage}Profile", written, f"the profile handler calls this profile {profiles[stage]}: the header would never be written.",
                                    f"Write {profiles[stage]}."))
    return problems


def _decider(view: View, handler: Declared, deciders: dict[str, str]) -> list[Problem]:
    target = view.named(deciders.get("prefill"))
    if "prefill" in deciders and target is None and handler.type == "pd-profile-handler" and "deciderPluginName" not in handler.parameters:
        return [Problem(handler.path, handler.name, "it needs a decider, by default prefix-based-pd-decider, and none is declared.", "Declare prefix-based-pd-decider above it, with nonCachedTokens.")]
    if target is None or target.type != "prefix-based-pd-decider":
        return []
    problems = []
    if target.parameters.get("nonCachedTokens", 0) == 0:
        problems.append(Problem(f"{target.path}.parameters.nonCachedTokens", 0, "0, the default, means never since scheduler 0.7 (it meant always in 0.6).",
                                "Write the least number of uncached tokens worth a prefill server, such as 16; to disaggregate always use always-disagg-pd-decider."))
    if view.line.inline_saturation and not view.gate("prepareDataPlugins"):
        problems.append(Problem("featureGates", view.document.get("featureGates"), "without the gate prepareDataPlugins the decider finds no prefix data and never disaggregates.",
                                "Add prepareDataPlugins to featureGates."))
    if not _prefix_data(view):
        problems.append(Problem(target.path, target.name, "no plugin tells it how much of a prompt is cached, so it never disaggregates.",
                                "Add prefix-cache-scorer to the decode profile, or use always-disagg-pd-decider."))
    return problems


def _prefix_data(view: View) -> bool:
    if view.line.strict or view.makes("prefix") or view.of_type("prefix-cache-scorer"):
        return True  # the router makes the missing producer itself
    return any(item.parameters.get("speculativeIndexing") is True for item in view.makes("precise"))


def precise_prefix(view: View) -> list[Problem]:
    """The silent traps of precise prefix matching (run for real, see the shared notes on the local cluster)."""
    problems: list[Problem] = []
    for item in view.makes("precise"):
        path = f"{item.path}.parameters"
        pool = dig(item.parameters, "indexerConfig", "tokenizersPoolConfig")
        if item.type == "precise-prefix-cache-scorer" and not view.line.strict:
            problems += _tokenizers(pool, f"{path}.indexerConfig.tokenizersPoolConfig")
        events = item.parameters.get("kvEventsConfig") if isinstance(item.parameters.get("kvEventsConfig"), dict) else {}
        if events.get("zmqEndpoint") and events.get("discoverPods", True):
            problems.append(Problem(f"{path}.kvEventsConfig.discoverPods", events.get("discoverPods"),
                                    "with zmqEndpoint the servers dial the endpoint picker; discovery, on by default, makes it dial the servers as well and retry for ever.",
                                    "Write discoverPods: false, or remove zmqEndpoint."))
        if not events.get("zmqEndpoint") and events.get("discoverPods", True) is False:
            problems.append(Problem(f"{path}.kvEventsConfig", events, "neither discovery nor zmqEndpoint: no KV event ever arrives and every server scores 0.",
                                    'Write discoverPods: true for vLLM, or zmqEndpoint: "tcp://0.0.0.0:5557" for servers that dial.'))
        if item.parameters.get("speculativeIndexing") is True and view.line.inline_saturation and not view.gate("prepareDataPlugins"):
            problems.append(Problem(f"{path}.speculativeIndexing", True, "without the gate prepareDataPlugins it has no effect.", "Add prepareDataPlugins to featureGates."))
        problems += _both_sizes(item, path)
    return problems + _two_indexes(view) + _precise_wiring(view)


def _tokenizers(pool: t.Any, path: str) -> list[Problem]:
    """Zero workers hang every request without an error; no socket means no tokenizer."""
    if not isinstance(pool, dict):
        return []  # already missing by its shape
    problems = []
    if "workersCount" not in pool:
        problems.append(Problem(f"{path}.workersCount", None, "left out it is 0 workers: every request hangs until the proxy gives up, without an error in any log.", "Write workersCount: 5."))
    if not dig(pool, "uds", "socketFile"):
        problems.append(Problem(f"{path}.uds.socketFile", None, "without a socket the tokenizer sidecar cannot be reached.", "Write the path of the socket that the tokenizer sidecar serves."))
    return problems


def _both_sizes(item: Declared, path: str) -> list[Problem]:
    sizes = dig(item.parameters, "tokenProcessorConfig") or {}
    if isinstance(sizes, dict) and "blockSize" in sizes and "blockSizeTokens" in sizes and sizes["blockSize"] != sizes["blockSizeTokens"]:
        return [Problem(f"{path}.tokenProcessorConfig.blockSizeTokens", sizes["blockSizeTokens"], f"blockSize says {sizes['blockSize']}: only one of the two is read.", "Write one.")]
    return []


def _two_indexes(view: View) -> list[Problem]:
    """On scheduler-0.8 both prefix scorers write the same datum of a server: the later one wins."""
    both = view.of_type("precise-prefix-cache-scorer"), view.of_type("prefix-cache-scorer")
    if view.line.strict or view.line.inline_saturation or not all(both):
        return []
    return [Problem(both[1][0].path, both[1][0].name, f"it and {both[0][0].name} write the same prefix match of each server, and the later one wins.", "Keep one of the two.")]


def _precise_wiring(view: View) -> list[Problem]:
    """In the router the producer dials nobody until endpoint-notification-source tells it of the servers."""
    problems = []
    for item in view.of_type("precise-prefix-cache-producer"):
        wired = any(dig(extractor, "pluginRef") == item.name for source in entries(view.section("dataLayer"), "sources", dict) for extractor in entries(source, "extractors", dict))
        if not dig(item.parameters, "kvEventsConfig", "zmqEndpoint") and not wired:
            problems.append(Problem(item.path, item.name, "nothing tells it which servers there are, so it never hears a KV event.",
                                    f"Add the source endpoint-notification-source with the extractor {item.name} to dataLayer.sources."))
        if not view.of_type("token-producer", "tokenizer"):
            problems.append(Problem("plugins", None, "precise matching needs the tokens of the prompt; without a token-producer it gets an estimate that matches no KV event.",
                                    "Declare token-producer with modelName and vllm.url."))
        readers = [scorer for scorer in view.of_type("prefix-cache-scorer") if scorer.parameters.get("prefixMatchInfoProducerName") == item.name]
        if not readers:
            problems.append(Problem(item.path, item.name, "no scorer reads what it finds.", f"Declare prefix-cache-scorer with prefixMatchInfoProducerName: {item.name}."))
    return problems


def cold_requests(view: View) -> list[Problem]:
    """no-hit-lru must read the prefix scorer that is there; otherwise every request counts as cold."""
    problems = []
    for item in view.of_type("no-hit-lru-scorer"):
        if not view.makes("prefix") and not view.makes("precise") and not view.of_type("prefix-cache-scorer") and not view.line.strict:
            problems.append(Problem(item.path, item.name, "no prefix scorer tells it which requests are cold: it would treat all of them so.", "Add a prefix scorer."))
        if not view.line.inline_saturation:
            continue
        name, kind = item.parameters.get("prefixPluginName", "prefix-cache-scorer"), item.parameters.get("prefixPluginType", "prefix-cache-scorer")
        target = view.named(name)
        if target is None and "prefixPluginName" not in item.parameters and view.makes("precise"):
            problems.append(Problem(f"{item.path}.parameters.prefixPluginName", None, "it reads prefix-cache-scorer by default, which is not declared: every request would count as cold.",
                                    f"Write prefixPluginName: {view.makes('precise')[0].name} and prefixPluginType: precise-prefix-cache-scorer."))
        elif target is not None and target.type != kind:
            problems.append(Problem(f"{item.path}.parameters.prefixPluginType", kind, f"{name} is of type {target.type}: name and type must agree, else every request counts as cold.",
                                    f"Write prefixPluginType: {target.type}."))
    return problems


def parameters_together(view: View) -> list[Problem]:
    """Parameters that only make sense with, or without, each other."""
    problems: list[Problem] = []
    for item in view.plugins:
        path, given = f"{item.path}.parameters", item.parameters
        if item.type == "by-label" and not given.get("validValues") and not given.get("allowsNoLabel"):
            problems.append(Problem(f"{path}.validValues", given.get("validValues"), "without values and without allowsNoLabel the filter refuses to start.", "Write the label values to keep."))
        if item.type == "session-id-producer" and bool(given.get("headerName")) == bool(given.get("cookieName")):
            problems.append(Problem(path, sorted(given), "it takes exactly one of headerName and cookieName.", "Write one of them."))
        if item.type == "token-producer" and ("estimate" in given) and ({"vllm", "modelName"} & set(given)):
            problems.append(Problem(path, sorted(given), "it has one backend: estimate, or vllm with modelName.", "Keep one of the two."))
        if item.type in ("token-producer",) and "vllm" in given and not given.get("modelName"):
            problems.append(Problem(f"{path}.modelName", None, "the vllm backend must know the model.", "Write the name that the servers serve."))
        span = dig(given, "algorithm", "normalization", "fixedRange")
        if isinstance(span, dict) and all(isinstance(span.get(end), (int, float)) for end in ("min", "max")) and span["min"] >= span["max"]:
            problems.append(Problem(f"{path}.algorithm.normalization.fixedRange", span, "min must be less than max.", "Write a smaller min or a larger max."))
        if item.type == "priority-holdback-policy" and isinstance(given.get("minCeiling"), (int, float)) and given["minCeiling"] >= given.get("maxCeiling", 1):
            problems.append(Problem(f"{path}.minCeiling", given["minCeiling"], "minCeiling must be less than maxCeiling.", "Write a smaller minCeiling."))
    return problems


def priority_bands(view: View) -> list[Problem]:
    """Bands of flow control: each priority once."""
    problems: list[Problem] = []
    seen: set[t.Any] = set()
    for index, band in enumerate(entries(view.section("flowControl"), "priorityBands", dict)):
        priority = band.get("priority", 0)
        if priority in seen:
            problems.append(Problem(f"flowControl.priorityBands[{index}].priority", priority, "another band has this priority.", "Give each band its own priority."))
        seen.add(priority)
    return problems


def latency_scorer_gate(view: View) -> list[Problem]:
    """predicted-latency-scorer of GIE 1.4 works on data that only the gate makes."""
    if not view.line.inline_saturation or view.gate("prepareDataPlugins"):
        return []
    return [Problem("featureGates", view.document.get("featureGates"), f"{item.name} needs the gate prepareDataPlugins.", "Add prepareDataPlugins to featureGates.")
            for item in view.of_type("predicted-latency-scorer")]


def missing_producers(view: View) -> list[Problem]:
    """On 1.5 nobody makes a producer but the prefix one; in the router a missing default is made by itself."""
    if view.line.strict or view.line.inline_saturation:
        return []
    makers = {"inflight": "inflight-load-producer", "latency": "predicted-latency-producer"}
    return [Problem(item.path, item.name, f"{item.type} needs {makers[data]}, which is not declared: it would see the same for every server.", f"Declare {makers[data]}.")
            for item in view.plugins if item.plugin is not None for data in item.plugin.needs if data in makers and not view.makes(data)]


RULES: tuple[t.Callable[[View], list[Problem]], ...] = (
    disaggregation, precise_prefix, cold_requests, parameters_together, priority_bands, latency_scorer_gate, missing_producers,
)
