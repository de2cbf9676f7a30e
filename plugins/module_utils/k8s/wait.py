# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait until objects are ready, or gone: poll, judge, report progress, and explain what is missing at the end."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from ..common.objects import Context, Facts, Verdict, condition, generation, get_path, mapping, number, text
from ..common.text import shorten
from . import node_failures, pod_failures
from .autoscaler_events import from_autoscaler
from .client import Cluster
from .pod_prospects import GRACE, Around
from .prospects import prospect
from .readiness.gateway import unreported
from .readiness.judge import deletion_verdict, judge
from .related_objects import LOG_LINES, Observer, Ref
from .sanitize import scraping_fields
from .surroundings import Surroundings
from .tries import Try, latest_try

# Seconds: how often pods are read, how often progress is reported.
PODS, BEAT = 1.0, 10.0
_COUNT = re.compile(r"[0-9]+/[0-9]+ ")  # as the reason of a workload begins
DETAIL = 3  # pods, events or objects in a message


@dataclass(frozen=True)
class End:
    """The latest end of a container that was noted. count: which; error: to be compared, see lasting_error; stamp: time of the last line of its log."""

    count: int
    error: str = ""
    stamp: str = ""


class Wait:
    """One wait for many objects. state: ready or absent; progress: the file for progress lines, or empty.

    patient: whether absent objects may still come, as after a change; else only objects in progress are waited for, see prospects.
    """

    def __init__(self, cluster: Cluster, refs: list[Ref], state: str = "ready", progress: str = "", patient: bool = True) -> None:
        self.observer = Observer(cluster, refs, managed_fields=not patient)
        self.refs, self.state = refs, state
        self.objects: dict[Ref, list[Facts]] = {}
        self.verdicts: dict[Ref, Verdict] = {}
        self._culprits: dict[Ref, Facts] = {}
        self._contexts: dict[Ref, tuple[float, Context]] = {}
        self._restarts: dict[str, int] = {}
        self._ends: dict[str, End] = {}
        self._again: dict[str, str] = {}
        self._terminal: dict[Ref, float] = {}
        self._tries: dict[Ref, Try] = {}
        self._surroundings = None if patient or state == "absent" else Surroundings(self.observer)
        self._around: dict[Ref, tuple[float, Around]] = {}
        self._hold: dict[Ref, float] = {}
        self._progress = Progress(progress)
        self._clock = cluster.clock
        self._begin = self._clock.now()

    @property
    def elapsed(self) -> float:
        """Seconds since the wait was made."""
        return self._clock.now() - self._begin

    def run(self, timeout: float, interval: float, fail_fast: bool = True) -> bool:
        """Whether every object reached the state within `timeout` seconds. interval: seconds between polls; fail_fast: stop at lasting failures.

        Raises ClusterError when the API server refuses, or stays unreachable for longer than Cluster.be_patient allows.
        """
        self.observer.cluster.be_patient(timeout)
        while True:
            self.poll()
            pending = self.pending()
            if not pending:
                return True
            self._progress.report(self.elapsed, {str(ref): self.verdicts[ref].reason for ref in pending})
            if self.elapsed >= timeout or (fail_fast and self._has_lasting_failure()):
                return False
            self._clock.sleep(interval)

    def pending(self) -> list[Ref]:
        """The refs whose objects have not reached the state."""
        return [ref for ref in self.refs if ref in self.verdicts and not self.verdicts[ref].ready]

    def poll(self) -> None:
        """Read and judge every object once."""
        self.objects = self.observer.fetch()
        self.verdicts = {ref: self._final(ref, self._judge(ref)) for ref in self.refs}

    def _final(self, ref: Ref, verdict: Verdict) -> Verdict:
        """The verdict; in a wait that is not patient, terminal with its cause where the object cannot become ready."""
        if verdict.ready:
            return verdict
        if self._surroundings is None:
            return replace(verdict, reason=f"{verdict.reason}, not tried again yet", terminal=False) if self._untried(ref, verdict) else verdict
        obj = self._culprits[ref] if self.objects.get(ref) else None
        hopeless = prospect(obj, verdict, self._view(ref, obj) if obj else Around(0.0))
        if hopeless is None:
            return verdict
        self._hold[ref] = hopeless.hold
        count, _what, _rest = verdict.reason.partition(" (")
        counted = f"{count} ({hopeless.what})" if _COUNT.match(count) else f"{verdict.reason}: {hopeless.what}"
        return Verdict(False, verdict.reason if hopeless.what in verdict.reason else counted, hopeless.remedy or verdict.remedy, True)

    def _untried(self, ref: Ref, verdict: Verdict) -> bool:
        """Whether a failure was there when the wait began, and has not been tried again since. See tries."""
        first, obj = not self.verdicts, self._culprits.get(ref)
        known = self._tries.pop(ref, None)
        if not verdict.terminal or obj is None or not (first or known):
            return False
        pods = self._contexts.get(ref, (0.0, Context()))[1].pods[:DETAIL]
        events = [event for listed in (self.observer.creations(obj), *map(self.observer.events, pods)) for event in listed]
        latest = latest_try(obj, pods, events)
        if latest and (first or latest == known and self.elapsed < latest.within):
            self._tries[ref] = latest
        return ref in self._tries

    def _view(self, ref: Ref, obj: Facts) -> Around:
        """The surroundings of an object, read once in PODS seconds."""
        then, known = self._around.get(ref, (-PODS, Around(0.0)))
        if self._surroundings is None or self.elapsed - then < PODS:
            return known
        around = self._surroundings.of(obj, self._context(ref, obj))
        self._around[ref] = (self.elapsed, around)
        return around

    def _judge(self, ref: Ref) -> Verdict:
        objects = self.objects.get(ref, [])
        if self.state == "absent":
            if not objects:
                return Verdict(True, "gone")
            if get_path(objects[0], "metadata", "deletionTimestamp"):
                return deletion_verdict(objects[0])
            return Verdict(False, "still there and not being deleted")
        if not objects:
            if not self.observer.known(ref) and not self.observer.known(ref, refresh=True):
                return Verdict(False, f"the API server knows no {ref.kind} in {ref.api_version}", "install its CustomResourceDefinition (prerequisites)")
            return Verdict(True, "none there") if ref.labels else judge(None)
        verdict = Verdict(True, "there")
        for obj in objects:
            verdict = self._judge_one(ref, obj)
            if not verdict.ready:
                # explain() adds the pods, events and logs of this object
                self._culprits[ref] = obj
                break
        return verdict

    def _judge_one(self, ref: Ref, obj: Facts) -> Verdict:
        if generation(obj) < ref.generation:
            return Verdict(False, f"generation {generation(obj)} observed, {ref.generation} wanted")
        if number(get_path(obj, "spec", "replicas"), 1) < ref.least:
            reason = f"spec.replicas is {get_path(obj, 'spec', 'replicas')}, {ref.least} planned"
            return Verdict(False, reason, "run playbooks/site.yml, which scales it as your file says, and find out who else does", True)
        verdict = judge(obj)
        if not verdict.ready:
            return judge(obj, self._context(ref, obj))
        return (unreported(obj, ref.parent) if ref.parent else None) or verdict

    def _context(self, ref: Ref, obj: Facts) -> Context:
        """Pods and events of an object that is not ready, read once in PODS seconds."""
        then, known = self._contexts.get(ref, (-PODS, Context()))
        if (obj.get("kind") == "Gateway" and self._surroundings is None) or self.elapsed - then < PODS:
            return known
        pods = self.observer.pods(obj)
        for key, count in pod_failures.restart_counts(pods).items():
            # Only restarts during this wait count: all those of a pod that is created during it, the later ones of a pod that existed before.
            self._restarts.setdefault(key, count if not self._contexts.get(ref) else 0)
        for pod in pods:
            for entry in pod_failures.containers(pod):
                self._note_end(pod, entry, first=not self._contexts.get(ref))
        unready = [pod for pod in pods if condition(pod.get("status"), "Ready").get("status") != "True"]
        events = self.observer.events(unready[0]) if unready else []
        short = condition(obj.get("status"), "ReplicaFailure").get("status") == "True" or any(
            condition(pod.get("status"), "PodScheduled").get("status") == "False" for pod in unready
        )
        context = Context(pods, events, self._restarts, self._again, short and self.observer.leaving(obj))
        self._contexts[ref] = (self.elapsed, context)
        return context

    def _note_end(self, pod: Facts, entry: Facts, first: bool) -> None:
        """Compare the error of a container's latest end with that of the end before. first: the wait begins, and earlier ends do not count."""
        key, state = pod_failures.container_key(pod, entry), mapping(entry.get("state"))
        ended = mapping(get_path(entry, "lastState", "terminated"))
        # restartCount grows when the next run starts; until then the container waits.
        count = number(entry.get("restartCount")) + ("terminated" in state or ("waiting" in state and bool(ended)))
        before = self._ends.setdefault(key, End(count if first else 0))
        # While the state is `terminated`, the log of that run is in a moment no longer the current and not yet the previous one.
        if count <= before.count or key in self._again or "terminated" in state:
            return
        stamp, log = self.observer.stamped_log(pod, text(entry.get("name")), LOG_LINES, previous=True) if ended.get("exitCode") else ("", "")
        error = node_failures.command_error(text(ended.get("message"))) or pod_failures.lasting_error(log)
        # The status of a pod lags its log, so that one run's log can be read twice; its timestamps show it.
        if error and error == before.error and (not stamp or stamp != before.stamp):
            ended_by = pod_failures.end_failure(log)
            self._again[key] = ended_by.what if ended_by else error
        self._ends[key] = End(count, error, stamp)

    def _has_lasting_failure(self) -> bool:
        """Whether a terminal verdict has held for GRACE seconds, or for the `hold` of its prospect."""
        for ref in self.refs:
            if ref in self.verdicts and self.verdicts[ref].terminal:
                self._terminal.setdefault(ref, self.elapsed)
            else:
                self._terminal.pop(ref, None)
        return any(self.elapsed - since >= self._hold.get(ref, GRACE) for ref, since in self._terminal.items())

    def outcome(self, done: bool) -> Facts:
        """The result of a module for a wait that `run` has ended: {waited, waiting_for}, and {resources} or, unless done, {failures, msg}."""
        waited = round(self.elapsed, 3)
        result: Facts = {"waited": waited, "waiting_for": [str(ref) for ref in self.refs]}
        if done:
            return {**result, "resources": [named(ref, obj, self.verdicts[ref].reason) for ref in self.refs for obj in self.objects.get(ref, [])]}
        entries = self.explain()
        return {**result, "failures": entries, "msg": report(entries, len(self.refs), waited, self.state)}

    def explain(self) -> list[Facts]:
        """For each pending object: {kind, name, namespace, reason, remedy, terminal, details: [lines]}."""
        result: list[Facts] = []
        for ref in self.pending():
            verdict = self.verdicts[ref]
            culprit = self._culprits.get(ref) if self.objects.get(ref) and self.state == "ready" else None
            details, remedy = self._details(culprit) if culprit else ([], "")
            result.append(
                {
                    "kind": ref.kind,
                    "name": ref.name or text(get_path(culprit, "metadata", "name")) or (f"with {ref.labels}" if ref.labels else "of any name"),
                    "namespace": ref.namespace,
                    "reason": verdict.reason,
                    "remedy": remedy or verdict.remedy,
                    "terminal": verdict.terminal,
                    "details": details,
                }
            )
        return result

    def _details(self, obj: Facts) -> tuple[list[str], str]:
        """(lines about pods, logs and events, the remedy of the first known failure in a log)."""
        lines: list[str] = []
        reported: list[str] = []
        remedy = ""
        pods = [pod for pod in pod_failures.unreplaced(self.observer.pods(obj)) if condition(pod.get("status"), "Ready").get("status") != "True"]
        for pod in pods[:DETAIL]:
            name = text(get_path(pod, "metadata", "name"))
            failure = pod_failures.pod_failure(pod, self._restarts, self._again)
            events = self.observer.events(pod)
            lines.append(f"pod {name}: {failure.what if failure else pod_failures.pod_activity(pod, events)}")
            reported.append(failure.what if failure else "")
            for container, log, ended in self._logs(pod):
                known = pod_failures.end_failure(log) if ended else pod_failures.log_failure(log)
                line = known.what if known else pod_failures.last_line(log)
                if line and not (failure and line in failure.what):
                    lines.append(f"pod {name}, log of {container}: {line}")
                remedy = remedy or (known.remedy if known else "")
            lines += event_lines(events, f"pod {name}", reported)
        lines += event_lines(self.observer.events(obj), text(obj.get("kind")), reported)
        return lines, remedy

    def _logs(self, pod: Facts) -> list[tuple[str, str, bool]]:
        """(container, end of its log, whether it has ended) for containers that are not ready; the log of a run before it comes first."""
        logs: list[tuple[str, str, bool]] = []
        for entry in pod_failures.containers(pod):
            if entry.get("ready") is True:
                continue
            name = text(entry.get("name"))
            log = self.observer.log(pod, name, LOG_LINES, previous=True) if entry.get("restartCount") else ""
            if get_path(entry, "state", "running") is not None or get_path(entry, "state", "terminated"):
                log += self.observer.log(pod, name, LOG_LINES)
            logs.append((name, log, bool(entry.get("restartCount") or get_path(entry, "state", "terminated"))))
        return logs


