"""The real binaries accept the planned command lines and behave as planned: a prefill server prefills, a tokenizer answers.

Binaries: those of the local cluster's cache, or of the folder LLM_D_BINARIES.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
import typing as t
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.presets import SIDECAR_SERVER_PORT
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from local_servers import port_for_a_program
from planned_pods import sidecars
from waiting import until

Facts = dict[str, t.Any]
BINARIES = Path(os.environ.get("LLM_D_BINARIES", "/var/cache/llm-d-local/bin"))
MODEL = "llm-d/simulated-8b"

# The release line of the binaries.
LINE = "scheduler-0.7"


def binary(name: str) -> str:
    if not (BINARIES / name).is_file():
        pytest.skip(f"no {name}: bring up the local cluster, which builds it, or set LLM_D_BINARIES")
    return str(BINARIES / name)


def planned(preset: str, port: int) -> Facts:
    service = {
        "name": "sim",
        "model": {"served_name": MODEL},
        "engine": {"type": "simulator", "port": port, "simulator": {"kv_cache_size": 100}},
        "scheduler": {"preset": preset},
    }
    return plan({"llm_d_release": LINE, "llm_d_charts": {"envoy_gateway": "/charts"}, "llm_d_model_services": [service]})["services"][0]


@contextlib.contextmanager
def running(name: str, arguments: t.Sequence[str], folder: Path, **env: str) -> t.Iterator[subprocess.Popen[bytes]]:
    """A running binary, with its output in `folder`; it must still run when it is stopped."""
    with (
        open(folder / f"{name}-{len(list(folder.iterdir()))}.log", "wb") as log,
        subprocess.Popen([binary(name), *arguments], stdout=log, stderr=log, env={"PATH": os.environ["PATH"], **env}) as process,
    ):
        try:
            yield process
            assert process.poll() is None, Path(log.name).read_text(encoding="utf-8")[-2000:]
        finally:
            process.terminate()


def answer(url: str, body: Facts | None = None, **headers: str) -> str:
    """The answer of a server, once it has started."""
    data = None if body is None else json.dumps(body).encode()
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data, {"content-type": "application/json", **headers}), timeout=60) as reply:
                return reply.read().decode()
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)


def counted(port: int) -> dict[str, int]:
    """The number of answers of a simulator by finish reason."""
    lines = [line for line in answer(f"http://127.0.0.1:{port}/metrics").splitlines() if line.startswith("vllm:request_success_total{")]
    return {line.split('finish_reason="', 1)[1].split('"', 1)[0]: int(float(line.rsplit(" ", 1)[1])) for line in lines}


def ended(port: int, reason: str | None, count: int) -> bool:
    """Whether a simulator has finished exactly `count` answers (for this reason). It counts an answer after it has sent it."""

    def count_now() -> int:
        reasons = counted(port)
        return reasons.get(reason, 0) if reason else sum(reasons.values())

    until(lambda: count_now() >= count)
    return count_now() == count


def moved(arguments: t.Sequence[str], flag: str, value: object) -> list[str]:
    """The arguments with another value of an existing flag: servers on one host cannot share a port."""
    assert [argument for argument in arguments if argument.startswith(f"{flag}=")]
    return [f"{flag}={value}" if argument.startswith(f"{flag}=") else argument for argument in arguments]


def test_a_prefill_server_prefills_for_a_decode_server_behind_its_sidecar(tmp_path: Path) -> None:
    port, prefill_port, engine_port = port_for_a_program(), port_for_a_program(), port_for_a_program()
    decode, prefill = planned("disaggregated", port)["servers"]
    proxy = sidecars(decode)[0]["args"]
    assert f"--port={SIDECAR_SERVER_PORT}" in decode["args"] and f"--vllm-port={SIDECAR_SERVER_PORT}" in proxy and f"--port={port}" in proxy
    name = {"POD_IP": "127.0.0.1", "POD_NAMESPACE": "x"}
    with contextlib.ExitStack() as stack:
        stack.enter_context(running("llm-d-inference-sim", moved(decode["args"], "--port", engine_port), tmp_path, POD_NAME="decode", **name))
        stack.enter_context(running("llm-d-inference-sim", moved(prefill["args"], "--port", prefill_port), tmp_path, POD_NAME="prefill", **name))
        stack.enter_context(running("pd-sidecar", moved(proxy, "--vllm-port", engine_port), tmp_path, **name))
        for server in (engine_port, prefill_port, port):
            answer(f"http://127.0.0.1:{server}{decode['health_path']}")
        body = {"model": MODEL, "prompt": "word " * 50, "max_tokens": 5}
        answer(f"http://127.0.0.1:{port}/v1/completions", body)
        assert not sum(counted(prefill_port).values()) and ended(engine_port, None, 1)
        answer(f"http://127.0.0.1:{port}/v1/completions", body, **{"x-prefiller-host-port": f"127.0.0.1:{prefill_port}"})
        assert ended(prefill_port, "remote_decode", 1) and ended(engine_port, None, 2)
        assert counted(port) == counted(engine_port), "the endpoint picker scrapes a decode server through its sidecar"


def test_a_simulator_and_its_tokenizer_take_what_precise_prefix_requires(tmp_path: Path) -> None:
    port, health = port_for_a_program(), port_for_a_program()
    service = planned("precise_prefix", port)
    container, server = sidecars(service["scheduler"])[0], service["server"]
    arguments = moved(moved(container["args"], "--socket", tmp_path / "tokenizer.socket"), "--health", f"127.0.0.1:{health}")
    env = {"SERVER_IP": "127.0.0.1", "POD_IP": f"127.0.0.1:{port}", "POD_NAME": "sim", "POD_NAMESPACE": "x"}
    with socket.create_server(("127.0.0.1", 0)) as picker, contextlib.ExitStack() as stack:
        picker.settimeout(100)
        stack.enter_context(running("tokenizer", arguments, tmp_path))
        events = f"tcp://127.0.0.1:{picker.getsockname()[1]}"
        stack.enter_context(running("llm-d-inference-sim", moved(server["args"], "--zmq-endpoint", events), tmp_path, **env))
        answer(f"http://127.0.0.1:{health}{container['startupProbe']['httpGet']['path']}")
        assert (tmp_path / "tokenizer.socket").is_socket()
        answer(f"http://127.0.0.1:{port}{server['health_path']}")
        dialled, _address = picker.accept()
        with dialled:
            assert dialled.recv(10)[:1] == b"\xff", "the greeting of ZeroMQ"


def test_the_endpoint_picker_accepts_the_planned_standalone_command_line(tmp_path: Path) -> None:
    """It accepts its options and its configuration, and fails to connect to the cluster."""
    service = {"name": "sim", "model": {"served_name": MODEL}, "engine": {"type": "simulator"}}
    picker = plan({"llm_d_release": LINE, "llm_d_gateway": {"provider": "standalone"}, "llm_d_model_services": [service]})["services"][0]["scheduler"]
    (tmp_path / "config.yaml").write_text(picker["config"], encoding="utf-8")
    nowhere = {"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}], "contexts": [{"name": "c", "context": {"cluster": "c"}}]}
    (tmp_path / "kubeconfig").write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "c", **nowhere}), encoding="utf-8")
    arguments = moved(moved(picker["args"], "--config-file", tmp_path / "config.yaml"), "--metrics-port", 0)
    env = {"PATH": os.environ["PATH"], "KUBECONFIG": str(tmp_path / "kubeconfig"), "POD_NAME": "sim-epp-5d8f7c9b6-abcde"}
    done = subprocess.run([binary("epp"), *arguments], capture_output=True, text=True, check=False, env=env, timeout=60)
    output = done.stdout + done.stderr
    assert "connection refused" in output and "must not be empty" not in output, output[-2000:]
