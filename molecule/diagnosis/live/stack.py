"""The running stack of these tests: break and restore its objects, misconfigure its servers, and diagnose it."""

from __future__ import annotations

import copy
import json
import os
import time
import types
import typing as t
from pathlib import Path

import live_stack
import plays
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError

NAMESPACE, MODEL = "llm-d", "llm-d/simulated-8b"
SOMEONE = {"fieldManager": "someone"}
LIMIT = 30  # seconds that one diagnosis may take
VERDICT_LIMIT = 20  # seconds that a verdict may take, its play included, when no rollout is in progress
Object = dict[str, t.Any]
Undo = t.Callable[[], None]


def path(kind: str, name: str, namespace: str = NAMESPACE) -> str:
    """The URL path of an object; without a name, of its kind."""
    groups = {
        "deployments": "apis/apps/v1",
        "configmaps": "api/v1",
        "services": "api/v1",
        "pods": "api/v1",
        "resourcequotas": "api/v1",
        "roles": "apis/rbac.authorization.k8s.io/v1",
        "networkpolicies": "apis/networking.k8s.io/v1",
        "httproutes": "apis/gateway.networking.k8s.io/v1",
        "gateways": "apis/gateway.networking.k8s.io/v1",
        "inferencepools": "apis/inference.networking.k8s.io/v1",
        "envoyextensionpolicies": "apis/gateway.envoyproxy.io/v1alpha1",
        "backendtrafficpolicies": "apis/gateway.envoyproxy.io/v1alpha1",
        "envoyproxies": "apis/gateway.envoyproxy.io/v1alpha1",
        "securitypolicies": "apis/gateway.envoyproxy.io/v1alpha1",
        "validatingwebhookconfigurations": "apis/admissionregistration.k8s.io/v1",
    }
    where = f"/namespaces/{namespace}" if namespace else ""
    return f"/{groups[kind]}{where}/{kind}" + (f"/{name}" if name else "")


