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
    usual_block_size (what servers are told where block_size is None and the number has to be known), hash_seed, port, epp_service (host name),
    server_args, server_env, epp_args. `servers`: what gives server_args and server_env for what the configuration requires of the servers.
    """
    found = Findings()
    if release not in LINE_FACTS:
        near = suggest(release, LINE_FACTS)
        found.refuse("release", release, f"there is no release line {show(release)}.", f"Did you mean {near}?" if near else f"Known: {', '.join(LINE_FACTS)}.")
        return Built({}, "", nothing(), [], found.problems)
    around = {} if context is None else context
    asked = known_options(scheduler, found)
    if any(asked.get(key) for key in ("plugins", "profiles", "document")):
        draft, document = _raw(asked, release, around, found)
    else:
        draft = _draft(asked, release, around, found)
        document = draft.document()
    document = copy.deepcopy(shape.typed(document, LINE_FACTS[release]))
    wrong = check.check(document, release, around)
    requires = nothing()
    if not found.problems and not wrong:
        config = parse_config(document, release)
        requires = requirements(config, around, asked)
        if servers is not None and any(requires["vllm"].values()):
            wrong = check.server_problems(config, {**around, **servers(requires["vllm"])})
    problems = _distinct([*found.problems, *(dataclasses.replace(item, path=origin_of(item.path, draft.places)) for item in wrong)])
    if problems:
        return Built({}, "", nothing(), found.notes, problems)
    notes = list(dict.fromkeys([*found.notes, *check.notes(document, release)]))
    return Built(document, to_yaml(document), requires, notes, [])


def _distinct(problems: list[Problem]) -> list[Problem]:
    """Each problem once, in order: a mistake in a scorer of two profiles is reported once."""
    kept: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        kept.setdefault((problem.path, problem.reason), problem)
    return list(kept.values())


def _draft(asked: dict[str, t.Any], line: str, context: t.Mapping[str, t.Any], found: Findings) -> Draft:
    """The document of a preset and of the options next to it."""
    draft = Draft(line)
    shaped = asked.keys() & {"scorers", "disaggregation", "picker", "filters"}
    base = resolve_preset(asked.get("preset") or (None if shaped else "default"), line, found)
    parts = resolve_scorers(asked.get("scorers") or {}, base["scorers"], line, "scorers", found)
    if not parts and found.problems:  # in place of the refused scorers, so that the lack of scorers is not reported as well
        parts = resolve_scorers({}, presets.PRESETS["default"]["scorers"], line, "scorers", found)
    picker = _picker(asked, base, parts, line, found)
    if asked.get("scorers") and not parts and picker.alias != "random" and not found.problems:
        found.refuse("scorers", asked["scorers"], f"leaves no scorer for the picker {picker.alias}.", "Keep one, or write preset: round_robin without scorers.")
    filters = [with_server_options(part, asked, line) for part in resolve_filters(asked.get("filters") or [], base.get("filters", ()), line, found)]
    disaggregation = asked.get("disaggregation", base.get("disaggregation"))
    if disaggregation is not None and "disagg-profile-handler" in catalog.types_of(line):
        every = (parts, filters)
        disaggregate(draft, disaggregation, every, _own_stages(asked, base, filters, line, found), picker, context, found)
    else:
        _single(draft, asked, parts, filters, picker, context, found)
        if disaggregation is not None and not found.problems:
            found.refuse(
                "disaggregation",
                disaggregation,
                f"{line} knows no separate prefill and decode servers.",
                f"Leave it out, or use a release that has them: {', '.join(catalog.lines_of('disagg-profile-handler'))}.",
            )
    saturation(draft, asked.get("saturation") or {})
    if asked.get("flow_control") is not None:
        flow_control(draft, asked["flow_control"], found)
    server_metrics(draft, context.get("engine") or "vllm", asked.get("kv_cache_metric") or None, found)
    _gates(draft, asked)
    found.notes += _notes(base, parts, line)
    return draft


def _own_stages(asked: dict[str, t.Any], base: dict[str, t.Any], filters: list[Part], line: str, found: Findings) -> dict[str, StageParts]:
    """{stage: (scorers, filters)} of the stages for which the preset has scorers of their own: with these, and without what the other stages have of it."""
    made = {}
    for stage, scorers in base.get("stages", {}).items():
        parts = resolve_scorers(asked.get("scorers") or {}, scorers, line, "scorers", found)
        kept = [part for part in parts if part.alias in scorers or part.alias not in base["scorers"]]
        made[stage] = (kept, [part for part in filters if part.alias not in base["filters"]])
    return made


def _picker(asked: dict[str, t.Any], base: dict[str, t.Any], parts: list[Part], line: str, found: Findings) -> Part:
    """The requested picker, else the preset's; max_score instead of random if there are scorers."""
    word = asked.get("picker") or ("max_score" if parts and base["picker"] == "random" else base["picker"])
    resolved = resolve_alias(word, catalog.PICKER_ALIASES, "picker", line, "picker", found) or ("max_score", catalog.PICKER_ALIASES["max_score"])
    path = "picker" if asked.get("picker") else "picker_parameters" if asked.get("picker_parameters") else "preset"
    if asked.get("picker") and resolved[0] == "random" and parts:
        found.notes.append("The random picker ignores scores: the scorers have no effect.")
    return Part(resolved[0], resolved[1], "picker_parameters" if asked.get("picker_parameters") else path, 1, dict(asked.get("picker_parameters") or {}))


