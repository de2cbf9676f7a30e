# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The behavior to expect from a configuration when the servers are idle, and the plugins that requests run through. Pure."""

from __future__ import annotations

import re
import typing as t

from ..common.objects import Facts
from .document import AFFINITY, Declared, ParsedConfig, Profile, parse_config
from .observed import EXTENSION_POINTS, expected_plugins
from .rules.disaggregation import pd_settings
from .rules.profiles import picker_of

PRECISE = ("precise-prefix-cache-scorer", "precise-prefix-cache-producer")
# Scorers of scraped load metrics, and those of them that read waiting requests.
_LOAD = re.compile(r"queue|load-aware|kv-cache-util|running-req")
# Highest affinity threshold, as a share of the prompt, at which the requests of a probe stick: they share all of it but a question of a few words.
MOST = 0.8
_WAITING = ("queue-scorer", "load-aware-scorer")


def expected_behavior(document: t.Mapping[str, t.Any], line: str) -> Facts:
    """{promises, plugins, sometimes, cold_tokens} of an EndpointPickerConfig of a release line.

    promises: `spread`: requests with different prefixes reach several servers; `sticky`: requests with one prefix stay on one server; `roam`: they do
    not; `follow`: requests follow a prefix that a server cached without the endpoint picker's involvement; `split`: a new prompt of more than
    `cold_tokens` tokens is prefilled by a prefill server; `avoid`: new prompts avoid a server with waiting requests.
    plugins: by extension point, the plugins that every request runs through; sometimes: those of profiles that run for some requests only.
    """
    config = parse_config(dict(document), line)
    stages = pd_settings(config)
    every = expected_plugins(document, line)
    behavior: Facts = {"promises": ["spread"], "plugins": {point: [] for point in EXTENSION_POINTS}, "cold_tokens": 0}
    if stages or len(config.profiles) == 1:  # otherwise a handler that is not modeled here chooses the profile
        deciding = _deciding(config, stages[1]["decode"] if stages else "")
        behavior["promises"] += _scheduling(deciding, config)
        behavior["plugins"] = {point: sorted(names) for point, names in (expected_plugins(_alone(document, deciding), line) if stages else every).items()}
    decider = config.named(stages[2].get("prefill")) if stages else None
    if decider is not None and decider.type in ("prefix-based-pd-decider", "always-disagg-pd-decider"):
        behavior["promises"].append("split")
        behavior["cold_tokens"] = max(decider.parameters.get(name) or 0 for name in ("nonCachedTokens", "promptTokens"))
    return {**behavior, "sometimes": {point: sorted(every[point] - set(behavior["plugins"][point])) for point in EXTENSION_POINTS}}


def _scheduling(profile: Profile, config: ParsedConfig) -> list[str]:
    scorers = [item.declared for item in profile.of("scorer") if item.declared is not None]
    picker = picker_of(profile, config)
    if picker == "random-picker":
        return ["roam"]
    if picker != "max-score-picker":
        return []
    precise = any(PRECISE[0] == item.type or PRECISE[1] == item.parameters.get("prefixMatchInfoProducerName") for item in scorers)
    avoid = all(_LOAD.search(item.type) for item in scorers) and any(item.type in _WAITING for item in scorers)
    keeps = any("prefix" in item.type for item in scorers) or any(_keeps(item.declared) for item in profile.of("filter") if item.declared is not None)
    held = {"sticky": keeps, "follow": precise, "avoid": avoid}
    return [name for name, holds in held.items() if holds]


def _keeps(item: Declared) -> bool:
    """Whether a filter keeps every request on the servers that have most of its prefix while no server is loaded."""
    return item.type == AFFINITY and 0 < item.setting("affinityThreshold") <= MOST and item.setting("explorationProbability") == 0


def _deciding(config: ParsedConfig, name: str) -> Profile:
    """The profile that picks the server that responds."""
    return next((profile for profile in config.profiles if profile.name == name), config.profiles[0])


def _alone(document: t.Mapping[str, t.Any], profile: Profile) -> Facts:
    """The document reduced to one profile."""
    return {**document, "schedulingProfiles": [entry for entry in document["schedulingProfiles"] if entry.get("name") == profile.name]}
