"""Reads the real endpoint picker's log: for every preset, that it loaded exactly this document; for a refused document, its error."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp import observed
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.presets import PRESETS
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import build
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from planned_pods import main

from contract.test_epp_accepts import BINARIES, CONTEXT, NOWHERE, binary

PAIRS = [(line, name) for line in BINARIES for name, facts in PRESETS.items() if line in facts["lines"] and name != "precise_prefix"]


def load_result(text: str, line: str, folder: Path) -> observed.LoadResult:
    """The load result in the log of an endpoint picker with this configuration."""
    (folder / "kubeconfig").write_text(json.dumps(NOWHERE), encoding="utf-8")
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    flags = ["--pool-name=x", "--pool-namespace=default", "--tracing=false", "--metrics-port=0", "--zap-encoder=json"]
    environment = {"KUBECONFIG": f"{folder}/kubeconfig", "PATH": os.environ["PATH"], "TMPDIR": str(folder)}
    command = [binary(line), f"--config-file={folder}/config.yaml", *flags]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return observed.read_log(done.stdout + done.stderr)


@pytest.mark.parametrize(("line", "preset"), PAIRS)
def test_the_log_shows_exactly_the_loaded_configuration(line: str, preset: str, tmp_path: Path) -> None:
    document = build({"preset": preset}, line, CONTEXT).document
    result = load_result(build({"preset": preset}, line, CONTEXT).text, line, tmp_path)
    assert result.loaded and result.summary is not None
    assert observed.difference(result, document) == ""
    for other in ("queue", "round_robin"):
        if other != preset:
            assert observed.difference(result, build({"preset": other}, line, CONTEXT).document)


@pytest.mark.parametrize("line", BINARIES)
def test_parameters_and_weights_are_read(line: str, tmp_path: Path) -> None:
    block = {"scorers": {"queue": 0.5, "prefix": {"weight": 7, "auto_tune": False, "block_size_tokens": 64}}, "picker": "weighted_random"}
    built = build(block, line, CONTEXT)
    result = load_result(built.text, line, tmp_path)
    assert result.loaded and observed.difference(result, built.document) == ""
    block["scorers"]["prefix"]["block_size_tokens"] = 32
    assert "64" in observed.difference(result, build(block, line, CONTEXT).document)


@pytest.mark.parametrize("line", BINARIES)
def test_the_log_gives_the_reason_for_a_refused_configuration(line: str, tmp_path: Path) -> None:
    result = load_result(build({"preset": "queue"}, line, CONTEXT).text.replace("queue-scorer", "quue-scorer"), line, tmp_path)
    assert not result.loaded and "'quue-scorer'" in result.error
    result = load_result(build({"preset": "queue"}, "router-0.10", CONTEXT).text, line, tmp_path)
    assert not result.loaded and "llm-d.ai/v1alpha1" in result.error


@pytest.mark.parametrize("line", BINARIES)
def test_the_log_shows_that_spans_are_exported_by_otlp(line: str, tmp_path: Path) -> None:
    """The endpoint picker gets the planned flags and variables; without OTEL_TRACES_EXPORTER it would print spans to its log."""
    service = {"name": "a", "model": {"uri": "hf://org/m"}, "scheduler": {"preset": "queue"}}
    file = {"llm_d_release": line, "llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [service]}
    picker = plan({**file, "llm_d_tracing": {"endpoint": "otel-collector.monitoring:4317"}})["services"][0]["scheduler"]
    (tmp_path / "kubeconfig").write_text(json.dumps(NOWHERE), encoding="utf-8")
    (tmp_path / "config.yaml").write_text(picker["config"], encoding="utf-8")
    flags = [flag for flag in picker["args"] if not flag.startswith(("--config-file", "--metrics-port", "--grpc"))]
    variables = {item["name"]: item["value"] for item in main(picker)["env"] if "value" in item}
    environment = {**variables, "KUBECONFIG": f"{tmp_path}/kubeconfig", "PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    command = [binary(line), f"--config-file={tmp_path}/config.yaml", "--metrics-port=0", "--grpc-port=0", "--grpc-health-port=0", *flags]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    entries = [json.loads(text) for text in (done.stdout + done.stderr).splitlines() if text.startswith("{")]
    assert [entry["type"] for entry in entries if entry.get("msg") == "init OTel trace exporter"] == ["otlp"]
    assert not [entry for entry in entries if "sampler" in str(entry.get("error", ""))]
