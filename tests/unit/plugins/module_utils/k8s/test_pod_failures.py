# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The failure catalogue, on the words that kubelet, scheduler and programs really use."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.text import redact, shorten
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.node_failures import event_time
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.pod_failures import last_line, log_failure, pod_activity, pod_failure
from hypothesis import given
from hypothesis import strategies as st
from recorded import changed, recorded

STATE = "status.containerStatuses.0.state"


def waiting(reason, message=""):
    return changed(recorded("pod_bad_image"), STATE, {"waiting": {"reason": reason, "message": message}})


@pytest.mark.parametrize(
    "reason, message, words, terminal",
    [
        ("ErrImagePull", 'failed to resolve reference "r/i:t": r/i:t: not found', "not found", True),
        ("ImagePullBackOff", 'Back-off pulling image "r/i:t": ErrImagePull: failed to authorize: 401 Unauthorized', "401 Unauthorized", True),
        ("ErrImagePull", "toomanyrequests: You have reached your pull rate limit", "rate limit", False),
        ("ErrImagePull", "dial tcp: lookup registry.example.com: no such host", "no such host", False),
        ("ErrImagePull", "tls: failed to verify certificate: x509: certificate signed by unknown authority", "unknown authority", False),
        ("ImagePullBackOff", "", "ImagePullBackOff", False),
        ("InvalidImageName", 'couldn\'t parse image name "a b"', "no valid name", True),
        ("ErrImageNeverPull", "", "may not be pulled", True),
    ],
)
def test_images(reason, message, words, terminal):
    trouble = pod_failure(waiting(reason, message))
    assert trouble.code == "F34" and words in trouble.what and trouble.terminal is terminal and trouble.remedy


HEAD = 'failed to pull and unpack image "r/mtls-proxy:1"'
NO_ROOM = HEAD + ": failed to extract layer sha256:ab403bce: write /var/lib/containerd/io.x/a: no space left on device: unknown"
OTHER = 'choosing image instance: no image found in image index for architecture "arm64", variant "v8", OS "linux"'
DIGEST = 'failed to resolve reference "r/x@sha256:ab403bce": failed to do request: Head "https://r/v2/x/manifests/sha256:ab429": dial tcp: i/o timeout'
REJECTED = "image pull failed for r/x because the signature validation failed: Source image rejected: A signature was required, but no signature exists"


@pytest.mark.parametrize(
    "reason, message, words, remedy, terminal",
    [
        ("ErrImagePull", NO_ROOM, "no space left on device", "free space on the node's disk", False),
        ("ErrImagePull", HEAD + ": no match for platform in manifest: not found", "no match for platform in manifest", "the node's processor", True),
        ("ErrImagePull", OTHER, 'no image found in image index for architecture "arm64"', "the node's processor", True),
        ("ErrImagePull", DIGEST, "i/o timeout", "cannot reach the registry", False),
        ("ErrImagePull", HEAD + ': failed to do request: Head "https://r/v2": net/http: TLS handshake timeout', "TLS handshake timeout", "cannot reach", False),
        ("ErrImagePull", HEAD + ": read tcp 10.0.0.1:443: connection reset by peer", "connection reset by peer", "cannot reach the registry", False),
        ("SignatureValidationFailed", REJECTED, "rejected", "sign the image", True),
        ("RegistryUnavailable", "image pull failed for r/x because the registry is unavailable", "unavailable", "registry", False),
    ],
)
def test_names_and_digests_do_not_mislead_the_cause_of_a_failed_image_pull(reason, message, words, remedy, terminal):
    trouble = pod_failure(changed(waiting(reason, message), "status.containerStatuses.0.image", "r/mtls-proxy:1"))
    assert trouble.code == "F34" and words in trouble.what and remedy in trouble.remedy and trouble.terminal is terminal


@pytest.mark.parametrize("message", ["failed to sync secret cache: timed out waiting for the condition", "services have not yet been read at least once"])
def test_an_unsynced_kubelet_cache_is_not_a_terminal_failure(message):
    assert not pod_failure(waiting("CreateContainerConfigError", message)).terminal


@pytest.mark.parametrize(
    "message, what, remedy",
    [
        ('secret "llm-d-hf-token" not found', "needs the secret llm-d-hf-token", "create the secret llm-d-hf-token"),
        ('configmap "sim-epp" not found', "needs the configmap sim-epp", "create the configmap sim-epp"),
        ("couldn't find key HF_TOKEN in Secret llm-d/llm-d-hf-token", "has no key HF_TOKEN", "add the key HF_TOKEN"),
        ("container has runAsNonRoot and image will run as root", "runAsNonRoot", "correct what the message names"),
    ],
)
def test_container_configuration(message, what, remedy):
    trouble = pod_failure(waiting("CreateContainerConfigError", message))
    assert what in trouble.what and remedy in trouble.remedy and trouble.terminal


