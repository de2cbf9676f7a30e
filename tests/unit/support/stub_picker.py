# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An endpoint picker for tests on loopback, which implements the Endpoint Picker Protocol except for the defects that a test enables."""

from __future__ import annotations

import collections.abc as c
import contextlib
import itertools
import json
import socket
import threading
import typing as t

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from ansible_collections.llm_d.inference.plugins.module_utils.common.protobuf import bytes_of, field, fields, message_of, messages, number_of, text_of
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.ext_proc import DESTINATION, SUBSET, SUBSET_SPACE
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.picker_checks import NOBODY, TEST_HEADER

Message = dict[int, list[t.Any]]
PIECE = 60000
# Defects with their descriptions.
DEFECTS = {
    "stranger": "it sometimes picks an endpoint that does not exist",
    "no_header": "it sets no header",
    "no_metadata": "it sets no dynamic metadata",
    "differ": "header and metadata differ",
    "no_port": "it names an address without a port",
    "twice": "it names an endpoint twice",
    "fallback": "its second endpoint is not in the pool",
    "ignore_subset": "it ignores the subset",
    "ignore_ports": "it ignores the ports of the subset",
    "subset_or_any": "it picks any endpoint if the subset has none of the pool",
    "empty_is_none": "it treats an empty subset as a missing one",
    "error_500": "it answers 500 instead of 503",
    "grpc_error": "it ends the stream instead of answering 503",
    "no_get": "it does not answer a request without a body",
    "get_random": "it ignores the subset of a request without a body",
    "mixed_up": "streams share the latest request",
    "unready": "it picks Pods that are not ready",
    "draining": "it picks Pods that terminate",
    "never_forgets": "it keeps endpoints of deleted Pods",
    "never_learns": "it ignores Pods that are created after its start",
    "forgets_body": "it does not pass the body on",
    "first_piece": "it passes on only the first piece of a body",
    "truncates": "it passes on only the first 100 KB of a body",
    "holds_back": "it passes a response on only at its end",
    "swallows_end": "it does not pass the end of a response on",
    "changes": "it changes the body of the response",
    "hangs_on_bad": "it does not answer a body that is not JSON",
    "passes_bad_500": "it answers 500 to a body that is not JSON",
    "leaks": "it closes connections after several streams have been reset",
    "believes_client": "it uses the destination header of the client",
    "appends": "it appends its endpoint to that of the client",
    "subset_header": "it reads the subset from a header of the client",
    "test_header": "it reads the endpoint from a header of the client",
    "not_serving": "its health service says NOT_SERVING",
    "no_liveness": "its health service does not support liveness",
}


class StubPicker:
    """endpoints: called at each request; returns the current endpoints by the reason not to pick them: {"": ready ones, "unready", "terminating"}."""

    def __init__(self, endpoints: c.Callable[[], dict[str, list[str]]]) -> None:
        self.defects: set[str] = set()
        self._endpoints, self._turn = endpoints, itertools.count()
        self._observed: set[str] = set()
        self._first: list[str] | None = None
        self.shared: dict[str, t.Any] = {}
        self.broken_off = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def break_with(self, *defects: str) -> None:
        """Enables these defects only, and resets the state."""
        self.defects = set(defects)
        self._observed, self._first, self.broken_off = set(), None, 0

    def close(self) -> None:
        self._listening.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                accepted, _address = self._listening.accept()
                threading.Thread(target=self._talk, args=(accepted,), daemon=True).start()

    def _talk(self, accepted: socket.socket) -> None:
        with accepted, contextlib.suppress(OSError, h2.exceptions.H2Error):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _Connection(self, accepted).run()

    def choose(self, subset: list[str] | None, stream: int) -> list[str] | int:
        """The endpoints to name, or the status of an error."""
        known = self._known()
        if subset is not None and "ignore_subset" not in self.defects and not (not subset and "empty_is_none" in self.defects):
            hosts = {each.rpartition(":")[0] for each in subset} if "ignore_ports" in self.defects else set()
            among = [each for each in known if each in subset or each.rpartition(":")[0] in hosts]
            known = among or (known if "subset_or_any" in self.defects and subset else [])
        if not known:
            return 500 if "error_500" in self.defects else 503
        turn = next(self._turn)
        picked = [known[turn % len(known)]]
        if "stranger" in self.defects and turn % 8 == 7:
            picked = [NOBODY]
        if "fallback" in self.defects:
            picked.append(NOBODY)
        if "twice" in self.defects:
            picked *= 2
        return [each.rpartition(":")[0] for each in picked] if "no_port" in self.defects else picked

    def _known(self) -> list[str]:
        now = self._endpoints()
        known = [*now[""], *(now["unready"] if "unready" in self.defects else []), *(now["terminating"] if "draining" in self.defects else [])]
        if self._first is None:
            self._first = known
        self._observed |= set(known)
        if "never_learns" in self.defects:
            return self._first
        return sorted(self._observed) if "never_forgets" in self.defects else known


