# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server on loopback with Jobs, ConfigMaps, Secrets, Pods and one Gateway; the pod of a Job is a real process of this host."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
import typing as t
import urllib.parse
from pathlib import Path

from local_servers import JSON

KINDS = ("jobs", "pods", "configmaps", "secrets", "events", "services", "gateways")


class Cluster:
    """pod: status and log of the Job's pod, in place of a process; job_status: status of the Job, in place of a pod; gateway, events: existing objects.

    `writes`: (method, kind, body) of each request that is not a GET.
    """

    def __init__(
        self,
        folder: Path,
        gateway: dict[str, t.Any] | None = None,
        pod: tuple[dict[str, t.Any], str] | None = None,
        job_status: dict[str, t.Any] | None = None,
        events: t.Sequence[dict[str, t.Any]] = (),
    ) -> None:
        self._folder, self._pod, self._job_status = folder, pod, job_status or {}
        self.objects: dict[str, dict[str, dict[str, t.Any]]] = {kind: {} for kind in KINDS}
        self.objects["gateways"] = {"gw": gateway} if gateway else {}
        self.objects["events"] = {str(index): event for index, event in enumerate(events)}
        self.writes: list[tuple[str, str, t.Any]] = []
        self.process: subprocess.Popen[str] | None = None
        self.late = 0  # reads of the log after the end of the pod that still lack its last line

    def left(self) -> list[str]:
        """kind/name of each object that a measurement has left."""
        return [f"{kind}/{name}" for kind in ("jobs", "pods", "configmaps", "secrets") for name in self.objects[kind]]

    def __call__(self, handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        parsed = urllib.parse.urlsplit(path)
        parts = parsed.path.split("/")
        place = next(index for index, part in enumerate(parts) if part in KINDS)
        kind, name, sub = parts[place], (parts[place + 1 :] or [""])[0], (parts[place + 2 :] or [""])[0]
        given = json.loads(body) if body else None
        if method != "GET":
            self.writes.append((method, kind, given))
        reply = self._reply(method, kind, name, sub, given, urllib.parse.parse_qs(parsed.query))
        if reply is None:
            return 404, {"Content-Type": JSON}, json.dumps({"kind": "Status", "reason": "NotFound", "message": f"{kind} {name} not found"})
        return 200, {"Content-Type": JSON}, reply if isinstance(reply, str) else json.dumps(reply)

    def _reply(self, method: str, kind: str, name: str, sub: str, given: t.Any, query: t.Any) -> t.Any:
        objects = self.objects[kind]
        if method == "POST":
            objects[given["metadata"]["name"]] = given
            given["metadata"]["uid"] = "5d1f"
            return given
        if method == "PATCH":
            objects[name]["spec"].update(given["spec"])
            objects[name]["status"] = self._job_status
            self._start(objects[name])
            return objects[name]
        if method == "DELETE":
            if kind == "jobs" and self.process:
                self.process.terminate()
                self.process.wait(10)
            if kind == "jobs":
                self.objects["pods"] = {}
            return objects.pop(name, None)
        if sub == "log":
            return self._log(query)
        if name:
            return objects.get(name)
        if kind == "pods":
            self._observe()
        return {"items": list(self.objects[kind].values())}

    def _start(self, job: dict[str, t.Any]) -> None:
        name, spec = job["metadata"]["name"], job["spec"]["template"]
        if self._job_status:
            return
        pod = {
            "metadata": {"name": f"{name}-x", "namespace": "llm-d", "labels": spec["metadata"]["labels"]},
            "spec": spec["spec"],
            "status": {"phase": "Pending"},
        }
        self.objects["pods"][f"{name}-x"] = pod
        if self._pod:
            pod["status"] = self._pod[0]
            return
        for kind, field in (("configmaps", "binaryData"), ("secrets", "data")):
            assert self.objects[kind][name]["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
            for file, data in self.objects[kind][name][field].items():
                content = base64.b64decode(data)
                (self._folder / file).write_bytes(content.replace(b"/perf/", f"{self._folder}/".encode()) if field == "data" else content)
        command = [sys.executable if part == "python3" else part.replace("/perf/", f"{self._folder}/") for part in spec["spec"]["containers"][0]["command"]]
        with open(self._folder / "log", "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([command[0], "-S", *command[1:]], stdout=log, stderr=log, text=True)

    def _observe(self) -> None:
        for pod in self.objects["pods"].values():
            if self.process:
                code = self.process.poll()
                pod["status"] = (
                    {"phase": "Running"}
                    if code is None
                    else {"phase": "Failed" if code else "Succeeded", "containerStatuses": [{"name": "perf", "state": {"terminated": {"exitCode": code}}}]}
                )

    def _log(self, query: t.Any) -> str:
        if self._pod:
            return self._pod[1]
        time.sleep(0.01)
        lines = (self._folder / "log").read_text(encoding="utf-8").splitlines(keepends=True)
        if self.late and self.process and self.process.poll() is not None:
            self.late -= 1
            lines.pop()
        return "".join(lines[-int(query["tailLines"][0]) :] if "tailLines" in query else lines)


def kubeconfig(folder: Path, url: str) -> str:
    """Writes a kubeconfig for this API server; its path."""
    path = folder / "kubeconfig"
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "x",
                "users": [{"name": "x", "user": {}}],
                "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
                "clusters": [{"name": "x", "cluster": {"server": url}}],
            }
        ),
        encoding="utf-8",
    )
    return str(path)
