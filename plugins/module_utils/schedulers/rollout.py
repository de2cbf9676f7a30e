# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes the configuration of a running endpoint picker: writes it, waits for the rollout, and verifies from the log of each pod that it is loaded."""

from __future__ import annotations

import dataclasses
import hashlib
import typing as t
from collections.abc import Sequence

from ..common.objects import Facts, condition, dicts, get_path, moment, text
from ..epp import observed
from ..k8s.client import FIELD_MANAGER, Cluster
from ..k8s.errors import ClusterError, lasting
from ..k8s.related_objects import Ref
from ..k8s.wait import Wait, report

CHECKSUM = "llm-d.ai/config-checksum"
# A separate field manager: server-side apply of these two fields must not drop the other fields that the collection applied.
MANAGER = f"{FIELD_MANAGER}.scorer_config"
# INTERVAL: seconds between two checks. LAG: seconds by which the log of a ready pod may be delayed; a line that is missing after that does not appear any more.
# LOG_BYTES: bytes from the start of a log, where the relevant lines are.
INTERVAL, LAG, LOG_BYTES = 0.5, 10.0, 200_000


@dataclasses.dataclass(frozen=True)
class RolloutTarget:
    """An endpoint picker: its namespace and Deployment, and the ConfigMap and key of its configuration."""

    namespace: str
    name: str
    config_map: str
    key: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclasses.dataclass(frozen=True)
