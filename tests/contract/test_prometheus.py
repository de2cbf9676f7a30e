"""The claims about alerts and dashboards against a real Prometheus that scrapes real simulators, and an exporter with the series of an endpoint picker.

The programs are those of the local cluster's cache (local_cluster_extras: [monitoring]), or of the folder LLM_D_BINARIES.
"""

from __future__ import annotations

import contextlib
import copy
import http.server
import os
import socket
import subprocess
import threading
import time
import typing as t
import urllib.request
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.http.transport import UrlTransport
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.validation import verdict
from ansible_collections.llm_d.inference.plugins.module_utils.validation.monitoring_claims import MonitoringCheck

from .test_health_simulator import simulator

Facts = dict[str, t.Any]
BINARIES = Path(os.environ.get("LLM_D_BINARIES", "/var/cache/llm-d-local/bin"))
missing = [name for name in ("prometheus", "llm-d-inference-sim") if not (BINARIES / name).is_file()]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"no {' and no '.join(missing)}: local_cluster_extras: [monitoring] builds them, or set LLM_D_BINARIES")
PODS, PICKER = ("sim-decode-6d9f8b7c5d-abcde", "sim-decode-6d9f8b7c5d-fghij"), "sim-epp-5c9f8b7c5d-klmno"
# As the endpoint picker of scheduler-0.7 exports it; requests have failed by mistakes of clients only.
PAGE = """\
inference_pool_ready_pods{name="sim"} 2
inference_pool_average_queue_size{name="sim"} 0
inference_pool_average_kv_cache_utilization{name="sim"} 0.1
inference_objective_request_total{model_name="m",target_model_name="m"} 7
inference_objective_request_error_total{model_name="m",target_model_name="m",error_code="BadRequest"} 3
inference_objective_request_duration_seconds_bucket{model_name="m",target_model_name="m",le="+Inf"} 7
inference_extension_scheduler_e2e_duration_seconds_bucket{le="+Inf"} 7
inference_extension_scheduler_attempts_total{status="success"} 7
inference_extension_plugin_duration_seconds_count{extension_point="Scorer",plugin_type="queue-scorer",plugin_name="queue-scorer"} 7
inference_extension_prefix_indexer_hit_ratio_sum 3
inference_extension_prefix_indexer_hit_ratio_count 7
process_start_time_seconds 1000
"""


def planned(**more: t.Any) -> Facts:
    return plan(
        {
            "llm_d_release": "scheduler-0.7",
            "llm_d_charts": {"envoy_gateway": "/c"},
            "llm_d_model_services": [{"name": "sim", "model": {"served_name": "acme/tiny"}, "engine": {"type": "simulator"}, "replicas": 2}],
            "llm_d_monitoring": {"scrape": True, "alerts": {"ttft_p99": 2}, "dashboards": ["grafana"], "prometheus": "http://127.0.0.1:1"},
            **more,
        }
    )


class Exporter(http.server.BaseHTTPRequestHandler):
    """Serves PAGE."""

    def do_GET(self) -> None:  # pylint: disable=invalid-name
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *args: t.Any) -> None:
        """Says nothing."""


