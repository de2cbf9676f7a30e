"""What a run would prune in a cluster that holds some definitions, computed as the module cluster_record does."""

from __future__ import annotations

import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.k8s import applyset
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.record import wanted
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import with_secrets

Facts = dict[str, t.Any]


def groups(record: Facts) -> set[tuple[str, str]]:
    """(group, kind) of what members are listed by."""
    return {(version.rpartition("/")[0], kind) for version, kind in record["kinds"]}


def recorded(planned: Facts) -> Facts:
    """The parent that a run for a plan leaves behind."""
    record = planned["record"]
    return applyset.parent(record, applyset.extent(map(tuple, wanted(with_secrets(planned))), groups(record)))


def pruned(there: t.Sequence[Facts], planned: Facts, before: Facts | None = None, everything: bool = False) -> list[tuple[str, str, str, str]]:
    """(API version, kind, namespace, name) of what goes, in the order of creation. before: the plan of an earlier run, which the record is of; everything: as
    at a teardown."""
    record = applyset.rules(planned["record"], everything)
    has = applyset.recorded(recorded(before) if before else None)
    prompts = {(item["metadata"]["namespace"], item["metadata"]["name"]) for item in there if item["kind"] == "CronJob"}
    places, secrets = {*record["namespaces"], *has.namespaces}, {*has.secrets, *map(tuple, record["secrets"]), *prompts}
    names = {each: item["metadata"].get("namespace") for each, item in enumerate(there)}
    found = [
        item
        for each, item in enumerate(there)
        if ((names[each], item["metadata"]["name"]) in secrets if item["kind"] == "Secret" else applyset.identity(item)[:2] in groups(record))
        and (item["kind"] in ("Secret", "GatewayClass") or names[each] in places)
    ]
    made = set() if everything else {tuple(each) for each in wanted(with_secrets(planned))}
    gone = applyset.surplus(found, made, record).gone
    return [(item["apiVersion"], item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]) for item in gone]
