# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bundles of CRDs: their documents, names and versions, and which action a cluster needs. Pure.

YAML is split as text, not parsed: Python needs ten seconds to parse a megabyte of it, and the API server accepts YAML.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..common.objects import Facts

BUNDLE = "llm-d.ai/bundle"
BUNDLE_VERSION = "llm-d.ai/bundle-version"

_SEPARATOR = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_CONTENT = re.compile(r"^[^#\s]", re.MULTILINE)
_KIND = re.compile(r"^kind:[ \t]*['\"]?(\w+)['\"]?[ \t]*(?:#.*)?$", re.MULTILINE)
_METADATA = re.compile(r"^metadata:[ \t]*\n((?:(?:[ \t]+.*|[ \t]*#.*)?\n)+)", re.MULTILINE)
_NAME = re.compile(r"^  name:[ \t]*['\"]?([a-z0-9.-]+)['\"]?[ \t]*$", re.MULTILINE)
_ANNOTATIONS = re.compile(r"^  annotations:[ \t]*$\n", re.MULTILINE)
_VERSION = re.compile(r"^v?(\d+(?:\.\d+)*)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?$")


@dataclass(frozen=True)
class Document:
    """One CRD: its name (plural.group) and its YAML."""

    name: str
    text: str

    @property
    def plural(self) -> str:
        return self.name.partition(".")[0]

    @property
    def group(self) -> str:
        return self.name.partition(".")[2]


def address(source: t.Any) -> str:
    """The path or URL of a source: itself, or `url` of a mapping."""
    return str(source.get("url") or "") if isinstance(source, dict) else str(source)


def documents(text: str, source: str) -> tuple[list[Document], list[str]]:
    """(the CRDs in a YAML stream, the kinds of its other documents).

    Raises ValueError, naming the source, for a document without a kind and for a CRD without a name.
    """
    crds: list[Document] = []
    others: list[str] = []
    for part in _SEPARATOR.split(text.replace("\r\n", "\n")):
        if not _CONTENT.search(part):
            continue
        kind = _KIND.search(part)
        if kind is None:
            raise ValueError(f"{source}: this is no Kubernetes YAML (a document without a kind): {part.strip()[:60]!r}")
        if kind.group(1) != "CustomResourceDefinition":
            others.append(kind.group(1))
            continue
        metadata = _METADATA.search(part)
        name = _NAME.search(metadata.group(1)) if metadata else None
        if name is None or "." not in name.group(1):
            raise ValueError(f"{source}: a CustomResourceDefinition without metadata.name; its YAML must be in block style")
        crds.append(Document(name.group(1), part.strip("\n") + "\n"))
    return crds, others


def annotate(document: Document, annotations: dict[str, str]) -> Document:
    """The document with annotations added to its metadata, as quoted strings."""
    metadata = _METADATA.search(document.text)
    if metadata is None or not annotations:
        return document
    lines = "".join(f'    {name}: "{value}"\n' for name, value in annotations.items())
    start, end = metadata.span(1)
    body = metadata.group(1)
    present = _ANNOTATIONS.search(body)
    body = body[: present.end()] + lines + body[present.end() :] if present else "  annotations:\n" + lines + body
    return Document(document.name, document.text[:start] + body + document.text[end:])


def version_key(version: str) -> tuple[t.Any, ...] | None:
    """A sort key in the order of semver; None for text that is not a version. A leading v is ignored."""
    match = _VERSION.match(version.strip())
    if match is None:
        return None
    numbers = [int(part) for part in match.group(1).split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    pre = match.group(2)
    # A pre-release sorts before its release, its numeric parts before its alphanumeric ones.
    parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in pre.split(".")) if pre else ()
    return (tuple(numbers), pre is None, parts)


def decide(bundle: Facts, installed: dict[str, Facts], names: list[str] | None) -> Facts:
    """The action for a bundle.

    bundle: {name, version, annotation, probe}; installed: annotations of the CRDs in the cluster, by CRD name;
    names: the CRDs in the bundle, None when they are not known yet.
    Returns {action: install|upgrade|repair|adopt|keep, installed: version or "", missing: [names]}.
    """
    there = installed.get(bundle["probe"])
    missing = [name for name in names or [] if name not in installed]
    if there is None:
        return {"action": "install", "installed": "", "missing": missing}
    current = there.get(bundle.get("annotation") or BUNDLE_VERSION) or ""
    have, want = version_key(current), version_key(str(bundle["version"]))
    if not current:
        action = "adopt"
    elif have is None or want is None:
        action = "keep" if current == bundle["version"] else "upgrade"
    elif have < want:
        action = "upgrade"
    else:
        # A newer bundle may have dropped a CRD on purpose: only CRDs of the same version can be missing.
        action = "repair" if missing and have == want else "keep"
    return {"action": action, "installed": current.removeprefix("v"), "missing": missing}


def other_managers(metadata: Facts, manager: str) -> str:
    """Field managers of a CRD other than `manager`, without those of its status; empty when `manager` alone applied it."""
    makers = [entry for entry in metadata.get("managedFields") or [] if not entry.get("subresource")]
    others = sorted({str(entry.get("manager")) for entry in makers if entry.get("manager") != manager})
    if not any(entry.get("manager") == manager and entry.get("operation") == "Apply" for entry in makers):
        return ", ".join(others) or "unknown"
    return ", ".join(others)
