# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of a scheduled warm-up, as its pod runs it: the command and the mounted files of the plan, Python without Ansible, servers at their own
addresses, and an API server with TLS that accepts the token of the account."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import sys
import typing as t
import urllib.parse
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.inference import warmup_program
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.servers import warmup_job
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import ROLES, definitions, render
from engine_servers import CachingEngine, LoraServer, keyed
from local_servers import JSON, answers, closed_port, port_for_a_program, serve
from waiting import until

Facts = dict[str, t.Any]
SIMULATOR = Path(os.environ.get("LLM_D_BINARIES", "/var/cache/llm-d-local/bin")) / "llm-d-inference-sim"
PROMPT = "You are the patient assistant of a shop for boots and you answer in one short sentence only " * 3
IN_MAP = "Translate what follows into the language of the fishermen of the northern islands word by word " * 2
TOKEN = "of-the-account"
KEY_VARIABLE = warmup_program.KEY_VARIABLE
assert KEY_VARIABLE == warmup_job.KEY_VARIABLE  # of the pod and of the program, which are in packages that do not import each other
SERVING = "llm-d.ai/inference-serving=true,llm-d.ai/model-service=sim,llm-d.ai/role=decode"


class Api:
    """Serves Pods and ConfigMaps to an account with the permissions of the planned Role, and checks that each request needs no others."""

    def __init__(self, role: Facts, pods: list[Facts], config_maps: dict[str, Facts]) -> None:
        self.rules, self.pods, self.config_maps = role["rules"], pods, config_maps

    def __call__(self, handler: t.Any, method: str, path: str, _body: bytes) -> tuple[int, Facts, str]:
        parts = urllib.parse.urlsplit(path)
        if handler.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.status(401, "Unauthorized")
        resource, _slash, name = parts.path.removeprefix("/api/v1/namespaces/llm-d/").partition("/")
        verb = "get" if name else "list"
        allowed = any(resource in rule["resources"] and verb in rule["verbs"] and name in rule.get("resourceNames", [name]) for rule in self.rules)
        if method != "GET" or not allowed:
            return self.status(403, f"cannot {verb} resource {resource}")
        if resource == "pods":
            selected = dict(urllib.parse.parse_qsl(parts.query)).get("labelSelector") == SERVING
            return 200, {"Content-Type": JSON}, json.dumps({"kind": "PodList", "items": self.pods if selected else []})
        config_map = self.config_maps.get(name)
        return (200, {"Content-Type": JSON}, json.dumps(config_map)) if config_map else self.status(404, "not found")

    @staticmethod
    def status(code: int, message: str) -> tuple[int, Facts, str]:
        return code, {"Content-Type": JSON}, json.dumps({"kind": "Status", "message": message, "code": code})


def pod(name: str, ready: bool = True, address: str = "127.0.0.1", port: int = 8000) -> Facts:
    status = {"podIP": address, "conditions": [{"type": "Ready", "status": str(ready)}]}
    container = {"name": "server", "ports": [{"name": "http", "containerPort": port}]}
    return {"metadata": {"name": name, "namespace": "llm-d"}, "spec": {"containers": [container]}, "status": {"phase": "Running", **status}}


