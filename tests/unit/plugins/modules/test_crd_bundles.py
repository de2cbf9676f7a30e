# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module as Ansible runs it, where it fails. That it installs is shown on a real cluster, by molecule."""

from __future__ import annotations

import hashlib
import json

import kubernetes
import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.llm_d.inference.plugins.modules import crd_bundles
from local_servers import closed_port, serve

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {name}
spec: {{}}
"""
PROBE = "things.example.com"
BUNDLE = {"name": "things", "version": "1.2.0", "annotation": "example.com/bundle-version", "probe": PROBE}
LIST = {"kind": "PartialObjectMetadataList", "items": []}


@pytest.fixture(name="run")
def run_module(capsys, monkeypatch):
    """Runs the module; gives its result."""
    monkeypatch.setattr(kubernetes.client.Configuration, "_default", None)

    def run(url, check=False, **options):
        arguments = {"host": url, "api_key": "sk-secret-token-1234567", "download_timeout": 60, **options, "_ansible_check_mode": check, "_ansible_diff": True}
        with patch_module_args(arguments), pytest.raises(SystemExit):
            crd_bundles.main()
        result = json.loads(capsys.readouterr().out)
        assert "Traceback" not in json.dumps(result) and "\n" not in result.get("msg", "")
        return result

    return run


@pytest.fixture(name="folder")
def folder_of_definitions(tmp_path):
    (tmp_path / "a.yaml").write_text(CRD.format(name=PROBE) + "---\n" + CRD.format(name="others.example.com"))
    (tmp_path / "readme.txt").write_text("no YAML")
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]")  # as in upstream's trees
    return tmp_path


def bundle(*places, **changes):
    return {**BUNDLE, "sources": [str(place) for place in places], **changes}


class Api:
    """An API server that lists some definitions and answers every PATCH in one way."""

    def __init__(self, items=(), patched=(200, {}), served=(PROBE, "others.example.com")):
        self.items, self.patched, self.served, self.patches = list(items), patched, served, []

    def __call__(self, handler, method, path, body):
        if method == "PATCH":
            self.patches.append((path, handler.headers["Content-Type"], body.decode()))
            return self.patched[0], {}, json.dumps(self.patched[1])
        if path == "/apis/apiextensions.k8s.io/v1/customresourcedefinitions":
            assert "PartialObjectMetadataList" in handler.headers["Accept"]
            return 200, {}, json.dumps({**LIST, "items": self.items})
        if path == "/apis/example.com":
            return 200, {}, json.dumps({"versions": [{"groupVersion": "example.com/v1"}]})
        if path == "/apis/example.com/v1":
            return 200, {}, json.dumps({"resources": [{"name": name.partition(".")[0]} for name in self.served]})
        return 200, {}, json.dumps({"status": {"conditions": [{"type": "NamesAccepted", "status": "False", "message": "the name is taken"}]}})


def installed(name, version):
    return {"metadata": {"name": name, "annotations": {"example.com/bundle-version": version}}}


def denied(status, message):
    return status, {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": status, "message": message}


def test_no_cluster(run, folder):
    url = f"http://127.0.0.1:{closed_port()}"
    assert "connection refused" in run(url, bundles=[bundle(folder)])["msg"]


@pytest.mark.parametrize(
    "status, message", [(401, "does not accept the credentials"), (403, "forbids GET"), (500, "answered 500"), (200, "does not answer like")]
)
def test_a_cluster_that_refuses(run, folder, status, message):
    with serve(lambda *request: (status, {}, "no")) as url:
        assert message in run(url, bundles=[bundle(folder)])["msg"]


@pytest.mark.parametrize(
    "content, message",
    [
        (None, "holds no .yaml file"),
        ("<html>Not found</html>", "this is no Kubernetes YAML"),
        (CRD.format(name="others.example.com"), f"do not have the CRD {PROBE}"),
    ],
)
def test_sources_that_hold_something_else(run, tmp_path, content, message):
    if content:
        (tmp_path / "x.yaml").write_text(content)
    with serve(Api()) as url:
        result = run(url, bundles=[bundle(tmp_path)])
    assert result["failed"] and message in result["msg"] and "things" in result["msg"] and str(tmp_path) in result["msg"]


def test_a_file_that_is_not_there(run):
    with serve(Api()) as url:
        result = run(url, bundles=[bundle("/no/such/file.yaml")])
    assert "/no/such/file.yaml cannot be read" in result["msg"] and "correct the path" in result["msg"]


def plain(url, **more):
    """A source over plain http, which has to be allowed explicitly."""
    return {"url": f"{url}/crds.yaml", "insecure": True, **more}


@pytest.mark.parametrize("status, message", [(404, "404"), (503, "503")])
def test_a_url_that_answers_badly(run, status, message):
    with serve(lambda *request: (status, {}, "no")) as source, serve(Api()) as url:
        result = run(url, bundles=[bundle(sources=[plain(source)])])
    assert message in result["msg"] and source in result["msg"] and "mirror" in result["msg"]


def test_urls_are_secured(run):
    """Plain http, a redirect to it and another content are refused; the intended content is installed. test_download.py has the rest."""
    text = CRD.format(name=PROBE)
    right = hashlib.sha256(text.encode()).hexdigest()
    api = Api()
    with serve(lambda *request: (200, {}, text)) as source, serve(api) as url:
        result = run(url, bundles=[bundle(source + "/crds.yaml")])
        assert "is plain http" in result["msg"] and "insecure: true" in result["msg"] and "bundle things" in result["msg"]
        assert run(url, bundles=[bundle(sources=[plain(source, insecure=False)])])["msg"] == result["msg"]
        mismatch = run(url, bundles=[bundle(sources=[plain(source, sha256="0" * 64)])])
        assert f"its sha256 is {right}, not {'0' * 64}" in mismatch["msg"] and not api.patches
        assert run(url, bundles=[bundle(sources=[plain(source, sha256=right)])])["bundles"][0]["crds"] == [PROBE]


def test_no_sources_means_that_the_cluster_has_them(run):
    with serve(Api()) as url:
        assert "llm_d_crd_sources" in run(url, bundles=[bundle()])["msg"]
    with serve(Api([installed(PROBE, "v1.0.0")])) as url:
        result = run(url, bundles=[bundle()])
    assert result["changed"] is False and result["bundles"][0]["action"] == "keep"


def test_a_refused_definition_is_named(run, folder):
    api = Api(patched=denied(422, "spec.names: Invalid value"))
    with serve(api) as url:
        result = run(url, bundles=[bundle(folder)])
    assert "bundle things, others.example.com: " in result["msg"] and "spec.names: Invalid value" in result["msg"]
    assert not any(PROBE in path for path, _type, _body in api.patches), "the probe comes last, so that an interrupted installation is seen as absent"


def test_definitions_that_the_platform_owns_are_left_alone(run, folder, monkeypatch):
    warnings = []
    monkeypatch.setattr(crd_bundles.AnsibleModule, "warn", lambda module, text: warnings.append(text))
    api = Api([installed(PROBE, "v1.1.0")], denied(403, "Gateway API Custom Resource Definitions are managed by the Ingress Operator"))
    with serve(api) as url:
        result = run(url, bundles=[bundle(folder)])
    assert "failed" not in result and result["changed"] is False and result["bundles"][0]["action"] == "sealed"
    assert "managed by the Ingress Operator" in warnings[0] and "1.1.0" in warnings[0]


def test_a_definition_that_is_never_served(run, folder):
    with serve(Api(served=(PROBE,))) as url:
        result = run(url, bundles=[bundle(folder)], timeout=0)
    assert "does not serve others.example.com (the name is taken)" in result["msg"]


def test_check_mode_reports_the_change_and_applies_nothing(run, folder):
    api = Api()
    with serve(api) as url:
        result = run(url, check=True, bundles=[bundle(folder)])
    assert result["changed"] is True and api.patches == []
    assert result["diff"]["before"] == "things absent\n" and PROBE in result["diff"]["after"] and "spec" not in result["diff"]["after"]


@pytest.mark.parametrize("version, action", [("v1.2.0", "repair"), ("v1.3.0", "keep"), ("v1.1.9", "upgrade")])
def test_the_installed_crd_version_decides_the_action(run, folder, version, action):
    with serve(Api([installed(PROBE, version)])) as url:
        result = run(url, check=True, bundles=[bundle(folder)])
    assert result["bundles"][0]["action"] == action and result["changed"] is (action != "keep")


def test_documents_are_sent_as_text(run, folder):
    api = Api()
    with serve(api) as url:
        result = run(url, bundles=[bundle(folder, annotation=None)])
    assert result["changed"] is True and result["bundles"][0]["crds"] == ["others.example.com", PROBE]
    assert [kind for _path, kind, _body in api.patches] == ["application/apply-patch+yaml"] * 2
    assert all("fieldManager=llm_d.inference" in path and 'llm-d.ai/bundle-version: "1.2.0"' in body for path, _kind, body in api.patches)
