# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words by which known failures show: in logs, in answers to requests, in refusals of the API server."""

from __future__ import annotations

_CUDA = (
    "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error "
)
LOG_LINES = [
    ("F3", 'E1121 setup "failed to setup" err="no matches for kind \\"InferenceModel\\" in version \\"inference.networking.x-k8s.io/v1alpha2\\""'),
    ("F3", '{"level":"error","logger":"controller","msg":"if kind is a CRD, it should be installed before calling Start","kind":"InferenceObjective"}'),
    ("F3", 'no matches for kind "InferenceModel" in version "x"'),
    (
        "F4",
        "reflector.go:200 failed to list *v1.InferencePool: inferencepools.inference.networking.k8s.io is forbidden: User "
        '"system:serviceaccount:llm-d:sim-epp" cannot list resource "inferencepools" in API group',
    ),
    ("F5", '{"level":"info","msg":"Pool is not initialized, skipping refreshing metrics"}'),
    ("F11", '[2026-11-21 09:00:00.000] "POST /v1/completions HTTP/1.1" 500 - via_upstream - "ext_proc_error_gRPC_error_14{upstream_connect_error}"'),
    ("F11", "transport: authentication handshake failed: tls: first record does not look like a TLS handshake"),
    ("F12", "PermissionError: [Errno 13] Permission denied: '/.cache'"),
    ("F12", "KeyError: 'getpwuid(): uid not found: 1000680000'"),
    ("F16", "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-6740)"),
    ("F16", "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: gated repo meta-llama"),
    ("F16", "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error."),
    ("F16", "urllib3.exceptions.MaxRetryError: NameResolutionError: Failed to resolve 'hub.example.com' ([Errno -3] Temporary failure in name resolution)"),
    # mave5/podalize#8, depictio/depictio#104, ghtop#2, prometheus-operator#3277, text-embeddings-inference#29
    ("F16", "ValueError: Invalid header value b'Bearer (removed)\\n'"),
    ("F16", "httpcore.LocalProtocolError: Illegal header value b'Bearer (removed)\\n'"),
    ("F16", "requests.exceptions.InvalidHeader: Invalid leading whitespace, reserved character(s), or return character(s) in header value: 'Bearer (removed)'"),
    ("F16", 'Get "http://10.42.1.182/api": net/http: invalid header field value "Bearer (removed)\\n" for key Authorization'),
    ("F16", "thread 'main' panicked at src/main.rs:2:5: called `Result::unwrap()` on an `Err` value: InvalidHeaderValue"),
    ("F16", "OSError: We couldn't connect to 'the hub' to load the files, and couldn't find them in the cached files."),
    ("dns", "dial tcp: lookup sim-epp.llm-d.svc.cluster.local on 10.96.0.10:53: no such host"),
    ("dns", "dial tcp: lookup sim-epp.llm-d.svc on 10.216.0.10:53: server misbehaving"),
    ("dns", "dial tcp: lookup sim-epp.llm-d.svc.cluster.local on 10.96.0.10:53: read udp 10.244.0.7:41230->10.96.0.10:53: i/o timeout"),
    ("dns", "dial tcp: lookup sim-epp.llm-d.svc on 10.215.0.1:53: read udp 10.215.0.9:38122->10.215.0.1:53: read: connection refused"),
    (
        "dns",
        "[2026-11-22 03:17:04.787][1][warning][config] [./source/extensions/config_subscription/grpc/grpc_stream.h:226] DeltaAggregatedResources gRPC "
        "config stream to xds_cluster closed since 34s ago: 14, no healthy upstream",
    ),
    ("F18", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."),
    (
        "F18",
        "ValueError: To serve at least one request with the model's max seq len (131072), 16.0 GiB KV cache is needed, which is larger than the "
        "available KV cache memory (7.4 GiB).",
    ),
    ("F18", "ValueError: Free memory on device (10.2/79.3 GiB) on startup is less than desired GPU memory utilization (0.9, 71.4 GiB)."),
    ("F18", "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests."),
    ("F18", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
    ("F18", "ValueError: Available memory on node 0 (10.53/14.96 GiB) on kv cache allocation is less than requested memory for kv (-1.33/0.01 GiB)."),
    ("F19", "KeyboardInterrupt: terminated"),
    ("F20", "OSError: [Errno 28] No space left on device"),
    ("F24", '{"level":"error","msg":"error handling request","error":"model not found in request body"}'),
    ("F25", '{"level":"info","msg":"sheddable request dropped due to system saturation"}'),
    ("F32", 'Internal error occurred: failed calling webhook "mleaderworkerset.kb.io": x509: certificate signed by unknown authority'),
    ("F49", "PermissionError: [Errno 13] Permission denied: '/models/hub'"),
    ("F50", '{"level":"info","msg":"gRPC health check requested unknown service","available-services":["envoy.service.ext_proc.v3.ExternalProcessor"]}'),
    ("port", "listen tcp :8000: bind: address already in use"),
    ("args", "vllm: error: unrecognized arguments: --max-modell-len 10"),
    ("config", "failed to load the configuration - plugin instantiation failed: plugin type 'quue-scorer' is not registered"),
    ("image", "exec /app/epp: exec format error"),
    ("F16", "httpx2.ConnectError: [Errno -2] Name or service not known"),
    ("port", "OSError: [Errno 98] Address already in use"),
    ("block_size", "ValueError: No common block size for 16 (CPU_ATTN: [MultipleOf(32)])."),
    ("block_size", "AssertionError: Block size must be a multiple of 16."),
    ("quantization", "  Value error, Unknown quantization method: nonsense. Must be one of ['awq']. [type=value_error, input_value=x, input_type=y]"),
    ("quantization", "ValueError: Quantization method specified in the model config (fp8) does not match the quantization method specified in the argument"),
    ("weights", "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata, file not fully covered"),
    ("weights", "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"),
    ("exception", "ValueError: nobody has written this one down"),
    ("exception", "panic: runtime error: invalid memory address or nil pointer dereference"),
    ("exception", "thread 'main' panicked at 'no such shard', src/main.rs:2:5"),
    ("V1", "ValueError: User-specified max_model_len (65536) is greater than the derived max_model_len (max_position_embeddings=8192)."),
    ("V2", "TimeoutError: Timed out waiting for engine core processes to start. This is often caused by slow weight loading."),
    ("V3", "No available shared memory broadcast block found in 60 seconds."),
    ("V4", "ERROR Worker proc VllmWorker-3 died unexpectedly, shutting down executor."),
    ("V4", "TimeoutError: RPC call to execute_model timed out."),
    ("V5", "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"),
    ("V6", "RuntimeError: The NVIDIA driver on your system is too old (found version 12020)."),
    ("V6", "torch.AcceleratorError: CUDA error: the provided PTX was compiled with an unsupported toolchain."),
    # CUDA's own errors, by number, words and name. llm-d#706, gpustack#4678, huggingface_hub#4134, MiniMax-M2.5#9, nvidia-docker#1256, pytorch#35710.
    ("V6", f"RuntimeError: {_CUDA}803: system has unsupported display driver / cuda driver combination"),
    ("V6", f"RuntimeError: {_CUDA}802: system not yet initialized"),
    ("V6", f"RuntimeError: {_CUDA}804: forward compatibility was attempted on non supported HW"),
    ("V6", f"RuntimeError: {_CUDA}801: operation not supported"),
    ("V6", f"RuntimeError: {_CUDA}999: unknown error"),
    ("V6", f"RuntimeError: {_CUDA}100: no CUDA-capable device is detected"),
    ("V6", f"RuntimeError: {_CUDA}34: CUDA driver is a stub library"),
    ("V6", f"RuntimeError: {_CUDA}35: CUDA driver version is insufficient for CUDA runtime version"),
    ("V6", f"RuntimeError: {_CUDA}36: API call is not supported in the installed CUDA driver"),
    ("V6", "CUDA: Check failed: e == cudaSuccess (803 vs. 0) : error"),
    ("V6", 'CUDA error at bandwidthTest.cu:256 code=802(cudaErrorSystemNotReady) "cudaSetDevice(currentDevice)"'),
    ("V6", "RuntimeError: cuda runtime error (802) : a message in another language"),
    ("V6", "torch.AcceleratorError: CUDA error: unknown error"),
    ("V6", "torch.AcceleratorError: CUDA error: operation not supported"),
    ("V6", "/opt/x.py:174: UserWarning: CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up environment (Triggered internally)"),
    ("V6", "RuntimeError: CUDA driver error: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
    ("V6", "Failed to initialize NVML: Driver/library version mismatch"),
    ("V7", "RuntimeError: No CUDA GPUs are available"),
    ("V7", "RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG`"),
    ("V8", "ValueError: Model architectures ['NewForCausalLM'] are not supported for now."),
    ("V9", "ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8)."),
    ("V10", "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."),
    ("V11", "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"),
]

ANSWERED = [
    ("F11", 500, "ext_proc error: gRPC status 14"),
    ("fault", 500, "fault filter abort"),
    ("F23", 404, "fault filter abort"),
    ("F21", 503, "no healthy upstream"),
    ("F21", 503, ""),
    ("F22", 503, "upstream connect error or disconnect/reset before headers. reset reason: remote connection failure, connection refused"),
    ("F22", 502, "<html>Bad Gateway</html>"),
    ("F23", 404, ""),
    ("F24", 400, "inference gateway: BadRequest - model not found in request body"),
    ("F24", 404, '{"error":{"message":"The model `x` does not exist.","type":"NotFoundError","code":404}}'),
    ("F25", 429, "inference gateway: ServiceUnavailable - sheddable request dropped"),
    ("key", 401, '{"error":"Unauthorized"}'),
    ("key", 403, "Forbidden"),
    ("V10", 500, '{"error":{"message":"EngineCore encountered an issue.","type":"Internal Server Error"}}'),
    ("V10", 200, 'data: {"error":{"message":"EngineDeadError","code":500}}'),
    ("answer", 500, "Internal Server Error"),
    ("hung", 504, "stream timeout"),
]

REFUSED = [
    ("F2", 'no matches for kind "InferencePool" in version "inference.networking.k8s.io/v1"'),
    (
        "F6",
        'customresourcedefinitions "gateways.gateway.networking.k8s.io" is forbidden: ValidatingAdmissionPolicy '
        "'openshift-ingress-operator-gatewayapi-crd-admission' denied request: Gateway API Custom Resource Definitions are managed by the Ingress Operator",
    ),
    ("F32", 'Internal error occurred: failed calling webhook "vleaderworkerset.kb.io": connect: connection refused'),
    ("F45", 'deployments.apps "a" is forbidden: unable to create new content in namespace llm-d because it is being terminated'),
    ("quota", 'pods "a-1" is forbidden: exceeded quota: compute, requested: requests.cpu=2, used: requests.cpu=8, limited: requests.cpu=8'),
    ("scc", 'pods "a-" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'),
    ("account", 'pods "a-" is forbidden: error looking up service account llm-d/sim: serviceaccount "sim" not found'),
]
