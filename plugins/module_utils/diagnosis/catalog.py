# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The failure catalogue: every known way in which a stack fails, with how it shows and what to do. Data only; docs/troubleshooting.md is printed from it.

Codes F1 to F52 are those of the project's platform reference; V codes are trouble of the engines; codes in words have no number there.
"""

from __future__ import annotations

import dataclasses

# Where in a stack an entry belongs. What is earlier breaks what is later.
LAYERS = {
    "cluster": "Cluster and rights",
    "prerequisites": "CRDs and controllers",
    "gateway": "Gateway and routes",
    "pods": "Pods that do not start or stay",
    "servers": "Model servers",
    "scheduler": "Endpoint picker and pools",
    "traffic": "Answers to requests",
    "operations": "Scaling, monitoring, removal",
}


@dataclasses.dataclass(frozen=True)
class CatalogEntry:
    """One way to fail. `shows`: what is seen, and where; `remedy`: what to do."""

    code: str
    layer: str
    title: str
    shows: str
    remedy: str


def _entries(layer: str, *rows: tuple[str, str, str, str]) -> tuple[CatalogEntry, ...]:
    return tuple(CatalogEntry(row[0], layer, *row[1:]) for row in rows)


_ALL = (
    *_entries(
        "cluster",
        (
            "api",
            "the API server does not answer",
            "no connection, or a refusal, to any request",
            "start the cluster, or correct the kubeconfig and its context",
        ),
        ("rights", "this account may not look", "403 to a list of objects", "grant get and list on that resource, or use an account that has it"),
        ("namespace", "the namespace is not there", "404 for the namespace of the plan", "run playbooks/site.yml, or correct llm_d_namespace"),
        (
            "node",
            "a node is not ready",
            "Node condition Ready is not True, or DiskPressure, MemoryPressure or PIDPressure is",
            "look at the node: kubelet, disk, memory and network",
        ),
        (
            "dns",
            "names do not resolve in the cluster",
            "the cluster's DNS Deployment has no ready pod; logs of pods that are not ready say no such host or server misbehaving, or that a look-up timed "
            "out or was refused; a proxy's config stream has no healthy upstream",
            "mend the cluster's DNS (CoreDNS); look at its pods and their log",
        ),
        ("quota", "a quota or limit refuses pods", "ReplicaFailure or FailedCreate with exceeded quota", "raise the quota, or lower requests and replicas"),
        (
            "scc",
            "a security policy refuses pods",
            "ReplicaFailure or FailedCreate with security context constraint or PodSecurity",
            "correct the security context, or grant the policy to the service account",
        ),
        (
            "account",
            "a service account is missing",
            "FailedCreate with serviceaccount not found",
            "create the service account: run playbooks/site.yml, which makes all but the one that the file names under service_account",
        ),
        (
            "F15",
            "the GPU operator has no GPUs",
            "ClusterPolicy not ready: NFDLabelsMissing, NoGPUNodes, OperandNotReady",
            "install Node Feature Discovery, wait, then read the log of the operator's pod that is not ready",
        ),
        (
            "F33",
            "OpenShift's ingress operator is degraded",
            "ClusterOperator ingress has Degraded=True",
            "remove an older service mesh or another subscription of it, or use another gateway provider",
        ),
        (
            "F36",
            "a change of MIG slices failed",
            "node label nvidia.com/mig.config.state is failed",
            "evict the GPU's clients and check that its product has this profile",
        ),
    ),
    *_entries(
        "prerequisites",
        (
            "F1",
            "CRDs are missing",
            "the API server does not serve gateway.networking.k8s.io or inference.networking.k8s.io, or a CRD is not Established",
            "install the CRDs (playbooks/site.yml does), then restart controllers that started before",
        ),
        (
            "F2",
            "the CRD is there in another version",
            "no matches for kind InferencePool; the version is not among the CRD's served ones",
            "install the CRD's version that this control plane reads, not simply the newest",
        ),
        (
            "F6",
            "OpenShift manages the Gateway API",
            "403 that says managed by the Ingress Operator",
            "leave the Gateway API CRDs to the platform: skip their installation",
        ),
        (
            "F31",
            "a CRD goes away",
            "the CRD has a deletionTimestamp, or is gone after helm upgrade",
            "back up its objects, install it again with the keep policy, apply them again",
        ),
        (
            "F32",
            "an admission webhook does not answer",
            "500 failed calling webhook, with x509 or connection refused",
            "wait until the webhook's pods are ready and its CA bundle is set; look at its Service",
        ),
        (
            "F44",
            "a Helm release is locked",
            "a Secret sh.helm.release.v1 has the status pending",
            "run playbooks/site.yml, which takes up a release that a Helm has left; by hand, roll it back or delete its pending revision",
        ),
        (
            "controller",
            "the gateway's controller does not run",
            "its Deployment is missing or has no ready replica",
            "look at its pods; run playbooks/site.yml to bring it back",
        ),
    ),
    *_entries(
        "gateway",
        (
            "F7",
            "the Gateway is not ready",
            "GatewayClass not Accepted, or Gateway not Programmed: AddressNotAssigned, Pending, NoResources, Waiting",
            "install the provider or create the class; without a load balancer set service_type ClusterIP",
        ),
        (
            "F8",
            "the route is refused",
            "HTTPRoute has no parents in its status, or NotAllowedByListeners, NoMatchingListenerHostname, NoMatchingParent",
            "correct parentRefs, allowedRoutes, host names or sectionName",
        ),
        (
            "F9",
            "the gateway does not honour the pool",
            "ResolvedRefs=False: InvalidKind, unsupported backendRef, BackendNotFound",
            "let the control plane serve InferencePools, match the API group to it, or create the pool",
        ),
        (
            "F10",
            "a reference into another namespace is not permitted",
            "RefNotPermitted, missing a ReferenceGrant",
            "create a ReferenceGrant in the backend's namespace",
        ),
        (
            "F41",
            "Istio's objects without Istio",
            "DestinationRules exist, the API group or its control plane does not",
            "remove them, or use Istio as the provider",
        ),
        (
            "F47",
            "the proxy is a pre-release that dials the wrong Service",
            "the proxy's image tag has alpha, beta or rc",
            "use a released proxy (Istio 1.28.6 or newer)",
        ),
        (
            "F52",
            "the picker's choice never hits",
            "EnvoyProxy has routingType Service, so the proxy does not know the pods",
            "set routingType Endpoint, and a header that carries address and port",
        ),
    ),
    *_entries(
        "pods",
        ("absent", "an object of the plan is not there", "404 for a Deployment, Service, pool or route that your file asks for", "run playbooks/site.yml"),
        (
            "scaled",
            "fewer replicas than your file asks for",
            "spec.replicas is below the plan, perhaps 0",
            "run playbooks/site.yml, or give back what scaled it",
        ),
        (
            "F12",
            "no writable home for a non-root user",
            "log: Permission denied: '/.cache', getpwuid(): uid not found",
            "point HOME, XDG_*, HF_HOME and the cache directories at a writable volume",
        ),
        (
            "F13",
            "no accelerator is free",
            "Unschedulable: Insufficient nvidia.com/gpu",
            "check the accelerator's operator and the resource's name, or use fewer replicas",
        ),
        ("F14", "a taint keeps pods away", "Unschedulable: untolerated taint", "tolerate the taint"),
        ("F17", "a Secret or ConfigMap is missing", "CreateContainerConfigError: secret not found", "create it"),
        (
            "F18",
            "out of memory",
            "log: No available memory for the cache blocks, CUDA out of memory; or terminated with OOMKilled",
            "GPU memory: lower max_model_len, change the utilisation, use more GPUs; host memory: raise the memory limit",
        ),
        (
            "F19",
            "a probe kills the server while it loads",
            "Unhealthy events of the startup probe; exit code 137 or 143 without OOMKilled",
            "allow more time (startup probe's failureThreshold), or stage the model before",
        ),
        (
            "F20",
            "storage",
            "PVC Pending, FailedMount, FailedAttachVolume, Multi-Attach, No space left on device, DiskPressure",
            "set a storage class (RWX for several replicas), and a size of 1.2 times the model",
        ),
        (
            "F30",
            "a sidecar as an init container never ends",
            "Initialized=False while the init container routing-proxy runs; Kubernetes before 1.29",
            "upgrade Kubernetes, or run the sidecar as a plain container",
        ),
        ("F34", "the image cannot be pulled", "ErrImagePull, ImagePullBackOff, InvalidImageName", "correct name and tag, the pull secret, or the registry"),
        ("F35", "no node has room", "Unschedulable: Insufficient cpu or memory", "lower the requests or the replicas, or add a node"),
        (
            "F37",
            "more than one share of a shared GPU",
            "UnexpectedAdmissionError: maximum request size for shared resources is 1",
            "request 1, then delete the failed pod",
        ),
        (
            "F42",
            "a probe asks the wrong port",
            "Unhealthy events that name port 19000 or 8080",
            "leave the gateway's readiness to the provider; the picker's health port is 9003",
        ),
        ("F48", "a simulator asks for GPUs", "the pod requests an accelerator, the engine is the simulator", "remove the accelerator from its resources"),
        (
            "F49",
            "a volume may not be written",
            "log: Permission denied on the mount; no fsGroup",
            "set fsGroup for the volume, or mount it where the image may write",
        ),
        ("F51", "the LoRA syncer never ends", "Initialized=False while the init container lora-adapter-syncer runs", "upgrade Kubernetes, or drop the syncer"),
        ("crash", "a container ends again and again", "CrashLoopBackOff", "read its last log lines"),
        ("create", "a container cannot be created", "CreateContainerError, RunContainerError", "correct what the message names"),
        ("evicted", "a pod was evicted", "phase Failed, reason Evicted", "the node is short of memory or disk: free some, or lower the requests"),
        ("failed", "a pod has failed", "phase Failed", "read its log"),
        ("unschedulable", "no node takes the pod", "Unschedulable", "check node selector, affinity and the nodes' conditions"),
        ("starting", "a pod is not ready", "Ready is not True, and no reason is known", "wait; then read its log and its events"),
        ("image", "an image for another processor", "log: exec format error", "use an image for this node's architecture"),
        ("port", "two processes want one port", "log: address already in use", "give them different ports"),
        (
            "args",
            "an argument is not known",
            "log: unknown flag, unrecognized arguments",
            "use the release line that fits the image, or correct extra arguments",
        ),
        ("config", "a configuration is refused", "log: failed to load the configuration", "correct the configuration that it is given"),
    ),
    *_entries(
        "servers",
        (
            "F16",
            "the model cannot be downloaded",
            "log: 401 Client Error, gated repo, RepositoryNotFoundError, NameResolutionError; a Secret without the key",
            "check the model's name, the token's Secret and its key, the licence, egress and proxy; or use a mirror",
        ),
        (
            "V1",
            "max_model_len exceeds the model's own limit",
            "log: User-specified max_model_len is greater than the derived",
            "lower it, or set VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 knowingly",
        ),
        (
            "V2",
            "the engine does not start in time",
            "log: Timed out waiting for engine core processes to start",
            "raise VLLM_ENGINE_READY_TIMEOUT_S; look at storage speed and NCCL",
        ),
        (
            "V3",
            "a worker is stuck",
            "log: No available shared memory broadcast block found",
            "look at the other ranks; during the first compilation it is no fault",
        ),
        (
            "V4",
            "a worker died",
            "log: Worker proc died unexpectedly, RPC call to ... timed out",
            "look at the pod's memory, /dev/shm and the kernel's log; set NCCL_DEBUG=INFO",
        ),
        (
            "V5",
            "NCCL cannot connect",
            "log: NCCL error, peer access is not supported",
            "enlarge /dev/shm, allow IPC_LOCK, set NCCL_SOCKET_IFNAME; NCCL_CUMEM_HOST_ENABLE=0 for peer access",
        ),
        (
            "V6",
            "the driver is too old",
            "log: provided PTX was compiled with an unsupported toolchain, NVIDIA driver on your system is too old",
            "install a newer driver, or use an older image",
        ),
        ("V7", "no accelerator in the container", "log: Failed to infer device type", "request the accelerator; check device plugin and runtime class"),
        ("V8", "the image does not know the model", "log: Model architectures are not supported", "use a newer image, or set trust_remote_code"),
        ("V9", "the tensor parallel size does not fit", "log: must be divisible by tensor parallel size", "use a size that divides the model's heads"),
        (
            "V10",
            "the engine died",
            "log: EngineDeadError, EngineCore encountered a fatal error; 503 at /health",
            "read the first error before it, then restart the server",
        ),
        ("V11", "the engine did not start", "log: Engine core initialization failed", "the cause is further up in the log: look for the first traceback"),
        (
            "hung",
            "a server listens and does not serve",
            "/health answers, a completion does not, or with an error",
            "look at its log and its queue, then delete the pod",
        ),
        (
            "slow",
            "one server is much slower than the others",
            "its completions take several times as long",
            "look at its node and accelerator; delete the pod if only this one is slow",
        ),
        (
            "mixed",
            "servers of one pool differ",
            "engine, version, model, length or block size differ",
            "finish the rollout; a pool should select servers of one kind",
        ),
        (
            "metrics",
            "a server does not export what the scheduler reads",
            "/metrics lacks the waiting, running or KV cache metric",
            "let the server export its metrics, under the names that the picker's flags give",
        ),
    ),
    *_entries(
        "scheduler",
        (
            "F3",
            "the picker wants a CRD that is not there",
            "log: no matches for kind InferenceModel, InferenceObjective; if kind is a CRD, it should be installed",
            "install the CRDs that this scheduler image reads, then restart its Deployment",
        ),
        ("F4", "the picker may not read", "log: failed to list ... forbidden", "give its service account get, list and watch on that resource"),
        (
            "F5",
            "the picker has no pool",
            "log: Pool is not initialized",
            "check pool name, namespace and group in its arguments; a standby follower is never ready, by design",
        ),
        (
            "F11",
            "gateway and picker do not agree on TLS",
            "500 or 503, ext_proc_error_gRPC_error_14 in the proxy's log; --secure-serving against the policy",
            "both sides with TLS, or both without",
        ),
        (
            "F26",
            "the picker has no say",
            "no scheduler attempts while requests flow; a route past the pool; the policy or its header is missing",
            "route to the pool, or restore the policies that ask the picker and obey it: run playbooks/site.yml",
        ),
        (
            "F27",
            "the KV score is blind",
            "pods lack the metric that the picker reads; vllm:gpu_cache_usage_perc is the old name",
            "set the picker's flag for that metric, or upgrade it",
        ),
        (
            "F28",
            "prefixes miss their cache",
            "block size or PYTHONHASHSEED differ between picker and servers, or among servers",
            "make block size and seed equal, or let the scorer tune itself",
        ),
        (
            "F29",
            "pools share what they should not",
            "two pools select the same pods, or two pools name one picker",
            "one picker for each pool, and selectors that do not overlap",
        ),
        (
            "F50",
            "the picker's health service has another name",
            "log: health check requested unknown service",
            "name the service that the image serves, or probe TCP on 9003",
        ),
        (
            "drift",
            "the cluster differs from your file",
            "an argument, port or configuration is not the planned one",
            "run playbooks/site.yml, or write the change into your file",
        ),
        (
            "policy",
            "a NetworkPolicy is in the way",
            "a policy selects the pods and does not let the gateway or the picker in",
            "allow the gateway and the picker to reach the pods, or remove the policy",
        ),
    ),
    *_entries(
        "traffic",
        ("F21", "no healthy upstream", "the Service or pool selects no ready pod", "correct labels and ports, or wait until the pods are ready"),
        (
            "F22",
            "upstream connect error",
            "pods are ready and do not listen on the port that the pool or Service names",
            "set the port to that of the engine or of its sidecar",
        ),
        ("F23", "404 from the gateway", "no rule matches path, host or header", "add a match, or send the right host and path"),
        ("F24", "400 model not found in request body", "the request has no model", "send model, with prompt or messages"),
        ("F25", "429, requests are shed", "sheddable request dropped", "raise the priority, the thresholds or the replicas"),
        ("key", "the API key is wrong", "401 from the server, or from the gateway", "send the key that the server was started with"),
        (
            "unreachable",
            "the gateway does not answer",
            "no connection to its address",
            "look at the proxy's pods and its Service; from outside, at the load balancer",
        ),
        ("answer", "a request fails", "another error than these", "read the server's log"),
    ),
    *_entries(
        "operations",
        (
            "F38",
            "the autoscaler is idle",
            "ScalingActive=False: FailedGetExternalMetric; ScaledObject not Ready or in Fallback",
            "check the Prometheus address, its token and the series; look who owns the APIService",
        ),
        ("F39", "the autoscaler fights the apply", "two managers own spec.replicas", "leave replicas out of the definition, or pause the autoscaler"),
        (
            "F40",
            "nothing is monitored",
            "no ServiceMonitor CRD; 401 at the picker's /metrics",
            "install the Prometheus operator or user workload monitoring; give it a token, or --metrics-endpoint-auth=false",
        ),
        ("F43", "a status is stale", "observedGeneration is behind the generation", "look whether the object's controller runs"),
        (
            "F45",
            "the namespace does not go away",
            "Terminating, with NamespaceContentRemaining or NamespaceFinalizersRemaining",
            "delete the objects it holds while their controllers run; then their finalizers",
        ),
        ("F46", "a local port is taken", "address already in use on this host", "choose a free port; read EndpointSlices, not Endpoints"),
    ),
)
CATALOG: dict[str, CatalogEntry] = {entry.code: entry for entry in _ALL}