class State:
    """The text of the configuration and the checksum in the pod template; None where they do not exist."""

    config: str | None
    checksum: str | None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a rollout ended. `error`: why it failed, else empty; `culprit`: the line of the endpoint picker's log about it.

    `pods`: {pod, line, by} of each pod that is verified to run the configuration.
    """

    pods: list[dict[str, str]]
    error: str = ""
    culprit: str = ""


def checksum(config: str) -> str:
    """The value of the checksum annotation on the pod template, which makes a changed configuration roll the pods."""
    return hashlib.sha256(config.encode()).hexdigest()


class Rollout:
    """Reads and writes the configuration of one endpoint picker. Raises ClusterError when the API server rejects a request."""

    def __init__(self, cluster: Cluster, target: RolloutTarget):
        self.cluster, self.target = cluster, target
        self.deployment: dict[str, t.Any] = {}

    def read(self) -> State:
        """The present state. Raises ClusterError if the Deployment does not exist."""
        deployment = self.cluster.find(self._path("apps/v1", "Deployment", self.target.name))
        self.deployment = deployment or {}
        if deployment is None:
            raise ClusterError(f"there is no Deployment {self.target}: deploy it first (playbooks/site.yml), or correct target.name and target.namespace")
        config_map = self.cluster.find(self._path("v1", "ConfigMap", self.target.config_map))
        config = get_path(config_map, "data", self.target.key)
        annotation = get_path(deployment, "spec", "template", "metadata", "annotations", CHECKSUM)
        return State(None if config is None else text(config), None if annotation is None else text(annotation))

    def write(self, state: State) -> None:
        """Writes configuration and checksum, which rolls the pods. The ConfigMap comes first, so that no new pod reads the old one."""
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
            raise ClusterError(f"the Kubernetes API server {self.cluster.server} does not serve {kind} in {api_version}")
        return path


def settle(cluster: Cluster, wanted: Sequence[tuple[RolloutTarget, str, dict[str, t.Any] | None]], timeout: float, patient: bool = True) -> list[Outcome]:
    """Waits until every endpoint picker runs its configuration, given as (target, checksum, document), or until one of them fails.

    A document of None is not compared with the log. patient: whether to wait for a Deployment that is not ready; otherwise it is a failure at once.
    Returns one outcome for each, in order.
    """
    watches = [RolloutWatch(cluster, *item) for item in wanted]
    end = cluster.clock.now() + timeout
    cluster.be_patient(timeout)
    while True:
        cluster.parallel(lambda watch: watch.check(patient), [watch for watch in watches if watch.outcome is None])
        # one failure fails all: do not wait for the others
        lost = any(watch.outcome and watch.outcome.error for watch in watches)
        if lost or all(watch.outcome for watch in watches) or cluster.clock.now() >= end:
            return [watch.outcome or (Outcome([]) if lost else watch.give_up()) for watch in watches]
        cluster.clock.sleep(INTERVAL)


class RolloutWatch:
    """The rollout of one endpoint picker to a configuration."""

    def __init__(self, cluster: Cluster, target: RolloutTarget, wanted: str, document: dict[str, t.Any] | None):
        self.target, self.wanted, self.document = target, wanted, document
        self.waiting = Wait(cluster, [Ref("apps/v1", "Deployment", target.namespace, target.name)])
        self.observer = self.waiting.observer
        self.ref = self.waiting.refs[0]
        self.outcome: Outcome | None = None
        self._silent: dict[str, float] = {}
        self._clock = cluster.clock
        self._begin = self._clock.now()

    def check(self, patient: bool = True) -> None:
        """Checks once, and sets the outcome when the rollout has ended. patient: whether a Deployment that is not ready may become so."""
        self.waiting.poll()
        deployments = self.waiting.objects.get(self.ref) or []
        if not deployments:
            self.outcome = Outcome([], f"there is no Deployment {self.target}")
            return
        annotated = text(get_path(deployments[0], "spec", "template", "metadata", "annotations", CHECKSUM))
        if annotated != self.wanted:
            there = f"its checksum is {annotated[:12] or 'missing'}, not {self.wanted[:12]}"
            self.outcome = Outcome([], f"Deployment {self.target} was changed by someone else: {there}")
            return
        if get_path(deployments[0], "spec", "replicas") == 0:
            self.outcome = Outcome([], f"Deployment {self.target} is scaled to 0, so no endpoint picker runs")
            return
        pods = self.observer.pods(deployments[0])
        verdict = self.waiting.verdicts[self.ref]
        if verdict.ready:
            self._prove(pods)
            return
        refused = self._refusal(pods)
        if refused:
            self.outcome = Outcome([], f"the new endpoint picker does not start: {refused}", refused)
        elif verdict.terminal or not patient:
            self.outcome = self.give_up()

    def give_up(self) -> Outcome:
        """The outcome of a rollout that did not end in time, or cannot end."""
        entries = self.waiting.explain()
        culprit = next((line for entry in entries for line in entry["details"] if ", log of " in line), "")
        if not entries:
            return Outcome([], f"Deployment {self.target} did not confirm in time that it has loaded the configuration")
        return Outcome([], report(entries, 1, self._clock.now() - self._begin, "ready"), culprit)

    def _refusal(self, pods: list[Facts]) -> str:
        """The error about the configuration in the log of a container that has ended; empty if there is none."""
        for pod in pods:
            for entry in dicts(get_path(pod, "status", "containerStatuses")):
                ended = get_path(entry, "state", "terminated") or get_path(entry, "lastState", "terminated")
                if ended and entry.get("ready") is not True:
                    name = text(entry.get("name"))
                    log = log_head(self.observer.cluster, pod, name, not get_path(entry, "state", "terminated"))
                    result = observed.read_log(log or "")
                    if result.error:
                        return result.error
        return ""

    def _prove(self, pods: list[Facts]) -> None:
        """Sets the outcome when every pod is verified, or when one runs another configuration."""
        proven = []
        for pod in pods:
            name = text(get_path(pod, "metadata", "name"))
            if text(get_path(pod, "metadata", "annotations", CHECKSUM)) != self.wanted or condition(pod.get("status"), "Ready").get("status") != "True":
                return  # a pod of the previous revision, or one that has just ended: check again
            proof = self._proof(pod, name)
            if proof is None:
                return
            if proof.get("error"):
                self.outcome = Outcome([], f"pod {name} runs another configuration: {proof['error']}", proof["line"])
                return
            proven.append(proof)
        self.outcome = Outcome(proven) if proven else None

    def _proof(self, pod: Facts, name: str) -> dict[str, str] | None:
        """{pod, by, line} of one ready pod, with `error` where its configuration differs; None while its log has no such line."""
        cluster, read = self.observer.cluster, True
        for container in epp_containers(pod):
            log = log_head(cluster, pod, container)
            read = read and log is not None
            result = observed.read_log(log or "")
            if result.loaded:
                difference = observed.difference(result, self.document) if self.document else ""
                return {"pod": name, "by": "log", "line": result.line, **({"error": difference} if difference else {})}
        since = self._silent.setdefault(name, self._clock.now())
        if self._clock.now() - since < LAG and not (read and log_is_settled(pod, cluster.server_time())):
            return None
        # Its log is rotated, cannot be read, or has another format. An endpoint picker that cannot load its configuration ends; this one is ready.
        return {"pod": name, "by": "readiness", "line": f"pod {name} was created for checksum {self.wanted[:12]} and is ready"}


def epp_containers(pod: Facts) -> list[str]:
    """Names of the containers of a pod, the endpoint picker first."""
    names = [text(entry.get("name")) for entry in dicts(get_path(pod, "spec", "containers"))]
    return sorted(names, key=lambda name: name != "epp")


def log_is_settled(pod: Facts, now: float) -> bool:
    """Whether a pod has been ready for so long that the start of its log does not change any more, or was rotated away. now: seconds since the epoch."""
    started = moment(condition(pod.get("status"), "Ready").get("lastTransitionTime"))
    return started is not None and now - started.timestamp() > LAG


def log_head(cluster: Cluster, pod: Facts, container: str, previous: bool = False) -> str | None:
    """The start of a container's log; empty if this account may not read it; None if another try may succeed, such as when a kubelet does not answer."""
    query = {"container": container, "limitBytes": str(LOG_BYTES)}
    if previous:
        query["previous"] = "true"
    path = f"/api/v1/namespaces/{text(get_path(pod, 'metadata', 'namespace'))}/pods/{text(get_path(pod, 'metadata', 'name'))}/log"
    try:
        log: str = cluster.read_text(path, query, timeout=10)
        return log
    except ClusterError as exc:
        return "" if lasting(exc) else None
