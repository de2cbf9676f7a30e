# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Features beside scoring: saturation, flow control and the metrics of the servers. Pure."""

from __future__ import annotations

import re
import typing as t

from ...releases.deployed import ENGINE_DEFAULTS, picker_signals
from ...schema.fields import show
from ..catalog import plugins as catalog
from ..catalog import presets
from ..catalog.release_lines import LINE_FACTS, METRICS_EXTRACTOR
from .draft import Draft
from .resolve import Findings, resolve_alias

OPTION = "kv_cache_metric"
_SOURCE, _SINCE_15 = "metrics-data-source", "core-metrics-extractor"
_LABEL = r"[A-Za-z_]\w*=[^{}=,]+"
_SPEC = re.compile(rf"[A-Za-z_:][\w:]*(\{{{_LABEL}(,{_LABEL})*\}})?\Z")
# Parameters of an entry of engineConfigs, by signal. It replaces the built-in entry as a whole (docs/endpoint-picker.md).
_SPECS = {"waiting": "queuedRequestsSpec", "running": "runningRequestsSpec", "kv_cache": "kvUsageSpec", "lora": "loraSpec"}
# For engines that export these as gauges; older lines read them only as labels of one metric, as vLLM exports them.
_GAUGES = {"block_size": "cacheBlockSizeSpec", "blocks": "cacheNumBlocksSpec"}
_LIKE_VLLM = ("vllm", "simulator")


def saturation(draft: Draft, requested: t.Mapping[str, t.Any]) -> None:
    """Saturation thresholds: a section of the document up to scheduler-0.7, a plugin since 1.5."""
    known = presets.SATURATION_OPTIONS
    values = {name: requested[key] for key, name in known.items() if key in requested}
    if not values:
        return
    back = {known[key]: key for key in known}
    if LINE_FACTS[draft.line].inline_saturation:
        draft.sections["saturationDetector"] = values
        draft.places.update({f"saturationDetector.{name}": f"saturation.{word}" for name, word in back.items()})
        return
    name = draft.declare("utilization-detector", values, "saturation", "", back)
    if LINE_FACTS[draft.line].strict:
        draft.sections.setdefault("flowControl", {})["saturationDetector"] = {"pluginRef": name}
    else:
        draft.sections["saturationDetector"] = {"pluginRef": name}


def flow_control(draft: Draft, requested: t.Mapping[str, t.Any], findings: Findings) -> None:
    """Flow control: queues by priority in the endpoint picker."""
    words = {
        **presets.FLOW_OPTIONS,
        "default_band": "defaultPriorityBand",
        "default_negative_band": "defaultNegativePriorityBand",
        "bands": "priorityBands",
        "usage_limit": "usageLimitPolicyPluginRef",
    }
    if not requested.get("enabled", True):
        return
    draft.gate("flowControl")
    section = draft.sections.setdefault("flowControl", {})
    for key, name in presets.FLOW_OPTIONS.items():
        if key in requested:
            section[name] = requested[key]
    for key in ("default_band", "default_negative_band"):
        if key in requested:
            section[words[key]] = _band(draft, requested[key], f"flow_control.{key}", f"flowControl.{words[key]}", findings)
    if "bands" in requested:
        section["priorityBands"] = [
            _band(draft, band, f"flow_control.bands[{index}]", f"flowControl.priorityBands[{index}]", findings) for index, band in enumerate(requested["bands"])
        ]
    if "usage_limit" in requested:
        section["usageLimitPolicyPluginRef"] = draft.declare(
            "static-usage-limit-policy", {"threshold": requested["usage_limit"]}, "flow_control", "", {"threshold": "usage_limit"}
        )
    draft.places.update({f"flowControl.{name}": f"flow_control.{key}" for key, name in words.items()})
    if not section:
        del draft.sections["flowControl"]


def _band(draft: Draft, requested: t.Mapping[str, t.Any], path: str, place: str, findings: Findings) -> dict[str, t.Any]:
    draft.places.update({f"{place}.{name}": f"{path}.{key}" for key, name in presets.BAND_OPTIONS.items()})
    band = {name: requested[key] for key, name in presets.BAND_OPTIONS.items() if requested.get(key) is not None}
    for key, aliases, name in (("fairness", catalog.FAIRNESS_ALIASES, "fairnessPolicyRef"), ("ordering", catalog.ORDERING_ALIASES, "orderingPolicyRef")):
        if requested.get(key) is not None:
            resolved = resolve_alias(requested[key], aliases, key, draft.line, f"{path}.{key}", findings)
            if resolved is not None:
                band[name] = draft.declare(resolved[1], origin=f"{path}.{key}")
    return band


def server_metrics(draft: Draft, engine: str, metric: str | None, findings: Findings) -> None:
    """Read the metrics of this engine, and KV-cache usage from `metric` where one is named. Every endpoint picker reads those of vLLM by default."""
    if metric is None and engine in _LIKE_VLLM:
        return
    if metric is not None and not _SPEC.match(metric):
        fix = "Write a name such as vllm:gpu_cache_usage_perc, or with labels: name{label=value}."
        findings.refuse(OPTION, metric, f"{show(metric)} is not a metric.", fix)
        return
    line = LINE_FACTS[draft.line]
    parameters, source = _engine_parameters(engine, metric, draft.line), _source_parameters(engine)
    sources = draft.sections.setdefault(line.data_section, {}).setdefault("sources", [])
    wired = next((source for source in sources if source["pluginRef"] == _SOURCE), None)
    if wired:  # declared by the precise prefix index
        next(plugin for plugin in draft.plugins if plugin["type"] == METRICS_EXTRACTOR[draft.line])["parameters"] = parameters
        return
    draft.declare(_SOURCE, source, OPTION)
    extractor = draft.declare(METRICS_EXTRACTOR[draft.line], parameters, OPTION)
    sources.insert(0, {"pluginRef": _SOURCE, "extractors": [{"pluginRef": extractor}]})
    if line.data_section == "data":
        draft.gate("dataLayer")


def _engine_parameters(engine: str, metric: str | None, line: str) -> dict[str, t.Any]:
    """Parameters of the extractor for servers that all have this engine."""
    name = "vllm" if engine in _LIKE_VLLM else engine
    reads = picker_signals(name)
    specs = {_SPECS[signal]: reads[signal] for signal in _SPECS if signal in reads}
    if name == "vllm":
        specs["cacheInfoSpec"] = reads["blocks"]
    elif METRICS_EXTRACTOR[line] == _SINCE_15:
        specs |= {_GAUGES[signal]: reads[signal] for signal in _GAUGES if signal in reads}
    default = {} if name == "vllm" else {"defaultEngine": name}
    return {**default, "engineConfigs": [{"name": name, **specs, **({"kvUsageSpec": metric} if metric else {})}]}


def _source_parameters(engine: str) -> dict[str, t.Any]:
    path = ENGINE_DEFAULTS[engine]["metrics"]
    return {} if path == "/metrics" else {"path": path}
