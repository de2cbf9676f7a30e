# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an object in the cluster differs from its definition, field by field, and who changed the field and when, by its managed fields. Pure.

Two kinds of differences: fields of the definition with another value, which server-side apply would set again, and fields that another manager has added,
which apply leaves alone.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..common.objects import Facts, dicts, get_path, mapping, text
from ..common.text import shorten
from .apply_results import SERVER_SIDE, is_secret
from .field_ownership import leaves_replicas
from .platform import quantity
from .sanitize import HIDDEN, HIDDEN_NEW, REMOVED, hide_environment, redact_part
from .secret_checksums import ANNOTATION

ABSENT = "(absent)"
# Written by the control plane into objects of others, each with fields that no definition has: a bound volume, a token of an account.
CONTROL_PLANE = ("kube-controller-manager", "kube-apiserver", "kube-scheduler", "openshift-controller-manager", "cloud-controller-manager")
# Annotations of a pod template by which people restart pods, and our own, which cluster_objects adds to a definition.
_HARMLESS = (ANNOTATION, "kubectl.kubernetes.io/restartedAt", "deployment.kubernetes.io/revision")
_METADATA = (*SERVER_SIDE, "name", "namespace", "finalizers", "ownerReferences", "selfLink")
_KEYS = (("name",), ("containerPort", "protocol"), ("containerPort",), ("port", "protocol"), ("port",), ("number",), ("mountPath",), ("key",), ("type",))
_UNKNOWN = object()
MAX_FIELDS = 20  # shown of one object


@dataclasses.dataclass(frozen=True)
class Difference:
    """One field. found, planned: its values as JSON, ABSENT for none; by, at: manager and time (UTC) of its last change, empty where unknown."""

    field: str
    found: str
    planned: str
    by: str = ""
    at: str = ""

    @property
    def added(self) -> bool:
        """Whether the definition does not have the field."""
        return self.planned == ABSENT

    def line(self) -> str:
        """The difference in one line."""
        who = f"; last set by {self.by}" + (f" at {self.at}" if self.at else "") if self.by else ""
        return f"{self.field} is {self.found}, planned: {self.planned}{who}"


@dataclasses.dataclass(frozen=True)
class Drift:
    """An object that differs. where: such as `Service llm-d/sim`; missing: it does not exist; problem: it could not be read."""

    where: str
    differences: tuple[Difference, ...] = ()
    missing: bool = False
    problem: str = ""

    def lines(self) -> list[str]:
        """One line for each difference; for many, the first MAX_FIELDS."""
        if self.missing or self.problem:
            return [self.problem or "not there"]
        more = len(self.differences) - MAX_FIELDS
        shown = [difference.line() for difference in self.differences[:MAX_FIELDS]]
        return [*shown, f"{more} more fields"] if more > 0 else shown


@dataclasses.dataclass(frozen=True)
class _Step:
    """One step of a path: a field, or the element of a list with these keys, which is `item`."""

    name: str = ""
    keys: tuple[tuple[str, t.Any], ...] = ()
    item: Facts = dataclasses.field(default_factory=dict, compare=False)


_Path = tuple[_Step, ...]


def differences(definition: Facts, live: Facts, wanted: Facts | None, manager: str, new: Facts | None = None) -> list[Difference]:
    """The differences of an object from its definition.

    wanted: the object that a dry run of the definition returns; None where there is none, and the definition itself is compared.
    manager: our field manager; those whose names begin with it are ours too. new: the object that a dry run returns where none exists yet: a field
    that another manager has set to its default is no difference.
    """
    hidden = is_secret(definition)
    entries = [entry for entry in dicts(get_path(live, "metadata", "managedFields")) if not entry.get("subresource")]
    fields = list(_changed(_content(live), _content(wanted if wanted is not None else definition), (), whole=wanted is not None))
    changed = [each for each in fields if not _expected(each[0], definition)]
    made = [_difference(path, have, want, entries, manager, hidden) for path, have, want in changed]
    covered = [path for path, _have, _want in changed]
    for entry in entries:
        name = text(entry.get("manager"))
        if name.startswith(manager) or name in CONTROL_PLANE:
            continue
        owned = {key: below for key, below in mapping(entry.get("fieldsV1")).items() if key not in ("f:metadata", "f:status")}
        for path, have in _leaves(live, owned, ()):
            below = any(path[: len(other)] == other or other[: len(path)] == path for other in covered)
            default = new is not None and _at(new, path) == have
            if not below and not default and _at(definition, path) is _UNKNOWN and not _expected(path, definition):
                made.append(Difference(_shown(path), _value(path, have, hidden), ABSENT, name, text(entry.get("time"))))
    return made


