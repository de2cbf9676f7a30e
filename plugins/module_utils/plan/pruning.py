# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to prune of model services: objects with our labels that the user's file no longer asks for. Pure."""

from __future__ import annotations

import typing as t

from ..common.labels import HOME_LABEL, RESTORES, has_labels
from ..common.objects import Facts
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
RESTORE_SUFFIX = "-compare"  # of the name of that ConfigMap
_NAMES = ("name", "namespace")
_CLAIMS = ("v1", "PersistentVolumeClaim")
# Every kind that a model service may have with any configuration, in the order of creation. They are deleted in reverse order: what sends requests to the
# servers or changes their number goes first, what pods refer to last. Never Namespaces, and of Secrets only that of a CronJob, by its name: no account has
# to list Secrets.
_KINDS: tuple[tuple[str, str], ...] = (
    _CLAIMS,
    ("v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("v1", "ConfigMap"),
    ("v1", "Service"),
    NETWORK_POLICY,
    (BATCH, CRON_JOB),
    ("apps/v1", "Deployment"),
    (LEADER_WORKER_SET["api_version"], LEADER_WORKER_SET["kind"]),
    *((f"{group}/{version}", "InferencePool") for version, group in POOL_GROUPS.items()),
    *((version, aliases.KIND) for version in aliases.API_VERSIONS),
    *dict.fromkeys(kind for facts in GATEWAY_PROVIDERS.values() for kind in facts["policies"]),
    (monitoring.API_VERSION, monitoring.KIND),
    (alerts.API_VERSION, alerts.KIND),
    dashboards.PERSES,
    *((kind["api_version"], kind["kind"]) for kind in AUTOSCALERS.values()),
    (f"{GROUP}/v1", "HTTPRoute"),
)
_ORDER = {kind: number for number, (_version, kind) in enumerate(_KINDS)}


def searched(user: Facts, gateway: Facts, labels: dict[str, str]) -> list[Facts]:
    """Where objects of model services may be, also of those that the file no longer has: {api_version, kind, namespace, label_selector} for each kind.

    Empty with scope prerequisites, since the services are somebody else's.
    """
    names = [service["name"] for service in user["llm_d_model_services"]]
    of = SERVICE_LABEL if user[VARIABLE]["services"] else f"{SERVICE_LABEL} in ({','.join(names)})"
    if user["llm_d_scope"] == "prerequisites" or not (names or user[VARIABLE]["services"]):
        return []
    ours, home = ",".join(f"{name}={value}" for name, value in labels.items()), user["llm_d_namespace"]
    # Elsewhere, and elsewhere's objects here, may be those of another file with this instance.
    places = {**dict.fromkeys((gateway["routes_namespace"], gateway["namespace"], scheduler_namespace(user)), f"{HOME_LABEL}={home}"), home: f"!{HOME_LABEL}"}
    kinds = [kind for kind in _KINDS if kind != _CLAIMS or user[VARIABLE]["claims"]]
    # What the file says is applied: there is nothing left that an interrupted comparison has to restore. A service that stays as it is has that left.
    restored = RESTORES if user[VARIABLE]["services"] else f"{RESTORES} in ({','.join(names)})"
    ended = {"api_version": "v1", "kind": "ConfigMap", "namespace": home, "label_selector": f"{ours},{restored}"}
    return [
        *(
            {"api_version": version, "kind": kind, "namespace": place, "label_selector": f"{ours},{whose},{of}"}
            for place, whose in places.items()
            for version, kind in kinds
        ),
        ended,
    ]


def restore_point(service: str, namespace: str, labels: dict[str, str]) -> Facts:
    """The ConfigMap in which a comparison of a service keeps what it has to restore, without its data. It is in the cluster: no other cluster, instance or
    service can be restored from it, and a run of site.yml deletes it. labels: of the instance, so that a run for this service alone does not."""
    metadata = {"name": f"{service}{RESTORE_SUFFIX}", "namespace": namespace, "labels": {**labels, RESTORES: service}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def references(definitions: t.Iterable[Facts]) -> list[Facts]:
    """{apiVersion, kind, metadata: {name, namespace}} of each, in order; with the label of its home where it has one."""
    return [
        {
            "apiVersion": item["apiVersion"],
            "kind": item["kind"],
            "metadata": {**{key: item["metadata"][key] for key in _NAMES if key in item["metadata"]}, **_home(item)},
        }
        for item in definitions
    ]


def _home(item: Facts) -> Facts:
    labels = item["metadata"].get("labels") or {}
    return {"labels": {HOME_LABEL: labels[HOME_LABEL]}} if HOME_LABEL in labels else {}


def owned(definitions: t.Iterable[Facts], labels: dict[str, str]) -> list[Facts]:
    """References to the namespaced definitions that bear the labels of an instance."""
    return references(item for item in definitions if item["metadata"].get("namespace") and has_labels(item, labels))


def surplus(found: t.Iterable[Facts], wanted: t.Iterable[Facts]) -> list[Facts]:
    """References to the objects found that are not wanted, in the order of creation. What another object owns is not: it goes with its owner.

    found: {apiVersion, kind, metadata} as cluster_access returns them; wanted: every definition of the plan, or a reference to it.
    """
    kept = {_identity(item) for item in wanted}
    gone = [item for item in found if not item["metadata"].get("ownerReferences") and _identity(item) not in kept]
    # Deleted before its CronJob, by which a later run would find it.
    secrets = [{**item, "apiVersion": "v1", "kind": "Secret"} for item in gone if item["kind"] == CRON_JOB]
    return references([*sorted(gone, key=lambda item: _ORDER[item["kind"]]), *secrets])


def with_services(plan: Facts, *names: str) -> Facts:
    """The plan of some of its services alone: the others are neither applied nor pruned."""
    of = f"{SERVICE_LABEL} in ({','.join(names)})"
    return {
        **plan,
        "services": [service for service in plan["services"] if service["name"] in names],
        "adapters": [entry for entry in plan["adapters"] if entry["name"] in names],
        "restore_points": [],  # a comparison of one of them goes on
        "warmups": [warmup for warmup in plan["warmups"] if warmup["name"] in names],
        "surplus": [
            {**kind, "label_selector": f"{kind['label_selector'].partition(SERVICE_LABEL)[0]}{of}"}
            for kind in plan["surplus"]
            if SERVICE_LABEL in kind["label_selector"]
        ],
    }


def _identity(item: Facts) -> tuple[str, str, str, str]:
    """An object is the same in each version of its group."""
    return item["apiVersion"].rpartition("/")[0], item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]
