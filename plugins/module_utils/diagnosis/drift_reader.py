# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the objects of a stack with their definitions, by server-side dry run. Changes nothing."""

from __future__ import annotations

import collections.abc as c
import json

from ..common.labels import has_labels
from ..common.objects import Facts, get_path, text
from ..k8s.apply_results import object_title
from ..k8s.applyset import joined
from ..k8s.client import FIELD_MANAGER, Cluster
from ..k8s.drift import Drift, differences
from ..k8s.errors import ApiError, ClusterError

SHARED = ("Namespace", "GatewayClass")  # kinds that the roles use and do not change where the object is of others


def read_drift(cluster: Cluster, definitions: c.Sequence[Facts], labels: dict[str, str]) -> list[Drift]:
    """The objects that differ from their definitions, in the order of the definitions. labels: those that all objects of this deployment have."""
    drifts = cluster.parallel(lambda definition: _compared(cluster, definition, labels), definitions)
    return [drift for drift in drifts if drift is not None]


def _compared(cluster: Cluster, definition: Facts, labels: dict[str, str]) -> Drift | None:
    """How an object differs from its definition; None where it does not, and for a shared object of others."""
    where = object_title(definition)
    namespace, name = text(get_path(definition, "metadata", "namespace")), text(get_path(definition, "metadata", "name"))
    try:
        path = cluster.path(text(definition.get("apiVersion")), text(definition.get("kind")), namespace or None, name)
        live = cluster.find(path, timeout=20) if path else None
    except ClusterError as error:
        return Drift(where, problem=str(error))
    if live is None or path is None:
        return Drift(where, missing=True)
    if definition.get("kind") in SHARED and not has_labels(live, labels):
        return None
    definition = definition if namespace else joined(definition, live)
    applied = _dry_run(lambda: cluster.apply(path, json.dumps(definition).encode(), dry_run=True, timeout=20))
    differing = differences(definition, live, applied, FIELD_MANAGER)
    if any(difference.added for difference in differing):
        # again, without fields that have only the default of a new object
        differing = differences(definition, live, applied, FIELD_MANAGER, new=_dry_run(lambda: _created(cluster, path, definition)))
    return Drift(where, tuple(differing)) if differing else None


def _created(cluster: Cluster, path: str, definition: Facts) -> Facts:
    """The object that the API server would create from a definition, under another name."""
    metadata = {**{key: value for key, value in definition["metadata"].items() if key != "name"}, "generateName": "drift-"}
    return cluster.request("POST", path.rpartition("/")[0], {"dryRun": "All"}, {**definition, "metadata": metadata}, timeout=20)


def _dry_run(call: c.Callable[[], Facts]) -> Facts | None:
    """The result of a dry run; None where the API server rejects it, also for lack of permission."""
    try:
        return call()
    except ApiError:
        return None
