"""The definitions and objects of OpenShift 4.21, and its seal on the Gateway API."""

from __future__ import annotations

import base64
import typing as t
from pathlib import Path

import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError
from api import Api, condition
from contract import definitions_of_others as others
from live_stack import until
from namespaces import PORT

Facts = dict[str, t.Any]
VERSION = "4.21.3"
SECONDS = 60.0  # until the API server applies a change
INGRESS_OPERATOR = "system:serviceaccount:openshift-ingress-operator:ingress-operator"
RBAC = "rbac.authorization.k8s.io"
SEAL = "openshift-ingress-operator-gatewayapi-crd-admission"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS = ("config.openshift.io", "route.openshift.io", "operators.coreos.com", "networking.istio.io")


def shape(api: Api, folder: Path) -> None:
    """Create all objects that exist before the stand-ins run."""
    for group in GROUPS:
        install(api, others.definitions(group))
    for name in ("openshift-ingress-operator", "openshift-ingress", "openshift-monitoring", "openshift-marketplace", "openshift-apiserver"):
        api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for item in _objects() + _project_api(folder):
        api.apply(item)
    install(api.speaking_as(INGRESS_OPERATOR), _gateway_api(), "ingress-operator")
    for item in _reports():
        api.status(api.call("GET", api.path(item)), item["status"])


def seal(api: Api, folder: Path) -> None:
    """Apply OpenShift's prohibitions; returns once they are enforced."""
    for item in _seal() + _admission(folder):
        api.apply(item)
    until(lambda: _refused(api), SECONDS, "the Gateway API is sealed")
    until(lambda: _served(api), SECONDS, "projects are served")
    default = f"{CRDS}/gateways.gateway.networking.k8s.io"
    note = {"sealed": api.call("GET", default)["metadata"]["resourceVersion"], "denials": str(denials(api))}
    api.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sealed", "namespace": "openshift-ingress-operator"}, "data": note})


def denials(api: Api) -> int:
    """The number of denied writes of the Gateway API, by the API server's count."""
    text = api.cluster.read_text("/metrics")
    lines = [line for line in text.splitlines() if line.startswith("apiserver_validating_admission_policy_check_total{") and f'policy="{SEAL}"' in line]
    return sum(int(float(line.rpartition(" ")[2])) for line in lines if 'enforcement_action="deny"' in line)


def install(api: Api, definitions: t.Iterable[Facts], manager: str = "openshift") -> None:
    """Apply CRDs and wait until they are established."""
    names = []
    for item in definitions:
        body = {key: value for key, value in item.items() if key != "status"}
        api.call("PATCH", f"{CRDS}/{item['metadata']['name']}", body, "application/apply-patch+yaml", fieldManager=manager, force="true")
        names.append(item["metadata"]["name"])
    for name in names:
        until(lambda name=name: _established(api, name), SECONDS, f"{name} is established")


def _established(api: Api, name: str) -> bool:
    conditions = api.call("GET", f"{CRDS}/{name}").get("status", {}).get("conditions") or []
    return any(entry["type"] == "Established" and entry["status"] == "True" for entry in conditions)


def _refused(api: Api) -> bool:
    try:
        api.call("DELETE", f"{CRDS}/referencegrants.gateway.networking.k8s.io", dryRun="All")
    except ApiError as error:
        return error.status == 403
    return False


def _served(api: Api) -> bool:
    conditions = (api.find("/apis/apiregistration.k8s.io/v1/apiservices/v1.project.openshift.io") or {}).get("status", {}).get("conditions", [])
    return any(entry["type"] == "Available" and entry["status"] == "True" for entry in conditions)


def _gateway_api() -> list[Facts]:
    """The five CRDs of the ingress operator of 4.21. The Go module is newer, so the annotation is set to the version of 4.21."""
    wanted = ("gatewayclasses", "gateways", "grpcroutes", "httproutes", "referencegrants")
    definitions = [item for item in others.definitions("gateway.networking.k8s.io") if item["spec"]["names"]["plural"] in wanted]
    for item in definitions:
        item["metadata"]["annotations"] = {**item["metadata"].get("annotations", {}), "gateway.networking.k8s.io/bundle-version": "v1.3.0"}
    return definitions


