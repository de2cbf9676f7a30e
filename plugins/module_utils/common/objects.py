# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read conditions and other parts of Kubernetes objects; a value of the wrong shape reads as absent. Pure."""

from __future__ import annotations

import datetime
import typing as t
from dataclasses import dataclass, field

# Plain data: parsed YAML or JSON, or an object of the Kubernetes API.
Facts = dict[str, t.Any]


@dataclass(frozen=True)
class Verdict:
    """Readiness of one object.

    reason: why it is or is not ready, short enough for a progress line; remedy: what to do about it; terminal: waiting longer will not help.
    """

    ready: bool
    reason: str
    remedy: str = ""
    terminal: bool = False


@dataclass(frozen=True)
class Context:
    """Related data for a readiness check.

    pods: pods of the object's current revision; events: events of the object and of those pods;
    restarts: restart counts at the start of the wait, by 'pod uid/container'; again: the error of each container that ended twice with the same one, likewise.
    leaving: whether pods of an earlier revision are being deleted, which hold their devices and their share of a quota until they are gone.
    """

    pods: list[Facts] = field(default_factory=list)
    events: list[Facts] = field(default_factory=list)
    restarts: dict[str, int] = field(default_factory=dict)
    again: dict[str, str] = field(default_factory=dict)
    leaving: bool = False


def get_path(value: t.Any, *keys: str) -> t.Any:
    """The value at a path of keys; None where a step is missing or is not a mapping."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def api_group(version: object) -> str:
    """The group of an API version such as apps/v1; empty for the core group."""
    return text(version).rpartition("/")[0]


def group_of(obj: Facts) -> str:
    """The API group of an object."""
    return api_group(obj.get("apiVersion"))


def dicts(value: object) -> list[Facts]:
    """The mappings in a list; empty for anything that is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def mapping(value: object) -> Facts:
    """The value, or an empty mapping for anything that is not a mapping."""
    return value if isinstance(value, dict) else {}


def number(value: object, default: int = 0) -> int:
    """The value when it is an integer, else the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def text(value: object) -> str:
    """The value as text; empty for None."""
    return "" if value is None else str(value)


def moment(value: object) -> datetime.datetime | None:
    """A time of the Kubernetes API (RFC 3339) with its time zone; None for anything else, also for a time without a zone."""
    try:
        parsed = datetime.datetime.fromisoformat(text(value))
    except ValueError:
        return None
    return parsed if parsed.tzinfo else None


def generation(obj: Facts) -> int:
    """metadata.generation, 0 when absent."""
    return number(get_path(obj, "metadata", "generation"))


def condition(holder: object, name: str) -> Facts:
    """The condition of a type in `holder.conditions`; empty when absent."""
    for entry in dicts(get_path(holder, "conditions")):
        if entry.get("type") == name:
            return entry
    return {}


def stale(entry: Facts, current: int) -> bool:
    """Whether a condition was observed for an older generation than the current one."""
    observed = entry.get("observedGeneration")
    return isinstance(observed, int) and observed < current


def unmet(holder: object, names: tuple[str, ...], current: int) -> str:
    """Why one of the conditions is not True for the current generation; empty when all are True."""
    for name in names:
        entry = condition(holder, name)
        if not entry:
            return f"{name} is not reported yet"
        if stale(entry, current):
            return f"{name} is reported for generation {entry.get('observedGeneration')}, not yet for {current}"
        if entry.get("status") != "True":
            return describe(entry)
    return ""


def describe(entry: Facts) -> str:
    """A condition as text: type, status, reason, message."""
    words = f"{text(entry.get('type'))}={text(entry.get('status'))}"
    if entry.get("reason"):
        words += f" {text(entry.get('reason'))}"
    message = " ".join(text(entry.get("message")).split())
    return words + (f": {message[:300]}" if message else "")
