# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends requests to an endpoint picker as a gateway does: requests and responses by external processing, and its health service."""

from __future__ import annotations

import collections.abc as c
import contextlib
import math
import time
import uuid

from ..common.protobuf import field, fields, number_of
from ..http.grpc import GrpcConnection, GrpcError, GrpcStream
from .ext_proc import DESTINATION, METHOD, HeaderChange, ProcessingResponse, body_message, headers_message, read_response, served_metadata, subset_metadata
from .picker_checks import PickerReply, PickerRequest

HEALTH_METHOD = "/grpc.health.v1.Health/Check"
STATES = {0: "UNKNOWN", 1: "SERVING", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
ANSWER = 10.0  # seconds for the answers to requests that are sent together
PIECE_ANSWER = 3.0  # seconds for a piece of a streamed response to be passed on


class PickerStream:
    """One HTTP request of a gateway, which is one stream: begin, go_on, reply, then response."""

    def __init__(self, connection: GrpcConnection, request: PickerRequest) -> None:
        self._stream: GrpcStream = connection.call(METHOD)
        self._request, self._has_body, self._metadata = request, request.body is not None, subset_metadata(request.subset)
        self._pieces = 0

    def begin(self) -> None:
        """Sends the headers. Raises GrpcError."""
        head = [(":method", "POST" if self._has_body else "GET"), (":path", "/v1/chat/completions" if self._has_body else "/v1/models")]
        head += [(":scheme", "http"), (":authority", "conformance"), ("x-request-id", str(uuid.uuid4())), *self._request.headers]
        head += [("content-type", "application/json")] if self._has_body else []
        self._stream.send(headers_message("request_headers", head, not self._has_body, self._metadata))

    def go_on(self, part: float = 1.0) -> None:
        """Sends the body, or the first part of it. Raises GrpcError."""
        body = self._request.body or b""
        places = range(0, max(len(body), 1), self._request.piece) if self._has_body else range(0)
        for at in places[: math.ceil(len(places) * part)]:
            self._pieces += 1
            self._stream.send(body_message("request_body", body[at : at + self._request.piece], at == places[-1], self._metadata))

    def reply(self, late: float) -> PickerReply:
        """The answer to the request until the time `late` (monotonic); an error is a PickerReply too."""
        changes: list[HeaderChange] = []
        destination: str | None = None
        body: bytes | None = None
        answered, whole, bodies = False, not self._has_body, 0
        while not (answered and whole):
            message = self._receive(late - time.monotonic())
            if isinstance(message, str):
                return PickerReply(tuple(changes), destination, body=body, error=message)
            if message.kind == "immediate":
                return PickerReply(tuple(changes), destination, message.status, body)
            changes += [change for change in message.headers if change.name == DESTINATION]
            destination = message.destination if message.destination is not None else destination
            answered = answered or message.kind == "request_headers"
            if message.kind == "request_body":
                bodies += 1
                body = body if message.body is None else (body or b"") + message.body
                # An endpoint picker that streams marks the last piece; another answers each piece.
                whole = message.end or (body is None and bodies >= self._pieces)
        return PickerReply(tuple(changes), destination, body=body)

    def response(self, endpoint: str, pieces: c.Sequence[bytes]) -> list[bytes | None]:
        """The bytes passed on for each piece of a streamed response before the next is sent; None for none. An empty piece is the end. Raises GrpcError."""
        metadata = served_metadata(endpoint)
        self._stream.send(headers_message("response_headers", [(":status", "200"), ("content-type", "text/event-stream")], False, metadata))
        if isinstance(self._receive(ANSWER), str):
            return [None] * len(pieces)
        passed: list[bytes | None] = []
        for piece in pieces:
            passed.append(self._passed(piece, metadata) if None not in passed else None)
        return passed

    def _passed(self, piece: bytes, metadata: bytes) -> bytes | None:
        self._stream.send(body_message("response_body", piece, not piece, metadata))
        passed, ended = b"", bool(piece)
        while len(passed) < len(piece) or not ended:
            message = self._receive(PIECE_ANSWER)
            if isinstance(message, str) or message.kind != "response_body" or message.body is None:
                return passed or None
            passed += message.body
            ended = ended or message.end
        return passed

    def close(self, orderly: bool = True) -> None:
        """Ends the stream. orderly: False resets it."""
        if not orderly:
            self._stream.cancel()
            return
        with contextlib.suppress(GrpcError):
            self._stream.end()

    def _receive(self, timeout: float) -> ProcessingResponse | str:
        """The next message, or the reason why there is none."""
        try:
            data = self._stream.receive(timeout)
            if data is None:
                return f"the stream ends with gRPC status {self._stream.status} ({self._stream.reason or 'no message'})"
            return read_response(data)
        except (GrpcError, ValueError) as error:
            return str(error)


def ask(connection: GrpcConnection, requests: c.Sequence[PickerRequest]) -> list[PickerReply]:
    """The reply to each request: first the headers of all are sent, then the bodies, then the replies are read. Raises GrpcError."""
    streams = [PickerStream(connection, request) for request in requests]
    for stream in streams:
        stream.begin()
    for stream in streams:
        stream.go_on()
    late = time.monotonic() + ANSWER
    replies = [stream.reply(late) for stream in streams]
    for stream, reply in zip(streams, replies, strict=True):
        stream.close(orderly=not reply.error)
    return replies


def answer(connection: GrpcConnection, request: PickerRequest, pieces: c.Sequence[bytes]) -> tuple[PickerReply, list[bytes | None]]:
    """The reply to a request, and the bytes passed on for each piece of its response. Raises GrpcError."""
    stream = PickerStream(connection, request)
    stream.begin()
    stream.go_on()
    reply = stream.reply(time.monotonic() + ANSWER)
    passed: list[bytes | None] = [None] * len(pieces)
    if reply.endpoints and not reply.error:
        passed = stream.response(reply.endpoints[0], pieces)
    stream.close(orderly=all(piece is not None for piece in passed))
    return reply, passed


def break_off(connection: GrpcConnection, request: PickerRequest) -> PickerReply:
    """Sends half of a request, resets its stream, and sends it again over the same connection; returns the second reply. Raises GrpcError."""
    stream = PickerStream(connection, request)
    stream.begin()
    stream.go_on(0.5)
    stream.close(orderly=False)
    return ask(connection, [request])[0]


def health(connection: GrpcConnection, service: str) -> str:
    """The status of a service from the health service, such as SERVING; an error is returned as text. Raises GrpcError."""
    call = connection.call(HEALTH_METHOD)
    call.send(field(1, service), end=True)
    data = call.receive(ANSWER)
    if data is None:
        return f"gRPC status {call.status} ({call.reason or 'no message'})"
    try:
        return STATES.get(number_of(fields(data), 1), "no known state")
    except ValueError as error:
        return str(error)
