# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Server-sent events: whatever the bytes and however they are cut."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common import sse
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "body, data",
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\r\n\r\ndata:b\r\rdata: c\n\n", ["a", "b", "c"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b": ping\n\nid: 7\nretry: 5\ndata: x\n\n", ["x"]),
        (b"data: unfinished", ["unfinished"]),
        (b"data\n\n", [""]),
        (b"", []),
        (b"<html>\n\n", []),
    ],
)
def test_events(body, data):
    assert [event.data for event in sse.parse(body)] == data


def test_the_type_of_an_event_and_bad_utf8_are_kept():
    first, second = sse.parse(b"event: error\ndata: {}\n\ndata: \xff\xfe\n\n")
    assert (first.type, first.valid) == ("error", True)
    assert (second.type, second.valid) == ("", False)


def test_an_overlong_line_is_dropped_and_the_next_event_is_read():
    parser = sse.SseParser()
    events = parser.feed(b"data: " + b"x" * (sse.MAX_LINE + 10)) + parser.feed(b"yyy\n\ndata: ok\n\n") + parser.close()
    assert [event.data for event in events] == ["ok"]
    assert parser.dropped == 1


_PIECES = st.sampled_from([b"data: ", b"data:", b"event: error", b"\n", b"\r", b"\r\n", b"\n\n", b":", b'{"a": 1}', b"[DONE]", b"\xff", b"\x00"])


@given(st.lists(st.one_of(_PIECES, st.binary(max_size=8)), max_size=40).map(b"".join), st.lists(st.integers(0, 200), max_size=12))
def test_how_bytes_are_cut_makes_no_difference(body, cuts):
    parser, start, events = sse.SseParser(), 0, []
    for cut in sorted(cuts):
        events += parser.feed(body[start:cut])
        start = max(start, cut)
    events += parser.feed(body[start:]) + parser.close()
    assert events == sse.parse(body)
