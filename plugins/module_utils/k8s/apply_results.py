# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubernetes.core.k8s did with a list of definitions, told object by object. Computes only."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass

from ..common.labels import has_labels
from ..common.objects import dicts, dig, generation, mapping, text
from .errors import one_line
from .pod_failures import refusal_trouble

# what the API server and controllers write by themselves: no change of ours
SERVER_SIDE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")
TAKEN = "another manager owns these fields"
HIDDEN, HIDDEN_NEW = "(hidden)", "(hidden, another value)"


@dataclass(frozen=True)
class Change:
    """What became of one definition.

    action: created, changed, unchanged, deleted, absent, foreign or refused; before and after: the parts that differ;
    problem: why it was refused.
    """

    definition: dict
    action: str
    before: dict
    after: dict
    generation: int = 0
    problem: str = ""

    @property
    def title(self) -> str:
        return title(self.definition)

    @property
    def is_change(self) -> bool:
        return self.action in ("created", "changed", "deleted")


def title(definition: dict) -> str:
    """Kind, namespace and name of a definition."""
    name, namespace = text(dig(definition, "metadata", "name")), text(dig(definition, "metadata", "namespace"))
    return f"{text(definition.get('kind'))} {namespace}/{name}" if namespace else f"{text(definition.get('kind'))} {name}"


def check_definitions(definitions: object) -> list[str]:
    """What is wrong with a list of definitions, element by element; empty when nothing is."""
    if not isinstance(definitions, list):
        return [f"definitions is {type(definitions).__name__}; write a list of definitions"]
    problems, seen = [], {}
    for index, item in enumerate(definitions):
        where = f"definitions[{index}]"
        if not isinstance(item, dict):
            problems.append(f"{where} is {type(item).__name__}; write a mapping with apiVersion, kind and metadata.name")
            continue
        lacking = [key for key in ("apiVersion", "kind") if not item.get(key)] + ([] if dig(item, "metadata", "name") else ["metadata.name"])
        if lacking:
            problems.append(f"{where} ({title(item).strip() or 'nameless'}) lacks {', '.join(lacking)}")
        key = (text(item.get("apiVersion")), title(item))
        if key in seen and not lacking:
            problems.append(f"{where} and definitions[{seen[key]}] are both {key[1]}; name each object once")
        seen.setdefault(key, index)
    return problems


def sort_out(definitions: list[dict], existing: list[dict], labels: dict, state: str) -> tuple[list[Change], list[dict]]:
    """Changes of the definitions that need no call, and the definitions that do.

    existing: what is there of them. An object without our labels is someone else's; what shall be absent and is, needs nothing.
    """
    there = {(text(obj.get("apiVersion")), title(obj)): has_labels(obj, labels) for obj in existing}
    done, rest = [], []
    for item in definitions:
        mine = there.get((text(item.get("apiVersion")), title(item)))
        if mine is False:
            done.append(Change(item, "foreign", {}, {}))
        elif mine is None and state == "absent":
            done.append(Change(item, "absent", {}, {}))
        else:
            rest.append(item)
    return done, rest


def is_secret(definition: dict) -> bool:
    return definition.get("kind") == "Secret" and definition.get("apiVersion") == "v1"


def changes(definitions: list[dict], result: dict, state: str, check_mode: bool) -> list[Change]:
    """One Change for each definition, from the result of the module called with all of them."""
    items = dicts(dig(result, "result", "results")) if len(definitions) > 1 else [result]
    return [_change(definition, item, state, check_mode) for definition, item in zip(definitions, items)]


def _change(definition: dict, item: dict, state: str, check_mode: bool) -> Change:
    shown = conceal(definition)
    if item.get("error"):
        problem, unknown_kind, no_namespace = _problem(mapping(item.get("error")))
        if state == "absent" and (unknown_kind or no_namespace):
            return Change(definition, "absent", {}, {})
        if check_mode and (unknown_kind or no_namespace):
            # on a fresh cluster the kind or the namespace comes with an earlier step, which check mode did not do
            return Change(definition, "created", {}, shown)
        return Change(definition, "refused", {}, {}, problem=problem)
    if state == "absent":
        return Change(definition, "deleted" if item.get("changed") else "absent", shown if item.get("changed") else {}, {})
    number = generation(mapping(item.get("result")))
    before, after = ours(mapping(dig(item, "diff", "before"))), ours(mapping(dig(item, "diff", "after")))
    if item.get("method") == "create" or (not before and text(dig(after, "kind"))):
        return Change(definition, "created", {}, shown, number)
    if before == after:
        return Change(definition, "unchanged", {}, {}, number)
    if is_secret(definition):
        before, after = conceal(before, True), conceal(after, True, HIDDEN_NEW)
    return Change(definition, "changed", before, after, number)


def ours(part: dict) -> dict:
    """A part of an object without what the server writes by itself."""
    kept = {name: value for name, value in part.items() if name not in ("status", "metadata")}
    metadata = {name: value for name, value in mapping(part.get("metadata")).items() if name not in SERVER_SIDE}
    return {**kept, "metadata": metadata} if metadata else kept


def conceal(definition: dict, secret: bool = False, instead: str = HIDDEN) -> dict:
    """A definition, or a part of one, fit to be shown: the values of a Secret hidden."""
    if not secret and definition.get("kind") != "Secret":
        return definition
    hidden = {key: {name: instead for name in mapping(definition.get(key))} for key in ("data", "stringData") if definition.get(key)}
    return {**definition, **hidden}


def _problem(error: dict) -> tuple[str, bool, bool]:
    """The words of a refusal; whether its kind is unknown; whether its namespace is missing."""
    message = text(error.get("msg"))
    unknown = re.search(r"Failed to find exact match for (\S+)\.(\w+) by", message)
    if unknown:
        words = f"the API server knows no {unknown.group(2)} in {unknown.group(1)}; install its CustomResourceDefinition (prerequisites)"
        return words, True, False
    if "404 page not found" in message:
        # the client remembers, on disk, what another cluster at this address served
        return "the API server does not serve its kind; install its CustomResourceDefinition (prerequisites)", True, False
    status = _status(message)
    words = one_line(status.get("message") or re.sub(r"^Failed to \w+ (requested )?object: ", "", message))
    no_namespace = status.get("reason") == "NotFound" and re.search(r'namespaces "[^"]+" not found', words) is not None
    if no_namespace:
        words += "; create the namespace first"
    elif status.get("reason") == "Conflict":
        words += f"; {TAKEN}"
    elif trouble := refusal_trouble(words):
        words += f"; {trouble.remedy}"
    return words, False, no_namespace


def _status(message: str) -> dict:
    """The Status object that kubernetes.core puts into its message as printed bytes; empty where there is none."""
    found = re.search(r"object: (b?['\"].*['\"])\s*$", message, re.DOTALL)
    try:
        raw = ast.literal_eval(found.group(1)) if found else message.partition("object: ")[2]
        return mapping(json.loads(raw))
    except (ValueError, SyntaxError, TypeError):
        return {}
