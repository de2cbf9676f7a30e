# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Known failures of pods, logs, responses and refused requests, with what to do. Pure."""

from __future__ import annotations

import collections.abc as c
import re
from dataclasses import replace

from ..common.objects import Facts, condition, dicts, get_path, mapping, number, text
from ..common.patterns import LinePattern
from ..common.patterns import lines as lines_of
from ..common.text import shorten
from .answer_messages import GATEWAYS, REASONS, RESPONSES
from .failure_logs import DRIVER, FOLLOW_DRIVER, LOGS, PASSING, REFUSALS, TRANSIENT
from .last_words import last_words, message, summary
from .log_exceptions import LIMIT, Raised, Rank, first_exception, read_exceptions
from .node_failures import PULL_REASONS, Failure, create_failure, event_time, pull_failure
from .placement_failures import ended_failure, unscheduled_failure

# Restarts after which one more crash during a wait counts as lasting; with the back-off that is about 75 seconds.
CRASHES = 4
UNKNOWN = "correct what this error names; its traceback is in the log"
# Addresses, names made of a hash or by tempfile, IPv6, numbers: process ids, times, sizes.
_VARYING = re.compile(
    r"0x[0-9a-fA-F]+|(?<![0-9A-Za-z])(?:[0-9a-f]{12,}|tmp[a-z0-9_]{8}|(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{1,4})(?![0-9A-Za-z])|[0-9]+",
)


def log_failure(log: str) -> Failure | None:
    """The failure that a log shows: its first exception or panic, whether known or not, else the first line that is known; `what` is that line."""
    raised, lines = read_exceptions(log)
    chain = first_exception(raised)
    unknown = Failure("exception", _shown(chain), UNKNOWN) if chain and chain[0].rank <= Rank.FOLLOWS else None
    if chain and chain[0].rank <= Rank.ECHO:
        known = next((failure for failure in (_listed([one.line, *one.more]) for one in chain) if failure), unknown)
        driver = _listed([*lines, *(one.line for one in raised)], DRIVER) if known and known.code in FOLLOW_DRIVER else None
        return driver or (known and replace(known, what=_shown(chain)))
    return _listed([*lines, *(line for one in raised for line in (one.line, *one.more))]) or unknown


def _listed(lines: list[str], only: str = "") -> Failure | None:
    """The first pattern of the table that is in one of the lines. only: of this code."""
    for pattern, (_text, code, remedy) in zip(_LOGS, LOGS, strict=True):
        for line in lines if only in ("", code) else ():
            if pattern.matches(line[:LIMIT]):
                whole, short = summary(line), message(line)
                return Failure(code, shorten(short if whole == line and short and pattern.matches(short[:LIMIT]) else whole), remedy)
    return None


def _shown(chain: list[Raised]) -> str:
    first, last = chain[0].line, chain[-1].line
    return shorten(first if last.rpartition(": ")[2] in first else f"{shorten(first, 160)}; then {last}")


def end_failure(log: str) -> Failure | None:
    """The failure that ended a program, from the log of that run: a known failure or an exception, else the error that it logged last."""
    words = last_words(log)
    return log_failure(log) or (Failure("crash", words, "correct what this error names; its log has more") if words else None)


def lasting_error(log: str) -> str:
    """A text by which to compare the errors of two runs, without the parts that vary; empty where there is none, or where the next run may succeed."""
    raised, _lines = read_exceptions(log)
    chain, failure = first_exception(raised), end_failure(log)
    if failure is None or failure.code in PASSING:
        return ""
    texts = [failure.what, *(line for one in chain if one.rank <= Rank.ECHO for line in (one.line, *one.more))]
    return "" if any(re.search(TRANSIENT, line[:LIMIT], re.IGNORECASE) for line in texts) else _VARYING.sub("#", failure.what)


def _compiled(pattern: c.Sequence[str], flags: int = 0) -> LinePattern:
    return LinePattern(*([pattern] if isinstance(pattern, str) else pattern), flags=flags)


_LOGS = tuple(_compiled(row[0]) for row in LOGS)
_GATEWAYS = tuple(_compiled(row[0], re.IGNORECASE) for row in GATEWAYS)
_RESPONSES = tuple(_compiled(row[1], re.IGNORECASE) for row in RESPONSES)
_REFUSALS = tuple(_compiled(row[0], re.IGNORECASE) for row in REFUSALS)
_BROKEN = LinePattern(r"EngineDead|EngineCore encountered|\"error\"")


