# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can no longer become ready, and what still can, from the object, its pods, their events and logs, by the clock of the API server."""

from __future__ import annotations

import datetime
import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.objects import Context, Verdict
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.pod_failures import container_key, containers
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.pod_prospects import BUSY, GRACE, REGISTRY, Around, pod_prospect
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.prospects import prospect
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.readiness.judge import judge
from recorded import changed, condition, recorded

NOW = datetime.datetime(2026, 11, 26, 12, tzinfo=datetime.UTC)
HOUR = 3600.0


def ago(seconds):
    """A timestamp of the API, this many seconds before NOW."""
    return (NOW - datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def event(pod, reason, message, seconds=0.0, first=None, container="c", **more):
    """An event about a pod that last occurred this many seconds ago."""
    about = {"kind": "Pod", "uid": pod["metadata"]["uid"], "fieldPath": f"spec.containers{{{container}}}"}
    stamps = {"lastTimestamp": ago(seconds), "firstTimestamp": ago(seconds if first is None else first)}
    return {"reason": reason, "message": message, "type": "Warning", "involvedObject": about, **stamps, **more}


def around(pod, events=(), log="", **more):
    """The surroundings of one pod. log: of its only container."""
    logs = {container_key(pod, entry): log for entry in containers(pod)}
    return Around(NOW.timestamp(), [pod], {pod["metadata"]["uid"]: list(events)}, logs, **more)


def of_pod(pod, events=(), log="", **more):
    """(what, remedy, hold) of a hopeless pod; None for one in progress."""
    hopeless = pod_prospect(pod, around(pod, events, log, **more))
    return hopeless and (hopeless.what, hopeless.remedy, hopeless.hold)


def container(state, restarts=0, last=None, **more):
    """A pod on a node whose one container is in this state."""
    pod = recorded("pod_bad_image")
    entry = {**pod["status"]["containerStatuses"][0], "state": state, "restartCount": restarts, "lastState": {"terminated": last} if last else {}, **more}
    pod["status"]["containerStatuses"] = [entry]
    condition(pod["status"], "PodScheduled")["lastTransitionTime"] = ago(2)
    return pod


def waiting(reason, message=""):
    return {"waiting": {"reason": reason, "message": message}}


# images


@pytest.mark.parametrize(
    "why",
    ["rpc error: code = NotFound desc = x: not found", "unauthorized: authentication required", "denied: requested access to the resource is denied"],
)
def test_an_image_that_is_not_there_or_refused_is_the_end(why):
    what, remedy, hold = of_pod(container(waiting("ErrImagePull", f"failed to pull: {why}")))
    assert "cannot be pulled" in what and remedy and hold == GRACE


UNREACHABLE = 'failed to pull and unpack image "r.example/a:1": dial tcp: lookup r.example: no such host'


@pytest.mark.parametrize(("seconds", "hold"), [(0, None), (6, None), (8, GRACE), (HOUR, GRACE), (None, 10.0)])
def test_a_registry_that_does_not_answer_has_ten_seconds(seconds, hold):
    pod = container(waiting("ErrImagePull", UNREACHABLE), image="r.example/a:1")
    events = [] if seconds is None else [event(pod, "Failed", f'Failed to pull image "r.example/a:1": {UNREACHABLE}', first=seconds)]
    hopeless = of_pod(pod, events)
    assert (hopeless and hopeless[2]) == hold and (hopeless is None or "no such host" in hopeless[0])


def test_an_image_pull_back_off_is_explained_by_the_event_of_its_image():
    pod = container(waiting("ImagePullBackOff", 'Back-off pulling image "r.example/a:1"'), image="r.example/a:1")
    hopeless = of_pod(pod, [event(pod, "Failed", 'Failed to pull image "r.example/a:1": rpc error: code = NotFound desc = a: not found', 5)])
    assert "not found" in hopeless[0] and hopeless[2] == GRACE
    other = of_pod(pod, [event(pod, "Failed", 'Failed to pull image "r.example/b:1": x: not found', 5)])
    assert other[2] == 10.0, "an event about another image says nothing"


def test_an_image_that_is_pulled_is_under_way():
    pod = container(waiting("ContainerCreating"))
    assert of_pod(pod, [event(pod, "Pulling", 'Pulling image "r.example/a:1"', 900, type="Normal")]) is None


# crashes

ENDED = {"exitCode": 1, "reason": "Error"}
KILLED = {"exitCode": 137, "reason": "OOMKilled"}
NO_COMMAND = {"exitCode": 128, "reason": "StartError", "message": 'exec: "/bin/no": stat /bin/no: no such file or directory: unknown'}
FORBIDDEN = 'E1126 reflector.go:200] failed to list *v1.Pod: pods is forbidden: User "system:serviceaccount:llm-d:sim-epp" cannot list resource "pods"'
UNLISTED = json.dumps({"level": "error", "msg": "Failed to extract GKNN", "error": "the pool has three tongues"})


@pytest.mark.parametrize(
    ("ended", "log", "ends"),
    [
        (ENDED, "unknown flag: --nonsense", 2),
        (ENDED, UNLISTED, 2),
        (ENDED, "panic: no shard 7", 2),
        (KILLED, "", 2),
        (NO_COMMAND, "", 2),
        (ENDED, "", 3),
        (ENDED, "INFO leaving", 3),
        (ENDED, FORBIDDEN, 3),
        (ENDED, "ConnectionRefusedError: [Errno 111] Connection refused", 3),
        ({"exitCode": 0, "reason": "Completed"}, "", 3),
    ],
)
def test_a_crash_loop_is_known_by_its_words_or_by_its_third_end(ended, log, ends):
    for restarts in range(5):
        for state in (waiting("CrashLoopBackOff"), {"terminated": ended}) if ended["exitCode"] else (waiting("CrashLoopBackOff"),):
            hopeless = of_pod(container(state, restarts, ended), log=f"INFO starting\n{log}\n")
            assert bool(hopeless) == (restarts + 1 >= ends), (restarts, state)
    assert hopeless[2] == GRACE and "crashes" in hopeless[0] or "cannot run" in hopeless[0]


def test_the_last_error_in_the_log_is_reported_as_the_cause():
    what, remedy, _hold = of_pod(container(waiting("CrashLoopBackOff"), 1, ENDED), log=f"INFO starting\n{UNLISTED}\n")
    assert what.endswith("(exit code 1, 1 restarts): Failed to extract GKNN: the pool has three tongues") and remedy.startswith("correct what this error names")
    what, remedy, _hold = of_pod(container(waiting("CrashLoopBackOff"), 1, ENDED), log="error: unexpected argument '--nonsense' found\n")
    assert "--nonsense" in what and "does not know this argument" in remedy


def test_a_restarted_container_is_in_progress_despite_errors_in_its_log():
    assert of_pod(container({"running": {"startedAt": ago(2)}}, 7, ENDED), log="unknown flag: --nonsense") is None


def test_an_init_container_that_has_done_its_work_is_no_failure():
    assert of_pod(container({"terminated": {"exitCode": 0, "reason": "Completed"}}, 3, ENDED)) is None


def test_a_missing_secret_is_the_end():
    what, _remedy, hold = of_pod(recorded("pod_nosecret"))
    assert "secret absent, which does not exist" in what and hold == GRACE


# programs that run

POOL = '{"level":"info","msg":"Pool is not initialized, skipping refreshing metrics"}'
LOOKUP = "dial tcp: lookup sim-epp.llm-d.svc.cluster.local on 10.96.0.10:53: no such host"


@pytest.mark.parametrize("line", [FORBIDDEN, POOL, LOOKUP])
def test_a_running_container_that_keeps_logging_the_same_error_is_hopeless(line):
    def hopeless(log, seconds):
        return of_pod(container({"running": {"startedAt": ago(seconds)}}), log=log)

    twice = f"INFO starting\n{line}\nINFO on\n{line}\n"
    words = "Pool is not initialized, skipping refreshing metrics" if line == POOL else line
    assert hopeless(twice, 6)[2] == GRACE and f": {words[:20]}" in hopeless(twice, 6)[0], "of a line of JSON its message"
    assert hopeless(twice, 1) is None, "it has just started"
    assert hopeless(f"{line}\n", 60) is None, "once is nothing"
    behind = hopeless(f"{line}\n{POOL}\n{line}\n{POOL}\n", 6)
    assert f": {words[:20]}" in behind[0], "a pool that is not there follows from what else is missing"
    assert hopeless(twice + "INFO loading\n" * 40, 60) is None, "it has gone on"


def test_a_model_that_is_loaded_is_under_way():
    pod = container({"running": {"startedAt": ago(900)}})
    refused = event(pod, "Unhealthy", 'Startup probe failed: Get "http://10.0.0.5:8000/health": dial tcp 10.0.0.5:8000: connect: connection refused', 1)
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 8000}]
    log = "INFO Loading weights took 20 s\nWARNING NCCL error: retrying\nWARNING NCCL error: retrying\n"
    assert of_pod(pod, [refused], log) is None
    assert of_pod(pod, [event(pod, "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")], log) is None


