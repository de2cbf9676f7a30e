# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects keep a namespace from being deleted: all but our own, and those that Kubernetes and OpenShift create in every namespace. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses

from ..common.labels import has_labels, is_ours
from ..common.objects import Facts, dicts, get_path, mapping, text
from ..common.text import pluralize
from .shared_controllers import title_with_instance

SHOWN = 20  # objects that are named
# Kinds that are records of others, as (API group, resource): they are created and deleted with the objects that they describe.
RECORDS = (("", "events"), ("events.k8s.io", "events"), ("", "endpoints"), ("discovery.k8s.io", "endpointslices"), ("coordination.k8s.io", "leases"))
Key = tuple[str, str, str]  # API group, kind, name

_CONFIG_MAP, _ACCOUNT, _SECRET, _CLAIM = ("", "ConfigMap"), ("", "ServiceAccount"), ("", "Secret"), ("", "PersistentVolumeClaim")
_BINDING = ("rbac.authorization.k8s.io", "RoleBinding")
_SERVICE_CA: Key = (*_CONFIG_MAP, "openshift-service-ca.crt")
# Objects that controllers of the cluster create in every namespace; the last names are those of Istio, of OpenShift's own Istio, of OpenShift AI and of GKE.
_EVERYWHERE: tuple[Key, ...] = (
    (*_ACCOUNT, "default"),
    (*_CONFIG_MAP, "kube-root-ca.crt"),
    _SERVICE_CA,
    *((*_BINDING, f"system:{name}") for name in ("image-pullers", "image-builders", "deployers")),
    *((*_CONFIG_MAP, name) for name in ("istio-ca-root-cert", "istio-ca-crl", "openshift-gw-ca-root-cert", "odh-trusted-ca-bundle")),
    ("", "ResourceQuota", "gke-resource-quotas"),
)
# On OpenShift, all but the first two by OpenShift Pipelines.
_OPENSHIFT: tuple[Key, ...] = (
    *((*_ACCOUNT, name) for name in ("builder", "deployer", "pipeline")),
    *((*_CONFIG_MAP, f"config-{name}-cabundle") for name in ("service", "trusted")),
    *((*_BINDING, name) for name in ("openshift-pipelines-edit", "pipelines-scc-rolebinding")),
)
# Labels of what is copied into many namespaces: ClusterServiceVersions by OLM, bundles of certificates by trust-manager, bindings of a project by Rancher.
_COPIED = {"olm.copiedFrom", "trust.cert-manager.io/bundle", "authz.cluster.cattle.io/rtb-owner-updated"}
_LEADER = "control-plane.alpha.kubernetes.io/leader"  # an annotation of the ConfigMap by which replicas elect a leader
# Objects that go with another one which they name without ownerReferences: kind, label or annotation with the name of the other, and its kind.
_FOLLOWS = (
    (_SECRET, "kubernetes.io/service-account.name", _ACCOUNT),
    (_SECRET, "openshift.io/internal-registry-auth-token.service-account", _ACCOUNT),
    (None, "olm.owner", ("operators.coreos.com", "ClusterServiceVersion")),
)
_RELEASE = "meta.helm.sh/release-"


@dataclasses.dataclass
class Ours:
    """What may be deleted with a namespace.

    labels: of our own objects; home: the namespace of the file; tenants: namespaces in which labels do not count, since another account deploys there;
    releases: Helm releases, {release_name, namespace}; marks: what controllers of ours make, {namespace, and what the object has: kind, name, labels,
    annotation}; going: references to objects that are deleted before where they have the labels.
    """

    labels: Facts = dataclasses.field(default_factory=dict)
    home: str = ""
    tenants: c.Sequence[str] = ()
    releases: c.Sequence[Facts] = ()
    marks: c.Sequence[Facts] = ()
    going: c.Sequence[Facts] = ()