def _content(obj: Facts) -> Facts:
    """An object without its status and what the API server writes into its metadata."""
    metadata = {name: value for name, value in mapping(obj.get("metadata")).items() if name not in _METADATA}
    return {**{name: value for name, value in obj.items() if name not in ("status", "metadata", "apiVersion", "kind")}, "metadata": metadata}


def _expected(path: _Path, definition: Facts) -> bool:
    """Whether a field may differ: others scale an object without a number of its own, and restart its pods."""
    names = [step.name for step in path]
    return names[-1] in _HARMLESS or (names == ["spec", "replicas"] and leaves_replicas(definition))


def _changed(have: t.Any, want: t.Any, path: _Path, whole: bool) -> t.Iterator[tuple[_Path, t.Any, t.Any]]:
    """(path, value, planned value) of each field that differs. whole: fields of `have` alone differ too."""
    if path and path[-1].name in ("metadata", "annotations"):
        have, want = ({} if each is _UNKNOWN else each for each in (have, want))
    if isinstance(have, dict) and isinstance(want, dict):
        for name in dict.fromkeys([*want, *(have if whole else ())]):
            yield from _changed(have.get(name, _UNKNOWN), want.get(name, _UNKNOWN), (*path, _Step(name)), whole)
        return
    if isinstance(have, list) and isinstance(want, list):
        keys = _keys(have, want)
        if keys is not None:
            want_items, have_items = _by_key(want, keys), _by_key(have, keys)
            for key in dict.fromkeys([*want_items, *(have_items if whole else ())]):
                step = _Step(keys=key, item={**want_items.get(key, {}), **have_items.get(key, {})})
                yield from _changed(have_items.get(key, _UNKNOWN), want_items.get(key, _UNKNOWN), (*path, step), whole)
            return
        if len(have) == len(want) and any(isinstance(item, dict) for item in want):
            for index, (one, other) in enumerate(zip(have, want, strict=True)):
                yield from _changed(one, other, (*path, _Step(keys=(("", index),))), whole)
            return
    if have != want and not (not whole and _same(have, want)):
        yield path, have, want


def _same(have: t.Any, want: t.Any) -> bool:
    """Whether a value that the API server has not normalized equals that of the cluster: an empty one, or a quantity."""
    if have is _UNKNOWN:
        return want in ({}, [], None, "", False)
    one, other = quantity(have), quantity(want)
    return one is not None and one == other


def _keys(*lists: list[t.Any]) -> tuple[str, ...] | None:
    """The fields that identify the elements of both lists; None where none do."""
    items = [item for each in lists for item in each]
    if not items or not all(isinstance(item, dict) for item in items):
        return None
    for keys in _KEYS:
        keyed = all(isinstance(item.get(key), (str, int)) for item in items for key in keys)
        if keyed and all(len({tuple(item[key] for key in keys) for item in each}) == len(each) for each in lists):
            return keys
    return None


def _by_key(items: list[Facts], keys: tuple[str, ...]) -> dict[tuple[tuple[str, t.Any], ...], Facts]:
    return {tuple((key, item[key]) for key in keys): item for item in items}


def _difference(path: _Path, have: t.Any, want: t.Any, entries: list[Facts], manager: str, hidden: bool) -> Difference:
    current, planned = _value(path, have, hidden), _value(path, want, hidden)
    if isinstance(have, list) and isinstance(want, list) and have != want and HIDDEN not in (current, planned):
        # Redacted before they are split: an argument by itself does not show that the next one is a secret.
        one, other = redact_part(have), redact_part(want)
        added, removed = [item for item in one if item not in other], [item for item in other if item not in one]
        if (added or removed) and len(added) + len(removed) < len(have) + len(want):
            current, planned = (_value(path, part, hidden) if part else "without these" for part in (added, removed))
    elif isinstance(have, str) and isinstance(want, str) and "\n" in have + want and HIDDEN not in (current, planned):
        current, planned = _line_of(have, want)
    if current == planned and REMOVED in current:
        planned = HIDDEN_NEW
    by, at = _changed_by(path, have, entries, manager)
    return Difference(_shown(path), current, planned, by, at)


