# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading conditions and other parts of Kubernetes objects, whatever shape they have. Computes only."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Verdict:
    """What a judge says of one object.

    ready: it does what it is for; reason: why (not), a few words fit for a progress line; remedy: what to do about it;
    terminal: waiting longer will not help.
    """

    ready: bool
    reason: str
    remedy: str = ""
    terminal: bool = False


@dataclass(frozen=True)
class Context:
    """What a judge may look at beside the object.

    pods: pods of the object's present revision; events: their events and the object's own;
    restarts: restart counts when the wait began, by 'pod uid/container'.
    """

    pods: list = field(default_factory=list)
    events: list = field(default_factory=list)
    restarts: dict = field(default_factory=dict)


def dig(value: object, *keys: str) -> object:
    """The value below a path of keys; None where a step is missing or is no mapping."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def dicts(value: object) -> list[dict]:
    """The mappings of a list; empty for anything that is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def mapping(value: object) -> dict:
    """The value, or an empty mapping for anything that is none."""
    return value if isinstance(value, dict) else {}


def number(value: object, default: int = 0) -> int:
    """The value as a whole number, or the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def text(value: object) -> str:
    """The value as text; empty for None."""
    return "" if value is None else str(value)


def generation(obj: dict) -> int:
    """metadata.generation, 0 where there is none."""
    return number(dig(obj, "metadata", "generation"))


def condition(holder: object, name: str) -> dict:
    """The condition of a type in holder.conditions; empty where it is not set."""
    for entry in dicts(dig(holder, "conditions")):
        if entry.get("type") == name:
            return entry
    return {}


def stale(entry: dict, current: int) -> bool:
    """True when a condition speaks of an older generation than the present one."""
    seen = entry.get("observedGeneration")
    return isinstance(seen, int) and seen < current


def unmet(holder: object, names: tuple[str, ...], current: int) -> str:
    """Why one of the conditions is not True for the present generation; empty when all are."""
    for name in names:
        entry = condition(holder, name)
        if not entry:
            return f"{name} is not reported yet"
        if stale(entry, current):
            return f"{name} is reported for generation {entry.get('observedGeneration')}, not yet for {current}"
        if entry.get("status") != "True":
            return describe(entry)
    return ""


def describe(entry: dict) -> str:
    """A condition in words: type, status, reason, message."""
    words = f"{text(entry.get('type'))}={text(entry.get('status'))}"
    if entry.get("reason"):
        words += f" {text(entry.get('reason'))}"
    message = " ".join(text(entry.get("message")).split())
    return words + (f": {message[:300]}" if message else "")
