# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of an instance in the cluster, which a run uses to prune objects that the user's file no longer requests. Pure."""

from __future__ import annotations

import typing as t

from ...common.labels import RESTORES, has_labels, is_ours
from ...common.objects import Facts
from ...k8s.applyset import MEMBER, identifier, identity, reference, rooms
from ...releases.gateways import GATEWAY_PROVIDERS, POOL_GROUPS, variants
from ...releases.lines import LEADER_WORKER_SET
from ..engines import aliases
from ..engines.weights import model_uri
from ..gateways.endpoint_picker import events_service
from ..gateways.gateway import GROUP
from ..observability import alerts, dashboards, monitoring
from ..observability.autoscaling import KINDS as AUTOSCALERS
from ..parts.charts import chart_namespace, hook_objects
from ..parts.names import scheduler_namespace
from ..parts.pod_spec import SERVICE_LABEL, labels_in
from ..servers.cache_server import NETWORK_POLICY
from ..servers.device_claims import API_VERSION as CLAIMS
from ..servers.device_claims import KIND as CLAIM
from ..servers.warmup_job import API_VERSION as BATCH
from ..servers.warmup_job import KIND as CRON_JOB
from ..servers.warmup_job import SUFFIX as WARMUP
from .secrets import pull_name

VARIABLE = "llm_d_prune"
SUFFIX = "-record"  # of the name of the record
RESTORE_SUFFIX = "-compare"  # of the name of the ConfigMap of restore_point()
# All kinds of members with any configuration, in the order of creation. Members are deleted in reverse order: first objects that send requests to the servers
# or change their number, last objects that pods refer to. Secrets are recorded by their names, so that no account has to list them.
_SECRET, _CLASS = ("v1", "Secret"), (f"{GROUP}/v1", "GatewayClass")
_KINDS: tuple[tuple[str, str], ...] = tuple(
    dict.fromkeys(
        [
            ("v1", "PersistentVolumeClaim"),
            (CLAIMS, CLAIM),
            ("v1", "ServiceAccount"),
            ("rbac.authorization.k8s.io/v1", "Role"),
            ("rbac.authorization.k8s.io/v1", "RoleBinding"),
            ("v1", "ConfigMap"),
            ("v1", "Service"),
            NETWORK_POLICY,
            (BATCH, CRON_JOB),
            ("apps/v1", "Deployment"),
            (LEADER_WORKER_SET["api_version"], LEADER_WORKER_SET["kind"]),
            *(kind for facts in GATEWAY_PROVIDERS.values() for kind in facts["parameters"]),
            (f"{GROUP}/v1", "Gateway"),
            (f"{GROUP}/v1beta1", "ReferenceGrant"),
            ("route.openshift.io/v1", "Route"),
            *((f"{group}/{version}", "InferencePool") for version, group in POOL_GROUPS.items()),
            *((version, aliases.KIND) for version in aliases.API_VERSIONS),
            *(kind for facts in GATEWAY_PROVIDERS.values() for kind in facts["policies"]),
            (monitoring.API_VERSION, monitoring.KIND),
            (alerts.API_VERSION, alerts.KIND),
            dashboards.PERSES,
            *((kind["api_version"], kind["kind"]) for kind in AUTOSCALERS.values()),
            (f"{GROUP}/v1", "HTTPRoute"),
        ]
    )
)


def record(planned: Facts, user: Facts, groups: Facts | None, charts: t.Sequence[Facts]) -> Facts:
    """The record and its rules, as the module cluster_record takes them. With scope prerequisites it has a name and objects of its own.

    groups: the planned LeaderWorkerSet controller. The result has, among others, secrets: Secrets that the file no longer requests; services: names of those
    whose objects may be pruned, None for all; alone: whether objects of no service stay; home: the namespace whose objects are ours, empty if they are of
    another file; claims: whether claims that the file does not create are pruned, except those `mounted`; given_up: claims that are removed with the
    instance; operator: of GPUs, which its own role removes.
    """
    gateway, gpus = planned["gateway"], planned["gpus"]
    scope, home = user["llm_d_scope"], user["llm_d_namespace"]
    name = f"{user['llm_d_instance']}{'-prerequisites' if scope == 'prerequisites' else ''}{SUFFIX}"
    controllers = [] if scope == "namespace" else _controllers()
    apart = rooms({"controllers": controllers})
    kinds = [*([] if scope == "namespace" else [_CLASS]), _SECRET, *([] if scope == "prerequisites" else _KINDS)]
    return {
        "name": name,
        "namespace": home,
        "id": identifier(name, home),
        "labels": planned["labels"],
        "home": "" if scope == "prerequisites" else home,
        "kinds": [list(kind) for kind in kinds],
        # Namespaces of earlier runs are in the record.
        "namespaces": list(dict.fromkeys((home, gateway["routes_namespace"], gateway["namespace"], scheduler_namespace(user)))),
        # Namespaces that we create, which may have no members.
        "made": [] if scope == "prerequisites" else [each["name"] for each in planned["prerequisites"]["namespaces"] if each["name"] not in apart],
        "secrets": [[item["metadata"]["namespace"], item["metadata"]["name"]] for item in planned["secrets"]["prune"]],
        "service_label": SERVICE_LABEL,
        "services": None if user[VARIABLE]["services"] else [service["name"] for service in user["llm_d_model_services"]],
        "claims": user[VARIABLE]["claims"],
        "mounted": sorted({uri.claim for service in user["llm_d_model_services"] if (uri := model_uri(service["model"])).claim}),
        "given_up": _given_up(planned["services"]),
        "operator": {
            "name": gpus["operator"],
            "namespaces": [each["name"] for each in gpus["namespaces"]] if gpus["active"] and gpus["install"] else [],
            "pools": [pool["name"] for pool in gpus["pools"]],
        },
        "releases": [[chart["namespace"], chart["release_name"]] for chart in charts],
        # The image pull Secret, also in the namespaces of controllers.
        "pull_secret": pull_name(user),
        # Namespaces of controllers, also of those that others install.
        "needed": [*(each["namespace"] for each in gateway["controllers"]), *([LEADER_WORKER_SET["namespace"]] if groups else [])],
        "crds": [bundle["name"] for bundle in planned["prerequisites"]["crds"] if bundle["sources"]],
        "controllers": controllers,
        "alone": False,
    }


