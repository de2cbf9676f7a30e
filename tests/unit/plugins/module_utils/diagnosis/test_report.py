# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A healthy stack has no finding; each way to break it is the first or second finding; every entry of the catalog can be reported."""

from __future__ import annotations

import copy
import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis import finding, gateway, report, wanted
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis import pods as diagnosis_pods
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.catalog import CATALOG
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.snapshot import Snapshot, option
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.drift import Difference, Drift
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from failure_examples import ANSWERED, LOG_LINES, REFUSED
from hypothesis import given
from hypothesis import strategies as st
from node_events import EVENTS
from planned_pods import main
from property_tests import examples
from recorded import condition, recorded
from stack_objects import CONTROLLER, NAMESPACE, broken_server, healthy, planned, pod_of, server

DECODE, EPP = "sim-decode", "sim-epp"


def get(snap, kind, name):
    return next(obj for obj in snap.objects[kind] if obj["metadata"]["name"] == name)


def remove(snap, kind, name):
    snap.objects[kind] = [obj for obj in snap.objects[kind] if obj["metadata"]["name"] != name]


def pods(snap, prefix):
    return [pod for pod in snap.objects["Pod"] if pod["metadata"]["name"].startswith(prefix)]


def unready(snap, prefix, log="", status=None, recorded_as=None):
    """Makes the pods of a part unready, with the status of a recorded pod or of a container, and sets the answer of the gateway."""
    for pod in pods(snap, prefix):
        pod["status"]["conditions"] = [{"type": "Ready", "status": "False"}, {"type": "PodScheduled", "status": "True"}]
        name = pod["spec"]["containers"][0]["name"]
        pod["status"]["containerStatuses"] = [{"name": name, "ready": False, "restartCount": 0, "image": "r/i:t", "state": {"running": {}}, **(status or {})}]
        if recorded_as:
            pod["status"] = recorded(recorded_as)["status"]
            name = pod["status"].get("containerStatuses", [{"name": name}])[0]["name"]
        snap.logs[f"{pod['metadata']['namespace']}/{pod['metadata']['name']}/{name}"] = log
    part = get(snap, "Deployment", prefix)
    part["status"].update(readyReplicas=0, availableReplicas=0)
    if prefix == DECODE:
        snap.servers = []
    fails(snap, 503, "no healthy upstream" if prefix == DECODE else "")


def fails(snap, status, body, evidence=""):
    """Sets the answer of the gateway."""
    for entry in snap.answers:
        entry.update(ok=False, status=status, body=body, evidence=evidence or f"POST http://10.216.0.161/v1/completions: {status} {body}", picked=False)


