# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checksum annotations of pod templates, which change when a Secret changes that their environment is read from. Pure.

A container reads its environment once, when it starts, so servers keep an old token until they restart. Mounted Secrets are updated in place, and pull
secrets are read at each pull: they need no restart.

Everyone who can read pods can read the annotation, so it must not allow guessing even a short value: it is an HMAC whose key is the uid of the Secret,
which only those who can read the Secret know. A resourceVersion would also change with a label.
"""

from __future__ import annotations

import base64
import binascii
import collections.abc as c
import copy
import hashlib
import hmac
import typing as t

from ..common.objects import Facts, dicts, get_path, mapping, text

Path = tuple[t.Any, ...]
ANNOTATION = "llm-d.ai/secret-checksum"


def environment_secrets(definition: Facts) -> dict[Path, list[tuple[str, str]]]:
    """(Secret, key) that containers read environment variables from, by the path of each pod template that has any."""
    by_path = {path: sorted(set(_references(template))) for path, template in _templates(definition, ())}
    return {path: references for path, references in by_path.items() if references}


def checksum(references: c.Sequence[tuple[str, str]], secrets: c.Mapping[str, Facts | None]) -> str | None:
    """One checksum of all these values; None when one cannot be read. secrets: Secret objects by name."""
    parts = []
    for name, key in references:
        secret = secrets.get(name) or {}
        uid, value = text(get_path(secret, "metadata", "uid")), mapping(secret.get("data")).get(key)
        if not uid or value is None:
            return None
        try:
            plain = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            return None
        parts.append(hmac.new(uid.encode(), f"{name}\0{key}\0".encode() + plain, hashlib.sha256).hexdigest())
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:32]


def current_checksum(live: object, path: Path) -> str | None:
    """The annotation of the pod template at a path of an object; None without one."""
    return text(get_path(_at(live, path), "metadata", "annotations", ANNOTATION)) or None


def with_checksums(definition: Facts, annotations: c.Mapping[Path, str | None]) -> Facts:
    """A definition with these annotations on its pod templates; None leaves a template unchanged."""
    made = copy.deepcopy(definition)
    for path, value in annotations.items():
        if value:
            metadata = _at(made, path).setdefault("metadata", {})
            metadata["annotations"] = {**mapping(metadata.get("annotations")), ANNOTATION: value}
    return made


def _templates(node: object, path: Path) -> c.Iterator[tuple[Path, Facts]]:
    """(path, pod template) for every pod template at any depth; a workload may have several. A Pod itself is not a template."""
    if isinstance(node, dict):
        if path and isinstance(get_path(node, "spec", "containers"), list):
            yield path, node
        else:
            for key, value in node.items():
                yield from _templates(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _templates(value, (*path, index))


def _references(template: Facts) -> c.Iterator[tuple[str, str]]:
    spec = mapping(template.get("spec"))
    for container in dicts(spec.get("initContainers")) + dicts(spec.get("containers")):
        for variable in dicts(container.get("env")):
            reference = mapping(get_path(variable, "valueFrom", "secretKeyRef"))
            if reference.get("name") and reference.get("key"):
                yield text(reference["name"]), text(reference["key"])


def _at(node: t.Any, path: Path) -> t.Any:
    for key in path:
        if isinstance(node, dict):
            node = node.get(key)
        elif isinstance(node, list) and isinstance(key, int) and key < len(node):
            node = node[key]
        else:
            return None
    return node