def _controllers() -> list[Facts]:
    """The controllers that we can install, one element for each Helm release, in the order of installation.

    {release_name, namespace, hook_objects; name: the controllerName of its classes, or its API group; class_name: of our Gateway; classes: {class that it
    creates itself: its controllerName}; mesh: labels, each of which marks a namespace whose pods it serves; mesh_pods: label selectors of pods that it
    serves; kinds: those that it serves}.
    """
    served = [{key: LEADER_WORKER_SET[key] for key in ("api_version", "kind")}]
    groups = {"name": LEADER_WORKER_SET["group"], "class_name": None, "classes": {}, "mesh": {}, "mesh_pods": [], "kinds": served, "hook_objects": []}
    controllers = [{**groups, "release_name": LEADER_WORKER_SET["release_name"], "namespace": LEADER_WORKER_SET["namespace"]}]
    for row in [row for facts in GATEWAY_PROVIDERS.values() for row in variants(facts)]:
        serves = {"name": row["controller_name"], "class_name": row["class_name"], "classes": row["default_classes"], "kinds": []}
        serves |= {key: row[key] for key in ("mesh", "mesh_pods")}
        for chart in row["charts"]:
            place = chart_namespace(row, chart)
            controllers.append({**serves, "release_name": chart["release_name"], "namespace": place, "hook_objects": hook_objects(chart, place)})
    return list({(row["namespace"], row["release_name"]): row for row in controllers}.values())


def _given_up(services: t.Iterable[Facts]) -> list[str]:
    """Names of the claims that are deleted with their servers."""
    owners = [each for service in services for each in (service, service["cache_server"]) if each]
    return [each["claim"]["name"] for each in owners if each["claim"] and each["claim"]["delete"]]


def marked(item: Facts, record: Facts) -> Facts:
    """The metadata of a definition or of its head, with the label of members if it is a member."""
    metadata: Facts = item["metadata"]
    if item["kind"] == "Secret" and metadata["namespace"] in rooms(record):
        return metadata  # in several records
    if [item["apiVersion"], item["kind"]] not in record["kinds"] or not is_ours(item, record["labels"], record["home"]):
        return metadata
    return {**metadata, "labels": {**metadata["labels"], MEMBER: record["id"]}}


def restore_point(service: str, namespace: str, labels: dict[str, str]) -> Facts:
    """The ConfigMap in which a comparison of a service stores the state to restore, without its data. It is in the cluster, so that no other cluster, instance
    or service can be restored from it, and a run of site.yml deletes it. labels: of the instance, so that a run for this service alone does not delete it."""
    metadata = {"name": f"{service}{RESTORE_SUFFIX}", "namespace": namespace, "labels": {**labels, RESTORES: service}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def scheduler_objects(service: Facts, user: Facts, picker: str) -> list[Facts]:
    """References to all objects that another scheduler configuration of the service may change, create or prune. picker: the name of the endpoint picker."""
    name = service["name"]
    kinds = [("v1", "ConfigMap", picker), ("v1", "Service", picker), ("v1", "Service", events_service(service))]
    kinds += [("v1", "Service", f"{name}-prefill"), *(("apps/v1", "Deployment", each) for each in (picker, f"{name}-decode", f"{name}-prefill"))]
    kinds += monitoring.switched(name, user[monitoring.VARIABLE])
    kinds += [("v1", "ConfigMap", f"{name}{WARMUP}")] if (service["warmup"] or {}).get("schedule") else []  # it names the servers
    places = dict.fromkeys((picker, events_service(service)), scheduler_namespace(user))
    home = user["llm_d_namespace"]
    heads = [(version, kind, {"name": each, "namespace": places.get(each) or home}) for version, kind, each in kinds]
    marks = {place: labels_in(place, home, {}) for place in (home, scheduler_namespace(user))}
    return [
        {"apiVersion": version, "kind": kind, "metadata": {**head, **({"labels": marks[head["namespace"]]} if marks[head["namespace"]] else {})}}
        for version, kind, head in heads
    ]


def owned(definitions: t.Iterable[Facts], labels: dict[str, str]) -> list[Facts]:
    """References to the namespaced definitions that have the labels of an instance."""
    return [reference(item) for item in definitions if item["metadata"].get("namespace") and has_labels(item, labels)]


def wanted(definitions: t.Iterable[Facts]) -> list[list[str]]:
    """[group, kind, namespace, name] of each member, since large plans are not passed to a module as a whole. A Secret in the namespace of a controller is a
    member of several records, and has the label of none."""
    return [list(identity(item)) for item in definitions if item["kind"] == "Secret" or MEMBER in (item["metadata"].get("labels") or {})]


def with_services(plan: Facts, *names: str) -> Facts:
    """The plan with only these services: the others are neither applied nor pruned."""
    services = [service for service in plan["services"] if service["name"] in names]
    return {
        **plan,
        "services": services,
        "adapters": [entry for entry in plan["adapters"] if entry["name"] in names],
        "restore_points": [],  # a comparison of another service may be running
        "warmups": [warmup for warmup in plan["warmups"] if warmup["name"] in names],
        "record": {**plan["record"], "services": list(names), "alone": True, "given_up": _given_up(services)},
    }
