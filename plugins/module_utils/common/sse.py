# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of server-sent events, the format of streamed OpenAI-compatible responses, and of the errors in them. Pure; never raises on any bytes."""

from __future__ import annotations

import dataclasses
import typing as t

ABORTED = ("abort", "error", "timeout", "cancelled")  # values of finish_reason of a response that the server aborted, of any engine
MAX_LINE = 1 << 20  # bytes; a longer line is dropped and counted in `SseParser.dropped`


@dataclasses.dataclass(frozen=True)
class Event:
    """One event: data (lines joined by a line feed), type (empty for the default), whether both were valid UTF-8."""

    data: str
    type: str = ""
    valid: bool = True


class SseParser:
    """Turns received bytes into events. The result does not depend on how the bytes are cut into chunks."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._type = b""
        self._after_cr = False
        self._skipping = False
        self.dropped = 0

    @property
    def idle(self) -> bool:
        """Whether the parser is between two events, with no buffered state."""
        return not (self._rest or self._data or self._type or self._after_cr or self._skipping)

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes."""
        if self._after_cr and chunk:
            # The CR at the end of the last chunk ended its line; a leading LF here belongs to that line end.
            chunk = chunk[1:] if chunk.startswith(b"\n") else chunk
            self._after_cr = False
        if chunk.endswith(b"\r"):
            self._after_cr = True
        text = (self._rest + chunk).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, self._rest = text.split(b"\n")
        events = [event for event in map(self._line, lines) if event is not None]
        if len(self._rest) > MAX_LINE:
            self._rest, self._skipping = b"", True
        return events

    def close(self) -> list[Event]:
        """The events that the end of the stream completes. Unlike the standard, this keeps an unfinished event, so that callers can report it."""
        events = [self._line(self._rest)] if self._rest else []
        self._rest = b""
        return [event for event in [*events, self._line(b"")] if event is not None]

    def _line(self, line: bytes) -> Event | None:
        if self._skipping or len(line) > MAX_LINE:
            self._skipping = False
            self.dropped += 1
            return None
        if not line:
            return self._dispatch()
        field, dummy, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._type = value
        return None

    def _dispatch(self) -> Event | None:
        data, kind, self._data, self._type = self._data, self._type, [], b""
        if not data:
            return None
        whole = b"\n".join(data)
        try:
            return Event(whole.decode("utf-8"), kind.decode("utf-8", "replace"))
        except UnicodeDecodeError:
            return Event(whole.decode("utf-8", "replace"), kind.decode("utf-8", "replace"), valid=False)


def parse(body: bytes) -> list[Event]:
    """Every event of a complete body."""
    parser = SseParser()
    return parser.feed(body) + parser.close()


def gave_up(reason: t.Any) -> bool:
    """Whether a finish_reason, a text or a mapping with its type, means that the server aborted the response."""
    kind = reason.get("type") if isinstance(reason, dict) else reason
    return isinstance(kind, str) and kind.lower() in ABORTED


def error_of(data: t.Any) -> str:
    """The text of the error inside a JSON value; empty when there is none."""
    if not isinstance(data, dict):
        return ""
    error = data.get("error")
    if not error and data.get("object") == "error":
        error = data
    if isinstance(error, dict):
        return str(error.get("message") or error.get("type") or error)
    return str(error) if error else ""
