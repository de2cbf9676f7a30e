# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A playbook waits, and changes nothing, while another run has the Lease of the instance. test_run_lease.py tests the Lease itself."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from keeping_api_server import SPACE
from reporting_job import FILE, Facts, Job

LEASES = "/apis/coordination.k8s.io/v1/namespaces/llm-d/leases"
SPEC = {"holderIdentity": "job 7 (Deploy) of jane on host-1", "leaseDurationSeconds": 30, "acquireTime": "2026-11-30T06:00:00.000000Z"}
# Another run renews it, so it does not expire.
HELD_LEASE = {"kind": "Lease", "metadata": {"name": "llm-d-record", "resourceVersion": "1"}, "spec": {**SPEC, "renewTime": "2999-01-01T00:00:00.000000Z"}}
SIM: Facts = FILE["llm_d_model_services"][0]
# For a canary: two services with weights on one route.
SHARED: Facts = {
    "llm_d_gateway": {"provider": "istio"},
    "llm_d_model_services": [{**SIM, "route": {"weights": {"sim": 100, "next": 0}}}, {**SIM, "name": "next", "route": {"path": "/next"}}],
}
SECRETS: Facts = {"llm_d_api_key": "sk-planted-key", "llm_d_model_token": "hf_planted"}
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/inferencepools.inference.networking.k8s.io"


class Busy(Job):
    """A cluster on whose instance another run works. lease_requests: the methods of requests for its Lease; written: requests that change something."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.lease_requests: list[str] = []
        self.written: list[str] = []
        original = self.cluster.reply

        def busy(method: str, path: str, query: str, body: bytes) -> tuple[int, t.Any]:
            if path.startswith(LEASES):
                self.lease_requests.append(method)
                return (200, HELD_LEASE) if SPACE in self.cluster.kept else (404, {})
            # Reviews, such as SelfSubjectAccessReview, are POST requests that change nothing.
            if method != "GET" and "dryRun" not in query and not path.endswith("reviews"):
                self.written.append(f"{method} {path}")
            return original(method, path, query, body)

        self.cluster.reply = busy


@pytest.mark.rest
@pytest.mark.parametrize(
    ("playbook", "given"),
    [
        ("../site", SECRETS),
        ("scorers", {}),
        ("prerequisites", SECRETS),
        ("teardown", {"llm_d_confirm": True}),
        ("compare_scorers", {"compare_presets": ["queue"]}),
        ("canary", {"canary_service": "sim", "canary_to": "next", **SHARED}),
    ],
)
def test_a_playbook_that_changes_an_instance_waits_for_its_current_run(tmp_path: Path, playbook: str, given: Facts) -> None:
    job = Busy(tmp_path)
    if given is SECRETS:
        del job.cluster.kept[CRD]
    assert_refused(job.run(playbook, llm_d_wait_timeout=1, **given)[1])
    assert job.written == []


@pytest.mark.rest
def test_a_run_waits_for_one_that_has_created_the_namespace_in_between(tmp_path: Path) -> None:
    job = Busy(tmp_path)
    del job.cluster.kept[SPACE]
    assert_refused(job.run("../site", llm_d_wait_timeout=1, **SECRETS)[1])
    assert job.written == [f"PATCH {SPACE}"]


@pytest.mark.rest
def test_a_deployment_after_an_approval_is_the_approved_one(tmp_path: Path) -> None:
    job = Busy(tmp_path)
    statistics, lines = job.run("ask_approval", llm_d_wait_timeout=1)
    assert list(statistics["inference_approved"]) == ["paris"], lines[-20:]
    for changed in ({"llm_d_api_key": "sk-other"}, {"llm_d_model_services": [{**SIM, "replicas": 9}]}):
        _statistics, lines = job.run("../site", llm_d_wait_timeout=1, inference_approved=statistics["inference_approved"], **changed)
        assert "the file, or the collection, has changed since the approval" in " ".join(" ".join(lines).split())
    job.run("../site", llm_d_wait_timeout=1, inference_approved={"oslo": "0"})  # a host that was added since
    assert job.written == job.lease_requests == []
    assert_refused(job.run("../site", llm_d_wait_timeout=1, inference_approved=statistics["inference_approved"])[1])  # as far as the Lease


def assert_refused(lines: list[str]) -> None:
    """The output of a playbook that fails with the name of the other run."""
    text = " ".join(" ".join(lines).split())
    assert "another run works on the instance llm-d in the namespace llm-d: job 7 (Deploy) of jane on host-1, since 2026-11-30T06:00:00Z" in text, text[-3000:]


@pytest.mark.rest
@pytest.mark.parametrize(("playbook", "arguments"), [("../site", ["--check"]), ("diff", []), ("validate", []), ("diagnose", [])])
def test_a_playbook_that_changes_nothing_requests_no_lease(tmp_path: Path, playbook: str, arguments: list[str]) -> None:
    job = Busy(tmp_path)
    job.run(playbook, *arguments, llm_d_wait_timeout=1)
    assert job.lease_requests == []
