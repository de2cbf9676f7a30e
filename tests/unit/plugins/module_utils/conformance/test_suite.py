# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The requirements of the conformance suite, the results in its output, and the removal of its namespaces."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

import plays
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.clock import SYSTEM, Clock
from ansible_collections.llm_d.inference.plugins.module_utils.conformance import report
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.report import BUNDLE, CRDS, EXPERIMENTAL_CRDS, LABEL, NAMESPACES, POOLS
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.suite import Conformance
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ClusterError
from ansible_collections.llm_d.inference.plugins.module_utils.releases.conformance import KNOWN_FAILURES
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gateways import GATEWAY_PROVIDERS
from fake_clock import FakeClock
from waiting import until

Facts = dict[str, t.Any]
# The output of the suite of version 1.6.0.
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
VERSIONS: Facts = {"suite": "v1.6.0", "crds": "v1.6.0", "mismatches": []}
OURS: Facts = {"metadata": {"labels": {LABEL: "infra"}}}


def test_each_test_has_a_result_and_a_reason_unless_it_passed() -> None:
    tests = {test["name"]: test for test in report.results(OUTPUT.splitlines())}
    assert {name: test["result"] for name, test in tests.items()} == {
        "InferencePoolAccepted": "passed",
        "EppUnAvailableFailOpen": "failed",
        "InferencePoolAppProtocol": "skipped",
    }
    assert tests["InferencePoolAccepted"]["why"] == "" and tests["EppUnAvailableFailOpen"]["seconds"] == 20
    assert tests["EppUnAvailableFailOpen"]["why"].startswith("Received unexpected error: a value is required; the gateway answers 500")
    assert "explicitly skipped" in tests["InferencePoolAppProtocol"]["why"]


def test_the_timeout_of_a_conformance_test_is_its_reason_not_later_output() -> None:
    output = """\
=== RUN   Conformance/InferencePoolAppProtocol
    apply.go:271: 2026-11-23T18:29:45.741319047Z: Creating a-route HTTPRoute
=== RUN   Conformance/InferencePoolAppProtocol/explicit_cleartext_HTTP/2_appProtocol
    http.go:325: 2026-11-23T18:30:45.675315446Z: Response expectation failed for request: {URL: x}
    http.go:306: 2026-11-23T18:30:46.849484704Z: timeout while waiting after 60 attempts, 0/3 successes
    http.go:306: 2026-11-23T18:31:46.849484704Z: timeout while waiting after 60 attempts, 0/3 successes
=== RUN   Conformance/InferencePoolAppProtocol/explicit_HTTP/1.1_appProtocol
    x.go:100: Verifying HTTPRoute and InferencePool are accepted.
    apply.go:279: 2026-11-23T18:32:45.675626126Z: Deleting a-route HTTPRoute
=== RUN   Conformance/GatewayFollowingEPPRouting
    x.go:1: 2026-11-23T18:32:45.675626126Z: no endpoint
    apply.go:279: 2026-11-23T18:32:45.675626126Z: Deleting another HTTPRoute
--- FAIL: Conformance (30.1s)
    --- FAIL: Conformance/InferencePoolAppProtocol (180.40s)
    --- FAIL: Conformance/GatewayFollowingEPPRouting (1.00s)
"""
    assert [test["why"] for test in report.results(output.splitlines())] == ["timeout while waiting after 60 attempts, 0/3 successes", "no endpoint"]


