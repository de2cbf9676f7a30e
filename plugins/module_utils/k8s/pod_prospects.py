# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a pod that is not ready can still become ready, and why not. Pure. See prospects.prospect."""

from __future__ import annotations

import dataclasses
import itertools
import re

from ..common.objects import Facts, condition, dicts, get_path, mapping, moment, number, text
from ..common.text import shorten
from . import autoscaler_events, node_failures, placement_failures, pod_failures
from .node_failures import Failure, event_time
from .pod_failures import container_key

# Seconds for which a failure has to be observed in any case, since a Secret, a pod or a rule may be on its way.
GRACE = 3.0
# Seconds after which there is no hope: a registry that does not answer; a pod that no node takes; a program that runs, and logs or answers an error;
# a pod that no scheduler has processed; a node that does not answer.
REGISTRY, UNSCHEDULED, RUNS, UNNOTICED, LOST = 10.0, 6.0, 6.0, 15.0, 15.0
# The same for volumes and networks of pods, by the reason of the event: a volume can follow a pod from another node.
SET_UP = {"FailedMount": 30.0, "FailedAttachVolume": 120.0, "FailedCreatePodSandBox": 60.0}
# Seconds that new nodes, new volumes, or a container runtime with much to do may take; after which a node autoscaler has reported on a pod.
NODES, VOLUMES, BUSY, AUTOSCALER = 900.0, 300.0, 300.0, 60.0
ENDS = 3  # ends of a container after which it is in a crash loop, whatever it logs
# Failures of a program that waits for something else, and tries again forever: it lacks a permission, its pool, or a name.
WAITS_FOR = frozenset({"F3", "F4", "F5", "dns"})
FOLLOWS = "F5"  # a consequence of each of the others
LAST_LINES, REPEATS = 30, 2  # lines at the end of the log of a program that runs, and how many of them must have the failure
_REFUSED = re.compile(r"statuscode: (?:400|401|403|404|405|406|410|501)\b")
_PORT = re.compile(r":([0-9]{1,5})(?:/|\"|: connect)")
_CLOSED = re.compile(r"connection refused|failed to connect service")
# A CSI driver that takes longer than its provisioner waits for a response goes on, and is called again.
_SLOW = re.compile(r"code = (?:DeadlineExceeded|Aborted|Unavailable)\b")


@dataclasses.dataclass(frozen=True)
class Hopeless:
    """Why an object cannot become ready. hold: seconds for which a wait has to observe that before it ends."""

    what: str
    remedy: str
    hold: float = GRACE


@dataclasses.dataclass(frozen=True)
class Around:
    """The known surroundings of an object that is not ready.

    now: seconds since the epoch by the clock of the API server; pods: those of the object that are not ready; events: of the object, of these pods and of their
    claims, by uid; logs: of containers, by pod_failures.container_key: the end of the run that ended last, or of the one that runs; claims: the
    PersistentVolumeClaims that the pods name, by `namespace/name`, None where there is none; absent: other objects that it names and that do not exist;
    autoscaled: whether the cluster has a node autoscaler; restarts, again, leaving: see common.objects.Context.
    """

    now: float
    pods: list[Facts] = dataclasses.field(default_factory=list)
    events: dict[str, list[Facts]] = dataclasses.field(default_factory=dict)
    logs: dict[str, str] = dataclasses.field(default_factory=dict)
    claims: dict[str, Facts | None] = dataclasses.field(default_factory=dict)
    absent: list[str] = dataclasses.field(default_factory=list)
    restarts: dict[str, int] = dataclasses.field(default_factory=dict)
    again: dict[str, str] = dataclasses.field(default_factory=dict)
    leaving: bool = False
    autoscaled: bool = False

    def age(self, stamp: object) -> float | None:
        """Seconds since a time of the API; None for anything else."""
        time = moment(stamp)
        return None if time is None else self.now - time.timestamp()

    def of(self, obj: Facts, *reasons: str) -> list[Facts]:
        """The events of an object, oldest first; with `reasons`, those alone."""
        events = self.events.get(text(get_path(obj, "metadata", "uid")), [])
        return sorted((event for event in events if not reasons or event.get("reason") in reasons), key=event_time)


def lasting(failure: Failure | Hopeless, limit: float, age: float | None) -> Hopeless | None:
    """Hopeless once a failure has lasted `limit` seconds; where its age is unknown, once it has been observed for so long."""
    if age is None:
        return Hopeless(failure.what, failure.remedy, limit)
    return Hopeless(failure.what, failure.remedy) if age >= limit - GRACE else None


