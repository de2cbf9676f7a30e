# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The failure catalogue: what is wrong with a pod, a log or an event, and what to do about it. Computes only.

The codes are those of the catalogue in the project's platform reference (section 7).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..common.objects import condition, dicts, dig, mapping, number, text
from ..common.text import shorten
from .failure_logs import ANSWERS, LOGS, REFUSALS

# restarts after which one more crash, seen while waiting, is taken for lasting; the back-off makes that about a minute and a quarter
CRASHES = 4


@dataclass(frozen=True)
class Failure:
    """code: of the catalogue; what: in a few words; remedy: what to do; terminal: waiting longer will not help."""

    code: str
    what: str
    remedy: str
    terminal: bool = False


_PULL = (
    (
        r"not found|manifest unknown|NotFound|no such (image|manifest)|does not exist",
        "F34",
        "correct the image's name and tag, or push it to the registry",
        True,
    ),
    (r"unauthorized|denied|forbidden|authentication required|403", "F34", "give the pod a pull secret that may read this image", True),
    (r"toomanyrequests|rate limit|429", "F34", "the registry limits its callers: use a pull secret or a mirror", False),
    (r"x509|certificate|tls|http: server gave HTTP response", "F34", "make the node trust the registry's certificate, or configure it as plain HTTP", False),
    (
        r"no such host|connection refused|timeout|i/o|unreachable|dial tcp",
        "F34",
        "the node cannot reach the registry: check its name, network and proxy",
        False,
    ),
)


def log_failure(log: str) -> Failure | None:
    """The first known failure in a log; what is the line it was found in."""
    for pattern, code, remedy in LOGS:
        found = re.search(r"^.*(?:" + pattern + r").*$", log, re.MULTILINE)
        if found:
            return Failure(code, shorten(found.group(0)), remedy)
    return None


def response_failure(status: int, body: str) -> Failure | None:
    """What the answer to a request means, by its status and its words; None for a good one and for one that is not known."""
    if status < 400 and not re.search(r"EngineDead|EngineCore encountered|\"error\"", body):
        return None
    for known, pattern, code, what, remedy in ANSWERS:
        if known in (None, status) and re.search(pattern, body, re.IGNORECASE):
            said = shorten(body, 160)
            return Failure(code, what + (f": {said}" if said else ""), remedy)
    return None


def refusal_failure(message: str) -> Failure | None:
    """What a refusal of the API server, or of a webhook of it, means; None for one that is not known."""
    for pattern, code, remedy in REFUSALS:
        if re.search(pattern, message, re.IGNORECASE):
            return Failure(code, shorten(message), remedy)
    return None


def last_line(log: str) -> str:
    """The last line of a log that says something."""
    lines = [line for line in log.splitlines() if line.strip()]
    return shorten(lines[-1]) if lines else ""


def pod_failure(pod: dict, restarts: dict | None = None) -> Failure | None:
    """What is wrong with a pod; None when nothing is known to be. restarts: see conditions.Context."""
    if dig(pod, "metadata", "deletionTimestamp"):
        return None
    status = mapping(pod.get("status"))
    if status.get("phase") == "Failed":
        return _failed(status)
    for entry in containers(pod):
        trouble = _container(pod, entry, restarts or {}) or _endless(pod, entry)
        if trouble:
            return trouble
    scheduled = condition(status, "PodScheduled")
    if scheduled.get("status") == "False":
        return _unscheduled(text(scheduled.get("message")) or text(scheduled.get("reason")))
    return None


def containers(pod: dict) -> list[dict]:
    """Statuses of all containers of a pod, init containers first."""
    return [entry for key in ("initContainerStatuses", "containerStatuses") for entry in dicts(dig(pod, "status", key))]


def restart_counts(pods: list[dict]) -> dict[str, int]:
    """Restarts by 'pod uid/container', to compare with later."""
    return {_key(pod, entry): number(entry.get("restartCount")) for pod in pods for entry in containers(pod)}


def _key(pod: dict, entry: dict) -> str:
    return f"{text(dig(pod, 'metadata', 'uid'))}/{text(entry.get('name'))}"


