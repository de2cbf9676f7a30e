# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server, or a proxy before it, that fails in the middle of a run: the run continues, or ends with this cause only."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
import typing as t

import own_api_server
import plays
import pytest
import urllib3
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.helm_records import status
from keeping_api_server import PREPARED, SPACE, KeepingApi
from local_servers import JSON, serve
from own_api_server import api_server, kubeconfig_of

NAMES = ("one", "two", "three")
DEFINITIONS = [
    *({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "llm-d"}, "data": {"of": name}} for name in NAMES),
    {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token", "namespace": "llm-d"}, "stringData": {"token": "planted-token"}},
]
OBJECTS = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: llm_d.inference.objects, tasks_from: access}
    - ansible.builtin.include_role: {name: llm_d.inference.objects, tasks_from: %s}
"""
Answer = tuple[int, dict[str, str], str] | None


def trouble(status: int, reason: str = "") -> Answer:
    body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason, "message": reason}) if reason else "<html>"
    return status, {"Content-Type": JSON if reason else "text/html"}, body


# The answers instead; `lost`: the request has been executed.
BREAKS: dict[str, t.Callable[[], Answer]] = {
    "lost": lambda: None, "cut": lambda: None, "proxy": lambda: trouble(502), "busy": lambda: trouble(429, "TooManyRequests"), "starting": lambda: trouble(503),
}  # fmt: skip


class Failing:
    """A KeepingApi that gives another answer (`how` of BREAKS) to the first of each pair of equal requests, except the very first request."""

    def __init__(self, how: str) -> None:
        self.cluster, self.how = KeepingApi(), how
        self.cluster.kept.update(PREPARED)
        self._failed, self._lock = set[tuple[str, str]](), threading.Lock()
        self.begin()

    def begin(self) -> None:
        """The next request counts as the very first."""
        self._count = itertools.count()

    def __call__(self, handler: t.Any, method: str, url: str, body: bytes) -> Answer:
        with self._lock:
            if next(self._count) and (method, url) not in self._failed:
                self._failed.add((method, url))
                if self.how == "lost":
                    self.cluster.answer(handler, method, url, body)
                return BREAKS[self.how]()
            self._failed.discard((method, url))
        return self.cluster.answer(handler, method, url, body)


def run(tmp_path: t.Any, server: str, tasks: str, **variables: t.Any) -> t.Any:
    (tmp_path / "play.yml").write_text(OBJECTS % tasks, encoding="utf-8")
    given = {"objects_kubeconfig": plays.kubeconfig(tmp_path / "kubeconfig", server), "objects_definitions": DEFINITIONS, "objects_wait": False, **variables}
    return plays.run("-i", "paris,", "-c", "local", str(tmp_path / "play.yml"), "-e", json.dumps(given), no_proxy="*")


@pytest.mark.parametrize("how", [pytest.param(how, marks=() if how == "lost" else pytest.mark.rest) for how in BREAKS])
def test_each_request_may_fail_once_without_changing_the_reported_result(tmp_path, how):
    """Created, changed and deleted objects are reported correctly, also if the answer to the creation was lost."""
    api = Failing(how)
    with serve(api) as url:
        done = run(tmp_path, url, "apply")
        assert done.returncode == 0 and "changed=1 " in done.stdout, done.stdout
        assert {f"{SPACE}/configmaps/{name}" for name in NAMES} < set(api.cluster.kept)
        api.begin()
        again = run(tmp_path, url, "apply")
        assert again.returncode == 0 and "changed=0 " in again.stdout, again.stdout
        api.begin()
        gone = run(tmp_path, url, "absent")
        assert gone.returncode == 0 and "changed=1 " in gone.stdout, gone.stdout
        assert not [path for path in api.cluster.kept if "/configmaps/" in path]


@pytest.mark.rest
def test_the_run_waits_for_an_answer_that_takes_half_a_minute(tmp_path):
    cluster, first = KeepingApi(), threading.Event()
    cluster.kept.update(PREPARED)

    def api(handler: t.Any, method: str, url: str, body: bytes) -> Answer:
        if method == "PATCH" and not first.is_set():
            first.set()
            time.sleep(31)
        return cluster.answer(handler, method, url, body)

    with serve(api) as url:
        done = run(tmp_path, url, "apply")
    assert done.returncode == 0 and "changed=1 " in done.stdout, done.stdout
    assert {f"{SPACE}/configmaps/{name}" for name in NAMES} < set(cluster.kept)


@pytest.mark.parametrize("tasks", ["apply", "judged"])
def test_a_token_that_expires_in_the_middle_is_the_cause_and_not_the_objects(tmp_path, tasks):
    cluster, ended = KeepingApi(), threading.Event()
    cluster.kept.update(PREPARED)

    def api(handler: t.Any, method: str, url: str, body: bytes) -> Answer:
        if method == "PATCH":
            ended.set()
        return trouble(401, "Unauthorized") if ended.is_set() else cluster.answer(handler, method, url, body)

    with serve(api) as url:
        done = run(tmp_path, url, tasks)
    assert done.returncode == 2 and done.stdout.count("fatal: ") == 1, done.stdout
    (last,) = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]: ")]
    assert f"the Kubernetes API server {url} no longer accepts the credentials (401), which it accepted earlier in this run" in last
    assert "refuses" not in last and "planted-token" not in done.stdout


# Helm, with a real API server


@pytest.fixture(name="there", scope="module")
def running_api_server(tmp_path_factory):
    with api_server(tmp_path_factory.mktemp("api")) as running:
        yield running


@contextlib.contextmanager
def cut(there: t.Any, method: str, times: int, instead: Answer = None) -> t.Iterator[tuple[str, list[str]]]:
    """(URL of a proxy before an API server, the requests of this method that it cut: the first ones for a release).

    instead: the answer to the first one and to all after it.
    """
    pool, cuts, certificates = urllib3.PoolManager(cert_reqs="CERT_NONE", maxsize=9), list[str](), there.kubeconfig.parent / "certs"

    def answer(handler: t.Any, verb: str, url: str, body: bytes) -> Answer:
        if verb == method and "/secrets" in url and len(cuts) < times:
            cuts.append(url)
            return instead
        if cuts and instead is not None:
            return instead
        headers = {name: value for name, value in handler.headers.items() if name.lower() in ("authorization", "content-type", "accept")}
        reply = pool.request(verb, there.cluster.server + url, body=body or None, headers=headers)
        return reply.status, {"Content-Type": reply.headers.get("Content-Type", JSON)}, reply.data

    with serve(answer, (str(certificates / "apiserver.crt"), str(certificates / "apiserver.key"))) as url:
        yield url, cuts


def released(tmp_path: t.Any, there: t.Any, url: str, state: str) -> tuple[int, str, list[str]]:
    """(exit status, output, statuses of the revisions) after the release `x` was requested in a state."""
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True, exist_ok=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: x\nversion: 1.0.0\n", encoding="utf-8")
    (chart / "templates/one.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: of-helm}}\n", encoding="utf-8")
    release = {"release_name": "x", "name": "x", "namespace": "default", "ref": str(chart), "version": "1.0.0"}
    (tmp_path / "proxied").write_text(json.dumps(kubeconfig_of(url)), encoding="utf-8")
    done = run(
        tmp_path, url, "release", objects_kubeconfig=str(tmp_path / "proxied"), objects_release=release, objects_release_state=state,
        objects_helm=str(own_api_server.CACHE / "bin/helm"), objects_timeout=20,
    )  # fmt: skip
    records = there.cluster.listed("/api/v1/namespaces/default/secrets", query={"labelSelector": "owner=helm"})
    return done.returncode, done.stdout, [status(each) for each in records]


@pytest.mark.rest
@pytest.mark.filterwarnings("ignore:Unverified HTTPS")
def test_helm_is_started_once_more_after_a_connection_is_cut(tmp_path, there):
    with cut(there, "POST", 2) as (url, cuts):
        code, out, statuses = released(tmp_path, there, url, "present")
        assert code == 2 and len(cuts) == 2 and not statuses, out
        last = [line for line in out.splitlines() if line.startswith("[ERROR]: ")][-1]
        assert "Helm cannot install the release x in namespace default: " in last and "EOF" in last
    with cut(there, "POST", 1, trouble(401, "Unauthorized")) as (url, cuts):
        code, out, statuses = released(tmp_path, there, url, "present")
        assert code == 2 and not statuses, out
        assert "no longer accepts the credentials (401)" in [line for line in out.splitlines() if line.startswith("[ERROR]: ")][-1]
    with cut(there, "POST", 1) as (url, cuts):
        code, out, statuses = released(tmp_path, there, url, "present")
        assert code == 0 and len(cuts) == 1 and statuses == ["deployed"], out
    with cut(there, "GET", 1) as (url, cuts):
        code, out, statuses = released(tmp_path, there, url, "present")
        assert code == 0 and len(cuts) == 1 and "changed=0 " in out, out
    with cut(there, "DELETE", 1) as (url, cuts):
        code, out, statuses = released(tmp_path, there, url, "absent")
        assert code == 0 and len(cuts) == 1 and not statuses, out
