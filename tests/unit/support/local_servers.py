# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real HTTP servers on loopback for the tests: correct ones and faulty ones."""

from __future__ import annotations

import collections.abc as c
import contextlib
import http.server
import itertools
import json
import os
import socket
import ssl
import threading
import time
import typing as t
import urllib.request

JSON = "application/json"
SSE = "text/event-stream"


class Handler(http.server.BaseHTTPRequestHandler):
    """Passes every request to the server's `answer` function and sends (status, headers, body) back; None closes the connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes, the second of which would wait 40 ms for the client

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        reply = self.server.answer(self, self.command, self.path, body)
        if reply is None:
            self.close_connection = True
            return
        status, headers, content = reply
        content = content.encode() if isinstance(content, str) else content
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_HEAD = do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def log_message(self, *args: t.Any) -> None:
        """Logs nothing."""


class Server(http.server.ThreadingHTTPServer):
    """A server on a free port whose behaviour is one function."""

    daemon_threads = True
    request_queue_size = 128  # connections that are not accepted yet
    answer: c.Callable[..., t.Any]

    def handle_error(self, *args: t.Any) -> None:
        """A client that closes its connection is not an error."""


@contextlib.contextmanager
def serve(answer: c.Callable[..., t.Any], certificate: tuple[str, str] | None = None, mutual: bool = False) -> c.Iterator[str]:
    """A server that answers with answer(handler, method, path, body), with TLS if there is a certificate (its path, path of its key); gives its URL.

    mutual: clients must present the same certificate.
    """
    server = Server(("127.0.0.1", 0), Handler)
    server.answer = answer
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        if mutual:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(certificate[0])
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def raw(talk: c.Callable[[socket.socket], None]) -> c.Iterator[str]:
    """A server that calls `talk` with the socket after the first bytes of a request; `talk` may send anything, HTTP or not. Gives its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def one(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            talk(connection)

    def loop() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError):
                threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


_HELD: list[socket.socket] = []  # sockets that stay open until this process ends


def closed_port() -> int:
    """A port of 127.0.0.1 that refuses connections: it is bound, without a listener, while this process lives, so no other program can use it."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    _HELD.append(holder)
    return int(holder.getsockname()[1])


def port_for_a_program() -> int:
    """A free port for a program that takes a port as an argument. Our own servers bind port 0 themselves.

    No program uses it, TCP or UDP, on any address. The kernel does not assign it to programs that bind port 0 (it is below `net.ipv4.ip_local_port_range`), and
    no other test gets it: an abstract socket with its number is open while this process lives.
    """
    for port in itertools.count(20000 + os.getpid() % 5000):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp, contextlib.suppress(OSError):
            claim.bind(f"\0llm-d-test-port-{port}")
            for each in (tcp, udp):
                each.bind(("", port))
            _HELD.append(claim)
            return port
        claim.close()
    raise AssertionError


def answers(url: str) -> bool:
    """Whether a server answers at this URL."""
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=60):
        return True
    return False


def drip(first: bytes, again: bytes, pause: float = 0.05) -> c.Callable[[socket.socket], None]:
    """A `talk` for `raw`: sends `first`, then `again` forever, with pauses in seconds."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(again)
            time.sleep(pause)

    return talk


def models(*names: str, length: int | None = 1024) -> str:
    """A `/v1/models` body, as the simulator writes it."""
    entries = [
        {"id": name, "object": "model", "created": 1795248213, "owned_by": "vllm", "root": name, "parent": None, "max_model_len": length} for name in names
    ]
    return json.dumps({"object": "list", "data": entries})


def whole(model: str = "acme/tiny", text: str = "Today ", cached: int | None = 0) -> str:
    """An unstreamed completion, as the simulator writes it; as vLLM does, where `cached` is None."""
    return json.dumps(
        {
            "id": "cmpl-077d35ff",
            "model": model,
            "object": "text_completion",
            "created": 1795248213,
            "usage": {
                "prompt_tokens": 2,
                "completion_tokens": 1,
                "total_tokens": 3,
                "prompt_tokens_details": None if cached is None else {"cached_tokens": cached},
            },
            "choices": [{"index": 0, "finish_reason": "stop", "text": text}],
        }
    )


def stream(*events: t.Any, done: bool = True) -> bytes:
    """A streamed completion of these JSON values, as server-sent events."""
    frames = [f"data: {json.dumps(event)}\n\n" for event in events] + (["data: [DONE]\n\n"] if done else [])
    return "".join(frames).encode()


def chunk(text: str, finish: str | None = None) -> dict[str, t.Any]:
    """One event of a streamed completion."""
    return {"id": "cmpl-1", "object": "text_completion", "usage": None, "choices": [{"index": 0, "finish_reason": finish, "text": text}]}


