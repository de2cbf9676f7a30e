# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of answers from their bytes: whole or in pieces, plain or odd, and never an exception other than WireError."""

from __future__ import annotations

import itertools
import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.answer_reader import AnswerReader
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.http11 import WireError
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from hypothesis import given
from hypothesis import strategies as st
from local_servers import chunk, stream
from property_tests import examples

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
TEXTS = st.one_of(
    st.sampled_from(["a", "text", "index", "null", " the", "0", "cmpl-1", "{", '"', "\\", "\u00e9", "\u20ac", "[DONE]", "error", "\t"]), st.text(max_size=5)
)
EVENTS = st.one_of(
    TEXTS.map(chunk),
    TEXTS.map(lambda text: {"choices": [{"index": 0, "delta": {"content": text}}]}),
    TEXTS.map(lambda text: {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]}),
    TEXTS.map(lambda text: {"choices": [{"text": text, "finish_reason": "stop"}]}),
    TEXTS.map(lambda text: {"error": {"message": text}}),
    st.sampled_from(
        [{"choices": []}, {"choices": [1]}, {"choices": [{"text": 7}]}, {"choices": {}}, [], 1, {"usage": {"completion_tokens": 3}, "choices": []}]
    ),
)


def body(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def read(data: bytes, cuts: list[int], learn: bool = True) -> AnswerReader:
    """A reader that was fed the bytes, cut at these places."""
    reader = AnswerReader(Record(0, 0, 0.0, 0.0), 0, keep_text=True)
    if not learn:
        reader._learn = lambda *_args: None
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for now, (start, end) in enumerate(itertools.pairwise(places), 1):
        if not reader.done:
            reader.feed(data[start:end], float(now))
    reader.eof(99.0)
    return reader


def outcome(reader: AnswerReader) -> tuple:
    record = reader.record
    return record.error, record.detail, record.chunks, record.output_tokens, record.text


@examples(300)
@given(st.lists(EVENTS, max_size=12), st.booleans(), st.lists(st.integers(0, 10_000), max_size=6))
def test_the_shortcut_for_similar_events_does_not_change_the_record(events, ascii_only, cuts):
    frames = [f"data: {json.dumps(event, ensure_ascii=ascii_only)}\n\n".encode("utf-8", "surrogatepass") for event in events]
    data = HEAD + b"".join(map(body, frames)) + body(b"data: [DONE]\n\n") + b"0\r\n\r\n"
    assert outcome(read(data, [])) == outcome(read(data, [], learn=False)) == outcome(read(data, cuts))


def test_most_events_are_not_parsed():
    reader = AnswerReader(Record(0, 0, 0.0, 0.0), 0, keep_text=True)
    reader.feed(HEAD, 0.5)
    reader._value = lambda value, own=reader._value, calls=[]: (calls.append(1), own(value), setattr(reader, "parsed", len(calls)))
    for now in range(50):
        reader.feed(body(stream(chunk(f"word{now} "), done=False)), 1.0 + now)
    reader.feed(body(stream(chunk("", "stop"))) + b"0\r\n\r\n", 60.0)
    assert reader.record.chunks == 50 and len(reader.record.gaps) == 49 and reader.record.error is None
    assert reader.parsed == 2 and reader.record.text.startswith("word0 word1 ")


@examples(300)
@given(st.binary(max_size=300), st.lists(st.integers(0, 400), max_size=5), st.sampled_from([b"", HEAD, HEAD.replace(b"chunked", b"identity")]))
def test_any_bytes_end_in_a_record_or_a_wire_error(data, cuts, head):
    try:
        reader = read(head + data, cuts)
    except WireError:
        return
    assert reader.done and reader.record.error


def chat(finish=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def usage(tokens):
    return {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": tokens}}


@pytest.mark.parametrize(
    ("events", "wanted", "chunks", "gaps", "error"),
    [
        # vLLM sends an event for each token, also for one without visible text: a special one after the end, half a character
        ([chunk(""), chunk("a"), chunk(""), chunk("", "length"), usage(4)], 4, 4, [1, 1, 1], None),
        ([chunk(""), chunk(""), chunk("", "length"), usage(3)], 3, 3, [1, 1], None),
        # the simulator and others send the reason for the end by itself
        ([chunk("a"), chunk("b"), chunk("", "length"), usage(2)], 2, 2, [1], None),
        ([chat(role="assistant", content=""), chat(content="a"), chat(content=""), chat("stop", content=""), usage(2)], 0, 2, [1], None),
        ([chat(role="assistant", content="a"), chat(content="b"), chat("stop", content=""), usage(3)], 0, 3, [1, 1], None),
        ([chat(role="assistant", content=""), chat(reasoning_content="why"), chat("stop", content=None), usage(1)], 0, 1, [], None),
        # text may come after it: two choices that end apart, or a server that goes on after a finish reason
        ([chunk("", "stop"), chunk("a"), chunk("b"), usage(3)], 0, 3, [1], None),
        # an answer without any text is empty, unless as many tokens came as were requested
        ([chunk(""), chunk("", "stop"), usage(2)], 0, 2, [1], "empty"),
        ([chunk("", "stop"), usage(1)], 0, 1, [], "empty"),
        ([chunk("", "stop")], 0, 0, [], "empty"),
        ([chat(role="assistant", content=""), chat("stop")], 0, 0, [], "empty"),
        # the server gave up, and says so by the reason alone
        ([chunk("a"), chunk("b", "abort"), usage(2)], 0, 2, [1], "aborted"),
        ([chunk("a"), chunk("b"), chunk("", "error"), usage(2)], 0, 2, [1], "aborted"),
        *(
            ([chunk("a"), chunk("b", outcome), usage(2)], 0, 2, [1], "aborted")
            for outcome in ("timeout", "cancelled", "ERROR", {"type": "abort", "message": "out of time"})
        ),
        ([chunk("a"), chunk("b", "content_filter"), usage(2)], 0, 2, [1], None),
        ([chunk("a"), {"object": "error", "message": "out of memory", "code": 500}, chunk("b", "stop")], 0, 1, [], "error_in_stream"),
        ([chat(role="assistant", content="a"), chat({"odd": 1}, content="b"), usage(2)], 0, 2, [1], None),
    ],
)
def test_a_token_without_text_is_a_token(events, wanted, chunks, gaps, error):
    reader = AnswerReader(Record(0, 0, 0.0, 0.0), wanted)
    reader.feed(HEAD, 0.5)
    for now, event in enumerate(events):
        reader.feed(body(stream(event, done=False)), 1.0 + now)
    reader.feed(body(b"data: [DONE]\n\n") + b"0\r\n\r\n", 90.0)
    record = reader.record
    assert (record.error, record.chunks, record.gaps) == (error, chunks, gaps)
    assert record.first is None or record.first <= record.last <= record.end


@pytest.mark.parametrize(("wanted", "error"), [(2, None), (0, "empty")])
def test_an_answer_in_one_piece_without_text(wanted, error):
    whole = json.dumps({"choices": [{"text": "", "finish_reason": "length"}], "usage": {"completion_tokens": 2}}).encode()
    reader = AnswerReader(Record(0, 0, 0.0, 0.0), wanted, stream=False)
    reader.feed(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(whole), whole), 2.0)
    assert reader.record.error == error and reader.record.first == reader.record.last == 2.0


@pytest.mark.parametrize(
    "answer", [{"error": {"message": "boom"}}, {"object": "error", "message": "boom", "choices": [{"text": "a", "finish_reason": "stop"}]}]
)
def test_an_error_in_an_answer_in_one_piece(answer):
    whole = json.dumps(answer).encode()
    reader = AnswerReader(Record(0, 0, 0.0, 0.0), 0, stream=False)
    reader.feed(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(whole), whole), 2.0)
    assert reader.record.error == "error_in_answer" and "boom" in reader.record.detail


@pytest.mark.parametrize("text", ["finish_reason", "usage", "choices", "text"])
def test_a_text_that_is_also_a_key_is_no_trap(text):
    data = HEAD + b"".join(body(stream(chunk(each), done=False)) for each in (text, "other", text)) + body(stream(chunk("", "stop"))) + b"0\r\n\r\n"
    assert read(data, []).record.text == f"{text}other{text}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("12.5", 12.5), ("0", 0.0), ("true", None), ("-1", None), ('"x"', None), ("null", None), ("NaN", None), ("Infinity", None), ("1" + "0" * 400, None)],
)
def test_the_time_in_the_server_s_queue(text, wanted):
    """The JSON contains values that Python parses as numbers and that are no valid times, such as true, -1 and NaN."""
    last = b'data: {"choices": [], "usage": {"completion_tokens": 1, "queue_time_ms": ' + text.encode() + b"}}\n\n"
    record = read(HEAD + body(stream(chunk("a", "stop"), done=False)) + body(last) + b"0\r\n\r\n", []).record
    assert (record.queue_ms, record.output_tokens, record.error) == (wanted, 1, None)


