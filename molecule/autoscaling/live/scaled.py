"""The stack of this scenario: one gateway with the model service `sim`, whose servers are scaled, and clients whose number changes."""

from __future__ import annotations

import copy
import json
import threading
import time
import typing as t
from pathlib import Path

import plays
import yaml
from kubernetes import client
from live_stack import NAMESPACE, Stack, call, until

INVENTORY = "molecule/autoscaling/inventory"
FILE = plays.ROOT / INVENTORY / "group_vars/all/scaled.yml"
SERVICE, MODEL, SERVERS = "sim", "llm-d/simulated-8b", "sim-decode"


class Scaled(Stack):
    """The running stack."""

    def __init__(self) -> None:
        super().__init__(INVENTORY, {SERVICE: MODEL})
        self._apps = client.AppsV1Api()

    @property
    def number(self) -> int:
        """The desired number of servers: spec.replicas of their Deployment."""
        return int(self._apps.read_namespaced_deployment(SERVERS, NAMESPACE).spec.replicas)

    def pods(self) -> int:
        """The number of server pods, terminating ones included."""
        return len(self.core.list_namespaced_pod(NAMESPACE, label_selector=f"llm-d.ai/model-service={SERVICE},llm-d.ai/role=decode").items)

    def leaving(self) -> dict[str, float]:
        """{pod name: when its deletion was requested, in seconds since the epoch} of each terminating server."""
        pods = self.core.list_namespaced_pod(NAMESPACE, label_selector=f"llm-d.ai/model-service={SERVICE},llm-d.ai/role=decode").items
        ends = {pod.metadata.name: pod.metadata for pod in pods if pod.metadata.deletion_timestamp}
        return {name: meta.deletion_timestamp.timestamp() - meta.deletion_grace_period_seconds for name, meta in ends.items()}

    def autoscalers(self) -> dict[str, str]:
        """{name: provider} of the collection's autoscalers."""
        scalers = client.AutoscalingV2Api().list_namespaced_horizontal_pod_autoscaler(NAMESPACE).items
        objects = client.CustomObjectsApi().list_namespaced_custom_object("keda.sh", "v1alpha1", NAMESPACE, "scaledobjects")["items"]
        return {
            **{item.metadata.name: "hpa" for item in scalers if not item.metadata.owner_references},
            **{item["metadata"]["name"]: "keda" for item in objects},
        }

    def site(self, artifacts: Path, changes: t.Mapping[str, t.Any], *options: str, scheduler: t.Mapping[str, t.Any] | None = None, **given: t.Any) -> str:
        """Run site.yml, which must succeed, with changes to the file's autoscaling (None removes a key) and the variables `given`; returns its output."""
        return plays.well(INVENTORY, "site.yml", artifacts, *options, llm_d_model_services=services(changes, scheduler), **given)

    def acts(self) -> bool:
        """Whether the only autoscaler reads its metrics."""
        (scaler,) = client.AutoscalingV2Api().list_namespaced_horizontal_pod_autoscaler(NAMESPACE).items
        return any(entry.type == "ScalingActive" and entry.status == "True" for entry in scaler.status.conditions or [])

    def apply(self, artifacts: Path, changes: t.Mapping[str, t.Any], **given: t.Any) -> None:
        """Run site.yml without changes until the autoscaler reads its metrics, then with the changes; neither run validates."""
        self.site(artifacts, {}, "--skip-tags", "validation")
        until(self.acts, 240, "the autoscaler reads its metrics")
        self.site(artifacts, changes, "--skip-tags", "validation", **given)

    def broken(self, artifacts: Path, changes: t.Mapping[str, t.Any], evidence: str, **variables: t.Any) -> dict[str, t.Any]:
        """The only claim that fails, once its evidence contains the text; variables: of the play."""
        given = {"llm_d_artifacts_dir": str(artifacts), "llm_d_model_services": services(changes), "validation_wait": 0, **variables}
        claim: dict[str, t.Any] = {}

        def one_claim_fails() -> bool:
            plays.run("-i", INVENTORY, "playbooks/validate.yml", "-e", json.dumps(given))
            verdict = json.loads((artifacts / "verdict.json").read_text(encoding="utf-8"))
            failed = [entry for entry in verdict["claims"] if not entry["ok"]]
            claim.update(failed[0] if len(failed) == 1 else {})
            return evidence in claim.get("evidence", "")

        until(one_claim_fails, 240, f"the evidence of one claim contains {evidence}")
        return claim


def services(changes: t.Mapping[str, t.Any], scheduler: t.Mapping[str, t.Any] | None = None) -> list[dict[str, t.Any]]:
    """The file's model services, with changes to the autoscaling (None removes a key) and additions to the scheduler's block."""
    changed: list[dict[str, t.Any]] = copy.deepcopy(yaml.safe_load(FILE.read_text(encoding="utf-8"))["llm_d_model_services"])
    scaling = {**changed[0]["autoscaling"], **changes}
    changed[0]["autoscaling"] = {key: value for key, value in scaling.items() if value is not None}
    changed[0]["scheduler"].update(scheduler or {})
    return changed


class Answer(t.NamedTuple):
    """One exchange: the pod that answered, and its begin and end in seconds since the epoch."""

    status: int
    pod: str
    begun: float
    ended: float
    text: str


class Clients:
    """Clients that send one request after the other; `number` of them are active, and it may change at any time."""

    def __init__(self, url: str, most: int, tokens: int) -> None:
        self.number, self.tokens, self.answers = 0, tokens, list[Answer]()
        self._url, self._over = url, threading.Event()
        self._threads = [threading.Thread(target=self._work, args=[index], daemon=True) for index in range(most)]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    @property
    def lost(self) -> list[Answer]:
        """The requests without a complete answer."""
        return [answer for answer in self.answers if answer.status != 200 or not answer.pod]

    def first(self) -> dict[str, float]:
        """{pod name: the time of its first answer}."""
        times: dict[str, float] = {}
        for answer in sorted(self.answers, key=lambda each: each.ended):
            times.setdefault(answer.pod, answer.ended)
        return times

    def _work(self, index: int) -> None:
        count = 0
        while not self._over.is_set():
            if index >= self.number:
                time.sleep(0.1)
                continue
            count += 1
            self.answers.append(self._send(f"Client {index} asks for the {count}. time."))

    def _send(self, prompt: str) -> Answer:
        wanted, begun = self.tokens, time.time()
        body = {"model": MODEL, "prompt": prompt, "max_tokens": wanted, "ignore_eos": True}
        try:
            status, headers, content = call(f"{self._url}/v1/completions", body, timeout=180)
        except OSError as error:
            return Answer(0, "", begun, time.time(), str(error))
        whole = status == 200 and json.loads(content)["usage"]["completion_tokens"] == wanted
        return Answer(status, headers.get("x-inference-pod", "") if whole else "", begun, time.time(), content[:300].decode(errors="replace"))
