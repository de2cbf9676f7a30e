# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of kubernetes.core.k8s for a list of definitions, as one Change per object. Pure."""

from __future__ import annotations

import ast
import json
import re
import typing as t
from dataclasses import dataclass

from ..common.labels import is_of, whose
from ..common.objects import Facts, dicts, generation, get_path, mapping, text
from ..common.text import shorten
from .pod_failures import refusal_failure
from .sanitize import HIDDEN, HIDDEN_NEW, environment_values, has_secret_data, hide_environment, removed_values

# Written by the API server and by controllers: a difference in these is no change.
SERVER_SIDE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")
# The remedy where objects of others have the names of ours.
OTHERWISE = "Write other names (name of the service, llm_d_name_suffix) or another llm_d_namespace; 'llm_d_adopt: true' takes over what site.yml deploys."
FIELDS_TAKEN = "another manager owns these fields"
SHORTEST = 6  # characters of a value that is masked in messages
# How the API server begins messages about an invalid object, as opposed to those that depend on its namespace.
INVALID = (" is invalid: ", "failed to create typed patch object", " cannot be handled as a")
# Refusals of a dry run that an apply may not get: webhooks that take no dry run, another autoscaler, which is pruned first, and permissions, which the
# preflight checks.
_OTHERWISE = re.compile(r"does not support dry run|already managed by the hpa|cannot \w{1,20} resource ")


@dataclass(frozen=True)
class Change:
    """The outcome for one definition.

    action: created, changed, unchanged, deleted, absent, foreign (left alone), kept (for what is in it) or refused; before, after: the parts that differ;
    generation: after the call, 0 for kinds without one; uid: of the object, empty where it is not known; problem: why it was refused or kept, or whose it is;
    untried: why check mode could not have the API server validate it: kind, namespace or reference where its kind, its namespace or an object that it refers
    to does not exist yet, answer where the response is not about the object.
    """

    definition: Facts
    action: str
    before: Facts
    after: Facts
    generation: int = 0
    problem: str = ""
    uid: str = ""
    untried: str = ""

    @property
    def title(self) -> str:
        return object_title(self.definition)

    @property
    def is_change(self) -> bool:
        return self.action in ("created", "changed", "deleted")


def object_title(definition: Facts) -> str:
    """Such as `Deployment llm-d/sim`."""
    name, namespace = text(get_path(definition, "metadata", "name")), text(get_path(definition, "metadata", "namespace"))
    return f"{text(definition.get('kind'))} {namespace}/{name}" if namespace else f"{text(definition.get('kind'))} {name}"


def check_definitions(definitions: object) -> list[str]:
    """The problems of a list of definitions: elements that are incomplete or name an object twice."""
    if not isinstance(definitions, list):
        return [f"definitions is {type(definitions).__name__}; write a list of definitions"]
    problems: list[str] = []
    indexes: dict[tuple[str, str], int] = {}
    for index, item in enumerate(definitions):
        where = f"definitions[{index}]"
        if not isinstance(item, dict):
            problems.append(f"{where} is {type(item).__name__}; write a mapping with apiVersion, kind and metadata.name")
            continue
        lacking = [key for key in ("apiVersion", "kind") if not item.get(key)] + ([] if get_path(item, "metadata", "name") else ["metadata.name"])
        if lacking:
            problems.append(f"{where} ({object_title(item).strip() or 'nameless'}) lacks {', '.join(lacking)}")
        key = (text(item.get("apiVersion")), object_title(item))
        if key in indexes and not lacking:
            problems.append(f"{where} and definitions[{indexes[key]}] are both {key[1]}; name each object once")
        indexes.setdefault(key, index)
    return problems


def split_foreign(definitions: list[Facts], existing: list[Facts], labels: Facts, state: str) -> tuple[list[Change], list[tuple[Facts, Facts | None]]]:
    """(changes for definitions that need no call, the definitions that need one, each with its object, None where it does not exist).

    existing: the objects of the definitions that exist. One without these labels, or of another home, is foreign; with state `absent`, one that does not
    exist is absent.
    """
    there = {(text(obj.get("apiVersion")), object_title(obj)): obj for obj in existing}
    done, rest = [], []
    for item in definitions:
        live = there.get((text(item.get("apiVersion")), object_title(item)))
        if live is not None and not is_of(live, item, labels):
            done.append(Change(item, "foreign", {}, {}, problem=whose(live)))
        elif live is None and state == "absent":
            done.append(Change(item, "absent", {}, {}))
        else:
            rest.append((item, live))
    return done, rest


def is_namespace(definition: Facts) -> bool:
    return definition.get("kind") == "Namespace" and definition.get("apiVersion") == "v1"


def is_secret(definition: Facts) -> bool:
    return definition.get("kind") == "Secret" and definition.get("apiVersion") == "v1"


def changes(definitions: list[Facts], result: Facts, state: str, check_mode: bool) -> list[Change]:
    """One Change per definition, from the result of one call of the module with all of them."""
    items = dicts(get_path(result, "result", "results")) if len(definitions) > 1 else [result]
    return [_change(definition, item, state, check_mode) for definition, item in zip(definitions, items, strict=False)]


def without_credentials(result: Facts) -> int:
    """The number of definitions for which the API server refused the credentials (401), which is no result of the objects. result: as for `changes`."""
    items = [result, *dicts(get_path(result, "result", "results"))]
    return sum(_status(text(get_path(item, "error", "msg"))).get("code") == 401 for item in items)


def holds_values(definition: Facts) -> bool:
    """Whether a definition has values that may be secrets: those of its data, of environment variables or of arguments."""
    runs = definition.get("kind") in ("Deployment", "LeaderWorkerSet")
    return has_secret_data(definition) or bool(environment_values(definition)) or (runs and bool(removed_values(definition)))


