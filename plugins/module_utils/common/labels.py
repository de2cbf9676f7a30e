# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The labels that mark the objects this collection creates. Pure."""

from __future__ import annotations

from .objects import Facts, get_path, mapping

# Together they identify the objects of one instance.
MANAGED_BY, PART_OF = "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of"
# On the ConfigMap with what a comparison has to restore; its value is the name of the service.
RESTORES = "llm-d.ai/restores"
# Prefix of the labels that the LeaderWorkerSet controller sets on pods and StatefulSets, and its label for the revision of their template.
GROUP_LABELS = "leaderworkerset.sigs.k8s.io"
GROUP_REVISION = f"{GROUP_LABELS}/template-revision-hash"


def has_labels(obj: Facts, labels: dict[str, str]) -> bool:
    """Whether an object has all the labels with these values."""
    found = mapping(get_path(obj, "metadata", "labels"))
    return all(found.get(name) == value for name, value in labels.items())
