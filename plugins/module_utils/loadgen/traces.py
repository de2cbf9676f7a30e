# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that name the requests to send: the user's own prompts, and recorded traces in the formats of Mooncake and BurstGPT. Pure."""

from __future__ import annotations

import csv
import io
import json
import typing as t

MAX_ENTRIES = 1_000_000
MAX_LEN = 10_000_000  # tokens of one prompt or answer
FORMATS = ("mooncake", "burstgpt")


class TraceEntry(t.NamedTuple):
    """One request of a trace: seconds, tokens of prompt and answer, ids of the blocks that the prompt begins with."""

    at: float
    input_len: int
    output_len: int
    blocks: tuple[int, ...] = ()


class OwnPrompt(t.NamedTuple):
    """One prompt of the user's file."""

    prompt: str | list[dict[str, str]]
    output_len: int | None = None
    model: str | None = None


def prompts(text: str) -> list[OwnPrompt]:
    """Prompts from lines: JSON objects with `prompt` or `messages` (and, if wanted, `output_len` and `model`), else each line is one prompt.

    Raises ValueError that names the line.
    """
    parsed = []
    for number, line in _lines(text):
        if not line.startswith("{"):
            parsed.append(OwnPrompt(line))
            continue
        data = _object(number, line)
        prompt = data.get("messages", data.get("prompt"))
        if not (_is_chat(prompt) or (isinstance(prompt, str) and prompt)):
            raise ValueError(f'line {number}: give `prompt`, a text, or `messages`, a list such as [{{"role": "user", "content": "..."}}]')
        model = data.get("model")
        if model is not None and not isinstance(model, str):
            raise ValueError(f"line {number}: model {model!r} is no name")
        parsed.append(OwnPrompt(t.cast(t.Any, prompt), _length(number, data, "output_len") if "output_len" in data else None, model))
    if not parsed:
        raise ValueError("the file holds no prompt")
    return parsed


def trace(text: str, kind: str) -> list[TraceEntry]:
    """The requests of a trace in the order of their times. Raises ValueError that names the line."""
    try:
        entries = sorted(_mooncake(text) if kind == "mooncake" else _burstgpt(text), key=lambda entry: entry.at)
    except csv.Error as error:
        raise ValueError(f"no CSV: {error}") from None
    if not entries:
        raise ValueError("the trace holds no request")
    return entries


def _mooncake(text: str) -> list[TraceEntry]:
    entries = []
    for number, line in _lines(text):
        data = _object(number, line)
        blocks = data.get("hash_ids", [])
        if not isinstance(blocks, list) or not all(isinstance(block, int) for block in blocks):
            raise ValueError(f"line {number}: hash_ids is no list of numbers")
        at = _number(number, "timestamp", data.get("timestamp")) / 1000
        entries.append(TraceEntry(at, _length(number, data, "input_length"), _length(number, data, "output_length"), tuple(blocks)))
    return entries


def _burstgpt(text: str) -> list[TraceEntry]:
    rows = csv.DictReader(io.StringIO(text))
    needed = ("Timestamp", "Request tokens", "Response tokens")
    if missing := [name for name in needed if name not in (rows.fieldnames or ())]:
        raise ValueError(f"line 1: columns {', '.join(missing)} are missing; a BurstGPT file has {', '.join(needed)}")
    entries = []
    for number, row in enumerate(rows, 2):
        at = _number(number, "Timestamp", row["Timestamp"])
        prompt, answer = (int(_number(number, name, row[name])) for name in needed[1:])
        if prompt > 0 and answer > 0:  # an answer without tokens was a failure when the trace was recorded
            entries.append(TraceEntry(at, prompt, answer))
        if len(entries) > MAX_ENTRIES:
            raise ValueError(f"more than {MAX_ENTRIES} requests; cut the trace")
    return entries


def _lines(text: str) -> list[tuple[int, str]]:
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) > MAX_ENTRIES:
        raise ValueError(f"more than {MAX_ENTRIES} lines; cut the file")
    return lines


def _object(number: int, line: str) -> dict[str, t.Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"line {number}: no JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"line {number}: no JSON object")
    return data


def _number(number: int, name: str, value: t.Any) -> float:
    try:
        parsed = float(value)
        if not 0 <= parsed < 1e12:
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(f"line {number}: {name} {value!r} is not a number of at least 0") from None
    return parsed


def _length(number: int, data: dict[str, t.Any], name: str) -> int:
    value = data.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_LEN:
        raise ValueError(f"line {number}: {name} {value!r} is no number of tokens from 1 to {MAX_LEN}")
    return value


def _is_chat(value: t.Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(entry, dict) and isinstance(entry.get("role"), str) and isinstance(entry.get("content"), str) for entry in value)
    )