def test_a_run_conforms_when_it_ends_and_no_test_fails() -> None:
    tests = report.results(OUTPUT.splitlines())
    outcome = report.summary(tests, "", {"gateway_class": "x"}, 30.0)
    assert not outcome["ok"] and outcome["summary"] == "3 tests: 1 passed, 1 failed, 1 skipped (EppUnAvailableFailOpen failed)"
    passed = [test for test in tests if test["result"] != "failed"]
    assert report.summary(passed, "", {}, 1.0)["ok"]
    assert not report.summary(passed, "It was ended", {}, 1.0)["ok"] and not report.summary([], "", {}, 1.0)["ok"]
    page = report.page(outcome, "Conformance", "The suite against `x`", report.notes(VERSIONS))
    assert page.startswith("# Conformance\n\nThe suite against `x`, 30 s. 3 tests") and outcome["gateway_class"] == "x"
    assert "| InferencePoolAccepted | passed | 0.4 |  |" in page and "answers 500 \\| &lt;b> |" in page
    assert "Version of the suite: v1.6.0." in page and f"CRD {POOLS}: v1.6.0." in page and "conformance_other_crds" not in page
    assert report.notes({**VERSIONS, "mismatches": ["they differ"]})[1:] == ["Allowed by conformance_other_crds: they differ"]


def test_a_known_failure_is_a_failure_with_its_cause() -> None:
    row = {"provider": "some_gateway", "through": "1.1.0", "test": "EppUnAvailableFailOpen", "cause": "it never fails open", "source": "https://example.com/1"}
    known = {row["test"]: row, "InferencePoolAccepted": {**row, "test": "InferencePoolAccepted"}}
    outcome = report.summary(report.results(OUTPUT.splitlines()), "", {}, 30.0, known)
    assert not outcome["ok"] and outcome["summary"].endswith("(EppUnAvailableFailOpen (known) failed)")
    causes = {test["name"]: test["known"] for test in outcome["tests"]}
    assert causes["EppUnAvailableFailOpen"] == "known of some_gateway up to 1.1.0: it never fails open (https://example.com/1)"
    assert not causes["InferencePoolAccepted"] and not causes["InferencePoolAppProtocol"], "what passes or is skipped is no failure"
    assert "up to 1.1.0: it never fails open (https://example.com/1); Received unexpected error" in report.page(outcome, "Conformance", "The suite")


@pytest.mark.parametrize(
    ("provider", "version", "expected"),
    [
        ("envoy_ai_gateway", "1.0.0", 3),
        ("envoy_ai_gateway", "v1.1.0-rc.1", 3),
        ("envoy_ai_gateway", "1.1.0", 3),
        ("envoy_ai_gateway", "1.1.1", 0),
        ("envoy_ai_gateway", "1.10.0", 0),
        ("envoy_ai_gateway", "", 0),
        ("istio", "1.0.0", 0),
    ],
)
def test_known_failures_apply_to_a_provider_up_to_a_version(provider: str, version: str, expected: int) -> None:
    assert len(report.known_failures(provider, version)) == expected


def test_the_rows_of_known_failures_are_of_providers_and_have_a_page() -> None:
    for row in KNOWN_FAILURES:
        assert row["provider"] in GATEWAY_PROVIDERS and row["source"].startswith("https://") and row["cause"], row
    assert len({(row["provider"], row["test"]) for row in KNOWN_FAILURES}) == len(KNOWN_FAILURES)


@pytest.mark.parametrize(
    ("program", "version"),
    [
        (b"\x7fELF\0\ndep\tsigs.k8s.io/gateway-api-inference-extension/conformance\tv1.6.0\th1:x=\n\0", "v1.6.0"),
        (b"path\tx\nmod\tsigs.k8s.io/gateway-api-inference-extension/conformance\tv1.6.2\t\n", "v1.6.2"),
        (b"\nmod\tsigs.k8s.io/gateway-api-inference-extension/conformance\t(devel)\t\n", ""),
        (b"\ndep\tsigs.k8s.io/gateway-api/conformance\tv1.6.1\th1:x=\n", ""),
        (b"#!/bin/sh\n", ""),
    ],
)
def test_the_suites_version_is_in_its_program(program: bytes, version: str) -> None:
    assert report.suite_version(program) == version