@pytest.mark.parametrize(
    "message",
    [
        "Readiness probe failed: HTTP probe failed with statuscode: 404",
        'Startup probe failed: Get "http://10.0.0.5:19000/": dial tcp 10.0.0.5:19000: connect: connection refused',
        'Startup probe failed: timeout: failed to connect service "10.0.0.5:9009" within 1s: context deadline exceeded',
        'Readiness probe failed: error: this server does not have the service: rpc error: code = NotFound desc = unknown service "epp"',
    ],
)
def test_a_probe_with_an_incorrect_path_port_or_service_cannot_succeed(message):
    pod = container({"running": {"startedAt": ago(30)}})
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 8000}, {"containerPort": 9003}]
    what, remedy, hold = of_pod(pod, [event(pod, "Unhealthy", message, 2)])
    assert message in what and remedy and hold == GRACE
    assert of_pod(pod, [event(pod, "Unhealthy", message, 40)]) is None, "of a run before this one"
    assert of_pod(pod, [event(pod, "Unhealthy", message, 2, container="sidecar")]) is None
    young = container({"running": {"startedAt": ago(1)}})
    assert of_pod(young, [event(young, "Unhealthy", message)]) is None


# nodes and volumes


@pytest.mark.parametrize("ready", [True, False])
def test_a_pod_whose_node_remains_not_ready_is_hopeless(ready):
    pod = changed(container({"running": {"startedAt": ago(HOUR)}}, ready=ready), "spec.nodeName", "n1")
    lost = event(pod, "NodeNotReady", "Node is not ready", 30)
    assert of_pod(pod, [lost])[0] == "its node n1 is not ready"
    assert of_pod(pod, [event(pod, "NodeNotReady", "Node is not ready", 5)]) is None, "it may answer again"
    assert of_pod(pod, [lost, event(pod, "Pulled", "Container image is present", 2)]) is None, "it is back"


