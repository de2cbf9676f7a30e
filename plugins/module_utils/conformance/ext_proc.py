# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages of Envoy's external processing that gateways and endpoint pickers send: writes requests, and reads responses. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses

from ..common.protobuf import Message, bytes_of, field, fields, message_of, messages, number_of, text_of

METHOD = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"
DESTINATION = "x-gateway-destination-endpoint"
DESTINATION_SPACE = "envoy.lb"
SERVED = "x-gateway-destination-endpoint-served"
SUBSET = "x-gateway-destination-endpoint-subset"
SUBSET_SPACE = "envoy.lb.subset_hint"

# Numbers of fields of ProcessingRequest and ProcessingResponse.
_REQUEST = {"request_headers": 2, "response_headers": 3, "request_body": 4, "response_body": 5}
_RESPONSE = {1: "request_headers", 2: "response_headers", 3: "request_body", 4: "response_body", 5: "request_trailers", 6: "response_trailers"}
_IMMEDIATE, _DYNAMIC_METADATA, _METADATA_CONTEXT, _PROTOCOL = 7, 8, 8, 11
_FULL_DUPLEX = 4  # ProcessingMode.BodySendMode
# HeaderValueOption.append_action.
_ADD_IF_ABSENT = 1

Pairs = c.Sequence[tuple[str, str]]


@dataclasses.dataclass(frozen=True)
class HeaderChange:
    """A header to set. keeps: whether the request keeps its own value, beside this one or in its place."""

    name: str
    value: str
    keeps: bool


@dataclasses.dataclass(frozen=True)
class ProcessingResponse:
    """One response. kind: the part of the exchange that it is about, or `immediate`.

    status: that of an immediate response; destination: that in the dynamic metadata; body: a piece of a streamed body or a replaced body, None without one.
    """

    kind: str
    headers: tuple[HeaderChange, ...] = ()
    removed: tuple[str, ...] = ()
    status: int = 0
    destination: str | None = None
    body: bytes | None = None
    streamed: bool = False
    end: bool = False


def headers_message(kind: str, headers: Pairs, end: bool, metadata: bytes = b"") -> bytes:
    """A ProcessingRequest with headers; the first message of a stream also requests that bodies are streamed in both directions."""
    entries = b"".join(field(1, field(1, name) + field(3, value)) for name, value in headers)
    message = field(_REQUEST[kind], field(1, entries) + field(3, end))
    if kind == "request_headers":
        message += field(_PROTOCOL, field(1, _FULL_DUPLEX) + field(2, _FULL_DUPLEX))
    return message + (field(_METADATA_CONTEXT, metadata) if metadata else b"")


def body_message(kind: str, data: bytes, end: bool, metadata: bytes = b"") -> bytes:
    """A ProcessingRequest with a piece of a body."""
    message = field(_REQUEST[kind], field(1, data) + field(2, end))
    return message + (field(_METADATA_CONTEXT, metadata) if metadata else b"")


def subset_metadata(endpoints: c.Sequence[str] | None) -> bytes:
    """core.v3.Metadata with the endpoints of which one must be picked; empty for None."""
    if endpoints is None:
        return b""
    values = b"".join(field(1, field(3, endpoint)) for endpoint in endpoints)
    return _metadata(SUBSET_SPACE, SUBSET, field(6, values))


def served_metadata(endpoint: str) -> bytes:
    """core.v3.Metadata with the endpoint that answered."""
    return _metadata(DESTINATION_SPACE, SERVED, field(3, endpoint))


def _metadata(space: str, key: str, value: bytes) -> bytes:
    struct = field(1, field(1, key) + field(2, value))
    return field(1, field(1, space) + field(2, struct))


def read_response(data: bytes) -> ProcessingResponse:
    """A ProcessingResponse. Raises ValueError for invalid bytes."""
    message = fields(data)
    destination = _destination(message)
    if immediate := message_of(message, _IMMEDIATE):
        return ProcessingResponse("immediate", *_headers(message_of(immediate, 2) or {}), status=number_of(message_of(immediate, 1) or {}, 1))
    if _IMMEDIATE in message:
        return ProcessingResponse("immediate")
    for number, kind in _RESPONSE.items():
        if (part := message_of(message, number)) is not None:
            common = message_of(part, 1) or {}
            headers, removed = _headers(message_of(common, 2) or {})
            body, streamed, end = _body(message_of(common, 3))
            return ProcessingResponse(kind, headers, removed, 0, destination, body, streamed, end)
    return ProcessingResponse("", destination=destination)


def _headers(mutation: Message) -> tuple[tuple[HeaderChange, ...], tuple[str, ...]]:
    """(headers to set, names to remove) of a HeaderMutation."""
    changes = []
    for option in messages(mutation, 1):
        header = message_of(option, 1) or {}
        append = message_of(option, 2)
        # An external processor's `append` is false by default, unlike elsewhere in Envoy. ADD_IF_ABSENT keeps an existing value as well.
        appends = append is not None and bool(number_of(append, 1))
        keeps = appends or number_of(option, 3) == _ADD_IF_ABSENT
        value = bytes_of(header, 3) or bytes_of(header, 2)
        changes.append(HeaderChange(text_of(header, 1).lower(), value.decode("utf-8", "replace"), keeps))
    removed = tuple(name.decode("utf-8", "replace").lower() for name in mutation.get(2, []) if isinstance(name, bytes))
    return tuple(changes), removed


def _body(mutation: Message | None) -> tuple[bytes | None, bool, bool]:
    """(body, whether it is streamed, whether it is the last piece) of a BodyMutation."""
    if mutation is None:
        return None, False, False
    if (streamed := message_of(mutation, 3)) is not None:
        return bytes_of(streamed, 1), True, bool(number_of(streamed, 2))
    return (bytes_of(mutation, 1) if 1 in mutation else b""), False, True


def _destination(message: Message) -> str | None:
    """The endpoints in the dynamic metadata, a Struct of a Struct."""
    for space in messages(message_of(message, _DYNAMIC_METADATA) or {}, 1):
        if text_of(space, 1) != DESTINATION_SPACE:
            continue
        for entry in messages(message_of(message_of(space, 2) or {}, 5) or {}, 1):
            if text_of(entry, 1) == DESTINATION:
                return text_of(message_of(entry, 2) or {}, 3)
    return None
