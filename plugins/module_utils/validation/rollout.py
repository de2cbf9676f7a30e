# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A running endpoint picker gets another configuration, and proves that it has it: written, rolled, read back from its own log, or put back."""

from __future__ import annotations

import dataclasses
import hashlib
import time
import typing as t

from ..common.objects import condition, dicts, dig, text
from ..epp import observed
from ..k8s.client import FIELD_MANAGER, Cluster
from ..k8s.errors import ApiError, ClusterError
from ..k8s.related_objects import Ref
from ..k8s.wait import Waiting, report

CHECKSUM = "llm-d.ai/config-checksum"
# A name of its own: applying these two fields must not mean to give up all the others that the collection has applied.
MANAGER = f"{FIELD_MANAGER}.scorer_config"
# seconds: between two looks, and how long the log of a ready pod may lag behind; bytes: the words we look for stand at the beginning of a log
INTERVAL, LAG, LOG_BYTES = 0.5, 10.0, 200_000


@dataclasses.dataclass(frozen=True)
class RolloutTarget:
    """Where an endpoint picker and its configuration are."""

    namespace: str
    name: str
    config_map: str
    key: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclasses.dataclass(frozen=True)
class State:
    """What is there: the text of the configuration and the checksum in the pod template; None where there is none."""

    config: str | None
    checksum: str | None

    @property
    def consistent(self) -> bool:
        """Whether the pods were made for this text."""
        return self.config is not None and self.checksum == checksum(self.config)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a rollout ended. `error`: why it did not get there, else empty; `culprit`: the endpoint picker's own words about it.

    `pods`: {name, line, by} of each pod that has proven to run the configuration.
    """

    pods: list[dict[str, str]]
    error: str = ""
    culprit: str = ""


def checksum(config: str) -> str:
    """What the pod template is annotated with, so that another configuration makes other pods."""
    return hashlib.sha256(config.encode()).hexdigest()


class Rollout:
    """One endpoint picker of one cluster. Raises ClusterError when the API server refuses."""

    def __init__(self, cluster: Cluster, target: RolloutTarget):
        self.cluster, self.target = cluster, target
        self.deployment: dict[str, t.Any] = {}

    def read(self) -> State:
        """What is there now. Raises ClusterError where there is no endpoint picker to configure."""
        deployment = self.cluster.find(self._path("apps/v1", "Deployment", self.target.name))
        self.deployment = deployment or {}
        if deployment is None:
            raise ClusterError(f"there is no Deployment {self.target}: deploy it first (playbooks/site.yml), or correct target.name and target.namespace")
        config_map = self.cluster.find(self._path("v1", "ConfigMap", self.target.config_map))
        config = dig(config_map, "data", self.target.key)
        found = dig(deployment, "spec", "template", "metadata", "annotations", CHECKSUM)
        return State(None if config is None else text(config), None if found is None else text(found))

    def write(self, state: State) -> None:
        """Bring configuration and checksum to a state; the pods follow. The ConfigMap first, so that no new pod sees the old one."""
        data = {} if state.config is None else {self.target.key: state.config}
        self._apply("v1", "ConfigMap", self.target.config_map, {"data": data})
        annotations = {} if state.checksum is None else {CHECKSUM: state.checksum}
        self._apply("apps/v1", "Deployment", self.target.name, {"spec": {"template": {"metadata": {"annotations": annotations}}}})

    def _apply(self, api_version: str, kind: str, name: str, body: dict[str, t.Any]) -> None:
        head = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": self.target.namespace}}
        query = {"fieldManager": MANAGER, "force": "true"}
        self.cluster.request("PATCH", self._path(api_version, kind, name), query, {**head, **body}, content_type="application/apply-patch+yaml")

    def _path(self, api_version: str, kind: str, name: str) -> str:
        path = self.cluster.path(api_version, kind, self.target.namespace, name)
        if path is None:
            raise ClusterError(f"the Kubernetes API server {self.cluster.server} knows no {kind} in {api_version}")
        return path


def settle(cluster: Cluster, wanted: list[tuple[RolloutTarget, str, dict[str, t.Any] | None]], timeout: float) -> list[Outcome]:
    """Wait until every endpoint picker runs its configuration, given as (target, checksum, document), or until one of them cannot.

    A document of None is not compared with the log. One outcome each, in order.
    """
    watches = [Watch(cluster, *item) for item in wanted]
    end = time.monotonic() + timeout
    while True:
        for watch in watches:
            if watch.outcome is None:
                watch.look()
        # one that is lost makes the whole lost: the others are waited for no longer
        lost = any(watch.outcome and watch.outcome.error for watch in watches)
        if lost or all(watch.outcome for watch in watches) or time.monotonic() > end:
            return [watch.outcome or (Outcome([]) if lost else watch.give_up()) for watch in watches]
        time.sleep(INTERVAL)


class Watch:
    """One endpoint picker on its way to a configuration."""

    def __init__(self, cluster: Cluster, target: RolloutTarget, wanted: str, document: dict[str, t.Any] | None):
        self.target, self.wanted, self.document = target, wanted, document
        self.waiting = Waiting(cluster, [Ref("apps/v1", "Deployment", target.namespace, target.name)])
        self.observer = self.waiting.observer
        self.ref = self.waiting.refs[0]
        self.outcome: Outcome | None = None
        self._silent: dict[str, float] = {}
        self._begin = time.monotonic()

    def look(self) -> None:
        """Look once; sets the outcome when there is one."""
        self.waiting.look()
        found = self.waiting.objects.get(self.ref) or []
        if not found:
            self.outcome = Outcome([], f"there is no Deployment {self.target}")
            return
        annotated = text(dig(found[0], "spec", "template", "metadata", "annotations", CHECKSUM))
        if annotated != self.wanted:
            there = f"its checksum is {annotated[:12] or 'gone'}, not {self.wanted[:12]}"
            self.outcome = Outcome([], f"Deployment {self.target} was changed by someone else: {there}")
            return
        pods = self.observer.pods(found[0])
        verdict = self.waiting.verdicts[self.ref]
        if verdict.ready:
            self._prove(pods)
            return
        refused = self._refusal(pods)
        if refused:
            self.outcome = Outcome([], f"the new endpoint picker does not start: {refused}", refused)
        elif verdict.terminal:
            self.outcome = self.give_up()

    def give_up(self) -> Outcome:
        """The outcome of a wait that was in vain."""
        entries = self.waiting.explain()
        said = next((line for entry in entries for line in entry["details"] if ", log of " in line), "")
        if not entries:
            return Outcome([], f"Deployment {self.target} did not prove in time that it has loaded the configuration")
        return Outcome([], report(entries, 1, time.monotonic() - self._begin, "ready"), said)

    def _refusal(self, pods: list[dict]) -> str:
        """What a pod that has ended said of its configuration."""
        for pod in pods:
            for entry in dicts(dig(pod, "status", "containerStatuses")):
                ended = dig(entry, "state", "terminated") or dig(entry, "lastState", "terminated")
                if ended and entry.get("ready") is not True:
                    name = text(entry.get("name"))
                    log = log_head(self.observer.cluster, pod, name, not dig(entry, "state", "terminated"))
                    said = observed.read_log(log)
                    if said.error:
                        return said.error
        return ""

    def _prove(self, pods: list[dict]) -> None:
        """Read in the log of every pod what it has loaded."""
        proven = []
        for pod in pods:
            name = text(dig(pod, "metadata", "name"))
            if text(dig(pod, "metadata", "annotations", CHECKSUM)) != self.wanted or condition(pod.get("status"), "Ready").get("status") != "True":
                return  # a pod of the revision before, or one that has just died: look again
            proof = self._proof(pod, name)
            if proof is None:
                return
            if proof.get("error"):
                self.outcome = Outcome([], f"pod {name} runs another configuration: {proof['error']}", proof["line"])
                return
            proven.append(proof)
        self.outcome = Outcome(proven) if proven else None

    def _proof(self, pod: dict, name: str) -> dict[str, str] | None:
        """{pod, by, line} of one ready pod; None when its log has not yet arrived."""
        for container in epp_containers(pod):
            said = observed.read_log(log_head(self.observer.cluster, pod, container))
            if said.loaded:
                wrong = observed.differs(said, self.document) if self.document else ""
                return {"pod": name, "by": "log", "line": said.line, **({"error": wrong} if wrong else {})}
        since = self._silent.setdefault(name, time.monotonic())
        if time.monotonic() - since < LAG and not old(pod):
            return None
        # Its log is gone (rotated) or written in another way. It ends when it cannot load its configuration, and it is ready.
        return {"pod": name, "by": "readiness", "line": f"pod {name} was made for checksum {self.wanted[:12]} and is ready"}


def epp_containers(pod: dict) -> list[str]:
    """Names of the containers of a pod, that of the endpoint picker first."""
    names = [text(entry.get("name")) for entry in dicts(dig(pod, "spec", "containers"))]
    return sorted(names, key=lambda name: name != "epp")


def old(pod: dict) -> bool:
    """True when a pod's first words may have been rotated away."""
    started = condition(pod.get("status"), "Ready").get("lastTransitionTime")
    return bool(started) and time.time() - _seconds(text(started)) > 600


def _seconds(stamp: str) -> float:
    try:
        return time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
    except ValueError:
        return time.time()


def log_head(cluster: Cluster, pod: dict, container: str, previous: bool = False) -> str:
    """The beginning of a container's log; empty where there is none or it may not be read."""
    query = {"container": container, "limitBytes": str(LOG_BYTES)}
    if previous:
        query["previous"] = "true"
    path = f"/api/v1/namespaces/{text(dig(pod, 'metadata', 'namespace'))}/pods/{text(dig(pod, 'metadata', 'name'))}/log"
    try:
        return cluster.request("GET", path, query, raw=True, timeout=10)
    except ApiError:
        return ""