def unscheduled(seconds, message="0/1 nodes are available: 1 Insufficient nvidia.com/gpu."):
    pod = recorded("pod_unsched")
    condition(pod["status"], "PodScheduled").update(lastTransitionTime=ago(seconds), message=message)
    return pod


@pytest.mark.parametrize(("seconds", "hold"), [(0, None), (2, None), (3, GRACE), (HOUR, GRACE)])
def test_an_unschedulable_pod_is_hopeless_after_three_seconds(seconds, hold):
    hopeless = of_pod(unscheduled(seconds))
    assert (hopeless and hopeless[2]) == hold and (hopeless is None or "nvidia.com/gpu" in hopeless[0])


def test_an_unschedulable_pod_is_in_progress_while_nodes_are_being_added():
    pod = unscheduled(60)
    up = event(pod, "TriggeredScaleUp", "pod triggered scale-up: [{pool 1->2 (max: 3)}]", 50)
    assert of_pod(pod, [up]) is None
    assert of_pod(pod, [event(pod, "Nominated", "Pod should schedule on: nodeclaim/x", 50)]) is None
    assert of_pod(pod, [up, event(pod, "NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached", 10)])
    assert of_pod(pod, [event(pod, "TriggeredScaleUp", "pod triggered scale-up", HOUR)]), "these nodes have not come"
    assert of_pod(changed(pod, "status.nominatedNodeName", "local")) is None, "others make room for it"
    gated = changed(pod, "status.conditions", [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}])
    assert of_pod(gated) is None, "on purpose"


