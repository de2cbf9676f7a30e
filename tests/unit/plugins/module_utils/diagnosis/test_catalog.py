# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every entry of the catalogue that shows in a log, an answer, a refusal or a pod is recognised by the words that programs really use."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.catalog import CATALOG, LAYERS
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.failure_logs import ANSWERS, LOGS, REFUSALS
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.pod_failures import answer_trouble, log_trouble, pod_trouble, refusal_trouble
from failure_examples import ANSWERED, LOG_LINES, REFUSED
from hypothesis import given
from hypothesis import strategies as st
from recorded import changed, recorded


@pytest.mark.parametrize("code, line", LOG_LINES)
def test_logs(code, line):
    found = log_trouble(f"INFO starting\n{line}\nINFO leaving\n")
    assert found.code == code and found.remedy and code in CATALOG


def test_the_cause_stands_before_its_wrapper():
    log = ["ERROR EngineCore failed to start.", "ValueError: No available memory for the cache blocks.", "RuntimeError: Engine core initialization failed."]
    assert log_trouble("\n".join(log)).code == "F18"


@pytest.mark.parametrize(
    "line",
    [
        "INFO 11-21 09:00:00 Available KV cache memory: 45.2 GiB",
        "INFO Maximum concurrency for 32,768 tokens per request: 11.2x",
        "INFO: Application startup complete.",
        '{"level":"info","msg":"Loaded raw configuration"}',
        "GET /metrics 200",
        '{"level":"info","msg":"controller started"}',
    ],
)
def test_what_healthy_programs_say_is_no_trouble(line):
    assert log_trouble(line) is None


@pytest.mark.parametrize("code, status, body", ANSWERED)
def test_answers(code, status, body):
    found = answer_trouble(status, body)
    assert found.code == code and found.remedy and found.what and code in CATALOG


def test_a_good_answer_is_no_trouble():
    assert answer_trouble(200, '{"choices":[{"text":"it does not exist"}]}') is None and answer_trouble(200, "") is None


@pytest.mark.parametrize("code, message", REFUSED)
def test_refusals(code, message):
    found = refusal_trouble(message)
    assert found.code == code and found.remedy and code in CATALOG


def test_a_refusal_that_is_not_known():
    assert refusal_trouble("the server rejected our request for an unknown reason") is None


@pytest.mark.parametrize("name, code", [("routing-proxy", "F30"), ("lora-adapter-syncer", "F51")])
def test_sidecars_that_kubernetes_does_not_know(name, code):
    pod = changed(recorded("pod_ready"), "status.conditions", [{"type": "Initialized", "status": "False"}, {"type": "PodScheduled", "status": "True"}])
    pod["spec"]["initContainers"] = [{"name": name}]
    pod["status"]["initContainerStatuses"] = [{"name": name, "restartCount": 0, "state": {"running": {"startedAt": "2026-11-21T09:00:00Z"}}}]
    assert pod_trouble(pod).code == code
    pod["spec"]["initContainers"][0]["restartPolicy"] = "Always"
    assert pod_trouble(pod) is None


def test_every_code_in_use_is_in_the_catalogue_and_every_entry_is_whole():
    used = {row[1] for row in LOGS} | {row[2] for row in ANSWERS} | {row[1] for row in REFUSALS}
    assert used <= set(CATALOG), used - set(CATALOG)
    assert {f"F{number}" for number in range(1, 53)} <= set(CATALOG)
    for entry in CATALOG.values():
        assert entry.layer in LAYERS and entry.title and entry.shows and entry.remedy


@given(st.text(), st.integers(0, 999))
def test_nothing_makes_it_fail(text, status):
    for found in (log_trouble(text), answer_trouble(status, text), refusal_trouble(text)):
        assert found is None or found.code in CATALOG


@pytest.mark.parametrize("name, code", [("refused", "config"), ("loaded", None)])
def test_the_recorded_logs_of_an_endpoint_picker(root, name, code):
    found = log_trouble((root / f"tests/unit/fixtures/epp/{name}.log").read_text(encoding="utf-8"))
    assert (found and found.code) == code
