# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that change and prove a scheduler, against an API server that rolls one Deployment. On a real cluster: molecule/scorers."""

from __future__ import annotations

import json
import types
import urllib.parse

import kubernetes
import local_servers
import pytest
import yaml
from ansible.module_utils.testing import patch_module_args
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import build
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from ansible_collections.llm_d.inference.plugins.module_utils.schedulers import rollout
from ansible_collections.llm_d.inference.plugins.module_utils.validation import stack
from ansible_collections.llm_d.inference.plugins.modules import scorer_config
from local_servers import serve

local_servers.Handler.do_PATCH = local_servers.Handler._serve

TARGET = {"namespace": "llm-d", "name": "sim-epp"}
REFUSAL = "no kind EndpointPickerConfig is registered for version llm-d.ai/v1alpha1"
JSON = {"Content-Type": "application/json"}


# The release line of the endpoint picker that is changed.
LINE = "scheduler-0.7"


def text_of(preset, release=LINE):
    return build({"preset": preset}, release).text


def printed(document):
    """A configuration as GIE 1.4 prints it."""
    plugins = " ".join(f"{{/{item['type']}}}" for item in document["plugins"])
    profiles = " ".join(
        "{{Name: {}, Plugins: [{}]}}".format(profile["name"], " ".join(
            "{{PluginRef: {}{}}}".format(item["pluginRef"], f", Weight: {item['weight']:f}" if "weight" in item else "") for item in profile["plugins"]))
        for profile in document["schedulingProfiles"]
    )  # fmt: skip
    return f"{{FeatureGates: {{}}, Plugins: [{plugins}], SchedulingProfiles: [{profiles}], Data: <nil>, SaturationDetector: {{}}, FlowControl: <nil>}}"


