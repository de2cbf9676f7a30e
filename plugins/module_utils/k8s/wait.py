# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting until objects are ready, or gone: poll, judge, tell the progress, explain at the end."""

from __future__ import annotations

import time
from pathlib import Path

from ..common.objects import Context, Verdict, condition, dig, generation, text
from ..common.text import shorten
from . import pod_failures
from .client import Cluster
from .errors import ApiError, ClusterError
from .readiness.judge import judge, leaving
from .related_objects import Observer, Ref

# seconds: a terminal verdict must hold this long, pods are looked at this often, a silent API server is borne this long,
# and a line of progress comes at least this often
GRACE, PODS, SILENCE, BEAT = 3.0, 1.0, 30.0, 10.0
DETAIL = 3


class Waiting:
    """One wait for many objects. state: ready or absent; timeout and interval in seconds."""

    def __init__(self, cluster: Cluster, refs: list[Ref], state: str = "ready", progress: str = ""):
        self.observer = Observer(cluster, refs)
        self.refs, self.state = refs, state
        self.objects: dict[Ref, list[dict]] = {}
        self.verdicts: dict[Ref, Verdict] = {}
        self._culprits: dict[Ref, dict] = {}
        self._contexts: dict[Ref, tuple[float, Context]] = {}
        self._restarts: dict[str, int] = {}
        self._terminal: dict[Ref, float] = {}
        self._progress = Progress(progress)
        self._begin = time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._begin

    def run(self, timeout: float, interval: float, fail_fast: bool = True) -> bool:
        """True when every object got there in time. Raises ClusterError when the API server refuses or stays silent."""
        answered = 0.0
        while True:
            try:
                self.look()
                answered = self.elapsed
            except ApiError as exc:
                if exc.status in (401, 403):
                    raise
                self._bear(exc, answered)
            except ClusterError as exc:
                self._bear(exc, answered)
            waiting = self.waiting()
            if self.verdicts and not waiting:
                return True
            self._progress.tell(self.elapsed, {ref: self.verdicts[ref] for ref in waiting})
            if self.elapsed > timeout or (fail_fast and self._hopeless()):
                return False
            time.sleep(interval)

    def waiting(self) -> list[Ref]:
        """The objects that are not there yet."""
        return [ref for ref in self.refs if ref in self.verdicts and not self.verdicts[ref].ready]

    def _bear(self, exc: ClusterError, answered: float) -> None:
        # a rolling API server is silent for a moment; at the first look there is nothing to bear yet
        if not self.verdicts or self.elapsed - answered > SILENCE:
            raise exc

    def look(self) -> None:
        """Fetch and judge every object once."""
        self.objects = self.observer.fetch()
        self.verdicts = {ref: self._judge(ref) for ref in self.refs}

    def _judge(self, ref: Ref) -> Verdict:
        found = self.objects.get(ref, [])
        if self.state == "absent":
            if not found:
                return Verdict(True, "gone")
            if dig(found[0], "metadata", "deletionTimestamp"):
                return leaving(found[0])
            return Verdict(False, "still there and not being deleted")
        if not found:
            if not self.observer.known(ref) and not self.observer.known(ref, refresh=True):
                return Verdict(False, f"the API server knows no {ref.kind} in {ref.api_version}", "install its CustomResourceDefinition (prerequisites)")
            return Verdict(True, "none there") if ref.labels else judge(None)
        verdict = Verdict(True, "there")
        for obj in found:
            verdict = self._judge_one(ref, obj)
            if not verdict.ready:
                # the one that explain has to look at
                self._culprits[ref] = obj
                break
        return verdict

    def _judge_one(self, ref: Ref, obj: dict) -> Verdict:
        if generation(obj) < ref.generation:
            return Verdict(False, f"generation {generation(obj)} seen, {ref.generation} wanted")
        verdict = judge(obj)
        return verdict if verdict.ready else judge(obj, self._context(ref, obj))

    def _context(self, ref: Ref, obj: dict) -> Context:
        """Pods and events of an object that is not ready, looked at once a second."""
        then, known = self._contexts.get(ref, (-PODS, Context()))
        if obj.get("kind") == "Gateway" or self.elapsed - then < PODS:
            return known
        pods = self.observer.pods(obj)
        for key, count in pod_failures.restart_counts(pods).items():
            # a pod born while we wait begins at nought; one that was there begins where it stood
            self._restarts.setdefault(key, count if not self._contexts.get(ref) else 0)
        unready = [pod for pod in pods if condition(pod.get("status"), "Ready").get("status") != "True"]
        events = self.observer.events(unready[0]) if unready else []
        context = Context(pods, events, self._restarts)
        self._contexts[ref] = (self.elapsed, context)
        return context

    def _hopeless(self) -> bool:
        """True when a terminal verdict has held for the time of grace."""
        for ref in self.refs:
            if ref in self.verdicts and self.verdicts[ref].terminal:
                self._terminal.setdefault(ref, self.elapsed)
            else:
                self._terminal.pop(ref, None)
        return any(self.elapsed - since >= GRACE for since in self._terminal.values())

    def explain(self) -> list[dict]:
        """For each object that is not there yet: {kind, name, namespace, reason, remedy, terminal, details: [lines]}."""
        result = []
        for ref in self.waiting():
            verdict = self.verdicts[ref]
            culprit = self._culprits.get(ref) if self.objects.get(ref) and self.state == "ready" else None
            details, remedy = self._details(culprit) if culprit else ([], "")
            result.append(
                {
                    "kind": ref.kind,
                    "name": ref.name or text(dig(culprit, "metadata", "name")) or (f"with {ref.labels}" if ref.labels else "of any name"),
                    "namespace": ref.namespace,
                    "reason": verdict.reason,
                    "remedy": remedy or verdict.remedy,
                    "terminal": verdict.terminal,
                    "details": details,
                }
            )
        return result

    def _details(self, obj: dict) -> tuple[list[str], str]:
        """What pods, logs and events add, as lines; and the remedy that a log gives away."""
        lines, said, remedy = [], [], ""
        pods = [pod for pod in self.observer.pods(obj) if condition(pod.get("status"), "Ready").get("status") != "True"]
        for pod in pods[:DETAIL]:
            name = text(dig(pod, "metadata", "name"))
            trouble = pod_failures.pod_failure(pod, self._restarts)
            events = self.observer.events(pod)
            lines.append(f"pod {name}: {trouble.what if trouble else pod_failures.pod_activity(pod, events)}")
            said.append(trouble.what if trouble else "")
            for container, log in self._logs(pod):
                known = pod_failures.log_failure(log)
                line = known.what if known else pod_failures.last_line(log)
                if line:
                    lines.append(f"pod {name}, log of {container}: {line}")
                remedy = remedy or (known.remedy if known else "")
            lines += event_lines(events, f"pod {name}", said)
        lines += event_lines(self.observer.events(obj), text(obj.get("kind")), said)
        return lines, remedy

    def _logs(self, pod: dict) -> list[tuple[str, str]]:
        """Ends of the logs of the containers that are not ready: of the run before, where that one crashed."""
        logs = []
        for entry in pod_failures.containers(pod):
            if entry.get("ready") is True:
                continue
            name = text(entry.get("name"))
            log = self.observer.log(pod, name, 60) if dig(entry, "state", "running") or dig(entry, "state", "terminated") else ""
            if not log and entry.get("restartCount"):
                log = self.observer.log(pod, name, 60, previous=True)
            logs.append((name, log))
        return logs


