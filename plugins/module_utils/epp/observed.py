# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads from the logs of an endpoint picker which configuration it loaded, and from its metrics which plugins ran. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import json
import re
import typing as t

from ..common.prometheus_text import Sample, parse
from ..common.text import shorten
from .document import parse_config
from .rules.profiles import picker_of

LOADED = "loaded configuration from file/text successfully"
RAW = "Loaded raw configuration"
REFUSED = "Failed to parse configuration"
# Plugins that take part in a decision: extension point in the metrics to role in the catalog.
EXTENSION_POINTS = {"Filter": "filter", "Scorer": "scorer", "Picker": "picker"}

# GIE 1.4 logs {NAME/TYPE, Parameters: JSON}, GIE 1.5 {Name: NAME, Type: TYPE, Parameters: JSON}; NAME may be missing.
_PLUGIN = re.compile(r"\{(?:([^{}/\s\"]*)/|(?:Name: ([^,{}]+), )?Type: )([A-Za-z0-9._-]+)(, Parameters: )?")
_PROFILE = re.compile(r"\{Name: ([^,{}]+), Plugins: \[|\{PluginRef: ([^,{}]+)(?:, Weight: ([0-9.]+))?\}")


@dataclasses.dataclass(frozen=True)
class ConfigSummary:
    """The comparable part of a configuration: plugins as (name, type, parameters as JSON), profiles as (name, ((plugin, weight or None), ...))."""

    plugins: tuple[tuple[str, str, str], ...]
    profiles: tuple[tuple[str, tuple[tuple[str, float | None], ...]], ...]


@dataclasses.dataclass(frozen=True)
class LoadResult:
    """Whether one run of an endpoint picker loaded its configuration, by its log.

    line: the line that reports it; summary: the configuration, None if the log does not contain it; error: why it was not loaded.
    """

    loaded: bool
    line: str
    summary: ConfigSummary | None
    error: str


def read_log(log: str) -> LoadResult:
    """The result of loading the configuration, from a log in JSON lines or plain text. The last load counts."""
    loaded, line, summary, error = False, "", None, ""
    for text in log.splitlines():
        if LOADED in text:
            loaded, line = True, shorten(text)
        elif RAW in text:
            summary = summary_from_log(str(_entry(text).get("config") or text))
        elif REFUSED in text:
            error = _error(text)
    return LoadResult(loaded, line, summary, error or ("" if loaded else _panic(log)))


def _error(text: str) -> str:
    error = _entry(text).get("error")
    return shorten(str(error) if error else text.partition(REFUSED)[2].strip(' "\t,:') or text, 1000)


def _panic(log: str) -> str:
    """The error of a process that exited without a message about its configuration."""
    lines = [line for line in log.splitlines() if line.startswith(("panic:", "fatal error:", "Error:", "unknown flag"))]
    return shorten(lines[0], 1000) if lines else ""


def _entry(text: str) -> dict[str, t.Any]:
    try:
        entry = json.loads(text)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def summary_from_log(text: str) -> ConfigSummary | None:
    """The configuration as the endpoint picker logs it; None if the format is unknown."""
    before, _mark, after = text.partition("SchedulingProfiles: [")
    plugins = []
    at = before.find("Plugins: [")
    while at >= 0:
        match = _PLUGIN.search(before, at)
        if match is None:
            break
        at, parameters = match.end(), "{}"
        if match.group(4):
            try:
                value, at = json.JSONDecoder().raw_decode(before, at)
            except ValueError:
                return None
            parameters = _canonical(value)
        name = match.group(1) or match.group(2) or match.group(3)
        plugins.append((name, match.group(3), parameters))
    profiles: list[tuple[str, list[tuple[str, float | None]]]] = []
    for match in _PROFILE.finditer(after):
        if match.group(1):
            profiles.append((match.group(1), []))
        elif profiles:
            profiles[-1][1].append((match.group(2), float(match.group(3)) if match.group(3) else None))
    return ConfigSummary(tuple(plugins), tuple((name, tuple(items)) for name, items in profiles)) if plugins else None