@dataclasses.dataclass
class Contents:
    """A namespace and the objects in it, each {apiVersion, kind, metadata}.

    owners: by uid, the owners outside of it, None for one that is gone; unread: why the objects of some kinds are not known.
    """

    namespace: str
    items: c.Sequence[Facts]
    owners: c.Mapping[str, Facts | None]
    unread: c.Sequence[str] = ()


def keepers(inside: Contents, ours: Ours) -> list[Facts]:
    """The objects that keep the namespace, without those that another one of these owns. Sorted by kind and name."""
    judge = _Judge(inside, ours)
    kept = [item for item in inside.items if not judge.goes(item)]
    uids = {_uid(item) for item in kept} - {""}
    roots = [item for item in kept if not uids & {text(owner.get("uid")) for owner in _owners(item)} and not judge.leader_stays(item)]
    return sorted(roots or kept, key=lambda item: (text(item.get("kind")), text(get_path(item, "metadata", "name"))))


def lines(inside: Contents, kept: c.Sequence[Facts]) -> list[str]:
    """Why the namespace stays, as lines for people, with the first SHOWN objects. Empty where nothing keeps it."""
    stays, reasons = f"the namespace {inside.namespace} stays", []
    if len(kept) == 1:
        reasons = [f"{stays}: {title_with_instance(kept[0])}"]
    elif kept:
        rest = [f"  and {len(kept) - SHOWN} more"] if len(kept) > SHOWN else []
        reasons = [f"{stays}: it holds {len(kept)} objects that are not deleted", *(f"  {title_with_instance(item)}" for item in kept[:SHOWN]), *rest]
    reasons += [f"{stays}: it is not known whether it holds {'more' if kept else 'objects of others'}, since {why}" for why in inside.unread]
    return [*reasons, f"kubectl delete namespace {inside.namespace} deletes it with all that is in it"] if reasons else []


def summary(inside: Contents, kept: c.Sequence[Facts]) -> str:
    """Why the namespace stays, as one line; empty where nothing keeps it."""
    held = [f"it holds {pluralize(len(kept), 'object')} that {'is' if len(kept) == 1 else 'are'} not deleted"] if kept else []
    unread = ["not all that is in it is known"] if inside.unread else []
    return f"the namespace {inside.namespace} stays: {' and '.join([*held, *unread])}" if held or unread else ""


def unlisted(forbidden: c.Sequence[str], failed: c.Mapping[str, str]) -> list[str]:
    """Why the objects of some kinds are not known. forbidden: kinds that the account may not list; failed: by kind or API, what the API server answers."""
    rest = f" and {pluralize(len(forbidden) - SHOWN, 'more kind')}" if len(forbidden) > SHOWN else ""
    words = [f"this account may not list {', '.join(sorted(forbidden)[:SHOWN])}{rest}"] if forbidden else []
    return words + [f"{name} cannot be listed: {why}" for name, why in sorted(failed.items())]


