# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures are recognized by lines that programs write, and every code has an entry in the catalog and in docs/troubleshooting.md."""

from __future__ import annotations

import ast
import re

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis import traffic
from ansible_collections.llm_d.inference.plugins.module_utils.diagnosis.catalog import CATALOG, LAYERS
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.answer_messages import RESPONSES
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.failure_logs import LOGS, REFUSALS
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.node_messages import CREATE, INSPECT, INVALID, SANDBOX
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.pod_failures import log_failure, pod_failure, refusal_failure, response_failure
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.volume_messages import VOLUMES
from failure_examples import ANSWERED, LOG_LINES, REFUSED
from hypothesis import given
from hypothesis import strategies as st
from recorded import changed, recorded
from stack_objects import healthy


@pytest.mark.parametrize("code, line", LOG_LINES)
def test_logs(code, line):
    failure = log_failure(f"INFO starting\n{line}\nINFO leaving\n")
    assert failure.code == code and failure.remedy and code in CATALOG


def test_the_cause_in_a_log_takes_precedence_over_its_wrapper_error():
    log = ["ERROR EngineCore failed to start.", "ValueError: No available memory for the cache blocks.", "RuntimeError: Engine core initialization failed."]
    assert log_failure("\n".join(log)).code == "F18"


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
def test_log_lines_of_healthy_programs_are_no_failure(line):
    assert log_failure(line) is None


@pytest.mark.parametrize("code, status, body", ANSWERED)
def test_answers(code, status, body):
    failure = response_failure(status, body)
    assert failure.code == code and failure.remedy and failure.what and code in CATALOG


def test_a_successful_answer_is_no_failure():
    assert response_failure(200, '{"choices":[{"text":"it does not exist"}]}') is None and response_failure(200, "") is None


@pytest.mark.parametrize("code, message", REFUSED)
def test_api_server_refusals_are_classified_with_a_remedy(code, message):
    failure = refusal_failure(message)
    assert failure.code == code and failure.remedy and code in CATALOG


def test_a_refusal_that_is_not_known():
    assert refusal_failure("the server rejected our request for an unknown reason") is None


@pytest.mark.parametrize("name, code", [("routing-proxy", "F30"), ("lora-adapter-syncer", "F51")])
def test_sidecars_that_kubernetes_does_not_know(name, code):
    pod = changed(recorded("pod_ready"), "status.conditions", [{"type": "Initialized", "status": "False"}, {"type": "PodScheduled", "status": "True"}])
    pod["spec"]["initContainers"] = [{"name": name}]
    pod["status"]["initContainerStatuses"] = [{"name": name, "restartCount": 0, "state": {"running": {"startedAt": "2026-11-21T09:00:00Z"}}}]
    assert pod_failure(pod).code == code
    pod["spec"]["initContainers"][0]["restartPolicy"] = "Always"
    assert pod_failure(pod) is None


def literals(node):
    """The strings that an expression can be: itself, or the branches of a conditional."""
    if isinstance(node, ast.IfExp):
        return literals(node.body) | literals(node.orelse)
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


def codes_in(source, makers=("Failure", "Finding", "finding")):
    """F and V codes anywhere in Python source, comments included, and the literal codes in its calls of `makers` and in its returns."""
    codes = set(re.findall(r"\b[FV][0-9]{1,2}\b", source))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in makers and node.args:
            codes |= literals(node.args[0])
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 3:
            codes |= literals(node.value.elts[0])
    return codes


def test_finding_codes_are_extracted_from_source_code():
    source = 'def f(x):\n    yield finding("a" if x == "no" else "b", x)\n    t = (("p", "F99"),)  # V98\n    return "c", x, "r"\n'
    assert codes_in(source) == {"a", "b", "c", "F99", "V98"}


def test_every_code_in_plugins_has_an_entry_that_a_reader_can_open(root):
    rows = re.findall(r"^\| `(\w+)` \|", (root / "docs/troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(CATALOG), "docs/troubleshooting.md lists each code once"
    plugins = root / "plugins"
    judges = {
        path
        for name in ("diagnosis/*.py", "k8s/pod_failures.py", "k8s/node_failures.py", "k8s/failure_logs.py")
        for path in (plugins / "module_utils").glob(name)
    }
    used = {code: path for path in judges for code in codes_in(path.read_text(encoding="utf-8"))}
    others = [path for path in plugins.rglob("*.py") if path not in judges and not path.is_symlink()]
    used |= {code: path for path in others for code in codes_in(path.read_text(encoding="utf-8"), ()) if re.fullmatch(r"[FV][0-9]{1,2}", code)}
    assert len(used) > 60 and {code: str(path) for code, path in used.items() if code not in CATALOG} == {}


def test_every_code_in_a_table_is_in_the_catalog_and_every_entry_is_complete():
    used = {row[1] for row in LOGS} | {row[2] for row in RESPONSES} | {row[1] for row in REFUSALS}
    used |= {row[1] for table in (CREATE, INSPECT, INVALID, SANDBOX, VOLUMES) for row in table}
    assert used <= set(CATALOG), used - set(CATALOG)
    assert {f"F{number}" for number in range(1, 53)} <= set(CATALOG)
    for entry in CATALOG.values():
        assert entry.layer in LAYERS and entry.title and entry.shows and entry.remedy


@given(st.text(), st.integers(0, 999))
def test_classifying_logs_answers_and_refusals_never_raises(text, status):
    for failure in (log_failure(text), response_failure(status, text), refusal_failure(text)):
        assert failure is None or failure.code in CATALOG


@pytest.mark.parametrize("name, code", [("refused", "config"), ("loaded", None)])
def test_the_recorded_logs_of_an_endpoint_picker(root, name, code):
    failure = log_failure((root / f"tests/unit/fixtures/epp/{name}.log").read_text(encoding="utf-8"))
    assert (failure and failure.code) == code


@pytest.mark.parametrize(
    ("reason", "code", "words"),
    [
        ("rejected-saturated", "F25", "add replicas"),
        ("rejected-no-endpoints", "F21", "selectors"),
        ("rejected-ttl-expired", "F25", "defaultRequestTTL"),
        ("rejected-context-cancelled", "hung", "time-outs"),
        ("rejected-shutting-down", "F21", "restarts of the endpoint picker"),
        ("evicted", "F25", "higher priority"),
        ("evicted-priority", "F25", "higher priority"),
        ("evicted-of-a-later-line", "F25", "ended the request at its server"),
        ("of-a-later-line sk-abcdefghijklmnopqrst", "F25", "endpoint picker's log"),
    ],
)
def test_why_an_endpoint_picker_dropped_a_request(reason, code, words):
    """llm-d-router#1027: the header distinguishes causes that have the same status, in every release line that sends it."""
    for status in (429, 503):
        failure = response_failure(status, "no healthy upstream", reason)
        assert failure.code == code and words in f"{failure.what} {failure.remedy}" and "abcdefghijklmnopqrst" not in failure.what
    assert code in CATALOG and response_failure(200, "", reason) is None


def test_a_finding_about_a_request_names_the_header_of_the_endpoint_picker():
    answer = {**healthy().answers[0], "status": 503, "ok": False, "body": "", "evidence": "POST: 503"}
    for dropped, code in (("rejected-ttl-expired", "F25"), ("", "F21")):
        snap = healthy()
        snap.answers = [{**answer, "dropped": dropped}]
        (finding,) = list(traffic.answers(snap))
        assert finding.code == code