CRASH = {
    "restartCount": 5,
    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 2m40s restarting failed container"}},
    "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
}
OOM = {**CRASH, "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}
KILLED = {**CRASH, "lastState": {"terminated": {"exitCode": 137, "reason": "Error"}}}


def waiting(reason, message=""):
    return {"state": {"waiting": {"reason": reason, "message": message}}}


def event(pod, reason, message):
    return {
        "kind": "Event",
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-11-21T09:00:00Z",
        "metadata": {"namespace": NAMESPACE},
        "involvedObject": {"kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]},
    }


BREAKS = {}


def breaks(code, *also):
    """Registers a way to break a stack, and the code that must be first or second."""

    def register(function):
        BREAKS[function.__name__] = (code, function, also)
        return function

    return register


@breaks("scaled")
def picker_scaled_away(snap):
    get(snap, "Deployment", EPP)["spec"]["replicas"] = 0
    snap.objects["Pod"] = [pod for pod in snap.objects["Pod"] if not pod["metadata"]["name"].startswith(EPP)]
    fails(snap, 503, "")


@breaks("absent")
def picker_deleted(snap):
    remove(snap, "Deployment", EPP)
    snap.objects["Pod"] = [pod for pod in snap.objects["Pod"] if not pod["metadata"]["name"].startswith(EPP)]
    fails(snap, 503, "")


@breaks("config")
def incorrect_picker_configuration(snap):
    get(snap, "ConfigMap", EPP)["data"]["config.yaml"] += "  - type: quue-scorer\n"
    unready(snap, EPP, log=LOG_LINES[[code for code, _line in LOG_LINES].index("config")][1], status=CRASH)


@breaks("F21")
def pool_selects_nothing(snap):
    get(snap, "InferencePool", "sim")["spec"]["selector"]["matchLabels"] = {"app": "nothing-like-that"}
    fails(snap, 503, "inference gateway: ServiceUnavailable - failed to find candidate pods")


@breaks("F22")
def incorrect_pool_target_port(snap):
    get(snap, "InferencePool", "sim")["spec"]["targetPorts"] = [{"number": 8200}]
    fails(snap, 503, "upstream connect error or disconnect/reset before headers. reset reason: connection refused")


@breaks("F22")
def incorrect_service_target_port(snap):
    get(snap, "Service", "sim")["spec"]["ports"][0]["targetPort"] = 9999
    fails(snap, 503, "upstream connect error")


@breaks("F8")
def route_on_another_gateway(snap):
    route = get(snap, "HTTPRoute", "sim")
    route["spec"]["parentRefs"][0]["name"] = "other-gateway"
    route["status"] = {"parents": []}
    fails(snap, 404, "")


@breaks("F8")
def route_refused_by_listener(snap):
    entry = condition(get(snap, "HTTPRoute", "sim")["status"]["parents"][0], "Accepted")
    entry.update(status="False", reason="NotAllowedByListeners", message="No listeners included by this parent ref allowed this attachment.")
    fails(snap, 404, "")


@breaks("F10")
def reference_grant_missing(snap):
    route = get(snap, "HTTPRoute", "sim")
    route["spec"]["rules"][0]["backendRefs"][0]["namespace"] = "models"
    entry = condition(route["status"]["parents"][0], "ResolvedRefs")
    entry.update(status="False", reason="RefNotPermitted", message="Backend ref to Service models/sim not permitted by any ReferenceGrant.")
    fails(snap, 500, "")


@breaks("F9")
def pool_not_honoured(snap):
    entry = condition(get(snap, "HTTPRoute", "sim")["status"]["parents"][0], "ResolvedRefs")
    entry.update(status="False", reason="InvalidKind", message="referencing unsupported backendRef: group inference.networking.k8s.io kind InferencePool")
    fails(snap, 500, "")


@breaks("stranger")
def route_of_someone_else_with_a_longer_prefix(snap):
    other = copy.deepcopy(get(snap, "HTTPRoute", "sim"))
    other["metadata"] = {"name": "theirs", "namespace": NAMESPACE, "creationTimestamp": "2026-12-01T00:00:00Z"}
    other["spec"]["rules"][0]["matches"][0]["path"]["value"] = "/v1"
    snap.others.append(other)
    fails(snap, 404, "")


@breaks("stranger")
def policy_of_someone_else_on_the_route(snap):
    refs = [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "sim"}]
    metadata = {"name": "theirs", "namespace": NAMESPACE}
    snap.others.append({"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "SecurityPolicy", "metadata": metadata, "spec": {"targetRefs": refs}})
    fails(snap, 403, "RBAC: access denied")


@breaks("policy")
def network_policy_in_the_way(snap):
    snap.objects["NetworkPolicy"].append(
        {"kind": "NetworkPolicy", "metadata": {"name": "deny-all", "namespace": NAMESPACE}, "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}
    )
    fails(snap, 503, "upstream connect error or disconnect/reset before headers. reset reason: connection timeout")


@breaks("hung")
def server_hung_but_listening(snap):
    broken_server(snap, 0, "completions", "timeout", "POST /v1/completions of Pod llm-d/a: did not answer within 5 s")


@breaks("hung")
def server_answers_500(snap):
    broken_server(snap, 0, "completions", "status", "POST /v1/completions: 500 Internal Server Error")
    fails(snap, 500, "Internal Server Error")


@breaks("hung")
def error_inside_the_stream(snap):
    broken_server(snap, 0, "completions_streamed", "error_in_stream", "answered 200, then an error in event 1: 'EngineDeadError'")


@breaks("slow")
def one_slow_replica(snap):
    snap.differences = [
        {
            "service": "sim",
            "code": "slow",
            "what": "one server is much slower than the others",
            "where": "Pod llm-d/b",
            "evidence": "its completions took 4000 ms, those of the others 8 ms",
            "remedy": "look at its node",
        }
    ]


@breaks("metrics")
def incorrect_metrics_path(snap):
    broken_server(snap, 0, "metrics", "not_found", "GET /metrics: 404 Not Found", "serving")


@breaks("mixed")
def models_mixed(snap):
    snap.differences = [
        {
            "service": "sim",
            "code": "mixed_models",
            "what": "the servers differ in models",
            "where": "Pod llm-d/a, Pod llm-d/b",
            "evidence": "m: a; n: b",
            "remedy": "finish the rollout",
        }
    ]


@breaks("controller")
def gateway_controller_down(snap):
    get(snap, "Deployment", "envoy-gateway")["spec"]["replicas"] = 0


@breaks("controller", "F34")
def gateway_controller_broken(snap):
    get(snap, "Deployment", "envoy-gateway")["status"] = {"observedGeneration": 1, "replicas": 1}
    unready(snap, "envoy-gateway", status=waiting("ImagePullBackOff", "manifest unknown"))
    snap.answers = healthy().answers


@breaks("F17")
def secret_missing(snap):
    unready(snap, DECODE, recorded_as="pod_nosecret")


@breaks("quota")
def quota_used_up(snap):
    deployment = get(snap, "Deployment", DECODE)
    deployment["status"] = {
        "observedGeneration": 1,
        "conditions": [
            {
                "type": "ReplicaFailure",
                "status": "True",
                "reason": "FailedCreate",
                "message": 'pods "sim-decode-1" is forbidden: exceeded quota: compute, requested: cpu=2, used: cpu=8, limited: cpu=8',
            }
        ],
    }
    snap.objects["Pod"] = [pod for pod in snap.objects["Pod"] if not pod["metadata"]["name"].startswith(DECODE)]
    snap.servers = []
    fails(snap, 503, "no healthy upstream")


@breaks("scc")
def pod_security_refuses(snap):
    quota_used_up(snap)
    get(snap, "Deployment", DECODE)["status"]["conditions"][0]["message"] = 'pods "a-" is forbidden: violates PodSecurity "restricted:latest"'


@breaks("account")
def service_account_gone(snap):
    quota_used_up(snap)
    message = 'pods "a-" is forbidden: error looking up service account: serviceaccount "sim" not found'
    get(snap, "Deployment", DECODE)["status"]["conditions"][0]["message"] = message


@breaks("dns")
def cluster_dns_down(snap):
    snap.objects["Deployment"].append(
        {
            "kind": "Deployment",
            "metadata": {"name": "coredns", "namespace": "kube-system", "labels": {"k8s-app": "kube-dns"}},
            "spec": {"replicas": 2},
            "status": {"replicas": 2},
        }
    )


@breaks("dns")
def dns_that_is_no_deployment_down(snap):
    """The proxy has restarted since; it resolves its control plane by name, so it never receives a configuration."""
    proxy = next(pod for pod in snap.objects["Pod"] if pod["metadata"]["name"].startswith("envoy-llm-d-gateway"))
    proxy["status"]["conditions"][0]["status"] = "False"
    proxy["status"]["containerStatuses"] = [{"name": "envoy", "ready": False, "started": False, "restartCount": 0, "state": {"running": {}}}]
    snap.objects["Event"].append(event(proxy, "Unhealthy", 'Startup probe failed: Get "http://10.215.0.9:19003/ready": connect: connection refused'))
    snap.logs[f"{CONTROLLER}/{proxy['metadata']['name']}/envoy"] = next(line for _code, line in LOG_LINES if "xds_cluster" in line)
    programmed = condition(get(snap, "Gateway", "llm-d-gateway")["status"], "Programmed")
    programmed.update(status="False", reason="NoResources", message="Envoy replicas unavailable")
    snap.answers[0].update(ok=False, status=None, body="", picked=False, kind="refused", evidence="POST http://10.216.0.161/v1/completions: connection refused")


@breaks("F11")
def picker_with_tls_gateway_without(snap):
    part = get(snap, "Deployment", EPP)["spec"]["template"]["spec"]["containers"][0]
    part["args"] = [argument for argument in part["args"] if not argument.startswith("--secure-serving")]
    fails(snap, 503, "")


@breaks("F26")
def header_override_missing(snap):
    del get(snap, "BackendTrafficPolicy", EPP)["spec"]["loadBalancer"]["endpointOverride"]


@breaks("F26")
def policy_that_asks_the_picker_gone(snap):
    remove(snap, "EnvoyExtensionPolicy", EPP)
    snap.answers[0]["picked"] = False


@breaks("F26")
def route_leads_past_the_pool(snap):
    get(snap, "HTTPRoute", "sim")["spec"]["rules"][0]["backendRefs"][0]["name"] = "another-service"
    snap.answers[0]["picked"] = False


@breaks("absent")
def prefill_pods_gone(snap):
    snap.plan["services"][0]["servers"].append({**snap.plan["services"][0]["server"], "name": "sim-prefill", "role": "prefill"})


@breaks("F34")
def incorrect_image(snap):
    unready(snap, DECODE, recorded_as="pod_bad_image")


SHELL = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error "
    'during container init: exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown'
)


@breaks("command")
def server_image_without_a_shell(snap):
    ended = {"exitCode": 128, "reason": "StartError", "message": SHELL, "startedAt": "1970-01-01T00:00:00Z"}
    unready(snap, DECODE, status={**CRASH, "lastState": {"terminated": ended}})


@breaks("crash")
def server_crash_looping_and_says_nothing(snap):
    unready(snap, DECODE, log="INFO leaving\n", status=CRASH)


@breaks("exception")
def server_crash_looping(snap):
    unready(snap, DECODE, log="Traceback (most recent call last):\nRuntimeError: something that nobody knows\n", status=CRASH)


@breaks("F18")
def server_out_of_memory(snap):
    unready(snap, DECODE, status=OOM)


@breaks("F18")
def accelerator_out_of_memory(snap):
    unready(snap, DECODE, log="ValueError: No available memory for the cache blocks.", status=CRASH)


@breaks("F13")
def accelerator_not_there(snap):
    unready(snap, DECODE, recorded_as="pod_unsched")
    for pod in pods(snap, DECODE):
        condition(pod["status"], "PodScheduled")["message"] = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."


@breaks("F14")
def taint_in_the_way(snap):
    accelerator_not_there(snap)
    for pod in pods(snap, DECODE):
        condition(pod["status"], "PodScheduled")["message"] = "0/2 nodes are available: 2 node(s) had untolerated taint {nvidia.com/gpu: present}."


@breaks("F35")
def no_room_for_the_picker(snap):
    unready(snap, EPP, recorded_as="pod_unsched")
    for pod in pods(snap, EPP):
        condition(pod["status"], "PodScheduled")["message"] = "0/1 nodes are available: 1 Insufficient cpu."


@breaks("unschedulable")
def no_node_matches(snap):
    accelerator_not_there(snap)
    for pod in pods(snap, DECODE):
        condition(pod["status"], "PodScheduled")["message"] = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."


@breaks("F19")
def probe_kills_while_loading(snap):
    unready(snap, DECODE, log="INFO Loading safetensors checkpoint shards: 40%", status=KILLED)
    snap.objects["Event"] += [event(pod, "Unhealthy", "Startup probe failed: HTTP probe failed with statuscode: 503") for pod in pods(snap, DECODE)]


@breaks("F42")
def probe_on_another_port(snap):
    unready(snap, EPP)
    snap.objects["Event"] += [
        event(pod, "Unhealthy", 'Readiness probe failed: Get "http://10.1.2.3:19000/ready": dial tcp 10.1.2.3:19000: connection refused')
        for pod in pods(snap, EPP)
    ]


@breaks("starting")
def still_starting(snap):
    unready(snap, DECODE)


@breaks("create")
def container_cannot_be_created(snap):
    unready(snap, DECODE, status=waiting("CreateContainerError", 'failed to create: executable file "vlm" not found'))


@breaks("F37")
def shared_accelerator(snap):
    unready(snap, DECODE)
    for pod in pods(snap, DECODE):
        pod["status"].update(phase="Failed", reason="UnexpectedAdmissionError", message="Allocate failed: maximum request size for shared resources is 1")


@breaks("evicted")
def evicted(snap):
    unready(snap, DECODE)
    for pod in pods(snap, DECODE):
        pod["status"].update(phase="Failed", reason="Evicted", message="The node was low on resource: memory.")


@breaks("failed")
def failed_for_good(snap):
    unready(snap, DECODE)
    for pod in pods(snap, DECODE):
        pod["status"].update(phase="Failed", reason="DeadlineExceeded", message="Pod was active on the node longer than the specified deadline")


@breaks("F30")
def sidecar_that_never_ends(snap):
    endless(snap, "routing-proxy")


@breaks("F51")
def syncer_that_never_ends(snap):
    endless(snap, "lora-adapter-syncer")


def endless(snap, name):
    unready(snap, DECODE, status=waiting("PodInitializing"))
    for pod in pods(snap, DECODE):
        pod["spec"]["initContainers"] = [{"name": name}]
        pod["status"]["conditions"].append({"type": "Initialized", "status": "False"})
        pod["status"]["initContainerStatuses"] = [{"name": name, "restartCount": 0, "state": {"running": {}}}]


@breaks("F20")
def volume_not_bound(snap):
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "models", "namespace": NAMESPACE, "uid": "uid-claim"}, "status": {"phase": "Pending"}}
    snap.objects["PersistentVolumeClaim"] = [claim]
    for pod in pods(snap, DECODE):
        pod["spec"]["volumes"] = [{"name": "models", "persistentVolumeClaim": {"claimName": "models"}}]
    snap.objects["Event"].append({**event(claim, "ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found')})
    unready(snap, DECODE)


@breaks("F48")
def simulator_asks_for_an_accelerator(snap):
    get(snap, "Deployment", DECODE)["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    accelerator_not_there(snap)


@breaks("F5")
def picker_for_another_pool(snap):
    part = get(snap, "Deployment", EPP)["spec"]["template"]["spec"]["containers"][0]
    part["args"] = [argument.replace("--pool-name=sim", "--pool-name=smi") for argument in part["args"]]
    unready(snap, EPP, log='{"level":"info","msg":"Pool is not initialized"}')


@breaks("F29")
def pools_that_overlap(snap):
    other = copy.deepcopy(get(snap, "InferencePool", "sim"))
    other["metadata"]["name"] = "sim-two"
    snap.objects["InferencePool"].append(other)


@breaks("F28")
def seeds_differ(snap):
    for number, pod in enumerate(pods(snap, DECODE)):
        pod["spec"]["containers"][0]["env"] = [{"name": "PYTHONHASHSEED", "value": str(number)}]


@breaks("F27")
def old_metric_names(snap):
    for entry in snap.servers:
        entry["notes"] = ["vllm:gpu_cache_usage_perc is the old name of vllm:kv_cache_usage_perc: ..."]


@breaks("drift")
def configuration_changed_by_hand(snap):
    snap.drift = [Drift(f"ConfigMap {NAMESPACE}/{EPP}", (Difference("data[config.yaml]", "# by hand in line 9", "(absent)", "kubectl-edit"),))]


@breaks("F7")
def gateway_without_address(snap):
    entry = condition(get(snap, "Gateway", "llm-d-gateway")["status"], "Programmed")
    entry.update(status="False", reason="AddressNotAssigned", message="No addresses have been assigned to the Gateway")
    fails(snap, None, "", "connection refused")


@breaks("F7")
def gateway_class_gone(snap):
    snap.objects["GatewayClass"] = []


@breaks("absent")
def route_deleted(snap):
    remove(snap, "HTTPRoute", "sim")
    fails(snap, 404, "")


@breaks("F23")
def route_path_changed(snap):
    get(snap, "HTTPRoute", "sim")["spec"]["rules"][0]["matches"][0]["path"]["value"] = "/elsewhere"
    fails(snap, 404, "")


@breaks("F52")
def proxy_dials_services(snap):
    snap.objects["EnvoyProxy"].append({"kind": "EnvoyProxy", "metadata": {"name": "llm-d-gateway", "namespace": NAMESPACE}, "spec": {"routingType": "Service"}})


@breaks("F47")
def proxy_is_a_pre_release(snap):
    pods(snap, "envoy-llm-d-gateway")[0]["spec"]["containers"][0]["image"] = "istio/proxyv2:1.28-alpha.2"


@breaks("F41")
def destination_rule_without_istio(snap):
    snap.objects["DestinationRule"] = [{"kind": "DestinationRule", "metadata": {"name": "epp", "namespace": NAMESPACE}, "spec": {"host": EPP}}]


@breaks("namespace")
def namespace_gone(snap):
    for kind in list(snap.objects):
        if kind not in ("Namespace", "Node", "GatewayClass"):
            snap.objects[kind] = [obj for obj in snap.objects[kind] if obj["metadata"].get("namespace") == CONTROLLER]
    remove(snap, "Namespace", NAMESPACE)
    snap.servers, snap.answers, snap.metrics = [], [], {}


@breaks("F45")
def namespace_terminating(snap):
    get(snap, "Namespace", NAMESPACE).update(
        status={
            "phase": "Terminating",
            "conditions": [{"type": "NamespaceFinalizersRemaining", "status": "True", "message": "Some content in the namespace has finalizers remaining"}],
        }
    )


@breaks("F1")
def crds_missing(snap):
    snap.crds = dict.fromkeys(snap.crds)
    snap.absent = ["InferencePool", "Gateway", "HTTPRoute", "GatewayClass"]
    for kind in snap.absent:
        snap.objects.pop(kind)


@breaks("F2")
def crd_in_another_version(snap):
    snap.crds["inferencepools.inference.networking.k8s.io"]["served"] = ["v1alpha2"]


@breaks("F31")
def crd_going_away(snap):
    snap.crds["inferencepools.inference.networking.k8s.io"]["deleting"] = True


@breaks("node")
def node_not_ready(snap):
    snap.objects["Node"][0]["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]


@breaks("F36")
def mig_change_failed(snap):
    snap.objects["Node"][0]["metadata"]["labels"] = {"nvidia.com/mig.config.state": "failed"}


@breaks("F15")
def gpu_operator_without_gpus(snap):
    snap.objects["ClusterPolicy"] = [
        {
            "kind": "ClusterPolicy",
            "metadata": {"name": "gpu"},
            "status": {"state": "notReady", "conditions": [{"type": "Ready", "status": "False", "reason": "NFDLabelsMissing", "message": "No NFD labels"}]},
        }
    ]


@breaks("F33")
def ingress_operator_degraded(snap):
    snap.objects["ClusterOperator"] = [
        {
            "kind": "ClusterOperator",
            "metadata": {"name": "ingress"},
            "status": {"conditions": [{"type": "Degraded", "status": "True", "reason": "GatewayAPIControllerDegraded"}]},
        }
    ]


@breaks("F44")
def helm_release_locked(snap):
    labels = {"owner": "helm", "status": "pending-install", "name": "envoy-gateway"}
    snap.objects["Secret"] = [{"kind": "Secret", "metadata": {"name": "sh.helm.release.v1.envoy-gateway.v1", "namespace": CONTROLLER, "labels": labels}}]


@breaks("F38")
def autoscaler_idle(snap):
    scaler(snap, [{"type": "ScalingActive", "status": "False", "reason": "FailedGetExternalMetric", "message": "unable to get external metric"}])


@breaks("F39")
def two_owners_of_replicas(snap):
    scaler(snap, [])
    owns = {"f:spec": {"f:replicas": {}}}
    get(snap, "Deployment", DECODE)["metadata"]["managedFields"] = [
        {"manager": name, "fieldsV1": owns} for name in ("llm_d.inference", "horizontal-pod-autoscaler")
    ]


def scaler(snap, conditions):
    snap.objects["HorizontalPodAutoscaler"] = [
        {
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "sim", "namespace": NAMESPACE},
            "spec": {"scaleTargetRef": {"name": DECODE}},
            "status": {"conditions": conditions},
        }
    ]


@breaks("F40")
def picker_metrics_forbidden(snap):
    snap.metrics["sim"] = {"status": 401, "text": ""}


@breaks("F43")
def status_stale(snap):
    get(snap, "Deployment", DECODE)["metadata"]["generation"] = 4


@breaks("permissions")
def account_may_not_look(snap):
    snap.objects.pop("NetworkPolicy")
    snap.unread = [{"what": "NetworkPolicy in llm-d", "status": 403, "message": "forbids GET /apis/networking.k8s.io (403)"}]


@breaks("key")
def servers_ask_for_a_key(snap):
    for index in range(len(snap.servers)):
        broken_server(snap, index, "models", "unauthorized", "GET /v1/models: 401 Unauthorized", "alive")
    fails(snap, 401, '{"error":"Unauthorized"}')


@breaks("unreachable")
def gateway_does_not_answer(snap):
    fails(snap, None, "", "POST http://10.216.0.161/v1/completions: connection refused")


@breaks("F25")
def requests_are_shed(snap):
    fails(snap, 429, "sheddable request dropped")


@breaks("answer")
def a_request_fails(snap):
    fails(snap, 500, "oops")


def diagnosed(name):
    code, function, also = BREAKS[name]
    snap = healthy()
    function(snap)
    return code, also, report.diagnose(snap)


def test_a_healthy_stack_has_no_finding():
    assert report.diagnose(healthy()) == []


@pytest.mark.parametrize("preset", ["default", "round_robin", "precise_prefix", "disaggregated"])
def test_no_preset_is_a_finding(preset):
    assert report.diagnose(healthy(planned(scheduler={"preset": preset}))) == []


def test_a_stack_without_a_gateway_is_not_missing_one():
    snap = healthy(planned({"provider": "standalone"}))
    snap.objects.update({kind: [] for kind in ("Gateway", "GatewayClass", "HTTPRoute", "EnvoyExtensionPolicy", "BackendTrafficPolicy", "EnvoyProxy")})
    assert report.diagnose(snap) == []


def test_a_stack_under_full_load_has_no_finding():
    snap = healthy()
    for index in range(len(snap.servers)):
        broken_server(snap, index, "completions", "timeout", "did not answer within 5 s")
        snap.servers[index]["metrics"]["waiting"]["value"] = 40.0
        snap.servers[index]["metrics"]["running"]["value"] = 4.0
    snap.objects["Event"] += [event(pod, "Unhealthy", "Startup probe failed: connection refused") for pod in snap.objects["Pod"]]
    assert report.diagnose(snap) == []


@pytest.mark.parametrize("name", sorted(BREAKS))
def test_each_injected_fault_is_among_the_first_two_findings(name):
    code, also, findings = diagnosed(name)
    first_two = [entry.code for entry in findings[:2]]
    assert code in first_two or set(also) & set(first_two), [(entry.code, entry.weight, entry.where, entry.evidence) for entry in findings]
    named = next(entry for entry in findings if entry.code == code)
    assert named.where and named.evidence and all(named.evidence) and named.remedy and named.what


@pytest.mark.parametrize("cdi, reported", [({}, True), ({"enabled": True}, True), ({"enabled": False}, False)])
def test_device_list_strategy_is_reported_for_a_failing_gpu_operator_with_cdi(cdi, reported):
    """GPU operator 26.7, where CDI is on by default."""
    snap = healthy()
    gpu_operator_without_gpus(snap)
    snap.objects["ClusterPolicy"][0]["spec"] = {"cdi": cdi, "devicePlugin": {"env": [{"name": "DEVICE_LIST_STRATEGY", "value": "envvar"}]}}
    (operator,) = [entry for entry in report.diagnose(snap) if entry.code == "F15"]
    assert any("DEVICE_LIST_STRATEGY" in line and "take it out" in line for line in operator.evidence) == reported


def test_servers_of_the_router_may_hash_as_they_like():
    snap = healthy()
    seeds_differ(snap)
    assert "F28" in [entry.code for entry in report.diagnose(snap)]
    snap.plan["release"]["name"] = "router-0.10"
    assert "F28" not in [entry.code for entry in report.diagnose(snap)]


def test_there_are_more_than_twenty_ways():
    assert len(BREAKS) > 20


def test_every_catalogue_entry_is_covered_by_a_test_case():
    by_objects = {code for code, _function, _also in BREAKS.values()}
    by_words = {row[0] for row in LOG_LINES} | {row[0] for row in ANSWERED} | {row[0] for row in REFUSED} | {row[2] for row in EVENTS}
    elsewhere = {"api", "F46", "claim"}  # tested below, and a port of this host, which is checked where it is used
    assert set(CATALOG) - by_objects - by_words == elsewhere


@pytest.mark.parametrize("code, line", [row for row in LOG_LINES if row[0] not in ("F24", "F25", "F11")])
def test_a_log_of_a_crashing_pod_names_its_cause(code, line):
    snap = healthy()
    unready(snap, DECODE, log=f"INFO starting\n{line}\n", status=CRASH)
    assert code in [entry.code for entry in report.diagnose(snap)[:2]]


def test_an_error_of_a_crashing_pod_outside_the_catalog_is_its_evidence():
    snap = healthy()
    line = '{"level":"error","msg":"Failed to extract GKNN","error":"the pool has three tongues"}'
    unready(snap, DECODE, log=f"INFO starting\n{line}\nINFO leaving\n", status=CRASH)
    (crash,) = [entry for entry in report.diagnose(snap) if entry.code == "crash"]
    assert "its last error: Failed to extract GKNN: the pool has three tongues" in crash.evidence, crash.evidence


def test_drift_ranks_below_failed_servers_and_above_unready_objects():
    weights = [finding.SERVER, finding.DRIFT, finding.UNREADY]
    assert weights == sorted(weights, reverse=True)
    snap = healthy()
    configuration_changed_by_hand(snap)
    (only,) = report.diagnose(snap)
    assert only.what == "data[config.yaml] is not as planned" and only.shown(1)["kind"] == "cause"
    assert only.evidence == ("data[config.yaml] is # by hand in line 9, planned: (absent); last set by kubectl-edit",)


def test_an_object_that_is_missing_or_unreadable_is_reported_once():
    snap = healthy()
    remove(snap, "Service", EPP)
    snap.drift = [Drift(f"Service {NAMESPACE}/{EPP}", missing=True), Drift(f"Role {NAMESPACE}/{EPP}", problem="forbidden")]
    findings = [entry for entry in report.diagnose(snap) if entry.where.endswith(f" {NAMESPACE}/{EPP}")]
    assert [(entry.code, entry.weight) for entry in findings] == [("absent", finding.MISSING), ("permissions", finding.NOTE)]


def test_each_reason_why_objects_are_unreadable_is_reported():
    snap = healthy()
    snap.drift = [Drift(f"Role {NAMESPACE}/{EPP}", problem="forbidden"), Drift(f"Service {NAMESPACE}/{EPP}", problem="timed out")]
    (unread,) = [entry for entry in report.diagnose(snap) if entry.code == "permissions"]
    assert [reason for reason in ("forbidden", "timed out") if reason in " ".join(unread.evidence)] == ["forbidden", "timed out"]


@pytest.mark.parametrize(
    ("policy", "codes"),
    [
        ({"tls": {"mode": "SIMPLE"}}, []),
        ({"portLevelSettings": [{"port": {"number": 9002}, "tls": {"mode": "SIMPLE"}}]}, []),
        ({"tls": {"mode": "SIMPLE"}, "portLevelSettings": [{"port": {"number": 9002}}]}, ["F11"]),
        ({"portLevelSettings": [{"port": {"number": 9003}, "tls": {"mode": "SIMPLE"}}]}, ["F11"]),
        ({}, ["F11"]),
    ],
)
def test_tls_settings_of_the_port_of_the_endpoint_picker_replace_those_of_the_rule(policy, codes):
    snap = healthy()
    snap.plan["gateway"]["provider"] = "istio"
    for service in snap.services:
        service["scheduler"]["args"] = []
    spec = {"host": EPP, "trafficPolicy": policy}
    snap.objects["DestinationRule"] = [{"kind": "DestinationRule", "metadata": {"name": "epp", "namespace": NAMESPACE}, "spec": spec}]
    assert [entry.code for entry in gateway.istio(snap)] == codes


def test_a_policy_for_a_gateway_with_the_name_of_the_route_is_not_that_of_the_route():
    snap = healthy()
    (target,) = get(snap, "BackendTrafficPolicy", EPP)["spec"]["targetRefs"]
    target["kind"] = "Gateway"
    assert "F26" in [entry.code for entry in gateway.policies(snap)]


def test_a_claim_that_fails_without_a_cause_is_reported():
    made = report.report([], {"instance": "llm-d"})
    held = {"id": "sim/serving", "ok": True, "evidence": "answers", "remedy": ""}
    failed = {"id": "sim/sticky", "ok": False, "evidence": "6 requests to 3 servers", "remedy": "look at the picker's log"}
    assert report.with_claims(made, {"claims": [held, held]}) == {**made, "claims": 2, "summary": f"{made['summary']}; 2 claims of the validation hold"}
    assert report.with_claims(made, {"claims": []}) == {**made, "claims": 0}, "none was tried"
    merged = report.with_claims(made, {"claims": [held, failed]})
    assert not merged["ok"] and merged["summary"] == "symptom without a known cause: sim/sticky does not hold (claim sim/sticky)"
    assert [(entry["code"], entry["evidence"], entry["remedy"]) for entry in merged["findings"]] == [("claim", [failed["evidence"]], failed["remedy"])]


def test_an_unreachable_api_server_is_the_only_finding():
    findings = report.unreachable("the Kubernetes API server https://127.0.0.1:1: connection refused")
    assert [entry.code for entry in findings] == ["api"]


def test_many_pods_with_the_same_fault_are_one_finding():
    snap = healthy(planned(replicas=8))
    unready(snap, DECODE, recorded_as="pod_bad_image")
    findings = [entry for entry in report.diagnose(snap) if entry.code == "F34"]
    assert len(findings) == 1 and findings[0].where.count("Pod llm-d/") == 8


def test_the_report_is_json_and_holds_no_secret():
    snap = healthy()
    unready(snap, DECODE, log="boom: password=correct-horse-battery token hf_abcdEFGH1234567890\n", status=CRASH)
    facts = {"instance": "llm-d", "namespace": NAMESPACE, "release": "r", "time": "t", "seconds": 1.0, "not_read": ["x: Bearer abcdefghijkl"]}
    made = report.report(report.diagnose(snap), facts)
    text = json.dumps(made) + "\n".join(report.lines(made)) + report.markdown(made)
    assert made["ok"] is False and made["findings"][0]["rank"] == 1 and "most probable cause: " in made["summary"]
    assert not any(secret in text for secret in ("correct-horse", "hf_abcd", "abcdefghijkl"))
    for word in ("where:", "evidence:", "remedy:"):
        assert word in "\n".join(report.lines(made)) and f"- {word}" in report.markdown(made)


def test_the_report_of_a_healthy_stack():
    made = report.report([], {"instance": "llm-d", "namespace": "llm-d"})
    assert made["ok"] is True and made["findings"] == [] and "no known failure" in made["summary"]


@examples(60)
@given(st.data())
def test_odd_objects_never_stop_a_diagnosis(data):
    snap = healthy()
    junk = st.recursive(st.none() | st.text() | st.integers() | st.booleans(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6)
    kind = data.draw(st.sampled_from(sorted(kind for kind in snap.objects if snap.objects[kind])))
    obj = data.draw(st.sampled_from(snap.objects[kind]))
    obj[data.draw(st.sampled_from(["spec", "status"]))] = data.draw(junk)
    for entry in report.diagnose(snap):
        assert entry.code in CATALOG


def test_an_empty_snapshot():
    assert report.diagnose(Snapshot(planned())) == []


@pytest.mark.parametrize(
    "args, value",
    [
        (["--a=b"], "b"),
        (["--a", "b"], "b"),
        (["--a"], ""),
        (["--a", "--c"], ""),
        (["--ab=c"], None),
        ([], None),
        (["--a", "-1"], "-1"),
        (["--a=b", "--a=c"], "c"),
    ],
)
def test_arguments(args, value):
    assert option(args, "a") == value


def test_the_server_fixture_has_the_keys_that_the_module_returns():
    assert set(server("x")) >= {"server", "ready", "healthy", "level", "engine", "version", "models", "metrics", "checks", "notes"}
    assert pod_of(get(healthy(), "Deployment", DECODE), 0)["status"]["phase"] == "Running"


def test_a_hung_server_with_a_queue_is_no_busy_one():
    snap = healthy()
    broken_server(snap, 0, "completions", "timeout", "did not answer within 5 s")
    snap.servers[0]["metrics"]["waiting"]["value"] = 40.0
    snap.servers[0]["progress"] = True
    assert report.diagnose(snap) == []
    snap.servers[0]["progress"] = False
    assert [entry.code for entry in report.diagnose(snap)] == ["hung"]


def test_no_answer_in_time_while_queues_are_full_is_a_note():
    snap = healthy()
    fails(snap, None, "", "did not answer within 5 s")
    snap.answers[0]["kind"] = "timeout"
    assert report.report(report.diagnose(snap), {})["ok"] is False
    for entry in snap.servers:
        entry["metrics"]["waiting"]["value"] = 9.0
    assert report.report(report.diagnose(snap), {})["ok"] is True


def test_an_error_in_a_proxy_log_is_a_finding_only_while_requests_fail():
    snap = healthy()
    line = next(line for code, line in LOG_LINES if code == "F11")
    snap.logs[f"{CONTROLLER}/envoy-llm-d-gateway-7d9-x2x/envoy"] = line
    assert report.diagnose(snap) == []
    fails(snap, 500, "")
    assert report.diagnose(snap)[0].code == "F11"


def test_dns_errors_are_one_finding_and_are_ignored_while_all_pods_are_ready():
    snap = healthy()
    lines = [line for code, line in LOG_LINES if code == "dns"]
    snap.logs[f"{CONTROLLER}/envoy-llm-d-gateway-7d9-x2x/envoy"] = lines[-1]
    assert report.diagnose(snap) == []
    dns_that_is_no_deployment_down(snap)
    unready(snap, EPP, log=lines[2], status=CRASH)
    (dns,) = [entry for entry in report.diagnose(snap) if entry.code == "dns"]
    assert "envoy-llm-d-gateway" in dns.where and "sim-epp" in dns.where and len(dns.evidence) == 2 and "i/o timeout" in " ".join(dns.evidence)


def test_an_unknown_exception_is_the_cause_of_a_crash_or_evidence_while_running():
    log = "Traceback (most recent call last):\nRuntimeError: something that nobody knows\nRuntimeError: Engine core initialization failed.\n"
    snap = healthy()
    unready(snap, DECODE, log=log, status=CRASH)
    first = report.diagnose(snap)[0]
    assert first.code == "exception" and first.weight == finding.CANNOT_RUN and first.evidence[0] == "RuntimeError: something that nobody knows"
    snap = healthy()
    unready(snap, DECODE, log=log, status={**CRASH, "restartCount": 0, "state": {"running": {}}, "lastState": {}})
    (running,) = [entry for entry in report.diagnose(snap) if entry.code in ("starting", "exception")]
    assert running.code == "starting" and "its log: RuntimeError: something that nobody knows" in running.evidence


def test_a_young_unready_pod_is_a_note_and_an_evicted_pod_is_ignored():
    snap = healthy()
    pod = pod_of(get(snap, "Deployment", DECODE), 7)
    pod["status"]["conditions"][0]["status"] = "False"
    pod["metadata"]["creationTimestamp"], snap.now = "2026-11-21T09:00:00Z", "2026-11-21T09:00:20+00:00"
    snap.objects["Pod"].append(pod)
    assert report.report(report.diagnose(snap), {})["ok"] is True
    snap.now = "2026-11-21T09:05:00+00:00"
    assert [entry.code for entry in report.diagnose(snap)] == ["starting"]
    pod["status"].update(phase="Failed", reason="Evicted")
    assert report.diagnose(snap) == []


def test_a_missing_prefill_service_is_reported_if_the_file_has_prefill_servers():
    snap = healthy(planned(scheduler={"preset": "disaggregated"}))
    before = [entry.where for entry in report.diagnose(snap)]
    remove(snap, "Service", "sim-prefill")
    assert [entry.where for entry in report.diagnose(snap) if entry.where not in before] == [f"Service {NAMESPACE}/sim-prefill"]
    none = healthy(planned(scheduler={"preset": "disaggregated"}, prefill={"replicas": 0}))
    assert not [entry.where for entry in report.diagnose(none) if "sim-prefill" in entry.where], "decode servers prefill where none are requested"


@pytest.mark.parametrize(
    ("break_it", "where"),
    [
        (lambda snap: remove(snap, "Deployment", EPP), "Deployment pickers/sim-epp"),
        (lambda snap: remove(snap, "Service", EPP), "Service pickers/sim-epp"),
        (lambda snap: remove(snap, "ConfigMap", EPP), "ConfigMap pickers/sim-epp"),
        (lambda snap: get(snap, "Service", EPP)["spec"].update(selector={"app": "nothing"}), "Service pickers/sim-epp"),
        (lambda snap: unready(snap, EPP, status=CRASH), "Pod pickers/sim-epp-"),
    ],
)
def test_endpoint_picker_faults_are_reported_in_scheduler_namespace(break_it, where):
    snap = healthy(planned(scheduler_namespace="pickers"))
    assert report.diagnose(snap) == []
    break_it(snap)
    findings = report.diagnose(snap)
    assert findings and where in findings[0].where, [entry.where for entry in findings]


def test_both_namespaces_are_collected():
    listed = wanted.lists(planned(scheduler_namespace="pickers"))
    for kind in ("Pod", "Deployment", "Service", "Event", "NetworkPolicy"):
        assert {place for _version, each, place, *_rest in listed if each == kind} >= {NAMESPACE, "pickers"}, kind
    assert len([each for each in listed if each[1] == "Deployment" and each[2] == NAMESPACE]) == 1


def grouped():
    """The snapshot of a service that spans two nodes: its leader runs, its worker does not."""
    service = {"name": "big", "model": {"uri": "hf://org/big"}, "accelerator": {"per_replica": 16, "nodes": 2}}
    made = plan({"llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"}, "llm_d_model_services": [service]})
    server = made["services"][0]["server"]
    leader = {"metadata": {"labels": server["labels"]}, "spec": {"containers": [{"name": "server", "image": main(server)["image"], "args": server["args"]}]}}
    groups = {
        "apiVersion": server["api_version"],
        "kind": server["kind"],
        "metadata": {"name": "big-decode", "namespace": "llm-d", "generation": 1},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "leaderTemplate": leader}},
        "status": {"observedGeneration": 1},
    }
    worker = recorded("pod_bad_image")
    labels = {**server["worker"]["labels"], "leaderworkerset.sigs.k8s.io/name": "big-decode"}
    owner = {"kind": "StatefulSet", "name": "big-decode-0", "uid": "x"}
    worker["metadata"].update(name="big-decode-0-1", namespace="llm-d", labels=labels, ownerReferences=[owner])
    return Snapshot(made, {"Deployment": [], "LeaderWorkerSet": [groups], "Pod": [worker], "ConfigMap": [], "Event": []})


def test_a_missing_leader_worker_set_is_reported_if_the_kind_was_read():
    snap = grouped()
    assert not [entry for entry in diagnosis_pods.missing(snap) if "big-decode" in entry.where]
    snap.objects["LeaderWorkerSet"] = []
    titles = [entry.what for entry in diagnosis_pods.missing(snap) if entry.where == "LeaderWorkerSet llm-d/big-decode"]
    assert titles == ["the decode servers of big are missing"]
    del snap.objects["LeaderWorkerSet"]
    assert not [entry for entry in diagnosis_pods.missing(snap) if "big-decode" in entry.where], "what was not read is not missed"
    snap.absent.append("LeaderWorkerSet")
    assert [entry.code for entry in diagnosis_pods.missing(snap) if "big-decode" in entry.where] == ["absent"], "none can exist"


def test_a_worker_that_cannot_run_is_reported_with_its_service():
    findings = [entry for entry in diagnosis_pods.pods(grouped()) if "big-decode-0-1" in entry.where]
    assert len(findings) == 1 and findings[0].what.startswith("decode servers of big: ")


def test_groups_with_a_stale_status_are_reported():
    snap = grouped()
    snap.objects["LeaderWorkerSet"][0]["metadata"]["generation"] = 2
    assert [entry.code for entry in diagnosis_pods.stale(snap)] == ["F43"]


def test_groups_are_collected_where_the_plan_has_some():
    assert ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "llm-d", {}, "") in wanted.lists(grouped().plan)
    assert "LeaderWorkerSet" not in [kind for _version, kind, *_rest in wanted.lists(planned())], "no permission is required that the plan does not need"
