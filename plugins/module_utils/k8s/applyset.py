# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of what an instance has in a cluster: the parent object of an ApplySet, so that kubectl and other tools can read it. Pure.

The terms are those of KEP-3659 (https://github.com/kubernetes/enhancements/tree/master/keps/sig-cli/3659-kubectl-apply-prune). Members of kinds that no
account should list stand in the parent's data by name.
"""

from __future__ import annotations

import base64
import collections.abc as c
import dataclasses
import hashlib
import typing as t

from ..common.labels import HOME_LABEL, RESTORES, has_labels, is_ours
from ..common.objects import Facts, api_group, get_path, group_of, mapping, text

ID, MEMBER = "applyset.kubernetes.io/id", "applyset.kubernetes.io/part-of"
TOOLING, TOOL = "applyset.kubernetes.io/tooling", "llm_d.inference/v1"
KINDS, NAMESPACES = "applyset.kubernetes.io/contains-group-kinds", "applyset.kubernetes.io/additional-namespaces"
# Keys of the parent's data: the kinds in each namespace, such as `llm-d/Deployment.apps`; names such as `llm-d/llm-d-model-token`, of Secrets, and of the
# Helm releases that we have installed; names of bundles of CRDs; namespaces of the controllers that the file needs, also of those installed by others.
PLACES, SECRETS, RELEASES, BUNDLES, NEEDED = "kinds", "secrets", "releases", "crds", "needed"

CLAIM = "PersistentVolumeClaim"

Identity = tuple[str, str, str, str]  # group, kind, namespace, name: an object is the same in each version of its group


def identifier(name: str, namespace: str) -> str:
    """The value of both labels, for a ConfigMap as the parent."""
    digest = hashlib.sha256(f"{name}.{namespace}.ConfigMap.".encode()).digest()
    return f"applyset-{base64.urlsafe_b64encode(digest).decode().rstrip('=')}-v1"


def identity(item: Facts) -> Identity:
    """The identity of a definition, an object or a reference."""
    return group_of(item), item["kind"], item["metadata"].get("namespace") or "", item["metadata"]["name"]


Name = tuple[str, str]  # namespace, name
Place = tuple[str, str, str]  # group, kind, namespace


@dataclasses.dataclass(frozen=True)
class Extent:
    """Where members are. A namespace may no longer have any."""

    places: frozenset[Place] = frozenset()
    namespaces: frozenset[str] = frozenset()
    secrets: frozenset[Name] = frozenset()
    releases: frozenset[Name] = frozenset()
    bundles: frozenset[str] = frozenset()

    def __or__(self, other: Extent) -> Extent:
        return Extent(*(getattr(self, each.name) | getattr(other, each.name) for each in dataclasses.fields(self)))

    @property
    def kinds(self) -> frozenset[tuple[str, str]]:
        """(group, kind) of all of them."""
        return frozenset(each[:2] for each in self.places)


class Other(t.NamedTuple):
    """The record of another file with the same instance. id: the value of its labels; name: of the parent; needed: namespaces of controllers."""

    id: str
    name: str
    has: Extent
    needed: frozenset[str]


class Others(t.NamedTuple):
    """The records beside that of a file. unread: why they are not known, empty where they are."""

    records: t.Sequence[Other] = ()
    unread: str = ""

    @property
    def holders(self) -> dict[str, str]:
        """The record of a file that needs it, by the namespace of a controller."""
        return {namespace: each.name for each in self.records for namespace in each.needed}


def other(parent: Facts) -> Other:
    """The record of another file, from its parent object."""
    labels, data, has = mapping(get_path(parent, "metadata", "labels")), mapping(parent.get("data")), recorded(parent)
    needed = frozenset(_split(data[NEEDED])) if NEEDED in data else frozenset(namespace for namespace, _name in has.releases)
    return Other(text(labels.get(ID)), f"{get_path(parent, 'metadata', 'namespace')}/{get_path(parent, 'metadata', 'name')}", has, needed)


def extent(identities: c.Iterable[Identity], kinds: c.Container[tuple[str, str]], releases: c.Iterable[Name] = (), bundles: c.Iterable[str] = ()) -> Extent:
    """The extent of some objects, releases and bundles of CRDs. kinds: those by which members are listed."""
    members = [each for each in identities if each[:2] in kinds]
    secrets = [(each[2], each[3]) for each in members if each[:2] == ("", "Secret")]
    spaces = [each[2] for each in members if each[2]]
    return Extent(frozenset(each[:3] for each in members), frozenset(spaces), frozenset(secrets), frozenset(releases), frozenset(bundles))


def recorded(parent: Facts | None) -> Extent:
    """The extent of the members of a parent; empty without a parent."""
    notes, data = mapping(get_path(parent or {}, "metadata", "annotations")), mapping((parent or {}).get("data"))
    home = text(get_path(parent or {}, "metadata", "namespace"))
    spaces = [*_split(notes.get(NAMESPACES)), *([home] if home else [])]
    places = [each.partition("/")[::2] for each in _split(data.get(PLACES))]
    if PLACES not in data:  # another tool may have written it
        places = [(space, kind) for space in ["", *spaces] for kind in _split(notes.get(KINDS))]
    located = frozenset((*kind.partition(".")[::-2], space) for space, kind in places)
    secrets, releases = (frozenset(each.partition("/")[::2] for each in _split(data.get(key))) for key in (SECRETS, RELEASES))
    return Extent(located, frozenset(spaces), secrets, releases, frozenset(_split(data.get(BUNDLES))))


def parent(record: Facts, has: Extent) -> Facts:
    """The definition of the parent. record: of the plan."""
    notes = {TOOLING: TOOL, KINDS: ",".join(sorted(map(title, has.kinds))), NAMESPACES: ",".join(sorted(has.namespaces - {record["namespace"]}))}
    metadata = {"name": record["name"], "namespace": record["namespace"], "labels": {**record["labels"], ID: record["id"]}, "annotations": notes}
    data = {key: "\n".join("/".join(each) for each in sorted(names)) for key, names in ((SECRETS, has.secrets), (RELEASES, has.releases))}
    data |= {BUNDLES: "\n".join(sorted(has.bundles)), NEEDED: "\n".join(sorted(set(record["needed"])))}
    data |= {PLACES: "\n".join(sorted(f"{each[2]}/{title(each[:2])}" for each in has.places))}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def title(kind: tuple[str, str]) -> str:
    """Such as `Deployment.apps`, of (group, kind)."""
    return f"{kind[1]}.{kind[0]}".rstrip(".")


def joined(definition: Facts, live: Facts | None) -> Facts:
    """The definition of a cluster-wide object that may be in another record already: it stays there, since an object is a member of one, and files with the
    same instance in several namespaces share what is cluster-wide. live: the object; None where it does not exist."""
    metadata = mapping(definition.get("metadata"))
    current, labels = mapping(get_path(live or {}, "metadata", "labels")).get(MEMBER), mapping(metadata.get("labels"))
    if not current or labels.get(MEMBER) in (None, current):
        return definition
    return {**definition, "metadata": {**metadata, "labels": {**labels, MEMBER: current}}}


def rules(record: Facts, everything: bool) -> Facts:
    """The rules of a record. everything: whether the whole instance is removed, and not only what the file no longer requests."""
    of_all: Facts = {"needed": [], "mounted": [], "services": record["services"] if record["alone"] else None}
    return {**record, **(of_all if everything else {"given_up": []})}


class Surplus(t.NamedTuple):
    """References to members that the file does not make, in the order of creation. gone: to be deleted; kept: that stay nevertheless; services: the services
    with objects among these that the file does not have."""

    gone: list[Facts]
    kept: list[Facts]
    services: list[str]


def surplus(objects: c.Iterable[Facts], wanted: c.Container[Identity], record: Facts, others: c.Iterable[Other] = ()) -> Surplus:
    """The members among these objects that the file does not define.

    A member has our labels and belongs to our file. Not among them: records, objects with an owner, since they are deleted with it, and Secrets that another
    record has. While services stay that the file does not have, objects that belong to no service stay too: those services may need them.
    objects: {apiVersion, kind, metadata}.
    """
    order = {(api_group(version), kind): number for number, (version, kind) in enumerate(record["kinds"])}
    shared = {("", "Secret", *name) for each in others for name in each.has.secrets}
    members = [item for item in objects if not item["metadata"].get("ownerReferences") and _is_member(item, record) and identity(item) not in shared]
    rest = [item for item in members if identity(item) not in wanted and ID not in item["metadata"]["labels"]]
    rest.sort(key=lambda item: order.get(identity(item)[:2], len(order)))
    whole = record["alone"] or record["services"] is None  # in a run for some services, the others belong to the file too
    services = [] if whole else sorted({_service(item, record) for item in rest if item["kind"] != CLAIM} - {"", *record["services"]})
    parts: dict[bool, list[Facts]] = {True: [], False: []}
    for item in rest:
        parts[_goes(item, record) and bool(_service(item, record) or not services)].append(reference(item))
    return Surplus(parts[True], parts[False], services)


def summary(gone: c.Sequence[Facts], shown: int = 5) -> list[str]:
    """One line for each kind of the objects, in the order of their deletion, with the number of them and the names of the first few."""
    kinds = dict.fromkeys(item["kind"] for item in reversed(gone))
    names = {kind: [item["metadata"]["name"] for item in gone if item["kind"] == kind] for kind in kinds}
    return [f"{kind} ({len(each)}): {', '.join(each[:shown])}{f' and {len(each) - shown} more' if len(each) > shown else ''}" for kind, each in names.items()]


def rooms(record: Facts) -> set[str]:
    """The namespaces of controllers."""
    return {row["namespace"] for row in record["controllers"]}


def _is_member(item: Facts, record: Facts) -> bool:
    if item["kind"] == "Secret" and item["metadata"]["namespace"] in rooms(record):
        return has_labels(item, record["labels"])  # of image registries; files that share a controller share it
    return is_ours(item, record["labels"], record["home"])


def _goes(item: Facts, record: Facts) -> bool:
    """Whether a member that the file does not define is deleted."""
    kept, service = record["services"], _service(item, record)
    if item["kind"] == CLAIM and not _gives_up(item["metadata"]["name"], record):
        return False
    if record["alone"] and (not service or RESTORES in mapping(item["metadata"].get("labels"))):
        return False
    return kept is None or not service or service in kept


def _gives_up(claim: str, record: Facts) -> bool:
    """Whether a claim is deleted: one that servers of the file mount is not."""
    return claim in record["given_up"] or record["claims"] and claim not in record["mounted"]


def _service(item: Facts, record: Facts) -> str:
    """The service of a member; empty where it belongs to none."""
    labels = mapping(item["metadata"].get("labels"))
    return text(labels.get(record["service_label"]) or labels.get(RESTORES))


def reference(item: Facts) -> Facts:
    """{apiVersion, kind, metadata: {name, namespace}} of an object or definition; with the label of its home where it has one."""
    metadata = {key: item["metadata"][key] for key in ("name", "namespace") if item["metadata"].get(key)}
    home = mapping(item["metadata"].get("labels")).get(HOME_LABEL)
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": {**metadata, **({"labels": {HOME_LABEL: home}} if home else {})}}


def _split(value: t.Any) -> list[str]:
    return [each for each in text(value).replace("\n", ",").split(",") if each]
