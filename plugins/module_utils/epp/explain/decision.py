# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Works out a decision: which of the given servers the endpoint picker would choose under a configuration, and why. Pure."""

from __future__ import annotations

import dataclasses
import typing as t

from ...common.objects import get_path
from ...schema.fields import Field, Problem, complete, show
from ..catalog.presets import ROLE_LABEL
from ..config.build import Built, build
from ..document import Declared, ParsedConfig, Profile, parse_config
from ..rules.disaggregation import pd_settings
from ..rules.profiles import picker_of
from . import filters, scores
from .scores import REQUEST, SERVER, Case, Server, alias, prompt_tokens

PICKER_WORDS = {
    "max-score-picker": "takes the highest total; equal totals are drawn at random",
    "weighted-random-picker": "draws at random, with probabilities proportional to the totals",
    "random-picker": "draws at random, with the same probability for every server; it ignores scores",
}


@dataclasses.dataclass(frozen=True)
class Share:
    """One scorer's part in the total of a server. score: 0..1, None if it cannot be computed here; share: score * weight; formula: in numbers."""

    scorer: str
    score: float | None
    weight: float
    share: float
    formula: str


@dataclasses.dataclass(frozen=True)
class Row:
    """One candidate: its shares, their sum, and the probability that the picker chooses it."""

    server: str
    shares: tuple[Share, ...]
    total: float
    probability: float


@dataclasses.dataclass(frozen=True)
class Decision:
    """The decision of one profile. removed: server to the filter that removed it; rows: best first; why: why no server is left."""

    profile: str
    picker: str
    rows: tuple[Row, ...]
    removed: dict[str, str]
    why: str = ""

    @property
    def winners(self) -> list[str]:
        return [row.server for row in self.rows if row.probability > 0]


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The decisions in order, the probability of each server to get the request, and a text that explains them."""

    decisions: tuple[Decision, ...]
    probabilities: dict[str, float]
    text: str
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def winners(self) -> list[str]:
        """The servers that can get the request, most likely first; several if they tie or the picker draws at random."""
        return sorted((name for name, chance in self.probabilities.items() if chance > 0), key=lambda name: (-self.probabilities[name], name))


def explain(
    scheduler: t.Mapping[str, t.Any],
    release: str,
    servers: t.Sequence[t.Mapping[str, t.Any]],
    request: t.Mapping[str, t.Any] | None = None,
    context: t.Mapping[str, t.Any] | None = None,
) -> Explanation:
    """Work out one decision. `servers` and `request` have the options of SERVER and REQUEST; only the name of a server is required."""
    return explain_built(build(scheduler, release, context), release, servers, request)


def explain_built(built: Built, release: str, servers: t.Any, request: t.Any = None) -> Explanation:
    """The same for a built configuration."""
    table, options, mistakes = _read(servers, request)
    problems = [*built.problems, *mistakes]
    if problems:
        return Explanation((), {}, "\n".join(str(problem) for problem in problems), tuple(built.notes), tuple(problems))
    config = parse_config(built.document, release)
    known = [_complete(server, table) for server in table]
    settings = pd_settings(config)
    notes: list[str] = []
    primary = next((profile for profile in config.profiles if settings is not None and profile.name == settings[1]["decode"]), config.profiles[0])
    decisions = [_decide(primary, config, known, options, notes)]
    probabilities = {row.server: row.probability for row in decisions[0].rows}
    words = [_words(decisions[0], config)]
    if settings is not None and decisions[0].rows:
        for stage in [name for name in ("encode", "prefill") if name in settings[2]]:
            made, why = _stage(stage, config, settings, decisions[0], known, options, notes)
            words.append(why)
            if made is not None:
                decisions.append(made)
                words.append(_words(made, config))
    words += [f"Note: {note}" for note in dict.fromkeys(notes)]
    return Explanation(tuple(decisions), probabilities, "\n\n".join(words) + "\n", tuple(dict.fromkeys([*built.notes, *notes])), ())


def _read(servers: t.Any, request: t.Any) -> tuple[list[Server], dict[str, t.Any], list[Problem]]:
    """(servers, request, problems) of the user's input, without the options that are not set."""
    if not isinstance(servers, (list, tuple)) or not servers:
        return [], {}, [Problem("servers", servers, "there is no server to choose.", "Write a list of servers, each with a name.")]
    table, problems = complete(servers, Field("list", "the servers", elements=SERVER), "servers")
    options, mistakes = complete(request, REQUEST, "request")
    problems += mistakes
    names: list[t.Any] = []
    for index, server in enumerate(table):
        name = server.get("name") if isinstance(server, t.Mapping) else None
        if name is not None and name in names:
            problems.append(Problem(f"servers[{index}].name", name, f"{show(name)} is the name of another server, too.", "Write a unique name."))
        names.append(name)
    if problems:
        return [], {}, problems
    return [_given(server) for server in table], _given(options or {}), []