@pytest.mark.parametrize(
    "message, code, words",
    [
        ("0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes are available", "F13", "nvidia.com/gpu free"),
        ("0/1 nodes are available: 1 Insufficient cpu. preemption: not helpful", "F35", "enough cpu"),
        ("0/2 nodes are available: 2 node(s) had untolerated taint {nvidia.com/gpu: present}.", "F14", "taint"),
        ("0/2 nodes are available: 2 node(s) had untolerated taint {dedicated: }. preemption: 0/2 nodes are available: 1 Insufficient cpu.", "F14", "taint"),
        ("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.", "F20", "volume"),
        ("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.", "unschedulable", "node affinity"),
    ],
)
def test_scheduling_is_never_final(message, code, words):
    pod = recorded("pod_unsched")
    next(entry for entry in pod["status"]["conditions"] if entry["type"] == "PodScheduled")["message"] = message
    trouble = pod_failure(pod)
    assert trouble.code == code and words in trouble.what and not trouble.terminal


@pytest.mark.parametrize(
    "why, remedy",
    [
        ("2 node(s) had untolerated taint {nvidia.com/gpu: present}", "tolerate the taint nvidia.com/gpu: present"),
        ("2 node(s) had untolerated taint(s)", "see the taints of the nodes (kubectl describe nodes), and tolerate the one that is meant"),
        ("2 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }", "free space on the node's disk"),
        ("2 node(s) had untolerated taint {node.kubernetes.io/unschedulable: }", "the node was cordoned: uncordon it (kubectl uncordon)"),
        ("2 node(s) had untolerated taint {node.kubernetes.io/unreachable: }", "the node is not ready: check its kubelet and its network"),
        ("2 Too many pods", "lower the replicas, or add a node"),
    ],
)
def test_each_taint_or_pod_limit_of_a_node_has_its_own_remedy(why, remedy):
    message = f"0/2 nodes are available: {why}. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    pod = recorded("pod_unsched")
    next(entry for entry in pod["status"]["conditions"] if entry["type"] == "PodScheduled")["message"] = message
    assert pod_failure(pod).remedy == remedy


@pytest.mark.parametrize(
    "message, code, remedy",
    [
        (
            "0/4 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 3 node(s) didn't match Pod's node "
            "affinity/selector.",
            "unschedulable",
            "check node selector",
        ),
        (
            "0/4 nodes are available: 1 node(s) had untolerated taint {nvidia.com/gpu: }, 3 node(s) didn't match Pod's node affinity/selector.",
            "F14",
            "nvidia.com/gpu",
        ),
        ("0/1 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }.", "F14", "control-plane"),
        ("0/3 nodes are available: 3 cannot allocate all claims.", "F13", "ResourceSlice"),
        ('resourceclaim "gpu" not found', "F13", "exist"),
        ("0/3 nodes are available: 3 node(s) didn't have free ports for the requested pod ports.", "port", "hostPort"),
        ("0/3 nodes are available: 3 node(s) didn't match pod topology spread constraints.", "unschedulable", "ScheduleAnyway"),
        ("0/3 nodes are available: 3 node(s) had volume node affinity conflict.", "F20", "zone"),
        (
            "0/3 nodes are available: 3 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode.",
            "F20",
            "one pod at a time",
        ),
        ("0/3 nodes are available: 3 node(s) exceed max volume count.", "F20", "fewer volumes"),
        ("0/3 nodes are available: 3 node(s) were unschedulable.", "F14", "uncordon"),
        ("Scheduling is blocked due to non-empty scheduling gates", "unschedulable", "gate"),
        ("no nodes available to schedule pods", "unschedulable", "add a node"),
        ("0/3 nodes are available: 3 Insufficient hugepages-2Mi.", "F35", "huge pages"),
        ("0/3 nodes are available: 3 Insufficient rdma/ib.", "F13", "device plugin"),
        ("0/3 nodes are available: 3 Insufficient habana.ai/gaudi.", "F13", "operator"),
    ],
)
def test_each_reason_of_the_scheduler_has_its_own_remedy(message, code, remedy):
    pod = recorded("pod_unsched")
    next(entry for entry in pod["status"]["conditions"] if entry["type"] == "PodScheduled")["message"] = message
    assert (failure := pod_failure(pod)).code == code and remedy in failure.remedy and not failure.terminal, failure


