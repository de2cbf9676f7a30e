# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the kinds of a cluster, and every object in a namespace, as metadata."""

from __future__ import annotations

import collections.abc as c
import dataclasses

from ..common.objects import Facts, api_group, dicts, get_path, mapping, text
from ..common.text import shorten
from .client import Cluster
from .errors import ApiError
from .namespace_contents import RECORDS, Contents, Ours, keepers, lines, summary, unlisted
from .shared_controllers import title_with_instance

# An API server that cannot return metadata alone returns the whole objects.
METADATA = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io,application/json"


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of objects in namespaces that can be listed. verbs: all that the API server supports for them."""

    api_version: str
    kind: str
    plural: str
    verbs: tuple[str, ...]

    @property
    def group(self) -> str:
        return api_group(self.api_version)

    @property
    def title(self) -> str:
        """Such as `deployments.apps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "") -> str:
        """The URL path of its objects in a namespace, or in all."""
        root = ("/apis/" if self.group else "/api/") + self.api_version
        return f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"


def kinds(cluster: Cluster, groups: c.Container[str] | None = None) -> tuple[list[Kind], dict[str, str]]:
    """(every kind, in the preferred version of its group; by API version, why its kinds are not known, such as those of an aggregated API server).

    groups: the API groups to read, else all.
    """
    versions = [version for version in _versions(cluster) if groups is None or api_group(version) in groups]
    answers = cluster.parallel(lambda version: _resources(cluster, version), versions)
    by_resource: dict[tuple[str, str], Kind] = {}
    for answer in answers:
        for kind in [] if isinstance(answer, str) else answer:
            by_resource.setdefault((kind.group, kind.plural), kind)
    failed = {version: answer for version, answer in zip(versions, answers, strict=True) if isinstance(answer, str)}
    return list(by_resource.values()), failed or ({} if by_resource or groups is not None else {"the API": "the API server names no kind"})


@dataclasses.dataclass(frozen=True)
class Kept:
    """A namespace that must stay. objects: what keeps it; lines: the same for people, with a bound; summary: in one line."""

    namespace: str
    objects: list[str]
    lines: list[str]
    summary: str


def kept_namespaces(cluster: Cluster, namespaces: c.Iterable[str], ours: Ours) -> list[Kept]:
    """The namespaces that exist and hold objects of others, or may hold some. Raises ClusterError."""
    result = []
    for inside in contents(cluster, existing(cluster, namespaces)):
        kept = keepers(inside, ours)
        if reasons := lines(inside, kept):
            result.append(Kept(inside.namespace, [title_with_instance(item) for item in kept], reasons, summary(inside, kept)))
    return result


def contents(cluster: Cluster, namespaces: c.Sequence[str]) -> list[Contents]:
    """Every object in each of the namespaces that would be deleted with it, but for records, and the owners of these objects. Raises ClusterError.

    `unread` names what cannot be listed, for lack of permissions or since its server does not answer.
    """
    known, failed = kinds(cluster) if namespaces else ([], {})
    # A kind without `delete` is a view of other objects, and nothing of it is deleted with a namespace.
    held = [kind for kind in known if "delete" in kind.verbs and (kind.group, kind.plural) not in RECORDS]
    jobs = [(namespace, kind) for namespace in namespaces for kind in held]
    answers = dict(zip(jobs, cluster.parallel(lambda job: _objects(cluster, *job), jobs), strict=True))
    return [_contents(cluster, namespace, {kind: answers[namespace, kind] for kind in held}, failed) for namespace in namespaces]


def existing(cluster: Cluster, namespaces: c.Iterable[str]) -> list[str]:
    """The namespaces that exist and are not being deleted; those that the account may not read count as existing."""
    return [name for name in dict.fromkeys(namespaces) if _exists(cluster, name)]


def _exists(cluster: Cluster, name: str) -> bool:
    try:
        live = cluster.find(f"/api/v1/namespaces/{name}", accept=METADATA.format(""))
    except ApiError as exc:
        if exc.status == 403:
            return True
        raise
    return live is not None and not get_path(live, "metadata", "deletionTimestamp")


def _contents(cluster: Cluster, namespace: str, answers: c.Mapping[Kind, list[Facts] | ApiError], failed: c.Mapping[str, str]) -> Contents:
    # Two groups may serve the same object, as OpenShift does with RoleBindings: the first one counts, since those of Kubernetes come before others.
    items: dict[str, Facts] = {}
    for kind, answer in answers.items():
        for index, item in enumerate(answer if isinstance(answer, list) else ()):
            items.setdefault(_uid(item) or f"{kind.title} {index}", item)
    forbidden = [kind.title for kind, error in answers.items() if isinstance(error, ApiError) and error.status == 403]
    broken = {kind.title: _why(error) for kind, error in answers.items() if isinstance(error, ApiError) and error.status != 403}
    objects = list(items.values())
    return Contents(namespace, objects, _owners(cluster, namespace, objects), unlisted(forbidden, {**failed, **broken}))


def _versions(cluster: Cluster) -> list[str]:
    """All API versions, the preferred one of each group first."""
    groups = dicts(mapping(cluster.find("/apis")).get("groups"))
    ordered = [text(version) for version in mapping(cluster.find("/api")).get("versions") or []]
    for group in groups:
        versions = [text(get_path(group, "preferredVersion", "groupVersion")), *(text(each.get("groupVersion")) for each in dicts(group.get("versions")))]
        ordered += [version for version in dict.fromkeys(versions) if version]
    return ordered


def _resources(cluster: Cluster, version: str) -> list[Kind] | str:
    """The kinds of an API version in namespaces that can be listed, or why they are not known."""
    try:
        by_kind = cluster.resources(version)
    except ApiError as exc:
        return _why(_passed(exc))
    entries = [entry for entry in by_kind.values() if entry.get("namespaced")]
    return [Kind(version, text(entry["kind"]), text(entry["name"]), verbs) for entry in entries if "list" in (verbs := tuple(entry.get("verbs") or ()))]


def _objects(cluster: Cluster, namespace: str, kind: Kind) -> list[Facts] | ApiError:
    """The objects of a kind; the answer of the API server where it lists none."""
    try:
        items = cluster.listed(kind.path(namespace), kind.kind, accept=METADATA.format("List"))
    except ApiError as exc:
        return _passed(exc)
    return [{**item, "apiVersion": kind.api_version} for item in items]


def _owners(cluster: Cluster, namespace: str, items: c.Sequence[Facts]) -> dict[str, Facts | None]:
    """By uid, the owners that are not among the objects; None for one that no longer exists. One that cannot be read is left out."""
    known = {_uid(item) for item in items}
    wanted = {text(owner.get("uid")): owner for item in items for owner in dicts(get_path(item, "metadata", "ownerReferences"))}
    outside = [(uid, owner) for uid, owner in wanted.items() if uid not in known]
    owners = cluster.parallel(lambda each: _owner(cluster, namespace, *each), outside)
    return {uid: owner for (uid, _reference), owner in zip(outside, owners, strict=True) if owner != {}}


def _owner(cluster: Cluster, namespace: str, uid: str, owner: Facts) -> Facts | None:
    """The owner; None where it no longer exists, {} where it cannot be read."""
    try:
        path = cluster.path(text(owner.get("apiVersion")), text(owner.get("kind")), namespace, text(owner.get("name")))
        live = cluster.find(path, accept=METADATA.format("")) if path else {}
    except ApiError:
        return {}
    return None if live and _uid(live) != uid else live


def _uid(item: Facts) -> str:
    return text(get_path(item, "metadata", "uid"))


def _passed(exc: ApiError) -> ApiError:
    """The error, of one kind; one about the credentials affects all kinds and is raised."""
    if exc.status == 401:
        raise exc
    return exc


def _why(exc: ApiError) -> str:
    return shorten(f"{exc.status} {exc.message or exc.reason}", 160)