@pytest.mark.parametrize("text", ["true", "-1", "1.5", '"x"', "1" + "0" * 400])
def test_counts_that_are_none(text):
    last = b'data: {"choices": [], "usage": {"completion_tokens": ' + text.encode() + b"}}\n\n"
    record = read(HEAD + body(stream(chunk("a", "stop"), done=False)) + body(last) + b"0\r\n\r\n", []).record
    assert record.output_tokens is None and record.error is None


def test_zero_token_counts_beside_text_are_recorded_as_missing():
    """Some servers and proxies send a usage without values."""
    counts = {"prompt_tokens": 0, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}
    data = HEAD + body(stream(chunk("a"), chunk("b", "stop"), {"choices": [], "usage": counts})) + b"0\r\n\r\n"
    record = read(data, []).record
    assert (record.prompt_tokens, record.output_tokens, record.cached_tokens, record.error) == (None, None, None, None)


@pytest.mark.parametrize(("cached", "known"), [(0, 0), (7, 7), (8, None)])
def test_no_more_tokens_are_cached_than_the_prompt_has(cached, known):
    counts = {"prompt_tokens": 7, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": cached}}
    record = read(HEAD + body(stream(chunk("a", "stop"), {"choices": [], "usage": counts})) + b"0\r\n\r\n", []).record
    assert (record.prompt_tokens, record.cached_tokens) == (7, known)


def test_blanks_around_the_data_of_an_event_are_no_part_of_it():
    event = json.dumps(chunk("a")).encode()
    data = HEAD + body(b"data:  " + event + b"\n\n") + body(b"data:\ndata: " + event + b" \n\n") + body(b"data: [DONE] \n\n") + b"0\r\n\r\n"
    record = read(data, []).record
    assert (record.error, record.chunks, record.text) == (None, 2, "aa")


def test_an_event_that_is_too_long_to_be_read_is_no_success():
    """It may have held the first token."""
    giant = stream({"prompt_token_ids": [7] * 400_000, **chunk("a")}, done=False)
    data = HEAD + body(giant) + body(stream(chunk("b"), chunk("", "stop"))) + b"0\r\n\r\n"
    record = read(data, [100_000, 500_000, 900_000]).record
    assert (record.error, record.detail) == ("too_long", "an event of more than 1 MiB")
