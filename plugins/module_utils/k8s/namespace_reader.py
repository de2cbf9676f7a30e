# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read which kinds of objects a cluster has, and every object in a namespace, as metadata."""

from __future__ import annotations

import collections.abc as c
import dataclasses

from ..common.objects import Facts, api_group, dicts, get_path, mapping, text
from ..common.text import shorten
from .client import Cluster
from .errors import ApiError
from .namespace_contents import RECORDS, Contents, Ours, keepers, lines, summary, unlisted
from .shared_controllers import title_with_instance

# An API server that cannot give metadata alone gives the whole objects.
METADATA = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io,application/json"


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of objects in namespaces that can be listed. verbs: what else can be done with them."""

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
        """Of its objects in a namespace, or in all."""
        root = ("/apis/" if self.group else "/api/") + self.api_version
        return f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"


def kinds(cluster: Cluster, groups: c.Container[str] | None = None) -> tuple[list[Kind], dict[str, str]]:
    """(every kind, in the preferred version of its group; by API version, why its kinds are not known, such as those of a server behind the API server).

    groups: the API groups to look at, else all.
    """
    versions = [version for version in _versions(cluster) if groups is None or api_group(version) in groups]
    answers = cluster.parallel(lambda version: _resources(cluster, version), versions)
    found: dict[tuple[str, str], Kind] = {}
    for answer in answers:
        for kind in [] if isinstance(answer, str) else answer:
            found.setdefault((kind.group, kind.plural), kind)
    failed = {version: answer for version, answer in zip(versions, answers, strict=True) if isinstance(answer, str)}
    return list(found.values()), failed or ({} if found or groups is not None else {"the API": "the API server names no kind"})


@dataclasses.dataclass(frozen=True)
class Kept:
    """A namespace that must stay. objects: what keeps it; lines: the same for people, with a bound; summary: in one line."""

    namespace: str
    objects: list[str]
    lines: list[str]
    summary: str


def kept_namespaces(cluster: Cluster, namespaces: c.Iterable[str], ours: Ours) -> list[Kept]:
    """Those of the namespaces that exist and hold anything of others, or of which that is not known. Raises ClusterError."""
    found = []
    for inside in contents(cluster, there(cluster, namespaces)):
        kept = keepers(inside, ours)
        if said := lines(inside, kept):
            found.append(Kept(inside.namespace, [title_with_instance(item) for item in kept], said, summary(inside, kept)))
    return found


def contents(cluster: Cluster, namespaces: c.Sequence[str]) -> list[Contents]:
    """Every object in each of the namespaces that would be deleted with it, but for records, and the owners of these objects. Raises ClusterError.

    What cannot be listed, for want of permissions or since its server does not answer, is in `unread`.
    """
    known, failed = kinds(cluster) if namespaces else ([], {})
    # A kind without `delete` is a view of other objects, and nothing of it is deleted with a namespace.
    held = [kind for kind in known if "delete" in kind.verbs and (kind.group, kind.plural) not in RECORDS]
    jobs = [(namespace, kind) for namespace in namespaces for kind in held]
    answers = dict(zip(jobs, cluster.parallel(lambda job: _objects(cluster, *job), jobs), strict=True))
    return [_contents(cluster, namespace, {kind: answers[namespace, kind] for kind in held}, failed) for namespace in namespaces]


def there(cluster: Cluster, namespaces: c.Iterable[str]) -> list[str]:
    """Those of the namespaces that exist and are not being deleted, as far as the account may read them."""
    return [name for name in dict.fromkeys(namespaces) if _there(cluster, name)]


def _there(cluster: Cluster, name: str) -> bool:
    try:
        found = cluster.find(f"/api/v1/namespaces/{name}", accept=METADATA.format(""))
    except ApiError as exc:
        if exc.status == 403:
            return True
        raise
    return found is not None and not get_path(found, "metadata", "deletionTimestamp")


def _contents(cluster: Cluster, namespace: str, answers: c.Mapping[Kind, list[Facts] | ApiError], failed: c.Mapping[str, str]) -> Contents:
    # Two groups may serve the same object, as OpenShift does with RoleBindings: that of the first, since those of Kubernetes come before others.
    items: dict[str, Facts] = {}
    for kind, answer in answers.items():
        for index, item in enumerate(answer if isinstance(answer, list) else ()):
            items.setdefault(_uid(item) or f"{kind.title} {index}", item)
    forbidden = [kind.title for kind, found in answers.items() if isinstance(found, ApiError) and found.status == 403]
    broken = {kind.title: _why(found) for kind, found in answers.items() if isinstance(found, ApiError) and found.status != 403}
    found = list(items.values())
    return Contents(namespace, found, _owners(cluster, namespace, found), unlisted(forbidden, {**failed, **broken}))


def _versions(cluster: Cluster) -> list[str]:
    """All API versions, the preferred one of each group first."""
    groups = dicts(mapping(cluster.find("/apis")).get("groups"))
    found = [text(version) for version in mapping(cluster.find("/api")).get("versions") or []]
    for group in groups:
        versions = [text(get_path(group, "preferredVersion", "groupVersion")), *(text(each.get("groupVersion")) for each in dicts(group.get("versions")))]
        found += [version for version in dict.fromkeys(versions) if version]
    return found


def _resources(cluster: Cluster, version: str) -> list[Kind] | str:
    """The kinds of an API version in namespaces that can be listed; why they are not known."""
    try:
        found = cluster.resources(version)
    except ApiError as exc:
        return _why(_passed(exc))
    entries = [entry for entry in found.values() if entry.get("namespaced")]
    return [Kind(version, text(entry["kind"]), text(entry["name"]), verbs) for entry in entries if "list" in (verbs := tuple(entry.get("verbs") or ()))]


def _objects(cluster: Cluster, namespace: str, kind: Kind) -> list[Facts] | ApiError:
    """The objects of a kind; the answer of the API server where it lists none."""
    try:
        found = cluster.listed(kind.path(namespace), kind.kind, accept=METADATA.format("List"))
    except ApiError as exc:
        return _passed(exc)
    return [{**item, "apiVersion": kind.api_version} for item in found]


def _owners(cluster: Cluster, namespace: str, items: c.Sequence[Facts]) -> dict[str, Facts | None]:
    """By uid, the owners that are not among the objects; None for one that does not exist any more. One that cannot be read is left out."""
    known = {_uid(item) for item in items}
    wanted = {text(owner.get("uid")): owner for item in items for owner in dicts(get_path(item, "metadata", "ownerReferences"))}
    left = [(uid, owner) for uid, owner in wanted.items() if uid not in known]
    found = cluster.parallel(lambda each: _owner(cluster, namespace, *each), left)
    return {uid: owner for (uid, _reference), owner in zip(left, found, strict=True) if owner != {}}


def _owner(cluster: Cluster, namespace: str, uid: str, owner: Facts) -> Facts | None:
    """The owner; None where it does not exist any more, {} where it cannot be read."""
    try:
        path = cluster.path(text(owner.get("apiVersion")), text(owner.get("kind")), namespace, text(owner.get("name")))
        found = cluster.find(path, accept=METADATA.format("")) if path else {}
    except ApiError:
        return {}
    return None if found and _uid(found) != uid else found


def _uid(item: Facts) -> str:
    return text(get_path(item, "metadata", "uid"))


def _passed(exc: ApiError) -> ApiError:
    """The error of one kind; one of the credentials is an error of all, and raised."""
    if exc.status == 401:
        raise exc
    return exc


def _why(exc: ApiError) -> str:
    return shorten(f"{exc.status} {exc.message or exc.reason}", 160)