class _Connection:
    """One HTTP/2 connection."""

    def __init__(self, stub: StubPicker, accepted: socket.socket) -> None:
        self.stub, self._socket = stub, accepted
        self._protocol: t.Any = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self._calls: dict[int, _Call] = {}
        self._late: list[tuple[int, bytes, bool]] = []  # (stream, data, whether the stream ends) that wait for room in the flow-control window

    def run(self) -> None:
        self._protocol.initiate_connection()
        self._protocol.increment_flow_control_window(1 << 24)
        self._flush()
        while data := self._socket.recv(1 << 16):
            for event in self._protocol.receive_data(data):
                self._take(event)
            self._send_late()
            self._flush()

    def _take(self, event: t.Any) -> None:
        if isinstance(event, h2.events.RequestReceived):
            path = dict(event.headers)[":path"]
            self._calls[event.stream_id] = _Call(self, event.stream_id, path)
            with contextlib.suppress(h2.exceptions.ProtocolError):  # it may have been reset since
                self._protocol.send_headers(event.stream_id, [(":status", "200"), ("content-type", "application/grpc")])
        elif isinstance(event, h2.events.DataReceived):
            with contextlib.suppress(h2.exceptions.ProtocolError):
                self._protocol.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if event.stream_id in self._calls:
                self._calls[event.stream_id].take(event.data)
        elif isinstance(event, h2.events.StreamEnded):
            self.end(event.stream_id, 0)
        elif isinstance(event, h2.events.StreamReset):
            self._calls.pop(event.stream_id, None)
            self.stub.broken_off += 1
            if "leaks" in self.stub.defects and self.stub.broken_off > 3:
                raise OSError

    def send(self, stream: int, message: bytes) -> None:
        self._late.append((stream, b"\0" + len(message).to_bytes(4, "big") + message, False))

    def end(self, stream: int, status: int) -> None:
        if self._calls.pop(stream, None):
            self._late.append((stream, str(status).encode(), True))

    def _send_late(self) -> None:
        while self._late:
            stream, data, last = self._late[0]
            try:
                if last:
                    self._protocol.send_headers(stream, [("grpc-status", data.decode()), ("grpc-message", "on request")], end_stream=True)
                    data = b""
                else:
                    room = min(self._protocol.local_flow_control_window(stream), self._protocol.max_outbound_frame_size)
                    if room > 0:
                        self._protocol.send_data(stream, data[:room])
                    data = data[max(room, 0) :]
            except h2.exceptions.ProtocolError:
                data = b""
            if data:
                self._late[0] = (stream, data, last)
                self._flush()
                if room <= 0:
                    return
            else:
                self._late.pop(0)

    def _flush(self) -> None:
        self._socket.sendall(self._protocol.data_to_send())


