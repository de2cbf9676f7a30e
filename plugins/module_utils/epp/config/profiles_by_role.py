# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Scheduling profiles of prefill/decode disaggregation: one profile per role, deciders, and the handler that runs them. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...schema.fields import show
from ..catalog import plugins as catalog
from ..catalog import presets
from ..catalog.release_lines import LINE_FACTS
from .draft import Draft
from .prefix_scorers import declare_makers, declare_scorer
from .resolve import Context, Findings, Part, alias_of, resolve_alias, resolve_scorers, type_here

StageParts = tuple[list[Part], list[Part]]  # scorers, filters


def disaggregate(
    draft: Draft,
    requested: t.Mapping[str, t.Any],
    every: StageParts,
    own: t.Mapping[str, StageParts],
    picker: Part,
    context: Context,
    findings: Findings,
) -> None:
    """Add the profiles prefill and decode (and encode), a decider for each stage but decode, and the handler that runs them.

    every: scorers and filters of each stage that is not in `own`.
    """
    line, (base, filters) = LINE_FACTS[draft.line], every
    declared = [(item, draft.declare_part(item)) for item in filters]
    if line.header_handler:
        draft.declare("disagg-headers-handler", origin="disaggregation")
    if not line.strict and alias_of(requested.get("decider", "prefix"), catalog.DECIDER_ALIASES, draft.line) == "prefix":
        # The decider reads the cached tokens from the precise scorer, which publishes them only with speculative indexing.
        base = [dataclasses.replace(part, parameters={"speculative": True, **part.parameters}) if part.alias == "precise_prefix" else part for part in base]
    stages = (["encode"] if "encode" in requested else []) + ["prefill", "decode"]
    for stage in stages:
        parts, kept = own.get(stage, (base, filters))
        _stage(draft, stage, requested.get(stage), parts, [name for item, name in declared if item in kept], picker, context, findings)
    for item in filters:
        declare_makers(draft, item, context)
    deciders = {"prefill": _decider(draft, requested, findings)}
    if "encode" in requested:
        deciders["encode"] = draft.declare("always-disagg-multimodal-decider", origin="disaggregation.encode")
    parameters: dict[str, t.Any] = {"deciders": deciders}
    if "stage_order" in requested:
        parameters["stageOrder"] = requested["stage_order"]
    draft.declare("disagg-profile-handler", parameters, "disaggregation", "", {"stageOrder": "stage_order", "deciders": "decider"})
    if "connector" in requested and requested["connector"] not in presets.CONNECTORS[draft.line]:
        findings.refuse(
            "disaggregation.connector",
            requested["connector"],
            f"the sidecar of {draft.line} has no such connector.",
            f"Write one of {', '.join(presets.CONNECTORS[draft.line])}.",
        )


def _stage(draft: Draft, stage: str, own: t.Any, base: list[Part], filters: t.Sequence[str], picker: Part, context: Context, findings: Findings) -> None:
    """Add one profile: the filter of the role, the user's filters, scorers and picker. `own`: {scorers, picker} of this stage only."""
    path = f"disaggregation.{stage}"
    settings = own if isinstance(own, dict) else {}
    parts = base
    if "scorers" in settings:
        parts = resolve_scorers(settings["scorers"], {}, draft.line, f"{path}.scorers", findings)
    if "picker" in settings:
        resolved = resolve_alias(settings["picker"], catalog.PICKER_ALIASES, "picker", draft.line, f"{path}.picker", findings)
        picker = Part(*resolved, f"{path}.picker") if resolved is not None else picker
    references = [(declare_scorer(draft, part, context, stage, findings), part) for part in parts]
    role = draft.declare(f"{stage}-filter", origin="disaggregation")
    draft.profile(stage, [role, *filters], references, draft.declare_part(picker, stage), path if own else "disaggregation")


def _decider(draft: Draft, requested: t.Mapping[str, t.Any], findings: Findings) -> str:
    """Declare the decider for prefill: prefix (by the number of uncached tokens) or always; returns its name."""
    word = requested.get("decider", "prefix")
    alias = alias_of(word, catalog.DECIDER_ALIASES, draft.line)
    if alias is None:
        findings.refuse("disaggregation.decider", word, f"there is no decider {show(word)}.", "Write prefix (by the number of uncached tokens) or always.")
        alias = "prefix"
    kind = type_here(alias, catalog.DECIDER_ALIASES, draft.line)
    if alias == "always":
        for key in ("non_cached_tokens", "prompt_tokens"):
            if key in requested:
                findings.refuse(
                    f"disaggregation.{key}", requested[key], "the decider always reads no thresholds.", f"Leave {key} out, or write decider: prefix."
                )
        return draft.declare(kind, origin="disaggregation.decider")
    parameters = {"nonCachedTokens": requested.get("non_cached_tokens", presets.NON_CACHED_TOKENS)}
    if "prompt_tokens" in requested:
        parameters["promptTokens"] = requested["prompt_tokens"]
    if LINE_FACTS[draft.line].data_by_gate:
        draft.gate("prepareDataPlugins")
    return draft.declare(kind, parameters, "disaggregation", "", {"nonCachedTokens": "non_cached_tokens", "promptTokens": "prompt_tokens"})