def _line_of(have: str, want: str) -> tuple[str, str]:
    """The first lines in which two texts differ, with their number."""
    first, second = have.splitlines(), want.splitlines()
    number = next((index for index, (one, other) in enumerate(zip(first, second, strict=False)) if one != other), min(len(first), len(second)))
    one, other = ([*lines, ABSENT][min(number, len(lines))] for lines in (first, second))
    return f"{shorten(one.strip())} in line {number + 1}", shorten(other.strip())


def _changed_by(path: _Path, have: t.Any, entries: list[Facts], manager: str) -> tuple[str, str]:
    """(manager, time) of the last change of a field: its owner, and of a field that is gone the last other manager that has changed the object."""
    owners = [entry for entry in entries if _owns(mapping(entry.get("fieldsV1")), path)]
    others = [entry for entry in (entries if have is _UNKNOWN else owners) if not text(entry.get("manager")).startswith((manager, *CONTROL_PLANE))]
    latest = max(others or owners, key=lambda entry: text(entry.get("time")), default={})
    return text(latest.get("manager")), text(latest.get("time"))


def _owns(owned: Facts, path: _Path) -> bool:
    """Whether a fieldsV1 tree has the field, or one that contains it as a whole, or a part of it."""
    for step in path:
        below = _below(owned, step)
        if below is None:
            return False
        if not [name for name in below if name != "."]:
            return True
        owned = below
    return True


def _below(owned: Facts, step: _Step) -> Facts | None:
    if step.name:
        tree = owned.get(f"f:{step.name}")
        return mapping(tree) if tree is not None else None
    for name, below in owned.items() if step.item else ():
        kind, _colon, rest = name.partition(":")
        if kind == "k":
            keys = mapping(_read(rest))
            if keys and all(step.item.get(key, value) == value for key, value in keys.items()):
                return mapping(below)
    return None


def _read(text_: str) -> t.Any:
    try:
        return json.loads(text_)
    except ValueError:
        return None


def _leaves(value: t.Any, owned: Facts, path: _Path) -> t.Iterator[tuple[_Path, t.Any]]:
    """(path, value) of each field that a fieldsV1 tree owns as a whole."""
    inner = {name: below for name, below in owned.items() if name != "."}
    if not inner:
        yield path, value
    for name, below in inner.items():
        kind, _colon, rest = name.partition(":")
        if kind == "f" and isinstance(value, dict) and rest in value:
            yield from _leaves(value[rest], mapping(below), (*path, _Step(rest)))
        elif kind == "k" and isinstance(value, list):
            keys = mapping(_read(rest))
            for item in value:
                if isinstance(item, dict) and keys and all(item.get(key) == wanted for key, wanted in keys.items()):
                    yield from _leaves(
                        item, {key: part for key, part in mapping(below).items() if key[2:] not in keys}, (*path, _Step(keys=tuple(keys.items())))
                    )


def _at(definition: t.Any, path: _Path) -> t.Any:
    """The value of a definition at a path; _UNKNOWN where it has none."""
    node = definition
    for step in path:
        if step.name and isinstance(node, dict) and step.name in node:
            node = node[step.name]
        elif step.keys and isinstance(node, list):
            node = next((item for item in node if isinstance(item, dict) and all(item.get(key, value) == value for key, value in step.keys)), _UNKNOWN)
        else:
            return _UNKNOWN
    return node


def _shown(path: _Path) -> str:
    shown = ""
    for step in path:
        if step.keys:
            shown += "[" + ",".join(f"{key}={value}" if key else f"{value}" for key, value in step.keys) + "]"
        else:
            plain = step.name.replace("_", "").replace("-", "").isalnum()
            shown += (f".{step.name}" if shown else step.name) if plain else f"[{step.name}]"
    return shown


def _value(path: _Path, value: t.Any, hidden: bool) -> str:
    """A value as one short line. The values of Secrets, and of environment variables, may be secrets."""
    if value is _UNKNOWN:
        return ABSENT
    if hidden and path and path[0].name in ("data", "stringData"):
        return HIDDEN
    names = [step.name for step in path]
    if "env" in names and names[-1] == "value":
        return HIDDEN
    if "env" in names:  # the list of variables, one of them, or another field of one
        listed = hide_environment({"env": value if isinstance(value, list) else [value]}, HIDDEN)["env"]
        value = listed if isinstance(value, list) else listed[0]
    return shorten(_json(redact_part(hide_environment(value, HIDDEN))))


def _json(value: t.Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
