# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs on one instance, on a real API server: one at a time, however the first one ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import typing as t
from pathlib import Path

import plays
import pytest
from keeping_api_server import KeepingApi
from local_servers import JSON, serve
from own_api_server import api_server
from waiting import until

LONG_AGO = "2020-01-01T00:00:00.000000Z"
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Hold
      llm_d.inference.run_lease:
        kubeconfig: %(kubeconfig)s
        namespace: %(namespace)s
        name: llm-d-record
        instance: llm-d
        timeout: %(timeout)s
    - name: Hold it again
      llm_d.inference.run_lease:
        kubeconfig: %(kubeconfig)s
        namespace: %(namespace)s
        name: llm-d-record
        instance: llm-d
    - name: Work
      ansible.builtin.wait_for:
        path: %(marker)s
        timeout: 120
      when: marked
"""


@pytest.fixture(name="there", scope="module")
def running_api_server(tmp_path_factory):
    with api_server(tmp_path_factory.mktemp("api")) as running:
        yield running


class Runs:
    """Plays that take the Lease of one instance."""

    def __init__(self, folder: Path, kubeconfig: str, namespace: str, cluster: t.Any = None) -> None:
        self._folder, self._kubeconfig, self._namespace, self._cluster = folder, kubeconfig, namespace, cluster
        self._list = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self.marker = folder / "over"

    def look(self) -> t.Any:
        """The Lease; None without one."""
        return self._cluster.find(f"{self._list}/llm-d-record")

    def write(self, **spec: t.Any) -> None:
        """Change the Lease."""
        self._cluster.request("PATCH", f"{self._list}/llm-d-record", body={"spec": spec}, content_type="application/merge-patch+json")

    def leave(self, **spec: t.Any) -> None:
        """Create the Lease as an ended run has left it."""
        self._cluster.request("POST", self._list, body={"metadata": {"name": "llm-d-record"}, "spec": spec})

    @contextlib.contextmanager
    def start(self, timeout: int = 60, works: bool = False, **variables: t.Any) -> t.Iterator[subprocess.Popen[str]]:
        """A play. works: it runs until the marker exists."""
        values = {"kubeconfig": self._kubeconfig, "namespace": self._namespace, "marker": self.marker, "timeout": timeout}
        (self._folder / "play.yml").write_text(PLAY % values, encoding="utf-8")
        given = ["-i", "paris,", "-c", "local", str(self._folder / "play.yml"), "-e", json.dumps({"marked": works, **variables})]
        command, options = plays.command(*given), {"env": plays.environment(), "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen(command, cwd=plays.ROOT, start_new_session=True, **options) as run:
            try:
                yield run
            finally:
                if works:  # a worker that waits for the marker may outlive its run
                    self.marker.touch()
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)


@pytest.fixture(name="runs")
def runs_in_a_new_namespace(tmp_path, there, request):
    name = f"n-{abs(hash(request.node.name)) % 10**8}"
    there.cluster.request("POST", "/api/v1/namespaces", body={"metadata": {"name": name}})
    return Runs(tmp_path, str(there.kubeconfig), name, there.cluster)


def out_of(run: subprocess.Popen[str]) -> str:
    out, _none = run.communicate(timeout=120)
    return out


@pytest.mark.rest
def test_a_second_run_logs_that_it_waits_and_no_lease_is_left_after_both(runs):
    with runs.start(works=True, awx_job_id=45, awx_job_template_name="Deploy", awx_user_name="jane") as first:
        until(runs.look)
        assert runs.look()["spec"]["holderIdentity"].startswith("job 45 (Deploy) of jane on ")
        with runs.start() as second:
            lines = iter(second.stdout.readline, "")
            output = next(line for line in lines if "waiting 0 s for another run on the instance llm-d" in line) + next(lines) + next(lines)
            assert "job 45 (Deploy) of jane" in " ".join(output.split())
            assert first.poll() is None
            runs.marker.touch()
            assert "failed=0" in out_of(first)
            assert "failed=0" in out_of(second) and second.returncode == 0
    until(lambda: runs.look() is None)


@pytest.mark.rest
def test_a_run_that_waits_in_vain_is_refused_by_the_name_of_the_other(runs):
    with runs.start(works=True) as first:
        until(runs.look)
        with runs.start(timeout=1) as second:
            output = " ".join(out_of(second).split())
        assert second.returncode == 2 and f", process {first.pid}, since 20" in output and "another run works on the instance llm-d in the namespace" in output
        assert runs.look(), "the first run keeps it"


@pytest.mark.parametrize("number", [signal.SIGKILL, *(pytest.param(number, marks=pytest.mark.rest) for number in (signal.SIGINT, signal.SIGTERM))])
def test_a_run_that_a_signal_ends_leaves_no_lease(runs, number):
    with runs.start(works=True) as first:
        until(runs.look)
        os.kill(first.pid, number)
        until(lambda: runs.look() is None)


@pytest.mark.rest
def test_the_lease_is_renewed_during_the_run_and_not_retaken_once_lost(runs):
    with runs.start(works=True):
        until(runs.look)
        runs.write(renewTime=LONG_AGO)
        until(lambda: not runs.look()["spec"]["renewTime"].startswith("2020"), 30)
        runs.write(holderIdentity="someone")
        runs.marker.touch()
    assert runs.look()["spec"]["holderIdentity"] == "someone"


@pytest.mark.rest
def test_a_lease_that_is_no_longer_renewed_is_taken_over(runs):
    """The host of the first run has crashed."""
    runs.leave(holderIdentity="gone", renewTime=LONG_AGO, leaseDurationSeconds=30, leaseTransitions=4)
    with runs.start(timeout=1) as second:
        assert "failed=0" in out_of(second)


@pytest.mark.parametrize(("status", "warnings"), [(403, 1), (404, 0)])
def test_a_run_continues_when_no_lease_can_be_created(tmp_path, status, warnings):
    """403: an account without the permissions gets a warning. 404: the namespace does not exist yet, so two runs cannot conflict."""
    cluster, methods = KeepingApi(), []

    def answer(handler, method, url, body):
        if "/leases" in url:
            methods.append(method)
            reply = {"kind": "Status", "status": "Failure", "code": status, "reason": "x", "message": "no"}
            return status, {"Content-Type": JSON}, json.dumps(reply)
        return cluster.answer(handler, method, url, body)

    with serve(answer) as url:
        runs = Runs(tmp_path, plays.kubeconfig(tmp_path / "kubeconfig", url), "llm-d")
        with runs.start() as run:
            out = " ".join(out_of(run).split())
    assert run.returncode == 0 and "failed=0" in out and methods
    counts = [out.count(words) for words in ("this one cannot have a Lease in the namespace llm-d (no)", "list_permissions.yml writes the permissions")]
    assert counts == [warnings, warnings]


def test_check_mode_requests_no_lease(tmp_path):
    runs = Runs(tmp_path, plays.kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1"), "llm-d")
    with runs.start():
        pass
    done = plays.run("-i", "paris,", "-c", "local", str(tmp_path / "play.yml"), "-e", '{"marked": false}', "--check")
    assert done.returncode == 0 and "changed=0" in done.stdout
