# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The score that each scorer gives each server, by the formulas of the endpoint picker's source code (docs/endpoint-picker.md). Pure.

A formula takes all candidates and returns (score, the formula in numbers) for each, in order; the score is None if it cannot be computed.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ...common.objects import get_path, mapping
from ...schema.fields import Field
from ..catalog.plugins import SCORER_ALIASES
from ..catalog.release_lines import LINE_FACTS
from ..catalog.types import S07
from ..document import Declared, ParsedConfig

Server = dict[str, t.Any]
Score = tuple[t.Optional[float], str]  # noqa: UP045  # ansible-test's pylint knows older Pythons too


def _count(description: str, minimum: int = 0) -> Field:
    return Field("int", description, minimum=minimum)


_TEXT = Field("str", "a text")
SERVER = Field(
    "dict",
    "one server",
    required=True,
    options={
        "name": Field("str", "its name", required=True),
        "waiting": _count("waiting requests"),
        "running": _count("running requests"),
        "kv_usage": Field("float", "KV-cache usage", minimum=0, maximum=1),
        "matched_blocks": _count("leading blocks of the prompt in its cache"),
        "total_blocks": _count("blocks of the prompt"),
        "loras": Field("list", "loaded adapters", elements=_TEXT),
        "waiting_loras": Field("list", "adapters being loaded", elements=_TEXT),
        "max_loras": _count("maximum number of adapters"),
        "active_requests": _count("requests in flight through the endpoint picker"),
        "tokens_in_flight": _count("tokens in flight through the endpoint picker"),
        "labels": Field("map", "its pod labels", elements=_TEXT),
        "role": Field("str", "its role label"),
        "last_cold": _count("place in the order of last cold requests, 0 the oldest"),
        "scores": Field("map", "given scores, by scorer", elements=Field("float", "a score")),
    },
)
REQUEST = Field(
    "dict",
    "the request",
    options={
        "model": Field("str", "requested model or adapter"),
        "prompt_tokens": _count("length of the prompt"),
        "prompt_characters": _count("length of the prompt"),
        "block_size": _count("tokens in one cache block", 1),
        "session": Field("str", "server of its session"),
        "headers": Field("map", "its headers", elements=_TEXT),
        "multimodal": Field("bool", "whether it has images, audio or video"),
    },
)


@dataclasses.dataclass(frozen=True)
class Case:
    """The input of a formula: the declared scorer, the candidates, all servers, the request, the release line."""

    item: Declared
    servers: list[Server]
    everyone: list[Server]
    request: dict[str, t.Any]
    line: str

    def given(self, key: str, default: t.Any) -> t.Any:
        return self.item.parameters.get(key, default)


def prompt_tokens(request: t.Mapping[str, t.Any]) -> int | None:
    """Tokens of the prompt: given, or a quarter of its characters, as the endpoint picker estimates; None if neither is known."""
    if request.get("prompt_tokens") is not None:
        return int(request["prompt_tokens"])
    if request.get("prompt_characters") is not None:
        return int(request["prompt_characters"]) // 4
    return None


def _spread(servers: list[Server], key: str) -> list[Score]:
    """(max - own) / (max - min): 1 for the least loaded server, 0 for the most loaded; 1 for all if they are equal."""
    values = [int(server.get(key, 0)) for server in servers]
    low, high = min(values), max(values)
    if low == high:
        return [(1.0, f"all have {high}") for _value in values]
    return [((high - value) / (high - low), f"({high} - {value}) / ({high} - {low})") for value in values]


def _queue(case: Case) -> list[Score]:
    return _spread(case.servers, "waiting")


def _running(case: Case) -> list[Score]:
    return _spread(case.servers, "running")


def _kv_cache(case: Case) -> list[Score]:
    return [(1 - float(server.get("kv_usage", 0)), f"1 - {float(server.get('kv_usage', 0)):g}") for server in case.servers]


def _prefix(case: Case) -> list[Score]:
    """Matched leading blocks / blocks of the prompt; since router 0.10 optionally mixed with the length of the match."""
    scores: list[Score] = []
    weight, scale = float(case.given("matchLengthWeight", 0)), int(case.given("matchLengthScaleTokens", 8192))
    size = int(case.request.get("block_size") or 16)
    for server in case.servers:
        matched, total = int(server.get("matched_blocks", 0)), int(server.get("total_blocks", 0))
        if total == 0:
            scores.append((0.0, "the prompt fills no block"))
            continue
        ratio, length = matched / total, 0.0
        if weight > 0:
            length = min(1.0, matched * size / scale) ** 2
        score = weight * length + (1 - weight) * ratio
        scores.append((score, f"{matched} / {total} blocks" + (f", {weight:g} of it by length" if weight else "")))
    return scores


