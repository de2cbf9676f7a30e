# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules for prefill/decode disaggregation: profiles, deciders and headers, without which it silently never happens. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import get_path
from ...schema.fields import Problem
from ..document import Declared, ParsedConfig

_PD_HANDLERS = ("disagg-profile-handler", "pd-profile-handler")

_FLAT = ("decodeProfile", "prefillProfile", "encodeProfile", "deciderPluginName", "prefillDeciderPluginName", "encodeDeciderPluginName")


def pd_settings(config: ParsedConfig) -> tuple[Declared, dict[str, str], dict[str, str]] | None:
    """(handler, profile names by stage, deciders by stage) of prefill/decode disaggregation; None without such a handler."""
    handler = next(iter(config.of_type(*_PD_HANDLERS)), None)
    if handler is None:
        return None
    given = handler.parameters
    nested, flat = get_path(given, "profiles") or {}, {stage: given.get(f"{stage}Profile") for stage in ("decode", "prefill", "encode")}
    profiles = {stage: str((nested.get(stage) if isinstance(nested, dict) else None) or flat[stage] or stage) for stage in ("decode", "prefill", "encode")}
    deciders = {stage: get_path(given, "deciders", stage) or given.get(f"{stage}DeciderPluginName") for stage in ("prefill", "encode")}
    deciders["prefill"] = deciders["prefill"] or given.get("deciderPluginName") or ("prefix-based-pd-decider" if handler.type == "pd-profile-handler" else None)
    return handler, profiles, {stage: str(name) for stage, name in deciders.items() if name}


def disaggregation(config: ParsedConfig) -> list[Problem]:
    """Profiles, deciders and header writers of disaggregation."""
    settings = pd_settings(config)
    if settings is None:
        return [
            Problem(item.path, item.name, "no prefill/decode profile handler reads it.", "Declare disagg-profile-handler, or remove it.")
            for item in config.of("headers")
        ]
    handler, profiles, deciders = settings
    return [
        *_forms(handler),
        *_profiles(config, handler, profiles, deciders),
        *_stages(config, profiles),
        *_headers(config, profiles, deciders),
        *_decider(config, handler, deciders),
    ]


def _forms(handler: Declared) -> list[Problem]:
    """The older flat parameters and the nested ones exclude each other."""
    nested = [key for key in ("profiles", "deciders") if handler.parameters.get(key)]
    flat = [key for key in _FLAT if handler.parameters.get(key)]
    if handler.type != "disagg-profile-handler" or not nested or not flat:
        return []
    reason = "flat parameters and profiles/deciders exclude each other: the endpoint picker refuses to start."
    return [Problem(f"{handler.path}.parameters", flat, reason, f"Write {', '.join(flat)} under profiles and deciders.")]


def _profiles(config: ParsedConfig, handler: Declared, profiles: dict[str, str], deciders: dict[str, str]) -> list[Problem]:
    """Every stage has its profile, and every profile but decode has a decider."""
    names = [profile.name for profile in config.profiles]
    problems: list[Problem] = []
    if profiles["decode"] not in names:
        reason = f"{handler.name} runs profile {profiles['decode']} first, and there is none."
        problems.append(Problem("schedulingProfiles", names, reason, f"Add a profile {profiles['decode']} with decode-filter."))
    for stage in ("prefill", "encode"):
        if stage in deciders and profiles[stage] not in names:
            reason = f"{handler.name} has a decider for {stage} and there is no profile {profiles[stage]}: the stage would never run."
            problems.append(Problem("schedulingProfiles", names, reason, f"Add a profile {profiles[stage]} with {stage}-filter."))
        elif stage not in deciders and profiles[stage] in names:
            reason = f"profile {profiles[stage]} exists and no decider ever runs it."
            fix = f"Name a decider in deciders.{stage}, or remove the profile."
            problems.append(Problem(f"{handler.path}.parameters.deciders", None, reason, fix))
    return problems


def _stages(config: ParsedConfig, profiles: dict[str, str]) -> list[Problem]:
    """A stage without a filter chooses among servers of every role."""
    return [
        Problem(
            profile.path,
            profile.name,
            f"profile {profile.name} has no filter: the {stage} stage would choose among servers of every role.",
            f"Add {stage}-filter as its first plugin.",
        )
        for stage, name in profiles.items()
        for profile in config.profiles
        if profile.name == name and not [item for item in profile.of("filter") if item.declared and item.declared.type != "context-length-aware"]
    ]


def _headers(config: ParsedConfig, profiles: dict[str, str], deciders: dict[str, str]) -> list[Problem]:
    """Before router 0.9 a separate plugin must write the header, else disaggregation silently never happens."""
    writers = config.of("headers")
    if not config.line.header_handler or not deciders:
        return []
    if not writers:
        return [
            Problem(
                "plugins",
                None,
                f"{config.line.name} needs a plugin that tells the decode server which server prefills; without it no request is disaggregated.",
                "Declare disagg-headers-handler.",
            )
        ]
    problems = []
    for stage in ("prefill", "encode"):
        written = writers[0].parameters.get(f"{stage}Profile", stage)
        if stage in deciders and written != profiles[stage]:
            problems.append(
                Problem(
                    f"{writers[0].path}.parameters.{stage}Profile",
                    written,
                    f"the profile handler calls this profile {profiles[stage]}: the header would never be written.",
                    f"Write {profiles[stage]}.",
                )
            )
    return problems


def _decider(config: ParsedConfig, handler: Declared, deciders: dict[str, str]) -> list[Problem]:
    """prefix-based-pd-decider needs a threshold above 0, prefix data, and in some lines a feature gate for that data."""
    target = config.named(deciders.get("prefill"))
    if "prefill" in deciders and target is None and handler.type == "pd-profile-handler" and "deciderPluginName" not in handler.parameters:
        reason = "it needs a decider, by default prefix-based-pd-decider, and none is declared."
        return [Problem(handler.path, handler.name, reason, "Declare prefix-based-pd-decider above it, with nonCachedTokens.")]
    if target is None or target.type != "prefix-based-pd-decider":
        return []
    problems = []
    if target.parameters.get("nonCachedTokens", 0) == 0:
        reason = "0, the default, means never since scheduler 0.7 (it meant always in 0.6)."
        fix = "Write the minimum number of uncached tokens to use a prefill server, such as 16; to disaggregate always, use always-disagg-pd-decider."
        problems.append(Problem(f"{target.path}.parameters.nonCachedTokens", 0, reason, fix))
    if config.line.data_by_gate and not config.gate("prepareDataPlugins"):
        reason = "without the gate prepareDataPlugins the decider finds no prefix data and never disaggregates."
        problems.append(Problem("featureGates", config.document.get("featureGates"), reason, "Add prepareDataPlugins to featureGates."))
    if not _prefix_data(config):
        reason = "no plugin tells it how much of a prompt is cached, so it never disaggregates."
        problems.append(Problem(target.path, target.name, reason, "Add prefix-cache-scorer to the decode profile, or use always-disagg-pd-decider."))
    return problems


def _prefix_data(config: ParsedConfig) -> bool:
    if config.line.strict or config.makes("prefix") or config.of_type("prefix-cache-scorer"):
        return True  # the router creates the missing producer
    return any(item.parameters.get("speculativeIndexing") is True for item in config.makes("precise"))


RULES: tuple[t.Callable[[ParsedConfig], list[Problem]], ...] = (disaggregation,)
