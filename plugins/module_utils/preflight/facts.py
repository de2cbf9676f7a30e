# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts about a cluster that the preflight checks, read in parallel; nothing is written.

A kind that the cluster does not serve is empty; a kind that the account may not read is left out.
"""

from __future__ import annotations

import base64
import functools
import re
import typing as t
from urllib.parse import quote

from ..common.labels import MANAGED_BY, PART_OF, PICKER, label_selector
from ..common.objects import Facts, dicts, get_path, mapping, text
from ..k8s import access, node_autoscalers
from ..k8s.client import Cluster
from ..k8s.errors import ApiError
from ..k8s.related_objects import Observer, references
from ..releases.gateways import GATEWAY_PROVIDERS, controllers, variants
from ..releases.lines import OBJECTIVE_KINDS, OLDER_GROUP
from .running import KINDS, MANAGER

_METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
_BUNDLES = ("gateway.networking.k8s.io/bundle-version", "inference.networking.k8s.io/bundle-version", "llm-d.ai/bundle-version")
_UNREAD = object()  # in place of a result that the account may not read
DEVICES = "resource.k8s.io/v1"  # the API of device claims (dynamic resource allocation)
# API paths of the objects that the user's file may refer to by name.
_NAMED = {
    "Secret": "/api/v1/namespaces/{namespace}/secrets/{name}",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps/{name}",
    "PersistentVolumeClaim": "/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses/{name}",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses/{name}",
    "CSIDriver": "/apis/storage.k8s.io/v1/csidrivers/{name}",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses/{name}",
    "ResourceClaim": "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}",
    "ResourceClaimTemplate": "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaimtemplates/{name}",
}
# For `survey`: the facts that it reads, and needs for `collect` that belong to no deployment.
_SURVEYED = ("crds", "nodes", "storage_classes", "gateway_classes", "load_balancers", "cluster_version", "infrastructure")
_NO_NEEDS: Facts = {
    **{name: [] for name in ("namespaces", "made", "named", "permissions", "objects")},
    **dict.fromkeys(("leader_worker_set", "gpu_operator", "user_workload_monitoring", "objectives", "collector", "devices")),
    "namespace": "default",
    "gateway": {"gateway_api": True, "controllers": [], "rivals": [], "service_type": "LoadBalancer", "namespace": "default", "name": "none"},
}


def collect(cluster: Cluster, needs: Facts, only: t.Collection[str] | None = None) -> Facts:
    """The facts of a cluster that the checks of these needs use, or `only` some of them by key. needs: from plan/cluster/preflight.py.

    Raises ClusterError if the API server does not answer.
    """
    version = cluster.get("/version").get("gitVersion")  # first and alone, so that an API server that does not answer is reported once
    home = needs["namespace"]
    groups = {group["name"]: [entry["version"] for entry in dicts(group.get("versions"))] for group in dicts(cluster.get("/apis").get("groups"))}
    jobs: dict[str, t.Callable[[], t.Any]] = {
        "crds": lambda: _crds(cluster),
        "nodes": lambda: _items(cluster, "/api/v1/nodes"),
        "namespaces": lambda: {name: _one(cluster, f"/api/v1/namespaces/{name}") for name in {*needs["namespaces"], *needs["made"]}},
        "quotas": lambda: _items(cluster, f"/api/v1/namespaces/{home}/resourcequotas"),
        "limit_ranges": lambda: _items(cluster, f"/api/v1/namespaces/{home}/limitranges"),
        "storage_classes": lambda: _by_name(_items(cluster, "/apis/storage.k8s.io/v1/storageclasses")),
        "named": lambda: _named(cluster, needs["named"]),
        "objects": lambda: [item for items in Observer(cluster, references(needs["objects"]), skip_forbidden=True).fetch().values() for item in items],
        "pods": lambda: _items(cluster, "/api/v1/pods"),
        "node_autoscalers": lambda: node_autoscalers.observe(cluster, groups),
        "user": lambda: _user(cluster),
    }
    jobs.update(_gateway_jobs(cluster, needs["gateway"], groups))
    if needs["objectives"]:
        jobs["objectives"] = lambda: _objectives(cluster, home, groups.get(OLDER_GROUP, []))
    if needs["collector"]:
        jobs["collector"] = functools.partial(_collector, cluster, needs["collector"])
    if needs.get("planned"):
        jobs["running"] = lambda: deployed(cluster, needs["namespaces"], needs["labels"][PART_OF], home, needs["gateway"]["namespace"])
    if needs["devices"] and DEVICES in [f"{group}/{version}" for group, versions in groups.items() for version in versions]:
        jobs["devices"] = lambda: _items(cluster, f"/apis/{DEVICES}/resourceslices")
    if needs["leader_worker_set"]:
        jobs["leader_worker_set"] = functools.partial(_leader_worker_set, cluster, needs["leader_worker_set"]["controller"])
    if needs["gpu_operator"]:
        jobs["gpu_operator"] = functools.partial(_gpu_operator, cluster, needs["gpu_operator"])
    if needs["gateway"]["service_type"] == "LoadBalancer":
        jobs["load_balancers"] = lambda: [item for item in _items(cluster, "/api/v1/services") if get_path(item, "spec", "type") == "LoadBalancer"]
    if "config.openshift.io" in groups:
        root = "/apis/config.openshift.io/v1"
        jobs["cluster_version"] = lambda: _one(cluster, f"{root}/clusterversions/version")
        jobs["ingress_operator"] = lambda: _one(cluster, f"{root}/clusteroperators/ingress")
        jobs["infrastructure"] = lambda: _one(cluster, f"{root}/infrastructures/cluster")
        if needs["user_workload_monitoring"]:
            jobs["cluster_monitoring"] = lambda: _one(cluster, "/api/v1/namespaces/openshift-monitoring/configmaps/cluster-monitoring-config")
    jobs = {name: job for name, job in jobs.items() if only is None or name in only}
    reviews = [functools.partial(access.allowed, cluster, permission) for permission in needs["permissions"]]
    calls: list[t.Callable[[], t.Any]] = [*jobs.values(), *reviews]
    results = cluster.parallel(_tried, calls)
    permissions = [
        {**permission, "allowed": allowed} for permission, allowed in zip(needs["permissions"], results[len(jobs) :], strict=True) if allowed is not _UNREAD
    ]
    known = {name: result for name, result in zip(jobs, results, strict=False) if result is not _UNREAD}
    if known.get("pods") and "node_autoscalers" in known and not known["node_autoscalers"]["active"]:
        known["node_autoscalers"]["active"] = node_autoscalers.running(known["pods"])
    # Without the permission to list the pods of all namespaces, at least those of this namespace.
    if "pods" in jobs and "pods" not in known and (own := _tried(lambda: _items(cluster, f"/api/v1/namespaces/{home}/pods"))) is not _UNREAD:
        known["own_pods"] = own
    return {"version": version, "groups": groups, **known, "permissions": permissions}


def survey(cluster: Cluster, namespace: str = "") -> Facts:
    """The facts from which inventory/file.py writes a first file for a cluster, with the controllers of all providers. Raises ClusterError as `collect` does.

    Also the names of all namespaces, and the deployments: of the whole cluster, or of this namespace where the account may not list the others.
    """
    rows = [row for facts in GATEWAY_PROVIDERS.values() for row in variants(facts)]
    places = sorted({(each["namespace"], each["name"]) for row in rows for each in controllers(row)})
    facts = collect(cluster, _NO_NEEDS, only=_SURVEYED)
    deployments = cluster.parallel(lambda place: _tried(lambda: _one(cluster, f"/apis/apps/v1/namespaces/{place[0]}/deployments/{place[1]}")), places)
    namespaces = _tried(lambda: sorted(_by_name(_items(cluster, "/api/v1/namespaces"))))
    running = deployed(cluster, [""])
    return {
        **facts,
        **({} if namespaces is _UNREAD else {"namespaces": namespaces}),
        "running": deployed(cluster, [namespace]) if "Deployment" in running["unread"] and namespace else running,
        "controllers": {"/".join(place): deployment for place, deployment in zip(places, deployments, strict=True) if deployment is not _UNREAD},
    }


def deployed(cluster: Cluster, namespaces: t.Sequence[str], instance: str = "", home: str = "", gateway_namespace: str = "") -> Facts:
    """{objects: ours, by which preflight/running.py identifies deployments; unread: kinds that the account may not list}. namespaces: [""] for all.

    An unread kind counts only in home, or for Gateways in gateway_namespace; where these are empty, in any namespace.
    """
    ours = {MANAGED_BY: MANAGER, **({PART_OF: instance} if instance else {})}

    def listed(place: tuple[str, str, str]) -> t.Any:
        api_version, kind, namespace = place
        path = cluster.path(api_version, kind, namespace)
        # Only configurations of endpoint pickers: our other ConfigMaps hold whole programs.
        query = {"labelSelector": label_selector(ours | PICKER if kind == "ConfigMap" else ours)}
        return _tried(lambda: cluster.listed(path, kind, query) if path else [])

    places = [(api_version, kind, namespace) for api_version, kind in KINDS for namespace in namespaces]
    results = list(zip(places, cluster.parallel(listed, places), strict=True))
    return {
        "objects": [item for _place, items in results if items is not _UNREAD for item in items],
        "unread": sorted(
            {kind for (_version, kind, place), items in results if items is _UNREAD and (gateway_namespace if kind == "Gateway" else home) in ("", place)}
        ),
    }


def _gateway_jobs(cluster: Cluster, gateway: Facts, groups: Facts) -> dict[str, t.Callable[[], t.Any]]:
    jobs: dict[str, t.Callable[[], t.Any]] = {}
    if gateway["gateway_api"]:
        root = "/apis/gateway.networking.k8s.io/v1"
        known = "gateway.networking.k8s.io" in groups
        jobs["gateway_classes"] = lambda: _by_name(_items(cluster, f"{root}/gatewayclasses")) if known else {}
        jobs["gateway"] = lambda: _one(cluster, f"{root}/namespaces/{gateway['namespace']}/gateways/{gateway['name']}") if known else None
    if gateway["controllers"]:
        places = [(each["namespace"], each["name"]) for each in gateway["controllers"]]
        jobs["controllers"] = lambda: {f"{where}/{name}": _one(cluster, f"/apis/apps/v1/namespaces/{where}/deployments/{name}") for where, name in places}
    extensions = [each["extension"] for each in gateway["rivals"] if each["extension"]]
    if extensions:
        jobs["extensions"] = lambda: {
            each["namespace"]: _one(cluster, f"/api/v1/namespaces/{each['namespace']}")
            for each in extensions
            if _one(cluster, f"/apis/apps/v1/namespaces/{each['namespace']}/deployments/{each['name']}")
        }
    return jobs


def _objectives(cluster: Cluster, namespace: str, versions: list[str]) -> Facts:
    """{kind: names of its objects in the older group}."""
    paths = {kind: f"/apis/{OLDER_GROUP}/{version}/namespaces/{namespace}/{kind}" for version in versions[:1] for kind in OBJECTIVE_KINDS}
    return {kind: sorted(text(get_path(item, "metadata", "name")) for item in _items(cluster, path)) for kind, path in paths.items()}


def _collector(cluster: Cluster, wanted: Facts) -> Facts:
    """{namespace, service}: the objects; None for one that does not exist."""
    path = f"/api/v1/namespaces/{wanted['namespace']}"
    return {"namespace": _one(cluster, path), "service": _one(cluster, f"{path}/services/{wanted['name']}")}


def _leader_worker_set(cluster: Cluster, controller: Facts) -> Facts:
    """{namespace, controller}: the objects; None for one that does not exist."""
    name = controller["namespace"]
    return {
        "namespace": _one(cluster, f"/api/v1/namespaces/{name}"),
        "controller": _one(cluster, f"/apis/apps/v1/namespaces/{name}/deployments/{controller['name']}"),
    }


def _gpu_operator(cluster: Cluster, wanted: Facts) -> Facts:
    """{namespace: the operator's own, None if it does not exist; policies: all of them}."""
    path = cluster.path(wanted["api_version"], wanted["kind"])
    return {"namespace": _one(cluster, f"/api/v1/namespaces/{wanted['namespace']}"), "policies": _items(cluster, path) if path else []}


def _tried(job: t.Callable[[], t.Any]) -> t.Any:
    """The result of a job; _UNREAD where the account lacks the permission."""
    try:
        return job()
    except ApiError as error:
        if error.status in (401, 403):
            return _UNREAD
        raise


def _one(cluster: Cluster, path: str) -> Facts | None:
    obj = cluster.find(path)
    mapping(mapping(obj).get("metadata")).pop("managedFields", None)
    return obj


def _items(cluster: Cluster, path: str) -> list[Facts]:
    items = cluster.listed(path)
    for item in items:
        mapping(item.get("metadata")).pop("managedFields", None)
    return items


def _by_name(items: list[Facts]) -> Facts:
    return {text(get_path(item, "metadata", "name")): item for item in items}


def _crds(cluster: Cluster) -> Facts:
    """{name: {version: of its bundle, owner: the first field manager}}. Only the metadata of CRDs is fetched: their schemas are megabytes."""
    answer = cluster.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", accept=_METADATA)
    crds = {}
    for item in dicts(answer.get("items")):
        metadata = mapping(item.get("metadata"))
        annotations = mapping(metadata.get("annotations"))
        version = next((text(annotations[name]).lstrip("v") for name in _BUNDLES if annotations.get(name)), None)
        owners = [text(entry.get("manager")) for entry in dicts(metadata.get("managedFields"))]
        crds[text(metadata.get("name"))] = {"version": version, "owner": owners[0] if owners else None}
    return crds


def _named(cluster: Cluster, wanted: list[Facts]) -> Facts:
    """{name: the object, None if it does not exist}, as far as the account may read it; of Secrets and ConfigMaps only {keys}.

    keys: {key: whether its value holds more than a credential}.
    """
    objects = {}
    for name, each in {each["object"]: each for each in wanted}.items():
        obj = _tried(functools.partial(_one, cluster, _NAMED[each["kind"]].format(**{**each, "name": quote(each["name"], safe="")})))
        if obj is not _UNREAD:
            objects[name] = _keys(obj) if obj and each["kind"] in ("Secret", "ConfigMap") else obj
    return objects


def _keys(obj: Facts) -> Facts:
    data = {**mapping(obj.get("binaryData")), **mapping(obj.get("data"))}
    return {"keys": {key: _padded(text(value)) for key, value in sorted(data.items())}}


# str.strip() alone does not remove zero-width characters.
_BLANKS = " \t\r\n\v\f\xa0\u200b\u2060\ufeff"


def _padded(encoded: str) -> bool:
    """Whether a value has blanks, line ends, zero-width characters or quotes around it, has `Bearer` before it, or is base64-encoded a second time."""
    try:
        value = base64.b64decode(encoded).decode("utf-8", "replace")
    except ValueError:
        return False
    quoted = len(value) > 1 and value[0] + value[-1] in ("''", '""', "``", "\u201c\u201d", "\u2018\u2019")
    # aGZf is `hf_`, the start of a Hugging Face token, in base64.
    return value != value.strip(_BLANKS) or quoted or bool(re.match(r"(?i:bearer)[ :]|aGZf[A-Za-z0-9+/]{30,}={0,2}\Z", value))


def _user(cluster: Cluster) -> str:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        return text(get_path(cluster.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=body), "status", "userInfo", "username"))
    except ApiError:
        return ""
