# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The changes of a run as Kubernetes Events on the objects, so that `kubectl describe` shows them. Pure."""

from __future__ import annotations

import collections.abc as c
import datetime

from ..common.objects import Facts, get_path, mapping
from .apply_results import Change

COMPONENT = "llm_d.inference"
_DEEP = 3  # keys of a reported path
_MANY = 5  # reported paths


def events(done: c.Iterable[Change], now: datetime.datetime) -> list[Facts]:
    """Definitions of an Event for each namespaced object that was created or changed. They name the changed fields, and no values."""
    return [
        _event(change, now)
        for change in done
        if change.action in ("created", "changed") and change.uid and get_path(change.definition, "metadata", "namespace")
    ]


def _event(change: Change, now: datetime.datetime) -> Facts:
    metadata, stamp = change.definition["metadata"], now.strftime("%Y-%m-%dT%H:%M:%SZ")
    fields = sorted(_differing(change.before, change.after)) if change.action == "changed" else []
    listed = ", ".join(fields[:_MANY]) + (f" and {len(fields) - _MANY} more" if len(fields) > _MANY else "")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        # As Kubernetes names its own.
        "metadata": {"name": f"{metadata['name']}.{int(now.timestamp() * 1e9):x}", "namespace": metadata["namespace"]},
        "involvedObject": {
            "apiVersion": change.definition["apiVersion"],
            "kind": change.definition["kind"],
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": change.uid,
        },
        "reason": change.action.capitalize(),
        "message": f"{change.action.capitalize()} by a run of {COMPONENT}" + (f": {listed}" if listed else ""),
        "type": "Normal",
        "source": {"component": COMPONENT},
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
    }


def _differing(before: Facts, after: Facts, path: tuple[str, ...] = ()) -> c.Iterator[str]:
    """Paths of the keys whose values differ, cut to _DEEP keys."""
    for key in dict.fromkeys([*before, *after]):
        old, new, place = before.get(key), after.get(key), (*path, str(key))
        if old == new:
            continue
        if len(place) < _DEEP and (isinstance(old, dict) or isinstance(new, dict)):
            yield from _differing(mapping(old), mapping(new), place)
        else:
            yield ".".join(place)