@pytest.mark.parametrize(
    "reason, message, code, remedy",
    [
        ("Evicted", "The node was low on resource: memory. Container vllm was using 60Gi, request is 8Gi.", "evicted", "short of memory or disk"),
        ("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 10Gi.", "evicted", "limit of ephemeral-storage"),
        ("Evicted", 'Usage of EmptyDir volume "cache" exceeds the limit "10Gi".', "evicted", "size limit"),
        ("Preempting", "Preempted in order to admit critical pod", "failed", "priority class"),
        ("NodeAffinity", "Pod was rejected: Predicate NodeAffinity failed", "failed", "labels"),
        ("OutOfnvidia.com/gpu", "Pod was rejected: Node didn't have enough resource: nvidia.com/gpu", "failed", "another pod took the resources first"),
        ("UnexpectedAdmissionError", "Allocate failed due to no healthy devices present", "device", "driver"),
        ("UnexpectedAdmissionError", "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu", "F13", "another pod has the devices"),
        ("UnexpectedAdmissionError", "maximum request size for shared resources is 1", "F37", "usually 1"),
        ("Terminated", "Pod was terminated in response to imminent node shutdown.", "failed", "shut down"),
        ("TopologyAffinityError", "Pod was rejected: Resources cannot be allocated with Topology locality", "failed", "NUMA"),
        ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline", "failed", "read its log"),
    ],
)
def test_why_a_node_refused_a_pod_or_gave_it_up(reason, message, code, remedy):
    failure = pod_failure({"status": {"phase": "Failed", "reason": reason, "message": message}})
    assert failure.code == code and remedy in failure.remedy, failure


def test_a_registry_outage_is_not_reported_as_an_access_denial():
    failure = pod_failure(waiting("ErrImagePull", "unexpected status from HEAD request to https://registry/v2/denied/x/manifests/1: 503 Service Unavailable"))
    assert "overloaded" in failure.remedy and not failure.terminal
    assert "registryPullQPS" in pod_failure(waiting("ErrImagePull", "pull QPS exceeded")).remedy


def test_a_command_that_is_not_in_the_image_in_the_words_of_crun():
    failure = pod_failure(waiting("CreateContainerError", "container create failed: executable file `vllm` not found in $PATH: No such file or directory"))
    assert failure.code == "command" and "image" in failure.remedy


@pytest.mark.parametrize(
    "ended, words",
    [
        ({"exitCode": 137, "reason": "OOMKilled"}, "raise its memory limit"),
        ({"exitCode": 137, "reason": "Error"}, "probe"),
        ({"exitCode": 127, "reason": "StartError", "message": 'exec: "vlm": executable file not found'}, "command"),
        ({"exitCode": 1, "reason": "Error", "message": "boom\nRuntimeError: no CUDA device\n"}, "last log lines"),
    ],
)
def test_crashes(ended, words):
    trouble = pod_failure(changed(recorded("pod_crash"), "status.containerStatuses.0.lastState", {"terminated": ended}))
    assert words in trouble.remedy and f"exit code {ended['exitCode']}" in trouble.what
    if "boom" in ended.get("message", ""):
        assert trouble.what.endswith(": RuntimeError: no CUDA device")


SHELL = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error "
    'during container init: exec: "{}": {}: unknown'
)


@pytest.mark.parametrize(
    "program, why", [("/bin/sh", "stat /bin/sh: no such file or directory"), ("vlm", "executable file not found in $PATH"), ("/x", "permission denied")]
)
def test_a_command_that_the_image_does_not_have(program, why):
    error = f'exec: "{program}": {why}'
    ended = {"exitCode": 128, "reason": "StartError", "message": SHELL.format(program, why)}
    for pod in (
        changed(recorded("pod_crash"), "status.containerStatuses.0.lastState", {"terminated": ended}),
        waiting("RunContainerError", SHELL.format(program, why)),
    ):
        trouble = pod_failure(pod)
        assert trouble.code == "command" and trouble.what.endswith(f"cannot run its command: {error}") and "image" in trouble.remedy


def test_a_container_that_was_killed_for_its_memory():
    ended = {"exitCode": 137, "reason": "OOMKilled"}
    trouble = pod_failure(changed(recorded("pod_crash"), "status.containerStatuses.0.lastState", {"terminated": ended}))
    assert trouble.code == "F18" and trouble.what == "container c crashes (exit code 137, 4 restarts): out of memory"