class Api:
    """An API server with one endpoint picker of scheduler-0.7: each new checksum makes a new pod, which reads the ConfigMap when it starts.

    As a real one it returns the new template at once, and the revision and the status only when the controller has observed it: here at the next request.
    """

    def __init__(self, preset="balanced", **knobs):
        self.config = text_of(preset)
        self.checksum = rollout.checksum(self.config)
        self.knobs = {"stale": False, "deployment": True, "log": True, "refusals": (), "no_way_back": False, **knobs}
        self.revision, self.writes, self.pods, self.looks = 0, [], [], 0
        self.roll()
        self.generation = self.revision

    def roll(self):
        """Roll out the present checksum: with its pod if that still exists, else with a new one."""
        self.revision += 1
        for pod in self.pods:
            if pod["checksum"] == self.checksum:
                pod["revision"] = self.revision
                return
        document = yaml.safe_load(text_of("round_robin") if self.knobs["stale"] and self.pods else self.config)
        fits = document["apiVersion"].startswith("inference.networking.x-k8s.io")
        self.pods.append({"revision": self.revision, "checksum": self.checksum, "document": document, "ready": fits})

    @property
    def newest(self):
        return next(pod for pod in self.pods if pod["revision"] == self.revision)

    def __call__(self, _handler, method, path, body):
        parts = urllib.parse.urlsplit(path)
        if method == "PATCH":
            return self.patch(parts.path, urllib.parse.parse_qs(parts.query), json.loads(body))
        if parts.path == "/api/v1":
            return 200, JSON, json.dumps({"resources": [{"kind": "ConfigMap", "name": "configmaps", "namespaced": True}]})
        if parts.path == "/apis/apps/v1":
            return 200, JSON, json.dumps({"resources": [{"kind": "Deployment", "name": "deployments", "namespaced": True}]})
        if parts.path.endswith("/log"):
            self.looks += 1
            if self.looks <= len(self.knobs["refusals"]):
                code, reason = self.knobs["refusals"][self.looks - 1]
                return code, JSON, json.dumps({"kind": "Status", "reason": reason, "message": "no log", "code": code})
            return 200, {"Content-Type": "text/plain"}, self.log(parts.path.split("/")[-2])
        kind = parts.path.split("/namespaces/llm-d/")[-1]
        content = {"deployments/sim-epp": self.deployment, "configmaps/sim-epp": self.config_map, "pods": self.pod_list, "replicasets": self.sets}.get(kind)
        if content is None or (kind.startswith("deployments") and not self.knobs["deployment"]):
            return 404, JSON, json.dumps({"kind": "Status", "reason": "NotFound", "message": "not found", "code": 404})
        return 200, JSON, json.dumps(content())

    def patch(self, path, query, body):
        assert query["fieldManager"] == ["llm_d.inference.scorer_config"]
        if self.knobs["no_way_back"] and len(self.writes) >= 2:
            return 403, JSON, json.dumps({"kind": "Status", "reason": "Forbidden", "message": "no more", "code": 403})
        self.writes.append(path.split("/")[-2])
        if path.endswith("/configmaps/sim-epp"):
            self.config = body["data"]["config.yaml"]
        else:
            self.checksum = body["spec"]["template"]["metadata"]["annotations"][rollout.CHECKSUM]
            self.generation += 1
        return 200, JSON, json.dumps(body)

    def deployment(self):
        ready = int(self.newest["ready"])
        shown = self.as_observed(ready)
        if self.revision < self.generation:
            self.roll()
        return shown

    def as_observed(self, ready):
        return {
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "sim-epp", "namespace": "llm-d", "uid": "d", "generation": self.generation,
                         "annotations": {"deployment.kubernetes.io/revision": str(self.revision)}},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "epp"}}, "template": {
                "metadata": {"annotations": {rollout.CHECKSUM: self.checksum}}, "spec": {"containers": [{"name": "epp", "args": ["--v=2"]}]}}},
            "status": {"observedGeneration": self.revision, "replicas": 2 - ready, "updatedReplicas": 1, "readyReplicas": ready, "availableReplicas": ready},
        }  # fmt: skip

    def config_map(self):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "sim-epp"}, "data": {"config.yaml": self.config}}

    def sets(self):
        return {"items": [
            {"metadata": {"name": f"rs{pod['revision']}", "uid": f"rs{pod['revision']}",
                          "annotations": {"deployment.kubernetes.io/revision": str(pod["revision"])}}} for pod in self.pods]}  # fmt: skip

    def pod_list(self):
        return {"items": [self.pod(pod) for pod in self.pods]}

    def pod(self, pod):
        container = {"name": "epp", "ready": pod["ready"], "restartCount": 0 if pod["ready"] else 1}
        container["state"] = {"running": {"startedAt": "2026-11-21T09:00:00Z"}} if pod["ready"] else {"terminated": {"exitCode": 1, "reason": "Error"}}
        return {
            "metadata": {"name": f"sim-epp-{pod['checksum'][:5]}", "namespace": "llm-d", "uid": pod["checksum"],
                         "annotations": {rollout.CHECKSUM: pod["checksum"]}, "ownerReferences": [{"uid": f"rs{pod['revision']}"}]},
            "spec": {"containers": [{"name": "epp"}]},
            "status": {"phase": "Running", "containerStatuses": [container],
                       "conditions": [{"type": "Ready", "status": str(pod["ready"]), "lastTransitionTime": "2026-11-21T09:00:00Z"}]},
        }  # fmt: skip

    def log(self, name):
        if not self.knobs["log"]:
            return ""
        pod = next(pod for pod in self.pods if name == f"sim-epp-{pod['checksum'][:5]}")
        lines = [{"msg": "Loaded raw configuration", "config": printed(pod["document"])}]
        lines.append({"msg": rollout.observed.LOADED} if pod["ready"] else {"msg": "Failed to parse configuration", "error": REFUSAL})
        return "".join(json.dumps(line) + "\n" for line in lines)


pytestmark = pytest.mark.usefixtures("clock")


