"""The health modules, and vllm_adapters, against the real simulator: every level, several replicas, and the failures that it can inject.

The binary is that of the local cluster's cache, or of the folder LLM_D_BINARIES.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import typing as t
import urllib.request
from pathlib import Path

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.llm_d.inference.plugins.modules import vllm_adapters, vllm_health, vllm_health_info
from local_servers import port_for_a_program

SIMULATOR = Path(os.environ.get("LLM_D_BINARIES", "/var/cache/llm-d-local/bin")) / "llm-d-inference-sim"
pytestmark = pytest.mark.skipif(not SIMULATOR.is_file(), reason="no simulator: bring up the local cluster, which builds it, or set LLM_D_BINARIES")


@contextlib.contextmanager
def simulator(*arguments: str) -> t.Iterator[str]:
    """A running simulator; yields its URL."""
    port = port_for_a_program()
    command = [str(SIMULATOR), "--model=acme/tiny", f"--port={port}", "--max-model-len=2048", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.fixture(name="run")
def run_module(capsys):
    """A function that runs a module with options and returns its result."""

    def run(module, **options):
        with patch_module_args(options), pytest.raises(SystemExit):
            module.main()
        return json.loads(capsys.readouterr().out)

    return run


def test_every_level_of_a_simulator_that_starts(run):
    with simulator() as url:
        result = run(
            vllm_health, url=url, model="acme/tiny", min_model_len=2048, level="metrics", apis=["completions", "chat_completions"], timeout=30, interval=0.2
        )
    assert result["healthy"] is True, result
    assert [check["name"] for check in result["checks"]] == [
        "health",
        "models",
        "completions",
        "completions_streamed",
        "chat_completions",
        "chat_completions_streamed",
        "metrics",
    ]
    assert result["engine"] == "simulator" and result["version"] is None
    assert result["metrics"]["block_size"]["value"] == 16 and result["servers"][0]["notes"] == []


def test_a_simulator_that_loads_is_waited_for(run):
    with simulator("--startup-duration=2s") as url:
        result = run(vllm_health, url=url, engine="simulator", timeout=30, interval=0.2)
    assert result["healthy"] is True and result["waited"] > 1.5 and result["looks"] > 3


@pytest.mark.parametrize(
    "kind, status, remedy",
    [
        ("rate_limit", "429", "replicas"),
        ("server_error", "50", "log"),
        ("model_not_found", "404", "model"),
        ("invalid_api_key", "401", "api_key"),
    ],
)
def test_injected_failures_are_reported_with_their_status_and_remedy(run, kind, status, remedy):
    with simulator() as url:
        assert run(vllm_health, url=url, level="ready", timeout=30, interval=0.2)["healthy"] is True
    with simulator("--failure-injection-rate=100", f"--failure-types={kind}") as url:
        run(vllm_health, url=url, level="ready", timeout=30, interval=0.2)
        result = run(vllm_health_info, url=url, retries=0)
    assert result["healthy"] is False and result["level"] == "ready"
    assert status in result["checks"][-1]["evidence"] and remedy in result["checks"][-1]["remedy"]


def test_replicas_that_differ(run):
    with simulator() as one, simulator("--block-size=64", "--enable-kvcache=false") as two:
        for url in (one, two):
            run(vllm_health, url=url, level="alive", timeout=30, interval=0.2)
        result = run(vllm_health_info, urls=[one, two], level="metrics")
    assert [entry["healthy"] for entry in result["servers"]] == [True, True] and result["healthy"] is False
    assert "mixed_block_size" in {entry["code"] for entry in result["findings"]}


def test_https_with_a_certificate_of_its_own(run):
    with simulator("--self-signed-certs") as url:
        url = url.replace("http:", "https:")
        assert run(vllm_health, url=url, validate_certs=False, timeout=30, interval=0.2)["healthy"] is True
        result = run(vllm_health_info, url=url)
    assert result["checks"][0]["kind"] == "tls_untrusted" and "ca_path" in result["checks"][0]["remedy"]


def test_adapters_are_loaded_and_unloaded_while_the_simulator_runs(run):
    one, two = ({"name": name, "source": f"/models/{name}"} for name in ("one", "two"))

    def give(*adapters):
        return run(vllm_adapters, services=[{"name": "sim", "adapters": list(adapters), "urls": [url]}])

    def models():
        return sorted(json.load(urllib.request.urlopen(f"{url}/v1/models"))["data"], key=lambda model: model["id"])

    with simulator("--max-loras=2", "--lora-modules", '{"name": "old", "path": "/models/old"}') as url:
        run(vllm_health, url=url, timeout=30, interval=0.2)
        first, second = give(one, two), give(one, two)
        assert (first["changed"], second["changed"]) == (True, False)
        assert [(model["id"], model["root"]) for model in models()] == [("acme/tiny", "acme/tiny"), ("one", "/models/one"), ("two", "/models/two")]
        assert run(vllm_health, url=url, model="two", timeout=30, level="serving")["healthy"] is True
        assert give({**two, "source": "/models/newer"})["changed"] is True
        assert [(model["id"], model["root"]) for model in models()] == [("acme/tiny", "acme/tiny"), ("two", "/models/newer")]
