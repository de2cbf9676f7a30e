"""The GPU operator, Node Feature Discovery, GPU nodes and their kubelets.

The nodes exist in the API server only: their leases are renewed, their pods are reported as running, and the results of the operator are computed from its
configurations, as the device plugin and the MIG manager do.
"""

from __future__ import annotations

import http.server
import json
import threading
import time
import typing as t

import olm
from api import Api, condition

Facts = dict[str, t.Any]
HOME = "nvidia-gpu-operator"
NFD = "feature.node.kubernetes.io/pci-10de.present"
GPU = "nvidia.com/gpu"
BRIDGE = "10.215.0.1"  # the node's own address, which the API server's proxy reaches
PORTS = 19400
BROKEN = "standin/driver-broken"  # the label of a node whose driver does not build
FAILING = "standin/cuda-fails"  # the label of a node on which CUDA programs fail
# name: (product, number of GPUs, GiB of each, {profile: memory slices}; empty where the GPU has no MIG)
NODES: dict[str, tuple[str, int, int, dict[str, int]]] = {
    "gpu-a100": ("NVIDIA-A100-SXM4-80GB", 8, 80, {"1g.10gb": 1, "1g.20gb": 2, "2g.20gb": 2, "3g.40gb": 4, "4g.40gb": 4, "7g.80gb": 8}),
    "gpu-h100": ("NVIDIA-H100-80GB-HBM3", 8, 80, {"1g.10gb": 1, "1g.20gb": 2, "2g.20gb": 2, "3g.40gb": 4, "4g.40gb": 4, "7g.80gb": 8}),
    "gpu-l40s": ("NVIDIA-L40S", 4, 48, {}),
}
COMMON = {"cpu": "64", "memory": "512Gi", "pods": "110", "ephemeral-storage": "500Gi"}


def step(api: Api) -> None:
    """Reconcile once: renew nodes, run their pods, advance the operators."""
    nodes = {name: _node(api, name) for name in NODES}
    for name in NODES:
        _kubelet(api, name)
    _discovery(api, nodes)
    policies = api.items("/apis/nvidia.com/v1/clusterpolicies")
    policy = next((item for item in policies if not item["metadata"].get("deletionTimestamp")), None)
    if policy and olm.installed(api, "gpu-operator-certified", HOME):
        _policy(api, {**policy, "apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy"}, nodes)
    elif not policy:
        for name, node in nodes.items():
            _bare(api, name, node)


# the node itself


