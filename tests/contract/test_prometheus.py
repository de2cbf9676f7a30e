"""The claims about alerts and dashboards against a real Prometheus that scrapes real simulators, and an exporter with the series of an endpoint picker.

The programs are those of the local cluster's cache (local_cluster_extras: [monitoring]), or of the folder LLM_D_BINARIES.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import copy
import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import time
import typing as t
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import waiting
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.http.transport import UrlTransport
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.validation import targets as validated
from ansible_collections.llm_d.inference.plugins.module_utils.validation.monitoring_claims import MonitoringCheck
from local_servers import answers, closed_port, port_for_a_program

Facts = dict[str, t.Any]
BINARIES = Path(os.environ.get("LLM_D_BINARIES", "/var/cache/llm-d-local/bin"))
missing = [name for name in ("prometheus", "llm-d-inference-sim") if not (BINARIES / name).is_file()]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"no {' and no '.join(missing)}: local_cluster_extras: [monitoring] builds them, or set LLM_D_BINARIES")
# Names of the pods of the model servers, and of the endpoint picker.
PODS, PICKER = ("sim-decode-6d9f8b7c5d-abcde", "sim-decode-6d9f8b7c5d-fghij"), "sim-epp-5c9f8b7c5d-klmno"
# Metrics of the endpoint picker of scheduler-0.7. Its only failed requests are mistakes of clients (BadRequest).
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


SIMULATOR: Facts = {"type": "simulator", "simulator": {"inter_token_latency": "5ms", "kv_cache_size": 200}}


def planned(**variables: t.Any) -> Facts:
    """The plan of two simulated servers with alerts and dashboards; `variables` replace those of the user's file."""
    return plan(
        {
            "llm_d_release": "scheduler-0.7",
            "llm_d_charts": {"envoy_gateway": "/c"},
            "llm_d_model_services": [{"name": "sim", "model": {"served_name": "acme/tiny"}, "engine": SIMULATOR, "replicas": 2}],
            "llm_d_monitoring": {"scrape": True, "alerts": {"ttft_p99": 2}, "dashboards": ["grafana"], "prometheus": "http://127.0.0.1:1"},
            **variables,
        }
    )


class Exporter(http.server.BaseHTTPRequestHandler):
    """Serves PAGE with `ready` model servers. Each scrape adds `rejected` to `failed`, the number of requests that the endpoint picker has refused."""

    rejected, failed, ready = 0, 0, 2

    def do_GET(self) -> None:  # pylint: disable=invalid-name
        Exporter.failed += Exporter.rejected
        failures = f'inference_objective_request_error_total{{model_name="m",target_model_name="m",error_code="ServiceUnavailable"}} {Exporter.failed}\n'
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        page = PAGE.replace('ready_pods{name="sim"} 2', f'ready_pods{{name="sim"}} {Exporter.ready}')
        self.wfile.write((page + (failures if Exporter.failed else "")).encode())

    def log_message(self, *args: t.Any) -> None:
        """Log nothing."""


@contextlib.contextmanager
def exporter(port: int = 0) -> t.Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Exporter) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@contextlib.contextmanager
def simulator() -> t.Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """(address, process) of a running simulator with the arguments of the plan."""
    port = port_for_a_program()
    arguments = [each for each in planned()["services"][0]["server"]["args"] if not each.startswith("--port=")]
    environment = {**os.environ, "POD_IP": "127.0.0.1"}
    command = [str(BINARIES / "llm-d-inference-sim"), *arguments, f"--port={port}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/health", process)
            yield f"127.0.0.1:{port}", process
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()


