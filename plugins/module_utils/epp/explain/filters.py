# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The servers that each filter keeps, by the rules of the endpoint picker's source code (docs/endpoint-picker.md). Pure."""

from __future__ import annotations

import typing as t

from ..catalog.plugins import reads
from ..catalog.presets import ROLE_LABEL
from ..document import AFFINITY, Declared
from . import scores
from .scores import Server, prompt_tokens

# Values of the role label that each filter keeps; None is a server without the label.
ROLES: dict[str, frozenset[str | None]] = {
    "decode-filter": frozenset({None, "decode", "prefill-decode", "both", "encode-prefill-decode"}),
    "prefill-filter": frozenset({"prefill", "encode-prefill", "prefill-decode", "both", "encode-prefill-decode"}),
    "encode-filter": frozenset({"encode", "encode-prefill", "encode-prefill-decode"}),
}


def kept(item: Declared, line: str, servers: list[Server], request: dict[str, t.Any], notes: list[str]) -> list[Server]:
    """The servers that a filter of a release line lets through; remarks on it are added to `notes`."""
    if item.type in ROLES:
        return [server for server in servers if server["labels"].get(ROLE_LABEL) in ROLES[item.type]]
    if item.type == "by-label":
        label, values, bare = item.parameters.get("label"), item.parameters.get("validValues") or [], item.parameters.get("allowsNoLabel", False)
        return [server for server in servers if (server["labels"].get(label) in values if label in server["labels"] else bare)]
    if item.type in ("by-label-selector", "label-selector-filter"):
        return [server for server in servers if _selected(server["labels"], item.parameters)]
    if item.type == "context-length-aware":
        return _by_length(item, servers, request)
    if item.type == AFFINITY:
        return _by_affinity(item, line, servers, notes)
    notes.append(f"{item.type} is not modeled here: every server passes it.")
    return servers


def _by_affinity(item: Declared, line: str, servers: list[Server], notes: list[str]) -> list[Server]:
    """The servers that have most of the prompt, or all servers if each of them would make it wait for much longer than another server."""
    least, penalty = float(item.setting("affinityThreshold")), float(item.setting("maxTTFTPenaltyMs"))
    if item.setting("explorationProbability"):
        notes.append(f"With probability {item.setting('explorationProbability'):g} {item.name} lets every server pass; here it does not.")
    sticky = [server for server in servers if server["total_blocks"] and int(server.get("matched_blocks", 0)) / server["total_blocks"] >= least]
    others = [server for server in servers if server not in sticky]
    if least <= 0 or not sticky or not others:
        return servers
    if item.plugin is None or "inflight" not in reads(item.plugin, line, item.parameters):
        if penalty > 0:
            notes.append(f"{item.name} asks a latency predictor whether the servers with the prefix are too slow; here they are not.")
        return sticky
    waits = [min(int(server.get("tokens_in_flight", 0)) for server in group) / item.setting("peakPrefillThroughput") * 1000 for group in (sticky, others)]
    if waits[0] - waits[1] <= penalty:
        return sticky
    notes.append(f"{item.name} lets every server pass: those with the prefix make it wait {waits[0]:.0f} ms, another one {waits[1]:.0f} ms.")
    return servers


def _by_length(item: Declared, servers: list[Server], request: dict[str, t.Any]) -> list[Server]:
    length, label = prompt_tokens(request), str(item.parameters.get("label", "llm-d.ai/context-length-range"))
    if not item.parameters.get("enableFiltering") or length is None:
        return servers
    passing = []
    for server in servers:
        limits = scores.ends(server["labels"].get(label))
        if label not in server["labels"] or limits is not None and limits[0] <= length <= limits[1]:
            passing.append(server)
    return passing


def _selected(labels: t.Mapping[str, str], selector: t.Mapping[str, t.Any]) -> bool:
    """Whether labels match a Kubernetes label selector."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for rule in selector.get("matchExpressions") or []:
        key, operator, values = rule.get("key"), rule.get("operator"), rule.get("values") or []
        held = {"In": labels.get(key) in values, "NotIn": labels.get(key) not in values, "Exists": key in labels, "DoesNotExist": key not in labels}
        if not held.get(str(operator), True):
            return False
    return True