@pytest.mark.parametrize(
    ("suite", "versions", "words"),
    [
        ("v1.6.0", {POOLS: "v1.6.1"}, []),
        ("", {POOLS: "v1.5.0"}, []),
        ("v1.6.0", {}, []),
        ("v1.6.0", {POOLS: "v1.5.0"}, [f"the CRD {POOLS} is v1.5.0 and the suite v1.6.0"]),
        ("v1.6.0", {POOLS: "v1.16.0"}, ["is v1.16.0"]),
        (
            "v1.6.0",
            {POOLS: "v1.6.0", EXPERIMENTAL_CRDS[2]: "v1.5.0"},
            [f"several versions, with which the suite does not start ({POOLS} v1.6.0, {EXPERIMENTAL_CRDS[2]} v1.5.0)"],
        ),
        ("v1.6.0", {POOLS: ""}, [f"the CRD {POOLS} has no annotation {BUNDLE}"]),
    ],
)
def test_version_mismatches_of_crds_and_conformance_suite_are_reported(suite: str, versions: dict[str, str], words: list[str]) -> None:
    lines = report.mismatches(suite, versions)
    assert len(lines) == len(words) and all(word in line for word, line in zip(words, lines, strict=True)), lines
    assert all("conformance_other_crds=true" in line for line in lines)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({}, ""),
        ({"live": None}, "no GatewayClass x"),
        ({"live": {"status": {"conditions": [{"type": "Accepted", "status": "False", "message": "no parameters"}]}}}, "no parameters"),
        ({"crds": {**GOOD_CRDS, CRDS[-1]: None}}, f"the CRD {CRDS[-1]} is missing"),
        ({"namespaces": {**NOBODYS, NAMESPACES[0]: {"metadata": {"labels": {}}}}}, f"namespace {NAMESPACES[0]} exists"),
        ({"namespaces": {**NOBODYS, NAMESPACES[0]: OURS}}, ""),
    ],
)
def test_unmet_requirements_of_the_conformance_suite_are_reported(change: Facts, word: str) -> None:
    problems = report.lacking("x", **{"live": GOOD_CLASS, "crds": GOOD_CRDS, "namespaces": NOBODYS, **change})
    assert len(problems) == bool(word) and word in "".join(problems)


class ClusterOfTwo:
    """A cluster with the namespaces of the suite; they exist once the program in the place of the suite has created the marker file."""

    def __init__(self, marker: Path, labels: Facts | None = None, inside: Facts | None = None) -> None:
        self.marker, self.labels, self.deleted = marker, labels or {LABEL: "infra"}, []  # type: ignore[var-annotated]
        self.inside = inside or {}  # names of objects by their kind, in each namespace
        self.clock: Clock = SYSTEM

    def be_patient(self, seconds: float) -> None:
        assert seconds > 0

    def resources(self, version: str) -> Facts:
        kinds = {"v1": ("ConfigMap", "Service", "Pod"), "apps/v1": ("Deployment",)}[version]
        return {kind: {"name": f"{kind.lower()}s", "kind": kind, "namespaced": True, "verbs": ["list", "delete"]} for kind in kinds}

    def listed(self, path: str, kind: str, **_options: t.Any) -> list[Facts]:
        assert path.split("/")[-2] in NAMESPACES
        return [{"kind": kind, "metadata": {"name": name, "namespace": path.split("/")[-2], "uid": f"{path}/{name}"}} for name in self.inside.get(kind, ())]

    def parallel(self, function: t.Callable[[t.Any], t.Any], items: t.Sequence[t.Any]) -> list[t.Any]:
        return [function(item) for item in items]

    def find(self, path: str, **_options: t.Any) -> Facts | None:
        if path in ("/api", "/apis"):
            return {"versions": ["v1"], "groups": [{"preferredVersion": {"groupVersion": "apps/v1"}}]}
        name = path.rpartition("/")[2]
        return {"metadata": {"name": name, "labels": self.labels}} if self.marker.exists() and name not in self.deleted else None

    def delete(self, path: str, query: Facts | None = None) -> None:
        assert query == {"propagationPolicy": "Background"}
        self.deleted.append(path.rpartition("/")[2])


