# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gRPC over HTTP/2: with servers that behave, with and without TLS, and with some that do not."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import typing as t
from pathlib import Path

import local_servers
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.conformance import picker_stream
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.picker_checks import PickerRequest
from ansible_collections.llm_d.inference.plugins.module_utils.http import grpc
from ansible_collections.llm_d.inference.plugins.module_utils.http.grpc import GrpcError, connect
from stub_picker import StubPicker

ENDPOINTS = {"": ["10.0.0.1:80"], "unready": [], "terminating": []}


def to(address: str) -> grpc.GrpcConnection:
    host, _colon, port = address.rpartition(":")
    return connect(lambda: (socket.create_connection((host, int(port)), 5), lambda: None), address)


def test_plaintext_grpc_exchanges_messages_of_any_size() -> None:
    stub = StubPicker(lambda: ENDPOINTS)
    connection = to(stub.address)
    assert not connection.encrypted and picker_stream.health(connection, "liveness") == "SERVING"
    body = b'{"a": "' + b"x" * (3 << 20) + b'"}'
    replies = picker_stream.ask(connection, [PickerRequest(body), PickerRequest(b'{"b": 1}', piece=3), PickerRequest()])
    assert [reply.body for reply in replies] == [body, b'{"b": 1}', None]
    assert all(reply.endpoints == ["10.0.0.1:80"] == [reply.destination] for reply in replies)
    connection.close()
    stub.close()


def test_grpc_over_tls_accepts_a_self_signed_certificate(tmp_path: Path) -> None:
    names = ["-subj", "/CN=anyone", "-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "crt")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    context.set_alpn_protocols(["h2"])
    spoken: list[t.Any] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with context.wrap_socket(listening.accept()[0], server_side=True) as one:
            spoken.append(one.selected_alpn_protocol())
            spoken.append(one.recv(24))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    connection = to(f"127.0.0.1:{listening.getsockname()[1]}")
    thread.join(10)
    assert connection.encrypted and spoken == ["h2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    connection.close()


def test_a_closed_port_raises_a_grpc_error() -> None:
    with pytest.raises(GrpcError, match="cannot be reached"):
        to(f"127.0.0.1:{local_servers.closed_port()}")


@pytest.mark.parametrize(
    ("says", "words"),
    [(b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/2|closed|broke"), (b"", "closed|broke"), (b"\0" * 200, "HTTP/2|closed|broke")],
)
def test_a_server_that_does_not_speak_http2_raises_a_grpc_error(says: bytes, words: str) -> None:
    with local_servers.raw(lambda one: one.sendall(says)) as url:
        connection = to(url.removeprefix("http://"))
        with pytest.raises(GrpcError, match=words):
            call = connection.call("/x")
            for _index in range(3):
                assert call.receive(5) is None
                raise GrpcError(call.reason)
        connection.close()


def test_a_silent_server_is_not_waited_for_beyond_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc, "HANDSHAKE", 0.3)
    end = threading.Event()
    with local_servers.raw(lambda _one: end.wait(20)) as url:  # type: ignore[arg-type,return-value]
        connection = to(url.removeprefix("http://"))
        with pytest.raises(GrpcError, match="no answer in time"):
            connection.call("/x").receive(0.2)
        with pytest.raises(GrpcError, match="no answer in time"):  # it never opens its window
            connection.call("/x").send(b"x" * (1 << 20))
        connection.close()
        end.set()


def test_the_status_at_the_end_counts_and_a_stream_without_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stub = StubPicker(lambda: {**ENDPOINTS, "": []})
    stub.break_with("grpc_error")
    connection = to(stub.address)
    (reply,) = picker_stream.ask(connection, [PickerRequest(b"{}")])
    assert "gRPC status 13 (on request)" in reply.error and not reply.endpoints
    stub.break_with("no_liveness")
    assert "gRPC status 5" in picker_stream.health(connection, "liveness")
    connection.close()
    stub.close()
    monkeypatch.setattr(grpc, "MAX_STREAM", 10)
    stream = grpc.GrpcStream(connection, 1)
    stream.take(b"\0\0\0\0\x05hello")
    assert stream.receive(0) == b"hello"
    with pytest.raises(GrpcError, match="on one stream"):
        stream.take(b"\0")
    for bad in (b"\1\0\0\0\1x", b"\0\xff\xff\xff\xff"):
        monkeypatch.setattr(grpc, "MAX_STREAM", 1 << 20)
        with pytest.raises(GrpcError, match="message of"):
            grpc.GrpcStream(connection, 1).take(bad)


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc, "LIBRARY", False)
    with pytest.raises(GrpcError, match="pip install h2"):
        connect(lambda: (socket.socket(), lambda: None), "x")