def pod_prospect(pod: Facts, around: Around) -> Hopeless | None:
    """Why a pod that is not ready cannot become ready; None where it still can."""
    if get_path(pod, "metadata", "deletionTimestamp") or get_path(pod, "status", "phase") == "Succeeded":
        return None
    failure = pod_failures.pod_failure(pod, around.restarts, around.again)
    if failure and failure.terminal:
        return Hopeless(failure.what, failure.remedy)
    if get_path(pod, "status", "phase") == "Failed":
        return None  # its controller makes another one
    for entry in pod_failures.containers(pod):
        if entry.get("ready") is True or get_path(entry, "state", "terminated", "exitCode") == 0:
            continue
        hopeless = _pull(pod, entry, around) or _crash(pod, entry, around) or _running(pod, entry, around)
        if hopeless:
            return hopeless
    return _scheduling(pod, around) or _set_up(pod, around) or _lost(pod, around)


def _pull(pod: Facts, entry: Facts, around: Around) -> Hopeless | None:
    """An image that is refused or not there cannot be pulled; any other failure may pass within REGISTRY seconds."""
    waiting, image = mapping(get_path(entry, "state", "waiting")), text(entry.get("image"))
    reason, message = text(waiting.get("reason")), text(waiting.get("message"))
    if reason not in node_failures.PULL_REASONS:
        return None
    events = [event for event in around.of(pod, "Failed") if image in text(event.get("message"))]
    if reason == "ImagePullBackOff" and "ErrImagePull" not in message and events:
        message = text(events[-1].get("message"))  # before Kubernetes 1.31 the status of a pod that backs off has no cause
    failure = node_failures.pull_failure(reason, message, image)
    if failure.terminal:
        return Hopeless(failure.what, failure.remedy)
    ages = [age for event in events if (age := around.age(event.get("firstTimestamp") or event_time(event))) is not None]
    return lasting(failure, REGISTRY, max(ages, default=None))


def _crash(pod: Facts, entry: Facts, around: Around) -> Hopeless | None:
    """A container that waits to be restarted: after ENDS ends, or after the second with an error that the next run will have as well."""
    state, reason = mapping(entry.get("state")), text(get_path(entry, "state", "waiting", "reason"))
    failure = pod_failures.container_failure(pod, entry, around.restarts)
    if failure is None or not (reason in ("CrashLoopBackOff", "RunContainerError") or "terminated" in state):
        return lasting(failure, BUSY if failure.code == "busy" else REGISTRY, None) if failure and reason == "CreateContainerError" else None
    log, ends = around.logs.get(container_key(pod, entry), ""), number(entry.get("restartCount")) + 1
    end = pod_failures.end_failure(log)
    if ends < (2 if failure.code in ("F18", "command") or pod_failures.lasting_error(log) else ENDS):
        return None
    suffix = f": {end.what}" if end and end.what not in failure.what else ""
    return Hopeless(failure.what + suffix, end.remedy if end else failure.remedy)


def _running(pod: Facts, entry: Facts, around: Around) -> Hopeless | None:
    """A program that runs: it repeatedly logs what it lacks, or it answers its probe with a refusal."""
    running = mapping(entry.get("state")).get("running")
    if running is None:
        return None
    since = get_path(running, "startedAt")
    failure = _repeated(around.logs.get(container_key(pod, entry), "")) or _probe(pod, entry, text(since), around)
    if failure is None:
        return None
    return lasting(dataclasses.replace(failure, what=f"container {text(entry.get('name'))} is not ready: {failure.what}"), RUNS, around.age(since))


def _repeated(log: str) -> Failure | None:
    lines = [line for line in log.splitlines() if line.strip()][-LAST_LINES:]
    failures = [failure for line in lines if (failure := pod_failures.log_failure(line)) and failure.code in WAITS_FOR]
    causes = [failure for failure in failures if failure.code != FOLLOWS]
    return next((each[-1] for each in (causes, failures) if len(each) >= REPEATS), None)


def _probe(pod: Facts, entry: Facts, since: str, around: Around) -> Failure | None:
    """The failure of a probe that goes on failing: nothing listens on its port, or it requests what the program does not have."""
    field = f"{{{text(entry.get('name'))}}}"
    events = [
        event for event in around.of(pod, "Unhealthy") if event_time(event) >= since and text(get_path(event, "involvedObject", "fieldPath")).endswith(field)
    ]
    if not events:
        return None
    message = shorten(text(events[-1].get("message")))
    if _REFUSED.search(message):
        return Failure("probe", message, "probe a path that the program answers")
    if "unknown service" in message:
        return Failure("F50", message, "set the probe to the health service that this image serves")
    port = _PORT.search(message)
    parts = [part for key in ("containers", "initContainers") for part in dicts(get_path(pod, "spec", key))]
    ports = {number(given.get("containerPort")) for part in parts for given in dicts(part.get("ports"))}
    if port and ports and int(port.group(1)) not in ports and _CLOSED.search(message):
        listed = ", ".join(map(str, sorted(ports)))
        return Failure("F42", message, f"probe a port on which the program listens: the pod names {listed}")
    return None