def gateway_failure(body: str, dropped: str = "") -> Failure | None:
    """The failure that a gateway or an endpoint picker reports for a request that no server received or completed; None for any other response.

    dropped: the value of the header DROPPED; an unknown value counts as the general one of its family.
    """
    if dropped:
        known = dropped if dropped in REASONS else "evicted" if dropped.startswith("evicted") else "rejected"
        code, what, remedy = REASONS[known]
        return Failure(code, f"{what} ({known})", remedy)
    searched = lines_of(body)
    match = next((row for pattern, row in zip(_GATEWAYS, GATEWAYS, strict=True) if any(map(pattern.matches, searched))), None)
    return Failure(*match[1:]) if match else None


def response_failure(status: int, body: str, dropped: str = "") -> Failure | None:
    """The failure that an HTTP response shows by its status, body and header DROPPED; None for a success or an unknown one."""
    if status < 400 and _BROKEN.find(body) is None:
        return None
    if dropped:
        return gateway_failure(body, dropped)
    searched = lines_of(body)
    for pattern, (known, _text, code, what, remedy) in zip(_RESPONSES, RESPONSES, strict=True):
        if known in (None, status) and any(map(pattern.matches, searched)):
            excerpt = shorten(body, 160)
            return Failure(code, what + (f": {excerpt}" if excerpt else ""), remedy)
    return None


def refusal_failure(message: str) -> Failure | None:
    """The failure that a refusal of the API server, or of an admission webhook, shows; None for an unknown one."""
    searched = lines_of(message)
    for pattern, (_text, code, remedy) in zip(_REFUSALS, REFUSALS, strict=True):
        if any(map(pattern.matches, searched)):
            return Failure(code, shorten(message), remedy)
    return None


def last_line(log: str) -> str:
    """The last non-empty line of a log."""
    lines = [line for line in log.splitlines() if line.strip()]
    return shorten(lines[-1]) if lines else ""


def pod_failure(pod: Facts, restarts: dict[str, int] | None = None, again: dict[str, str] | None = None) -> Failure | None:
    """The failure of a pod; None when none is known. restarts, again: see common.objects.Context."""
    if get_path(pod, "metadata", "deletionTimestamp"):
        return None
    status = mapping(pod.get("status"))
    if status.get("phase") == "Failed":
        return _failed(pod, status)
    for entry in containers(pod):
        failure = _again(entry, (again or {}).get(container_key(pod, entry), "")) or container_failure(pod, entry, restarts or {}) or _endless(pod, entry)
        if failure:
            return failure
    scheduled = condition(status, "PodScheduled")
    if scheduled.get("status") == "False":
        return unscheduled_failure(text(scheduled.get("message")) or text(scheduled.get("reason")))
    return None


def containers(pod: Facts) -> list[Facts]:
    """The container statuses of a pod, init containers first."""
    return [entry for key in ("initContainerStatuses", "containerStatuses") for entry in dicts(get_path(pod, "status", key))]


def restart_counts(pods: list[Facts]) -> dict[str, int]:
    """Restart counts by `pod uid/container`."""
    return {container_key(pod, entry): number(entry.get("restartCount")) for pod in pods for entry in containers(pod)}


def container_key(pod: Facts, entry: Facts) -> str:
    """A container of one pod as text: `pod uid/container`."""
    return f"{text(get_path(pod, 'metadata', 'uid'))}/{text(entry.get('name'))}"


def unreplaced(pods: list[Facts]) -> list[Facts]:
    """The pods of a workload without failed ones that a later pod replaces, whether a node has taken that one or none takes it."""
    later = [
        text(get_path(pod, "metadata", "creationTimestamp"))
        for pod in pods
        if get_path(pod, "status", "phase") != "Failed"
        and (get_path(pod, "status", "startTime") or condition(pod.get("status"), "PodScheduled").get("status") == "False")
    ]
    newest = max(later, default="")
    return [pod for pod in pods if get_path(pod, "status", "phase") != "Failed" or text(get_path(pod, "metadata", "creationTimestamp")) >= newest]


def _failed(pod: Facts, status: Facts) -> Failure:
    reason, message = text(status.get("reason")), text(status.get("message"))
    of_job = any(entry.get("kind") == "Job" for entry in dicts(get_path(pod, "metadata", "ownerReferences")))
    known = ended_failure(reason, message)
    if known:
        return replace(known, terminal=known.terminal or (known.code == "failed" and not of_job))
    return Failure("failed", f"failed: {reason} {shorten(message)}".strip(), "read its log", not of_job)  # the Job reports whether it tries again


def container_failure(pod: Facts, entry: Facts, restarts: dict[str, int]) -> Failure | None:
    """The failure of one container, given by its status; None when none is known. restarts: see common.objects.Context."""
    waiting = mapping(get_path(entry, "state", "waiting"))
    reason, message, name = text(waiting.get("reason")), text(waiting.get("message")), text(entry.get("name"))
    if reason in PULL_REASONS:
        return pull_failure(reason, message, text(entry.get("image")))
    if reason in ("CreateContainerConfigError", "CreateContainerError", "RunContainerError"):
        return create_failure(name, reason, message)
    if reason == "CrashLoopBackOff" or get_path(entry, "state", "terminated", "exitCode") not in (None, 0):
        return _crash(pod, entry, restarts)
    return None