@pytest.mark.parametrize(("seconds", "hold"), [(30, None), (57, GRACE)])
def test_a_node_autoscaler_has_a_minute_to_report(seconds, hold):
    """cluster-autoscaler scans every 10 s; without one, no node is added."""
    hopeless = of_pod(unscheduled(seconds), autoscaled=True)
    assert (hopeless and hopeless[2]) == hold and of_pod(unscheduled(seconds))


def test_the_cause_includes_the_report_of_the_node_autoscaler():
    pod = unscheduled(60)
    refused = event(pod, "NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached", 10)
    assert "nvidia.com/gpu" in of_pod(pod, [refused])[0] and "reports NotTriggerScaleUp: pod didn't trigger scale-up: 1 max" in of_pod(pod, [refused])[0]
    karpenter = event(pod, "FailedScheduling", 'incompatible with nodepool "cpu"', 10, source={"component": "karpenter"})
    assert of_pod(pod, [karpenter], autoscaled=True)[0].endswith('reports FailedScheduling: incompatible with nodepool "cpu"')


def test_a_pod_that_no_scheduler_handles_is_reported_with_its_scheduler_name():
    pod = changed(changed(recorded("pod_unsched"), "status.conditions", []), "spec.schedulerName", "nobody")
    pod["metadata"]["creationTimestamp"] = ago(5)
    assert of_pod(pod) is None
    pod["metadata"]["creationTimestamp"] = ago(60)
    assert "schedulerName nobody" in of_pod(pod)[0]


def claim(phase, *events):
    return {"metadata": {"uid": "claim", "namespace": "n", "name": "weights"}, "status": {"phase": phase}}, {"claim": list(events)}


@pytest.mark.parametrize(
    ("reason", "seconds", "under_way"),
    [
        ("ExternalProvisioning", 20, True),
        ("Provisioning", 20, True),
        ("ProvisioningFailed", 20, False),
        ("FailedBinding", 20, False),
        ("Provisioning", HOUR, False),
    ],
)
def test_a_volume_that_is_made_is_waited_for(reason, seconds, under_way):
    pod = unscheduled(60, "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")
    obj, events = claim("Pending", {"reason": reason, "message": "why", "firstTimestamp": ago(seconds), "lastTimestamp": ago(1)})
    hopeless = pod_prospect(pod, Around(NOW.timestamp(), [pod], events, claims={"n/weights": obj}))
    assert (hopeless is None) == under_way and (hopeless is None or "volume" in hopeless.what)


@pytest.mark.parametrize(
    ("code", "seconds", "under_way"), [("DeadlineExceeded", 60, True), ("Aborted", 60, True), ("DeadlineExceeded", HOUR, False), ("InvalidArgument", 60, False)]
)
def test_a_claim_is_in_progress_while_its_slow_volume_driver_retries(code, seconds, under_way):
    pod = unscheduled(60, "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")
    why = f'failed to provision volume with StorageClass "filestore": rpc error: code = {code} desc = said by the driver'
    begun = {"reason": "Provisioning", "message": "External provisioner is provisioning", "firstTimestamp": ago(seconds), "lastTimestamp": ago(30)}
    obj, events = claim("Pending", begun, {"reason": "ProvisioningFailed", "message": why, "firstTimestamp": ago(9), "lastTimestamp": ago(9)})
    hopeless = pod_prospect(pod, Around(NOW.timestamp(), [pod], events, claims={"n/weights": obj}))
    assert (hopeless is None) == under_way