@pytest.fixture(name="run")
def run_module(capsys, monkeypatch):
    """Runs a module; gives its result."""
    monkeypatch.setattr(kubernetes.client.Configuration, "_default", None)

    def run(module, check=False, **options):
        with patch_module_args({**options, "_ansible_check_mode": check, "_ansible_diff": True}), pytest.raises(SystemExit):
            module.main()
        result = json.loads(capsys.readouterr().out)
        assert "Traceback" not in json.dumps(result)
        return result

    return run


@pytest.fixture(name="ask")
def ask_api(run):
    """Runs scorer_config against an API."""

    def ask(api, check=False, **options):
        with serve(api) as url:
            return run(scorer_config, check, host=url, api_key="sk-secret-token-1234567", target=TARGET, timeout=60, **{"release": LINE, **options})

    return ask


def test_without_a_target_it_builds_and_explains(run):
    servers = [{"name": "a", "waiting": 3}, {"name": "b", "waiting": 0}]
    result = run(scorer_config, preset="queue", servers=servers)
    assert not result["changed"] and result["text"] == text_of("queue", "router-0.10") and result["explanation"]["winners"] == ["b"]
    refused = run(scorer_config, scorers={"quue": 1, "prefx": 2}, servers=servers)
    assert refused["failed"] and len(refused["problems"]) == 2 and "Did you mean queue?" in refused["msg"] and "prefx" in refused["msg"]


def test_a_preset_is_written_and_verified_in_the_endpoint_picker_log(ask):
    api = Api("balanced")
    result = ask(api, preset="queue")
    assert result["changed"] and api.config == text_of("queue") and api.writes == ["configmaps", "deployments"]
    assert [pod["by"] for pod in result["pods"]] == ["log"]
    again = ask(api, preset="queue")
    assert not again["changed"] and again["pods"] == result["pods"] and len(api.writes) == 2


def test_check_mode_returns_a_diff_and_writes_nothing(ask):
    api = Api("balanced")
    result = ask(api, check=True, preset="queue")
    assert result["changed"] and not api.writes
    assert result["diff"]["before"] == text_of("balanced") and result["diff"]["after"] == text_of("queue")
    assert not ask(api, check=True, preset="balanced")["changed"]


def test_a_mistake_never_reaches_the_cluster(ask):
    api = Api("balanced")
    assert ask(api, preset="qeue")["failed"] and not api.writes


def test_state_absent_restores_the_default_configuration_of_the_release(ask):
    api = Api("queue")
    assert ask(api, state="absent")["changed"] and api.config == text_of("default")
    assert "leave preset out" in ask(api, state="absent", preset="queue")["msg"]


def test_one_that_it_cannot_run_is_put_back(ask):
    api = Api("balanced")
    result = ask(api, preset="round_robin", release="router-0.10")
    assert result["failed"] and result["rolled_back"] and not result["changed"]
    assert result["culprit"] == REFUSAL and REFUSAL in result["msg"] and "restored and serves" in result["msg"]
    assert api.config == text_of("balanced") and api.checksum == rollout.checksum(api.config)


def test_a_failed_rollback_is_reported_together_with_its_cause(ask):
    result = ask(Api("balanced", no_way_back=True), preset="round_robin", release="router-0.10")
    assert result["failed"] and result["rolled_back"] is False and result["changed"]
    assert REFUSAL in result["msg"] and "could not be restored" in result["msg"] and "no more" in result["msg"]


def test_a_pod_that_read_something_else_is_no_success(ask):
    """A node may still have the previous ConfigMap when the pod starts."""
    api = Api("balanced", stale=True)
    result = ask(api, preset="queue")
    assert result["failed"] and "runs another configuration" in result["msg"] and "random-picker" in result["msg"] and result["rolled_back"]


def test_a_log_that_is_gone_leaves_readiness(ask):
    result = ask(Api("balanced", log=False), preset="queue")
    assert result["changed"] and [pod["by"] for pod in result["pods"]] == ["readiness"]


