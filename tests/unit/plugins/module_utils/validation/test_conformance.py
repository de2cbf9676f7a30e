# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the conformance suite needs, what its output says, and that none of its namespaces is left."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.validation import conformance
from ansible_collections.llm_d.inference.plugins.module_utils.validation.conformance import BUNDLE, CRDS, LABEL, NAMESPACES
from ansible_collections.llm_d.inference.plugins.module_utils.validation.conformance_run import Conformance

Facts = dict[str, t.Any]
# As the suite of 1.6.0 prints it.
OUTPUT = """\
=== RUN   Conformance
    conformance.go:157: Running Inference Extension conformance tests with GatewayClass x
=== RUN   Conformance/InferencePoolAccepted
=== RUN   Conformance/InferencePoolAccepted/InferencePool_should_have_Accepted_condition
    helpers.go:84: InferencePool is accepted
=== RUN   Conformance/EppUnAvailableFailOpen
    helpers.go:97: not yet
    epp_unavailable_fail_open.go:101:
        \tError Trace:\t/x/epp_unavailable_fail_open.go:101
        \tError:      \tReceived unexpected error:
        \t            \ta value is required
        \tTest:       \tConformance/EppUnAvailableFailOpen
        \tMessages:   \tthe gateway answers 500 | <b>
=== RUN   Conformance/InferencePoolAppProtocol
    suite.go:500: Skipping InferencePoolAppProtocol: test explicitly skipped
--- FAIL: Conformance (30.1s)
    --- PASS: Conformance/InferencePoolAccepted (0.40s)
        --- PASS: Conformance/InferencePoolAccepted/InferencePool_should_have_Accepted_condition (0.30s)
    --- FAIL: Conformance/EppUnAvailableFailOpen (20.00s)
    --- SKIP: Conformance/InferencePoolAppProtocol (0.00s)
FAIL
"""
GOOD_CLASS: Facts = {"status": {"conditions": [{"type": "Accepted", "status": "True"}]}}
GOOD_CRDS: dict[str, Facts | None] = {name: {"metadata": {"annotations": {BUNDLE: "v1.6.0"}}} for name in CRDS}
NOBODYS: dict[str, Facts | None] = dict.fromkeys(NAMESPACES)
OURS: Facts = {"metadata": {"labels": {LABEL: "infra"}}}


def test_each_test_has_its_result_and_what_is_not_passed_its_reason() -> None:
    found = {test["name"]: test for test in conformance.results(OUTPUT.splitlines())}
    assert {name: test["result"] for name, test in found.items()} == {
        "InferencePoolAccepted": "passed",
        "EppUnAvailableFailOpen": "failed",
        "InferencePoolAppProtocol": "skipped",
    }
    assert found["InferencePoolAccepted"]["why"] == "" and found["EppUnAvailableFailOpen"]["seconds"] == 20
    assert found["EppUnAvailableFailOpen"]["why"].startswith("Received unexpected error: a value is required; the gateway answers 500")
    assert "explicitly skipped" in found["InferencePoolAppProtocol"]["why"]


def test_a_run_conforms_when_it_ends_and_no_test_fails() -> None:
    tests = conformance.results(OUTPUT.splitlines())
    found = conformance.summary(tests, "", "x", 30.0)
    assert not found["ok"] and found["summary"] == "3 tests: 1 passed, 1 failed, 1 skipped (EppUnAvailableFailOpen failed)"
    passed = [test for test in tests if test["result"] != "failed"]
    assert conformance.summary(passed, "", "x", 1.0)["ok"]
    assert not conformance.summary(passed, "It was ended", "x", 1.0)["ok"] and not conformance.summary([], "", "x", 1.0)["ok"]
    page = conformance.page(found)
    assert "| InferencePoolAccepted | passed | 0.4 |  |" in page and "answers 500 \\| &lt;b> |" in page


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({}, ""),
        ({"found": None}, "no GatewayClass x"),
        ({"found": {"status": {"conditions": [{"type": "Accepted", "status": "False", "message": "no parameters"}]}}}, "no parameters"),
        ({"crds": {**GOOD_CRDS, CRDS[-1]: None}}, f"the CRD {CRDS[-1]} is missing"),
        ({"crds": {**GOOD_CRDS, CRDS[-1]: {"metadata": {}}}}, BUNDLE),
        ({"namespaces": {**NOBODYS, NAMESPACES[0]: {"metadata": {"labels": {}}}}}, f"namespace {NAMESPACES[0]} is there"),
        ({"namespaces": {**NOBODYS, NAMESPACES[0]: OURS}}, ""),
    ],
)
def test_what_the_cluster_lacks(change: Facts, word: str) -> None:
    found = conformance.lacking("x", **{"found": GOOD_CLASS, "crds": GOOD_CRDS, "namespaces": NOBODYS, **change})
    assert len(found) == bool(word) and word in "".join(found)


