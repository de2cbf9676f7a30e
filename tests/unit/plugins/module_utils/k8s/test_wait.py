# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for objects: requests, progress lines, and the report at the end."""

from __future__ import annotations

import datetime
import json
import types
import urllib.parse

import kubernetes
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.objects import Verdict
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import client, patience
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import wait as waiting
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError, ClusterError, CutError, UnreachableError, lasting, may_pass
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.related_objects import Observer, Ref, references, selector_text
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.wait import Progress, Wait, event_lines, report
from fake_clock import FakeClock
from local_servers import closed_port, serve
from recorded import changed, recorded


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    monkeypatch.setattr(kubernetes.client.Configuration, "_default", None)


def cluster(url):
    """A connection whose clock only moves when a wait sleeps."""
    return connect(types.SimpleNamespace(params={"host": url, "api_key": "x-token-12345678"}), FakeClock())


def poll_once(wait):
    """Poll once, as the loop of a wait does; a second later pods are read again."""
    wait.poll()
    wait.observer.cluster.clock.sleep(1)


def slept(wait):
    """The seconds for which a wait has slept, or was read again after its API server was away."""
    return sum(wait.observer.cluster.clock.sleeps)


APPS = {"resources": [{"name": "deployments", "kind": "Deployment", "namespaced": True}, {"name": "replicasets", "kind": "ReplicaSet", "namespaced": True}]}
CORE = {"resources": [{"name": "namespaces", "kind": "Namespace", "namespaced": False}, {"name": "pods", "kind": "Pod", "namespaced": True}]}
DEPLOYMENT = Ref("apps/v1", "Deployment", "objects-try", "crash")


class Api:
    """Answers GETs from a table of path to object, or to a function; 404 for the rest. Counts."""

    def __init__(self, **_none):
        self.table = {"/apis/apps/v1": APPS, "/api/v1": CORE}
        self.requests = []

    def __call__(self, handler, method, path, body):
        path = path.partition("?")[0]
        self.requests.append(path)
        answer = self.table.get(path)
        answer = answer() if callable(answer) else answer
        if isinstance(answer, tuple):
            return answer[0], {}, json.dumps(answer[1])
        if isinstance(answer, str):
            return 200, {}, answer
        return (404, {}, "{}") if answer is None else (200, {}, json.dumps(answer))


def crashing(pod="pod_crash"):
    """An API server with one Deployment whose pod is in trouble."""
    api = Api()
    deployment, trouble = recorded("deployment_crash"), recorded(pod)
    owner = trouble["metadata"]["ownerReferences"][0]
    newest = {"metadata": {"uid": owner["uid"], "annotations": {"deployment.kubernetes.io/revision": "1"}}}
    old = {"metadata": {"uid": "old", "annotations": {"deployment.kubernetes.io/revision": "0"}}}
    stray = changed(recorded("pod_bad_image"), "metadata.ownerReferences.0.uid", "old")
    api.table.update(
        {
            "/apis/apps/v1/namespaces/objects-try/deployments/crash": deployment,
            "/apis/apps/v1/namespaces/objects-try/replicasets": {"items": [old, newest]},
            "/api/v1/namespaces/objects-try/pods": {"items": [stray, trouble]},
            "/api/v1/namespaces/objects-try/events": {"items": []},
            f"/api/v1/namespaces/objects-try/pods/{trouble['metadata']['name']}/log": (
                "INFO begin\nusing HF_TOKEN=hf_abcdefgh12345678\nerror: unknown flag: --nonsense\n"
            ),
        }
    )
    return api


# references


def test_references_of_definitions_and_short_forms():
    long = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "n", "generation": 3}}
    short = {"api_version": "v1", "kind": "Pod", "namespace": "n", "label_selector": {"a": "b", "c": "d"}}
    assert references([long, short]) == [Ref("apps/v1", "Deployment", "n", "a", 3), Ref("v1", "Pod", "n", "", 0, "a=b,c=d")]
    assert str(references([long])[0]) == "Deployment n/a"


def test_all_incomplete_references_are_named():
    with pytest.raises(ClusterError, match=r"resources\[0\] lacks kind, name; resources\[2\] lacks apiVersion"):
        references([{"apiVersion": "v1"}, {"apiVersion": "v1", "kind": "A", "name": "b"}, {"kind": "A", "name": "b"}])


def test_selectors():
    selector = {
        "matchLabels": {"a": "b"},
        "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["d", "e"]},
            {"key": "f", "operator": "DoesNotExist"},
            {"key": "g", "operator": "Exists"},
        ],
    }
    assert selector_text(selector) == "a=b,c in (d,e),!f,g"


def test_one_request_for_all_objects_of_a_kind():
    api = Api()
    items = [{"metadata": {"name": str(index)}} for index in range(50)]
    api.table["/apis/apps/v1/namespaces/n/deployments"] = {"items": items}
    with serve(api) as url:
        names = [*map(str, range(50)), "x"]
        fetched = Observer(cluster(url), [Ref("apps/v1", "Deployment", "n", name) for name in names]).fetch()
    assert len(api.requests) == 2 and sum(len(objects) for objects in fetched.values()) == 50
    assert fetched[Ref("apps/v1", "Deployment", "n", "7")][0]["kind"] == "Deployment" and fetched[Ref("apps/v1", "Deployment", "n", "x")] == []


LWS = "leaderworkerset.sigs.k8s.io"