class Runner:
    """Runs the command of the CronJob with its mounted files in a folder."""

    def __init__(self, folder: Path, certificate: tuple[str, str]) -> None:
        self.folder, self.certificate = folder, certificate
        self.pods: list[Facts] = []
        self.model: Facts = {}
        self.config_maps: dict[str, Facts] = {"prompts": {"data": {"a.txt": IN_MAP}}}

    def __call__(self, port: int, token: str = TOKEN, env: dict[str, str] | None = None, **warmup: t.Any) -> subprocess.CompletedProcess[str]:
        settings = {"prompts": [PROMPT], "config_map": "prompts", "schedule": "@hourly", **warmup}
        service = {"name": "sim", "model": {"served_name": "acme/tiny", **self.model}, "engine": {"type": "simulator", "port": port}, "warmup": settings}
        planned = plan({"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [service]})
        items = definitions(planned) + render(ROLES / "model_service/templates/prompts.yml.j2", planned)
        by_kind = {item["kind"]: item for item in items if item["metadata"]["name"] == "sim-warmup"}
        for name, text in {**by_kind["ConfigMap"]["binaryData"], **by_kind["Secret"]["data"]}.items():
            (self.folder / name).write_bytes(base64.b64decode(text))
        for name, text in {**by_kind["ConfigMap"]["data"], "token": f"{token}\n", "ca.crt": Path(self.certificate[0]).read_text()}.items():
            (self.folder / name).write_text(text)
        (container,) = by_kind["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        python, *rest = container["command"]
        assert python == "python3"
        arguments = [part.replace("/var/run/secrets/kubernetes.io/serviceaccount", str(self.folder)).replace("/warmup/", f"{self.folder}/") for part in rest]
        with serve(Api(by_kind["Role"], self.pods, self.config_maps), self.certificate) as url:
            parts = urllib.parse.urlsplit(url)
            environment = {
                "KUBERNETES_SERVICE_HOST": "127.0.0.1",
                "KUBERNETES_SERVICE_PORT": str(parts.port),
                "https_proxy": "http://127.0.0.1:9",
                **(env or {}),
            }
            # -S: no site-packages, as in an image that has Python and nothing else
            return subprocess.run([sys.executable, "-S", *arguments], env=environment, cwd="/", capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(name="run")
def make_runner(tmp_path: Path, certificate: tuple[str, str]) -> Runner:
    return Runner(tmp_path, certificate)


def port_of(url: str) -> int:
    return int(urllib.parse.urlsplit(url).port or 0)


def test_servers_are_warmed_and_then_warm(run: Runner) -> None:
    server = CachingEngine()
    with serve(server) as url:
        run.pods = [pod("sim-0")]
        first, second = run(port_of(url)), run(port_of(url))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    lines = first.stdout.splitlines()
    assert [line.split(", ")[0] for line in lines] == [
        f"Pod llm-d/sim-0: prompts[0] ({len(PROMPT)} characters): warmed",
        f"Pod llm-d/sim-0: config_map a.txt ({len(IN_MAP)} characters): warmed",
    ]
    assert second.stdout.count(": warm, ") == 2 and len(server.prompts) == 4 and first.stderr == second.stderr == ""
    assert PROMPT.strip() not in first.stdout + second.stdout and IN_MAP.strip() not in first.stdout


def test_servers_that_want_a_key_get_that_of_the_environment(run: Runner) -> None:
    server = CachingEngine()
    run.model = {"adapters": [{"name": "sql", "source": "/models/sql"}], "adapters_at_runtime": True}
    lora = LoraServer()

    def answer(handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        return (lora if "lora" in path or path == "/v1/models" else server)(handler, method, path, body)

    with serve(keyed(answer)) as url:
        run.pods = [pod("sim-0")]
        keyless, result = run(port_of(url)), run(port_of(url), env={KEY_VARIABLE: "sk-model"})
    assert keyless.returncode == 1 and "requires an API key" in keyless.stderr
    assert result.returncode == 0 and result.stdout.count(": warmed, ") == 2 and lora.has == {"sql": "/models/sql"}, result.stderr
    assert "sk-model" not in result.stdout + result.stderr + keyless.stderr


def test_pods_that_are_not_ready_are_left_to_the_next_run(run: Runner) -> None:
    server = CachingEngine()
    with serve(server) as url:
        run.pods = [pod("starting", ready=False, address=""), pod("leaving")]
        run.pods[1]["metadata"]["deletionTimestamp"] = "2026-11-25T00:00:00Z"
        result = run(port_of(url))
    assert result.returncode == 0 and result.stdout == "sim: no server is ready\n" and server.prompts == [], result.stderr


@pytest.mark.parametrize("fault", ["silent", "no map", "token", "refusing"])
def test_an_error_is_logged_and_fails_the_job(run: Runner, fault: str) -> None:
    refusing = CachingEngine(fails=lambda prompt: (400, {}, json.dumps({"error": {"message": f"not '{prompt}'"}})))
    with serve(refusing if fault == "refusing" else CachingEngine()) as url:
        run.pods = [pod("sim-0")]
        if fault == "no map":
            run.config_maps = {}
        result = run(closed_port() if fault == "silent" else port_of(url), token="old" if fault == "token" else TOKEN, api="completions")
    words = {"silent": "connection refused", "no map": "there is no ConfigMap llm-d/prompts", "token": "does not accept the credentials", "refusing": "not '"}
    assert result.returncode == 1 and words[fault] in result.stderr and "Traceback" not in result.stderr, result.stderr
    assert PROMPT.strip() not in result.stdout + result.stderr


def test_the_warmup_program_reports_that_it_runs_outside_of_a_pod(run: Runner, tmp_path: Path) -> None:
    run(closed_port())
    (tmp_path / "ca.crt").unlink()
    command = [sys.executable, "-I", "-S", *(str(tmp_path / name) for name in ("warmup.pyz", "options.json", "prompts.json", ""))]
    result = subprocess.run(command, env={}, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2 and "this is no pod with a service account" in result.stderr and "Traceback" not in result.stderr


@contextlib.contextmanager
def simulator() -> t.Iterator[int]:
    """Runs a real simulator that caches prefixes; yields its port."""
    port = port_for_a_program()
    command = [str(SIMULATOR), "--model=acme/tiny", f"--port={port}", "--max-model-len=2048", "--enable-kvcache=true", "--block-size=16"]
    environment = {"PATH": os.environ["PATH"], "POD_IP": "127.0.0.1"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: answers(f"http://127.0.0.1:{port}/v1/models"))
            yield port
        finally:
            process.terminate()


with_simulator = pytest.mark.skipif(not SIMULATOR.is_file(), reason="no simulator: bring up the local cluster, which builds it, or set LLM_D_BINARIES")


@with_simulator
def test_the_real_simulator_keeps_the_prompts(run: Runner) -> None:
    run.pods = [pod("sim-0")]
    with simulator() as port:
        first, second = run(port), run(port)
    assert first.returncode == second.returncode == 0 and first.stdout.count(": warmed, ") == 2 and second.stdout.count(": warm, ") == 2, second.stdout


@with_simulator
def test_adapters_are_loaded_into_servers_that_have_none(run: Runner) -> None:
    run.model = {"adapters": [{"name": "sql", "source": "/models/sql"}], "adapters_at_runtime": True}
    run.pods = [pod("sim-0")]
    with simulator() as port:
        first, second = run(port, prompts=[], config_map=None), run(port)
    assert first.stdout == "Pod llm-d/sim-0: adapter sql: loaded\n" and first.returncode == 0, first.stderr
    assert second.stdout.startswith("Pod llm-d/sim-0: adapter sql: has\n") and second.stdout.count(": warmed, ") == 2 and second.returncode == 0


def test_an_adapter_that_cannot_be_loaded_fails_the_job_and_prompts_are_sent_all_the_same(run: Runner) -> None:
    run.model = {"adapters": [{"name": "sql", "source": "/models/sql"}], "adapters_at_runtime": True}
    run.pods = [pod("sim-0")]
    server = CachingEngine()

    def closed(handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        if path == "/v1/models":
            return 200, {"Content-Type": JSON}, json.dumps({"data": [{"id": "acme/tiny", "parent": None}]})
        return (404, {"Content-Type": JSON}, '{"detail":"Not Found"}') if "lora" in path else server(handler, method, path, body)

    with serve(closed) as url:
        result = run(port_of(url))
    assert result.returncode == 1 and "VLLM_ALLOW_RUNTIME_LORA_UPDATING" in result.stderr and result.stdout.count(": warmed, ") == 2, result.stderr