def suite_of(tmp_path: Path, script: str, cluster: ClusterOfTwo, progress: list[str]) -> Conformance:
    program = tmp_path / "suite"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return Conformance(cluster, [str(program)], {**os.environ, "MARK": str(cluster.marker)}, tmp_path / "output.log", progress.append)


def test_the_output_becomes_the_result_and_the_namespaces_are_deleted(tmp_path: Path) -> None:
    cluster, progress = ClusterOfTwo(tmp_path / "mark"), []  # type: ignore[var-annotated]
    (tmp_path / "printed").write_text(OUTPUT, encoding="utf-8")
    outcome = suite_of(tmp_path, f'touch "$MARK"; cat {tmp_path}/printed; sleep 1; exit 1', cluster, progress).run("x", 30)
    assert len(outcome["tests"]) == 3 and not outcome["ok"] and outcome["summary"].endswith("(EppUnAvailableFailOpen failed)")
    assert sorted(cluster.deleted) == sorted(NAMESPACES)
    assert progress == ["InferencePoolAccepted: passed (0.4 s)", "EppUnAvailableFailOpen: failed (20 s)", "InferencePoolAppProtocol: skipped (0 s)"]


def test_a_placeholder_is_made_in_the_namespace_of_the_gateways_once(tmp_path: Path) -> None:
    cluster, made = ClusterOfTwo(tmp_path / "mark"), []  # type: ignore[var-annotated]

    def request(method: str, path: str, query: t.Any = None, body: t.Any = None) -> t.Any:
        assert method == "POST"
        made.append((path, body))
        return {}

    cluster.request = request  # type: ignore[attr-defined]
    program = suite_of(tmp_path, 'touch "$MARK"; sleep 2', cluster, [])
    Conformance(cluster, program._command, program._environment, tmp_path / "output.log", made.append, "pause:1").run("x", 30)
    ((path, pod),) = made
    assert path == f"/api/v1/namespaces/{NAMESPACES[0]}/pods" and pod["spec"]["containers"][0]["image"] == "pause:1"


def test_a_suite_that_does_not_end_is_ended(tmp_path: Path) -> None:
    cluster = ClusterOfTwo(tmp_path / "mark")
    cluster.clock = FakeClock(lambda _now: until(cluster.marker.exists))
    outcome = suite_of(tmp_path, 'touch "$MARK"; sleep 1000', cluster, []).run("x", 3)
    assert not outcome["ok"] and "conformance_timeout" in outcome["summary"] and sorted(cluster.deleted) == sorted(NAMESPACES)


def test_a_suite_that_crashes_is_reported_with_the_path_of_its_output(tmp_path: Path) -> None:
    outcome = suite_of(tmp_path, "echo no configuration; exit 2", ClusterOfTwo(tmp_path / "mark"), []).run("x", 30)
    assert not outcome["ok"] and "status 2" in outcome["summary"] and str(tmp_path / "output.log") in outcome["summary"]


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
    until(lambda: not alive(int((tmp_path / "pid").read_text(encoding="utf-8"))))


def test_leftover_suite_namespaces_are_deleted_first_and_foreign_ones_stay(tmp_path: Path) -> None:
    left = ClusterOfTwo(tmp_path / "mark")
    left.marker.touch()
    suite_of(tmp_path, "exit 0", left, []).run("x", 30)
    assert sorted(left.deleted) == sorted(NAMESPACES)
    foreign = ClusterOfTwo(tmp_path / "mark", {"team": "others"})
    suite_of(tmp_path, "exit 0", foreign, []).run("x", 30)
    assert foreign.deleted == [] and json.dumps(foreign.labels) == '{"team": "others"}'


MANIFESTS = """
apiVersion: v1
kind: Service
metadata:
  labels: {app: picker}
  name: primary-endpoint-picker-svc
  namespace: inference-conformance-app-backend
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: primary-app-endpoint-picker
spec:
  template:
    metadata:
      name: data
"""
OF_SUITE = {
    "Service": ["primary-endpoint-picker-svc"],
    "Deployment": ["primary-app-endpoint-picker"],
    "ConfigMap": ["kube-root-ca.crt"],
    "Pod": ["placeholder"],
}


