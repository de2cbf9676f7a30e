# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real kube-apiserver with etcd on loopback, from the binaries of the local cluster, without a kubelet: tests set the status of Pods."""

from __future__ import annotations

import collections
import collections.abc as c
import contextlib
import json
import os
import subprocess
import threading
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.picker_pool import GATE, LABEL
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import Cluster
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ClusterError
from local_servers import port_for_a_program
from waiting import until

Facts = dict[str, t.Any]
CACHE = Path("/var/cache/llm-d-local")
NODE = CACHE / "bin/node"  # etcd and the parts of Kubernetes in one binary, selected by the name of the link
CRDS = CACHE / "assets/crds/inference-extension"
TOKEN = "of-the-test"
DRAINING = 200  # checks of the kubelet during which a deleted Pod still exists, about 8 seconds


@contextlib.contextmanager
def program(folder: Path, name: str, *arguments: str, **environment: str) -> c.Iterator[subprocess.Popen[bytes]]:
    """Runs a program in the background, with its output in a file of the folder; gives its process."""
    with (folder / f"{Path(arguments[0]).name}-{name}.log").open("wb") as log:
        running = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **environment}, cwd=folder)
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(5)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


class ApiServer:
    """kubeconfig: its path; cluster: a client. A thread runs `kubelet` for the Pods that the checks create."""

    def __init__(self, kubeconfig: Path, server: str) -> None:
        from kubernetes.client import Configuration

        configuration = Configuration()
        configuration.host, configuration.ssl_ca_cert = server, str(kubeconfig.parent / "certs/apiserver.crt")
        configuration.api_key = {"authorization": TOKEN}
        configuration.api_key_prefix = {"authorization": "Bearer"}
        self.kubeconfig, self.cluster = kubeconfig, Cluster(configuration, {})
        self._stop = threading.Event()
        self._dying: collections.Counter[str] = collections.Counter()

    def pool(self, namespace: str, name: str, ports: c.Sequence[int], **spec: t.Any) -> Facts:
        """Creates an InferencePool in a namespace of its own; returns it."""
        self.cluster.request("POST", "/api/v1/namespaces", body={"metadata": {"name": namespace}})
        body = {
            "apiVersion": "inference.networking.k8s.io/v1",
            "kind": "InferencePool",
            "metadata": {"name": name},
            "spec": {
                "selector": {"matchLabels": {"app": name}},
                "targetPorts": [{"number": port} for port in ports],
                "endpointPickerRef": {"name": f"{name}-epp", "port": {"number": 9002}},
                **spec,
            },
        }
        return self.cluster.request("POST", f"/apis/inference.networking.k8s.io/v1/namespaces/{namespace}/inferencepools", body=body)

    def pod(self, namespace: str, name: str, app: str, address: str, ready: bool = True) -> None:
        """Creates a Pod of a pool, with the status of a running one."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        spec = {"containers": [{"name": "server", "image": "none"}], "nodeName": "node"}
        self.cluster.request("POST", path, body={"metadata": {"name": name, "labels": {"app": app}}, "spec": spec})
        self._status(f"{path}/{name}", address, ready)

    def _status(self, path: str, address: str, ready: bool) -> None:
        word = "True" if ready else "False"
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [{"type": "Ready", "status": word}]}
        self.cluster.request("PATCH", f"{path}/status", body={"status": status}, content_type="application/strategic-merge-patch+json")

    def kubelet(self) -> None:
        """Acts as a kubelet for the Pods of the checks: sets an address, sets Ready by the readiness gate, removes deleted Pods after some time."""
        addresses = iter(range(100, 250))
        while not self._stop.wait(0.03):
            with contextlib.suppress(ClusterError):
                for pod in self.cluster.listed("/api/v1/pods", query={"labelSelector": LABEL}):
                    self._tend(pod, addresses)

    def _tend(self, pod: Facts, addresses: c.Iterator[int]) -> None:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        if "nodeName" not in pod["spec"]:
            target = {"apiVersion": "v1", "kind": "Node", "name": "node"}
            body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod["metadata"]["name"]}, "target": target}
            self.cluster.request("POST", f"{path}/binding", body=body)
        elif pod["metadata"].get("deletionTimestamp"):
            self._dying[path] += 1
            if self._dying[path] > DRAINING:
                self.cluster.request("DELETE", path, {"gracePeriodSeconds": "0"})
        else:
            conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", [])}
            address = pod["status"].get("podIP") or f"127.0.1.{next(addresses)}"
            if conditions.get("Ready") != conditions.get(GATE, "False") or not pod["status"].get("podIP"):
                self._status(path, address, conditions.get(GATE) == "True")

    def stop(self) -> None:
        self._stop.set()


@contextlib.contextmanager
def api_server(folder: Path) -> c.Iterator[ApiServer]:
    """Runs an API server with the CRDs of the inference extension; skips the test if its programs are not built."""
    if not NODE.is_file() or not CRDS.is_dir():
        pytest.skip("needs the programs of the local cluster")
    (folder / "bin").mkdir()
    for name in ("etcd", "kube-apiserver"):
        (folder / "bin" / name).symlink_to(NODE)
    client, peer, secure = port_for_a_program(), port_for_a_program(), port_for_a_program()
    (folder / "tokens").write_text(f"{TOKEN},admin,admin,system:masters\n", encoding="utf-8")
    subprocess.run(["openssl", "genrsa", "-out", f"{folder}/key.pem", "2048"], check=True, capture_output=True)
    store = f"http://127.0.0.1:{client}"
    peers = f"http://127.0.0.1:{peer}"
    etcd = [f"--data-dir={folder}/etcd", f"--listen-client-urls={store}", f"--advertise-client-urls={store}", f"--listen-peer-urls={peers}"]
    etcd += [f"--initial-advertise-peer-urls={peers}", f"--initial-cluster=default={peers}", "--unsafe-no-fsync"]
    serving = [f"--etcd-servers={store}", f"--secure-port={secure}", "--bind-address=127.0.0.1", f"--cert-dir={folder}/certs"]
    serving += [f"--token-auth-file={folder}/tokens", "--authorization-mode=AlwaysAllow", "--service-account-issuer=https://test"]
    serving += [f"--service-account-key-file={folder}/key.pem", f"--service-account-signing-key-file={folder}/key.pem"]
    serving += ["--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.9.0.0/24"]
    server = f"https://127.0.0.1:{secure}"
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(kubeconfig_of(server)), encoding="utf-8")
    with (
        program(folder, "log", str(folder / "bin/etcd"), *etcd),
        program(folder, "log", str(folder / "bin/kube-apiserver"), *serving),
    ):
        api = ApiServer(kubeconfig, server)
        until(lambda: answers(api.cluster))
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        for path in sorted(CRDS.glob("*.yaml")):
            for body in yaml.safe_load_all(path.read_text(encoding="utf-8")):
                if body:
                    api.cluster.request("POST", definitions, body=body)
        until(lambda: api.cluster.resource("inference.networking.k8s.io/v1", "InferencePool", refresh=True))
        thread = threading.Thread(target=api.kubelet, daemon=True)
        thread.start()
        try:
            yield api
        finally:
            api.stop()
            thread.join()


def answers(cluster: Cluster) -> bool:
    with contextlib.suppress(ClusterError):
        return bool(cluster.find("/api/v1/namespaces/kube-system"))
    return False


def kubeconfig_of(server: str) -> Facts:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
    }