def test_an_unscheduled_pod_is_in_progress_while_its_volume_is_provisioned():
    pod = changed(recorded("pod_unsched"), "status.conditions", [])
    pod["metadata"]["creationTimestamp"] = ago(60)
    obj, events = claim("Pending", {"reason": "ExternalProvisioning", "message": "waiting", "firstTimestamp": ago(50), "lastTimestamp": ago(1)})
    assert pod_prospect(pod, Around(NOW.timestamp(), [pod], events, claims={"n/weights": obj})) is None
    assert pod_prospect(pod, Around(NOW.timestamp(), [pod], {}, claims={"n/weights": obj}))


def test_a_claim_that_does_not_exist_is_the_end():
    pod = unscheduled(1, 'persistentvolumeclaim "weights" not found')
    hopeless = of_pod(pod, claims={"n/weights": None})
    assert hopeless == ("PersistentVolumeClaim n/weights does not exist", "create it, or name the right one", GRACE)


def created(*events):
    pod = container(waiting("ContainerCreating"))
    return pod, [event(pod, "Scheduled", "Successfully assigned", 60, type="Normal"), *(event(pod, *each) for each in events)]


def test_a_volume_that_cannot_be_mounted_is_reported_with_its_cause():
    absent = ("FailedMount", 'MountVolume.SetUp failed for volume "key" : secret "key" not found', 1)
    pod, events = created(absent)
    assert 'secret "key" not found' in of_pod(pod, events)[0] and of_pod(pod, events)[2] == GRACE
    pod, events = created(absent, ("Pulling", "Pulling image", 0))
    assert of_pod(pod, events) is None, "it has been created meanwhile"
    server = ("FailedMount", "MountVolume.SetUp failed: mount failed: exit status 32: connection timed out", 1)
    pod, events = created((*server, 10))
    assert of_pod(pod, events) is None
    pod, events = created((*server, 40))
    assert "timed out" in of_pod(pod, events)[0]


HEAD = "Failed to create pod sandbox: rpc error: code = Unknown desc = "


@pytest.mark.parametrize(
    ("message", "seconds", "words"),
    [
        ('failed to get sandbox runtime: no runtime for "nvidia" is configured', 90, "runtime handler"),
        ('failed to get sandbox runtime: no runtime for "nvidia" is configured', 20, None),  # a new node's operator may be at it
        ('RuntimeClass.node.k8s.io "nvidia" not found', 1, "RuntimeClass"),
        ("failed to reserve sandbox name: name is reserved for 4f5", 200, None),
        ("failed to reserve sandbox name: name is reserved for 4f5", 400, "slow"),
    ],
)
def test_a_sandbox_that_cannot_be_made(message, seconds, words):
    pod, events = created(("FailedCreatePodSandBox", HEAD + message, 1, seconds))
    hopeless = of_pod(pod, events)
    assert (hopeless is None) == (words is None) and (hopeless is None or words in hopeless[1])


def test_of_volumes_the_event_with_the_cause_counts():
    pod, events = created(
        ("FailedMount", "MountVolume.SetUp failed: mount.nfs: access denied by server", 2, 100),
        ("FailedMount", "Unable to attach or mount volumes: timed out waiting for the condition", 1),
    )
    assert "access denied" in of_pod(pod, events)[0] and "exports" in of_pod(pod, events)[1]


@pytest.mark.parametrize(("message", "hold"), [("context deadline exceeded", BUSY), ("apparmor: no such profile", REGISTRY)])
def test_a_slow_container_runtime_gets_more_time_than_an_invalid_container(message, hold):
    assert of_pod(container(waiting("CreateContainerError", message)))[2] == hold