def test_the_suites_objects_are_those_of_its_program() -> None:
    objects = report.suite_objects(b"\x7fELF\0" + MANIFESTS.encode() + b"\0" + MANIFESTS.replace("\n", "\r\n").encode())
    named = [(each["apiVersion"], each["kind"], each["metadata"]["name"]) for each in objects if each["metadata"]["namespace"] == NAMESPACES[1]]
    services = [("v1", "Service", "primary-endpoint-picker-svc"), ("apps/v1", "Deployment", "primary-app-endpoint-picker")]
    assert named == [*services, ("v1", "Pod", "placeholder")] and len(objects) == 2 * len(named)


def test_suite_namespaces_with_foreign_objects_stay_and_block_a_run(tmp_path: Path) -> None:
    """No run starts beside such objects; they are reported, and their namespaces stay. With only the suite's own objects the namespaces are deleted."""
    cluster = ClusterOfTwo(tmp_path / "mark", inside={**OF_SUITE, "ConfigMap": ["kube-root-ca.crt", "data"]})
    cluster.marker.touch()
    script = f'exit 0\n: <<"END"{MANIFESTS}END'
    with pytest.raises(ClusterError, match="holds objects that are not the suite's:\nthe namespace inference-conformance-infra stays: ConfigMap .*/data\n"):
        suite_of(tmp_path, f"touch {tmp_path}/ran; {script}", cluster, []).run("x", 30)
    kept = suite_of(tmp_path, script, cluster, []).remove(wait=True)
    assert [place.namespace for place in kept] == list(NAMESPACES) and kept[1].objects == [f"ConfigMap {NAMESPACES[1]}/data"]
    assert cluster.deleted == [] and not (tmp_path / "ran").exists()
    cluster.inside = OF_SUITE
    assert suite_of(tmp_path, script, cluster, []).remove(wait=True, dry_run=True) == [] and cluster.deleted == []
    assert len(suite_of(tmp_path, "exit 0", cluster, []).remove(wait=True)) == 2, "another program has other objects"
    assert suite_of(tmp_path, script, cluster, []).remove(wait=True) == [] and sorted(cluster.deleted) == sorted(NAMESPACES)


def test_a_suite_namespace_with_objects_added_during_a_run_stays(tmp_path: Path) -> None:
    cluster = ClusterOfTwo(tmp_path / "mark", inside={"ConfigMap": ["data"]})
    outcome = suite_of(tmp_path, 'touch "$MARK"; exit 0', cluster, []).run("x", 30)
    assert cluster.deleted == [] and f"the namespace {NAMESPACES[0]} stays: ConfigMap {NAMESPACES[0]}/data" in outcome["kept"]


RUN = """
import sys
from pathlib import Path
import plays
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.suite import Conformance
from ansible_collections.llm_d.inference.plugins.module_utils.common.clock import SYSTEM
class Nothing:
    clock = SYSTEM
    be_patient = find = lambda self, *given: None
Conformance(Nothing(), [sys.argv[1]], {}, Path(sys.argv[2]), print).run("x", 1000)
"""


def test_a_killed_run_ends_the_conformance_suite_too(tmp_path: Path) -> None:
    """Otherwise the suite would continue, and write into namespaces that the next run deletes."""
    program, pid = tmp_path / "suite", tmp_path / "pid"
    program.write_text(f"#!/bin/sh\necho $$ >{pid}.part; mv {pid}.part {pid}; sleep 1000\n", encoding="utf-8")
    program.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(Path(plays.__file__).parent)}
    run = subprocess.Popen([sys.executable, "-c", RUN, str(program), str(tmp_path / "log")], env=environment, start_new_session=True)
    until(lambda: pid.exists() or run.poll() is not None)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    until(lambda: not alive(int(pid.read_text(encoding="utf-8"))))


def alive(pid: int) -> bool:
    """Whether a process runs; False for a zombie, which has ended but has not been waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