def summarize(document: c.Mapping[str, t.Any]) -> ConfigSummary:
    """The comparable part of a document."""
    plugins = tuple(
        (str(item.get("name") or item.get("type")), str(item.get("type")), _canonical(item.get("parameters") or {})) for item in document.get("plugins") or []
    )
    profiles = tuple(
        (
            str(profile.get("name")),
            tuple((str(item.get("pluginRef")), None if item.get("weight") is None else float(item["weight"])) for item in profile.get("plugins") or []),
        )
        for profile in document.get("schedulingProfiles") or []
    )
    return ConfigSummary(plugins, profiles)


def _canonical(value: t.Any) -> str:
    return json.dumps(value, sort_keys=True)


def difference(result: LoadResult, document: c.Mapping[str, t.Any]) -> str:
    """How the loaded configuration differs from a document; empty if they are the same, or if the log does not contain the configuration."""
    wanted = summarize(document)
    if result.summary is None or result.summary == wanted:
        return ""
    for part, actual, expected in (("plugins", result.summary.plugins, wanted.plugins), ("profiles", result.summary.profiles, wanted.profiles)):
        if actual != expected:
            return f"it has loaded the {part} {_words(actual)} and not {_words(expected)}"
    return ""


def _words(items: tuple[t.Any, ...]) -> str:
    parts = []
    for item in items:
        if isinstance(item[1], tuple):
            parts.append(f"{item[0]} ({', '.join(name if weight is None else f'{name} {weight:g}' for name, weight in item[1])})")
        else:
            parts.append(item[0] if item[2] == "{}" else f"{item[0]} {item[2]}")
    return ", ".join(parts) or "none"


def expected_plugins(document: c.Mapping[str, t.Any], line: str) -> dict[str, set[str]]:
    """Names of the plugins that take part in decisions of a document, by extension point; those of every profile count."""
    config = parse_config(dict(document), line)
    names: dict[str, set[str]] = {point: set() for point in EXTENSION_POINTS}
    for profile in config.profiles:
        for point, role in EXTENSION_POINTS.items():
            names[point] |= {item.declared.name for item in profile.of(role) if item.declared is not None}
        if not profile.of("picker"):
            names["Picker"].add(picker_of(profile, config))  # created by the EPP and named after its type
    return names


def plugin_runs(page: str, series: str) -> dict[tuple[str, str], float]:
    """Runs of each plugin by (extension point, name), from a page of metrics. `series`: name of the histogram, without `_count`."""
    return plugin_runs_of(parse(page), series)


def plugin_runs_of(samples: c.Iterable[Sample], series: str) -> dict[tuple[str, str], float]:
    """The same from samples.

    By name, because some plugins report another type than the declared one (`decode-filter` reports `by-label`).
    """
    runs: dict[tuple[str, str], float] = {}
    for sample in samples:
        if sample.name == f"{series}_count":
            key = (sample.labels.get("extension_point", ""), sample.labels.get("plugin_name") or sample.labels.get("plugin_type", ""))
            runs[key] = runs.get(key, 0.0) + sample.value
    return runs


def unexpected_runs(document: c.Mapping[str, t.Any], line: str, runs: c.Mapping[tuple[str, str], float]) -> list[str]:
    """One line for each plugin that ran unexpectedly or did not run although expected; empty if the runs match the document."""
    lines = []
    for point, wanted in expected_plugins(document, line).items():
        ran = {kind for (where, kind), count in runs.items() if where == point and count > 0}
        lines += [f"{kind} ran as {point.lower()} and was not intended" for kind in sorted(ran - wanted)]
        lines += [f"{kind} did not run as {point.lower()}" for kind in sorted(wanted - ran)]
    return lines