# workloads and objects of the Gateway API


def deployment(pods=(), **status):
    obj = recorded("deployment")
    obj["status"].update({"updatedReplicas": 1, "availableReplicas": 1, "replicas": 1, **status})
    return obj, Context(list(pods))


def of(obj, context=None, **more):
    """(reason, what, hold) of a hopeless object."""
    verdict = judge(obj, context or Context())
    hopeless = prospect(obj, verdict, Around(NOW.timestamp(), list((context or Context()).pods), **more))
    assert not verdict.ready
    return hopeless and (verdict.reason, hopeless.what, hopeless.hold)


def test_an_absent_object_is_hopeless_at_once():
    hopeless = prospect(None, judge(None), Around(0.0))
    assert (hopeless.what, hopeless.hold) == ("does not exist", 0.0) and hopeless.remedy


def test_an_object_being_deleted_is_hopeless():
    obj = changed(recorded("deployment"), "metadata.deletionTimestamp", ago(1))
    assert of(obj)[2] == GRACE


def test_a_rollout_is_under_way_until_its_deadline():
    obj, context = deployment([container({"running": {"startedAt": ago(60)}})])
    assert of(obj, context) is None
    condition(obj["status"], "Progressing").update(status="False", reason="ProgressDeadlineExceeded")
    assert "no progress for 180 s" in of(obj, context)[1]
    newer = changed(obj, "metadata.generation", 2)
    assert (
        of(
            newer,
            context,
        )
        is None
        or "deadline" not in of(newer, context)[1]
    ), "that was the rollout before"
    assert of(changed(obj, "spec.paused", True), context) is None, "on purpose"


def test_one_pod_of_many_that_cannot_run_is_the_end():
    well = recorded("pod_ready")
    obj, context = deployment([well, container(waiting("ContainerCreating")), container(waiting("ErrImagePull", "x: not found"))], availableReplicas=2)
    assert "cannot be pulled" in of(obj, context)[1]


def test_a_new_pod_that_cannot_run_beside_an_old_one_that_does():
    obj, context = deployment([container(waiting("ErrImagePull", "x: not found"))], updatedReplicas=4, availableReplicas=4, replicas=5)
    reason, what, _hold = of(obj, context)
    assert reason.startswith("4/4 ready, 1 old still there (image") and what in reason


@pytest.mark.parametrize(
    "message",
    [
        'pods "a" is forbidden: exceeded quota: full, requested: pods=1, used: pods=1, limited: pods=1',
        'Internal error occurred: failed calling webhook "check.example.com": service "nobody" not found',
        'pods "a" is forbidden: error looking up service account n/a: serviceaccount "a" not found',
    ],
)
def test_pods_that_are_not_created(message):
    obj, context = deployment()
    obj["status"]["conditions"].append({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message})
    assert message[-40:] in of(obj, context)[1]
    sets = {"kind": "StatefulSet", "apiVersion": "apps/v1", "metadata": {"uid": "s", "generation": 1}, "spec": {"replicas": 2}}
    sets["status"] = {"observedGeneration": 1, "replicas": 0}
    failed = {"reason": "FailedCreate", "message": message, "lastTimestamp": ago(5)}
    assert message[-40:] in of(sets, events={"s": [failed]})[1]
    assert of(sets, events={"s": [failed, {"reason": "SuccessfulCreate", "lastTimestamp": ago(1)}]}) is None


@pytest.mark.parametrize(("seconds", "hold"), [(1, None), (20, None), (40, GRACE)])
def test_a_change_that_its_controller_does_not_see(seconds, hold):
    for name in ("deployment", "gateway", "httproute"):
        obj = changed(recorded(name), "metadata.generation", 2)
        obj["metadata"]["creationTimestamp"] = ago(HOUR)
        obj["metadata"]["managedFields"] = [{"time": ago(seconds)}, {"time": ago(0), "subresource": "status"}]
        hopeless = of(obj)
        assert (hopeless and hopeless[2]) == hold, name


