# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP/1.1 as bytes, cut anywhere."""

from __future__ import annotations

import contextlib
import itertools
import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen import http11
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.answer_reader import AnswerReader
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.http11 import ResponseParser, WireError
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from hypothesis import given
from hypothesis import strategies as st

BODIES = st.lists(st.binary(min_size=1, max_size=40), max_size=6)
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
CUTS = st.lists(st.integers(0, 400), max_size=8)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place for place in places if place < len(data)), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def chunked(parts: list[bytes]) -> bytes:
    return CHUNKED + b"".join(b"%X;x=1\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\nTrailer: 1\r\n\r\n"


@given(BODIES, CUTS)
def test_a_chunked_body_is_the_same_however_it_is_cut(parts, places):
    parser = ResponseParser()
    body = b"".join(piece for data in cut(chunked(parts), places) for piece in parser.feed(data))
    assert body == b"".join(parts) and parser.done and parser.keep_alive and parser.status == 200


@given(st.binary(max_size=200), CUTS)
def test_a_counted_body_is_the_same_however_it_is_cut(content, places):
    parser = ResponseParser()
    data = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(content), content)
    assert b"".join(piece for part in cut(data, places) for piece in parser.feed(part)) == content
    assert parser.done and not parser.keep_alive and parser.status == 503


@given(st.lists(st.binary(max_size=60), max_size=6), st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n", chunked([b"data: 1\n\n"])[:-4]]))
def test_arbitrary_bytes_raise_only_wire_errors(parts, start):
    parser = ResponseParser()
    with contextlib.suppress(WireError):
        for part in [start, *parts]:
            parser.feed(part)


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60).map(lambda data: b"data: " + data + b"\n\n"),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.text(max_size=5),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(
                        st.sampled_from(["choices", "usage", "delta", "error", "text", "prompt_tokens_details", "completion_tokens", "finish_reason"]),
                        inner,
                        max_size=4,
                    )
                ),
                max_leaves=8,
            ).map(lambda value: b"data: " + json.dumps(value).encode() + b"\n\n"),
        ),
        max_size=8,
    )
)
def test_an_arbitrary_event_stream_raises_no_exception(events):
    record = Record(0, 0, 0.0, sent=0.0)
    reader = AnswerReader(record, 2)
    reader.feed(chunked([b"\n", *events]), 1.0)
    reader.eof(9.0)
    assert reader.done and (record.error is None or record.detail)


def test_an_interim_100_continue_answer_is_skipped():
    parser = ResponseParser()
    assert parser.feed(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n") == [] and parser.status == 204 and parser.done


@pytest.mark.parametrize(
    ("first", "lines", "kept"),
    [
        ("1.1", ["Upgrade, close"], False),
        ("1.1", ["Close , TE"], False),
        ("1.1", ["close", "TE"], False),
        ("1.1", ["keep-alive, Upgrade"], True),
        ("1.1", ["closed"], True),
        ("1.0", ["Upgrade, Keep-Alive"], True),
        ("1.0", ["TE"], False),
    ],
)
def test_a_connection_header_is_read_as_a_list(first, lines, kept):
    parser = ResponseParser()
    headers = "".join(f"Connection: {line}\r\n" for line in lines)
    parser.feed(f"HTTP/{first} 200 OK\r\n{headers}Content-Length: 0\r\n\r\n".encode())
    assert parser.done and parser.keep_alive == kept


def test_a_connection_with_surplus_bytes_is_not_kept():
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n")
    assert parser.done and not parser.keep_alive


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0",
        b"\x15\x03\x01",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * http11.MAX_HEAD,
        CHUNKED + b"5\r\nlonger than five",
        CHUNKED + b"f" * 20 + b"\r\n",
        CHUNKED + b"1" * http11.MAX_LINE * 2,
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    ],
)
def test_malformed_http_raises_a_wire_error(data):
    with pytest.raises(WireError):
        ResponseParser().feed(data)


def test_a_request_is_bytes():
    request = http11.post("/v1/completions", b"Host: example.com\r\nAccept: text/event-stream\r\n", b"{}")
    assert request == b"POST /v1/completions HTTP/1.1\r\nHost: example.com\r\nAccept: text/event-stream\r\nContent-Length: 2\r\n\r\n{}"
