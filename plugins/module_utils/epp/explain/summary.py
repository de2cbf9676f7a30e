# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an endpoint picker decides, in a line for each scheduling profile. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ..catalog.presets import SERVER_OPTIONS
from ..document import ParsedConfig, Profile, parse_config
from ..rules.profiles import picker_of
from .scores import alias


def summary(document: dict[str, t.Any], release: str) -> list[str]:
    """Such as `scorers queue 2, kv_cache 2, prefix 3; picker max-score-picker`, each profile with its name where there are several."""
    config = parse_config(document, release)
    named = len(config.profiles) > 1
    return [f"{f'profile {profile.name}: ' if named else ''}{_profile(profile, config)}" for profile in config.profiles]


def _profile(profile: Profile, config: ParsedConfig) -> str:
    filters = [item.declared.type for item in profile.of("filter") if item.declared is not None]
    scorers = [f"{alias(item.declared, config)} {1 if item.weight is None else item.weight:g}" for item in profile.of("scorer") if item.declared is not None]
    parts = [f"filters {', '.join(filters)}"] if filters else []
    return "; ".join([*parts, f"scorers {', '.join(scorers)}" if scorers else "no scorers", f"picker {picker_of(profile, config)}"])


def preset(settings: c.Mapping[str, t.Any]) -> str:
    """The preset of the options of a scheduler block that say how it decides, and whether others change it."""
    name, others = settings.get("preset"), [key for key in settings if key not in ("preset", *SERVER_OPTIONS)]
    if not name:
        return "no preset" if others else "preset default"
    return f"preset {name}" + (f", with {', '.join(others)} of its own" if others else "")