@pytest.mark.parametrize("refusal", [(500, "InternalError"), (502, "BadGateway"), (404, "NotFound")])
def test_an_endpoint_picker_log_that_is_late_is_awaited(ask, clock, refusal):
    """The kubelet of a node is busy. The pod has been ready for days, so that only a later check shows which configuration it runs."""
    api = Api("balanced", refusals=[refusal] * 5, stale=True)
    result = ask(api, preset="queue")
    assert result["failed"] and "runs another configuration" in result["msg"]
    assert [pod["by"] for pod in ask(Api("balanced", refusals=[refusal] * 5), preset="queue")["pods"]] == ["log"]
    assert clock.sleeps.count(rollout.INTERVAL) >= 10


def test_the_wait_for_an_unreadable_endpoint_picker_log_is_limited(ask, clock):
    result = ask(Api("balanced", refusals=[(500, "InternalError")] * 1000), preset="queue")
    assert [pod["by"] for pod in result["pods"]] == ["readiness"]
    assert rollout.LAG <= sum(clock.sleeps) < rollout.LAG + 5


def test_a_log_that_the_account_may_not_read_is_requested_once(ask):
    api = Api("balanced", refusals=[(403, "Forbidden")] * 1000)
    assert [pod["by"] for pod in ask(api, preset="queue")["pods"]] == ["readiness"] and api.looks == 1


def test_a_missing_deployment_is_reported(ask):
    assert "there is no Deployment llm-d/sim-epp: deploy it first" in ask(Api(deployment=False), preset="queue")["msg"]


def test_a_preset_whose_sidecar_is_missing_is_refused(ask):
    api = Api("balanced")
    result = ask(api, preset="precise_prefix", deployment={"engine": "simulator", "model": "m", "block_size": 16})
    assert result["failed"] and "the sidecar tokenizer" in result["msg"] and "playbooks/scorers.yml" in result["msg"] and not api.writes


@pytest.fixture(name="look")
def look_at_pickers(monkeypatch):
    """Checks the endpoint pickers of an API as the validation does."""
    monkeypatch.setattr(kubernetes.client.Configuration, "_default", None)

    def look(api, config=None, patient=True):
        with serve(api) as url:
            cluster = connect(types.SimpleNamespace(params={"host": url, "api_key": "sk-secret-token-1234567"}))
            return stack.schedulers(cluster, [{**TARGET, "config": config or api.config}], 60, patient)

    return look


def error_of(result):
    (failure,) = result["failures"]
    return failure["error"]


def test_validation_reports_pickers_that_do_not_run_the_planned_configuration(look):
    api = Api("balanced")
    assert look(api, text_of("balanced"))["schedulers"][0]["pods"][0]["by"] == "log"
    assert error_of(look(api, text_of("queue"))).startswith("Deployment llm-d/sim-epp was changed by someone else")
    api.config = text_of("round_robin", "router-0.10")
    api.checksum = rollout.checksum(api.config)
    api.roll()
    assert look(api)["failures"] == [{"name": "sim-epp", "error": f"llm-d/sim-epp: the new endpoint picker does not start: {REFUSAL}"}]
    assert not api.writes


def test_a_verdict_waits_for_no_picker_that_is_not_ready(look, clock):
    api = Api("balanced")
    api.newest["ready"] = False
    api.log = lambda _name: ""
    assert "container epp crashes" in error_of(look(api, patient=False)) and clock.sleeps == []
    assert "container epp crashes" in error_of(look(api)) and sum(clock.sleeps) == 60


def test_an_endpoint_picker_scaled_to_zero_is_reported_at_once(look, clock):
    api = Api("balanced")
    shown = api.as_observed
    api.as_observed = lambda _ready: {**shown(0), "spec": {**shown(0)["spec"], "replicas": 0}, "status": {"observedGeneration": 1}}
    assert "Deployment llm-d/sim-epp is scaled to 0" in error_of(look(api)) and clock.sleeps == []
