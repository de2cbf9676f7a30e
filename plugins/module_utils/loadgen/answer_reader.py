# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reader of one answer, which fills a record from the bytes as they arrive. Pure: the clock is the caller's.

Failures are HTTP errors, time-outs, broken answers, errors inside a stream that began with 200, empty answers, and answers shorter than requested.
"""

from __future__ import annotations

import json
import re
import typing as t

from ..common import sse
from ..http.urls import excerpt
from .http11 import ResponseParser
from .record import MOST, Record

SERVER_HEADER = "x-inference-pod"
KEPT = 2000  # bytes that are kept of the body of an error
MAX_WHOLE = 32 << 20  # bytes that an answer may have that is not streamed
CONTENT = ("content", "text", "reasoning_content", "reasoning", "tool_calls")
SIMPLE = re.compile(rb"[ !#-\[\]-~]+").fullmatch  # a text that JSON does not escape
# The scanner that json.loads runs, without the checks around it, which take as long again. typeshed does not know it.
SCAN: t.Callable[[str, int], tuple[t.Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


class AnswerReader:
    """Fills a record from the bytes of one answer. `done` is true once the answer has ended or failed.

    `output_len`: tokens that the answer must have, 0 for any number. An answer that is not streamed has its first content when it has ended.
    """

    def __init__(self, record: Record, output_len: int, method: str = "POST", stream: bool = True, keep_text: bool = False) -> None:
        self.record = record
        self.http = ResponseParser(method)
        self._output_len = output_len
        self._stream = stream
        self._texts: list[str] | None = [] if keep_text else None
        self._sse: sse.SseParser | None = None
        self._kept = b""
        self._whole: list[bytes] = []
        self._size = 0
        self._events = 0
        self._like: tuple[bytes, bytes] | None = None  # the bytes before and behind the text of an event with content
        self._finished = False
        self._text = False  # whether any token was text
        self._closes = False  # whether the event with the finish reason may have been a token without text
        self._closing: float | None = None  # when that event came
        self.done = False

    def feed(self, data: bytes, now: float) -> None:
        """Take bytes that arrived at `now`. Raises WireError where they are not HTTP."""
        pieces = self.http.feed(data)
        if self.http.status and self.record.status is None:
            self._begin()
        if pieces:
            self._body(pieces[0] if len(pieces) == 1 else b"".join(pieces), now)
        if self.http.done:
            self._ended(now)

    def eof(self, now: float) -> None:
        """The server closed the connection."""
        if self.done:
            return
        if self.http.ends_with_connection:
            self._ended(now)
            return
        got = f"{self.record.status} and {self._events} events" if self.record.status else "nothing"
        self.record.fail("truncated" if self.record.status else "closed", f"the connection was closed after {got}")
        self.record.end, self.done = now, True

    def _begin(self) -> None:
        self.record.status = self.http.status
        self.record.server = self.http.headers.get(SERVER_HEADER)
        kind = self.http.headers.get("content-type", "").split(";")[0].strip().lower()
        if self.http.status != 200:
            return
        if self._stream and kind not in ("text/event-stream", ""):
            self.record.fail("not_streamed", f"requested a stream, received {excerpt(kind)}")
        elif not self._stream and kind not in ("application/json", ""):
            self.record.fail("not_json", f"requested JSON, received {excerpt(kind)}")

    def _body(self, piece: bytes, now: float) -> None:
        record = self.record
        if record.status != 200:
            self._kept = (self._kept + piece)[:KEPT]
            return
        if record.error:
            return
        if not self._stream:
            self._keep(piece)
            return
        before = record.chunks
        if self._sse is None and b"\r" not in piece and piece.endswith(b"\n\n"):
            for frame in piece[:-2].split(b"\n\n"):
                if frame.startswith(b"data: ") and b"\n" not in frame:
                    self._plain(frame[6:])
                else:
                    self._events_of(sse.parse(frame + b"\n\n"))
        else:
            self._sse = self._sse or sse.SseParser()
            self._events_of(self._sse.feed(piece))
            if self._sse.dropped:
                record.fail("too_long", f"an event of more than {sse.MAX_LINE >> 20} MiB")
            if self._sse.idle:
                self._sse = None
        if record.chunks != before:
            self._stamp(now)
        if self._closes and self._closing is None:
            self._closing = now

    def _stamp(self, now: float) -> None:
        """A piece with content."""
        record = self.record
        if record.last is None:
            record.first = now
        elif now > record.last:
            record.gaps.append(now - record.last)
        record.last = now

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > MAX_WHOLE:
            self.record.fail("too_long", f"an answer of more than {MAX_WHOLE >> 20} MiB")
            self._whole.clear()
        else:
            self._whole.append(piece)

    def _events_of(self, events: list[sse.Event]) -> None:
        for event in events:
            if event.type == "error":
                self._events += 1
                self._error(event.data)
            elif event.valid:
                self._plain(event.data.encode())
            else:
                self._events += 1
                self._like = None
                self.record.fail("bad_event", f"event {self._events} of the stream is no JSON object: {excerpt(event.data)!r}")

    def _plain(self, data: bytes) -> None:
        """The data of one event of the default type. Whether it carries content shows in the record's `chunks`."""
        if self._like is not None and data.startswith(self._like[0]) and data.endswith(self._like[1]):
            middle = data[len(self._like[0]) : -len(self._like[1])]
            if SIMPLE(middle):
                self._events += 1
                self.record.chunks += 1
                if self._texts is not None:
                    self._texts.append(middle.decode())
                return
        if self.record.error:
            return  # nothing after an error counts
        if data.strip() == b"[DONE]":
            self._finished = True
            return
        self._events += 1
        try:
            text = data.decode().lstrip()
            value, end = SCAN(text, 0)
            if end != len(text):
                value = json.loads(text)
        except (ValueError, StopIteration, RecursionError):
            value = None
        if not isinstance(value, dict):
            content, self._like = data.decode("utf-8", "replace"), None
            self.record.fail("bad_event", f"event {self._events} of the stream is no JSON object: {excerpt(content)!r}")
        elif sse.error_of(value):
            self._error(data.decode("utf-8", "replace"))
        else:
            self._value(value)
            self._learn(data, value)

    def _learn(self, data: bytes, value: dict[str, t.Any]) -> None:
        """Remember the bytes around the text of an event: nearly all events of a stream differ in their text alone. A plain text between the same
        bytes is the same JSON with another text, and counts as content without being parsed."""
        choices = value.get("choices")
        if value.get("usage") is not None or not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
            return
        part = choices[0]["delta"] if isinstance(choices[0].get("delta"), dict) else choices[0]
        contents = [content for key in CONTENT if (content := part.get(key))]
        if choices[0].get("finish_reason"):
            return
        if len(contents) != 1 or not isinstance(contents[0], str):
            return
        text = contents[0].encode("utf-8", "surrogatepass")
        if SIMPLE(text) and data.count(b'"' + text + b'"') == 1:
            place = data.index(b'"' + text + b'"') + 1
            self._like = data[:place], data[place + len(text) :]

    def _error(self, text: str) -> None:
        self._like = None
        self.record.fail("error_in_stream", f"answered 200, then an error in event {self._events}: {excerpt(text)!r}")

    def _value(self, value: dict[str, t.Any]) -> None:
        usage = value.get("usage")
        if usage is not None:
            self._usage(usage)
        choices = value.get("choices")
        content = False
        for choice in choices if isinstance(choices, list) else ():
            # all of them: the last one may hold the finish reason
            content = (isinstance(choice, dict) and self._choice(choice)) or content
        if content:
            self.record.chunks += 1

    def _choice(self, choice: dict[str, t.Any]) -> bool:
        if choice.get("finish_reason"):
            self._finished = True
            if sse.gave_up(choice["finish_reason"]):
                self.record.fail("aborted", f"answered 200, and ended by finish_reason {choice['finish_reason']!r}")
        part: dict[str, t.Any] = next((choice[name] for name in ("delta", "message") if isinstance(choice.get(name), dict)), choice)
        content = False
        for key in CONTENT:
            if text := part.get(key):
                content = True
                if self._texts is not None and isinstance(text, str):
                    self._texts.append(text)
        if content:
            self._text = True
        elif not part.get("role") and any(part.get(key) == "" for key in CONTENT):
            # A token without text: a special one, as ignore_eos gives behind the end, or the first half of a character.
            # With a finish reason, many servers mean no token.
            self._closes = self._closes or bool(choice.get("finish_reason"))
            return not choice.get("finish_reason")
        return content

    def _lacks(self, tokens: int) -> bool:
        """Whether `tokens`, the tokens without an event, are the one that came with the finish reason; of an unstreamed answer, all of it."""
        return tokens == 1 if self._stream else tokens > 0 and not self.record.chunks

    def _usage(self, usage: t.Any) -> None:
        if not isinstance(usage, dict):
            return
        details = usage.get("prompt_tokens_details")
        self.record.prompt_tokens = _count(usage.get("prompt_tokens"))
        self.record.output_tokens = _count(usage.get("completion_tokens"))
        self.record.cached_tokens = _count(details.get("cached_tokens"), self.record.prompt_tokens) if isinstance(details, dict) else None
        waited = usage.get("queue_time_ms")
        self.record.queue_ms = float(waited) if isinstance(waited, (int, float)) and not isinstance(waited, bool) and 0 <= waited <= MOST else None

    def _unstreamed(self, now: float) -> None:
        data = b"".join(self._whole)
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            self.record.fail("bad_json", f"the answer is no JSON object: {excerpt(data.decode('utf-8', 'replace'))!r}")
        elif sse.error_of(value):
            self.record.fail("error_in_answer", f"answered 200 with an error: {excerpt(data.decode('utf-8', 'replace'))!r}")
        else:
            self._finished = True
            self._value(value)
            self._closing = now
            if self.record.chunks:
                self.record.first = self.record.last = now

    def _ended(self, now: float) -> None:
        record, self.done = self.record, True
        record.end = now
        if record.status == 200 and not self._stream and not record.error:
            self._unstreamed(now)
        if self._closing is not None and self._closes and record.output_tokens is not None and self._lacks(record.output_tokens - record.chunks):
            record.chunks += 1
            self._stamp(max(self._closing, record.last or 0.0))  # some content may have come after it
        if self._text and record.output_tokens == 0:
            record.prompt_tokens = record.output_tokens = record.cached_tokens = None  # a usage without values
        if record.status != 200:
            record.fail(f"http_{record.status}", f"answered {record.status}: {excerpt(self._kept.decode('utf-8', 'replace'))!r}")
        elif not self._finished:
            record.fail("truncated", f"the stream ended after {self._events} events without its end")
        elif record.first is None or (not self._text and not 0 < self._output_len <= (record.output_tokens or 0)):
            record.fail("empty", "the answer ended without any content")
        elif record.output_tokens is not None and record.output_tokens < self._output_len:
            record.fail("short", f"{record.output_tokens} tokens came of {self._output_len} that were requested")
        if self._texts is not None:
            record.text = "".join(self._texts)


def _count(value: t.Any, most: int | None = None) -> int | None:
    """A number of tokens; None where it cannot be one, as no part is more than the whole, `most`."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= (MOST if most is None else most) else None
