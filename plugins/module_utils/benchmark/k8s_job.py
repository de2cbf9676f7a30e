# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A measurement by a Job of the cluster: creates the Job, follows it, reads its result and removes it in every case."""

from __future__ import annotations

import contextlib
import math
import typing as t

from ..common.interrupts import signals
from ..common.objects import Facts, condition, dicts, get_path, mapping, text
from ..k8s.errors import ClusterError
from ..k8s.pod_failures import pod_failure
from . import output
from .k8s_job_objects import LABEL, owned
from .runner import Say, Unusable

POLL = 1.0
WRITTEN = 10.0  # seconds for the end of a log: a node that is busy writes it after the container has ended
GONE = 60.0  # seconds that the pod may take to terminate
TAIL_LINES, TAIL_BYTES = 5, 1 << 16


class JobRun:
    """One Job, with the objects that it needs. `cluster`: a k8s Cluster; `start_timeout`: seconds until its pod must run; `say` is called with lines of
    progress."""

    def __init__(self, cluster: t.Any, job: Facts, others: list[Facts], start_timeout: float, say: Say | None = None) -> None:
        self._cluster, self._job, self._others, self._start_timeout, self._say = cluster, job, others, start_timeout, say
        self._name, self._namespace = job["metadata"]["name"], job["metadata"]["namespace"]
        self._reported: list[str] = []

    def run(self) -> output.ParsedLog:
        """The result and the requests. No object is left afterwards, also on SIGINT and SIGTERM. Raises Unusable and ClusterError."""
        with signals() as guard:
            try:
                self._make()
                pod = self._wait()
                return self._read(pod)
            finally:
                guard["closing"] = True
                self._remove()

    def _make(self) -> None:
        # The Job comes first, suspended, and owns the others from the start: where this process is killed, they are deleted with the Job.
        made = self._cluster.request("POST", self._path("Job"), body=self._job)
        for each in self._others:
            self._cluster.request("POST", self._path(each["kind"]), body=owned(each, made))
        self._cluster.request("PATCH", self._path("Job", self._name), body={"spec": {"suspend": False}}, content_type="application/merge-patch+json")

    def _wait(self) -> Facts:
        """Wait until the pod has ended; return it."""
        self._cluster.be_patient(math.inf)  # the measurement goes on while the API server is unreachable
        late = self._cluster.clock.now() + self._start_timeout
        while True:
            pod = self._pod()
            phase = text(get_path(pod, "status", "phase")) if pod else ""
            if pod and phase in ("Succeeded", "Failed"):
                return pod
            self._check_job()
            if pod and phase == "Running":
                self._follow(pod)
                late = self._cluster.clock.now() + self._start_timeout
            else:
                self._check_pod(pod, phase, self._cluster.clock.now() > late)
            self._cluster.clock.sleep(POLL)

    def _check_pod(self, pod: Facts | None, phase: str, late: bool) -> None:
        """Raise Unusable where the pod is late or will never run."""
        trouble = pod_failure(pod) if pod else None
        if trouble and (trouble.terminal or late):
            raise Unusable(f"the Job's pod does not run: {trouble.what}; {trouble.remedy}")
        if late:
            raise Unusable(f"the Job's pod did not run within {self._start_timeout:g} s: {self._why_no_pod() if not pod else 'it is ' + phase}")

    def _check_job(self) -> None:
        """Raise Unusable where the Job was deleted or has failed."""
        job = self._cluster.find(self._path("Job", self._name))
        if job is None:
            raise Unusable("the Job was deleted while it ran")
        failed = condition(mapping(job.get("status")), "Failed")
        if failed.get("status") == "True":
            remedy = "; give it more time in job.timeout" if failed.get("reason") == "DeadlineExceeded" else ""
            raise Unusable(f"the Job failed: {text(failed.get('reason'))}: {text(failed.get('message'))}{remedy}")

    def _why_no_pod(self) -> str:
        query = {"fieldSelector": f"involvedObject.kind=Job,involvedObject.name={self._name}"}
        events = dicts(self._cluster.get(f"/api/v1/namespaces/{self._namespace}/events", query).get("items"))
        return next((text(event.get("message")) for event in reversed(events) if event.get("type") == "Warning"), "its Job has made none")

    def _follow(self, pod: Facts) -> None:
        with contextlib.suppress(ClusterError):  # its container is about to start
            self._report(self._log(pod, {"tailLines": TAIL_LINES, "limitBytes": TAIL_BYTES}))

    def _report(self, log: str) -> None:
        """Pass on the new ones of the last lines that are not JSON."""
        lines = [line for line in log.splitlines() if line and not line.startswith("{")][-TAIL_LINES:]
        for line in lines:
            if self._say is not None and line not in self._reported:
                self._say(line)
        self._reported = lines or self._reported

    def _read(self, pod: Facts) -> output.ParsedLog:
        ended = next((mapping(get_path(entry, "state", "terminated")) for entry in dicts(get_path(pod, "status", "containerStatuses"))), {})
        until = self._cluster.clock.now() + (WRITTEN if ended.get("exitCode") == 0 else 0)
        while True:
            log = self._log(pod, {})
            try:
                parsed = output.read(log)
            except ValueError as error:
                if self._cluster.clock.now() < until:
                    self._cluster.clock.sleep(POLL)
                    continue
                self._report(log)
                raise self._unusable(pod, ended, error) from None
            self._report(log)
            return parsed

    def _unusable(self, pod: Facts, ended: Facts, error: ValueError) -> Unusable:
        """Explain why a finished pod produced no result."""
        trouble = pod_failure(pod)
        if ended.get("exitCode") == 2:  # the program reports why it measured nothing
            return Unusable(str(error))
        return Unusable(f"the Job produced no result ({trouble.what if trouble else text(ended.get('reason'))}). Last line of its log: {error}")

    def _log(self, pod: Facts, query: Facts) -> str:
        log: str = self._cluster.read_text(f"{self._path('Pod', text(get_path(pod, 'metadata', 'name')))}/log", query)
        return log

    def _pod(self) -> Facts | None:
        pods = self._cluster.get(self._path("Pod"), {"labelSelector": f"{LABEL}={self._name}"})
        return next(iter(dicts(pods.get("items"))), None)

    def _remove(self) -> None:
        """Delete the Job, its pod and the objects that it needed, and wait until the pod is gone."""
        for kind in ("Job", *(each["kind"] for each in self._others)):
            with contextlib.suppress(ClusterError):
                self._cluster.delete(self._path(kind, self._name), {"propagationPolicy": "Background"})
        late = self._cluster.clock.now() + GONE
        while self._pod() is not None:
            if self._cluster.clock.now() > late:
                raise ClusterError(f"the pod of Job {self._namespace}/{self._name} is still there {GONE:g} s after the Job was deleted: check its node")
            self._cluster.clock.sleep(POLL / 2)

    def _path(self, kind: str, name: str | None = None) -> str:
        group = "/apis/batch/v1" if kind == "Job" else "/api/v1"
        return f"{group}/namespaces/{self._namespace}/{kind.lower()}s" + (f"/{name}" if name else "")