def test_pods_that_failed_for_good():
    refused = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "Allocate failed: maximum request size for shared resources is 1"}
    assert pod_failure({"status": refused}).code == "F37" and pod_failure({"status": refused}).terminal
    assert not pod_failure({"status": {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}}).terminal


def test_a_pod_that_is_ready_or_being_deleted_has_no_failure():
    assert pod_failure(changed(recorded("pod_crash"), "metadata.deletionTimestamp", "2026-11-21T09:00:00Z")) is None
    assert pod_failure(recorded("pod_ready")) is None


def test_pod_activity_reports_scheduling_starts_restarts_and_failing_probes():
    assert pod_activity({"status": {}}, []) == "not scheduled yet"
    running = changed(recorded("pod_bad_image"), STATE, {"running": {}})
    assert pod_activity(running, []) == "starting"
    events = [
        {"reason": "Unhealthy", "lastTimestamp": "2026-11-21T09:00:02Z", "involvedObject": {"uid": running["metadata"]["uid"]}},
        {"reason": "Started", "lastTimestamp": "2026-11-21T09:00:01Z", "involvedObject": {"uid": running["metadata"]["uid"]}},
    ]
    assert pod_activity(running, events) == "its probe fails"
    assert pod_activity(running, [{**events[0], "reason": "NodeNotReady"}]) == "its node is not ready"
    assert pod_activity(changed(recorded("pod_crash"), STATE, {"running": {}}), []) == "starting again after 4 restarts"


@pytest.mark.parametrize(
    "line, code",
    [
        ('E1121 08:37:06.245492 1 main.go:44] "failed to read configuration" err="unknown flag: --nonsense"', "args"),
        ("vllm: error: unrecognized arguments: --max-modell-len 10", "args"),
        ('failed to setup: no matches for kind "InferenceObjective" in version "inference.networking.x-k8s.io/v1alpha2"', "F3"),
        ('failed to list *v1.Pod: pods is forbidden: User "system:serviceaccount:llm-d:sim-epp" cannot list resource "pods"', "F4"),
        ("OSError: [Errno 13] Permission denied: '/.cache'", "F12"),
        ("huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1)", "F16"),
        ("requests.exceptions.ConnectionError: NameResolutionError('huggingface.co')", "F16"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "F18"),
        ("ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (30000)", "F18"),
        ("OSError: [Errno 28] No space left on device", "F20"),
        ("exec /app/epp: exec format error", "image"),
    ],
)
def test_logs(line, code):
    trouble = log_failure(f"INFO starting\n{line}\nINFO leaving\n")
    assert trouble.code == code and trouble.remedy and trouble.what == line


def test_a_log_without_known_errors_has_no_failure():
    assert log_failure("INFO all is well\n") is None
    assert last_line("one\ntwo\n\n  \n") == "two" and last_line("") == ""


@pytest.mark.parametrize(
    "secret",
    [
        "hf_abcdEFGH1234567890",
        "sk-proj-abcdefghijklmnop",
        "ghp_0123456789abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl",
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "token {}",
        "using '{}' now",
        "Authorization: Bearer {}",
        '{{"api_key": "{}"}}',
        "HF_TOKEN={}",
        "https://user:{}@example.com/x",
    ],
)
def test_secrets_are_removed_wherever_they_stand(secret, text):
    assert secret not in redact(text.format(secret)) and "(removed)" in redact(text.format(secret))


@pytest.mark.parametrize(
    "text",
    [
        "password=correct-horse",
        "passwd: hunter22",
        "AWS_SECRET_ACCESS_KEY=abc/def+ghi",
        "https://me:pass1234@host/",
        "--api-key=abcdef",
        "non-default args: {'api_key': ['correct-horse'], 'port': 8000}",
    ],
)
def test_named_secrets_are_removed(text):
    assert "(removed)" in redact(text) and not any(word in redact(text) for word in ("correct-horse", "hunter22", "abc/def", "pass1234", "abcdef"))


@pytest.mark.parametrize(
    "text",
    [
        "0/4 ready",
        'secret "llm-d-hf-token" not found',
        "max tokens 16",
        "--prefill-time-per-token=500us",
        "max_tokens: 16384",
        "http://10.216.0.171:80/v1",
    ],
)
def test_plain_words_stay(text):
    assert redact(text) == text


@given(st.text())
def test_shorten_gives_one_short_line(text):
    assert "\n" not in shorten(text) and len(shorten(text)) <= 244


def test_events_sort_by_their_time():
    events = recorded("events_bad_image")
    assert sorted(events, key=event_time)[0]["reason"] == "Scheduled"
