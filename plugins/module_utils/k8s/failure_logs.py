# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patterns of known failures: in logs of programs, in refusals of the API server. Data only.

In each table the first pattern that matches wins, so specific patterns come before general ones. A pattern is a regular expression, several that are joined
by ` ... `, or a tuple of alternatives of these (common.patterns.LinePattern): the texts are untrusted, so none may take more than linear time.
"""

from __future__ import annotations

from .accelerator_messages import ACCELERATORS

# pattern in a line of a log, code, remedy
LOGS = (
    (
        r'no matches for kind \\*"Inference(Model|Objective|ModelRewrite|Pool)\b|if kind is a CRD, it should be installed',
        "F3",
        "install the CRDs that this scheduler image reads (prerequisites), then restart its Deployment",
    ),
    (
        (
            r"failed to list  ... inferencepools|inferenceobjectives|inferencemodelrewrites|pods ...  forbidden",
            r"is forbidden: User \\*\"system:serviceaccount",
        ),
        "F4",
        "give its service account get, list and watch on that resource",
    ),
    (r"Pool is not initialized", "F5", "check the pool name, namespace and group in the scheduler's arguments against the InferencePool"),
    (
        r"health check requested unknown service|unknown service (envoy|inference)\S*",
        "F50",
        "let the probe name the health service that this image serves, or probe TCP on port 9003",
    ),
    (
        (r"ext_proc_error_gRPC_error_14|first record does not look like a TLS handshake|tls: first record", r"ext_proc ... (TLS|tls) error"),
        "F11",
        "let gateway and endpoint picker agree on TLS: --secure-serving and the policy (or DestinationRule) of the gateway",
    ),
    (
        (r"sheddable request dropped|RejectedCapacity", r"Dropped request ... saturat"),
        "F25",
        "raise the request's priority, the saturation thresholds or the replicas",
    ),
    (r"model not found in request body", "F24", "send `model` with a prompt or messages; use the passthrough parser for other bodies"),
    (
        r"Permission denied: '/\.(cache|config|triton)|getpwuid\(\): uid not found",
        "F12",
        "point HOME, XDG_*, HF_HOME and the cache directories at a writable volume",
    ),
    (
        (
            r"([Ii]llegal|[Ii]nvalid) header (field )?value",
            r"return character\(s\) in header value|failed to parse header value|InvalidHeaderValue|[Nn]ew-?line characters are not allowed in header",
            r"(?:null byte|control characters?|line ?feeds?) (?:detected|found) in headers?|[Hh]eader injection",
        ),
        "F16",
        "a token or key that it sends holds a line end, blanks or quotes: write its Secret again without (--from-file keeps a line end, echo adds one)",
    ),
    (
        (
            r"GatedRepoError|401 Client Error|RepositoryNotFoundError|Cannot access gated repo|is not a valid model identifier listed on",
            r"403  ... gated repo",
        ),
        "F16",
        "check the model's name, the token in its Secret, and that its licence was accepted",
    ),
    (
        r"HfHubHTTPError: 429|429 Client Error",
        "F16",
        "the model repository limits its callers: give a token (model.token_secret), download to one volume for all servers, or use a mirror",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|certificate verify failed",
        "F16",
        "it does not trust the certificate of the model repository, or of a proxy before it: mount the CA and name it in SSL_CERT_FILE and REQUESTS_CA_BUNDLE",
    ),
    (
        r"We couldn't connect to .{1,80}? to load|LocalEntryNotFoundError|OfflineModeIsEnabled",
        "F16",
        "without internet: mount the model and give its path, set HF_HUB_OFFLINE=1; else check egress and proxy",
    ),
    (
        r"NameResolutionError|Temporary failure in name resolution|Name or service not known|Could not resolve host",
        "F16",
        "check DNS, egress and proxy of the cluster, or use a mirror",
    ),
    (
        (r"lookup \S+( on \S+)?: (no such host|server misbehaving)", r"lookup \S ... i/o timeout|connection refused"),
        "dns",
        "check the cluster's DNS (CoreDNS) and the name in the message",
    ),
    # All that a proxy of Envoy Gateway logs when the DNS name of its control plane does not resolve.
    (
        r"gRPC config stream to xds_cluster closed ... no healthy upstream",
        "dns",
        "check the cluster's DNS (CoreDNS), and that the Service of the gateway's controller is there",
    ),
    (r"No available memory for the cache blocks", "F18", "raise gpu_memory_utilization, use more GPUs per replica, or a smaller or quantised model"),
    (
        r"larger than the (maximum number of tokens|available KV cache)|KV cache is needed, which is larger than",
        "F18",
        "lower max_model_len to what the message names, raise the memory utilisation, or use more GPUs per replica",
    ),
    (
        r"Free memory on device ... less than desired GPU memory utilization",
        "F18",
        "another process holds memory of this GPU: free it, or lower gpu_memory_utilization",
    ),
    (
        r"Available memory on node  ... less than requested memory for kv",
        "F18",
        "raise the pod's memory, or correct gpu_memory_utilization: the model's weights leave no room for the cache",
    ),
    *ACCELERATORS,
    (r"No space left on device", "F20", "use a larger volume"),
    (
        r"User-specified max_model_len  ... greater than the derived",
        "V1",
        "lower max_model_len to the model's own, or set VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 knowingly",
    ),
    (
        r"No common block size for|[Bb]lock size must be a multiple of",
        "block_size",
        "set block_size to a multiple of what the message names, or leave it out",
    ),
    (
        r"Unknown quantization method|Cannot find the config file for \S|does not match the quantization method specified",
        "quantization",
        "set quantization to how the weights were quantised, or leave it out: the server then reads it from the model",
    ),
    (
        r"SafetensorError|Cannot find any model weights with|PytorchStreamReader failed",
        "weights",
        "stage the model again: files of its weights are missing, or were copied in part",
    ),
    (r"must be divisible by tensor parallel size", "V9", "use a tensor parallel size that divides the number of attention heads"),
    (r"Model architectures  ... are not supported|failed to be inspected", "V8", "use a newer image, set trust_remote_code, or install what the message names"),
    (
        (r"Worker proc  ... died unexpectedly", r"RPC call to \S+ timed out"),
        "V4",
        "look at the pod's memory limit, /dev/shm and the kernel's log; set NCCL_DEBUG=INFO",
    ),
    (r"Timed out waiting for engine core processes to start", "V2", "raise VLLM_ENGINE_READY_TIMEOUT_S; look at storage speed, and at NCCL"),
    (r"failed calling webhook", "F32", "wait until the webhook's pods are ready; look at its Service and its CA bundle"),
    # In this order: flag and pflag of Go, argparse, click, clap, getopt, Envoy; then an endpoint picker that knows the flag and refuses it.
    (
        (
            r"unknown (shorthand )?flag|flag provided but not defined|flag needs an argument|bad flag syntax",
            r"invalid (argument|(boolean )?value) \S{1,200} for ... flag",
            r"unrecognized arguments|error: argument |error: the following arguments are required|error: ambiguous option",
            r"No such option:? |Error: (Invalid value for|Missing (option|argument)) '|Got unexpected extra argument",
            r"error: (unexpected argument|[Ff]ound argument|invalid value) '|error: the following required arguments were not provided",
            r"unrecognized option '|invalid option -- '|option '\S{1,200}' requires an argument|Unknown argument: -",
            r"PARSE ERROR: Argument: ",
            r"Failed to validate flags",
        ),
        "args",
        "the image does not know this argument, or refuses its value: use the release line that fits the image, or correct extra arguments",
    ),
    (
        r"unable to load config|[Ff]ailed to (load|parse|read) (the )?config|error unmarshaling|invalid configuration|plugin type \S+ is not registered",
        "config",
        "correct the configuration that it is given",
    ),
    (r"exec format error", "image", "the image is built for another processor: use one for this node"),
    (r"[Aa]ddress already in use|EADDRINUSE", "port", "two processes of the pod want one port: give them different ports"),
    (r"Permission denied", "F49", "set fsGroup for the volume, or mount it where the image may write"),
    (r"KeyboardInterrupt: terminated", "F19", "a probe ended it while it was loading: raise the startup probe's failureThreshold, or stage the model before"),
    # Errors that wrap another, or only hint at one, come last: a known cause is above.
    (r"EngineCore encountered a fatal error|EngineDeadError", "V10", "read the first error in the log, then restart the server"),
    (
        r"Engine core initialization failed|EngineCore failed to start|Engine process failed to start|WorkerProc initialization failed",
        "V11",
        "the cause is further up in the log: look for the first traceback",
    ),
    (r"No available shared memory broadcast block found", "V3", "a worker is stuck: look at the other ranks; while a model is first compiled it is no fault"),
)

# Codes of failures that follow from a driver that CUDA cannot use, where another line of the log names it.
FOLLOW_DRIVER = frozenset({"V7", "exception"})
DRIVER = "V6"

# Codes of LOGS that a restart of the container may clear: caused by a part that may still be starting, or by what others use at the moment, and lines that name
# no cause.
PASSING = frozenset(
    {
        "dns",
        "port",
        "F3",
        "F4",
        "F5",
        "F11",
        "F19",
        "F20",
        "F24",
        "F25",
        "F32",
        "F50",
        "V2",
        "V3",
        "V4",
        "V5",
        "V10",
        "V11",
        "gpu_held",
        "gpu_fault",
        "kv_transfer",
    }
)
# The same for exceptions: part of the message.
TRANSIENT = (
    r"connect(ion)?[ _]?(error|refused|reset|closed|aborted|timeout)|couldn't connect|failed to connect|broken pipe|unreachable|no route to host"
    r"|name resolution|name or service not known|no such host|nameresolution|resolve host|gaierror|server misbehaving"
    r"|time(d)?[ -]?out|deadline exceeded|temporar|try again|unavailable|too many requests|\b(429|500|502|503|504)\b|not yet|\bbusy\b|rate limit"
    r"|already in use|no space left|out of memory|free memory on device|leader ?election|\blease|forbidden: user|no matches for kind"
    r"|nccl|gloo|rendezvous|stale file handle|input/output error|webhook"
)

# pattern in the message of the API server or of an admission webhook, code, remedy
REFUSALS = (
    (
        r"managed by the Ingress Operator|openshift-ingress-operator-gatewayapi-crd-admission",
        "F6",
        "OpenShift owns the Gateway API CRDs here: leave them to the platform",
    ),
    (r"failed calling webhook", "F32", "wait until the webhook's pods are ready and its CA bundle is set, then run again"),
    (
        r"admission webhook \S+ denied|ValidatingAdmissionPolicy \S+ with binding \S+ denied",
        "policy",
        "a policy of this cluster refuses it: change what it names in your file, or have its owner make an exception, then run again",
    ),
    (r'is forbidden: User "', "permissions", "have that permission granted, or use an account that has it; playbooks/preflight.yml names all that are lacking"),
    (
        r"no matches for kind|could not find the requested resource|ensure CRDs are installed first",
        "F2",
        "install the CRD in the requested version, or request the version that is served",
    ),
    (r"exceeded quota", "quota", "raise the quota, or lower requests and replicas"),
    (r"security context constraint|violates PodSecurity|PodSecurity", "scc", "correct the security context, or grant the policy to the service account"),
    (r"serviceaccount  ... not found", "account", "create the service account"),
    (r"is being terminated|being terminated", "F45", "wait until the namespace is gone, then create it again"),
)