def complete(address: str, prompt: str, tokens: int) -> Facts:
    """The answer of a simulator to one completion."""
    body = json.dumps({"model": "acme/tiny", "prompt": prompt, "max_tokens": tokens}).encode()
    request = urllib.request.Request(f"http://{address}/v1/completions", data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return t.cast(Facts, json.loads(answer.read()))


@contextlib.contextmanager
def prometheus(folder: Path, targets: t.Sequence[tuple[str, str]], groups: t.Sequence[Facts]) -> t.Iterator[str]:
    """A Prometheus that scrapes each (address, pod) every second, with these rules; yields its URL once it is ready."""
    port = port_for_a_program()
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
    while not answers(url):
        assert process is None or process.poll() is None, log.read_text(encoding="utf-8") if log else ""
        time.sleep(0.1)


@pytest.fixture(name="url", scope="module")
def scraping_prometheus(tmp_path_factory):
    """A Prometheus with the alerts of the plan; each simulator has answered the same prompt twice.

    Every query has data before the first test, whichever test this worker gets first: most of them query once, without waiting.
    """
    with simulator() as (first, _process), simulator() as (second, _other), exporter() as picker:
        for server in (first, first, second, second):
            complete(server, "all work and no play " * 40, 8)
        targets = [(first, PODS[0]), (second, PODS[1]), (picker, PICKER)]
        with prometheus(tmp_path_factory.mktemp("prometheus"), targets, planned()["services"][0]["alerts"]["groups"]) as server_url:
            claims(server_url, planned())
            yield server_url


def claims(url: str, facts: Facts, timeout: float = 60.0) -> dict[str, Facts]:
    """The claims about the monitoring of the first service: {alerts, dashboards}. timeout: seconds to wait for data and for loaded alerts."""
    monitoring = validated.monitoring(facts)
    assert monitoring
    check = MonitoringCheck(UrlTransport(url, use_proxy=False), facts["namespace"], timeout)
    return {entry["id"].partition("/")[2]: entry for entry in check.service(monitoring["services"][0])}


def test_every_query_returns_data(url):
    results = claims(url, planned())
    assert [entry["ok"] for entry in results.values()] == [True, True], results
    assert results["alerts"]["evidence"].startswith("9 alerts loaded; ")
    assert results["alerts"]["evidence"].endswith("; LlmDRequestErrors has none until the first request that fails")
    assert "has none until" not in results["dashboards"]["evidence"], "mistakes of clients are shown, but fire no alert"


def test_metric_names_of_another_release_line_are_reported(url):
    facts = planned()
    other = planned(llm_d_release="router-0.10")
    for part in ("queried", "alerts"):
        facts["services"][0][part] = other["services"][0][part]
    results = claims(url, facts, 0.0)
    assert [entry["ok"] for entry in results.values()] == [False, False]
    assert "LlmDNoReadyServers: no series for max(llm_d_epp_ready_endpoints{" in results["alerts"]["evidence"]
    assert "(Prometheus has no such metric)" in results["alerts"]["evidence"] and "llm_d_release" in results["alerts"]["remedy"]
    assert "; and " in results["dashboards"]["evidence"] and results["dashboards"]["evidence"].count("no series for") == 3


def test_an_alert_that_is_not_loaded_is_named(url):
    facts = planned()
    facts["services"][0]["queried"] = copy.deepcopy(facts["services"][0]["queried"])
    facts["services"][0]["queried"]["alerts"][0]["title"] = "LlmDOther"
    claim = claims(url, facts, 0.0)["alerts"]
    assert not claim["ok"] and claim["evidence"] == "Prometheus has not loaded 1 alert: LlmDOther" and "llm_d_monitoring.labels" in claim["remedy"]


def test_unscraped_pods_are_distinguished_from_missing_metrics(url):
    facts = planned(llm_d_namespace="other")
    claim = claims(url, facts, 0.0)["dashboards"]
    assert not claim["ok"] and "(the metric has no series with namespace=other)" in claim["evidence"] and "labels namespace and pod" in claim["remedy"]
    services = [{"name": "big", "model": {"served_name": "acme/tiny"}, "engine": {"type": "simulator"}}]
    claim = claims(url, planned(llm_d_model_services=services), 0.0)["dashboards"]
    assert not claim["ok"] and "(the metric is there for other pods or labels only)" in claim["evidence"]


def test_a_query_that_prometheus_refuses_is_named(url):
    facts = planned()
    facts["services"][0]["queried"] = {"alerts": [], "dashboards": [{"title": "Broken", "queries": [{"expr": "sum(", "metrics": ["up"], "until": ""}]}]}
    claim = claims(url, facts, 0.0)["dashboards"]
    assert not claim["ok"] and claim["evidence"].startswith("Broken: Prometheus refuses sum(: ") and "parse error" in claim["evidence"]


def test_claims_fail_when_nothing_listens_at_the_prometheus_url():
    results = claims(f"http://127.0.0.1:{closed_port()}", planned())
    for entry in results.values():
        assert not entry["ok"] and entry["evidence"].startswith("Prometheus does not answer: ") and "llm_d_monitoring.prometheus" in entry["remedy"]


@pytest.mark.rest
def test_claims_fail_when_prometheus_accepts_connections_but_never_answers():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        results = claims(f"http://127.0.0.1:{silent.getsockname()[1]}", planned())
    for entry in results.values():
        assert not entry["ok"] and entry["evidence"].startswith("Prometheus does not answer: ") and "llm_d_monitoring.prometheus" in entry["remedy"]


@contextlib.contextmanager
def load(addresses: t.Iterable[str], each: int, prompt: str, tokens: int) -> t.Iterator[None]:
    """Send completions to each server, `each` of them at the same time, until the block ends."""
    over = threading.Event()

    def send(address: str) -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                complete(address, prompt, tokens)

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        for address in addresses:
            for _number in range(each):
                pool.submit(send, address)
        try:
            yield
        finally:
            over.set()


def firing(url: str) -> set[str]:
    with urllib.request.urlopen(f"{url}/api/v1/alerts", timeout=30) as answer:
        return {alert["labels"]["alertname"] for alert in json.loads(answer.read())["data"]["alerts"] if alert["state"] == "firing"}


def until(url: str, wanted: set[str]) -> None:
    """Wait until exactly these alerts fire."""
    while firing(url) != wanted:
        time.sleep(0.5)


@pytest.mark.rest
def test_alerts_fire_of_what_happens_to_real_servers_and_resolve(tmp_path):
    """A server that hangs, long queues, full caches, a missing endpoint picker, and one that refuses requests: last, since its rate is over minutes."""
    rules = planned(llm_d_monitoring={"alerts": {"queue": 2, "kv_cache": 0.5, "seconds": 2}})["services"][0]["alerts"]["groups"]
    with simulator() as (first, process), simulator() as (second, _other), contextlib.ExitStack() as stack:
        pickers = stack.enter_context(contextlib.ExitStack())
        picker = pickers.enter_context(exporter())
        url = stack.enter_context(prometheus(tmp_path, [(first, PODS[0]), (second, PODS[1]), (picker, PICKER)], rules))
        until(url, set())
        process.send_signal(signal.SIGSTOP)
        until(url, {"LlmDServerDown"})
        process.send_signal(signal.SIGCONT)
        until(url, set())
        with load([first, second], 12, "Wait for it.", 200):
            until(url, {"LlmDQueueHigh"})
        until(url, set())
        words = 2400 * 100 // complete(first, "word " * 100, 1)["usage"]["prompt_tokens"]  # for a prompt of 2,400 tokens; a cache holds 3,200
        with load([first, second], 1, "word " * words, 600):
            until(url, {"LlmDKvCacheFull"})
        until(url, set())
        pickers.close()
        until(url, {"LlmDEndpointPickerDown"})
        stack.enter_context(exporter(int(picker.rpartition(":")[2])))
        until(url, set())
        Exporter.rejected = 2
        try:
            until(url, {"LlmDRequestErrors"})
        finally:
            Exporter.rejected = Exporter.failed = 0


def values(url: str, expr: str) -> list[float]:
    """The present values of an expression; KEDA requires exactly one, and treats none as an error."""
    with urllib.request.urlopen(f"{url}/api/v1/query?query={urllib.parse.quote(expr)}", timeout=30) as answer:
        return [float(series["value"][1]) for series in json.loads(answer.read())["data"]["result"]]


@pytest.mark.rest
def test_keda_queries_return_one_value_or_none_if_something_is_not_scraped(tmp_path):
    """Idle servers, no servers, servers and endpoint pickers that are not scraped, and refused requests."""
    targets = {"queue": 4, "requests": 9, "kv_cache": 0.8, "requests_per_second": 3, "ttft_p99": 2}
    scaling = {"provider": "keda", "min": 0, "max": 4, "metrics": targets, "prometheus": "http://127.0.0.1:1"}
    service = {"name": "sim", "model": {"served_name": "acme/tiny"}, "engine": SIMULATOR, "autoscaling": scaling}
    (server,) = planned(llm_d_model_services=[service])["services"][0]["servers"]
    *metrics, arriving = [trigger["metadata"]["query"] for trigger in server["autoscaling"]["autoscaler"]["spec"]["triggers"]]
    assert len(metrics) == len(targets)
    with contextlib.ExitStack() as pickers, contextlib.ExitStack() as stack:
        servers = stack.enter_context(contextlib.ExitStack())
        (first, _process), picker = servers.enter_context(simulator()), pickers.enter_context(exporter())
        url = stack.enter_context(prometheus(tmp_path, [(first, PODS[0]), (picker, PICKER)], []))

        def become(wanted: list[float] | bool, *exprs: str) -> None:
            """Wait until each expression has these values. True: until its value is above 0."""
            waiting.until(
                lambda: all(bool(numbers) and numbers[0] > 0 if wanted is True else numbers == wanted for numbers in (values(url, expr) for expr in exprs)), 0.2
            )

        become([0], *metrics, arriving)
        servers.close()
        become([], *metrics)
        try:
            Exporter.ready = 0
            become([0], *metrics, arriving)
            Exporter.rejected = 2
            become(True, arriving)
        finally:
            Exporter.rejected, Exporter.failed, Exporter.ready = 0, 0, 2
        pickers.close()
        become([], arriving)