def route(status, reason, seconds, created=HOUR):
    obj = recorded("httproute")
    obj["metadata"]["creationTimestamp"] = ago(created)
    entry = condition(obj["status"]["parents"][0], "ResolvedRefs")
    entry.update(status=status, reason=reason, lastTransitionTime=ago(seconds), message="said by its controller")
    return obj


def test_an_httproute_is_hopeless_once_its_refusal_persists():
    assert of(route("False", "RefNotPermitted", 0)) is None
    reason, what, hold = of(route("False", "RefNotPermitted", 10))
    assert "RefNotPermitted" in what and what == reason and hold == GRACE


def test_an_address_may_take_minutes():
    def gateway(reason, seconds, status="False", created=HOUR):
        obj = recorded("gateway")
        obj["metadata"]["creationTimestamp"] = ago(created)
        condition(obj["status"], "Programmed").update(status=status, reason=reason, lastTransitionTime=ago(seconds))
        return of(obj)

    assert gateway("AddressNotAssigned", 100) is None and gateway("AddressNotAssigned", 400)
    assert gateway("NoResources", 30) is None and gateway("NoResources", 90)
    assert gateway("Invalid", 30)
    assert gateway("Pending", 56 * 365 * 24 * HOUR, "Unknown", created=20) is None, "a new one has conditions of 1970, of its CRD"
    assert gateway("Pending", 56 * 365 * 24 * HOUR, "Unknown")


def test_a_service_without_the_address_of_a_load_balancer():
    obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"creationTimestamp": ago(60)}, "spec": {"type": "LoadBalancer"}, "status": {"loadBalancer": {}}}
    assert of(obj) is None, "it may take minutes"
    obj["metadata"]["creationTimestamp"] = ago(HOUR)
    assert of(obj)[1:] == ("no load balancer address yet", GRACE)


def test_an_httproute_without_its_gateway_or_a_controller_is_hopeless():
    obj = changed(recorded("httproute"), "status.parents", [])
    obj["metadata"]["creationTimestamp"] = ago(10)
    assert of(obj) is None
    assert of(obj, absent=["Gateway llm-d/llm-d-gateway"])[1] == "Gateway llm-d/llm-d-gateway does not exist"
    obj["metadata"]["creationTimestamp"] = ago(HOUR)
    assert of(obj)[1:] == ("parent llm-d-gateway: no controller has taken it up", GRACE)


@pytest.mark.parametrize(("created", "hold"), [(5, None), (HOUR, 10.0)])
def test_a_pool_that_no_gateway_reports_on(created, hold):
    pool = recorded("inferencepool")
    pool["metadata"]["creationTimestamp"] = ago(created)
    hopeless = prospect(pool, Verdict(False, "Gateway llm-d/ours does not report on it"), Around(NOW.timestamp()))
    assert (hopeless and hopeless.hold) == hold


def test_an_object_of_an_unlisted_kind_stays_in_progress():
    obj = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"creationTimestamp": ago(HOUR)}, "status": {}}
    assert of(obj) is None


@pytest.mark.parametrize("odd", [None, 7, "x", [], {}, [None], [{"state": 7}], [{"state": {"running": 7}}]])
def test_malformed_pods_and_events_raise_no_exception(odd):
    for name in ("pod_bad_image", "pod_unsched"):
        for path in ("status", "spec", "metadata"):
            obj = changed(recorded(name), path, odd)
            surroundings = Around(NOW.timestamp(), [obj], {"": [{"reason": odd, "message": odd}]}, absent=[])
            pod_prospect(obj, surroundings)
            prospect(obj, Verdict(False, "x"), surroundings)
        pod_prospect(changed(recorded(name), "status.containerStatuses" if name == "pod_bad_image" else "status.phase", odd), Around(NOW.timestamp()))
