"""The spans of real endpoint pickers behind a real Envoy, with planned settings, in the trace of a request by its traceparent.

The API server is real, the test sets the status of Pods, and the collector is that of the local cluster.
"""

from __future__ import annotations

import collections.abc as c
import contextlib
import http.server
import json
import secrets
import threading
import time
import typing as t
import urllib.error
import urllib.request
from pathlib import Path

import own_api_server
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import RELEASES
from local_servers import port_for_a_program
from planned_pods import main
from waiting import until

from contract.test_epp_accepts import BINARIES, binary
from contract.test_gateway_providers import envoy

pytestmark = pytest.mark.rest

Facts = dict[str, t.Any]
COLLECTOR = Path("/var/cache/llm-d-local/bin/otel-collector")
MODEL = "llama-8b"
COUNTED = "".join(f'vllm:{name}{{model_name="{MODEL}"}} 0\n' for name in ("num_requests_waiting", "num_requests_running", "kv_cache_usage_perc"))


class TracedServer(http.server.BaseHTTPRequestHandler):
    """A model server that records the traceparent of each request."""

    protocol_version = "HTTP/1.1"
    traceparents: t.ClassVar[list[str | None]] = []

    def log_message(self, *_args: t.Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(COUNTED.encode())

    def do_POST(self) -> None:
        while size := int(self.rfile.readline(), 16):  # in chunks, as Envoy sends a body that an endpoint picker streams
            self.rfile.read(size + 2)
        self.rfile.readline()
        self.traceparents.append(self.headers["traceparent"])
        self._answer(json.dumps({"object": "text_completion", "model": MODEL, "choices": [{"index": 0, "text": "x", "finish_reason": "stop"}]}).encode())

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> c.Iterator[t.Any]:
    if not COLLECTOR.is_file():
        pytest.skip("the local cluster has not built the collector: local_cluster_extras: [tracing]")
    with own_api_server.api_server(tmp_path_factory.mktemp("api")) as running:
        yield running


class TracedPath(t.NamedTuple):
    """Ports of the proxy and of the collector's query API."""

    proxy: int
    query: int

    def ask(self, traceparent: str = "") -> None:
        headers = {"Content-Type": "application/json", **({"traceparent": traceparent} if traceparent else {})}
        body = json.dumps({"model": MODEL, "prompt": "a"}).encode()
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{self.proxy}/v1/completions", body, headers), timeout=20) as answer:
            answer.read()

    def answers(self) -> bool:
        with contextlib.suppress(OSError):
            self.ask()
            return True
        return False

    def spans(self, query: str) -> dict[str, set[str]]:
        """Trace ids by service."""
        traces: dict[str, set[str]] = {}
        with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(f"http://127.0.0.1:{self.query}/api/v3/traces{query}") as answer:
            for of in json.loads(answer.read())["result"].get("resourceSpans", []):
                (name,) = [item["value"]["stringValue"] for item in of["resource"]["attributes"] if item["key"] == "service.name"]
                traces.setdefault(name, set()).update(span["traceId"] for scope in of["scopeSpans"] for span in scope["spans"])
        return traces


@contextlib.contextmanager
def running(api: t.Any, line: str, tracing: Facts, folder: Path) -> c.Iterator[TracedPath]:
    """A collector, an endpoint picker and the proxy of provider standalone, as planned except for ports and addresses."""
    server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), TracedServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    service = {"name": "chat", "model": {"uri": "hf://org/m", "served_name": MODEL}, "scheduler": {"preset": "queue"}}
    file = {"llm_d_release": line, "llm_d_gateway": {"provider": "standalone"}, "llm_d_model_services": [service], "llm_d_tracing": tracing}
    picker = plan(file)["services"][0]["scheduler"]
    namespace = f"ns-{secrets.token_hex(4)}"
    api.pool(namespace, "chat", [server.server_address[1]])
    api.pod(namespace, "server", "chat", "127.0.0.11")
    otlp, query, proxy, grpc = (port_for_a_program() for _number in range(4))
    config = {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{otlp}"}}}},
        "exporters": {"memory": {"endpoint": f"127.0.0.1:{query}"}},
        "service": {"telemetry": {"metrics": {"level": "none"}}, "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["memory"]}}},
    }
    for name, text in (("collector.yaml", json.dumps(config)), ("config.yaml", picker["config"]), ("envoy.json", _proxy(picker, proxy, grpc, otlp))):
        (folder / name).write_text(text, encoding="utf-8")
    own = [f"--grpc-port={grpc}", f"--grpc-health-port={port_for_a_program()}", f"--metrics-port={port_for_a_program()}", f"--config-file={folder}/config.yaml"]
    own += ["--pool-name=chat", f"--pool-namespace={namespace}"]
    flags = [flag for flag in picker["args"] if not flag.startswith(("--grpc", "--metrics-port", "--config-file", "--pool-n", "--endpoint-"))]
    variables = {item["name"]: item["value"] for item in main(picker)["env"] if "value" in item}
    variables |= {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{otlp}", "KUBECONFIG": str(api.kubeconfig), "TMPDIR": str(folder)}
    options = ["-c", f"{folder}/envoy.json", "--use-dynamic-base-id", "--concurrency", "1", "--disable-hot-restart"]
    program = own_api_server.program
    with (
        program(folder, "log", str(COLLECTOR), f"--config={folder}/collector.yaml"),
        program(folder, "log", str(binary(line)), *flags, *own, **variables),
        program(folder, "log", envoy(), *options),
    ):
        path = TracedPath(proxy, query)
        until(path.answers)
        yield path
    server.shutdown()


def _proxy(picker: Facts, port: int, grpc: int, otlp: int) -> str:
    """The configuration of the proxy, for this host."""
    config = json.loads(picker["proxy"]["config"])
    static = config["static_resources"]
    static["listeners"] = static["listeners"][:1]
    static["listeners"][0]["address"] = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    config["admin"]["address"]["socket_address"]["port_value"] = port_for_a_program()
    for cluster in static["clusters"]:
        if cluster["name"] in ("picker", "collector"):
            place = {"address": "127.0.0.1", "port_value": grpc if cluster["name"] == "picker" else otlp}
            cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]["address"]["socket_address"] = place
    return json.dumps(config)


@pytest.mark.parametrize("line", BINARIES)
def test_gateway_server_and_supporting_endpoint_pickers_join_one_trace(api: t.Any, line: str, tmp_path: Path) -> None:
    with running(api, line, {"endpoint": "otel-collector.monitoring:4317", "sampling": 0}, tmp_path) as path:
        trace = secrets.token_hex(16)
        path.ask(f"00-{trace}-{secrets.token_hex(8)}-01")
        traceparent = TracedServer.traceparents[-1] or ""
        assert traceparent.startswith(f"00-{trace}-") and traceparent.endswith("-01"), "the server continues the trace of the client"
        until(lambda: "chat-gateway" in path.spans(f"/{trace}"))
        time.sleep(6)  # endpoint pickers export every five seconds
        assert ("chat-epp" in path.spans(f"/{trace}")) == RELEASES[line]["tracing"]["joins"]


@pytest.mark.parametrize("line", BINARIES)
def test_an_untraced_service_sends_no_spans(api: t.Any, line: str, tmp_path: Path) -> None:
    """Endpoint pickers of the scheduler lines would sample a tenth: with 200 requests the test misses it once in a billion runs."""
    with running(api, line, {}, tmp_path) as path:
        for _number in range(200):
            path.ask()
        time.sleep(6)
        names = ("chat-epp", "llm-d-inference-scheduler", "gateway-api-inference-extension/epp", "chat-gateway")
        assert {name: path.spans(f"?query.service_name={name}&query.start_time_min=2026-01-01T00:00:00Z") for name in names} == dict.fromkeys(names, {})