def _change(definition: Facts, item: Facts, state: str, check_mode: bool) -> Change:
    shown = hide_environment(hide_secret_values(definition), HIDDEN)
    if item.get("error"):
        problem, untried = _problem(mapping(item.get("error")), _masked_values(definition))
        if state == "absent" and untried in ("kind", "namespace", "reference"):
            existed = text(get_path(item, "error", "msg")).startswith("Failed to delete")  # when the module read it; it was deleted before, or by a first try
            return Change(definition, "deleted" if existed else "absent", shown if existed else {}, {})
        if check_mode and untried in ("kind", "namespace", "reference"):
            # On a new cluster an earlier step, which check mode skips, creates what is missing.
            return Change(definition, "created", {}, shown, untried=untried)
        return Change(definition, "refused", {}, {}, problem=problem, untried=untried if check_mode else "")
    if state == "absent":
        return Change(definition, "deleted" if item.get("changed") else "absent", shown if item.get("changed") else {}, {})
    number, uid = generation(mapping(item.get("result"))), text(get_path(item, "result", "metadata", "uid"))
    before, after = without_server_fields(mapping(get_path(item, "diff", "before"))), without_server_fields(mapping(get_path(item, "diff", "after")))
    if item.get("method") == "create" or (not before and text(get_path(after, "kind"))):
        return Change(definition, "created", {}, shown, number, uid=uid)
    if before == after:
        return Change(definition, "unchanged", {}, {}, number)
    if has_secret_data(definition):
        before, after = hide_secret_values(before, True), hide_secret_values(after, True, HIDDEN_NEW)
    before, after = hide_environment(before, HIDDEN), hide_environment(after, HIDDEN, before, HIDDEN_NEW)
    return Change(definition, "changed", before, after, number, uid=uid)


def without_server_fields(part: Facts) -> Facts:
    """A part of an object without status and SERVER_SIDE metadata."""
    kept = {name: value for name, value in part.items() if name not in ("status", "metadata")}
    metadata = {name: value for name, value in mapping(part.get("metadata")).items() if name not in SERVER_SIDE}
    return {**kept, "metadata": metadata} if metadata else kept


def hide_secret_values(definition: Facts, secret: bool = False, instead: str = HIDDEN) -> Facts:
    """A definition, or a part of one, with the values of data that is not shown replaced. secret: the part is of such an object, though it has no kind."""
    if not secret and not has_secret_data(definition):
        return definition
    hidden = {key: dict.fromkeys(mapping(definition.get(key)), instead) for key in ("data", "stringData") if definition.get(key)}
    return {**definition, **hidden}


def _masked_values(definition: Facts) -> list[str]:
    """Values of a definition that messages may repeat and that are masked in them, the longest first; those below SHORTEST occur in any message."""
    values = environment_values(definition) | removed_values(definition)
    if has_secret_data(definition):
        values |= {str(value) for key in ("data", "stringData") for value in mapping(definition.get(key)).values()}
    written = {form for value in values for form in (value, json.dumps(value)[1:-1])}
    return sorted((value for value in written if len(value) >= SHORTEST), key=len, reverse=True)


def _problem(error: Facts, hidden: t.Sequence[str]) -> tuple[str, str]:
    """(why the API server refuses it and what to do, why a dry run could not validate it: see Change.untried).

    hidden: values to mask.
    """
    message = text(error.get("msg"))
    unknown = re.search(r"Failed to find exact match for (\S+)\.(\w+) by", message)
    if unknown:
        words = f"the API server knows no {unknown.group(2)} in {unknown.group(1)}; install its CustomResourceDefinition (prerequisites)"
        return words, "kind"
    if "404 page not found" in message:
        # The client caches discovery on disk, perhaps of another cluster that had this address.
        return "the API server does not serve its kind; install its CustomResourceDefinition (prerequisites)", "kind"
    status = _status(message)
    words = text(status.get("message")) or re.sub(r"^Failed to \w+ (requested )?object: ", "", message)
    for value in hidden:
        words = words.replace(value, HIDDEN)
    words = shorten(words, 400)
    if status.get("reason") == "NotFound":
        if re.search(r'namespaces "[^"]+" not found', words):
            return f"{words}; create the namespace first", "namespace"
        # Such as the Role of a RoleBinding, where an account may give only permissions that it has. Kubernetes reports that the RoleBinding is not found.
        return words, "reference"
    if status.get("reason") == "Conflict":
        words += f"; {FIELDS_TAKEN}"
    elif failure := refusal_failure(words):
        words += f"; {failure.remedy}"
    return words, "answer" if _passes(status, words) else ""


def _passes(status: Facts, words: str) -> bool:
    """Whether a later request may have another result: fields of another manager, an API server or a webhook that cannot answer now."""
    if status.get("reason") == "Conflict" or _OTHERWISE.search(words):
        return True
    code = status.get("code")
    late = not isinstance(code, int) or code == 429 or code >= 500
    return late and " denied the request" not in words and not is_invalid(words)


def is_invalid(words: str) -> bool:
    """Whether a refusal is about the content of the object, and would be the same in another namespace."""
    return any(start in words for start in INVALID)


def _status(message: str) -> Facts:
    """The Status object that kubernetes.core prints, as bytes, into its message; {} without one."""
    body = message.partition("object: ")[2].rstrip()
    try:
        raw = ast.literal_eval(body) if body.startswith(("b'", 'b"', "'", '"')) else body
        return mapping(json.loads(raw))
    except (ValueError, SyntaxError, TypeError):
        return {}
