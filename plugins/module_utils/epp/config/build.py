# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the EndpointPickerConfig of a release line from the user's scheduler block, and validates it. Pure.

`explain/decision.py` works out a decision with the result.
"""

from __future__ import annotations

import copy
import dataclasses
import typing as t

from ...common.yaml_text import to_yaml
from ...schema.fields import Problem, show, suggest
from ..catalog import plugins as catalog
from ..catalog import presets
from ..catalog.release_lines import DOCUMENT, KIND, LINE_FACTS, METRICS_EXTRACTOR
from ..document import parse_config
from ..rules import check, shape
from .draft import Draft, origin_of
from .features import flow_control, saturation, server_metrics
from .prefix_scorers import declare_makers, declare_scorer, with_server_options
from .profiles_by_role import StageParts, disaggregate
from .requirements import nothing, requirements
from .resolve import Findings, Part, known_options, resolve_alias, resolve_filters, resolve_preset, resolve_scorers

__all__ = ["Built", "Problem", "build"]


@dataclasses.dataclass(frozen=True)
class Built:
    """The document, its YAML text, what it requires of the rest of the deployment, notes, and problems.

    With problems, `document` is {} and `text` is "", so that nothing invalid can be deployed. Problem paths are relative to the scheduler block.
    """

    document: dict[str, t.Any]
    text: str
    requires: dict[str, t.Any]
    notes: list[str]
    problems: list[Problem]


def build(
    scheduler: t.Mapping[str, t.Any],
    release: str,
    context: t.Mapping[str, t.Any] | None = None,
    servers: t.Callable[[dict[str, t.Any]], dict[str, t.Any]] | None = None,
) -> Built:
    """Build the configuration of a release line from a `scheduler:` block; never raises for a user's mistake.

    `context`: settings of the rest of the deployment, None for unknown ones: engine (of releases/deployed.py), model (served name), tokenizer (where it is
    loaded from, if not by the served name), max_model_len (of a prompt and its answer), block_size,
    usual_block_size (the number that servers get where block_size is None and the endpoint picker has to know it), hash_seed, port, epp_service (host name),
    server_args, server_env, epp_args. `servers`: the function that returns {server_args, server_env} for the requirements on the servers.
    """
    findings = Findings()
    if release not in LINE_FACTS:
        near = suggest(release, LINE_FACTS)
        findings.refuse(
            "release", release, f"there is no release line {show(release)}.", f"Did you mean {near}?" if near else f"Known: {', '.join(LINE_FACTS)}."
        )
        return Built({}, "", nothing(), [], findings.problems)
    settings = {} if context is None else context
    requested = known_options(scheduler, findings)
    if any(requested.get(key) for key in ("plugins", "profiles", "document")):
        draft, document = _raw(requested, release, settings, findings)
    else:
        draft = _draft(requested, release, settings, findings)
        document = draft.document()
    document = copy.deepcopy(shape.typed(document, LINE_FACTS[release]))
    violations = check.check(document, release, settings)
    requires = nothing()
    if not findings.problems and not violations:
        config = parse_config(document, release)
        requires = requirements(config, settings, requested)
        if servers is not None and any(requires["vllm"].values()):
            violations = check.server_problems(config, {**settings, **servers(requires["vllm"])})
    problems = _distinct([*findings.problems, *(dataclasses.replace(item, path=origin_of(item.path, draft.places)) for item in violations)])
    if problems:
        return Built({}, "", nothing(), findings.notes, problems)
    notes = list(dict.fromkeys([*findings.notes, *check.notes(document, release)]))
    return Built(document, to_yaml(document), requires, notes, [])


def _distinct(problems: list[Problem]) -> list[Problem]:
    """Each problem once, in order: a mistake in a scorer of two profiles is reported once."""
    kept: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        kept.setdefault((problem.path, problem.reason), problem)
    return list(kept.values())


def _draft(requested: dict[str, t.Any], line: str, context: t.Mapping[str, t.Any], findings: Findings) -> Draft:
    """The document of a preset and of the options next to it."""
    draft = Draft(line)
    shaped = requested.keys() & {"scorers", "disaggregation", "picker", "filters"}
    base = resolve_preset(requested.get("preset") or (None if shaped else "default"), line, findings)
    parts = resolve_scorers(requested.get("scorers") or {}, base["scorers"], line, "scorers", findings)
    if not parts and findings.problems:  # in place of the refused scorers, so that the lack of scorers is not reported as well
        parts = resolve_scorers({}, presets.PRESETS["default"]["scorers"], line, "scorers", findings)
    picker = _picker(requested, base, parts, line, findings)
    if requested.get("scorers") and not parts and picker.alias != "random" and not findings.problems:
        findings.refuse(
            "scorers", requested["scorers"], f"leaves no scorer for the picker {picker.alias}.", "Keep one, or write preset: round_robin without scorers."
        )
    filters = [with_server_options(part, requested, line) for part in resolve_filters(requested.get("filters") or [], base.get("filters", ()), line, findings)]
    disaggregation = requested.get("disaggregation", base.get("disaggregation"))
    if disaggregation is not None and "disagg-profile-handler" in catalog.types_of(line):
        every = (parts, filters)
        disaggregate(draft, disaggregation, every, _own_stages(requested, base, filters, line, findings), picker, context, findings)
    else:
        _single(draft, requested, parts, filters, picker, context, findings)
        if disaggregation is not None and not findings.problems:
            findings.refuse(
                "disaggregation",
                disaggregation,
                f"{line} knows no separate prefill and decode servers.",
                f"Leave it out, or use a release that has them: {', '.join(catalog.lines_of('disagg-profile-handler'))}.",
            )
    saturation(draft, requested.get("saturation") or {})
    if requested.get("flow_control") is not None:
        flow_control(draft, requested["flow_control"], findings)
    server_metrics(draft, context.get("engine") or "vllm", requested.get("kv_cache_metric") or None, findings)
    _gates(draft, requested)
    findings.notes += _notes(base, parts, line)
    return draft


def _own_stages(requested: dict[str, t.Any], base: dict[str, t.Any], filters: list[Part], line: str, findings: Findings) -> dict[str, StageParts]:
    """{stage: (scorers, filters)} of the stages with scorers of their own in the preset: these, without those that the preset has for other stages."""
    made = {}
    for stage, scorers in base.get("stages", {}).items():
        parts = resolve_scorers(requested.get("scorers") or {}, scorers, line, "scorers", findings)
        kept = [part for part in parts if part.alias in scorers or part.alias not in base["scorers"]]
        made[stage] = (kept, [part for part in filters if part.alias not in base["filters"]])
    return made


def _picker(requested: dict[str, t.Any], base: dict[str, t.Any], parts: list[Part], line: str, findings: Findings) -> Part:
    """The requested picker, or that of the preset; max_score instead of random if there are scorers."""
    word = requested.get("picker") or ("max_score" if parts and base["picker"] == "random" else base["picker"])
    resolved = resolve_alias(word, catalog.PICKER_ALIASES, "picker", line, "picker", findings) or ("max_score", catalog.PICKER_ALIASES["max_score"])
    path = "picker" if requested.get("picker") else "picker_parameters" if requested.get("picker_parameters") else "preset"
    if requested.get("picker") and resolved[0] == "random" and parts:
        findings.notes.append("The random picker ignores scores: the scorers have no effect.")
    return Part(
        resolved[0], resolved[1], "picker_parameters" if requested.get("picker_parameters") else path, 1, dict(requested.get("picker_parameters") or {})
    )


def _single(
    draft: Draft, requested: dict[str, t.Any], parts: list[Part], filters: list[Part], picker: Part, context: t.Mapping[str, t.Any], findings: Findings
) -> None:
    """One profile, run by the single-profile handler or the requested one."""
    references = [(declare_scorer(draft, part, context, "", findings), part) for part in parts]
    for item in filters:
        declare_makers(draft, item, context)
    names = [draft.declare_part(item) for item in filters]
    chosen = draft.declare_part(picker)
    word = requested.get("profile_handler") or "single"
    resolved = resolve_alias(word, catalog.HANDLER_ALIASES, "handler", draft.line, "profile_handler", findings) or ("single", catalog.HANDLER_ALIASES["single"])
    if resolved[0] in ("disaggregated", "pd"):
        findings.refuse(
            "profile_handler",
            word,
            "it runs prefill and decode profiles, and there are none.",
            "Write preset: disaggregated, or disaggregation: true next to your scorers.",
        )
        resolved = ("single", catalog.HANDLER_ALIASES["single"])
    path = "profile_handler_parameters" if requested.get("profile_handler_parameters") else "profile_handler"
    draft.declare_part(Part(resolved[0], resolved[1], path, 1, dict(requested.get("profile_handler_parameters") or {})))
    origin = "scorers" if requested.get("scorers") is not None or not requested.get("preset") else "preset"
    # A filter that is a scorer as well (context_length) is in the profile once, as the scorer.
    scored = {name for name, _part in references}
    draft.profile("default", [name for name in names if name not in scored], references, chosen, origin)


def _gates(draft: Draft, requested: dict[str, t.Any]) -> None:
    for index, gate in enumerate(requested.get("feature_gates") or []):
        draft.gate(gate)
        draft.places[f"featureGates[{draft.gates.index(gate)}]"] = f"feature_gates[{index}]"
    draft.places["featureGates"] = "feature_gates"


def _notes(base: dict[str, t.Any], parts: list[Part], line: str) -> list[str]:
    notes = [presets.ROUND_ROBIN_NOTE] if base.get("name") == "round_robin" and not parts else []
    return notes + [text for part in parts for lines, text in presets.SCORER_NOTES.get(part.alias, ()) if line in lines]


def _raw(requested: dict[str, t.Any], line: str, context: t.Mapping[str, t.Any], findings: Findings) -> tuple[Draft, dict[str, t.Any]]:
    """The user's own document, or own plugins and profiles: apiVersion and kind are added, the rest is validated and left unchanged."""
    if isinstance(requested.get("document"), dict):
        for key in ("saturation", "flow_control", "feature_gates", "preset"):
            if requested.get(key):
                findings.refuse(key, requested[key], "a complete document and this option exclude each other.", "Write it inside document.")
        document = {"apiVersion": LINE_FACTS[line].api_versions[0], "kind": KIND, **requested["document"]}
        return Draft(line, places={key: f"document.{key}" for key in (*document, *(field.name for field in DOCUMENT))}), document
    if requested.get("preset"):
        findings.refuse("preset", requested["preset"], "a preset and plugins of your own exclude each other.", "Leave one of the two out.")
    plugins, profiles = (copy.deepcopy(list(requested.get(key) or [])) for key in ("plugins", "profiles"))
    draft = Draft(line, plugins=plugins, profiles=profiles, places={"schedulingProfiles": "profiles"})
    if all(isinstance(item, dict) and "type" in item for item in plugins):  # otherwise nothing can be declared next to them, and the rules report it
        saturation(draft, requested.get("saturation") or {})
        if requested.get("flow_control") is not None:
            flow_control(draft, requested["flow_control"], findings)
        if not any(item["type"] == METRICS_EXTRACTOR[line] for item in plugins):
            server_metrics(draft, context.get("engine") or "vllm", None, findings)
    _gates(draft, requested)
    document = draft.document()
    if not profiles:
        del document["schedulingProfiles"]
    return draft, document
