# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A release is read from Helm's records.

A Helm process in progress is waited for; the release of one that was killed is marked as failed, and what Helm wrote in the meantime is never overwritten.
"""

from __future__ import annotations

import base64
import copy
import gzip
import json
import time
import urllib.parse

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import helm_records as records
from ansible_collections.llm_d.inference.plugins.modules import helm_release
from local_servers import serve


def record(version: int, status: str, age: float = 0) -> dict:
    """A Secret as Helm writes it."""
    release = {
        "name": "eg",
        "version": version,
        "info": {"status": status, "description": "Initial install underway"},
        "manifest": "---\n",
        "chart": {"metadata": {"name": "gateway-helm", "version": f"v1.{version}.0"}},
        "config": {"replicas": version},
    }
    packed = base64.b64encode(gzip.compress(json.dumps(release).encode()))
    labels = {"owner": "helm", "name": "eg", "version": str(version), "status": status, "createdAt": str(int(time.time() - age))}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "data": {"release": base64.b64encode(packed).decode()},
        "metadata": {"name": f"sh.helm.release.v1.eg.v{version}", "namespace": "eg", "labels": labels, "resourceVersion": "7"},
    }


class Server:
    """An API server that holds records; `meanwhile` changes them after each read."""

    def __init__(self, *secrets: dict):
        self.records = {item["metadata"]["name"]: item for item in secrets}
        self.meanwhile = lambda: None

    def answer(self, _handler, method, path, body):
        url = urllib.parse.urlsplit(path)
        if method == "GET":
            assert url.query == "labelSelector=owner%3Dhelm%2Cname%3Deg"
            items = copy.deepcopy(list(self.records.values()))
            self.meanwhile()
            return 200, {}, json.dumps({"items": items})
        sent, name = json.loads(body), url.path.rsplit("/", 1)[1]
        if sent["metadata"]["resourceVersion"] != self.records[name]["metadata"]["resourceVersion"]:
            return 409, {}, json.dumps({"kind": "Status", "message": "changed", "reason": "Conflict"})
        self.records[name] = sent
        return 200, {}, json.dumps(sent)


@pytest.fixture(name="settle")
def _settle(call, monkeypatch, tmp_path):
    """Runs the module against a server; gives its result and its progress lines."""
    monkeypatch.setattr(helm_release, "INTERVAL", 0.01)

    def run(server: Server, **more):
        with serve(server.answer) as url:
            result = call(
                helm_release, host=url, api_key="sesame-open", release_name="eg", release_namespace="eg", progress_path=str(tmp_path / "progress"), **more
            )
        return result, (tmp_path / "progress").read_text(encoding="utf-8") if (tmp_path / "progress").exists() else ""

    return run


@pytest.mark.parametrize("status", records.AT_WORK)
def test_a_release_that_a_killed_helm_left_is_marked_as_failed(settle, status):
    server = Server(record(1, "superseded", 900), record(10, status, 400), record(9, "deployed", 800))
    result, _progress = settle(server)
    assert result.get("changed"), result
    assert (result["before"], result["status"]) == (status, "failed")
    last = server.records["sh.helm.release.v1.eg.v10"]
    release = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(last["data"]["release"]))))
    assert last["metadata"]["labels"]["status"] == release["info"]["status"] == "failed"
    assert release["manifest"] == "---\n" and status in release["info"]["description"]
    assert records.status(server.records["sh.helm.release.v1.eg.v9"]) == "deployed"


def test_a_helm_at_work_is_waited_for(settle):
    server, looks = Server(record(1, "pending-install", 5)), []

    def meanwhile():
        looks.append(1)
        if len(looks) == 3:
            server.records = {"sh.helm.release.v1.eg.v1": record(1, "deployed")}

    server.meanwhile = meanwhile
    result, progress = settle(server)
    assert not result["changed"] and (result["before"], result["status"]) == ("pending-install", "deployed")
    assert progress.count("eg/eg is pending-install since") == 1


def test_a_release_that_ends_before_it_is_marked_is_not_overwritten(settle):
    server = Server(record(1, "pending-install", 400))
    done = record(1, "deployed")
    done["metadata"]["resourceVersion"] = "8"
    server.meanwhile = lambda: server.records.update({"sh.helm.release.v1.eg.v1": done})
    result, _progress = settle(server)
    assert not result["changed"] and result["status"] == "deployed" and server.records["sh.helm.release.v1.eg.v1"] == done


@pytest.mark.parametrize(("existing", "status"), [([], "absent"), ([record(1, "deployed")], "deployed"), ([record(1, "failed", 900)], "failed")])
def test_a_release_that_is_absent_deployed_or_failed_stays_unchanged(settle, existing, status):
    result, progress = settle(Server(*existing))
    assert not result["changed"] and result["status"] == result["before"] == status and not progress


def test_the_revision_version_and_values_of_a_release_are_returned(settle):
    result, _progress = settle(Server(record(1, "superseded"), record(2, "deployed")))
    assert (result["revision"], result["version"], result["release_values"]) == (2, "1.2.0", {"replicas": 2})
    result, _progress = settle(Server())
    assert (result["status"], result["revision"], result["version"], result["release_values"]) == ("absent", 0, "", {})


def test_check_mode_reports_a_change_without_marking_the_release(settle):
    server = Server(record(1, "pending-install", 400))
    result, _progress = settle(server, check=True)
    assert result["changed"] and result["status"] == "pending-install" and records.status(server.records["sh.helm.release.v1.eg.v1"]) == "pending-install"


def test_a_record_that_cannot_be_read_is_named(settle):
    broken = record(1, "pending-install", 400)
    broken["data"]["release"] = base64.b64encode(b"no such thing").decode()
    result, _progress = settle(Server(broken))
    assert result["failed"] and "sh.helm.release.v1.eg.v1" in result["msg"] and "delete that Secret" in result["msg"]


def test_the_steps_to_the_wanted_state(settle, tmp_path):
    """The version of a chart in a folder is that of its Chart.yaml, whatever the options say."""
    (tmp_path / "Chart.yaml").write_text("name: gateway-helm\nversion: v1.1.0\n", encoding="utf-8")
    wanted = {"chart_ref": str(tmp_path), "chart_version": "v9.9.9", "release_values": {"replicas": 1}}
    nothing = {"uninstall": False, "install": False, "force": False}
    assert settle(Server(record(1, "deployed")), **wanted)[0]["steps"] == nothing
    assert settle(Server(record(1, "deployed")), **{**wanted, "chart_ref": "oci://registry/gateway-helm"})[0]["steps"] == {**nothing, "install": True}
    assert settle(Server(record(1, "failed", 900)), **wanted)[0]["steps"] == {**nothing, "uninstall": True, "install": True}
    assert settle(Server(), release_state="absent")[0]["steps"] == nothing
    assert settle(Server(record(1, "deployed")), release_state="absent", check=True)[0]["steps"] == {**nothing, "uninstall": True}


def test_a_chart_without_a_version_is_reported_with_its_path(settle, tmp_path):
    (tmp_path / "Chart.yaml").write_text("name: gateway-helm\n", encoding="utf-8")
    result, _progress = settle(Server(record(1, "deployed")), chart_ref=str(tmp_path))
    assert result["failed"] and str(tmp_path) in result["msg"] and "no version" in result["msg"]