def event_lines(events: list[dict], who: str, said: list[str]) -> list[str]:
    """The last warnings among events, each kind once, without those that only repeat what was said."""
    latest: dict[str, dict] = {}
    for event in sorted(events, key=pod_failures.event_time):
        if event.get("type") == "Warning":
            latest[text(event.get("reason"))] = event
    words = {reason: shorten(text(event.get("message"))) for reason, event in list(latest.items())[-DETAIL:]}
    return [f"{who}, event {reason}: {message}" for reason, message in words.items() if not any(message in part for part in said)]


def report(entries: list[dict], total: int, elapsed: float, state: str) -> str:
    """The message of a wait that failed: object by object, why and what to do."""
    goal = "gone" if state == "absent" else "ready"
    hopeless = any(entry["terminal"] for entry in entries)
    head = f"{len(entries)} of {total} objects {'is' if len(entries) == 1 else 'are'} not {goal} after {elapsed:.0f} s"
    lines = [head + (", and waiting longer will not help:" if hopeless else ":")]
    for entry in entries:
        place = f"{entry['namespace']}/{entry['name']}" if entry["namespace"] else entry["name"]
        lines.append(f"- {entry['kind']} {place}: {entry['reason']}")
        lines += [f"    {line}" for line in entry["details"]]
        if entry["remedy"]:
            lines.append(f"    what to do: {entry['remedy']}")
    return "\n".join(lines)


class Progress:
    """Lines about a wait, appended to a file that the action plugin reads. Without a file, or where it cannot be written, silent."""

    def __init__(self, path: str):
        self._path = Path(path) if path else None
        self._told = -BEAT
        self._names: set[str] = set()

    def tell(self, elapsed: float, waiting: dict[Ref, Verdict]) -> None:
        """Write a line when the set of objects has changed, and every ten seconds."""
        names = {str(ref) for ref in waiting}
        if self._path is None or not (elapsed - self._told >= BEAT or (names != self._names and elapsed - self._told >= 1)):
            return
        parts = [f"{ref} {verdict.reason}" for ref, verdict in list(waiting.items())[:DETAIL]]
        if len(waiting) > DETAIL:
            parts.append(f"and {len(waiting) - DETAIL} more")
        done = sorted(self._names - names)
        line = (f"ready: {', '.join(done)}; " if done else "") + f"waiting {elapsed:.0f} s: {'; '.join(parts)}"
        self._told, self._names = elapsed, names
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line.replace("\n", " ") + "\n")
        except OSError:
            self._path = None