def _objects() -> list[Facts]:
    def made(version: str, kind: str, name: str, namespace: str | None = None, **fields: t.Any) -> Facts:
        return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **({"namespace": namespace} if namespace else {})}, **fields}

    config, rbac = "config.openshift.io/v1", f"{RBAC}/v1"
    groups = ["gateway.networking.k8s.io", "inference.networking.k8s.io", "inference.networking.x-k8s.io", "networking.istio.io", "route.openshift.io"]
    admin = {"name": "openshift-aggregate-to-admin", "labels": {f"{RBAC}/aggregate-to-admin": "true"}}
    classes = {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses"], "verbs": ["get", "list"]}
    projects = {"apiGroups": ["project.openshift.io"], "resources": ["projectrequests"], "verbs": ["create"]}
    read = {"apiGroups": ["project.openshift.io"], "resources": ["projects"], "verbs": ["get", "list"]}
    everybody = [{"kind": "Group", "name": "system:authenticated", "apiGroup": RBAC}]
    return [
        made(config, "ClusterVersion", "version", spec={"clusterID": "0f4a7c4e-9a0e-4c0e-8a55-5d6f1b0e2a31", "channel": "stable-4.21"}),
        made(config, "ClusterOperator", "ingress", spec={}),
        made(config, "Infrastructure", "cluster", spec={"platformSpec": {"type": "None"}}),
        made("v1", "ConfigMap", "cluster-monitoring-config", "openshift-monitoring", data={"config.yaml": yaml.safe_dump({"enableUserWorkload": True})}),
        made("v1", "ServiceAccount", "ingress-operator", "openshift-ingress-operator"),
        made(
            rbac,
            "ClusterRoleBinding",
            "openshift-ingress-operator",
            subjects=[{"kind": "User", "name": INGRESS_OPERATOR, "apiGroup": RBAC}],
            roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
        ),
        {"apiVersion": rbac, "kind": "ClusterRole", "metadata": admin, "rules": [{"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}]},
        made(rbac, "ClusterRole", "self-provisioner", rules=[projects, read, classes]),
        made(
            rbac,
            "ClusterRoleBinding",
            "self-provisioners",
            subjects=everybody,
            roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": "self-provisioner"},
        ),
        made("v1", "ServiceAccount", "developer", "openshift-marketplace"),  # an account without permissions, since OAuth is missing
    ]


def _reports() -> list[Facts]:
    """The objects with the status that the cluster's operators write."""
    config = "config.openshift.io/v1"
    desired = {"version": VERSION, "image": f"openshift-release-dev/ocp-release:{VERSION}-x86_64"}
    well = [condition("Available", True, "AsExpected"), condition("Progressing", False, "AsExpected"), condition("Degraded", False, "AsExpected")]
    return [
        {
            "apiVersion": config,
            "kind": "ClusterVersion",
            "metadata": {"name": "version"},
            "status": {"desired": desired, "observedGeneration": 1, "versionHash": "shape", "availableUpdates": []},
        },
        {
            "apiVersion": config,
            "kind": "ClusterOperator",
            "metadata": {"name": "ingress"},
            "status": {"conditions": well, "versions": [{"name": "operator", "version": VERSION}]},
        },
        {"apiVersion": config, "kind": "Infrastructure", "metadata": {"name": "cluster"}, "status": {"platform": "None", "infrastructureName": "shape"}},
    ]


def _authority(folder: Path) -> str:
    return base64.b64encode((folder / "ca.crt").read_bytes()).decode()


def _project_api(folder: Path) -> list[Facts]:
    """Objects that delegate projects to another server, as on OpenShift."""
    service = {"name": "standin", "namespace": "openshift-apiserver"}
    spec = {"group": "project.openshift.io", "version": "v1", "groupPriorityMinimum": 9900, "versionPriority": 15, "caBundle": _authority(folder)}
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": service, "spec": {"type": "ExternalName", "externalName": "localhost"}},
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1.project.openshift.io"},
            "spec": {**spec, "service": {**service, "port": PORT}},
        },
    ]


def _seal() -> list[Facts]:
    """The equivalent of the ingress operator's admission policy."""
    version = "admissionregistration.k8s.io/v1"
    crds = {"apiGroups": ["apiextensions.k8s.io"], "apiVersions": ["v1"], "resources": ["customresourcedefinitions"]}
    group = "(request.operation == 'DELETE' ? oldObject : object).spec.group == 'gateway.networking.k8s.io'"
    message = "Gateway API Custom Resource Definitions are managed by the Ingress Operator and may not be modified"
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{**crds, "operations": ["CREATE", "UPDATE", "DELETE"]}]},
        "matchConditions": [{"name": "check-only-gateway-api-crds", "expression": group}],
        "validations": [{"expression": f"request.userInfo.username == '{INGRESS_OPERATOR}'", "message": message, "reason": "Forbidden"}],
    }
    return [
        {"apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": SEAL}, "spec": spec},
        {
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": SEAL},
            "spec": {"policyName": SEAL, "validationActions": ["Deny"]},
        },
    ]


def _admission(folder: Path) -> list[Facts]:
    """The webhook that admits pods by the range of user ids of their namespace."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    own = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["default", "kube-system", "nvidia-gpu-operator", "openshift-nfd"]}
    webhook = {
        "name": "restricted-v2.scc.openshift.io",
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "clientConfig": {"url": f"https://127.0.0.1:{PORT}/admit", "caBundle": _authority(folder)},
        "namespaceSelector": {"matchExpressions": [own]},
    }
    return [{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": "scc"}, "webhooks": [webhook]}]