def _again(entry: Facts, error: str) -> Failure | None:
    if not error or entry.get("ready"):
        return None
    what = f"container {text(entry.get('name'))} ended twice with the same error ({number(entry.get('restartCount'))} restarts): {error}"
    return Failure("crash", what, "correct what the error names", True)


# Sidecars: init containers that run as long as the pod. Kubernetes before 1.29 waits for them to end, so the pod never starts.
_ENDLESS = {"routing-proxy": "F30", "routing-sidecar": "F30", "lora-adapter-syncer": "F51"}


def _endless(pod: Facts, entry: Facts) -> Failure | None:
    name = text(entry.get("name"))
    spec = next((part for part in dicts(get_path(pod, "spec", "initContainers")) if part.get("name") == name), None)
    waits = condition(pod.get("status"), "Initialized").get("status") == "False" and get_path(entry, "state", "running") is not None
    if name not in _ENDLESS or spec is None or not waits or spec.get("restartPolicy") == "Always":
        return None
    what = f"init container {name} runs and never ends, so the others never start"
    return Failure(_ENDLESS[name], what, "upgrade Kubernetes to 1.29 or newer and give it restartPolicy Always, or run it as a plain container", True)


def _crash(pod: Facts, entry: Facts, restarts: dict[str, int]) -> Failure:
    ended = mapping(get_path(entry, "lastState", "terminated")) or mapping(get_path(entry, "state", "terminated"))
    count = number(entry.get("restartCount"))
    lasting = count >= CRASHES and count > number(restarts.get(container_key(pod, entry)))
    code, why = ended.get("exitCode"), text(ended.get("reason"))
    name = text(entry.get("name"))
    what = f"container {name} crashes (exit code {text(code) or 'unknown'}, {count} restarts)"
    started = create_failure(name, why, text(ended.get("message"))) if why in ("StartError", "ContainerCannotRun") else None
    if started and started.code != "create":
        return replace(started, terminal=lasting)
    if why == "OOMKilled":
        return Failure("F18", what + ": out of memory", "raise its memory limit", lasting)
    message = shorten(text(ended.get("message")).strip().splitlines()[-1]) if text(ended.get("message")).strip() else ""
    remedy = "read its last log lines"
    if code in (137, 143) and why != "OOMKilled":
        remedy = "it was killed from outside, often by a startup or liveness probe: allow it more time to start"
    elif code in (126, 127, 128) or why in ("ContainerCannotRun", "StartError"):
        remedy = "its command cannot be run: correct the image or the command"
    return Failure("crash", what + (f": {message}" if message else ""), remedy, lasting)


# Reason of an event, its text in a progress line.
ACTIVITIES = {
    "Pulling": "pulling image",
    "FailedMount": "volume not mounted",
    "FailedAttachVolume": "volume not attached",
    "Unhealthy": "its probe fails",
    "FailedCreatePodSandBox": "no sandbox for the pod",
    "FailedScheduling": "not scheduled",
    "FailedCreate": "pod refused",
    "NodeNotReady": "its node is not ready",
}


def pod_activity(pod: Facts, events: list[Facts]) -> str:
    """The current activity of a pod that is not ready, in two or three words, from its latest event or its status."""
    uid = get_path(pod, "metadata", "uid")
    none: Facts = {}
    latest = max((event for event in events if uid and get_path(event, "involvedObject", "uid") == uid), key=event_time, default=none)
    if text(latest.get("reason")) in ACTIVITIES:
        return ACTIVITIES[text(latest.get("reason"))]
    if condition(pod.get("status"), "PodScheduled").get("status") != "True":
        return "not scheduled yet"
    for entry in containers(pod):
        if number(entry.get("restartCount")):
            return f"starting again after {number(entry.get('restartCount'))} restarts"
        if get_path(entry, "state", "waiting"):
            return "creating containers"
    return "starting"


def creation_failure(message: str) -> Failure:
    """Why a controller cannot create a pod, from the message of a ReplicaFailure condition or a FailedCreate event."""
    short = shorten(message)
    if "exceeded quota" in message:
        return Failure("quota", f"the namespace's quota is used up: {short}", "raise the quota, or lower requests and replicas", True)
    if "security context constraint" in message or "PodSecurity" in message:
        return Failure("scc", f"the pod breaks the security policy: {short}", "correct the security context, or grant the policy to the service account", True)
    if "serviceaccount" in message and "not found" in message:
        return Failure("account", f"its service account is missing: {short}", "create the service account", True)
    return Failure("create", f"its pods cannot be created: {short}", "correct what the message names", "forbidden" in message)
