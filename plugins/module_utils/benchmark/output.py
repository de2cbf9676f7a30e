# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a measurement that runs elsewhere tells what it found: in its log, the requests first, the result last. Pure."""

from __future__ import annotations

import base64
import collections.abc as c
import gzip
import io
import json
import typing as t

Facts = dict[str, t.Any]
# A node keeps 10 MiB of a log by default: so many bytes of compressed requests (a hundred thousand or more) leave room for the rest.
MOST = 4 << 20
_LINE = 48 << 10


class Rows:
    """A text file in memory, compressed, up to MOST bytes; lines that come later are counted and left out."""

    def __init__(self, most: int = MOST) -> None:
        self._most, self._left_out = most, 0
        self._buffer = io.BytesIO()
        self._file = gzip.GzipFile(fileobj=self._buffer, mode="wb", mtime=0)

    def write(self, text: str) -> int:
        """As a text file's."""
        if self._buffer.tell() >= self._most:
            self._left_out += 1
        else:
            self._file.write(text.encode())
        return len(text)

    def lines(self) -> c.Iterator[str]:
        """What to tell, once all is written."""
        self._file.close()
        data = self._buffer.getvalue()
        for start in range(0, len(data), _LINE):
            yield json.dumps({"rows": base64.b64encode(data[start : start + _LINE]).decode()})
        if self._left_out:
            yield json.dumps({"rows": "", "left_out": self._left_out})


class Told(t.NamedTuple):
    """The result, the text of requests.csv, and how many of its lines are left out."""

    whole: Facts
    rows: str
    left_out: int


def read(log: str) -> Told:
    """What a whole log tells. Raises ValueError with the last words of one that tells no result."""
    lines = [line for line in log.splitlines() if line.strip()]
    try:
        whole = json.loads(lines[-1])
        if not isinstance(whole, dict) or not {"about", "stages", "verdict"} <= set(whole):
            raise ValueError
    except (IndexError, ValueError):
        raise ValueError(words(lines)) from None
    parts = [json.loads(line) for line in lines if line.startswith('{"rows":')]
    data = b"".join(base64.b64decode(part["rows"]) for part in parts)
    return Told(whole, gzip.decompress(data).decode(), sum(part.get("left_out", 0) for part in parts))


def words(lines: c.Iterable[str]) -> str:
    """The last line that is meant for people."""
    return next((line for line in reversed(list(lines)) if not line.startswith("{")), "its log is empty")
