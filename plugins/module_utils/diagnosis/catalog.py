# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The known failures of a stack, with symptoms and remedies. Data only; docs/troubleshooting.md is generated from it.

Codes do not change, since users search for them. F codes are failures of the platform and the stack, V codes those of the
engines; newer failures have a word instead of a number.
"""

from __future__ import annotations

import dataclasses

# The layer of an entry, from the base of a stack upwards: a failure in one layer breaks the layers after it.
LAYERS = {
    "cluster": "Cluster and permissions",
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
    """One known failure. `shows`: its symptoms, and where they appear; `remedy`: what to do."""

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
        (
            "permissions",
            "this account has no permission to read",
            "403 for objects in the namespaces of the stack; elsewhere the last lines list the objects that were not read",
            "grant it (playbooks/list_permissions.yml writes what an administrator applies), or use an account that has it",
        ),
        ("namespace", "the namespace does not exist", "404 for the namespace of the plan", "run playbooks/site.yml, or correct llm_d_namespace"),
        (
            "node",
            "a node is not ready",
            "Node condition Ready is not True, or DiskPressure, MemoryPressure or PIDPressure is",
            "check the node: kubelet, disk, memory and network",
        ),
        (
            "dns",
            "names do not resolve in the cluster",
            "the cluster's DNS Deployment has no ready pod; logs of pods that are not ready say no such host or server misbehaving, or that a lookup timed "
            "out or was refused; a proxy's config stream has no healthy upstream",
            "repair the cluster's DNS (CoreDNS); check its pods and their log",
        ),
        ("quota", "a quota or limit rejects pods", "ReplicaFailure or FailedCreate with exceeded quota", "raise the quota, or lower requests and replicas"),
        (
            "scc",
            "a security policy rejects pods",
            "ReplicaFailure or FailedCreate with security context constraint or PodSecurity",
            "correct the security context, or grant the policy to the service account",
        ),
        (
            "account",
            "a service account is missing",
            "FailedCreate with serviceaccount not found",
            "create the service account: run playbooks/site.yml, which creates all except one named under service_account in your file",
        ),
        (
            "F15",
            "the GPU operator is not ready",
            "ClusterPolicy not ready: NFDLabelsMissing, NoGPUNodes, OperandNotReady",
            "install Node Feature Discovery, wait, then read the log of the operator's pod that is not ready",
        ),
        (
            "F33",
            "OpenShift's ingress operator is degraded",
            "ClusterOperator ingress has Degraded=True",
            "remove an older service mesh or its other subscription, or use another gateway provider",
        ),
        (
            "F36",
            "a change of MIG slices failed",
            "node label nvidia.com/mig.config.state is failed",
            "evict the pods that use the GPU, and check that its product supports this profile",
        ),
    ),
    *_entries(
        "prerequisites",
        (
            "F1",
            "CRDs are missing",
            "the API server does not serve gateway.networking.k8s.io or inference.networking.k8s.io, or a CRD is not Established",
            "install the CRDs (playbooks/site.yml does), then restart controllers that started before them",
        ),
        (
            "F2",
            "the CRD is installed in another version",
            "no matches for kind InferencePool; the version is not among the CRD's served ones",
            "install the version of the CRD that this control plane reads, not simply the newest",
        ),
        (
            "F6",
            "OpenShift manages the Gateway API",
            "403 that says managed by the Ingress Operator",
            "leave the Gateway API CRDs to the platform: skip their installation",
        ),
        (
            "F31",
            "a CRD is being deleted",
            "the CRD has a deletionTimestamp, or is missing after helm upgrade",
            "back up its objects, install it again with the keep policy, apply them again",
        ),
        (
            "F32",
            "an admission webhook does not answer",
            "500 failed calling webhook, with x509 or connection refused",
            "wait until the webhook's pods are ready and its CA bundle is set; check its Service",
        ),
        (
            "F44",
            "a Helm release is locked",
            "a Secret sh.helm.release.v1 has the status pending",
            "run playbooks/site.yml, which recovers a release that an interrupted Helm left behind; by hand, roll it back or delete its pending revision",
        ),
        (
            "controller",
            "the gateway's controller does not run",
            "its Deployment is missing or has no ready replica",
            "check its pods; run playbooks/site.yml to restore it",
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
            "the route is rejected",
            "HTTPRoute has no parents in its status, or NotAllowedByListeners, NoMatchingListenerHostname, NoMatchingParent",
            "correct parentRefs, allowedRoutes, host names or sectionName",
        ),
        (
            "F9",
            "the gateway does not support the pool",
            "ResolvedRefs=False: InvalidKind, unsupported backendRef, BackendNotFound",
            "enable InferencePools in the control plane, use the API group that it serves, or create the pool",
        ),
        (
            "F10",
            "a reference into another namespace is not permitted",
            "RefNotPermitted, missing a ReferenceGrant",
            "create a ReferenceGrant in the backend's namespace",
        ),
        (
            "F41",
            "Istio objects without Istio",
            "DestinationRules exist, but their API group or control plane does not",
            "remove them, or use Istio as the provider",
        ),
        (
            "F47",
            "the proxy is a pre-release that connects to the wrong Service",
            "the proxy's image tag has alpha, beta or rc",
            "use a released proxy (Istio 1.28.6 or newer)",
        ),
        (
            "F52",
            "the picker's choice has no effect",
            "EnvoyProxy has routingType Service, so the proxy does not know the pods",
            "set routingType Endpoint, and a header with address and port",
        ),
        (
            "stranger",
            "an object of someone else is in the way",
            "a route of another owner wins against ours; a policy, filter, patch or Gateway of another owner names or selects our objects; "
            "pods have containers that their template lacks",
            "ask its owner to remove it or to narrow it to other host names, paths or labels; if it is intended, check that it admits this traffic",
        ),
    ),
    *_entries(
        "pods",
        ("absent", "an object of the plan does not exist", "404 for a Deployment, Service, pool or route that your file requests", "run playbooks/site.yml"),
        (
            "scaled",
            "fewer replicas than your file requests",
            "spec.replicas is below the plan, perhaps 0",
            "run playbooks/site.yml, or scale it up again",
        ),
        (
            "F12",
            "no writable home directory for a non-root user",
            "log: Permission denied: '/.cache', getpwuid(): uid not found",
            "point HOME, XDG_*, HF_HOME and the cache directories at a writable volume",
        ),
        (
            "F13",
            "no accelerator is free",
            "Unschedulable: Insufficient nvidia.com/gpu",
            "check the accelerator's operator and the resource's name, or use fewer replicas",
        ),
        ("F14", "a taint repels the pods", "Unschedulable: untolerated taint", "tolerate the taint"),
        ("F17", "a Secret or ConfigMap is missing", "CreateContainerConfigError: secret not found", "create it"),
        (
            "F18",
            "out of memory",
            "log: No available memory for the cache blocks, CUDA out of memory; or terminated with OOMKilled",
            "GPU memory: lower max_model_len, change the utilisation, use more GPUs; host memory: raise the memory limit",
        ),
        (
            "F19",
            "a probe ends the server while it loads",
            "Unhealthy events of the startup probe; exit code 137 or 143 without OOMKilled",
            "allow more time (the startup probe's failureThreshold), or stage the model first",
        ),
        (
            "F20",
            "a volume is not available",
            "PVC Pending, FailedMount, FailedAttachVolume, Multi-Attach, No space left on device, DiskPressure",
            "set a storage class (RWX for several replicas), and a size of 1.2 times the model",
        ),
        (
            "F30",
            "a sidecar as an init container never ends",
            "Initialized=False while the init container routing-proxy runs; Kubernetes before 1.29",
            "upgrade Kubernetes, or run the sidecar as a plain container",
        ),
        (
            "F34",
            "the image cannot be pulled",
            "ErrImagePull, ImagePullBackOff, InvalidImageName, ImageInspectError",
            "correct name and tag, the pull secret, or the registry",
        ),
        ("F35", "no node has room", "Unschedulable: Insufficient cpu or memory", "lower the requests or the replicas, or add a node"),
        (
            "F37",
            "several shares of a shared GPU are requested",
            "UnexpectedAdmissionError: maximum request size for shared resources is 1",
            "request 1, then delete the failed pod",
        ),
        (
            "F42",
            "a probe uses the wrong port",
            "Unhealthy events that name port 19000 or 8080",
            "leave the gateway's readiness to the provider; the picker's health port is 9003",
        ),
        ("F48", "a simulator requests GPUs", "the pod requests an accelerator, and the engine is the simulator", "remove the accelerator from its resources"),
        (
            "F49",
            "a volume is not writable",
            "log: Permission denied on the mount; no fsGroup",
            "set fsGroup for the volume, or mount it where the image may write",
        ),
        (
            "F51",
            "the LoRA syncer never ends",
            "Initialized=False while the init container lora-adapter-syncer runs",
            "upgrade Kubernetes, or remove the syncer",
        ),
        ("crash", "a container ends again and again", "CrashLoopBackOff", "read its last log lines"),
        (
            "exception",
            "a program ends with an error that is not listed here",
            "log: the first exception of a Python traceback, or a panic of Go, Rust or C++",
            "correct what this error names; its traceback is in the log",
        ),
        (
            "command",
            "a container's command cannot be run",
            'StartError or RunContainerError: exec: "/bin/sh": no such file or directory, or not found in $PATH',
            "use an image that has this program, or correct the command",
        ),
        (
            "runtime",
            "the node's container runtime cannot make the pod",
            'FailedCreatePodSandBox, CreateContainerError: no runtime for "nvidia" is configured, failed to find runtime handler, cgroups, open files',
            "let NVIDIA's container toolkit configure the runtime handler, or correct what the message names on the node",
        ),
        (
            "busy",
            "the node's container runtime is slow",
            "FailedCreatePodSandBox, CreateContainerError: context deadline exceeded, name is reserved",
            "check the node's load and disk; restart its container runtime if it stays slow",
        ),
        (
            "pod_network",
            "the network plugin does not connect the pod",
            "FailedCreatePodSandBox: failed to setup network for sandbox, no IP addresses available, cni plugin not initialized",
            "check the network plugin's pod on that node; where addresses are used up, give pods a larger range",
        ),
        (
            "device",
            "a container does not get a device of its node",
            "CreateContainerError, StartError: unresolvable CDI devices, nvidia-container-cli, driver not loaded",
            "check the driver, the container toolkit and the device plugin of the node",
        ),
        ("create", "a container cannot be created", "CreateContainerError, RunContainerError", "correct what the message names"),
        ("evicted", "a pod was evicted", "phase Failed, reason Evicted", "the node has too little memory or disk: free some, or lower the requests"),
        ("failed", "a pod has failed", "phase Failed", "read its log"),
        ("unschedulable", "no node takes the pod", "Unschedulable", "check node selector, affinity and the nodes' conditions"),
        ("starting", "a pod is not ready", "Ready is not True, and no reason is known", "wait; then read its log and its events"),
        ("image", "an image for another processor", "log: exec format error", "use an image for this node's architecture"),
        ("port", "two processes want one port", "log: address already in use", "give them different ports"),
        (
            "args",
            "an argument is unknown",
            "log: unknown flag, unrecognized arguments",
            "use the release line of the image, or correct extra arguments",
        ),
        ("config", "a configuration is rejected", "log: failed to load the configuration", "correct the configuration"),
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
            "lower it, or set VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 if the model supports it",
        ),
        (
            "V2",
            "the engine does not start in time",
            "log: Timed out waiting for engine core processes to start",
            "raise VLLM_ENGINE_READY_TIMEOUT_S; check storage speed and NCCL",
        ),
        (
            "V3",
            "a worker is stuck",
            "log: No available shared memory broadcast block found",
            "check the other ranks; during the first compilation it is harmless",
        ),
        (
            "V4",
            "a worker died",
            "log: Worker proc died unexpectedly, RPC call to ... timed out",
            "check the pod's memory, /dev/shm and the kernel log; set NCCL_DEBUG=INFO",
        ),
        (
            "V5",
            "NCCL cannot connect",
            "log: NCCL error, peer access is not supported",
            "enlarge /dev/shm, allow IPC_LOCK, set NCCL_SOCKET_IFNAME; NCCL_CUMEM_HOST_ENABLE=0 for peer access",
        ),
        (
            "V6",
            "CUDA cannot use the node's driver",
            "log: unsupported toolchain, NVIDIA driver on your system is too old; CUDA's errors 34, 35, 36, 100, 801 to 804 and 999",
            "let driver and image fit: a newer driver, an image of an older CUDA, or the driver's own libraries first; each error's remedy is its own",
        ),
        (
            "V7",
            "no accelerator in the container, or too few",
            "log: Failed to infer device type, No HIP GPUs are available, invalid device ordinal, Device acquire failed",
            "request the accelerators that the server needs; check the device plugin and the runtime class (pod.runtimeClassName)",
        ),
        (
            "gpu_held",
            "another process holds the accelerator",
            "log: CUDA's error 46, TPU initialization failed: Device or resource busy",
            "end it, or look for pods that use the accelerator without requesting it",
        ),
        (
            "gpu_kind",
            "the image has no code for the accelerator",
            "log: no kernel image is available for execution, HIP error: invalid device function",
            "use an image that is built for this accelerator, or another kind of node",
        ),
        (
            "gpu_fault",
            "the accelerator failed, or a kernel on it",
            "log: CUDA's errors 214, 700, 715, 716 and 719, Memory access fault by GPU, DEVICE_LOST",
            "look for Xid and ECC errors in the node's kernel log, and try another node; then another version of the image",
        ),
        (
            "kv_transfer",
            "KV caches do not get from one server to another",
            "log: UCX ERROR, Transport retry count exceeded",
            "give both servers their RDMA devices, or use TCP (UCX_TLS=tcp); check NetworkPolicies",
        ),
        ("V8", "the image does not support the model", "log: Model architectures are not supported", "use a newer image, or set trust_remote_code"),
        (
            "V9",
            "the tensor parallel size does not divide the model",
            "log: must be divisible by tensor parallel size",
            "use a size that divides the number of attention heads",
        ),
        (
            "V10",
            "the engine died",
            "log: EngineDeadError, EngineCore encountered a fatal error; 503 at /health",
            "read the first error before it, then restart the server",
        ),
        ("V11", "the engine did not start", "log: Engine core initialization failed", "the cause is earlier in the log: find the first traceback"),
        (
            "block_size",
            "the attention backend does not take this block size",
            "log: No common block size for 16, Block size must be a multiple of 16",
            "set block_size to a multiple of what the message names, or leave it out",
        ),
        (
            "quantization",
            "the quantization is unknown, or not that of the weights",
            "log: Unknown quantization method, Cannot find the config file for awq",
            "set quantization to how the weights were quantised, or leave it out",
        ),
        (
            "weights",
            "files of the weights are missing or damaged",
            "log: SafetensorError, Cannot find any model weights with, PytorchStreamReader failed",
            "stage the model again, and check that all files of its weights are there with their full size",
        ),
        (
            "hung",
            "a server listens and does not serve",
            "/health answers, but a completion does not, or returns an error",
            "check its log and its queue, then delete the pod",
        ),
        (
            "slow",
            "one server is much slower than the others",
            "its completions take several times as long",
            "check its node and accelerator; delete the pod if only this one is slow",
        ),
        (
            "mixed",
            "servers of one pool differ",
            "engine, version, model, length or block size differ",
            "finish the rollout; a pool should select equal servers",
        ),
        (
            "metrics",
            "a server does not export the metrics that the scheduler reads",
            "/metrics lacks the waiting, running or KV cache metric",
            "enable the server's metrics, under the names in the picker's flags",
        ),
    ),
    *_entries(
        "scheduler",
        (
            "F3",
            "the picker requires a CRD that is missing",
            "log: no matches for kind InferenceModel, InferenceObjective; if kind is a CRD, it should be installed",
            "install the CRDs that this scheduler image reads, then restart its Deployment",
        ),
        ("F4", "the picker has no permission to read", "log: failed to list ... forbidden", "give its service account get, list and watch on that resource"),
        (
            "F5",
            "the picker does not find its pool",
            "log: Pool is not initialized",
            "check pool name, namespace and group in its arguments; a standby follower is never ready, by design",
        ),
        (
            "F11",
            "gateway and picker disagree on TLS",
            "500 or 503, ext_proc_error_gRPC_error_14 in the proxy's log; --secure-serving against the policy",
            "use TLS on both sides, or on neither",
        ),
        (
            "F26",
            "the picker is bypassed",
            "no scheduler attempts while requests are served; a route around the pool; the policy or its header is missing",
            "route to the pool, or restore the policies that query the picker and route to its choice: run playbooks/site.yml",
        ),
        (
            "F27",
            "the KV-cache scorer has no data",
            "pods lack the metric that the picker reads; vllm:gpu_cache_usage_perc is the old name",
            "set the picker's flag for that metric, or upgrade it",
        ),
        (
            "F28",
            "prefixes miss their cache",
            "before router-0.9: block size or PYTHONHASHSEED differ between picker and servers, or among servers",
            "set equal block sizes and seeds, or enable autoTune of the scorer",
        ),
        (
            "F29",
            "two pools overlap",
            "two pools select the same pods, or two pools name one picker",
            "use one picker for each pool, and selectors that do not overlap",
        ),
        (
            "F50",
            "the picker's health service has another name",
            "log: health check requested unknown service",
            "set the probe to the service that the image serves, or probe TCP on 9003",
        ),
        (
            "drift",
            "the cluster differs from your file",
            "a field of an object has another value than planned, or one that others have added; playbooks/diff.yml names each, and who has set it",
            "run playbooks/site.yml, which sets the fields of your file again, remove what others have added, or write the change into your file",
        ),
        (
            "policy",
            "a NetworkPolicy blocks traffic",
            "a policy selects the pods and does not admit the gateway or the picker",
            "allow the gateway and the picker to reach the pods, or remove the policy",
        ),
    ),
    *_entries(
        "traffic",
        ("F21", "no healthy upstream", "the Service or pool selects no ready pod", "correct labels and ports, or wait until the pods are ready"),
        (
            "F22",
            "upstream connect error",
            "pods are ready but do not listen on the port in the pool or Service",
            "set the port to that of the engine or of its sidecar",
        ),
        ("F23", "404 from the gateway", "no rule matches path, host or header", "add a match, or send the right host and path"),
        ("F24", "400 model not found in request body", "the request has no model", "send model, with prompt or messages"),
        (
            "F25",
            "requests are shed",
            "429, or 503 with the header x-llm-d-request-dropped-reason; body: sheddable request dropped, request evicted by flow control",
            "raise the priority, the thresholds, the time that requests may wait, or the replicas",
        ),
        (
            "fault",
            "the gateway ends requests itself",
            "body: fault filter abort, of Google's load balancer or of Envoy",
            "on GKE turn on the Network Services API; elsewhere take the fault out of the route, its policy or its VirtualService",
        ),
        (
            "key",
            "the API key is wrong",
            "401 from the server, or from the gateway",
            "send the key that the server was started with; of your file: llm_d_api_key, or the Secret of model.api_key",
        ),
        (
            "unreachable",
            "the gateway does not answer",
            "no connection to its address",
            "check the proxy's pods and its Service; from outside the cluster, the load balancer",
        ),
        (
            "claim",
            "a claim of the validation does not hold",
            "playbooks/validate.yml names it; nothing else that the diagnosis inspects is wrong",
            "read the claim in docs/claims.md, and report the cause, so that the diagnosis can name it later",
        ),
        ("answer", "a request fails", "an error that is not listed here", "read the server's log"),
    ),
    *_entries(
        "operations",
        (
            "F38",
            "the autoscaler is idle",
            "ScalingActive=False: FailedGetExternalMetric; ScaledObject not Ready or in Fallback",
            "check the Prometheus address, its token and the series, and the owner of the APIService",
        ),
        (
            "F39",
            "the autoscaler and an apply both set the replicas",
            "two field managers own spec.replicas",
            "remove replicas from the manifest, or pause the autoscaler",
        ),
        (
            "F40",
            "metrics are not scraped",
            "401 or 403 at the picker's /metrics",
            "give Prometheus a token that may read it, or write --metrics-endpoint-auth=false under scheduler.args",
        ),
        ("F43", "a status is stale", "observedGeneration is behind the generation", "check whether the object's controller runs"),
        (
            "F45",
            "the namespace does not terminate",
            "Terminating, with NamespaceContentRemaining or NamespaceFinalizersRemaining",
            "delete the objects in it while their controllers run; as a last resort, remove their finalizers",
        ),
        ("F46", "a local port is taken", "address already in use on this host", "choose a free port; read EndpointSlices, not Endpoints"),
    ),
)
CATALOG: dict[str, CatalogEntry] = {entry.code: entry for entry in _ALL}
