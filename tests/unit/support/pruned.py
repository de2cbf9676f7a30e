"""The objects that a run would prune in a cluster with some definitions, computed as the module cluster_record does."""

from __future__ import annotations

import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.k8s import applyset
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.record import wanted
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import with_secrets

Facts = dict[str, t.Any]


def groups(record: Facts) -> set[tuple[str, str]]:
    """(group, kind) of each kind by which members are listed."""
    return {(version.rpartition("/")[0], kind) for version, kind in record["kinds"]}


def recorded(planned: Facts) -> Facts:
    """The ApplySet parent that a run of a plan leaves."""
    record = planned["record"]
    return applyset.parent(record, applyset.extent(map(tuple, wanted(with_secrets(planned))), groups(record)))


def pruned(there: t.Sequence[Facts], planned: Facts, before: Facts | None = None, everything: bool = False) -> list[tuple[str, str, str, str]]:
    """(API version, kind, namespace, name) of each pruned object, in the order of creation. there: the objects of the cluster; before: the plan of an earlier
    run, which wrote the record; everything: whether all is removed, as at a teardown."""
    record = applyset.rules(planned["record"], everything)
    has = applyset.recorded(recorded(before) if before else None)
    prompts = {(item["metadata"]["namespace"], item["metadata"]["name"]) for item in there if item["kind"] == "CronJob"}
    places, secrets = {*record["namespaces"], *has.namespaces}, {*has.secrets, *map(tuple, record["secrets"]), *prompts}
    namespaces = [item["metadata"].get("namespace") for item in there]
    members = [
        item
        for item, namespace in zip(there, namespaces, strict=True)
        if ((namespace, item["metadata"]["name"]) in secrets if item["kind"] == "Secret" else applyset.identity(item)[:2] in groups(record))
        and (item["kind"] in ("Secret", "GatewayClass") or namespace in places)
    ]
    made = set() if everything else {tuple(each) for each in wanted(with_secrets(planned))}
    gone = applyset.surplus(members, made, record).gone
    return [(item["apiVersion"], item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]) for item in gone]