def _precise(case: Case) -> list[Score]:
    """In scheduler-0.7: scaled between the shortest and the longest match; servers without a match get 0 and do not count."""
    matches = [int(server.get("matched_blocks", 0)) for server in case.everyone if int(server.get("matched_blocks", 0)) > 0]
    scores: list[Score] = []
    for server in case.servers:
        own = int(server.get("matched_blocks", 0))
        if own == 0:
            scores.append((0.0, "no block matches"))
        elif min(matches) == max(matches):
            scores.append((1.0, f"all that match have {own}"))
        else:
            low, high = min(matches), max(matches)
            scores.append(((own - low) / (high - low), f"({own} - {low}) / ({high} - {low})"))
    return scores


def _load_aware(case: Case) -> list[Score]:
    limit = int(case.given("threshold", 128))
    waiting = [int(server.get("waiting", 0)) for server in case.servers]
    return [
        (0.5, "nothing waits") if value == 0 else (0.5 * (1.0 - min(value, limit) / limit), f"0.5 * (1 - {min(value, limit)} / {limit})") for value in waiting
    ]


def _active(case: Case) -> list[Score]:
    """The maximum is taken over all servers in scheduler-0.7, over the candidates in the router."""
    idle, most = int(case.given("idleThreshold", 0)), float(case.given("maxBusyScore", 0 if case.line == S07 else 1))
    counted = case.everyone if case.line == S07 else case.servers
    highest = max(int(server.get("active_requests", 0)) for server in counted)
    scores: list[Score] = []
    for server in case.servers:
        own = int(server.get("active_requests", 0))
        if own == 0 or own <= idle:
            scores.append((1.0, "idle"))
        else:
            scores.append(((highest - own) / highest * most, f"({highest} - {own}) / {highest}" + (f" * {most:g}" if most != 1 else "")))
    return scores


def _lora(case: Case) -> list[Score]:
    model = case.request.get("model")
    scores: list[Score] = []
    for server in case.servers:
        loaded, coming = set(server.get("loras") or []), set(server.get("waiting_loras") or [])
        if model in loaded:
            scores.append((1.0, "adapter loaded"))
        elif len(loaded) + len(coming) < int(server.get("max_loras", 0)):
            scores.append((0.8, "room for the adapter"))
        else:
            scores.append((0.6, "adapter being loaded") if model in coming else (0.0, "no room for the adapter"))
    return scores


def _session(case: Case) -> list[Score]:
    home = case.request.get("session")
    return [
        (1.0, "its session lives here") if home is not None and server["name"] == home else (0.0, "not its session" if home is not None else "no session token")
        for server in case.servers
    ]


def _cold(case: Case) -> list[Score]:
    """Warm requests: 0.5 for all. Cold requests: servers without a cold request so far first, the others in order of their last one."""
    counted = case.everyone if case.line == S07 else case.servers
    if any(int(server.get("matched_blocks", 0)) > 0 for server in counted):
        return [(0.5, "not a cold request") for _server in case.servers]
    count = len(case.servers)
    if count == 1:
        return [(1.0, "the only server")]
    fresh = [server["name"] for server in case.servers if server.get("last_cold") is None]
    scores: list[Score] = []
    for server in case.servers:
        rank = fresh.index(server["name"]) if server["name"] in fresh else len(fresh) + int(server["last_cold"])
        scores.append((max(0.0, 1.0 - rank / (count - 1)), f"1 - {rank} / {count - 1}"))
    return scores


def _context(case: Case) -> list[Score]:
    label, length = str(case.given("label", "llm-d.ai/context-length-range")), prompt_tokens(case.request)
    return [_range_score(get_path(server, "labels", label), length) for server in case.servers]


def ends(text: t.Any) -> tuple[int, int] | None:
    """Both ends of a label such as `0-4096`, in tokens; None if it is not a range."""
    match = re.fullmatch(r"\s*([0-9]{1,15})\s*-\s*([0-9]{1,15})\s*", str(text))
    return (int(match[1]), int(match[2])) if match else None