class Stack:
    """One gateway, the model service `sim`, which is broken, and `pd`, whose stages have a server each."""

    def __init__(self, artifacts: Path) -> None:
        self.kubeconfig = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
        self.cluster = connect(types.SimpleNamespace(params={"kubeconfig": self.kubeconfig}))
        self.artifacts = artifacts

    def call(self, method: str, where: str, body: Object | None = None) -> Object:
        """Send one request to the API server as the field manager `someone`: the diagnosis distinguishes foreign changes from the collection's."""
        return self.cluster.request(method, where, SOMEONE if method in ("PUT", "POST") else None, body)

    def edit(self, kind: str, name: str, change: t.Callable[[Object], None], namespace: str = NAMESPACE) -> Undo:
        """Change an object; returns the function that restores its content."""
        where = path(kind, name, namespace)
        before = self.call("GET", where)
        after = copy.deepcopy(before)
        change(after)
        self._put(where, after)

        def undo() -> None:
            self._put(where, before)

        return undo

    def _put(self, where: str, content: Object) -> None:
        for attempt in range(5):
            now = self.call("GET", where)
            now.update({key: value for key, value in content.items() if key not in ("metadata", "status")})
            try:
                self.call("PUT", where, now)
                return
            except ApiError as error:
                if error.status != 409 or attempt == 4:
                    raise

    def delete(self, kind: str, name: str) -> Undo:
        """Delete an object; returns the function that creates it again."""
        before = self.call("GET", path(kind, name))
        self.call("DELETE", path(kind, name))
        keep = {key: value for key, value in before["metadata"].items() if key in ("name", "namespace", "labels", "annotations")}
        made = {**{key: value for key, value in before.items() if key != "status"}, "metadata": keep}
        return lambda: self.call("POST", path(kind, ""), made) and None

    def create(self, kind: str, made: Object, namespace: str = NAMESPACE) -> Undo:
        """Create an object; returns the function that deletes it."""
        self.call("POST", path(kind, "", namespace), made)
        return lambda: self.call("DELETE", path(kind, made["metadata"]["name"], namespace)) and None

    def container(self, name: str, change: t.Callable[[Object], None], namespace: str = NAMESPACE) -> Undo:
        """Change the first container of a Deployment."""
        return self.edit("deployments", name, lambda obj: change(obj["spec"]["template"]["spec"]["containers"][0]), namespace)

    def scale(self, name: str, replicas: int, namespace: str = NAMESPACE) -> Undo:
        return self.edit("deployments", name, lambda obj: obj["spec"].update(replicas=replicas), namespace)

    def restart(self, name: str) -> None:
        """Replace the pods of a Deployment, as kubectl rollout restart does."""
        note = {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": str(time.time())}}}}}
        self.cluster.request("PATCH", path("deployments", name), SOMEONE, note, content_type="application/merge-patch+json")

    def servers(self) -> dict[str, str]:
        """{pod name: address} of the model servers."""
        pods = self.cluster.get(path("pods", ""), {"labelSelector": "llm-d.ai/model-service=sim,llm-d.ai/role=decode"})["items"]
        return {pod["metadata"]["name"]: pod["status"]["podIP"] for pod in pods if pod["status"].get("podIP") and not pod["metadata"].get("deletionTimestamp")}

    def mislead(self, settings: Object, every: bool = False) -> Undo:
        """Change the settings of one running simulator, or of all; returns the function that resets them."""
        addresses = sorted(self.servers().items())
        for _name, address in addresses if every else addresses[:1]:
            live_stack.call(f"http://{address}:8000/admin/config", settings)
        calm = {"time-to-first-token": "0s", "failure-injection-rate": 0, "failure-types": []}

        def undo() -> None:
            for address in self.servers().values():
                live_stack.call(f"http://{address}:8000/admin/config", calm)

        return undo

    def gateway(self) -> str:
        gateway = self.call("GET", path("gateways", "llm-d-gateway"))
        return f"http://{gateway['status']['addresses'][0]['value']}"

    # the plays

    def diagnose(self, **variables: t.Any) -> Object:
        """Run playbooks/diagnose.yml; returns diagnosis.json and, as `whole_seconds`, the duration of the play."""
        given = {"llm_d_artifacts_dir": str(self.artifacts), "llm_d_kubeconfig": self.kubeconfig, "diagnose_evidence": False, **variables}
        start = time.monotonic()
        done = plays.run("-i", "molecule/diagnosis/inventory", "playbooks/diagnose.yml", "-e", json.dumps(given))
        assert done.returncode == 0 and "changed=0" in done.stdout, done.stdout + done.stderr
        took = time.monotonic() - start
        assert took < LIMIT, f"a diagnosis took {took:.1f} s"
        return {**json.loads((self.artifacts / "diagnosis.json").read_text(encoding="utf-8")), "whole_seconds": round(took, 1)}

    def validate(self, **variables: t.Any) -> Object:
        """Run playbooks/validate.yml; returns verdict.json, as `failed` a line for each failed claim, and as `whole_seconds` the duration of the play."""
        given = {"llm_d_artifacts_dir": str(self.artifacts), "llm_d_kubeconfig": self.kubeconfig, **variables}
        file = self.artifacts / "verdict.json"
        file.unlink(missing_ok=True)
        start = time.monotonic()
        done = plays.run("-i", "molecule/diagnosis/inventory", "playbooks/validate.yml", "-e", json.dumps(given))
        took = time.monotonic() - start
        assert file.exists(), done.stdout + done.stderr
        verdict = json.loads(file.read_text(encoding="utf-8"))
        assert (done.returncode == 0) == verdict["ok"] and "changed=0" in done.stdout, done.stdout + done.stderr
        failed = [f"{claim['id']}: {claim['evidence']} ({claim['remedy']})" for claim in verdict["claims"] if not claim["ok"]]
        return {**verdict, "failed": failed, "whole_seconds": round(took, 1)}

    def until_named(self, codes: t.Collection[str], seconds: float = 120) -> Object:
        """Diagnose, evidence included, until one of the codes ranks first or second: a break takes time to take effect."""
        end = time.monotonic() + seconds
        while True:
            report = self.diagnose(diagnose_evidence=True)
            if {entry["code"] for entry in report["findings"][:2]} & set(codes):
                return report
            assert time.monotonic() < end, json.dumps(report["findings"], indent=1)
            time.sleep(2)

    def until_well(self, seconds: float = 180) -> None:
        """Wait until the stack answers and the diagnosis has no finding."""
        end = time.monotonic() + seconds
        while True:
            report = self.diagnose()
            if report["ok"]:
                return
            assert time.monotonic() < end, json.dumps(report["findings"], indent=1)
            time.sleep(2)
