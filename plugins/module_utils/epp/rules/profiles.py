# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules for scheduling profiles: names, pickers, handlers, weights. Pure."""

from __future__ import annotations

import typing as t

from ...schema.fields import Problem, ordinary, show, suggest
from ..catalog.plugins import reads, roles_of, types_of
from ..document import AFFINITY, ParsedConfig, Profile


def profile_names(config: ParsedConfig) -> list[Problem]:
    """Profile names are unique; every plugin that a profile names exists, once in it."""
    problems: list[Problem] = []
    used_names: set[str] = set()
    for profile in config.profiles:
        if profile.name in used_names:
            problems.append(Problem(f"{profile.path}.name", profile.name, "two profiles have this name.", "Give each profile a unique name."))
        used_names.add(profile.name)
        for item in profile.plugins:
            where = f"{item.path}.pluginRef"
            if item.name and item.declared is None:
                near = suggest(item.name, [known.name for known in config.plugins])
                problems.append(Problem(where, item.name, "no plugin has this name.", f"Did you mean {near}?" if near else "Declare it under plugins."))
        names = [item.name for item in profile.plugins]
        problems += [
            Problem(f"{item.path}.pluginRef", item.name, "it is twice in this profile and would count twice.", "Remove one.")
            for index, item in enumerate(profile.plugins)
            if item.name and item.name in names[:index]
        ]
    return problems


def pickers(config: ParsedConfig) -> list[Problem]:
    """Each profile has at most one picker, and names it if several are declared."""
    problems: list[Problem] = []
    declared = config.of("picker")
    for profile in config.profiles:
        own = profile.of("picker")
        if len(own) > 1:
            problems.append(
                Problem(
                    own[1].path, own[1].name, f"profile {profile.name} has {len(own)} pickers ({', '.join(r.name for r in own)}); one is allowed.", "Keep one."
                )
            )
        elif not own and len(declared) > 1:
            problems.append(
                Problem(
                    profile.path,
                    [item.name for item in declared],
                    f"profile {profile.name} names no picker and several are declared: which one runs is undefined.",
                    "Name one of them in the profile.",
                )
            )
    return problems


def handlers(config: ParsedConfig) -> list[Problem]:
    """There is one profile handler, and it can run the number of profiles."""
    declared = config.of("handler")
    problems = [
        Problem(item.path, item.name, f"a second profile handler ({declared[0].name} is the first); the endpoint picker takes one.", "Keep one.")
        for item in declared[1:]
    ]
    if len(config.profiles) > 1:
        names = ", ".join(profile.name for profile in config.profiles)
        if not declared and not any(item.plugin is None and roles_of(item.type) & {"handler"} for item in config.plugins):
            problems.append(
                Problem(
                    "schedulingProfiles",
                    names,
                    "several profiles and no profile handler: the endpoint picker refuses to start.",
                    _several(config, "Declare"),
                )
            )
        problems += [
            Problem(
                item.path,
                item.name,
                f"{item.type} runs one profile only; there are {len(config.profiles)} ({names}).",
                _several(config, "Use"),
            )
            for item in declared
            if item.type in ("single-profile-handler", "data-parallel-profile-handler")
        ]
    return problems


def _several(config: ParsedConfig, verb: str) -> str:
    """The profile handlers of the release line that run several profiles, as advice."""
    known = [name for name in ("disagg-profile-handler", "header-profile-handler") if name in types_of(config.line.name, "handler")]
    return f"{verb} {' or '.join(known)}, or keep one profile." if known else "Keep one profile: no profile handler of this release runs several."


def weights(config: ParsedConfig) -> list[Problem]:
    """Weights are on scorers, are not negative, and are whole numbers if the line requires that."""
    problems: list[Problem] = []
    for profile in config.profiles:
        for item in profile.plugins:
            weight, where = item.weight, f"{item.path}.weight"
            if isinstance(weight, bool) or not isinstance(weight, (int, float)):
                continue  # absent, or already reported by its shape
            if item.declared is not None and item.declared.plugin is not None and not item.declared.has("scorer"):
                problems.append(Problem(where, weight, f"{item.declared.type} is not a scorer: its weight is ignored silently.", "Remove the weight."))
            elif not ordinary(weight):
                problems.append(Problem(where, weight, f"{show(weight)} is not a weight.", "Write a number, 0 or more."))
            elif weight < 0:
                problems.append(Problem(where, weight, "a negative weight inverts the scorer: the worst server would win.", "Write 0 or more."))
            elif config.line.integer_weights and weight != int(weight):
                problems.append(
                    Problem(
                        where,
                        weight,
                        f"{config.line.name} reads whole numbers only and refuses to start.",
                        f"Write whole numbers in the same ratio, such as {int(weight * 10)}.",
                    )
                )
    return problems


def picker_of(profile: Profile, config: ParsedConfig) -> str:
    """The type of the picker that a profile runs."""
    own = [item.declared for item in profile.of("picker") if item.declared is not None] or config.of("picker")
    return own[0].type if own else "max-score-picker"


def ties(config: ParsedConfig) -> list[str]:
    """Notes on profiles that give every server the same score."""
    remarks = []
    for profile in config.profiles:
        picker = picker_of(profile, config)
        weights_of = [item.weight for item in profile.of("scorer") if item.declared is not None and item.declared.type != "tokenizer"]
        if picker == "random-picker" or not all(weight == 0 for weight in weights_of):
            continue
        why = f"has {'only weights of 0' if weights_of else 'no scorer'}"
        remarks.append(f"{picker} chooses by score and profile {profile.name} {why}: all servers tie, and one of them is picked at random.")
    return remarks


def affinity(config: ParsedConfig) -> list[str]:
    """Notes on prefix affinity filters: a throughput that was measured on other servers, and scorers that undo the release of saturated servers."""
    line, remarks = config.line.name, []
    for item in config.of_type(AFFINITY):
        estimates = item.plugin is not None and "inflight" in reads(item.plugin, line, item.parameters)
        if estimates and "peakPrefillThroughput" not in item.parameters:
            remarks.append(
                f"{item.name} takes a server to compute {item.setting('peakPrefillThroughput')} prompt tokens per second, as two H100 do with Qwen3-32B. "
                "playbooks/calibrate.yml measures what yours do: write it as scheduler.peak_prefill_throughput."
            )
    for profile in config.profiles:
        filters = [each.name for each in profile.of("filter") if each.declared is not None and each.declared.type == AFFINITY]
        pulling = [each.name for each in profile.of("scorer") if each.declared is not None and "prefix-cache-scorer" in each.declared.type and each.weight != 0]
        if filters and pulling:
            remarks.append(
                f"{', '.join(pulling)}: {filters[0]} has already kept the servers with the prefix, and where it lets a request go to others since these are "
                "saturated, a scorer of prefixes pulls it back. Leave the scorer out."
            )
    return remarks


RULES: tuple[t.Callable[[ParsedConfig], list[Problem]], ...] = (profile_names, pickers, handlers, weights)
