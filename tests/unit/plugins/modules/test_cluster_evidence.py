# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module against an API server and pods behind it, all real HTTP servers of this host: pages that hang, that are too long, that are not there."""

from __future__ import annotations

import time

import pytest
from ansible_collections.llm_d.inference.plugins.modules import cluster_evidence
from engine_servers import TEXT
from local_servers import closed_port, serve
from stack_objects import NAMESPACE, StackServer, healthy

SECRET = "hf_abcdEFGH12345678"
DEPLOYMENTS = [{"api_version": "apps/v1", "kind": "Deployment", "namespace": NAMESPACE, "name": name} for name in ("sim-decode", "sim-epp")]


def long_page(*_request):
    """A page whose limit falls into a secret."""
    lines = [f'vllm:nothing{{number="{number:06d}"}} 1.0\n' for number in range(40_000)]
    before = "".join(lines)[: cluster_evidence.METRICS_SIZE - 10].rpartition("\n")[0] + "\n"
    return 200, {"Content-Type": TEXT}, before.ljust(cluster_evidence.METRICS_SIZE - 6, "#") + SECRET + "\n" + "".join(lines)


def hangs(*_request):
    time.sleep(cluster_evidence.METRICS_SECONDS + 1)
    return 200, {"Content-Type": TEXT}, "too late"


def of_envoy(_handler, _method, path, _body):
    return (200, {"Content-Type": TEXT}, "envoy_server_live 1\n") if path == "/stats/prometheus" else (404, {"Content-Type": "text/plain"}, "")


def neither(*_request):
    return 404, {"Content-Type": "text/html"}, "<html>nothing here</html>"


@pytest.fixture(autouse=True)
def patient(request, monkeypatch):
    """All the time that a busy host needs, except where time is tested."""
    if not request.node.get_closest_marker("timing"):
        monkeypatch.setattr(cluster_evidence, "METRICS_SECONDS", 60.0)


@pytest.fixture(name="kept")
def evidence(call, monkeypatch, tmp_path):
    """Keeps the evidence of a stack whose model servers answer so; gives file names and contents, and the seconds it took."""

    def keep(answer, more=(), mine=(), **options):
        snap = healthy()
        for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
        with serve(answer) as url:
            for pod in snap.of("Pod"):
                if pod["metadata"]["name"].startswith("sim-decode"):
                    pod["metadata"]["annotations"] = {"test/url": url}
            with serve(StackServer(snap, **options)) as api:
                monkeypatch.setenv("K8S_AUTH_HOST", api)
                start = time.monotonic()
                result = call(cluster_evidence, resources=[*DEPLOYMENTS, *more], path=str(tmp_path / "kept"))
                seconds = time.monotonic() - start
        assert result.get("failed") is None and result["changed"] is False
        files = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "kept").iterdir()}
        assert sorted(set(files) - set(mine)) == result["files"]
        return files, seconds

    return keep


def metrics(files):
    return [content for name, content in sorted(files.items()) if name.startswith("pod-llm-d-sim-decode") and name.endswith("-metrics.txt")]


@pytest.mark.timing
def test_a_pod_that_hangs_costs_seconds_and_is_a_line(kept):
    files, seconds = kept(hangs)
    assert seconds < cluster_evidence.METRICS_SECONDS * 2, "the pods are not read at the same time"
    assert len(metrics(files)) == 2 and all("no answer within 3 s" in page and page.count("\n") == 1 for page in metrics(files))


def test_a_page_that_is_too_long_is_cut_between_lines(kept):
    page = metrics(kept(long_page)[0])[0]
    assert len(page) < cluster_evidence.METRICS_SIZE + 200 and "\n# cut: the page has " in page and 'number="000001"' in page
    assert SECRET[:6] not in page


def test_proxy_metrics_are_read_and_missing_metrics_pages_are_recorded(kept):
    lines = metrics(kept(of_envoy)[0])[0].splitlines()
    assert lines[0].endswith(": 404") and "GET /stats/prometheus of Pod llm-d/sim-decode-" in lines[1] and lines[2:] == ["envoy_server_live 1"]
    assert [line.rpartition(": ")[2] for line in metrics(kept(neither)[0])[0].splitlines()] == ["404", "404"]


def test_a_capture_replaces_the_previous_one_and_keeps_foreign_files(kept, tmp_path):
    """No file of an earlier capture, such as that of a deleted pod, remains. Files that the module has not written stay."""
    before, _seconds = kept(neither, more=[{"api_version": "v1", "kind": "Service", "namespace": NAMESPACE, "name": "sim-epp"}])
    gone = {name for name in before if name.startswith("service-llm-d-sim-epp")}
    assert gone and before["files.txt"].splitlines()[0] == "files.txt" and set(before["files.txt"].split()) == set(before)
    (tmp_path / "kept/notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "kept/files.txt").write_text(before["files.txt"] + "../outside.txt\nhalf-written.yml\n", encoding="utf-8")
    (tmp_path / "kept/half-written.yml").write_text("of an interrupted capture", encoding="utf-8")
    after, _seconds = kept(neither, mine={"notes.txt"})
    assert not gone & set(after) and "half-written.yml" not in after and "summary.txt" in after
    assert after["notes.txt"] == "mine" and (tmp_path / "outside.txt").read_text(encoding="utf-8") == "mine"


def test_the_previous_capture_stays_when_the_api_server_is_unreachable(call, kept, monkeypatch, tmp_path):
    before, _seconds = kept(neither)
    monkeypatch.setenv("K8S_AUTH_HOST", f"http://127.0.0.1:{closed_port()}")
    assert call(cluster_evidence, resources=DEPLOYMENTS, path=str(tmp_path / "kept"))["failed"]
    assert {path.name for path in (tmp_path / "kept").iterdir()} == set(before)


def test_lists_of_the_namespace_and_what_may_not_be_read(kept):
    files, _seconds = kept(neither, refuses=("Service",), without=("networking.k8s.io/v1",))
    assert "configmaps-llm-d.yml" in files and "services-llm-d.yml" not in files and "Deployment llm-d/sim-epp: ready" in files["summary.txt"]
    assert files["pod-llm-d-sim-epp-744dfd47c8-4bn0t-metrics.txt"].startswith("# GET /metrics of Pod")


def test_a_kind_that_may_not_be_read_is_a_line_and_the_rest_is_kept(kept):
    files, _seconds = kept(neither, more=[{"api_version": "v1", "kind": "Service", "namespace": NAMESPACE, "name": "sim-epp"}], refuses=("Service",))
    lines = files["summary.txt"].splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Deployment llm-d/sim-decode", "Deployment llm-d/sim-epp", "Service llm-d/sim-epp"]
    assert "(403)" in lines[2] and "does not exist" not in lines[2] and "deployment-llm-d-sim-epp.yml" in files
