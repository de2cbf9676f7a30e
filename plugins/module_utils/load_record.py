# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One request as it was measured, and what its streamed answer says, read as the bytes come. Pure: the clock is the caller's.

Failures are HTTP errors, time-outs, broken answers, errors inside a stream that began with 200, empty answers, and answers shorter than asked.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils import sse
from ansible_collections.llm_d.inference.plugins.module_utils.http_transport import excerpt
from ansible_collections.llm_d.inference.plugins.module_utils.load_wire import ResponseParser

SERVER_HEADER = "x-inference-pod"
KEPT = 2000  # bytes of an error's body that are kept


@dataclasses.dataclass
class Record:
    """Four stamps and the counts of one request. Times are seconds from the start of its stage."""

    number: int
    group: int
    planned: float
    sent: float | None = None
    first: float | None = None  # the first chunk with content
    last: float | None = None  # the last chunk with content
    end: float = 0.0  # the last byte, or the failure
    status: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    server: str | None = None
    gaps: list[float] = dataclasses.field(default_factory=list)  # between chunks with content
    error: str | None = None  # kind of failure
    detail: str | None = None  # the failure for people

    @property
    def lag(self) -> float | None:
        """How late the client itself was."""
        return None if self.sent is None else self.sent - self.planned

    @property
    def ttft(self) -> float | None:
        """Time to first token from the actual send."""
        return None if self.first is None or self.sent is None else self.first - self.sent

    @property
    def ttft_from_schedule(self) -> float | None:
        """Time to first token from the planned send: what a user waited who came at that moment."""
        return None if self.first is None else self.first - self.planned

    @property
    def e2e(self) -> float | None:
        """From the actual send to the last content."""
        return None if self.last is None or self.sent is None else self.last - self.sent

    @property
    def e2e_from_schedule(self) -> float | None:
        """From the planned send to the last content."""
        return None if self.last is None else self.last - self.planned

    @property
    def tpot(self) -> float | None:
        """Time per output token after the first; undefined with fewer than two tokens."""
        if self.first is None or self.last is None or not self.output_tokens or self.output_tokens < 2:
            return None
        return (self.last - self.first) / (self.output_tokens - 1)

    @property
    def ntpot(self) -> float | None:
        """End-to-end time per output token."""
        return self.e2e / self.output_tokens if self.e2e is not None and self.output_tokens else None

    def fail(self, kind: str, detail: str) -> None:
        """Only the first failure counts: what follows it follows from it."""
        if not self.error:
            self.error, self.detail = kind, detail


class AnswerReader:
    """Feeds the bytes of one connection into a record. `done` is true once the answer has ended, well or not."""

    def __init__(self, record: Record, output_len: int, method: str = "POST") -> None:
        self.record = record
        self.http = ResponseParser(method)
        self._output_len = output_len
        self._sse = sse.SseParser()
        self._kept = b""
        self._events = 0
        self._finished = False
        self.done = False

    def feed(self, data: bytes, now: float) -> None:
        """Bytes that came at `now`. Raises WireError for what is not HTTP."""
        pieces = self.http.feed(data)
        if self.http.status and self.record.status is None:
            self._begin()
        for piece in pieces:
            self._body(piece, now)
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
        if self.http.status == 200 and kind not in ("text/event-stream", ""):
            self.record.fail("not_streamed", f"asked for a stream, got {excerpt(kind)}")

    def _body(self, piece: bytes, now: float) -> None:
        if self.record.status != 200:
            self._kept = (self._kept + piece)[:KEPT]
            return
        if self.record.error:
            return
        content = False
        for event in self._sse.feed(piece):
            content = self._event(event) or content
        if content:
            if self.record.last is not None:
                self.record.gaps.append(now - self.record.last)
            self.record.first = now if self.record.first is None else self.record.first
            self.record.last = now

    def _event(self, event: sse.Event) -> bool:
        """Whether the event carries content."""
        if event.data == "[DONE]":
            self._finished = True
            return False
        self._events += 1
        try:
            data = json.loads(event.data) if event.valid else None
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            self.record.fail("bad_event", f"event {self._events} of the stream is no JSON object: {excerpt(event.data)!r}")
            return False
        if data.get("error") or event.type == "error":
            self.record.fail("error_in_stream", f"answered 200, then an error in event {self._events}: {excerpt(event.data)!r}")
            return False
        self._usage(data.get("usage"))
        choices = data.get("choices")
        content = False
        for choice in choices if isinstance(choices, list) else ():
            # each is looked at: the last one may say that it is the end
            content = (isinstance(choice, dict) and self._choice(choice)) or content
        return content

    def _choice(self, choice: dict[str, t.Any]) -> bool:
        if choice.get("finish_reason"):
            self._finished = True
        delta = choice.get("delta")
        part = delta if isinstance(delta, dict) else choice
        return any(part.get(key) for key in ("content", "reasoning_content", "reasoning", "tool_calls", "text"))

    def _usage(self, usage: t.Any) -> None:
        if not isinstance(usage, dict):
            return
        details = usage.get("prompt_tokens_details")
        self.record.prompt_tokens = _count(usage.get("prompt_tokens"))
        self.record.output_tokens = _count(usage.get("completion_tokens"))
        self.record.cached_tokens = _count(details.get("cached_tokens")) if isinstance(details, dict) else None

    def _ended(self, now: float) -> None:
        record, self.done = self.record, True
        record.end = now
        if record.status != 200:
            record.fail(f"http_{record.status}", f"answered {record.status}: {excerpt(self._kept.decode('utf-8', 'replace'))!r}")
        elif not self._finished:
            record.fail("truncated", f"the stream ended after {self._events} events without its end")
        elif record.first is None:
            record.fail("empty", "the stream ended without any content")
        elif record.output_tokens is not None and record.output_tokens < self._output_len:
            record.fail("short", f"{record.output_tokens} tokens came of {self._output_len} that were asked for")


def _count(value: t.Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
