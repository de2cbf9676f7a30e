# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bytes of HTTP/1.1, for a client that takes the time of every piece of an answer. Pure."""

from __future__ import annotations

MAX_HEAD = 64 << 10  # bytes of status line and headers
MAX_SIZE = 10  # bytes of a chunk's size and the line's end, where it is a plain number
MAX_LINE = 4 << 10  # bytes of the line with a chunk's size


class WireError(ValueError):
    """The answer is not HTTP/1.1."""


def post(path: str, shared: bytes, body: bytes) -> bytes:
    """A POST request on a connection that stays open. `shared`: the headers as bytes."""
    return b"POST %b HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n%b" % (path.encode("latin-1"), shared, len(body), body)


class ResponseParser:
    """Takes bytes as they arrive and returns pieces of the body. The whole body does not depend on how the bytes are cut."""

    def __init__(self, method: str = "POST") -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.done = False
        self.keep_alive = False
        self._method = method
        self._rest = b""
        self._step = self._head
        self._left = 0  # bytes of the body or chunk still to come
        self.ends_with_connection = False

    def feed(self, data: bytes) -> list[bytes]:
        """The pieces of the body that these bytes hold. Raises WireError."""
        self._rest = self._rest + data if self._rest else data
        pieces: list[bytes] = []
        while not self.done and self._step(pieces):
            pass
        if self.done and self._rest:
            self.keep_alive = False  # bytes behind the answer: no other request may use this connection
        return pieces

    def _head(self, pieces: list[bytes]) -> bool:
        head, end, rest = self._rest.partition(b"\r\n\r\n")
        if not end:
            if len(self._rest) > MAX_HEAD or not b"HTTP/1.".startswith(self._rest[:7]):
                raise WireError("the answer is not HTTP/1.1" if len(self._rest) <= MAX_HEAD else "the headers do not end")
            return False
        self._rest = rest
        first, *lines = head.decode("latin-1").split("\r\n")
        version, _space, after = first.partition(" ")
        if not version.startswith("HTTP/1.") or not after[:3].isascii() or not after[:3].isdigit():
            raise WireError(f"the answer is not HTTP/1.1: {first[:80]!r}")
        status = int(after[:3])
        if status < 200:
            return True  # an informational response, such as 100 Continue, comes before the answer
        self.status = status
        self.headers = {}
        for name, _colon, value in (line.partition(":") for line in lines):
            key, value = name.strip().lower(), value.strip()
            # a list may stand in several lines
            self.headers[key] = f"{self.headers[key]}, {value}" if key == "connection" and key in self.headers else value
        self._framing(version)
        return True

    def _framing(self, version: str) -> None:
        """Choose how the end of the body is determined."""
        options = [option.strip() for option in self.headers.get("connection", "").lower().split(",")]
        self.keep_alive = "close" not in options and (version != "HTTP/1.0" or "keep-alive" in options)
        length = self.headers.get("content-length", "")
        if self._method == "HEAD" or self.status in (204, 304):
            self.done = True
        elif "chunked" in self.headers.get("transfer-encoding", "").lower():
            self._step = self._chunk_size
        elif length:
            if not (length.isascii() and length.isdigit() and len(length) < 16):
                raise WireError(f"Content-Length {length[:40]!r} is no number")
            self._left = int(length)
            self._step = self._counted
            self.done = not self._left
        else:
            self.ends_with_connection, self.keep_alive = True, False
            self._step = self._until_closed

    def _take(self, pieces: list[bytes]) -> None:
        piece, self._rest = self._rest[: self._left], self._rest[self._left :]
        if piece:
            pieces.append(piece)
            self._left -= len(piece)

    def _counted(self, pieces: list[bytes]) -> bool:
        self._take(pieces)
        self.done = not self._left
        return False

    def _until_closed(self, pieces: list[bytes]) -> bool:
        if self._rest:
            pieces.append(self._rest)
        self._rest = b""
        return False

    def _line(self) -> bytes | None:
        line, end, rest = self._rest.partition(b"\r\n")
        if not end:
            if len(self._rest) > MAX_LINE:
                raise WireError("a line between chunks does not end")
            return None
        self._rest = rest
        return line

    def _whole_chunks(self, pieces: list[bytes]) -> None:
        """Take the chunks that arrived whole, as nearly all chunks of a stream do, without a step for each of their parts."""
        data, place = self._rest, 0
        while (end := data.find(b"\r\n", place, place + MAX_SIZE)) > place:
            digits = data[place:end]
            if not digits.isalnum():
                break
            try:
                stop = end + 2 + int(digits, 16)
            except ValueError:
                break
            if stop == end + 2 or data[stop : stop + 2] != b"\r\n":
                break
            pieces.append(data[end + 2 : stop])
            place = stop + 2
        self._rest = data[place:] if place else data

    def _chunk_size(self, pieces: list[bytes]) -> bool:
        self._whole_chunks(pieces)
        line = self._line()
        if line is None:
            return False
        size = line.split(b";")[0].strip()
        try:
            if not size.isalnum() or len(size) > 15:
                raise ValueError
            self._left = int(size, 16)
        except ValueError:
            raise WireError(f"{size[:40]!r} is no size of a chunk") from None
        self._step = self._chunk if self._left else self._trailer
        return True

    def _chunk(self, pieces: list[bytes]) -> bool:
        self._take(pieces)
        if self._left or len(self._rest) < 2:
            return False
        if self._rest[:2] != b"\r\n":
            raise WireError("a chunk is longer than its size")
        self._rest = self._rest[2:]
        self._step = self._chunk_size
        return True

    def _trailer(self, pieces: list[bytes]) -> bool:
        line = self._line()
        self.done = line == b""
        return line is not None