def group_api():
    """An API server with one LeaderWorkerSet of two groups of two, in the middle of a rollout: the second has new pods. It understands selectors."""

    def labelled(name, revision, **more):
        labels = {f"{LWS}/name": "big-decode", f"{LWS}/template-revision-hash": revision, **more}
        return {"metadata": {"name": name, "namespace": "n", "labels": labels}}

    sets = [labelled("big-decode-0", "old"), labelled("big-decode", "new"), labelled("big-decode-1", "new")]
    pods = [labelled(f"big-decode-{group}{worker}", revision) for group, revision in ((0, "old"), (1, "new")) for worker in ("", "-1")]
    lists = {"/apis/apps/v1/namespaces/n/statefulsets": sets, "/api/v1/namespaces/n/pods": [*pods, {"metadata": {"name": "other", "labels": {}}}]}

    def answer(handler, method, path, body):
        path, _mark, query = path.partition("?")
        if path not in lists:
            return 404, {}, "{}"
        pairs = dict(pair.split("=") for pair in urllib.parse.parse_qs(query)["labelSelector"][0].split(","))
        return 200, {}, json.dumps({"items": [item for item in lists[path] if pairs.items() <= item["metadata"]["labels"].items()]})

    return answer


def test_pods_of_groups_are_leaders_and_workers_of_the_new_revision():
    groups = {"kind": "LeaderWorkerSet", "metadata": {"name": "big-decode", "namespace": "n", "generation": 2}, "status": {"observedGeneration": 2}}
    with serve(group_api()) as url:
        observer = Observer(cluster(url), [])
        assert [pod["metadata"]["name"] for pod in observer.pods(groups)] == ["big-decode-1", "big-decode-1-1"]
        assert observer.pods(changed(groups, "metadata.generation", 3)) == [], "nobody can tell yet which are new"
        assert observer.pods(changed(groups, "metadata.name", "elsewhere")) == []


# waiting


