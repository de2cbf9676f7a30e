"""What we read in the real endpoint picker's log: of every preset, that it loaded exactly this document; of a refused one, its own words."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp import observed
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.presets import PRESETS
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import build

from contract.test_epp_accepts import BINARIES, CONTEXT, NOWHERE, binary

PAIRS = [(line, name) for line in BINARIES for name, facts in PRESETS.items() if line in facts["lines"] and name != "precise_prefix"]


def said(text: str, line: str, folder: Path) -> observed.LoadResult:
    """The log of an endpoint picker that gets this configuration, read."""
    (folder / "kubeconfig").write_text(json.dumps(NOWHERE), encoding="utf-8")
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    flags = ["--pool-name=x", "--pool-namespace=default", "--tracing=false", "--metrics-port=0", "--zap-encoder=json"]
    environment = {"KUBECONFIG": f"{folder}/kubeconfig", "PATH": os.environ["PATH"], "TMPDIR": str(folder)}
    command = [binary(line), f"--config-file={folder}/config.yaml", *flags]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return observed.read_log(done.stdout + done.stderr)


@pytest.mark.parametrize(("line", "preset"), PAIRS)
def test_it_says_that_it_loaded_this_and_nothing_else(line: str, preset: str, tmp_path: Path) -> None:
    document = build({"preset": preset}, line, CONTEXT).document
    words = said(build({"preset": preset}, line, CONTEXT).text, line, tmp_path)
    assert words.loaded and words.summary is not None
    assert observed.difference(words, document) == ""
    for other in ("queue", "round_robin"):
        if other != preset:
            assert observed.difference(words, build({"preset": other}, line, CONTEXT).document)


@pytest.mark.parametrize("line", BINARIES)
def test_parameters_and_weights_are_read(line: str, tmp_path: Path) -> None:
    block = {"scorers": {"queue": 0.5, "prefix": {"weight": 7, "auto_tune": False, "block_size_tokens": 64}}, "picker": "weighted_random"}
    built = build(block, line, CONTEXT)
    words = said(built.text, line, tmp_path)
    assert words.loaded and observed.difference(words, built.document) == ""
    block["scorers"]["prefix"]["block_size_tokens"] = 32
    assert "64" in observed.difference(words, build(block, line, CONTEXT).document)


@pytest.mark.parametrize("line", BINARIES)
def test_it_says_why_not(line: str, tmp_path: Path) -> None:
    words = said(build({"preset": "queue"}, line, CONTEXT).text.replace("queue-scorer", "quue-scorer"), line, tmp_path)
    assert not words.loaded and "'quue-scorer'" in words.error
    words = said(build({"preset": "queue"}, "router-0.10", CONTEXT).text, line, tmp_path)
    assert not words.loaded and "llm-d.ai/v1alpha1" in words.error
