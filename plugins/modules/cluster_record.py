#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_record
short_description: Read the record of an instance, and find what the user's file no longer requests
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - The record is a ConfigMap, the parent object of an ApplySet (KEP-3659). It lists the kinds and the namespaces of the objects of an instance.
  - Objects are listed by kind and label, as metadata. Secrets are recorded by name, so that no account needs the permission to list them.
  - Objects without our labels, objects of another file, and objects that are deleted with their owner are not members.
  - A controller that another record of the same instance needs stays, and so do the Secrets and namespaces of such a record.
  - CRDs are recorded by the names of their bundles. Only M(llm_d.inference.crd_removal) removes them.
  - Helm releases that we have installed are recorded by their names. Their controllers and GatewayClasses exist once per cluster, and stay while others use
    them. A controller is in use while a Gateway of one of its classes is not ours, while someone else created a class for it, when its namespace lacks our
    labels, while anyone else has an object of the kinds that it serves, or where this cannot be checked.
options:
  record:
    description: The record and its rules, from the plan.
    type: dict
    required: true
  wanted:
    description: The members that the file makes, each as C([group, kind, namespace, name]).
    type: list
    elements: list
    required: true
  find:
    description: Whether to look for members. Without it only the record is read.
    type: bool
    default: true
  everything:
    description: Whether the whole instance is to be removed. Then O(wanted) and the planned Helm releases are removed too.
    type: bool
    default: false
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes.cluster
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
"""

EXAMPLES = r"""
- name: Find what the file no longer requests
  llm_d.inference.cluster_record:
    record: "{{ facts.plan.record }}"
    wanted: "{{ facts.wanted }}"
  register: pruning
"""

RETURN = r"""
before:
  description: Definition of the record before anything is applied. It lists what is in the cluster, and what the file makes.
  returned: success
  type: dict
  sample: {apiVersion: v1, kind: ConfigMap, metadata: {name: llm-d-record, namespace: llm-d}}
after:
  description: Definition of the record once O(ignore:surplus) is deleted.
  returned: with O(find)
  type: dict
  sample: {apiVersion: v1, kind: ConfigMap, metadata: {name: llm-d-record, namespace: llm-d}}
surplus:
  description: References to the members that the file no longer requests, in the order of their creation.
  returned: with O(find)
  type: list
  elements: dict
  sample: [{apiVersion: v1, kind: Service, metadata: {name: qwen, namespace: llm-d}}]
summary:
  description: O(ignore:surplus) and O(ignore:controllers) in short, for people.
  returned: with O(find)
  type: list
  elements: str
  sample: ["HTTPRoute (1): qwen", "Deployment (2): qwen-decode, qwen-epp"]
gateways:
  description: Names of the Gateways among them.
  returned: with O(find)
  type: list
  elements: dict
  sample: [{namespace: llm-d, name: llm-d-gateway-istio}]
claims:
  description: Names of the PersistentVolumeClaims among them.
  returned: with O(find)
  type: list
  elements: dict
  sample: []
controllers:
  description: The controllers that the file no longer requests and nobody else uses, with their Helm releases in the order of their removal.
  returned: with O(find)
  type: list
  elements: dict
  sample: [{namespace: istio-system, charts: [{release_name: istiod, namespace: istio-system, hook_objects: []}], made: []}]
lines:
  description: Which controllers stay, and why.
  returned: with O(find)
  type: list
  elements: str
  sample: ["the controller istio.io/gateway-controller stays, and with it what it needs: Gateway shop/front is of class istio"]
unseen:
  description: Recorded members that this account may not list.
  returned: with O(find)
  type: list
  elements: str
  sample: [configmaps in namespace gateways]