class ClusterOfTwo:
    """Remembers which namespaces there are; the program that stands for the suite makes them by a file."""

    def __init__(self, marker: Path, labels: Facts | None = None) -> None:
        self.marker, self.labels, self.deleted = marker, labels or {LABEL: "infra"}, []  # type: ignore[var-annotated]

    def be_patient(self, seconds: float) -> None:
        assert seconds > 0

    def find(self, path: str) -> Facts | None:
        name = path.rpartition("/")[2]
        return {"metadata": {"name": name, "labels": self.labels}} if self.marker.exists() and name not in self.deleted else None

    def request(self, method: str, path: str, query: Facts | None = None) -> Facts:
        assert method == "DELETE" and query == {"propagationPolicy": "Background"}
        self.deleted.append(path.rpartition("/")[2])
        return {}


def suite_of(tmp_path: Path, script: str, cluster: ClusterOfTwo, said: list[str]) -> Conformance:
    program = tmp_path / "suite"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return Conformance(cluster, [str(program)], {**os.environ, "MARK": str(cluster.marker)}, tmp_path / "output.log", said.append)


def test_the_output_becomes_the_result_and_the_namespaces_are_deleted(tmp_path: Path) -> None:
    cluster, said = ClusterOfTwo(tmp_path / "mark"), []  # type: ignore[var-annotated]
    (tmp_path / "printed").write_text(OUTPUT, encoding="utf-8")
    found = suite_of(tmp_path, f'touch "$MARK"; cat {tmp_path}/printed; sleep 1; exit 1', cluster, said).run("x", 30)
    assert len(found["tests"]) == 3 and not found["ok"] and found["summary"].endswith("(EppUnAvailableFailOpen failed)")
    assert sorted(cluster.deleted) == sorted(NAMESPACES)
    assert said == ["InferencePoolAccepted: passed (0.4 s)", "EppUnAvailableFailOpen: failed (20 s)", "InferencePoolAppProtocol: skipped (0 s)"]


def test_a_placeholder_is_made_in_the_namespace_of_the_gateways_once(tmp_path: Path) -> None:
    cluster, made = ClusterOfTwo(tmp_path / "mark"), []  # type: ignore[var-annotated]
    plain = cluster.request

    def request(method: str, path: str, query: t.Any = None, body: t.Any = None) -> t.Any:
        if method != "POST":
            return plain(method, path, query)
        made.append((path, body))
        return {}

    cluster.request = request  # type: ignore[method-assign]
    program = suite_of(tmp_path, 'touch "$MARK"; sleep 2', cluster, [])
    Conformance(cluster, program._command, program._environment, tmp_path / "output.log", made.append, "pause:1").run("x", 30)
    ((path, pod),) = made
    assert path == f"/api/v1/namespaces/{NAMESPACES[0]}/pods" and pod["spec"]["containers"][0]["image"] == "pause:1"


def test_a_suite_that_does_not_end_is_ended(tmp_path: Path) -> None:
    cluster = ClusterOfTwo(tmp_path / "mark")
    found = suite_of(tmp_path, 'touch "$MARK"; sleep 1000', cluster, []).run("x", 3)
    assert not found["ok"] and "conformance_timeout" in found["summary"] and sorted(cluster.deleted) == sorted(NAMESPACES)


def test_a_suite_that_breaks_down_says_where_its_output_is(tmp_path: Path) -> None:
    found = suite_of(tmp_path, "echo no configuration; exit 2", ClusterOfTwo(tmp_path / "mark"), []).run("x", 30)
    assert not found["ok"] and "status 2" in found["summary"] and str(tmp_path / "output.log") in found["summary"]


def test_an_interruption_ends_the_suite_and_deletes_the_namespaces(tmp_path: Path) -> None:
    cluster = ClusterOfTwo(tmp_path / "mark")

    def interrupt() -> None:
        while not cluster.marker.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(BaseException) as caught:
        suite_of(tmp_path, f'echo $$ >{tmp_path}/pid; touch "$MARK"; sleep 1000', cluster, []).run("x", 60)
    assert not isinstance(caught.value, Exception), "Ctrl-C ends the play"
    assert sorted(cluster.deleted) == sorted(NAMESPACES)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text(encoding="utf-8")), 0)


def test_what_a_killed_run_left_goes_first_and_what_is_not_the_suites_stays(tmp_path: Path) -> None:
    left = ClusterOfTwo(tmp_path / "mark")
    left.marker.touch()
    suite_of(tmp_path, "exit 0", left, []).run("x", 30)
    assert sorted(left.deleted) == sorted(NAMESPACES)
    foreign = ClusterOfTwo(tmp_path / "mark", {"team": "others"})
    suite_of(tmp_path, "exit 0", foreign, []).run("x", 30)
    assert foreign.deleted == [] and json.dumps(foreign.labels) == '{"team": "others"}'
