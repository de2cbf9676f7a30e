# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a pod that model servers, endpoint pickers, sidecars and gateways share: labels, security contexts, environment. Pure."""

from __future__ import annotations

from ...common.labels import HOME_LABEL
from ...common.objects import Facts
from ...epp.catalog.presets import SERVING_LABEL

SERVICE_LABEL = "llm-d.ai/model-service"
# The container port that receives requests: the model server's, or the routing sidecar's where there is one.
PORT_NAME = "http"
# The readiness probe of a proxy. A Service without a ready pod refuses connections, so one late response is not enough.
PROXY_READINESS: Facts = {"periodSeconds": 5, "timeoutSeconds": 2, "failureThreshold": 3}


def labels_in(namespace: str, home: str, labels: Facts) -> Facts:
    """Labels of an object in a namespace."""
    return labels if namespace == home else {**labels, HOME_LABEL: home}


def pod_security(user: Facts) -> Facts:
    """The pod's security context for the restricted profile; no user id where the cluster assigns one (OpenShift)."""
    context: Facts = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    if user["llm_d_run_as_user"]:
        context.update(runAsUser=user["llm_d_run_as_user"], runAsGroup=user["llm_d_run_as_user"], fsGroup=user["llm_d_run_as_user"])
    return context


def container_security(read_only: bool) -> Facts:
    """A container's security context for the restricted profile."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": read_only}


def template_of(container: str, pod: Facts, metadata: Facts, placed: Facts) -> Facts:
    """The pod template of a Deployment with one container of this name. placed: additional fields of the spec."""
    main = {
        "name": container,
        "image": pod["image"],
        "imagePullPolicy": pod["image_pull_policy"],
        **({"command": pod["command"]} if pod.get("command") else {}),
        "args": pod["args"],
        "env": pod["env"],
        "ports": pod["container_ports"],
        **{f"{name}Probe": probe for name, probe in pod["probes"].items()},
        "lifecycle": {"preStop": {"sleep": {"seconds": pod["pause"]}}},
        "resources": pod["resources"],
        "securityContext": pod["container_security"],
        "volumeMounts": pod["volume_mounts"],
    }
    spec = {
        "serviceAccountName": pod["service_account"],
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": pod["termination_grace"],
        "securityContext": pod["pod_security"],
        **placed,
        # Native sidecars: started before the container, stopped after it.
        **({"initContainers": pod["init_containers"]} if pod["init_containers"] else {}),
        "containers": [main],
        "volumes": pod["volumes"],
    }
    return {"metadata": metadata, "spec": spec}


def pool_selector(service: Facts) -> Facts:
    """Labels of all servers of a service, whatever their role."""
    return {SERVING_LABEL: "true", SERVICE_LABEL: service["name"]}


def front(service: Facts) -> Facts:
    """{name, port} of the Service in front of the servers that answer requests."""
    own = service["service"]
    return {"name": own["name"] or service["name"], "port": own["port"] or service["engine"]["port"]}


def later_wins(env: list[Facts]) -> list[Facts]:
    """Each variable once, at its last position: a value may refer to variables that come before it."""
    last = {item["name"]: index for index, item in enumerate(env)}
    return [item for index, item in enumerate(env) if last[item["name"]] == index]