def _failed(status: dict) -> Failure:
    reason, message = text(status.get("reason")), shorten(text(status.get("message")))
    if reason == "UnexpectedAdmissionError":
        return Failure("F37", f"the node refused the pod: {message}", "request what one shared device may give (usually 1), then delete the failed pod", True)
    if reason == "Evicted":
        return Failure("evicted", f"evicted: {message}", "the node is short of memory or disk: free some, or lower the requests")
    return Failure("failed", f"failed: {reason} {message}".strip(), "read its log", True)


def _container(pod: dict, entry: dict, restarts: dict) -> Failure | None:
    waiting = mapping(dig(entry, "state", "waiting"))
    reason, message, name = text(waiting.get("reason")), text(waiting.get("message")), text(entry.get("name"))
    if reason in ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError"):
        return _pull(reason, message, text(entry.get("image")))
    if reason in ("CreateContainerConfigError", "CreateContainerError", "RunContainerError"):
        return _create(name, reason, message)
    if reason == "CrashLoopBackOff" or dig(entry, "state", "terminated", "exitCode") not in (None, 0):
        return _crash(pod, entry, restarts)
    return None


# init containers that serve for as long as the pod lives: where Kubernetes does not know such sidecars, the pod waits for them for ever
_ENDLESS = {"routing-proxy": "F30", "routing-sidecar": "F30", "lora-adapter-syncer": "F51"}


def _endless(pod: dict, entry: dict) -> Failure | None:
    name = text(entry.get("name"))
    spec = next((part for part in dicts(dig(pod, "spec", "initContainers")) if part.get("name") == name), None)
    waits = condition(pod.get("status"), "Initialized").get("status") == "False" and dig(entry, "state", "running") is not None
    if name not in _ENDLESS or spec is None or not waits or spec.get("restartPolicy") == "Always":
        return None
    what = f"init container {name} runs and never ends, so the others never start"
    return Failure(_ENDLESS[name], what, "upgrade Kubernetes to 1.29 or newer and give it restartPolicy Always, or run it as a plain container", True)


def _pull(reason: str, message: str, image: str) -> Failure:
    if reason == "InvalidImageName":
        return Failure("F34", f"image {image!r} is no valid name", "correct the image's name", True)
    if reason == "ErrImageNeverPull":
        what = f"image {image} is not on the node and may not be pulled"
        return Failure("F34", what, "load it on the node, or change the pull policy", True)
    for pattern, code, remedy, terminal in _PULL:
        if re.search(pattern, message, re.IGNORECASE):
            return Failure(code, f"image {image} cannot be pulled: {_core(message)}", remedy, terminal)
    what = f"image {image} cannot be pulled: {_core(message) or reason}"
    return Failure("F34", what, "check the image's name, the pull secret and the registry")


def _core(message: str) -> str:
    """What a message of the container runtime comes down to: its last clause, for the others repeat the image."""
    return shorten(message.rpartition(": ")[2]).strip(' ."')


def _create(name: str, reason: str, message: str) -> Failure:
    lost = re.search(r'(secret|configmap) "([^"]+)" not found', message)
    if lost:
        what = f"{lost.group(1)} {lost.group(2)}"
        return Failure("F17", f"container {name} needs the {what}, which does not exist", f"create the {what}", True)
    key = re.search(r"couldn't find key (\S+) in (Secret|ConfigMap) (\S+)", message)
    if key:
        what = f"container {name}: {key.group(2)} {key.group(3)} has no key {key.group(1)}"
        return Failure("F16", what, f"add the key {key.group(1)}, or name the right one", True)
    what = f"container {name} cannot be created: {shorten(message) or reason}"
    return Failure("create", what, "correct what the message names", reason == "CreateContainerConfigError")