def named(ref: Ref, obj: Facts, reason: str) -> Facts:
    """The identity of an object, why it is ready, and the parts of its spec about scraping."""
    scraping = scraping_fields(obj)
    which = {"api_version": ref.api_version, "kind": ref.kind, "name": obj["metadata"]["name"], "namespace": obj["metadata"].get("namespace") or ""}
    return {**which, "reason": reason, **({"spec": scraping} if scraping else {})}


def event_lines(events: list[Facts], who: str, reported: list[str]) -> list[str]:
    """The last DETAIL warnings and reports of node autoscalers among events, one per reason, without those whose message is in `reported`."""
    latest: dict[str, Facts] = {}
    for event in sorted(events, key=node_failures.event_time):
        if event.get("type") == "Warning" or from_autoscaler(event):
            latest[text(event.get("reason"))] = event
    words = {reason: shorten(text(event.get("message"))) for reason, event in list(latest.items())[-DETAIL:]}
    return [f"{who}, event {reason}: {message}" for reason, message in words.items() if not any(message in part for part in reported)]


def report(entries: list[Facts], total: int, elapsed: float, state: str) -> str:
    """The error message of a failed wait, from Wait.explain(): why and what to do for each object."""
    goal = "gone" if state == "absent" else "ready"
    lasting = any(entry["terminal"] for entry in entries)
    head = f"{len(entries)} of {total} objects {'is' if len(entries) == 1 else 'are'} not {goal} after {elapsed:.0f} s"
    lines = [head + (", and waiting longer will not help:" if lasting else ":")]
    for entry in entries:
        place = f"{entry['namespace']}/{entry['name']}" if entry["namespace"] else entry["name"]
        lines.append(f"- {entry['kind']} {place}: {entry['reason']}")
        lines += [f"    {line}" for line in entry["details"]]
        if entry["remedy"]:
            lines.append(f"    what to do: {entry['remedy']}")
    return "\n".join(lines)


class Progress:
    """Appends lines about a wait to a file that the action plugin displays. Does nothing without a file, or when it cannot be written."""

    def __init__(self, path: str) -> None:
        self._path = Path(path) if path else None
        self._reported_at = -BEAT
        self._names: set[str] = set()

    def report(self, elapsed: float, pending: dict[str, str]) -> None:
        """Write a line when the set of pending objects has changed, and every BEAT seconds. elapsed: seconds; pending: reasons by name."""
        names = set(pending)
        if self._path is None or not (elapsed - self._reported_at >= BEAT or (names != self._names and elapsed - self._reported_at >= 1)):
            return
        parts = [f"{name} {reason}" for name, reason in list(pending.items())[:DETAIL]]
        if len(pending) > DETAIL:
            parts.append(f"and {len(pending) - DETAIL} more")
        done = sorted(self._names - names)
        line = (f"ready: {', '.join(done)}; " if done else "") + f"waiting {elapsed:.0f} s: {'; '.join(parts)}"
        self._reported_at, self._names = elapsed, names
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line.replace("\n", " ") + "\n")
        except OSError:
            self._path = None
