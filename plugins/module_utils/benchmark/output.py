# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The requests of a measurement as CSV, and the log of a measurement that runs elsewhere: the requests first, the result last. Pure."""

from __future__ import annotations

import base64
import collections.abc as c
import csv
import gzip
import io
import json
import typing as t

from ..common.objects import Facts
from ..loadgen.record import Record
from ..loadgen.schedule import Step

# A node keeps 10 MiB of a log by default: this many bytes of compressed requests, a hundred thousand or more, leave room for the rest.
MOST = 4 << 20
_LINE = 48 << 10
COLUMNS = (
    "stage", "number", "turn", "group", "model", "server",
    "planned_s", "sent_s", "first_s", "last_s", "end_s", "status", "error",
    "prompt_tokens", "output_tokens", "cached_tokens", "token_source", "chunks",
    "ttft_ms", "ttft_from_schedule_ms", "tpot_ms", "ntpot_ms", "e2e_ms", "e2e_from_schedule_ms", "itl_max_ms", "queue_ms", "send_lag_ms", "detail",
)  # fmt: skip


class CsvRows:
    """A CSV file of requests. Each is written as it ends, so that memory does not grow with their number."""

    def __init__(self, file: t.TextIO) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(COLUMNS)

    def __call__(self, record: Record, step: Step) -> None:
        self._writer.writerow(row(record, step))


def row(record: Record, step: Step) -> list[t.Any]:
    """The cells of one request, None where there is no value. Times are seconds from the start of its stage, latencies milliseconds."""
    stamps = [None if stamp is None else round(stamp, 6) for stamp in (record.planned, record.sent, record.first, record.last, record.end)]
    latencies = [record.ttft, record.ttft_from_schedule, record.tpot, record.ntpot, record.e2e, record.e2e_from_schedule]
    return [
        *(step.label, record.number, record.turn, record.group, record.model, _text(record.server)),
        *stamps,
        *(record.status, record.error),
        *(record.prompt_tokens, record.output_tokens, record.cached_tokens, record.token_source, record.chunks),
        *map(_ms, latencies),
        *(_ms(max(record.gaps, default=None)), record.queue_ms, _ms(record.lag), _text(record.detail)),
    ]


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


def _text(text: str | None) -> str | None:
    """A text of a server, quoted where a spreadsheet would take it for a formula."""
    return "'" + text if text and text[0] in "=+-@\t\r" else text


class OutputRows:
    """A text file in memory, compressed, up to MOST bytes; later lines are counted and left out."""

    def __init__(self, most: int = MOST) -> None:
        self._most, self._left_out = most, 0
        self._buffer = io.BytesIO()
        self._file = gzip.GzipFile(fileobj=self._buffer, mode="wb", mtime=0)

    def write(self, text: str) -> int:
        """As the `write` of a text file."""
        if self._buffer.tell() >= self._most:
            self._left_out += 1
        else:
            self._file.write(text.encode())
        return len(text)

    def lines(self) -> c.Iterator[str]:
        """The lines of the log, once everything is written."""
        self._file.close()
        data = self._buffer.getvalue()
        for start in range(0, len(data), _LINE):
            yield json.dumps({"rows": base64.b64encode(data[start : start + _LINE]).decode()})
        if self._left_out:
            yield json.dumps({"rows": "", "left_out": self._left_out})


class ParsedLog(t.NamedTuple):
    """The result, the text of requests.csv, and the number of its lines that are left out."""

    whole: Facts
    rows: str
    left_out: int


def read(log: str) -> ParsedLog:
    """The result and the requests in a whole log. Raises ValueError with its last line that is not JSON where it has no result.

    Lines of progress may stand behind the result: a node copies the two outputs of a container side by side.
    """
    lines = [line for line in log.splitlines() if line.strip()]
    whole = next((candidate for candidate in map(_result, reversed(lines)) if candidate), None)
    if whole is None:
        raise ValueError(last_line(lines))
    parts = [json.loads(line) for line in lines if line.startswith('{"rows":')]
    data = b"".join(base64.b64decode(part["rows"]) for part in parts)
    return ParsedLog(whole, gzip.decompress(data).decode(), sum(part.get("left_out", 0) for part in parts))


def _result(line: str) -> Facts | None:
    """The result in a line; None where it has none, or not all of it."""
    if not line.startswith("{"):
        return None
    try:
        data = json.loads(line)
    except ValueError:
        return None
    return data if isinstance(data, dict) and {"about", "stages", "verdict"} <= set(data) else None


def last_line(lines: c.Iterable[str]) -> str:
    """The last line that is not JSON."""
    return next((line for line in reversed(list(lines)) if not line.startswith("{")), "its log is empty")
