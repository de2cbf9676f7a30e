# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of an instance in the cluster, by which what the user's file no longer asks for is found and pruned. Pure."""

from __future__ import annotations

import typing as t

from ..common.labels import RESTORES, has_labels, is_ours
from ..common.objects import Facts
from ..k8s.applyset import MEMBER, identifier, identity, reference
from ..releases.gateways import GATEWAY_PROVIDERS, POOL_GROUPS
from ..releases.lines import LEADER_WORKER_SET
from . import alerts, aliases, dashboards, monitoring
from .autoscaling import KINDS as AUTOSCALERS
from .cache_server import NETWORK_POLICY
from .gateway import GROUP
from .names import scheduler_namespace
from .pod_spec import SERVICE_LABEL
from .warmup_job import API_VERSION as BATCH
from .warmup_job import KIND as CRON_JOB

VARIABLE = "llm_d_prune"
SUFFIX = "-record"  # of the name of the record
RESTORE_SUFFIX = "-compare"  # of the name of that ConfigMap
# Every kind that a member may have with any configuration, in the order of creation. They are deleted in reverse order: what sends requests to the servers or
# changes their number goes first, what pods refer to last. Secrets are recorded by their names: no account has to list them.
_KINDS: tuple[tuple[str, str], ...] = tuple(
    dict.fromkeys(
        [
            ("v1", "PersistentVolumeClaim"),
            ("v1", "ServiceAccount"),
            ("rbac.authorization.k8s.io/v1", "Role"),
            ("rbac.authorization.k8s.io/v1", "RoleBinding"),
            ("v1", "Secret"),
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


def record(user: Facts, gateway: Facts, labels: Facts, secrets: t.Sequence[Facts]) -> Facts | None:
    """The record and its rules, as the module cluster_record takes them; None with scope prerequisites, since the objects are another file's.

    secrets: those that older versions made, and that the file does not ask for. services: names of those whose objects may go, None for all; alone: whether
    what belongs to no service stays.
    """
    if user["llm_d_scope"] == "prerequisites":
        return None
    home, name = user["llm_d_namespace"], f"{user['llm_d_instance']}{SUFFIX}"
    return {
        "name": name,
        "namespace": home,
        "id": identifier(name, home),
        "labels": labels,
        "home": home,
        "kinds": [list(kind) for kind in _KINDS],
        # Those of before are in the record.
        "namespaces": list(dict.fromkeys((home, gateway["routes_namespace"], gateway["namespace"], scheduler_namespace(user)))),
        "secrets": [[item["metadata"]["namespace"], item["metadata"]["name"]] for item in secrets],
        "service_label": SERVICE_LABEL,
        "services": None if user[VARIABLE]["services"] else [service["name"] for service in user["llm_d_model_services"]],
        "claims": user[VARIABLE]["claims"],
        "alone": False,
    }


def marked(item: Facts, record: Facts | None) -> Facts:
    """The metadata of a definition or of its head, with the label of members where it is one."""
    metadata: Facts = item["metadata"]
    if not record or [item["apiVersion"], item["kind"]] not in record["kinds"] or not is_ours(item, record["labels"], record["home"]):
        return metadata
    return {**metadata, "labels": {**metadata["labels"], MEMBER: record["id"]}}


def restore_point(service: str, namespace: str, labels: dict[str, str]) -> Facts:
    """The ConfigMap in which a comparison of a service keeps what it has to restore, without its data. It is in the cluster: no other cluster, instance or
    service can be restored from it, and a run of site.yml deletes it. labels: of the instance, so that a run for this service alone does not."""
    metadata = {"name": f"{service}{RESTORE_SUFFIX}", "namespace": namespace, "labels": {**labels, RESTORES: service}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def owned(definitions: t.Iterable[Facts], labels: dict[str, str]) -> list[Facts]:
    """References to the namespaced definitions that bear the labels of an instance."""
    return [reference(item) for item in definitions if item["metadata"].get("namespace") and has_labels(item, labels)]


def wanted(definitions: t.Iterable[Facts]) -> list[list[str]]:
    """[group, kind, namespace, name] of each member: in large plans, no more than that is handed to a module."""
    return [list(identity(item)) for item in definitions if MEMBER in (item["metadata"].get("labels") or {})]


def with_services(plan: Facts, *names: str) -> Facts:
    """The plan of some of its services alone: the others are neither applied nor pruned."""
    return {
        **plan,
        "services": [service for service in plan["services"] if service["name"] in names],
        "adapters": [entry for entry in plan["adapters"] if entry["name"] in names],
        "restore_points": [],  # a comparison of one of them goes on
        "warmups": [warmup for warmup in plan["warmups"] if warmup["name"] in names],
        "record": plan["record"] and {**plan["record"], "services": list(names), "alone": True},
    }