def _given(options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {key: value for key, value in options.items() if value is not None}


def _complete(server: Server, servers: list[Server]) -> Server:
    """A server with its role as a label, and total_blocks taken from the other servers if omitted."""
    labels = {**server.get("labels", {})}
    if "role" in server:
        labels.setdefault(ROLE_LABEL, server["role"])
    blocks = max(other.get("total_blocks", 0) for other in servers)
    return {**server, "labels": labels, "total_blocks": server.get("total_blocks", blocks)}


def _decide(profile: Profile, config: ParsedConfig, servers: list[Server], request: dict[str, t.Any], notes: list[str]) -> Decision:
    """Filters in order, then every scorer, then the picker."""
    left, removed = list(servers), {}
    for item in profile.of("filter"):
        kept = filters.kept(item.declared, config.line.name, left, request, notes) if item.declared is not None else left
        removed.update({server["name"]: item.declared.type for server in left if server not in kept and item.declared is not None})
        left = kept
        if not left:
            break
    picker = picker_of(profile, config)
    if not left:
        return Decision(profile.name, picker, (), removed, "no server is left, and the request fails")
    columns = []
    for item in profile.of("scorer"):
        if item.declared is not None:
            weight = 1.0 if item.weight is None else item.weight
            columns.append((alias(item.declared, config), weight, scores.score(Case(item.declared, left, servers, request, config.line.name))))
    unknown = sorted({name for name, _weight, scores in columns if any(value is None for value, _how in scores)})
    if unknown:
        notes.append(f"{', '.join(unknown)} count as 0 here: they need data that is not given. Set their scores under `scores`.")
    rows = [_row(server, [(name, weight, scores[index]) for name, weight, scores in columns]) for index, server in enumerate(left)]
    chances = _chances(picker, [row.total for row in rows])
    rows = [dataclasses.replace(row, probability=chance) for row, chance in zip(rows, chances, strict=True)]
    return Decision(profile.name, picker, tuple(sorted(rows, key=lambda row: (-row.total, row.server))), removed)


def _row(server: Server, scored: list[tuple[str, float, scores.Score]]) -> Row:
    """The total is the sum of score * weight, in the order of the profile; weights are not normalized."""
    total, shares = 0.0, []
    for name, weight, (value, how) in scored:
        share = (value or 0.0) * weight
        total += share
        shares.append(Share(name, value, weight, share, how))
    return Row(server["name"], tuple(shares), total, 0.0)


def _chances(picker: str, totals: list[float]) -> list[float]:
    """The probability of each candidate to be chosen."""
    whole = sum(totals)
    if picker == "random-picker" or picker == "weighted-random-picker" and whole <= 0:
        return [1 / len(totals)] * len(totals)
    if picker == "weighted-random-picker":
        return [total / whole for total in totals]
    best = max(totals)
    return [1 / totals.count(best) if total == best else 0.0 for total in totals]


def _stage(
    stage: str, config: ParsedConfig, settings: t.Any, first: Decision, servers: list[Server], request: dict[str, t.Any], notes: list[str]
) -> tuple[Decision | None, str]:
    """(decision of the prefill or encode profile, None if the decider does not use it; why)."""
    _handler, profiles, deciders = settings
    decider = config.named(deciders[stage])
    if decider is None or decider.type == "always-disagg-pd-decider":
        needed, why = True, f"{deciders[stage]} always uses a {stage} server."
    elif decider.type == "always-disagg-multimodal-decider":
        needed = bool(request.get("multimodal"))
        why = f"The request {'brings' if needed else 'brings no'} images, sound or video: {'an' if needed else 'no'} encode server takes part."
    else:
        needed, why = _worth_it(decider, first, servers, request)
    profile = next((item for item in config.profiles if item.name == profiles[stage]), None)
    if not needed or profile is None:
        return None, why
    return _decide(profile, config, servers, request, notes), why


def _worth_it(decider: Declared, first: Decision, servers: list[Server], request: dict[str, t.Any]) -> tuple[bool, str]:
    """prefix-based-pd-decider: whether enough tokens of the prompt are not cached on the chosen decode server, and why."""
    least, length, size = int(decider.parameters.get("nonCachedTokens", 0)), prompt_tokens(request), int(request.get("block_size") or 16)
    if least == 0:
        return False, "nonCachedTokens is 0: a prefill server never takes part."
    if length is None:
        return False, "Whether a prefill server takes part depends on the length of the prompt: set request.prompt_tokens."
    shortest = int(decider.parameters.get("promptTokens", 0))
    if length < shortest:
        return False, f"The prompt has {length} tokens, fewer than promptTokens ({shortest}): no prefill server takes part."
    chosen = next(server for server in servers if server["name"] == first.winners[0])
    cached = int(chosen.get("matched_blocks", 0)) * size
    left = length - cached
    needed = length >= least and left >= least
    tie = " (the first of those that tie)" if len(first.winners) > 1 else ""
    return (
        needed,
        (
            f"Of {length} tokens {cached} are cached on {chosen['name']}{tie}: {max(left, 0)} left, {'at least' if needed else 'fewer than'} {least}: "
            f"{'a' if needed else 'no'} prefill server takes part."
        ),
    )


def _words(decision: Decision, config: ParsedConfig) -> str:
    """A decision as text: a table and a sentence."""
    head = f"Profile {decision.profile}: {decision.picker} {PICKER_WORDS.get(decision.picker, '')}."
    lines = [head] + [f"{kind} removes {name}." for name, kind in decision.removed.items()]
    if not decision.rows:
        return "\n".join([*lines, f"No server wins: {decision.why}."])
    titles = ["server", *(f"{share.scorer} x{share.weight:g}" for share in decision.rows[0].shares), "total", "chance"]
    table = [titles] + [[row.server, *(_cell(share) for share in row.shares), f"{row.total:.3f}", f"{row.probability:.0%}"] for row in decision.rows]
    widths = [max(len(line[column]) for line in table) for column in range(len(titles))]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in table]
    return "\n".join([*lines, *_because(decision, config)])


def _cell(share: Share) -> str:
    return "?" if share.score is None else f"{share.score:.3f} -> {share.share:.3f}"


def _because(decision: Decision, config: ParsedConfig) -> list[str]:
    """The winner in one sentence, and the formula of each scorer for it."""
    winners = decision.winners
    best = next(row for row in decision.rows if row.server == winners[0])
    if decision.picker == "max-score-picker" and len(winners) > 1:
        first = f"{', '.join(winners)} tie with {best.total:.3f}: each gets the request with probability {best.probability:.3f}."
    elif decision.picker == "max-score-picker":
        most = sum(share.weight for share in best.shares)
        first = f"{best.server} wins with {best.total:.3f} of {most:g}."
    else:
        best = max(decision.rows, key=lambda row: row.probability)
        alike = len({row.probability for row in decision.rows}) == 1
        first = (
            f"Each of the {len(decision.rows)} servers has the probability {best.probability:.3f}."
            if alike
            else f"{best.server} is the most likely, with {best.probability:.3f}."
        )
    return [first] + [
        f"  {best.server}, {share.scorer}: {share.formula} = {share.score:.3f}, times {share.weight:g} = {share.share:.3f}"
        for share in best.shares
        if share.score is not None and get_path(config.document, "kind")
    ]
