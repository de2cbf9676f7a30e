"""What a run would prune in a cluster that holds some definitions, computed as the role model_service does."""

from __future__ import annotations

import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.plan.pruning import references, surplus
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions

Facts = dict[str, t.Any]


def listed(query: Facts, item: Facts) -> bool:
    """Whether the API server has the object in its answer to one element of plan.surplus."""
    metadata = item["metadata"]
    if (query["api_version"], query["kind"], query["namespace"]) != (item["apiVersion"], item["kind"], metadata.get("namespace")):
        return False
    labels = metadata.get("labels") or {}
    head, _in, names = query["label_selector"].partition(" in (")
    *parts, last = head.split(",")
    if names and labels.get(last) not in names[:-1].split(","):
        return False
    return all(fits(labels, part) for part in [*parts, *([] if names else [last])])


def fits(labels: Facts, part: str) -> bool:
    """Whether labels are as one part of a selector asks."""
    key, equal, value = part.removeprefix("!").partition("=")
    return key not in labels if part.startswith("!") else labels.get(key) == value if equal else key in labels


def pruned(there: t.Sequence[Facts], planned: Facts) -> list[tuple[str, str, str, str]]:
    """(API version, kind, namespace, name) of what goes, in the order of creation."""
    found = [item for query in planned["surplus"] for item in there if listed(query, item)]
    gone = surplus(found, references(definitions(planned)))
    return [(item["apiVersion"], item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]) for item in gone]