def _node(api: Api, name: str) -> Facts:
    """A node, created where it is missing, with a renewed lease."""
    node = api.find(f"/api/v1/nodes/{name}")
    if not node:
        taint = {"key": GPU, "value": "present", "effect": "NoSchedule"}
        labels = {"kubernetes.io/hostname": name, "pool": name.partition("-")[2], "kubernetes.io/os": "linux"}
        api.call("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {"taints": [taint]}})
        node = api.call("GET", f"/api/v1/nodes/{name}")
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now, "lastTransitionTime": now}
        address = [{"type": "InternalIP", "address": BRIDGE}]
        api.merge(f"/api/v1/nodes/{name}/status", {"status": {"capacity": COMMON, "allocatable": COMMON, "conditions": [ready], "addresses": address}})
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": "kube-node-lease"}}
    api.apply({**lease, "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now}}, "kubelet")
    return node


def _kubelet(api: Api, name: str) -> None:
    """Run the pods of the node, complete those that are not restarted, and remove deleted ones."""
    query = {"fieldSelector": f"spec.nodeName={name}"}
    for pod in (api.cluster.find("/api/v1/pods", query) or {}).get("items") or []:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        if pod["metadata"].get("deletionTimestamp"):
            api.delete(path, gracePeriodSeconds=0)
        elif pod.get("status", {}).get("phase") == "Pending":
            status = {"phase": "Running", "podIP": BRIDGE, "podIPs": [{"ip": BRIDGE}], "conditions": [{"type": "Ready", "status": "True"}]}
            api.merge(f"{path}/status", {"status": status})
        elif pod["status"]["phase"] == "Running" and pod["spec"].get("restartPolicy") == "Never":
            failing = FAILING in (api.find(f"/api/v1/nodes/{name}") or {}).get("metadata", {}).get("labels", {})
            reason, message = ("Error", "no CUDA-capable device is detected") if failing else ("Completed", "")
            ended = {"exitCode": int(failing), "reason": reason, "message": message}
            container = {"name": pod["spec"]["containers"][0]["name"], "image": "", "imageID": "", "ready": False, "restartCount": 0}
            status = {"phase": "Failed" if failing else "Succeeded", "containerStatuses": [{**container, "state": {"terminated": ended}}]}
            api.merge(f"{path}/status", {"status": {**status, "conditions": [{"type": "Ready", "status": "False"}]}})


def _labels(api: Api, node: Facts, labels: Facts) -> bool:
    """Set node labels (None removes one); return whether any changed."""
    current = node["metadata"].get("labels", {})
    change = {key: value for key, value in labels.items() if current.get(key) != value}
    if change:
        api.merge(f"/api/v1/nodes/{node['metadata']['name']}", {"metadata": {"labels": change}})
    return bool(change)


def _resources(api: Api, node: Facts, resources: Facts) -> None:
    """Write the resources that the device plugin reports to the kubelet."""
    current = {key for key in node.get("status", {}).get("allocatable", {}) if key.startswith("nvidia.com/")}
    wanted = {**dict.fromkeys(current), **{key: str(value) for key, value in resources.items()}}
    if any(node["status"]["allocatable"].get(key) != value for key, value in wanted.items()):
        api.merge(f"/api/v1/nodes/{node['metadata']['name']}/status", {"status": {"capacity": wanted, "allocatable": wanted}})


# the operators


def _discovery(api: Api, nodes: dict[str, Facts]) -> None:
    wanted = [item for item in api.items("/apis/nfd.openshift.io/v1/nodefeaturediscoveries") if not item["metadata"].get("deletionTimestamp")]
    if not olm.installed(api, "nfd", "openshift-nfd"):
        return
    for node in nodes.values():
        _labels(api, node, {NFD: "true" if wanted else None})
    for item in wanted:
        api.status({**item, "apiVersion": "nfd.openshift.io/v1", "kind": "NodeFeatureDiscovery"}, {"conditions": [condition("Available", True, "Available")]})


def _bare(api: Api, name: str, node: Facts) -> None:
    """Remove the operator's resources, labels and pod from a node without a policy; foreign labels stay."""
    _resources(api, node, {})
    own = ("nvidia.com/gpu.", "nvidia.com/mig.capable", "nvidia.com/mig.strategy", "nvidia.com/mig.config.state")
    _labels(api, node, {key: None for key in node["metadata"].get("labels", {}) if key.startswith(own)})
    api.delete(f"/api/v1/namespaces/{HOME}/pods/nvidia-dcgm-exporter-{name}")


def _policy(api: Api, policy: Facts, nodes: dict[str, Facts]) -> None:
    """Write the status of the policy, ready only when each GPU node matches it, with the messages of the real operator."""
    gpu_nodes = {name: node for name, node in nodes.items() if node["metadata"].get("labels", {}).get(NFD) == "true"}
    if not gpu_nodes:
        _say(api, policy, "ready", "NFDLabelsMissing", "No NFD labels found in the cluster for devices")
        return
    if any(BROKEN in node["metadata"]["labels"] for node in gpu_nodes.values()):
        _say(api, policy, "notReady", "DriverNotReady", "states not ready: [state-driver]")
        return
    busy = [name for name, node in gpu_nodes.items() if not _settled(api, policy, name, node)]
    if busy:
        _say(api, policy, "notReady", "OperandNotReady", "states not ready: [state-device-plugin]")
    else:
        _say(api, policy, "ready", "Reconciled", "")


def _say(api: Api, policy: Facts, state: str, reason: str, message: str) -> None:
    good = state == "ready"
    conditions = [
        condition("Ready", good, reason if good else "Error", message if good else ""),
        condition("Error", not good, reason if not good else "Ready", "" if good else message),
    ]
    api.status(policy, {"state": state, "namespace": HOME, "conditions": conditions})


def _settled(api: Api, policy: Facts, name: str, node: Facts) -> bool:
    """Advance the node one step; return True when it has settled."""
    spec = policy["spec"]
    product, count, memory, slices = NODES[name]
    current = node["metadata"]["labels"]
    facts = {
        f"{GPU}.present": "true",
        f"{GPU}.product": product,
        f"{GPU}.count": str(count),
        f"{GPU}.memory": str(memory * 1024),
        "nvidia.com/mig.capable": str(bool(slices)).lower(),
    }
    if _labels(api, node, facts):
        return False
    cut = current.get("nvidia.com/mig.config") or spec["migManager"].get("config", {}).get("default") or "all-disabled"
    state, devices = mig(_document(api, spec["migManager"], "config.yaml"), cut, slices)
    if current.get("nvidia.com/mig.config") and current.get("nvidia.com/mig.config.state") != state:
        # first pending, then the result
        _labels(api, node, {"nvidia.com/mig.config.state": state if current.get("nvidia.com/mig.config.state") == "pending" else "pending"})
        return False
    config = spec["devicePlugin"].get("config", {})
    key = current.get("nvidia.com/device-plugin.config") or config.get("default")
    resources, labels = shared(_document(api, spec["devicePlugin"], key) if key else {}, spec["mig"]["strategy"], count, devices)
    _resources(api, node, resources)
    _labels(api, node, labels)
    _exporter(api, policy, name, list(NODES).index(name))
    return True


def _document(api: Api, section: Facts, key: str | None) -> Facts:
    """A configuration from the ConfigMap that a section of the policy names."""
    name = section.get("config", {}).get("name")
    config_map = api.find(f"/api/v1/namespaces/{HOME}/configmaps/{name}") if name else None
    return json.loads(config_map["data"].get(key, "{}")) if config_map else {}


def mig(document: Facts, wanted: str, slices: dict[str, int]) -> tuple[str, dict[str, int]]:
    """(state of the MIG manager, {profile: number of devices of each GPU}). Pure."""
    if wanted == "all-disabled":
        return "success", {}
    entries = document.get("mig-configs", {}).get(wanted)
    if not entries or not slices:
        return "failed", {}
    devices = entries[0]["mig-devices"]
    memory = sum(slices.get(profile, 99) * number for profile, number in devices.items())
    compute = sum(int(profile.split("g.")[0]) * number for profile, number in devices.items())
    return ("success", devices) if memory <= 8 and compute <= 7 else ("failed", {})


def shared(document: Facts, strategy: str, count: int, devices: dict[str, int]) -> tuple[Facts, Facts]:
    """(allocatable resources of a node, labels that describe how it is shared). Pure."""
    if devices and strategy == "single":
        return {GPU: count * sum(devices.values())}, {f"{GPU}.sharing-strategy": "none", f"{GPU}.replicas": "1"}
    if devices:
        return {f"nvidia.com/mig-{name}": count * number for name, number in devices.items()}, {f"{GPU}.sharing-strategy": "none", f"{GPU}.replicas": "1"}
    sharing = document.get("sharing", {})
    for key, word in (("timeSlicing", "time-slicing"), ("mps", "mps")):
        if key in sharing:
            replicas = sharing[key]["resources"][0]["replicas"]
            return {GPU: count * replicas}, {f"{GPU}.sharing-strategy": word, f"{GPU}.replicas": str(replicas)}
    return {GPU: count}, {f"{GPU}.sharing-strategy": "none", f"{GPU}.replicas": "1"}


# metrics


def _exporter(api: Api, policy: Facts, name: str, number: int) -> None:
    """Create the pod of DCGM's exporter on a node. The policy owns it, as it owns the operator's DaemonSets."""
    owner = {"apiVersion": policy["apiVersion"], "kind": policy["kind"], "name": policy["metadata"]["name"], "uid": policy["metadata"]["uid"]}
    metadata = {"name": f"nvidia-dcgm-exporter-{name}", "namespace": HOME, "labels": {"app": "nvidia-dcgm-exporter"}, "ownerReferences": [owner]}
    if api.find(f"/api/v1/namespaces/{HOME}/pods/{metadata['name']}"):
        return
    container = {"name": "nvidia-dcgm-exporter", "image": "nvidia/k8s/dcgm-exporter:4", "ports": [{"name": "metrics", "containerPort": PORTS + number}]}
    spec = {"nodeName": name, "containers": [container], "tolerations": [{"operator": "Exists"}]}
    api.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, "gpu-operator")


def serve_metrics() -> None:
    """Serve the metrics of DCGM's exporter of each node."""
    for number, name in enumerate(NODES):
        server = http.server.ThreadingHTTPServer((BRIDGE, PORTS + number), _exporter_of(name))
        threading.Thread(target=server.serve_forever, daemon=True).start()


def _exporter_of(name: str) -> type[http.server.BaseHTTPRequestHandler]:
    product, count = NODES[name][:2]
    series = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE")
    lines = [f'{each}{{gpu="{index}",modelName="{product}",Hostname="{name}"}} {30 + index}\n' for each in series for index in range(count)]

    class Handler(http.server.BaseHTTPRequestHandler):
        """One scrape."""

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write("".join(lines).encode())

        def log_message(self, *_given: t.Any) -> None:
            """Suppress request logging."""

    return Handler
