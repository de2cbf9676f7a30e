# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`llm_d_chart_values`: values of the user for the installed charts, merged with those of the plan, which they cannot change. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from ...common.objects import Facts
from ...releases.charts import CHART_DISPLACES
from ...schema.fields import REDACTED, Problem

VARIABLE = "llm_d_chart_values"
# The options that decide values, by a key in their path.
_OPTIONS = {
    "imagePullSecrets": "llm_d_image_pull_secrets",
    "pullSecrets": "llm_d_image_pull_secrets",
    "imageRegistry": "llm_d_image_registry",
    "imagePullPolicy": "llm_d_image_pull_policy",
    "pullPolicy": "llm_d_image_pull_policy",
    "image": "llm_d_images",
    "envoyProxy": "llm_d_images",
    "images": "llm_d_images",
    "repository": "llm_d_images",
    "mig": "llm_d_gpus.pools",
    "devicePlugin": "llm_d_gpus.pools",
    "migManager": "llm_d_gpus.pools",
    "driver": "llm_d_gpus.driver",
    "toolkit": "llm_d_gpus.driver",
    "nfd": "llm_d_gpus.node_feature_discovery",
    "dcgmExporter": "llm_d_gpus.metrics",
    "runAsUser": "llm_d_run_as_user",
    "runAsGroup": "llm_d_run_as_user",
    "crds": "llm_d_crd_sources",
    "enableCRDTemplates": "llm_d_crd_sources",
}
_OPTIONS_OF = {"gpu_operator": {"image": "llm_d_image_registry", "repository": "llm_d_image_registry", "version": "llm_d_gpus.version"}}


def with_own(user: Facts, key: str, ours: Facts, usual: Facts | None = None) -> Facts:
    """{values: of a chart, with those of the user, decided: `ours`, which the user cannot change}. usual: defaults, which the user can change."""
    return {"values": _merged(_merged(usual or {}, user[VARIABLE].get(key) or {}), ours), "decided": ours}


def chart_value_problems(user: Facts, charts: c.Iterable[Facts]) -> list[Problem]:
    """Values that the plan decides, and values for charts that are not installed. charts: the planned ones, without the user's values."""
    ours, problems = {chart["key"]: chart["decided"] for chart in charts}, []
    for key, values in user[VARIABLE].items():
        path = f"{VARIABLE}.{key}"
        if values and key not in ours:
            problems.append(Problem(path, REDACTED, "is of no use: this file installs no such chart.", _instead(ours)))
        places = [*_conflicts(values or {}, ours.get(key, {})), *_displacing(values or {}, CHART_DISPLACES[key] if key in ours else ())]
        options = {**_OPTIONS, **_OPTIONS_OF.get(key, {})}
        for steps in dict.fromkeys(places):
            option = next((options[step] for step in reversed(steps) if step in options), None)
            fix = f"Take it out, and write {option}." if option else "Take it out."
            problems.append(Problem(".".join([path, *steps]), REDACTED, "is decided by other options of your file.", fix))
    return problems


def _instead(ours: t.Collection[str]) -> str:
    return f"Take it out, or write values for {' or '.join(sorted(ours))}." if ours else "Take it out."


def _merged(below: t.Any, above: t.Any) -> t.Any:
    """Mappings merged at any depth; anything else of `above` takes the place of what is below."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {**below, **{key: _merged(below.get(key), value) for key, value in above.items()}}


def _conflicts(values: t.Any, ours: t.Any) -> c.Iterator[tuple[str, ...]]:
    """The paths of the user's values that the plan has as well."""
    for key in [key for key in values if key in ours]:
        if isinstance(values[key], dict) and isinstance(ours[key], dict):
            yield from ((str(key), *steps) for steps in _conflicts(values[key], ours[key]))
        else:
            yield (str(key),)


def _displacing(values: t.Any, places: c.Iterable[str]) -> c.Iterator[tuple[str, ...]]:
    """The paths that the user's values have of those that displace values of the plan."""
    for steps in (tuple(place.split(".")) for place in places):
        value = values
        for step in steps:
            value = value.get(step, ...) if isinstance(value, dict) else ...
        if value is not ...:
            yield steps
