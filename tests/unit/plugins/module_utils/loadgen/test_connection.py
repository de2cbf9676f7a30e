# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kept connections that servers close: a request that a server has received counts as lost, one that it has not is sent again."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import struct
import sys
import threading

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import client, connection, socket_stamps
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.destination import Destination, LoadLimits
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Call
from local_servers import chunk, stream
from waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports what the other side has acknowledged")

BODY = stream(chunk("To"), chunk("day", "length"), {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}})
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


class Server:
    """Answers the first request of each connection, and then does as `then` says. requests: how many it has received; closed: set when a connection ends."""

    def __init__(self, then) -> None:
        self.requests, self.closed, self._then = 0, threading.Event(), then
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def receive(self, kept: socket.socket) -> bool:
        """Whether another request came."""
        got = bool(kept.recv(65536))
        self.requests += got
        return got

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._talk, args=(self._listener.accept()[0],), daemon=True).start()

    def _talk(self, kept: socket.socket) -> None:
        with kept, contextlib.suppress(OSError):
            if self.receive(kept):
                kept.sendall(ANSWER)
                self._then(self, kept)
        self.closed.set()

    def end(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def errors(server: Server, count: int, between=lambda sender: None) -> list[str | None]:
    """The failures of requests that are sent one after the other; `between` is called before each but the first, while the loop stands still."""

    async def run() -> list[str | None]:
        loop, kinds = asyncio.get_running_loop(), []
        with contextlib.closing(client.LoadClient(Destination(server.url), LoadLimits(60.0), lambda record, _call: ended.set_result(record))) as sender:
            for number in range(count):
                ended = loop.create_future()
                if number:
                    between(sender)
                sender.send(Call(number, 0, "tiny", "/v1/completions", b"{}"), 0.0)
                kinds.append((await ended).error)
        return kinds

    with contextlib.closing(contextlib.ExitStack()) as stack:
        stack.callback(server.end)
        return asyncio.run(run())


def hang_up(server: Server, kept: socket.socket) -> None:
    server.receive(kept)


def reset(server: Server, kept: socket.socket) -> None:
    server.receive(kept)
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize("then", [hang_up, reset])
def test_a_request_received_by_the_server_is_not_sent_again_when_it_closes(then) -> None:
    server = Server(then)
    assert errors(server, 6) == [None, "closed"] * 3
    assert server.requests == 6


def test_a_connection_that_was_closed_before_the_request_is_not_used() -> None:
    """The loop had no time to notice that the connection is closed."""
    server = Server(lambda _server, _kept: None)

    def stall(sender: client.LoadClient) -> None:
        server.closed.wait()
        server.closed.clear()
        assert len(sender._idle) == 1 and not sender._idle[0].closed
        until(lambda: not sender._idle[0].reusable)

    assert errors(server, 3, stall) == [None] * 3
    assert server.requests == 3


def test_a_request_that_crosses_the_close_of_its_connection_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has closed the connection, and the client does not know it yet when it sends the request."""
    server = Server(lambda _server, _kept: None)
    real = connection.tcp_state
    monkeypatch.setattr(connection, "tcp_state", lambda sock: (True, state[1]) if (state := real(sock)) else None)

    def stall(_sender: client.LoadClient) -> None:
        server.closed.wait()
        server.closed.clear()

    assert errors(server, 3, stall) == [None] * 3
    assert server.requests == 3


def test_a_request_is_not_sent_again_where_the_tcp_state_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(lambda _server, _kept: None)
    monkeypatch.setattr(connection, "tcp_state", lambda _sock: None)

    def stall(_sender: client.LoadClient) -> None:
        server.closed.wait()
        server.closed.clear()

    assert errors(server, 2, stall) == [None, "closed"]


class Closing(Server):
    """Closes each connection at once, as a load balancer without servers does. requests: how many connections."""

    def _talk(self, kept: socket.socket) -> None:
        self.requests += 1
        kept.close()


def test_a_new_connection_that_is_closed_at_once_is_no_reason_for_another() -> None:
    server = Closing(hang_up)
    assert errors(server, 3) == ["closed"] * 3
    assert server.requests == 3


def test_an_acknowledged_byte_count_of_zero_counts_as_unknown() -> None:
    """It leaves the count at 0; one that counts has the opening of the connection in it."""

    class Socket:
        def getsockopt(self, _level: int, _name: int, size: int) -> bytes:
            return bytes([socket_stamps.ESTABLISHED]).ljust(size, b"\0")

    assert socket_stamps.tcp_state(Socket()) == (True, None)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "client"),
        (OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address"), "client"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "network"),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), "dns"),
    ],
)
def test_a_fault_of_the_client_host_is_not_counted_as_a_server_failure(error: OSError, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_places: object) -> None:
        raise error

    monkeypatch.setattr(client, "connect", fail)
    assert errors(Server(hang_up), 1) == [kind]


HERE = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 9))
NOWHERE = (socket.AF_INET6, socket.SOCK_STREAM, 0, "", ("2001:db8::1", 9, 0, 0))


@pytest.mark.parametrize(
    ("places", "numbers", "reachable", "wanted"),
    [
        ([NOWHERE, HERE], [errno.EADDRNOTAVAIL, errno.ECONNREFUSED], False, errno.ECONNREFUSED),
        ([HERE, NOWHERE], [errno.ECONNREFUSED, errno.EADDRNOTAVAIL], True, errno.ECONNREFUSED),
        ([HERE, HERE], [errno.EADDRNOTAVAIL, errno.EADDRNOTAVAIL], True, errno.EADDRNOTAVAIL),
        ([NOWHERE], [errno.EADDRNOTAVAIL], False, errno.ENETUNREACH),
    ],
)
def test_of_several_addresses_the_error_of_the_server_is_raised(places, numbers, reachable, wanted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without IPv6, Linux reports that an address cannot be assigned, which is also its error where no port is left."""
    answers = iter(numbers)

    async def fail(_loop: object, _sock: object, _address: object) -> None:
        number = next(answers)
        raise OSError(number, os.strerror(number))

    class Probe(socket.socket):
        def connect(self, _address: object) -> None:
            if not reachable:
                raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", fail)
    monkeypatch.setattr(socket_stamps.socket, "socket", Probe)
    with pytest.raises(OSError) as caught:
        asyncio.run(socket_stamps.connect(places))
    assert caught.value.errno == wanted


def test_a_lookup_that_fails_without_free_sockets_is_a_fault_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    assert client._lacking(socket.gaierror(socket.EAI_SYSTEM, "System error")) is None

    def dup(_number: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "dup", dup)
    assert client._lacking(socket.gaierror(socket.EAI_SYSTEM, "System error")) == "Too many open files"


@pytest.mark.parametrize("platform", ["darwin", "freebsd14"])
def test_the_tcp_state_is_unknown_on_systems_other_than_linux(monkeypatch, platform):
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as sock:
        assert (socket_stamps.tcp_state(sock) or (False,))[0] is True
        monkeypatch.setattr(socket_stamps.sys, "platform", platform)
        assert socket_stamps.tcp_state(sock) is None