def test_a_policy_of_any_name_without_a_status_is_judged_and_explained_by_its_operators_pods():
    api, kind = Api(), {"resources": [{"name": "clusterpolicies", "kind": "ClusterPolicy", "namespaced": False}]}
    version = "habanalabs.habana.ai/v1"
    items, path = {"items": []}, f"/apis/{version}/clusterpolicies"
    daemon = {"ownerReferences": [{"kind": "DaemonSet", "name": "x"}], "namespace": "habana-ai-operator"}
    plugin = {
        "metadata": {**daemon, "name": "habana-ai-device-plugin-ds-tjbch", "uid": "1"},
        "status": {
            "containerStatuses": [
                {"name": "plugin", "ready": False, "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such host"}}}
            ]
        },
    }
    controller = {"metadata": {"name": "controller-manager-6c8459d9cb-fqs8h", "ownerReferences": [{"kind": "ReplicaSet"}]}, "status": {}}
    api.table.update({f"/apis/{version}": kind, path: items, "/api/v1/namespaces/habana-ai-operator/pods": {"items": [plugin, controller]}})
    refs = references([{"api_version": version, "kind": "ClusterPolicy", "every": True}])
    with serve(api) as url:
        none = Wait(cluster(url), refs)
        assert not none.run(0, 1) and "ClusterPolicy of any name: does not exist" in report(none.explain(), 1, 0, "ready")
        items["items"].append({"metadata": {"name": "gaudi-of-others", "generation": 1}})
        stuck = Wait(cluster(url), refs)
        assert not stuck.run(3, 1)
        message = report(stuck.explain(), 1, 0, "ready")
        assert "ClusterPolicy gaudi-of-others: no status yet, and 1 of 1 pods of the operator are not ready" in message
        assert "pod habana-ai-device-plugin-ds-tjbch" in message and "cannot be pulled" in message and "what to do:" in message, message
        plugin["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
        assert Wait(cluster(url), refs).run(5, 1)


def test_a_hopeless_wait_ends_early_and_reports_cause_and_remedy():
    with serve(crashing()) as url:
        wait = Wait(cluster(url), [DEPLOYMENT])
        # the pod was born while we waited, so its four restarts are ours
        wait._contexts[DEPLOYMENT] = (-9.0, waiting.Context())
        assert wait.run(300, 1) is False and slept(wait) < 10
        (entry,) = wait.explain()
    assert entry["terminal"] and "crashes" in entry["reason"] and "cannot be pulled" not in entry["reason"], "pods of an older revision do not count"
    assert "does not know this argument" in entry["remedy"]
    text = report([entry], 1, 4.2, "ready")
    assert text.startswith("1 of 1 objects is not ready after 4 s, and waiting longer will not help:\n")
    assert "\n- Deployment objects-try/crash: 0/1 ready (container c crashes" in text
    assert "error: unknown flag: --nonsense" in text and "hf_abcdefgh" not in text


class Crashes(Api):
    """An API server whose only pod restarts again and again, each time with the next error; each read of the pod advances one phase of a run.

    The kubelet restarts a container at once after its first end, then after a back-off. errors: of each run, whose last is repeated; `-` ends with 0.
    """

    PHASES = ("running", "terminated", "waiting")

    def __init__(self, errors, born=False):
        super().__init__()
        base = crashing()
        self.table.update(base.table)
        self.errors, self.reads = errors, 0
        self.pod = recorded("pod_crash")
        self.path = "/api/v1/namespaces/objects-try/pods"
        self.table[self.path] = self.show
        self.born = born
        self.logs = []

    def error(self, run):
        return self.errors[min(run, len(self.errors) - 1)]

    def show(self):
        if self.born and self.reads == 0:
            self.reads += 1
            return {"items": []}
        run, phase = divmod(self.reads, len(self.PHASES))
        self.reads += 1
        self.run = run
        state = self.PHASES[phase]

        def ended(number):
            return {"terminated": {"exitCode": 0 if self.error(number) == "-" else 1, "reason": "Error", "containerID": f"c{number}"}}

        last = run if state == "waiting" else run - 1
        entry = {
            "name": "c",
            "ready": False,
            "restartCount": run,
            "state": {"running": {"startedAt": "x"}}
            if state == "running"
            else ended(run)
            if state == "terminated"
            else {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": ended(last) if last >= 0 else {},
        }
        self.ended = last
        return {"items": [changed(self.pod, "status.containerStatuses", [entry])]}

    def __call__(self, handler, method, path, body):
        if not path.partition("?")[0].endswith("/log"):
            return super().__call__(handler, method, path, body)
        query = urllib.parse.parse_qs(path.partition("?")[2])
        run = self.ended if "previous" in query else self.run
        self.logs.append(run)
        if run < 0:
            return 400, {}, "{}"
        lines = [f"INFO run with pid {run + 40}", f"{self.error(run)}"]
        stamp = "2026-11-22T13:%02d:%02d.5Z " if "timestamps" in query else ""
        return 200, {}, "".join((stamp % (run, index) if stamp else "") + line + "\n" for index, line in enumerate(lines))


ODD = "OddError: process {} has no shard"


def wait_for(api, seconds=100):
    with serve(api) as url:
        wait = Wait(cluster(url), [DEPLOYMENT])
        done = wait.run(seconds, 1)
        return done, wait, wait.explain()


@pytest.mark.parametrize("born", [True, False], ids=["a new pod", "a pod that was there"])
def test_a_container_that_ends_twice_with_the_same_error_is_not_waited_for(born):
    api = Crashes([ODD.format(7), ODD.format(812)], born)
    done, wait, (entry,) = wait_for(api)
    assert not done and entry["terminal"] and slept(wait) < 50
    assert "container c ended twice with the same error" in entry["reason"] and "OddError: process 812 has no shard" in entry["reason"]
    assert entry["remedy"] == "correct what this error names; its traceback is in the log"


def after_ends(errors, runs, monkeypatch, crashes=99):
    """The verdict of a wait that gives up for no other reason, once the back-off after this many runs has begun."""
    monkeypatch.setattr(waiting.pod_failures, "CRASHES", crashes)
    api = Crashes(errors, born=True)
    with serve(api) as url:
        wait = Wait(cluster(url), [DEPLOYMENT])
        while api.reads < 3 * runs:
            poll_once(wait)
        return wait.verdicts[DEPLOYMENT], wait


def test_the_wait_fails_at_the_second_identical_container_error_not_the_first(monkeypatch):
    verdict, _wait = after_ends([ODD], 1, monkeypatch)
    assert not verdict.terminal
    verdict, _wait = after_ends([ODD], 2, monkeypatch)
    assert verdict.terminal


@pytest.mark.parametrize(
    "errors",
    [
        ["OddError: one", "OddError: two"] * 9,
        ["ConnectionRefusedError: [Errno 111] Connection refused"],
        ["panic: dial tcp: lookup store.llm-d.svc on 10.96.0.10:53: no such host"],
        ["RuntimeError: Engine core initialization failed. See root cause above."],
        ["INFO nothing is wrong"],
        ["-"],
    ],
    ids=["different", "refused", "dns", "only a wrapper", "nothing said", "exit 0"],
)
def test_transient_or_differing_errors_end_the_wait_only_at_the_crash_limit(errors, monkeypatch):
    verdict, wait = after_ends(errors, 8, monkeypatch)
    assert not verdict.terminal and not wait._again
    verdict, _wait = after_ends(errors, 8, monkeypatch, crashes=4)
    assert verdict.terminal, "four restarts still are the end"


def test_a_command_that_cannot_be_run_is_the_same_error_without_a_log(monkeypatch):
    shown = Crashes.show

    def start_error(api):
        answer = shown(api)
        for entry in answer["items"][:1] if api.reads > 1 else []:
            for state in (entry["status"]["containerStatuses"][0][key] for key in ("state", "lastState")):
                if "terminated" in state:
                    state["terminated"].update(
                        reason="StartError", message='runc create failed: exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown'
                    )
        return answer

    monkeypatch.setattr(Crashes, "show", start_error)
    assert not after_ends([""], 1, monkeypatch)[0].terminal
    verdict, _wait = after_ends([""], 2, monkeypatch)
    assert verdict.terminal and "no such file or directory" in verdict.reason


def test_a_transient_error_before_is_no_first_end(monkeypatch):
    errors = ["ConnectionRefusedError: [Errno 111] Connection refused", "OddError: x", "OddError: x"]
    assert not after_ends(errors, 2, monkeypatch)[0].terminal
    assert after_ends(errors, 3, monkeypatch)[0].terminal


def test_a_container_exit_whose_log_is_read_twice_counts_once(monkeypatch):
    """The kubelet is ahead of the API server: the log of run 2 comes for the end of run 1, too."""
    api = Crashes(["OddError: one", "OddError: x", "OddError: last"], born=True)
    monkeypatch.setattr(waiting.pod_failures, "CRASHES", 99)

    def ahead(self, handler, method, path, body):
        if "/log" in path and self.ended == 0:
            self.ended = 1
        return Crashes.__call__(self, handler, method, path, body)

    api.__class__ = type("Ahead", (Crashes,), {"__call__": ahead})
    with serve(api) as url:
        wait = Wait(cluster(url), [DEPLOYMENT])
        while api.reads < 9:
            poll_once(wait)
    assert api.logs[:2] == [1, 1] and not wait._again


def test_ends_before_the_wait_do_not_count(monkeypatch):
    monkeypatch.setattr(waiting.pod_failures, "CRASHES", 99)
    api = Crashes(["OddError: old", "OddError: x", "OddError: x"])
    api.reads = 2  # the first run has ended
    with serve(api) as url:
        wait = Wait(cluster(url), [DEPLOYMENT])
        poll_once(wait)
        assert wait._ends and all(end.count == 1 and not end.error for end in wait._ends.values())
        api.errors = ["OddError: x"]
        while api.reads <= 6:
            poll_once(wait)
        assert not wait._again, "the first end during the wait has the same error as the one before it"
        while api.reads <= 9:
            poll_once(wait)
        assert wait._again


def test_without_fail_fast_the_time_is_used():
    with serve(crashing("pod_nosecret")) as url:
        wait = Wait(cluster(url), [DEPLOYMENT])
        assert wait.run(30, 1, fail_fast=False) is False and slept(wait) == 30


def test_the_wait_ends_when_all_objects_are_ready():
    api = Api()
    states = iter([{}, {"phase": "Pending"}])
    api.table["/api/v1/namespaces/llm-d"] = lambda: changed(recorded("namespace"), "status", next(states, {"phase": "Active"}))
    with serve(api) as url:
        wait = Wait(cluster(url), [Ref("v1", "Namespace", "", "llm-d")])
        assert wait.run(10, 1) is True and wait.explain() == []


def test_an_inferencepool_is_ready_only_when_its_own_gateway_reports_on_it():
    api, path = Api(), "/apis/inference.networking.k8s.io/v1"
    pool, good = recorded("inferencepool"), [{"type": name, "status": "True", "observedGeneration": 1} for name in ("Accepted", "ResolvedRefs")]
    api.table[path] = {"resources": [{"name": "inferencepools", "kind": "InferencePool", "namespaced": True}]}
    api.table[f"{path}/namespaces/llm-d/inferencepools/sim"] = lambda: pool
    refs = references([{"api_version": path.removeprefix("/apis/"), "kind": "InferencePool", "namespace": "llm-d", "name": "sim", "parent": "llm-d/ours"}])
    with serve(api) as url:
        for others in ([], [{"parentRef": {"kind": "Gateway", "namespace": "llm-d", "name": "another"}, "conditions": good}]):
            pool["status"] = {"parents": others}
            wait = Wait(cluster(url), refs)
            assert wait.run(0, 1) is False and wait.explain()[0]["reason"] == "Gateway llm-d/ours does not report on it"
        pool["status"]["parents"].append({"parentRef": {"kind": "Gateway", "namespace": "llm-d", "name": "ours"}, "conditions": good})
        assert Wait(cluster(url), refs).run(5, 1) is True


def test_a_newer_generation_is_waited_for():
    api = Api()
    api.table["/apis/apps/v1/namespaces/n/deployments/sim-decode"] = recorded("deployment")
    with serve(api) as url:
        wait = Wait(cluster(url), [Ref("apps/v1", "Deployment", "n", "sim-decode", generation=2)])
        assert wait.run(2, 1) is False and wait.explain()[0]["reason"] == "generation 1 observed, 2 wanted"


def test_an_unknown_kind_and_an_absent_object():
    with serve(Api()) as url:
        wait = Wait(cluster(url), [Ref("g.io/v1", "Foo", "n", "x"), Ref("v1", "Pod", "n", "y"), Ref("v1", "Pod", "n", "", labels="a=b")])
        assert wait.run(0, 1) is False
        assert [(entry["name"], entry["reason"]) for entry in wait.explain()] == [("x", "the API server knows no Foo in g.io/v1"), ("y", "does not exist")]


def test_waiting_for_absence():
    api = Api()
    leaving = {**recorded("namespace")["metadata"], "deletionTimestamp": "2026-11-21T09:00:00Z"}
    states = iter([recorded("namespace"), changed(recorded("namespace"), "metadata", leaving)])
    api.table["/api/v1/namespaces/llm-d"] = lambda: next(states, None)
    with serve(api) as url:
        wait = Wait(cluster(url), [Ref("v1", "Namespace", "", "llm-d"), Ref("g.io/v1", "Foo", "n", "x")], state="absent")
        assert wait.run(0, 1) is False and wait.explain()[0]["reason"] == "still there and not being deleted"
        assert wait.run(5, 1) is True


@pytest.mark.parametrize("first", [[changed(recorded("namespace"), "status", {})], []])
def test_the_wait_survives_server_errors_even_on_its_first_request(first):
    api = Api()
    states = iter([*first, (500, {}), (503, {})])
    api.table["/api/v1/namespaces/llm-d"] = lambda: next(states, recorded("namespace"))
    with serve(api) as url:
        assert Wait(cluster(url), [Ref("v1", "Namespace", "", "llm-d")]).run(10, 1) is True


@pytest.mark.parametrize("states", [[(500, {})], [(403, {})], [changed(recorded("namespace"), "status", {}), (401, {})]])
def test_a_refused_request_ends_the_wait_even_after_a_server_error(states):
    api = Api()
    answers = iter(states)
    api.table["/api/v1/namespaces/llm-d"] = lambda: next(answers, (403, {}))
    with serve(api) as url, pytest.raises(ApiError):
        Wait(cluster(url), [Ref("v1", "Namespace", "", "llm-d")]).run(10, 1)


@pytest.mark.parametrize(("timeout", "seconds"), [(300, patience.WAITING_PATIENCE), (20, 20)])
def test_the_wait_for_an_unavailable_api_server_ends_at_its_limit(timeout, seconds):
    api = Api()
    api.table["/api/v1/namespaces/llm-d"] = lambda: (503, {})
    with serve(api) as url:
        wait = Wait(cluster(url), [Ref("v1", "Namespace", "", "llm-d")])
        with pytest.raises(ApiError, match="503"):
            wait.run(timeout, 1)
    assert slept(wait) == seconds


def test_an_unreachable_api_server_fails_at_once_unless_it_answered_before():
    refused = UnreachableError("connection refused")
    assert (may_pass(refused, False), may_pass(refused, True), may_pass(CutError("cut"), False)) == (False, True, True)
    results = {status: (may_pass(ApiError("", status, "", ""), False), lasting(ApiError("", status, "", ""))) for status in (400, 401, 403, 404, 429, 500, 503)}
    assert results == {
        400: (False, True), 401: (False, True), 403: (False, True), 404: (False, False), 429: (True, False), 500: (True, False), 503: (True, False),
    }  # fmt: skip
    wait = Wait(cluster(f"http://127.0.0.1:{closed_port()}"), [Ref("v1", "Namespace", "", "llm-d")])
    with pytest.raises(ClusterError, match="connection refused"):
        wait.run(60, 1)
    assert slept(wait) == 0


# a wait that is not patient: for a verdict

NOW = 1_800_000_000.0
GATEWAYS = "/apis/gateway.networking.k8s.io/v1"


def ago(seconds):
    """A timestamp of the API, this many seconds before the wait begins."""
    return datetime.datetime.fromtimestamp(NOW - seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def server_clock(monkeypatch):
    """The API server's clock runs with the clock of the wait; the clock of this host differs."""
    monkeypatch.setattr(client.Cluster, "server_time", lambda self: NOW + self.clock.now() - 1000)


def verdict(api, *refs, seconds=300, patient=False):
    """(whether all are ready, seconds slept, report) of one wait that polls twice a second."""
    with serve(api) as url:
        wait = Wait(cluster(url), list(refs) or [DEPLOYMENT], patient=patient)
        done = wait.run(seconds, 0.5)
        return done, slept(wait), report(wait.explain(), len(refs) or 1, slept(wait), "ready")


def pod_of(api):
    return api.table["/api/v1/namespaces/objects-try/pods"]["items"][1]


def in_state(state, restarts=0, born=0.0, events=()):
    """An API server with one Deployment, whose pod was scheduled `born` seconds before the wait and whose container is in this state."""
    api = crashing()
    pod = pod_of(api)
    pod["status"]["containerStatuses"][0].update(state=state, restartCount=restarts)
    for entry in pod["status"]["conditions"]:
        entry["lastTransitionTime"] = ago(born)
    api.table["/api/v1/namespaces/objects-try/events"] = {"items": [{**each, "involvedObject": {"uid": pod["metadata"]["uid"]}} for each in events]}
    return api


def test_an_absent_object_is_waited_for_only_after_a_change():
    route = Ref("gateway.networking.k8s.io/v1", "HTTPRoute", "llm-d", "sim")
    done, waited, message = verdict(Api(), Ref("v1", "Pod", "n", "y"), route)
    assert not done and waited == 0 and "Pod n/y: does not exist" in message and "knows no HTTPRoute" in message
    assert verdict(Api(), Ref("v1", "Pod", "n", "y"), seconds=60, patient=True)[:2] == (False, 60), "where something was changed, it may come"


@pytest.mark.usefixtures("server_clock")
@pytest.mark.parametrize(
    ("state", "seconds", "words"),
    [
        ({"waiting": {"reason": "ErrImagePull", "message": "x: not found"}}, 3, "cannot be pulled"),
        ({"waiting": {"reason": "ErrImagePull", "message": "dial tcp 10.0.0.1:443: connect: connection refused"}}, 10, "connection refused"),
        ({"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "a" not found'}}, 3, "secret a, which does not exist"),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, 3, "unknown flag: --nonsense"),
    ],
)
def test_a_pod_that_cannot_run_ends_the_wait_within_seconds(state, seconds, words):
    done, waited, message = verdict(in_state(state, restarts=1))
    assert (done, waited) == (False, seconds) and words in message and "waiting longer will not help" in message, message


@pytest.mark.usefixtures("server_clock")
@pytest.mark.parametrize(("first", "seconds"), [(0, 10), (5, 5), (600, 3)])
def test_a_registry_has_ten_seconds_from_its_first_failure(first, seconds):
    why = "dial tcp 10.0.0.1:443: connect: connection refused"
    image = pod_of(crashing())["status"]["containerStatuses"][0]["image"]
    failed = {"reason": "Failed", "message": f'Failed to pull image "{image}": {why}', "firstTimestamp": ago(first), "lastTimestamp": ago(0)}
    _done, waited, message = verdict(in_state({"waiting": {"reason": "ErrImagePull", "message": why}}, events=[failed]))
    assert waited == seconds and "the node cannot reach the registry" in message


@pytest.mark.usefixtures("server_clock")
@pytest.mark.parametrize(("born", "seconds"), [(0, 6), (2, 4), (600, 3)])
def test_an_unschedulable_pod_ends_the_wait_within_six_seconds(born, seconds):
    api = in_state({})
    unsched = recorded("pod_unsched")["status"]
    unsched["conditions"][0]["lastTransitionTime"] = ago(born)
    pod_of(api)["status"] = unsched
    _done, waited, message = verdict(api)
    assert waited == seconds and "nvidia.com/gpu" in message
    up = {"reason": "TriggeredScaleUp", "message": "1->2", "lastTimestamp": ago(born), "involvedObject": {"uid": pod_of(api)["metadata"]["uid"]}}
    api.table["/api/v1/namespaces/objects-try/events"] = {"items": [up]}
    assert verdict(api, seconds=60)[:2] == (False, 60), "nodes are coming"


@pytest.mark.usefixtures("server_clock")
def test_a_scale_up_by_the_node_autoscaler_is_reported_and_waited_for():
    api = in_state({})
    pod_of(api)["status"] = recorded("pod_unsched")["status"]
    pod_of(api)["status"]["conditions"][0]["lastTransitionTime"] = ago(0)
    about = {"lastTimestamp": ago(0), "involvedObject": {"uid": pod_of(api)["metadata"]["uid"]}}
    api.table["/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"] = {"kind": "ConfigMap"}
    assert verdict(api)[1] > 50, "it has not reported yet"
    up = {"reason": "TriggeredScaleUp", "type": "Normal", "message": "pod triggered scale-up: gpu 0->1", **about}
    api.table["/api/v1/namespaces/objects-try/events"] = {"items": [up]}
    _done, waited, message = verdict(api, seconds=30, patient=True)
    assert waited == 30 and "the node autoscaler reports TriggeredScaleUp: pod triggered scale-up: gpu 0->1" in message, message
    assert "event TriggeredScaleUp: pod triggered scale-up: gpu 0->1" in message, message


@pytest.mark.usefixtures("server_clock")
def test_a_rollout_that_is_under_way_is_waited_for():
    api = in_state({"running": {"startedAt": ago(600)}})
    api.table[f"/api/v1/namespaces/objects-try/pods/{pod_of(api)['metadata']['name']}/log"] = "INFO loading weights\n"
    assert verdict(api, seconds=60)[:2] == (False, 60)
    ready = changed(recorded("deployment"), "metadata.name", "crash")
    looks = iter([api.table["/apis/apps/v1/namespaces/objects-try/deployments/crash"]] * 80)
    api.table["/apis/apps/v1/namespaces/objects-try/deployments/crash"] = lambda: next(looks, ready)
    assert verdict(api)[:2] == (True, 40)


class BacksOff(Crashes):
    """The kubelet lets ten seconds pass before it restarts the container."""

    PHASES = ("running", "terminated", *("waiting",) * 10)


@pytest.mark.usefixtures("server_clock")
def test_a_crash_loop_ends_it_at_the_end_that_proves_it():
    erring, silent = BacksOff([ODD], born=True), BacksOff(["INFO leaving"], born=True)
    done, _waited, message = verdict(erring)
    assert not done and erring.run == 1 and "(1 restarts): OddError: process {} has no shard)" in message, message
    done, _waited, message = verdict(silent)
    assert not done and silent.run == 2 and "crashes (exit code 1, 2 restarts)" in message


@pytest.mark.usefixtures("server_clock")
def test_a_logged_permission_error_ends_the_wait_after_six_seconds():
    api = in_state({"running": {"startedAt": ago(0)}})
    path = f"/api/v1/namespaces/objects-try/pods/{pod_of(api)['metadata']['name']}/log"
    line = 'failed to list *v1.Pod: pods is forbidden: User "system:serviceaccount:llm-d:sim-epp" cannot list resource "pods"\n'
    api.table[path] = line * 3
    _done, waited, message = verdict(api)
    assert waited == 6 and "pods is forbidden" in message and "give its service account" in message
    assert api.requests.count(path) <= 4, "the log of a program that runs is not read at every look"


@pytest.mark.usefixtures("server_clock")
def test_a_route_and_a_gateway_name_what_they_lack():
    api, names = Api(), [("gateways", "Gateway", True), ("httproutes", "HTTPRoute", True), ("gatewayclasses", "GatewayClass", False)]
    api.table[GATEWAYS] = {"resources": [{"name": name, "kind": kind, "namespaced": spaced} for name, kind, spaced in names]}
    gateway, route = changed(recorded("gateway"), "metadata.generation", 2), changed(recorded("httproute"), "status.parents", [])
    gateway["metadata"]["creationTimestamp"] = route["metadata"]["creationTimestamp"] = ago(0)
    gateway["spec"]["gatewayClassName"], route["spec"]["parentRefs"][0]["name"] = "nothing", "another"
    api.table[f"{GATEWAYS}/namespaces/llm-d/gateways/llm-d-gateway"] = gateway
    api.table[f"{GATEWAYS}/namespaces/llm-d/httproutes/sim"] = route
    version = GATEWAYS.removeprefix("/apis/")
    _done, waited, message = verdict(api, Ref(version, "Gateway", "llm-d", "llm-d-gateway"), Ref(version, "HTTPRoute", "llm-d", "sim"))
    assert waited == 3 and "GatewayClass nothing does not exist" in message and "Gateway llm-d/another does not exist" in message
    api.table[f"{GATEWAYS}/gatewayclasses/nothing"] = (403, {"message": "no"})
    _done, waited, message = verdict(api, Ref(version, "Gateway", "llm-d", "llm-d-gateway"))
    assert waited == 30 and "is reported for generation 1" in message, "what may not be read counts as there, and its controller has half a minute"


@pytest.mark.usefixtures("server_clock")
def test_the_time_of_a_change_is_read_from_managed_fields():
    api, kind = Api(), {"resources": [{"name": "gateways", "kind": "Gateway", "namespaced": True}]}
    gateway = changed(recorded("gateway"), "metadata.generation", 2)
    gateway["metadata"].update(creationTimestamp=ago(3600), managedFields=[{"time": ago(10)}])
    api.table.update({GATEWAYS: kind, f"{GATEWAYS}/namespaces/llm-d/gateways/llm-d-gateway": gateway})
    assert verdict(api, Ref(GATEWAYS.removeprefix("/apis/"), "Gateway", "llm-d", "llm-d-gateway"))[1] == 20


@pytest.mark.usefixtures("server_clock")
def test_a_single_failing_pod_is_detected_among_many_starting_pods():
    api = in_state({"waiting": {"reason": "CrashLoopBackOff"}}, restarts=1)
    items = api.table["/api/v1/namespaces/objects-try/pods"]["items"]
    starting = changed(items[1], "status.containerStatuses.0.state", {"waiting": {"reason": "ContainerCreating"}})
    items[1:1] = [changed(changed(starting, "metadata.uid", str(number)), "status.containerStatuses.0.restartCount", 0) for number in range(7)]
    _done, waited, message = verdict(api)
    assert waited == 3 and "unknown flag: --nonsense" in message


def failed_pod(pod, reason, born):
    """A pod that has ended for good, as the one of a node that was shut down; its controller leaves it there."""
    gone = changed(changed(pod, "metadata.uid", "gone"), "status", {"phase": "Failed", "reason": reason, "message": "said by the kubelet"})
    gone["metadata"].update(name="gone", creationTimestamp=ago(born))
    return gone


@pytest.mark.usefixtures("server_clock")
@pytest.mark.parametrize("reason", ["Terminated", "NodeShutdown", "OutOfcpu", "UnexpectedAdmissionError"])
@pytest.mark.parametrize("patient", [True, False])
def test_a_failed_pod_with_a_replacement_does_not_end_the_wait(reason, patient):
    api = in_state({"running": {"startedAt": ago(60)}})
    pod_of(api)["metadata"]["creationTimestamp"] = pod_of(api)["status"]["startTime"] = ago(60)
    api.table["/api/v1/namespaces/objects-try/pods"]["items"].insert(1, failed_pod(pod_of(api), reason, 900))
    done, waited, message = verdict(api, seconds=20, patient=patient)
    assert waited == 20 and "failed:" not in message and "refused" not in message, "the new one loads its model"
    items = api.table["/api/v1/namespaces/objects-try/pods"]["items"]
    items[:] = [items[0], failed_pod(items[2], reason, 5), items[2]]
    done, waited, message = verdict(api, seconds=20, patient=patient)
    assert waited == 3 and "said by the kubelet" in message, "the newest one has failed"


@pytest.mark.usefixtures("server_clock")
@pytest.mark.parametrize("patient", [True, False])
def test_a_failed_job_pod_ends_the_wait_only_at_the_backoff_limit(patient):
    api, path = Api(), "/api/v1/namespaces/n/pods"
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"uid": "j", "name": "stage", "namespace": "n"}, "status": {"failed": 1}}
    job["spec"] = {"backoffLimit": 6, "selector": {"matchLabels": {"job-name": "stage"}}}
    api.table["/apis/batch/v1"] = {"resources": [{"name": "jobs", "kind": "Job", "namespaced": True}]}
    api.table["/apis/batch/v1/namespaces/n/jobs/stage"] = job
    ended = {"name": "c", "restartCount": 0, "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
    pod = {"metadata": {"uid": "p", "name": "stage-1", "namespace": "n", "ownerReferences": [{"kind": "Job", "uid": "j"}]}}
    api.table[path] = {"items": [{**pod, "status": {"phase": "Failed", "containerStatuses": [ended]}}]}
    assert verdict(api, Ref("batch/v1", "Job", "n", "stage"), seconds=20, patient=patient)[1] == 20
    job["status"] = {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}
    assert verdict(api, Ref("batch/v1", "Job", "n", "stage"), seconds=20, patient=patient)[1] == 3


QUOTA = 'pods "crash-2" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=8, limited: 8'


@pytest.mark.usefixtures("server_clock")
@pytest.mark.parametrize("patient", [True, False])
def test_a_quota_that_pods_that_leave_still_use_up(patient):
    api = in_state({"running": {"startedAt": ago(60)}})
    deployment, items = api.table["/apis/apps/v1/namespaces/objects-try/deployments/crash"], api.table["/api/v1/namespaces/objects-try/pods"]["items"]
    deployment["status"].setdefault("conditions", []).append({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": QUOTA})
    items[:] = [changed(items[0], "metadata.deletionTimestamp", ago(20))]
    done, waited, message = verdict(api, seconds=20, patient=patient)
    assert waited == 20 and "quota" in message
    del items[0]["metadata"]["deletionTimestamp"]
    assert verdict(api, seconds=20, patient=patient)[1] == 3


# failures from before the wait

EVENTS = "/api/v1/namespaces/objects-try/events"
NOT_FOUND = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "x": ErrImagePull: x: not found'}
NO_SECRET = {"reason": "CreateContainerConfigError", "message": 'secret "hf" not found'}


def refused_creation():
    api = Api()
    deployment = recorded("deployment_crash")
    deployment["status"]["conditions"].append({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": QUOTA})
    api.table["/apis/apps/v1/namespaces/objects-try/deployments/crash"] = deployment
    return api, {"reason": "FailedCreate", "involvedObject": {"name": "crash-6f7c9"}}


def backing_off(state):
    api = in_state({"waiting": state})
    return api, {"reason": "Pulling", "involvedObject": {"uid": pod_of(api)["metadata"]["uid"]}}


@pytest.mark.parametrize(
    ("made", "longest"),
    [(refused_creation, 313), (lambda: backing_off(NOT_FOUND), 313), (lambda: backing_off(NO_SECRET), 33)],
    ids=["creation", "pull", "secret"],
)
def test_a_failure_older_than_the_wait_ends_it_once_retried_or_overdue(made, longest):
    api, event = made()
    counts = [1] * 8
    api.table[EVENTS] = lambda: {"items": [{**event, "metadata": {"uid": "e"}, "count": counts.pop() if counts else 2}]}
    done, waited, message = verdict(api, seconds=400, patient=True)
    assert not done and 10 > waited > 3 and "waiting longer will not help" in message and "not tried again" not in message
    api.table[EVENTS] = {"items": [{**event, "metadata": {"uid": "e"}, "count": 1}]}
    assert verdict(api, seconds=400, patient=True)[1] == longest
    done, waited, message = verdict(api, seconds=20, patient=True)
    assert waited == 20 and ", not tried again yet" in message and "waiting longer" not in message
    assert verdict(api, seconds=20)[1] == 3, "a wait for a verdict says what is"


def test_a_failure_that_begins_during_the_wait_ends_it():
    api = in_state({"running": {"startedAt": ago(0)}})
    calm, failed = pod_of(api), json.loads(json.dumps(pod_of(api)))
    failed["status"]["containerStatuses"][0]["state"] = {"waiting": NOT_FOUND}
    looks = iter([calm] * 3)
    path = "/api/v1/namespaces/objects-try/pods"
    stray = api.table[path]["items"][0]
    api.table[path] = lambda: {"items": [stray, next(looks, failed)]}
    assert verdict(api, seconds=60, patient=True)[1] < 10


def test_an_observed_image_pull_failure_counts_as_a_new_try():
    api = in_state({"waiting": NOT_FOUND})
    fresh = json.loads(json.dumps(pod_of(api)))
    fresh["status"]["containerStatuses"][0]["state"] = {"waiting": {"reason": "ErrImagePull", "message": "x: not found"}}
    path = "/api/v1/namespaces/objects-try/pods"
    stray, old = api.table[path]["items"]
    looks = iter([old] * 5 + [fresh])
    api.table[path] = lambda: {"items": [stray, next(looks, old)]}
    assert 4 <= verdict(api, seconds=60, patient=True)[1] < 12


@pytest.mark.usefixtures("server_clock")
def test_devices_that_pods_that_leave_still_hold():
    api = in_state({"waiting": {"reason": "ContainerCreating"}}, born=60)
    items, pod = api.table["/api/v1/namespaces/objects-try/pods"]["items"], pod_of(api)
    pod["spec"].pop("nodeName", None)
    pod["status"] = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": ago(60)}]}
    pod["status"]["conditions"][0]["message"] = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    assert verdict(api, seconds=20)[1] == 3
    items[0]["metadata"]["deletionTimestamp"] = ago(20)
    assert verdict(api, seconds=20)[1] == 20
    pod["status"]["conditions"][0]["message"] = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
    assert verdict(api, seconds=20)[1] == 3


@pytest.mark.usefixtures("server_clock")
def test_claims_are_read_for_a_pod_without_a_condition():
    api = in_state({"waiting": {"reason": "ContainerCreating"}})
    pod = pod_of(api)
    pod["spec"].pop("nodeName", None)
    pod["spec"]["volumes"] = [{"persistentVolumeClaim": {"claimName": "weights"}}]
    pod["status"] = {"phase": "Pending"}
    pod["metadata"]["creationTimestamp"] = ago(60)
    weights = {"metadata": {"uid": "w", "name": "weights", "namespace": "objects-try"}, "status": {"phase": "Pending"}}
    api.table["/api/v1/namespaces/objects-try/persistentvolumeclaims/weights"] = weights
    api.table["/api/v1/namespaces/objects-try/events"] = {"items": [{"reason": "Provisioning", "firstTimestamp": ago(50), "lastTimestamp": ago(50)}]}
    assert verdict(api, seconds=30)[1] == 30
    api.table["/api/v1/namespaces/objects-try/events"] = {"items": []}
    assert verdict(api, seconds=30)[1] == 3


@pytest.mark.usefixtures("server_clock")
def test_an_account_that_may_read_the_objects_only():
    api = in_state({"waiting": {"reason": "ErrImagePull", "message": "x: not found"}})
    for path in ("pods", "events"):
        api.table[f"/api/v1/namespaces/objects-try/{path}"] = (403, {"message": "no"})
    assert verdict(api, seconds=20)[:2] == (False, 20)


@pytest.mark.parametrize(("replicas", "ready"), [(0, False), (3, False), (4, True), (5, True)])
def test_a_workload_that_was_scaled_away_is_not_ready(replicas, ready):
    api = Api()
    deployment = changed(recorded("deployment"), "spec.replicas", replicas)
    deployment["status"].update(dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas))
    api.table["/apis/apps/v1/namespaces/llm-d/deployments/sim-decode"] = deployment
    (ref,) = references([{"api_version": "apps/v1", "kind": "Deployment", "namespace": "llm-d", "name": "sim-decode", "least": 4}])
    done, waited, message = verdict(api, ref, patient=True)
    assert done is ready and waited <= 3 and (ready or f"spec.replicas is {replicas}, 4 planned" in message)


# progress and reports


def test_progress_is_reported_on_changes_and_every_ten_seconds(tmp_path):
    file = tmp_path / "progress"
    progress = Progress(str(file))
    one, two = "Pod n/one", "Pod n/two"
    for elapsed, waited in ((0, [one, two]), (0.5, [one, two]), (3, [two]), (4, [two]), (12.9, [two]), (13, [two])):
        progress.report(elapsed, dict.fromkeys(waited, "starting"))
    assert file.read_text().splitlines() == [
        "waiting 0 s: Pod n/one starting; Pod n/two starting",
        "ready: Pod n/one; waiting 3 s: Pod n/two starting",
        "waiting 13 s: Pod n/two starting",
    ]


def test_many_objects_make_a_short_line(tmp_path):
    Progress(str(tmp_path / "p")).report(0, {str(index): "starting" for index in range(9)})
    assert (tmp_path / "p").read_text().endswith("; and 6 more\n")


def test_progress_that_cannot_be_written_is_silent(tmp_path):
    Progress(str(tmp_path / "no" / "such" / "folder")).report(0, {DEPLOYMENT: Verdict(False, "x")})
    Progress("").report(0, {DEPLOYMENT: Verdict(False, "x")})


def test_each_event_is_reported_only_once():
    events = recorded("events_bad_image")
    lines = event_lines(events, "pod x", [])
    assert 0 < len(lines) <= 3 and all(line.startswith("pod x, event ") for line in lines)
    messages = [line.partition(": ")[2] for line in lines]
    assert event_lines(events, "pod x", messages) == []


def test_a_report_of_absence():
    entry = {"kind": "Namespace", "name": "a", "namespace": "", "reason": "being deleted", "remedy": "", "terminal": False, "details": []}
    assert report([entry, entry], 3, 60, "absent").splitlines()[0] == "2 of 3 objects are not gone after 60 s:"