class _Judge:
    """Decides whether objects may be deleted with their namespace."""

    def __init__(self, inside: Contents, ours: Ours) -> None:
        self._place, self._owners, self._ours = inside.namespace, inside.owners, ours
        self._by_uid = {_uid(item): item for item in inside.items if _uid(item)}
        self._by_key = {key(item): item for item in inside.items}
        self._everywhere = {*_EVERYWHERE, *(_OPENSHIFT if _SERVICE_CA in self._by_key else ())}
        self._going = {key(item) for item in ours.going if get_path(item, "metadata", "namespace") == inside.namespace}
        self._releases = {text(release.get("release_name")) for release in ours.releases if release.get("namespace") == inside.namespace}
        self._marks = [mark for mark in ours.marks if mark.get("namespace") == inside.namespace]
        self._labels = {} if inside.namespace in ours.tenants else ours.labels

    def goes(self, item: Facts, way: tuple[str, ...] = ()) -> bool:
        """Whether an object may be deleted with the namespace. way: the uids of objects that it owns, so that cycles of owners end."""
        uid = _uid(item)
        if get_path(item, "metadata", "deletionTimestamp") or self._itself(item):
            return True
        owners = _owners(item)
        return bool(owners) and uid not in way and all(self._owner_goes(owner, (*way, uid)) for owner in owners) or self._follows(item, way)

    def leader_stays(self, item: Facts) -> bool:
        """Whether an object is kept only since it follows another one that is kept, and named."""
        return any(other is not None for other in self._leaders(item))

    def _itself(self, item: Facts) -> bool:
        metadata, name = mapping(item.get("metadata")), key(item)
        labels, notes = mapping(metadata.get("labels")), mapping(metadata.get("annotations"))
        if name in self._everywhere or _COPIED & set(labels) or (name[:2] == _CONFIG_MAP and _LEADER in notes):
            return True
        if name in self._going and has_labels(item, self._ours.labels):  # not another object of that name
            return True
        if self._releases and (self._is_of_release(item) or self._is_record(item) or self._is_of_hook(labels)):
            return True
        if any(_marked(item, mark) for mark in self._marks):
            return True
        # A claim that remains keeps its data, also one of ours.
        return name[:2] != _CLAIM and is_ours(item, self._labels, self._ours.home)

    def _is_record(self, item: Facts) -> bool:
        """Whether it is a record of a release of ours."""
        labels = mapping(get_path(item, "metadata", "labels"))
        return key(item)[:2] == _SECRET and labels.get("owner") == "helm" and labels.get("name") in self._releases

    def _is_of_hook(self, labels: Facts) -> bool:
        return labels.get("app.kubernetes.io/managed-by") == "Helm" and labels.get("app.kubernetes.io/instance") in self._releases

    def _owner_goes(self, owner: Facts, way: tuple[str, ...]) -> bool:
        uid = text(owner.get("uid"))
        if uid in self._by_uid:
            return self.goes(self._by_uid[uid], way)
        outside = self._owners.get(uid, owner)  # an owner that cannot be read counts as another's
        return outside is None or is_ours(outside, self._labels, self._ours.home) or self._is_of_release(outside)

    def _is_of_release(self, item: Facts) -> bool:
        notes = mapping(get_path(item, "metadata", "annotations"))
        return notes.get(f"{_RELEASE}name") in self._releases and notes.get(f"{_RELEASE}namespace") in (None, self._place)

    def _follows(self, item: Facts, way: tuple[str, ...]) -> bool:
        """Whether an object may be deleted with one that it names, which may be gone."""
        others = self._leaders(item)
        uid = _uid(item)
        return bool(others) and uid not in way and all(other is None or self.goes(other, (*way, uid)) for other in others)

    def _leaders(self, item: Facts) -> list[Facts | None]:
        """The objects that an object names as those that it is deleted with; None for one that is gone."""
        metadata = mapping(item.get("metadata"))
        notes = {**mapping(metadata.get("labels")), **mapping(metadata.get("annotations"))}
        return [self._by_key.get((*leader, text(notes[note]))) for kind, note, leader in _FOLLOWS if kind in (None, key(item)[:2]) and note in notes]


def key(item: Facts) -> Key:
    """API group, kind and name of an object or of a reference to it."""
    return text(item.get("apiVersion")).rpartition("/")[0], text(item.get("kind")), text(get_path(item, "metadata", "name"))


def _uid(item: Facts) -> str:
    return text(get_path(item, "metadata", "uid"))


def _owners(item: Facts) -> list[Facts]:
    return dicts(get_path(item, "metadata", "ownerReferences"))


def _marked(item: Facts, mark: Facts) -> bool:
    """Whether an object has everything that a mark lists; an empty mark matches nothing."""
    if not any(mark.get(part) for part in ("kind", "labels", "annotation")):
        return False
    _group, kind, name = key(item)
    same = mark.get("kind") in (None, kind) and mark.get("name") in (None, name)
    noted = not mark.get("annotation") or mark["annotation"] in mapping(get_path(item, "metadata", "annotations"))
    return same and noted and has_labels(item, mapping(mark.get("labels")))
