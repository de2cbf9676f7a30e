# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which requests are repeated, for how long, and what ends that at once."""

from __future__ import annotations

import itertools
import json
import types

import kubernetes
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import client, patience
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError, ClusterError, CutError, LateError, UnreachableError, refusal
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.patience import LONGEST_PAUSE, PATIENCE, PAUSE, Patience, is_repeatable
from fake_clock import FakeClock
from local_servers import JSON, serve

SERVER = "https://api:6443"


def answered(status, message="", retry_after=""):
    return refusal(status, json.dumps({"kind": "Status", "message": message}), SERVER, "GET /version", retry_after)


REFUSED = UnreachableError("connection refused")
AWAY = [REFUSED, CutError("cut"), LateError("late"), *(answered(status) for status in (429, 502, 503, 504)), answered(500, "etcdserver: leader changed")]
FINAL = [*(answered(status) for status in (400, 401, 403, 404, 409, 422)), answered(500, "failed calling webhook"), ClusterError("its certificate")]


@pytest.fixture(name="warned", autouse=True)
def warnings(monkeypatch):
    """The warnings; no folder of a run."""
    monkeypatch.delenv(patience.FOLDER_VARIABLE, raising=False)
    messages = []
    monkeypatch.setattr(patience, "warn", messages.append)
    return messages


def known(accepted=True):
    """(a patience with a server that has accepted a request, or none; its clock)."""
    clock = FakeClock()
    made = Patience(SERVER, clock)
    if accepted:
        made.repeated(True, lambda: 0)
    return made, clock


def tried(made, failures, repeatable=True, **more):
    """The result of a request that fails so before it works, or the failure that is raised."""
    left = iter(failures)

    def once():
        if (failure := next(left, None)) is not None:
            raise failure
        return "done"

    try:
        return made.repeated(repeatable, once, **more)
    except ClusterError as exc:
        return exc


@pytest.mark.parametrize("failure", AWAY, ids=str)
def test_transient_failures_are_retried_after_the_server_accepted_a_request(failure):
    made, clock = known()
    assert tried(made, [failure] * 40) == "done" and sum(clock.sleeps) == 40 * PAUSE
    assert tried(made, itertools.repeat(failure)) is failure and sum(clock.sleeps) == 40 * PAUSE + PATIENCE


@pytest.mark.parametrize("failure", FINAL, ids=str)
def test_permanent_failures_are_reported_at_once(failure):
    made, clock = known()
    assert tried(made, [failure]) is failure and not clock.sleeps


@pytest.mark.parametrize("failure", AWAY, ids=str)
def test_without_a_request_that_was_accepted_only_a_server_that_sheds_load_is_waited_for(failure):
    made, clock = known(accepted=False)
    sheds = getattr(failure, "status", 0) == 429
    assert (tried(made, [failure]), clock.sleeps) == (("done", [PAUSE]) if sheds else (failure, []))


@pytest.mark.parametrize(
    ("failure", "again"), [(REFUSED, True), (answered(429), True), (CutError("cut"), False), (LateError("late"), False), (answered(502), False)]
)
def test_a_non_repeatable_request_that_may_have_been_executed_is_not_resent(failure, again):
    made, _clock = known()
    assert tried(made, [failure], repeatable=False) == ("done" if again else failure)


@pytest.mark.parametrize(
    ("method", "path", "query", "repeatable"),
    [
        ("GET", "/version", None, True),
        ("PATCH", "/api/v1/namespaces/a", {"fieldManager": "x"}, True),
        ("DELETE", "/api/v1/namespaces/a", None, True),
        ("POST", "/api/v1/namespaces", None, False),
        ("POST", "/api/v1/namespaces", {"dryRun": "All"}, True),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", None, True),
    ],
)
def test_only_a_creation_is_not_repeated(method, path, query, repeatable):
    assert is_repeatable(method, path, query) is repeatable


@pytest.mark.parametrize(("header", "pause"), [("", PAUSE), ("3", 3.0), ("86400", LONGEST_PAUSE), ("Fri, 31 Dec 1999 23:59:59 GMT", PAUSE), ("-1", PAUSE)])
def test_the_pause_before_a_retry_follows_retry_after_within_bounds(header, pause):
    made, clock = known()
    assert tried(made, [answered(429, retry_after=header)]) == "done" and clock.sleeps == [pause]


def test_once_it_was_in_vain_later_requests_do_not_wait_anew():
    made, clock = known()
    tried(made, itertools.repeat(REFUSED))
    waited = sum(clock.sleeps)
    assert tried(made, [REFUSED]) is REFUSED and sum(clock.sleeps) == waited


def test_a_request_that_timed_out_is_repeated_once_despite_the_time_limit():
    """A connection that was cut silently is noticed after the whole time of a read."""
    made, clock = known()
    failures = [LateError("late")]

    def once():
        clock.time += patience.READ_TIMEOUT
        if failures:
            raise failures.pop()
        return "done"

    assert made.repeated(True, once) == "done"


@pytest.mark.parametrize("times", [3, 20])
def test_a_run_delayed_by_many_retries_logs_a_warning_with_the_reason(warned, times):
    made, _clock = known()
    tried(made, [answered(503, "apiserver is shutting down")] * times)
    assert [("apiserver is shutting down" in line) for line in warned] == ([True] if times == 20 else [])