@contextlib.contextmanager
def exporter() -> t.Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@contextlib.contextmanager
def prometheus(folder: Path, targets: t.Sequence[tuple[str, str]], groups: t.Sequence[Facts]) -> t.Iterator[str]:
    """A Prometheus that scrapes (address, pod) each second, with these rules; gives its URL once it is ready."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": list(groups)}), encoding="utf-8")
    jobs = [{"targets": [address], "labels": {"namespace": "llm-d", "pod": pod}} for address, pod in targets]
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(folder / "rules.yml")],
        "scrape_configs": [{"job_name": "pods", "static_configs": jobs}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    flags = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}"]
    log = folder / "prometheus.log"
    with log.open("wb") as stream, subprocess.Popen([str(BINARIES / "prometheus"), *flags], stdout=stream, stderr=stream) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/-/ready", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def wait_for(url: str, process: subprocess.Popen[bytes] | None = None, log: Path | None = None) -> None:
    end = time.monotonic() + 120
    while True:
        assert process is None or process.poll() is None, log.read_text(encoding="utf-8") if log else ""
        assert time.monotonic() < end, f"{url} does not answer"
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.1)


@pytest.fixture(name="url", scope="module")
def scraping_prometheus(tmp_path_factory):
    """A Prometheus with the alerts of the plan; the simulators have answered, the first one twice with the same prompt."""
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        patch.setenv("POD_IP", "127.0.0.1")
        first, second = (stack.enter_context(simulator("--enable-kvcache=true", "--force-dummy-tokenizer=true")) for _server in range(2))
        for server in (first, second):
            wait_for(f"{server}/health")
            for _time in range(2):
                body = b'{"model": "acme/tiny", "prompt": "' + b"all work and no play " * 40 + b'", "max_tokens": 8}'
                request = urllib.request.Request(f"{server}/v1/completions", data=body, headers={"Content-Type": "application/json"})
                with urllib.request.urlopen(request, timeout=30) as answer:
                    answer.read()
        with exporter() as picker:
            targets = [(first.removeprefix("http://"), PODS[0]), (second.removeprefix("http://"), PODS[1]), (picker, PICKER)]
            with prometheus(tmp_path_factory.mktemp("prometheus"), targets, planned()["services"][0]["alerts"]["groups"]) as found:
                yield found


def claims(url: str, facts: Facts, timeout: float = 60.0) -> dict[str, Facts]:
    """The claims of the first service, by their ends."""
    asked = verdict.monitoring(facts)
    assert asked
    check = MonitoringCheck(UrlTransport(url, use_proxy=False), facts["namespace"], timeout)
    return {entry["id"].partition("/")[2]: entry for entry in check.service(asked["services"][0])}


def test_every_query_returns_data(url):
    found = claims(url, planned())
    assert [entry["ok"] for entry in found.values()] == [True, True], found
    assert found["alerts"]["evidence"].startswith("9 alerts loaded; ")
    assert found["alerts"]["evidence"].endswith("; LlmDRequestErrors has none until the first request that fails")
    assert "has none until" not in found["dashboards"]["evidence"], "mistakes of clients are shown, and alarm nobody"


def test_names_of_another_release_line_are_found_out(url):
    facts = planned()
    other = planned(llm_d_release="router-0.10")
    for part in ("queried", "alerts"):
        facts["services"][0][part] = other["services"][0][part]
    found = claims(url, facts, 0.0)
    assert [entry["ok"] for entry in found.values()] == [False, False]
    assert "LlmDNoReadyServers: no series for max(llm_d_epp_ready_endpoints{" in found["alerts"]["evidence"]
    assert "(Prometheus has no such metric)" in found["alerts"]["evidence"] and "llm_d_release" in found["alerts"]["remedy"]
    assert "; and " in found["dashboards"]["evidence"] and found["dashboards"]["evidence"].count("no series for") == 3


def test_an_alert_that_is_not_loaded_is_named(url):
    facts = planned()
    facts["services"][0]["queried"] = copy.deepcopy(facts["services"][0]["queried"])
    facts["services"][0]["queried"]["alerts"][0]["title"] = "LlmDOther"
    found = claims(url, facts, 0.0)["alerts"]
    assert not found["ok"] and found["evidence"] == "Prometheus has not loaded 1 alert: LlmDOther" and "llm_d_monitoring.labels" in found["remedy"]


def test_pods_that_are_not_scraped_are_told_from_metrics_that_do_not_exist(url):
    facts = planned(llm_d_namespace="other")
    found = claims(url, facts, 0.0)["dashboards"]
    assert not found["ok"] and "(the metric has no series with namespace=other)" in found["evidence"] and "labels namespace and pod" in found["remedy"]
    services = [{"name": "big", "model": {"served_name": "acme/tiny"}, "engine": {"type": "simulator"}}]
    found = claims(url, planned(llm_d_model_services=services), 0.0)["dashboards"]
    assert not found["ok"] and "(the metric is there for other pods or labels only)" in found["evidence"]


def test_a_query_that_prometheus_refuses_is_named(url):
    facts = planned()
    facts["services"][0]["queried"] = {"alerts": [], "dashboards": [{"title": "Broken", "queries": [{"expr": "sum(", "metrics": ["up"], "until": ""}]}]}
    found = claims(url, facts, 0.0)["dashboards"]
    assert not found["ok"] and found["evidence"].startswith("Broken: Prometheus refuses sum(: ") and "parse error" in found["evidence"]


def test_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    found = claims(f"http://127.0.0.1:{port}", planned())
    for entry in found.values():
        assert not entry["ok"] and entry["evidence"].startswith("Prometheus does not answer: ") and entry["remedy"]