"""

import collections.abc as c
import dataclasses

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.labels import has_labels, label_selector
from ..module_utils.common.objects import Facts, api_group, text
from ..module_utils.k8s import applyset
from ..module_utils.k8s.applyset import Extent, Others
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.controller_users import GATEWAY, listed, observe
from ..module_utils.k8s.errors import ApiError, ClusterError
from ..module_utils.k8s.namespace_reader import METADATA, kinds
from ..module_utils.k8s.shared_controllers import first_few, removable

CLASS = "GatewayClass"
GUARDED = {"gateways": "Gateway", "claims": "PersistentVolumeClaim"}  # others may use these


def read(cluster: Cluster, record: Facts) -> Extent | None:
    """The extent that the record in the cluster lists, without classes where the file has no controllers, since the file of prerequisites owns these. None
    without a record; a ConfigMap of this name without our labels is not one."""
    config_map = cluster.find(f"/api/v1/namespaces/{record['namespace']}/configmaps/{record['name']}")
    if config_map is None or not has_labels(config_map, record["labels"]):
        return None
    has = applyset.recorded(config_map)
    return has if record["controllers"] else dataclasses.replace(has, places=frozenset(each for each in has.places if each[1] != CLASS))


def unrecorded(cluster: Cluster, record: Facts, peers: Others) -> Extent:
    """The releases in namespaces of ours that no other record has or needs: older versions had no record, and a run that ended early may have installed one.
    peers: as of others()."""
    free = spaces(cluster, sorted(applyset.rooms(record) - set(peers.holders)), record["labels"])
    taken = {name for each in peers.records for name in each.has.releases}
    return Extent(releases=frozenset(release(row) for row in record["controllers"] if row["namespace"] in free).difference(taken))


def others(cluster: Cluster, record: Facts) -> Others:
    """The records of files of this instance in other namespaces."""
    config_maps = listed(cluster, "/api/v1/configmaps", "ConfigMap", f"{label_selector(record['labels'])},{applyset.ID}")
    if isinstance(config_maps, str):
        return Others(unread=config_maps)
    return Others([applyset.other(item) for item in config_maps if item["metadata"]["namespace"] != record["namespace"]])


def head(cluster: Cluster, path: str) -> tuple[Facts | None, bool]:
    """(the metadata of an object, without its values; None where there is none; whether this account may read it)."""
    try:
        return cluster.find(path, accept=METADATA.format("")), True
    except ApiError as exc:
        if exc.status != 403:
            raise
        return None, False


def spaces(cluster: Cluster, names: c.Iterable[str], labels: Facts) -> list[str]:
    """The namespaces of ours among these names, as far as this account may read them."""
    candidates = list(dict.fromkeys(names))
    objects = cluster.parallel(lambda name: head(cluster, f"/api/v1/namespaces/{name}")[0], candidates)
    return [name for name, space in zip(candidates, objects, strict=True) if space and has_labels(space, labels)]


def versions(cluster: Cluster, record: Facts, has: Extent) -> tuple[list[tuple[str, str]], set[str]]:
    """((API version, kind) of all kinds that may have members: those of this release and those of the record; groups that do not answer)."""
    known = [tuple(each) for each in record["kinds"]]
    lacking = has.kinds - {(api_group(version), kind) for version, kind in known}
    additional, broken = kinds(cluster, {group for group, _kind in lacking}) if lacking else ([], {})
    return [*known, *((each.api_version, each.kind) for each in additional if (each.group, each.kind) in lacking)], set(map(api_group, broken))


def members(cluster: Cluster, record: Facts, has: Extent, planned: Extent) -> tuple[list[Facts], Extent, list[str]]:
    """(the objects with our labels, as metadata; the extent of recorded members that this account may not list; the same as text).

    planned: the planned extent, whose Secrets stay.
    """
    namespaces = list(dict.fromkeys([*record["namespaces"], *sorted(has.namespaces)]))
    known, broken = versions(cluster, record, has)
    served = cluster.parallel(lambda kind: (*kind, cluster.path(*kind)), [kind for kind in known if kind[1] != "Secret"])
    jobs = [(version, kind, space) for version, kind, path in served if path for space in ([""] if kind == CLASS else namespaces)]
    query = {"labelSelector": label_selector(record["labels"])}

    def items(job: tuple[str, str, str]) -> list[Facts] | None:
        version, kind, space = job
        try:
            answer = cluster.listed(cluster.path(version, kind, space) or "", kind, query, accept=METADATA.format("List"))
        except ApiError as exc:
            if exc.status != 403:
                raise
            return None
        return [{**item, "apiVersion": version} for item in answer]

    answers = cluster.parallel(items, jobs)
    closed = {(api_group(version), kind, space) for (version, kind, space), answer in zip(jobs, answers, strict=True) if answer is None}
    hidden = {each for each in has.places if each in closed or each[0] in broken}
    objects = [item for answer in answers for item in answer or []]
    # Older versions recorded none: the prompts of a CronJob have its name.
    prompts = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in objects if item["kind"] == "CronJob"]
    pulled = [(namespace, record["pull_secret"]) for namespace, _name in has.releases]
    names = sorted({*has.secrets, *map(tuple, record["secrets"]), *prompts, *pulled})
    secrets = cluster.parallel(lambda each: head(cluster, f"/api/v1/namespaces/{each[0]}/secrets/{each[1]}"), names)
    unread = [name for name, (_item, readable) in zip(names, secrets, strict=True) if not readable and name in has.secrets - planned.secrets]
    words = [f"{applyset.title(each[:2])}{f' in namespace {each[2]}' if each[2] else ''}" for each in sorted(hidden)]
    hidden |= {("", "Secret", space) for space, _name in unread}
    unlisted = Extent(frozenset(hidden), frozenset(space for _group, _kind, space in hidden if space), frozenset(unread))
    objects += [{"apiVersion": "v1", "kind": "Secret", "metadata": item["metadata"]} for item, _readable in secrets if item]
    return objects, unlisted, [*words, *(f"Secret {'/'.join(name)}" for name in unread)]


def place(item: Facts) -> Facts:
    """{namespace, name} of an object."""
    return {key: item["metadata"][key] for key in ("namespace", "name")}


def pruning(cluster: Cluster, record: Facts, wanted: set[applyset.Identity], planned: Extent, has: Extent, peers: Others) -> Facts:
    """The returned values except `before`. has: the extent of the record; planned: its extent once everything else is removed; peers: as of others()."""
    objects, hidden, unlisted = members(cluster, record, has, planned)
    gone, kept, services = applyset.surplus(objects, wanted, record, peers.records)
    alone = record["alone"] or bool(services)
    left = has.releases - planned.releases
    old = [row for row in record["controllers"] if not alone and row["namespace"] not in record["needed"] and release(row) in left]
    classes = [item["metadata"]["name"] for item in gone if item["kind"] == CLASS]
    use = removable(observe(cluster, old, bool(classes)), old, classes, record["labels"], record["home"], peers)
    left -= {release(row) for row in use["free"]}
    stay, occupied = with_controllers(record, objects, use, left, peers)
    needed = [item for item in gone if of_controller(item, stay, occupied)]
    kept, gone = [*kept, *needed], [item for item in gone if item not in needed]
    identities = list(map(applyset.identity, kept))
    rest = planned | hidden | applyset.extent(identities, {each[:2] for each in identities}, left, has.bundles)
    spare_names = (has.namespaces - rest.namespaces).difference(*(each.has.namespaces for each in peers.records))
    spare = [] if record["alone"] or peers.unread else emptied(cluster, record, spare_names)
    gone = ([] if alone else [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in spare]) + gone
    removed = [controller(namespace, use["free"]) for namespace in dict.fromkeys(row["namespace"] for row in reversed(use["free"]))]
    return {
        "surplus": gone,
        **{name: [place(each) for each in gone if each["kind"] == kind] for name, kind in GUARDED.items()},
        "controllers": removed,
        "summary": [
            *applyset.summary(gone),
            *(f"Namespace {each['namespace']} with {', '.join(chart['release_name'] for chart in each['charts'])}" for each in removed),
        ],
        "lines": [*use["lines"], *([] if alone else operators(record, left)), *staying(services)],
        "after": applyset.parent(record, rest | Extent(namespaces=frozenset(spare))),
        "unseen": unlisted,
    }


def with_controllers(record: Facts, objects: c.Iterable[Facts], use: Facts, left: c.Iterable[applyset.Name], peers: Others) -> tuple[set[str], set[str]]:
    """(names of the GatewayClasses that stay with a controller; namespaces whose Secrets stay, since the pods of controllers pull images with them).

    use: as of removable(); left: the releases that stay. Where other records cannot be listed, the Secrets of any controller may be another file's.
    """
    occupied = {namespace for namespace, _name in left} | (applyset.rooms(record) if peers.unread else set())
    stay = {*use["classes"], *(peer_classes(objects, record, peers) - {row["class_name"] for row in use["free"]})}
    return stay | {row["class_name"] for row in record["controllers"] if row["namespace"] in peers.holders}, occupied


def of_controller(item: Facts, classes: c.Container[str], namespaces: c.Container[str]) -> bool:
    """Whether an object is one of these GatewayClasses, or a Secret in one of these namespaces."""
    kind, data = item["kind"], item["metadata"]
    return kind == CLASS and data["name"] in classes or kind == "Secret" and data["namespace"] in namespaces


def peer_classes(objects: c.Iterable[Facts], record: Facts, peers: Others) -> set[str]:
    """Names of the classes in the records of other files, as far as these are known."""
    marks = {item["metadata"]["name"]: text(item["metadata"]["labels"].get(applyset.MEMBER)) for item in objects if item["kind"] == CLASS}
    known = {each.id for each in peers.records}
    return {name for name, mark in marks.items() if mark not in ("", record["id"]) and (peers.unread or mark in known)}


def release(row: Facts) -> applyset.Name:
    """(namespace, name) of the Helm release of a controller."""
    return row["namespace"], row["release_name"]


def staying(services: c.Sequence[str]) -> list[str]:
    """A line about the objects that stay because of services that the file does not have."""
    return [f"objects that belong to no service stay, since {first_few(services)}, which the file does not have, may need them"] if services else []


def operators(record: Facts, left: c.Collection[applyset.Name]) -> list[str]:
    """Lines about the releases of GPU operators that stay: no file has them any longer, and pods of others reach their devices through them."""
    known = {*map(release, record["controllers"]), *map(tuple, record["releases"])}
    names = ["/".join(each) for each in sorted(left - known)] if record["controllers"] else []
    return [f"the GPU operator {name} stays: playbooks/teardown.yml removes it by the llm_d_gpus that installed it" for name in names]


def emptied(cluster: Cluster, record: Facts, left: c.Collection[str]) -> list[str]:
    """Namespaces of ours that the file no longer uses. Empty for a record without controllers, whose account creates none, and for one without a home."""
    rooms = applyset.rooms(record)
    names = sorted(set(left) - {*record["namespaces"], *rooms}) if rooms and record["home"] else []
    return spaces(cluster, names, record["labels"])


def apart(cluster: Cluster, record: Facts) -> list[str]:
    """Descriptions of what other roles remove with the whole instance, in the order of removal."""
    operator = record["operator"]
    rooms, homes = (spaces(cluster, names, record["labels"]) for names in (operator["namespaces"], record["namespaces"]))
    nodes = f", and our labels of the nodes of {', '.join(operator['pools'])}" if operator["pools"] else ""
    return [
        *([f"GPU operator {operator['name']} in {', '.join(rooms)}{nodes}"] if rooms else []),
        *([f"Namespace ({len(homes)}), if nothing else is in it: {', '.join(homes)}"] if homes else []),
    ]


def controller(namespace: str, rows: list[Facts]) -> Facts:
    """The charts and classes in a namespace, for the role objects. The chart that was installed last is removed first."""
    here = [row for row in reversed(rows) if row["namespace"] == namespace]
    made = dict.fromkeys(name for row in here for name in row["made"])
    return {
        "namespace": namespace,
        "charts": [{key: row[key] for key in ("release_name", "namespace", "hook_objects")} for row in here],
        "made": [{"apiVersion": GATEWAY, "kind": CLASS, "metadata": {"name": name}} for name in made],
    }


def main() -> None:
    """Entry of the module."""
    module = AnsibleModule(
        argument_spec={
            **auth_spec(),
            "record": {"type": "dict", "required": True},
            "wanted": {"type": "list", "elements": "list", "required": True},
            "find": {"type": "bool", "default": True},
            "everything": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    everything = module.params["everything"]
    record = applyset.rules(module.params["record"], everything)
    wanted = set() if everything else {(each[0], each[1], each[2], each[3]) for each in module.params["wanted"]}
    listed = {(api_group(version), kind) for version, kind in record["kinds"]}
    planned = applyset.extent(wanted, listed, [] if everything else [(each[0], each[1]) for each in record["releases"]], record["crds"])
    planned |= Extent(namespaces=frozenset([] if everything else record["made"]))
    try:
        cluster = connect(module)
        known = read(cluster, record)
        incomplete = known is None or everything
        # A file without controllers shares nothing, a run for some services removes nothing shared.
        sharing = record["controllers"] and (incomplete or module.params["find"] and not record["alone"])
        peers = others(cluster, record) if sharing else Others()
        has = (known or Extent()) | (unrecorded(cluster, record, peers) if incomplete else Extent())
        result: Facts = {"before": applyset.parent(record, planned | has)}
        if module.params["find"]:
            result |= pruning(cluster, record, wanted, planned, has, peers)
            result["summary"] += apart(cluster, record) if record["controllers"] and everything else []
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
