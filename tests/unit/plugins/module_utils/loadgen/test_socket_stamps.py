# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers that arrive while the client stands still, over real sockets of loopback."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import threading
import time

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import client as load
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import socket_stamps
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.destination import Destination, LoadLimits
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Call
from local_servers import SSE, chunk, closed_port, raw, serve, stream

pytestmark = pytest.mark.timing

ANSWER = stream(chunk("To"), chunk("day", "length"), {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}})
STALL = 0.5  # seconds


async def send_one(url: str, stall=lambda: None):
    """(record of one request, seconds until its client goes on): 50 ms after it sent it, it stands still as long as `stall` takes."""
    ended = asyncio.get_running_loop().create_future()
    begin = time.monotonic()
    with contextlib.closing(load.LoadClient(Destination(url), LoadLimits(10.0), lambda record, _call: ended.set_result(record))) as client:
        client.send(Call(0, 0, "tiny", "/v1/completions", b"{}"), 0.0)
        await asyncio.sleep(0.05)
        stall()  # all that this thread does stands still, as on a host that has no core to spare
        back = time.monotonic() - begin
        return await ended, back


async def send_together(url: str, count: int):
    """The records of requests that are sent together and may take half a second."""
    records, over = [], asyncio.get_running_loop().create_future()

    def handle(record, _call):
        records.append(record)
        if len(records) == count:
            over.set_result(None)

    with contextlib.closing(load.LoadClient(Destination(url), LoadLimits(0.5), handle)) as client:
        for number in range(count):
            client.send(Call(number, 0, "tiny", "/v1/completions", b"{}"), 0.0)
        await over
    return records


class Late:
    """A server that answers after 0.2 s, and a client that stands still until STALL after that, however busy this host is."""

    def __init__(self) -> None:
        self.sent = threading.Event()

    def __call__(self, handler, *_request) -> None:
        time.sleep(0.2)
        handler.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Type: {SSE}\r\nContent-Length: {len(ANSWER)}\r\n\r\n".encode() + ANSWER)
        self.sent.set()

    def stall(self) -> None:
        assert self.sent.wait(60.0)
        time.sleep(STALL)


def stamps() -> bool:
    """Whether this kernel stamps packets of loopback (SO_TIMESTAMPNS is 35), checked without the product."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as sender, listener.accept()[0] as receiver:
        try:
            receiver.setsockopt(socket.SOL_SOCKET, 35, 1)
        except OSError:
            return False
        sender.sendall(b"x")
        return any(kind == 35 for _level, kind, _data in receiver.recvmsg(1, 64)[1])


@pytest.mark.skipif(not stamps(), reason="this kernel stamps no packets")
def test_a_client_stall_is_not_measured_as_server_latency():
    late = Late()
    with serve(late) as url:
        record, back = asyncio.run(send_one(url, late.stall))
    assert record.error is None and 0.2 <= record.ttft <= back - STALL and record.first <= record.last <= record.end


def test_without_stamps_its_own_clock_is_what_it_has(monkeypatch):
    monkeypatch.setattr(socket_stamps, "STAMPED", False)
    late = Late()
    with serve(late) as url:
        record, back = asyncio.run(send_one(url, late.stall))
    assert record.error is None and back - 0.05 <= record.ttft


def test_a_clock_change_moves_no_timestamp_before_the_request(monkeypatch):
    monkeypatch.setattr(socket_stamps.StampedSocket, "behind", 3600.0)
    with serve(Late()) as url:
        record, _back = asyncio.run(send_one(url))
    assert record.error is None and record.sent == record.first == record.last == record.end


def test_a_packet_without_a_stamp_is_read_all_the_same():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        made = socket_stamps.StampedSocket(fileno=ours.detach())
        with made:
            made.begin_stamps()
            theirs.sendall(b"abcdef")
            kept = bytearray(16)
            assert made.recv_into(kept, 4) == 4 and bytes(kept[:5]) == b"abcd\0"
            assert 0.0 <= made.behind < 60.0
            theirs.close()
            assert made.recv_into(kept) == 2 and made.recv_into(kept) == 0 and made.behind == 0.0


def test_a_name_is_tried_at_each_of_its_addresses():
    """localhost has two on most hosts; the server listens on one."""
    with serve(lambda *_request: (200, {"Content-Type": SSE}, ANSWER)) as url:
        record, _back = asyncio.run(send_one(url.replace("127.0.0.1", "localhost")))
    assert record.error is None


@pytest.mark.parametrize(("url", "kind"), [("http://127.0.0.1:{port}", "refused"), ("http://no-such-host.invalid:{port}", "dns")])
def test_an_unreachable_server_is_recorded_with_the_kind_of_error(url, kind):
    record, _back = asyncio.run(send_one(url.format(port=closed_port())))
    assert record.error == kind


def test_a_resolver_that_does_not_answer_is_not_waited_for(monkeypatch):
    real, asleep, looked = socket.getaddrinfo, threading.Event(), []

    def look(host, *args, **options):
        if host == "slow.example.com" and not options.get("flags"):
            looked.append(host)
            asleep.wait(20)
            raise socket.gaierror(socket.EAI_AGAIN, "too late")
        return real(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look)
    begin = time.monotonic()
    records = asyncio.run(send_together("http://slow.example.com:8000", 5))
    asleep.set()
    assert time.monotonic() - begin < 10 and looked == ["slow.example.com"]
    assert {(record.error, record.detail) for record in records} == {("dns", "the name slow.example.com was not looked up within 0.5 s")}


@pytest.mark.filterwarnings("error")
def test_a_refused_connection_leaves_no_socket_open():
    async def refused():
        with pytest.raises(ConnectionRefusedError):
            await socket_stamps.connect(await socket_stamps.resolve("127.0.0.1", closed_port()))

    asyncio.run(refused())
    gc.collect()  # a socket that is not closed warns when it is collected


def test_one_connection_at_its_bytes():
    """An answer that the server sends at once before it closes the connection is read to its end."""
    with raw(lambda connection: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + ANSWER)) as url:
        record, _back = asyncio.run(send_one(url, lambda: time.sleep(0.3)))
    assert record.error is None and record.output_tokens == 2