def _crash(pod: dict, entry: dict, restarts: dict) -> Failure:
    ended = mapping(dig(entry, "lastState", "terminated")) or mapping(dig(entry, "state", "terminated"))
    count = number(entry.get("restartCount"))
    lasting = count >= CRASHES and count > number(restarts.get(_key(pod, entry)))
    code, why = ended.get("exitCode"), text(ended.get("reason"))
    what = f"container {text(entry.get('name'))} crashes (exit code {text(code) or 'unknown'}, {count} restarts)"
    if why == "OOMKilled":
        return Failure("F18", what + ": out of memory", "raise its memory limit", lasting)
    message = shorten(text(ended.get("message")).strip().splitlines()[-1]) if text(ended.get("message")).strip() else ""
    remedy = "read its last log lines"
    if code in (137, 143) and why != "OOMKilled":
        remedy = "it was killed from outside, often by a startup or liveness probe: allow it more time to start"
    elif code in (126, 127, 128) or why in ("ContainerCannotRun", "StartError"):
        remedy = "its command cannot be run: correct the image or the command"
    return Failure("crash", what + (f": {message}" if message else ""), remedy, lasting)


def _unscheduled(message: str) -> Failure:
    short = shorten(message)
    short_of = re.search(r"Insufficient ([\w./-]*\w)", message)
    if short_of and short_of.group(1) not in ("cpu", "memory", "ephemeral-storage", "pods"):
        remedy = "check the accelerator's operator and the resource's name, or use fewer replicas"
        return Failure("F13", f"no node has {short_of.group(1)} free: {short}", remedy)
    if short_of:
        return Failure("F35", f"no node has enough {short_of.group(1)}: {short}", "lower the requests or the replicas, or add a node")
    taint = re.search(r"untolerated taint\(?s?\)? ?\{?([^}]*)", message)
    if taint:
        return Failure("F14", f"every node has a taint: {short}", f"tolerate the taint {taint.group(1).strip()}")
    if "volume" in message or "persistentvolumeclaim" in message.lower():
        return Failure("F20", f"its volume is not there: {short}", "check the PersistentVolumeClaim and its storage class")
    return Failure("unschedulable", f"no node takes it: {short}", "check node selector, affinity and the nodes' conditions")


# an event's reason, the words of a progress line for it
DOING = {
    "Pulling": "pulling image",
    "FailedMount": "volume not mounted",
    "FailedAttachVolume": "volume not attached",
    "Unhealthy": "its probe fails",
    "FailedCreatePodSandBox": "no network for the pod",
    "FailedScheduling": "not scheduled",
    "FailedCreate": "pod refused",
}


def pod_activity(pod: dict, events: list[dict]) -> str:
    """What a pod that is not ready does just now, in two or three words."""
    uid = dig(pod, "metadata", "uid")
    latest = max((event for event in events if uid and dig(event, "involvedObject", "uid") == uid), key=event_time, default={})
    if text(latest.get("reason")) in DOING:
        return DOING[text(latest.get("reason"))]
    if condition(pod.get("status"), "PodScheduled").get("status") != "True":
        return "not scheduled yet"
    for entry in containers(pod):
        if number(entry.get("restartCount")):
            return f"starting again after {number(entry.get('restartCount'))} restarts"
        if dig(entry, "state", "waiting"):
            return "creating containers"
    return "starting"


def event_time(event: dict) -> str:
    """The time of an event, as text that sorts."""
    series = dig(event, "series", "lastObservedTime")
    return text(series or event.get("lastTimestamp") or event.get("eventTime") or dig(event, "metadata", "creationTimestamp"))


def creation_failure(message: str) -> Failure:
    """Why a controller may not create a pod (condition ReplicaFailure, event FailedCreate)."""
    short = shorten(message)
    if "exceeded quota" in message:
        return Failure("quota", f"the namespace's quota is used up: {short}", "raise the quota, or lower requests and replicas", True)
    if "security context constraint" in message or "PodSecurity" in message:
        return Failure("scc", f"the pod breaks the security policy: {short}", "correct the security context, or grant the policy to the service account", True)
    if "serviceaccount" in message and "not found" in message:
        return Failure("account", f"its service account is missing: {short}", "create the service account", True)
    return Failure("create", f"its pods cannot be created: {short}", "correct what the message names", "forbidden" in message)