def test_modules_of_a_run_share_that_a_server_accepted_them(monkeypatch, tmp_path):
    monkeypatch.setenv(patience.FOLDER_VARIABLE, str(tmp_path))
    assert not Patience(SERVER).accepted
    Patience(f"{SERVER}/k8s/clusters/c-1").repeated(True, lambda: 0)
    assert Patience(SERVER).accepted and not Patience("https://other:6443").accepted
    made = Patience(SERVER, FakeClock())
    tried(made, itertools.repeat(REFUSED))
    assert not Patience(SERVER).accepted, "after a failure for good the next module does not wait again"


@pytest.mark.parametrize(
    ("failure", "accepted"), [((404, "NotFound"), True), ((403, "Forbidden"), True), ((404, ""), False), ((401, "Unauthorized"), False), ((503, "x"), False)]
)
def test_an_api_server_that_answers_about_the_request_has_accepted_it(failure, accepted):
    made, _clock = known(accepted=False)
    tried(made, [ApiError("", *failure, "")])
    assert made.accepted is accepted


def test_a_folder_that_is_gone_does_no_harm(monkeypatch, tmp_path):
    monkeypatch.setenv(patience.FOLDER_VARIABLE, str(tmp_path / "gone"))
    made, _clock = known()
    assert tried(made, itertools.repeat(REFUSED)) is REFUSED


def test_another_exception_is_raised_at_once():
    made, clock = known()
    with pytest.raises(KeyError):
        made.repeated(True, lambda: {}["x"])
    assert not clock.sleeps


# through the client


def cluster(url, **credentials):
    configuration = kubernetes.client.Configuration()
    configuration.host = url
    for name, value in credentials.items():
        setattr(configuration, name, value)
    return client.Cluster(configuration, {}, clock=FakeClock())


@pytest.mark.parametrize("method", ["get", "find", "apply", "delete"])
def test_every_request_of_a_module_that_does_not_wait_is_repeated(method):
    states = iter([200, None, 502, 503, 504, None])

    def answer(*_request):
        status = next(states, 200)
        return status and (status, {"Content-Type": JSON}, "{}")

    with serve(answer) as url:
        made = cluster(url)
        made.get("/version")
        getattr(made, method)("/api/v1/namespaces/x", *([b"{}"] if method == "apply" else []))
    assert len(made.clock.sleeps) == 5


def test_an_object_that_the_first_of_two_deletions_removed_is_deleted():
    states = iter([200, 502, 404])
    with serve(lambda *_request: (next(states), {"Content-Type": JSON}, "{}")) as url:
        made = cluster(url)
        made.get("/version")
        made.delete("/api/v1/namespaces/x")
    with serve(lambda *_request: (403, {"Content-Type": JSON}, "{}")) as url, pytest.raises(ApiError, match="403"):
        cluster(url).delete("/api/v1/namespaces/x")


def test_expired_credentials_are_distinguished_from_invalid_ones():
    states = iter([401, 200, 401])
    with serve(lambda *_request: (next(states), {"Content-Type": JSON}, "{}")) as url:
        made = cluster(url)
        errors = []
        for _look in range(3):
            try:
                made.get("/version")
            except ApiError as exc:
                errors.append(str(exc))
    assert "does not accept the credentials (401): the token or certificate is wrong or has expired" in errors[0]
    assert "no longer accepts the credentials (401), which it accepted earlier in this run" in errors[1] and "run the same command again" in errors[1]
    assert not made.clock.sleeps


def test_credentials_never_accepted_are_invalid_though_others_were_accepted(monkeypatch, tmp_path):
    """Several hosts of an inventory, each with an account of its own on one server."""
    monkeypatch.setenv(patience.FOLDER_VARIABLE, str(tmp_path))
    (tmp_path / "one.crt").write_text("one", encoding="utf-8")
    (tmp_path / "of-a-later-process.crt").write_text("one", encoding="utf-8")
    (tmp_path / "other.crt").write_text("other", encoding="utf-8")
    accounts = [
        ({"api_key": {"authorization": "Bearer one"}}, {"api_key": {"authorization": "Bearer one"}}, {"api_key": {"authorization": "Bearer two"}}),
        ({"username": "ada", "password": "one"}, {"username": "ada", "password": "one"}, {"username": "ada", "password": "two"}),
        ({"cert_file": str(tmp_path / "one.crt")}, {"cert_file": str(tmp_path / "of-a-later-process.crt")}, {"cert_file": str(tmp_path / "other.crt")}),
    ]  # fmt: skip
    statuses = []
    with serve(lambda *_request: (statuses.pop(0), {"Content-Type": JSON}, "{}")) as url:
        for first, same, other in accounts:
            statuses += [200, 401, 401, 503, 200]
            cluster(url, **first).get("/version")
            with pytest.raises(ApiError, match="no longer accepts the credentials"):
                cluster(url, **same).get("/version")
            with pytest.raises(ApiError, match="does not accept the credentials"):
                cluster(url, **other).get("/version")
            cluster(url, **other).get("/version")  # the patience is with the server
    assert not statuses


def test_retry_after_reaches_the_pause():
    states = iter([200, 429, 200])
    with serve(lambda *_request: (next(states), {"Content-Type": JSON, "Retry-After": "2"}, "{}")) as url:
        made = types.SimpleNamespace(cluster=cluster(url))
        made.cluster.get("/version")
        made.cluster.request("POST", "/api/v1/namespaces", body={})
    assert made.cluster.clock.sleeps == [2.0]
