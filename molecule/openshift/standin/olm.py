"""The Operator Lifecycle Manager: from a Subscription through an InstallPlan to a ClusterServiceVersion, one transition per step."""

from __future__ import annotations

import hashlib
import typing as t

from api import Api, condition
from contract import definitions_of_others as others
from shape import install

Facts = dict[str, t.Any]
ROOT = "/apis/operators.coreos.com/v1alpha1"
VERSION = "operators.coreos.com/v1alpha1"
# package: (catalogue, default channel, {channel: (operator, group of its CRDs)})
CATALOGUES: dict[str, tuple[str, str, dict[str, tuple[str, str]]]] = {
    "nfd": ("redhat-operators", "stable", {"stable": ("nfd.4.21.0-202601", "nfd.openshift.io")}),
    "gpu-operator-certified": (
        "certified-operators",
        "v26.3",
        {
            "v26.3": ("gpu-operator-certified.v26.3.1", "nvidia.com"),
            "broken": ("gpu-operator-certified.v0.0.1-broken", "nvidia.com"),  # its Deployment never comes up
        },
    ),
}


def step(api: Api) -> None:
    """Reconcile each Subscription, InstallPlan and ClusterServiceVersion once."""
    for item in api.items(f"{ROOT}/subscriptions"):
        _subscription(api, {**item, "apiVersion": VERSION, "kind": "Subscription"})
    for item in api.items(f"{ROOT}/installplans"):
        _plan(api, {**item, "apiVersion": VERSION, "kind": "InstallPlan"})
    for item in api.items(f"{ROOT}/clusterserviceversions"):
        _operator(api, {**item, "apiVersion": VERSION, "kind": "ClusterServiceVersion"})


def installed(api: Api, package: str, namespace: str) -> bool:
    """Whether an operator runs."""
    operators = api.items(f"{ROOT}/namespaces/{namespace}/clusterserviceversions", f"operators.coreos.com/{package}.{namespace}")
    return any(item.get("status", {}).get("phase") == "Succeeded" and not item["metadata"].get("deletionTimestamp") for item in operators)


def _subscription(api: Api, item: Facts) -> None:
    home, spec = item["metadata"]["namespace"], item["spec"]
    catalogue, usual, channels = CATALOGUES.get(spec["name"], ("", "", {}))
    channel = channels.get(spec.get("channel") or usual)
    groups = api.items(f"/apis/operators.coreos.com/v1/namespaces/{home}/operatorgroups")
    if len(groups) != 1:
        return  # OLM waits without a report
    if not channel or spec["source"] != catalogue:
        words = f"constraints not satisfiable: no operators found in channel {spec.get('channel')} of package {spec['name']} in the catalog {spec['source']}"
        api.status(item, {"lastUpdated": "2026-01-01T00:00:00Z", "conditions": [condition("ResolutionFailed", True, "ConstraintsNotSatisfiable", words)]})
        return
    operator, _group = channel
    name = "install-" + hashlib.sha256(f"{home} {operator}".encode()).hexdigest()[:5]
    approval = spec.get("installPlanApproval", "Automatic")
    if not api.find(f"{ROOT}/namespaces/{home}/installplans/{name}"):
        made = {"approval": approval, "approved": approval == "Automatic", "clusterServiceVersionNames": [operator], "generation": 1}
        label = {f"operators.coreos.com/{spec['name']}.{home}": ""}
        api.apply({"apiVersion": VERSION, "kind": "InstallPlan", "metadata": {"name": name, "namespace": home, "labels": label}, "spec": made}, "olm")
    phase = (api.find(f"{ROOT}/namespaces/{home}/clusterserviceversions/{operator}") or {}).get("status", {}).get("phase")
    reference = {"apiVersion": VERSION, "kind": "InstallPlan", "name": name, "namespace": home}
    status = {"lastUpdated": "2026-01-01T00:00:00Z", "currentCSV": operator, "installPlanRef": reference, "conditions": []}
    if phase == "Succeeded":
        api.status(item, {**status, "state": "AtLatestKnown", "installedCSV": operator})
    else:
        api.status(item, {**status, "state": "UpgradePending"})


def _plan(api: Api, item: Facts) -> None:
    """Install the CRDs and the operator of an approved InstallPlan; any other waits."""
    home, (operator,) = item["metadata"]["namespace"], item["spec"]["clusterServiceVersionNames"]
    common = {"catalogSources": [], "plan": []}
    if not item["spec"]["approved"]:
        api.status(item, {**common, "phase": "RequiresApproval"})
        return
    if item.get("status", {}).get("phase") == "Complete":
        return
    package, group = next((name, group) for name, (_c, _u, channels) in CATALOGUES.items() for csv, group in channels.values() if csv == operator)
    api.status(item, {**common, "phase": "Installing"})
    install(api, others.definitions(group), "olm")
    strategy = {"strategy": "deployment", "spec": {"deployments": []}}
    spec = {"displayName": package, "installModes": [{"type": "OwnNamespace", "supported": True}], "install": strategy}
    metadata = {"name": operator, "namespace": home, "labels": {f"operators.coreos.com/{package}.{home}": ""}}
    api.apply({"apiVersion": VERSION, "kind": "ClusterServiceVersion", "metadata": metadata, "spec": spec}, "olm")
    api.status(item, {**common, "phase": "Complete"})


def _operator(api: Api, item: Facts) -> None:
    """Advance a ClusterServiceVersion by one phase: pending, installing, then running or failed."""
    broken = item["metadata"]["name"].endswith("-broken")
    last = ("Failed", "InstallCheckFailed", "install timeout: deployment gpu-operator not ready before timeout: CrashLoopBackOff")
    steps = {
        "": ("Pending", "RequirementsUnknown", "requirements not yet checked"),
        "Pending": ("InstallReady", "AllRequirementsMet", "all requirements found, attempting install"),
        "InstallReady": ("Installing", "InstallSucceeded", "waiting for install components to report healthy"),
        "Installing": last if broken else ("Succeeded", "InstallSucceeded", "install strategy completed with no errors"),
    }
    after = steps.get(item.get("status", {}).get("phase", ""))
    if after:
        api.status(item, dict(zip(("phase", "reason", "message"), after, strict=False)))
