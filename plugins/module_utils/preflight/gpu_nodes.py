# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node pools of GPUs: labels that nodes lack, and allocatable resources that differ from the expected. Pure."""

from __future__ import annotations

import typing as t

from ..common.objects import Facts, get_path, mapping, text
from ..k8s.platform import amount


def missing_labels(node: Facts, labels: Facts, corrected: Facts | None = None) -> Facts:
    """Changes to a node's labels: {name: value, None to remove it}. corrected: values for labels that are changed only where they exist."""
    existing = mapping(get_path(node, "metadata", "labels"))
    wanted = {**labels, **{key: value for key, value in (corrected or {}).items() if key in existing}}
    return {key: value for key, value in wanted.items() if existing.get(key) != value}


def our_labels(node: Facts, labels: Facts, corrected: Facts) -> Facts:
    """The labels of a pool that a node has, as changes that remove them: only the operator reads them, and it is removed."""
    existing = mapping(get_path(node, "metadata", "labels"))
    return {key: None for key in {**labels, **corrected} if key in existing}


def trouble(pool: Facts, nodes: list[Facts]) -> list[str]:
    """The problems of the nodes of a pool, each with its remedy; empty when nothing is missing."""
    if not nodes:
        return [f"pool {pool['name']}: no node has the labels {pool['selector']}; correct node_selector, or add nodes"]
    return [f"pool {pool['name']}: {line}" for node in nodes for line in _of_node(pool, node)]


def _of_node(pool: Facts, node: Facts) -> t.Iterator[str]:
    name, labels = text(get_path(node, "metadata", "name")), mapping(get_path(node, "metadata", "labels"))
    state = text(labels.get(pool["state_label"])) if pool.get("state_label") else "success"
    if state == "failed":
        yield f"node {name}: the GPUs could not be cut ({pool['state_label']}=failed); evict what uses them, and check that the profiles are the product's"
        return
    if state != "success":
        yield f"node {name}: the GPUs are being cut ({pool['state_label']}={state or 'not set'})"
        return
    existing = mapping(get_path(node, "status", "allocatable"))
    for wanted in pool["expected"]:
        count = int(amount(existing.get(wanted["resource"], 0)))
        if wanted["count"] is None and count == 0:
            yield f"node {name}: allocatable has no {wanted['resource']}; check the pods of the device plugin on it"
        elif wanted["count"] is not None and count != wanted["count"]:
            how = "check the pods of the device plugin on it, and gpus_per_node"
            yield f"node {name}: allocatable {wanted['resource']} is {count}, not {wanted['count']}; {how}"
