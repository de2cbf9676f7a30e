# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the endpoint picker reads how full a KV cache is, for servers that export it under another name. Pure.

Until GIE 1.3 that was the flag --kv-cache-usage-percentage-metric, which stops every line of today.
"""

from __future__ import annotations

import re

from ...schema.fields import show
from ..catalog.release_lines import LINE_FACTS, METRICS_EXTRACTOR
from .draft import Draft
from .resolve import Findings

OPTION = "kv_cache_metric"
_SOURCE = "metrics-data-source"
_LABEL = r"[A-Za-z_]\w*=[^{}=,]+"
_SPEC = re.compile(rf"[A-Za-z_:][\w:]*(\{{{_LABEL}(,{_LABEL})*\}})?\Z")
# Whoever names an engine of his own names all of it: these are what is built in for vLLM (epp.md section 3.6).
_VLLM = {
    "queuedRequestsSpec": "vllm:num_requests_waiting",
    "runningRequestsSpec": "vllm:num_requests_running",
    "kvUsageSpec": "vllm:kv_cache_usage_perc",
    "loraSpec": "vllm:lora_requests_info",
    "cacheInfoSpec": "vllm:cache_config_info",
}


def kv_cache_metric(draft: Draft, metric: str, found: Findings) -> None:
    """Have the endpoint picker read this metric, beside what it reads anyway."""
    if not _SPEC.match(metric):
        fix = "Write a name such as vllm:gpu_cache_usage_perc, or with labels: name{label=value}."
        found.refuse(OPTION, metric, f"{show(metric)} is not a metric.", fix)
        return
    line = LINE_FACTS[draft.line]
    parameters = {"engineConfigs": [{"name": "vllm", **_VLLM, "kvUsageSpec": metric}]}
    sources = draft.sections.setdefault(line.data_section, {}).setdefault("sources", [])
    wired = next((source for source in sources if source["pluginRef"] == _SOURCE), None)
    if wired:  # by the precise prefix index, which names the metrics for the same reason
        next(plugin for plugin in draft.plugins if plugin["type"] == METRICS_EXTRACTOR[draft.line])["parameters"] = parameters
        return
    draft.declare(_SOURCE, origin=OPTION)
    extractor = draft.declare(METRICS_EXTRACTOR[draft.line], parameters, OPTION)
    sources.insert(0, {"pluginRef": _SOURCE, "extractors": [{"pluginRef": extractor}]})
    if line.data_section == "data":
        draft.gate("dataLayer")