def _single(
    draft: Draft, asked: dict[str, t.Any], parts: list[Part], filters: list[Part], picker: Part, context: t.Mapping[str, t.Any], found: Findings
) -> None:
    """One profile, run by the single-profile handler or the requested one."""
    references = [(declare_scorer(draft, part, context, "", found), part) for part in parts]
    for item in filters:
        declare_makers(draft, item, context)
    names = [draft.declare_part(item) for item in filters]
    chosen = draft.declare_part(picker)
    word = asked.get("profile_handler") or "single"
    resolved = resolve_alias(word, catalog.HANDLER_ALIASES, "handler", draft.line, "profile_handler", found) or ("single", catalog.HANDLER_ALIASES["single"])
    if resolved[0] in ("disaggregated", "pd"):
        found.refuse(
            "profile_handler",
            word,
            "it runs prefill and decode profiles, and there are none.",
            "Write preset: disaggregated, or disaggregation: true next to your scorers.",
        )
        resolved = ("single", catalog.HANDLER_ALIASES["single"])
    path = "profile_handler_parameters" if asked.get("profile_handler_parameters") else "profile_handler"
    draft.declare_part(Part(resolved[0], resolved[1], path, 1, dict(asked.get("profile_handler_parameters") or {})))
    origin = "scorers" if asked.get("scorers") is not None or not asked.get("preset") else "preset"
    # A filter that is a scorer as well (context_length) is in the profile once, as the scorer.
    scored = {name for name, _part in references}
    draft.profile("default", [name for name in names if name not in scored], references, chosen, origin)


def _gates(draft: Draft, asked: dict[str, t.Any]) -> None:
    for index, gate in enumerate(asked.get("feature_gates") or []):
        draft.gate(gate)
        draft.places[f"featureGates[{draft.gates.index(gate)}]"] = f"feature_gates[{index}]"
    draft.places["featureGates"] = "feature_gates"


def _notes(base: dict[str, t.Any], parts: list[Part], line: str) -> list[str]:
    found = [presets.ROUND_ROBIN_NOTE] if base.get("name") == "round_robin" and not parts else []
    return found + [text for part in parts for lines, text in presets.SCORER_NOTES.get(part.alias, ()) if line in lines]


def _raw(asked: dict[str, t.Any], line: str, context: t.Mapping[str, t.Any], found: Findings) -> tuple[Draft, dict[str, t.Any]]:
    """The user's own document, or own plugins and profiles: apiVersion and kind are added, the rest is validated and left unchanged."""
    if isinstance(asked.get("document"), dict):
        for key in ("saturation", "flow_control", "feature_gates", "preset"):
            if asked.get(key):
                found.refuse(key, asked[key], "a complete document and this option exclude each other.", "Write it inside document.")
        document = {"apiVersion": LINE_FACTS[line].api_versions[0], "kind": KIND, **asked["document"]}
        return Draft(line, places={key: f"document.{key}" for key in (*document, *(field.name for field in DOCUMENT))}), document
    if asked.get("preset"):
        found.refuse("preset", asked["preset"], "a preset and plugins of your own exclude each other.", "Leave one of the two out.")
    plugins, profiles = (copy.deepcopy(list(asked.get(key) or [])) for key in ("plugins", "profiles"))
    draft = Draft(line, plugins=plugins, profiles=profiles, places={"schedulingProfiles": "profiles"})
    if all(isinstance(item, dict) and "type" in item for item in plugins):  # otherwise nothing can be declared next to them, and the rules report it
        saturation(draft, asked.get("saturation") or {})
        if asked.get("flow_control") is not None:
            flow_control(draft, asked["flow_control"], found)
        if not any(item["type"] == METRICS_EXTRACTOR[line] for item in plugins):
            server_metrics(draft, context.get("engine") or "vllm", None, found)
    _gates(draft, asked)
    document = draft.document()
    if not profiles:
        del document["schedulingProfiles"]
    return draft, document