def _range_score(text: t.Any, length: int | None) -> Score:
    """In range: at least 0.3, more for a narrow range and for headroom; out of range: below 0.3, less with the distance."""
    if text is None:
        return 0.5, "no label"
    if length is None:
        return None, "the length of the prompt is not given"
    limits = ends(text)
    if limits is None or limits[0] > limits[1]:
        return 0.0, f"{text} is not a range"
    low, high = limits
    if low <= length <= high:
        if low == high:
            return 1.0, "exactly its length"
        raw = 0.7 * (1.0 / (1.0 + (high - low) / 10000.0)) + 0.3 * ((high - length) / (high - low))
        return 0.3 + raw * (1.0 - 0.3), f"{length} is in {low}-{high}"
    distance = length - high if length > high else low - length
    return 0.3 / (1.0 + distance / 1000.0), f"{length} is {distance} outside {low}-{high}"


def _token_load(case: Case) -> list[Score]:
    """In the router the uncached tokens of the request count as well."""
    limit = int(case.given("queueThresholdTokens", 4_194_304))
    size, length = int(case.request.get("block_size") or 16), prompt_tokens(case.request) or 0
    scores: list[Score] = []
    for server in case.servers:
        load = int(server.get("tokens_in_flight", 0))
        if LINE_FACTS[case.line].strict:
            load += max(0, length - int(server.get("matched_blocks", 0)) * size)
        scores.append((1.0, "no tokens in flight") if load <= 0 else (1.0 - min(load, limit) / limit, f"1 - {min(load, limit)} / {limit}"))
    return scores


def _header_label(case: Case) -> list[Score]:
    wanted = {str(key).lower(): value for key, value in (case.request.get("headers") or {}).items()}.get(str(case.given("headerName", "")).lower())
    key = str(case.given("labelKey", ""))
    return [
        (1.0, "its label is the header's value") if wanted is not None and get_path(server, "labels", key) == wanted else (0.0, "its label is another")
        for server in case.servers
    ]


def _no_scores(case: Case) -> list[Score]:
    return [(0.0, "it only produces tokens") for _server in case.servers]


FORMULAS: dict[str, t.Callable[[Case], list[Score]]] = {
    "queue-scorer": _queue,
    "running-requests-size-scorer": _running,
    "kv-cache-utilization-scorer": _kv_cache,
    "prefix-cache-scorer": _prefix,
    "precise-prefix-cache-scorer": _precise,
    "load-aware-scorer": _load_aware,
    "active-request-scorer": _active,
    "lora-affinity-scorer": _lora,
    "session-affinity-scorer": _session,
    "no-hit-lru-scorer": _cold,
    "context-length-aware": _context,
    "token-load-scorer": _token_load,
    "header-label-affinity-scorer": _header_label,
    "tokenizer": _no_scores,
}


def score(case: Case) -> list[Score]:
    """The scores of one scorer, clamped to 0..1 as in the endpoint picker; scores given by the user take precedence."""
    formula = FORMULAS.get(case.item.type)
    router_precise = case.item.type == "precise-prefix-cache-scorer" and LINE_FACTS[case.line].strict
    results = (
        (_prefix if router_precise else formula)(case) if formula is not None else [(None, "not modeled here: set it under scores") for _server in case.servers]
    )
    return [_clamped(_given(server, case) or result) for server, result in zip(case.servers, results, strict=True)]


def _given(server: Server, case: Case) -> Score | None:
    given = mapping(server.get("scores"))
    value = next((given[name] for name in (alias(case.item, None), case.item.name, case.item.type) if name in given), None)
    return (float(value), "given") if value is not None else None


def _clamped(result: Score) -> Score:
    value, how = result
    return (value, how) if value is None else (min(1.0, max(0.0, value)), how)


def alias(item: Declared, config: ParsedConfig | None) -> str:
    """The alias of a declared scorer; precise_prefix for a prefix scorer that reads the precise producer."""
    producer = config.named(item.parameters.get("prefixMatchInfoProducerName")) if config is not None else None
    if producer is not None and producer.type == "precise-prefix-cache-producer":
        return "precise_prefix"
    return next((name for name, kind in SCORER_ALIASES.items() if kind == item.type), item.name)
