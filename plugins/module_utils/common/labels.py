# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The labels that mark the objects this collection creates. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

from .objects import Facts, get_path, mapping, text
from .text import shorten

# Together they identify the objects of one instance.
MANAGED_BY, PART_OF = "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of"
# Which part of a service an object belongs to, and the name that its pods are selected by.
NAME_LABEL, INSTANCE_LABEL = "app.kubernetes.io/name", "app.kubernetes.io/instance"
PICKER = {NAME_LABEL: "endpoint-picker"}
# On the ConfigMap with what a comparison has to restore; its value is the name of the service.
RESTORES = "llm-d.ai/restores"
# On an object outside of the namespace of its file, which is the value: several files may share a namespace for endpoint pickers, routes or gateways.
HOME_LABEL = "llm-d.ai/namespace"
# Prefix of the labels that the LeaderWorkerSet controller sets on pods and StatefulSets, and its label for the revision of their template.
GROUP_LABELS = "leaderworkerset.sigs.k8s.io"
GROUP_REVISION = f"{GROUP_LABELS}/template-revision-hash"


def has_labels(obj: Facts, labels: dict[str, str]) -> bool:
    """Whether an object has all the labels with these values."""
    actual = mapping(get_path(obj, "metadata", "labels"))
    return all(actual.get(name) == value for name, value in labels.items())


def label_selector(labels: c.Mapping[str, t.Any]) -> str:
    """The selector, as text, of the objects that have all these labels."""
    return ",".join(f"{name}={value}" for name, value in labels.items())


def is_of(obj: Facts, definition: Facts, labels: dict[str, str]) -> bool:
    """Whether an object belongs to the file of a definition: it has the labels, and the home of the definition."""
    return has_labels(obj, labels) and _home(obj) == _home(definition)


def is_ours(obj: Facts, labels: dict[str, str], home: str) -> bool:
    """Whether an object has the labels of an instance and belongs to the file with this namespace. Only the labels count for an object without a namespace,
    and for any object where `home` is empty. Without labels, no object is ours."""
    place = _home(obj) or text(get_path(obj, "metadata", "namespace"))
    return bool(labels) and has_labels(obj, labels) and (not home or place in ("", home))


def whose(obj: Facts) -> str:
    """Such as `of shop` or `of llm_d_instance blue in namespace b`."""
    labels = mapping(get_path(obj, "metadata", "labels"))
    manager, part = shorten(text(labels.get(MANAGED_BY)), 63), shorten(text(labels.get(PART_OF)), 63)
    if manager == "llm_d.inference":
        return f"of llm_d_instance {part} in namespace {shorten(_home(obj) or text(get_path(obj, 'metadata', 'namespace')), 63)}"
    return f"of {part or manager}" if part or manager else "of unknown origin"


def _home(obj: Facts) -> str:
    return text(get_path(obj, "metadata", "labels", HOME_LABEL))