class InferenceGateway:
    """A gateway, an endpoint picker and model servers in one: routes by prefix and counts requests. The knobs make it misbehave."""

    def __init__(self, **knobs: t.Any) -> None:
        self.knobs = {
            "servers": ["pod-a", "pod-b"],
            "sticky": True,
            "pod_header": True,
            "scheduler_header": True,
            "counting": 1,
            "pod_label": False,
            "fail_after": None,
            "metrics_status": 200,
            "one_server": False,
            "not_counted": (),
            "caching": True,
            "obeys": True,
            "plugins": (),
            "ready": None,
            "blind": False,
            **knobs,
        }
        self.waiting: dict[str, int] = {}
        self.homes: dict[str, str] = {}
        self.prompts: list[str] = []
        self.attempts: dict[str, int] = dict.fromkeys(self.knobs["servers"], 7)  # earlier traffic
        self.counted = 14
        self.cold = 0  # prompts that no server had cached
        self._turn = itertools.cycle(self.knobs["servers"])
        self._lock = threading.Lock()

    def __call__(self, handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        if path == "/metrics":
            return self.knobs["metrics_status"], {"Content-Type": "text/plain; version=0.0.4"}, self.metrics()
        if path == "/health":
            return 200, {}, ""
        if path == "/v1/models":
            return 200, {"Content-Type": JSON}, models("acme/tiny")
        if path == "/v1/completions":
            with self._lock:
                return self.complete(json.loads(body))
        return 404, {"Content-Type": "text/plain"}, "Not Found"

    def complete(self, request: dict[str, t.Any]) -> t.Any:
        prompt = request["prompt"]
        self.prompts.append(prompt)
        if self.knobs["fail_after"] is not None and len(self.prompts) > self.knobs["fail_after"]:
            return 503, {"Content-Type": "text/plain"}, "no healthy upstream"
        known = prompt[:256] in self.homes
        server = self.pick(prompt)
        picked = server if self.knobs["obeys"] else self.knobs["servers"][-1]
        self.attempts[picked] += self.knobs["counting"]
        self.cold += not known
        self.counted += self.knobs["counting"]
        headers = {"Content-Type": SSE if request.get("stream") else JSON}
        if self.knobs["pod_header"]:
            headers["x-inference-pod"] = server
        if self.knobs["scheduler_header"]:
            headers["x-went-into-resp-headers"] = "true"
        cached = None if self.knobs["caching"] is None else 256 * (known and self.knobs["caching"])
        return 200, headers, stream(chunk("To "), chunk("", "stop")) if request.get("stream") else whole(cached=cached)

    def keep_busy(self, server: str, seconds: float) -> None:
        """Counts one request as waiting at a server, for this many seconds."""
        with self._lock:
            self.waiting[server] = self.waiting.get(server, 0) + 1
        time.sleep(seconds)
        with self._lock:
            self.waiting[server] -= 1

    def pick(self, prompt: str) -> str:
        if any(self.waiting.values()) and not self.knobs["blind"]:
            return next(server for server in self.knobs["servers"] if not self.waiting.get(server))
        if self.knobs["one_server"]:
            return self.knobs["servers"][0]
        if self.knobs["sticky"]:
            return self.homes.setdefault(prompt[:256], next(self._turn))
        return next(self._turn)

    def metrics(self) -> str:
        lines = ["# TYPE inference_extension_scheduler_attempts_total counter"]
        if "scheduler_attempts" not in self.knobs["not_counted"]:
            if self.knobs["pod_label"]:
                lines += [
                    f'inference_extension_scheduler_attempts_total{{namespace="ns",pod_name="{name}",port="8000",status="success"}} {value}'
                    for name, value in self.attempts.items()
                ]
            else:
                lines.append(f'inference_extension_scheduler_attempts_total{{status="success"}} {sum(self.attempts.values())}')
            lines.append('inference_extension_scheduler_attempts_total{status="failure"} 3')
        lines.append(f'inference_objective_request_total{{model_name="acme/tiny",target_model_name="acme/tiny"}} {self.counted}')
        ready = len(self.knobs["servers"]) if self.knobs["ready"] is None else self.knobs["ready"]
        lines.append(f'inference_pool_ready_pods{{name="llama-8b"}} {ready}')
        lines += [
            f'inference_extension_plugin_duration_seconds_count{{extension_point="{point}",plugin_name="{name}",plugin_type="{name}"}} {self.counted}'
            for point, name in self.knobs["plugins"]
        ]
        return "\n".join(lines) + "\n"