class _Call:
    """One call: a request of a gateway, or a health check."""

    def __init__(self, connection: _Connection, stream: int, path: str) -> None:
        self._connection, self._stream, self._health = connection, stream, path.endswith("/Check")
        self._stub = connection.stub
        self._buffer = b""
        self._own: dict[str, t.Any] = {"headers": {}, "subset": None, "body": b"", "first": b"", "held": b""}

    @property
    def _state(self) -> dict[str, t.Any]:
        return self._stub.shared if "mixed_up" in self._stub.defects and self._stub.shared else self._own

    def take(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= 5 and len(self._buffer) >= 5 + (size := int.from_bytes(self._buffer[1:5], "big")):
            message, self._buffer = fields(self._buffer[5 : 5 + size]), self._buffer[5 + size :]
            (self._check if self._health else self._process)(message)

    def _check(self, message: Message) -> None:
        if text_of(message, 1) == "liveness" and "no_liveness" in self._stub.defects:
            self._connection.end(self._stream, 5)
            return
        self._connection.send(self._stream, field(1, 2 if "not_serving" in self._stub.defects else 1))

    def _process(self, message: Message) -> None:
        if (headers := message_of(message, 2)) is not None:
            self._own["headers"] = {text_of(each, 1): bytes_of(each, 3).decode() for each in messages(message_of(headers, 1) or {}, 1)}
            self._own["subset"] = _subset(message_of(message, 8))
            self._stub.shared = self._own
            if number_of(headers, 3):
                self._pick(False)
        elif (body := message_of(message, 4)) is not None:
            self._own["body"] += bytes_of(body, 1)
            self._own["first"] = self._own["first"] or bytes_of(body, 1)
            if number_of(body, 2):
                self._check_body()
        elif 3 in message:
            self._connection.send(self._stream, field(2, field(1, b"")))
        elif (body := message_of(message, 5)) is not None:
            self._respond(bytes_of(body, 1), bool(number_of(body, 2)))

    def _check_body(self) -> None:
        try:
            json.loads(self._own["body"])
        except ValueError:
            if "hangs_on_bad" not in self._stub.defects:
                self._refuse(500 if "passes_bad_500" in self._stub.defects else 400)
            return
        self._pick(True)

    def _refuse(self, status: int) -> None:
        if "grpc_error" in self._stub.defects:
            self._connection.end(self._stream, 13)
            return
        self._connection.send(self._stream, field(7, field(1, field(1, status))))
        self._connection.end(self._stream, 0)

    def _pick(self, has_body: bool) -> None:
        state, defects = self._state, self._stub.defects
        if not has_body and "no_get" in defects:
            return
        headers, subset = state["headers"], state["subset"]
        if "subset_header" in defects and SUBSET in headers:
            subset = headers[SUBSET].split(",")
        if "test_header" in defects and TEST_HEADER in headers:
            subset = headers[TEST_HEADER].split(",")
        picked = self._stub.choose(None if not has_body and "get_random" in defects else subset, self._stream)
        if isinstance(picked, int):
            self._refuse(picked)
            return
        if "believes_client" in defects and DESTINATION in headers:
            picked = [headers[DESTINATION]]
        value = ",".join(picked)
        option = field(1, field(1, DESTINATION) + field(3, value)) + (field(2, field(1, True)) if "appends" in defects else b"")
        mutation = b"" if "no_header" in defects else field(2, field(1, option))
        value = NOBODY if "differ" in defects else value
        struct = field(1, field(1, DESTINATION) + field(2, field(3, value)))
        dynamic = field(1, field(1, "envoy.lb") + field(2, field(5, struct)))
        self._connection.send(self._stream, field(1, field(1, mutation)) + (b"" if "no_metadata" in defects else field(8, dynamic)))
        if has_body:
            self._pass_on()

    def _pass_on(self) -> None:
        defects, body = self._stub.defects, self._own["body"]
        if "forgets_body" in defects:
            self._connection.send(self._stream, field(3, field(1, b"")))
            return
        body = self._own["first"] if "first_piece" in defects else body[:100_000] if "truncates" in defects else body
        for at in range(0, len(body), PIECE):
            self._body(3, body[at : at + PIECE], at + PIECE >= len(body))

    def _respond(self, data: bytes, last: bool) -> None:
        if "holds_back" in self._stub.defects:
            self._own["held"] += data
            data = self._own["held"] if last else b""
        if "changes" in self._stub.defects:
            data = data.replace(b"word", b"WORD")
        if data or (last and "swallows_end" not in self._stub.defects):
            self._body(4, data, last)

    def _body(self, number: int, data: bytes, last: bool) -> None:
        streamed = field(3, field(1, data) + field(2, last))
        self._connection.send(self._stream, field(number, field(1, field(3, streamed))))


def _subset(metadata: Message | None) -> list[str] | None:
    for entry in messages(metadata or {}, 1):
        if text_of(entry, 1) == SUBSET_SPACE:
            for value in messages(message_of(entry, 2) or {}, 1):
                if text_of(value, 1) == SUBSET:
                    listed = message_of(message_of(value, 2) or {}, 6) or {}
                    return [text_of(each, 3) for each in messages(listed, 1)]
    return None