def _scheduling(pod: Facts, around: Around) -> Hopeless | None:
    """A pod that no node takes, unless nodes, room or volumes are coming."""
    entry, status = condition(pod.get("status"), "PodScheduled"), mapping(pod.get("status"))
    claims = [_claim(name, claim, around) for name, claim in around.claims.items()]
    if not entry and True in claims:
        return None  # the scheduler has chosen a node, and waits for the volume there
    if not entry and not get_path(pod, "spec", "nodeName"):
        name = text(get_path(pod, "spec", "schedulerName")) or "default-scheduler"
        failure = Failure("unschedulable", f"no scheduler has taken the pod up (schedulerName {name})", "check that this scheduler runs")
        return lasting(failure, UNNOTICED, around.age(get_path(pod, "metadata", "creationTimestamp")))
    if entry.get("status") != "False" or entry.get("reason") not in (None, "", "Unschedulable") or status.get("nominatedNodeName"):
        return None
    scaled = [event for event in around.of(pod) if autoscaler_events.from_autoscaler(event)]
    if scaled and autoscaler_events.coming(scaled[-1]) and (around.age(event_time(scaled[-1])) or 0.0) < NODES:
        return None
    lost = next((claim for claim in claims if isinstance(claim, Hopeless)), None)
    if lost or True in claims:
        return lost
    failure = placement_failures.unscheduled_failure(text(entry.get("message")) or text(entry.get("reason")))
    if around.leaving and failure.code in ("F13", "F35"):
        return None
    if report := autoscaler_events.reported(scaled):
        failure = dataclasses.replace(failure, what=f"{failure.what}; {report}")
    return lasting(failure, AUTOSCALER if around.autoscaled and not scaled else UNSCHEDULED, around.age(entry.get("lastTransitionTime")))


def _claim(name: str, claim: Facts | None, around: Around) -> Hopeless | bool:
    """Why a PersistentVolumeClaim will get no volume, else whether one is being made."""
    if claim is None:
        return Hopeless(f"PersistentVolumeClaim {name} does not exist", "create it, or name the right one")
    events = around.of(claim, "ProvisioningFailed", "FailedBinding", "Provisioning", "ExternalProvisioning")
    if get_path(claim, "status", "phase") == "Bound" or not events:
        return False
    slow = _SLOW.search(text(events[-1].get("message")))
    if events[-1].get("reason") in ("ProvisioningFailed", "FailedBinding") and not slow:
        words = shorten(text(events[-1].get("message")))
        return Hopeless(f"PersistentVolumeClaim {name} gets no volume: {words}", "check its storage class, its size and its access modes")
    return (around.age(events[0].get("firstTimestamp") or event_time(events[0])) or 0.0) < VOLUMES


def _set_up(pod: Facts, around: Around) -> Hopeless | None:
    """A pod on a node whose volumes or network cannot be set up, by its latest events."""
    entries = pod_failures.containers(pod)
    if not get_path(pod, "spec", "nodeName") or any(get_path(entry, "state", "waiting") is None for entry in entries):
        return None
    events = around.of(pod)
    latest = [*itertools.takewhile(lambda event: event.get("reason") in SET_UP, reversed(events))]
    cause = node_failures.set_up_event(latest)
    if cause is None:
        return None
    reason = text(cause.get("reason"))
    failure = node_failures.set_up_failure(reason, text(cause.get("message")))
    if failure.terminal:
        return Hopeless(failure.what, failure.remedy)
    return lasting(failure, BUSY if failure.code == "busy" else SET_UP[reason], around.age(cause.get("firstTimestamp") or event_time(cause)))


def _lost(pod: Facts, around: Around) -> Hopeless | None:
    """A pod whose node no longer answers, by its latest event; its containers are in the state from before."""
    events = around.of(pod)
    if not events or events[-1].get("reason") != "NodeNotReady":
        return None
    node = text(get_path(pod, "spec", "nodeName"))
    failure = Failure("node", f"its node {node} is not ready", "check the node: its kubelet, its network, and that it runs")
    return lasting(failure, LOST, around.age(event_time(events[-1])))
