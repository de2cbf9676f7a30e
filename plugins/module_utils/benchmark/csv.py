# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One line for each request, written as they end, so that no number of them fills the memory."""

from __future__ import annotations

import csv
import typing as t

from ..loadgen.record import Record
from ..loadgen.schedule import Step

COLUMNS = (
    "stage",
    "number",
    "turn",
    "group",
    "model",
    "server",
    "planned_s",
    "sent_s",
    "first_s",
    "last_s",
    "end_s",
    "status",
    "error",
    "prompt_tokens",
    "output_tokens",
    "cached_tokens",
    "token_source",
    "chunks",
    "ttft_ms",
    "ttft_from_schedule_ms",
    "tpot_ms",
    "ntpot_ms",
    "e2e_ms",
    "e2e_from_schedule_ms",
    "itl_max_ms",
    "queue_ms",
    "send_lag_ms",
    "detail",
)


class Rows:
    """A CSV file of requests."""

    def __init__(self, file: t.TextIO) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(COLUMNS)

    def __call__(self, record: Record, step: Step) -> None:
        self._writer.writerow(row(record, step))


def row(record: Record, step: Step) -> list[t.Any]:
    """One request; what it has not is empty. Times are seconds from the start of its stage, latencies milliseconds."""
    stamps = [None if stamp is None else round(stamp, 6) for stamp in (record.planned, record.sent, record.first, record.last, record.end)]
    latencies = [record.ttft, record.ttft_from_schedule, record.tpot, record.ntpot, record.e2e, record.e2e_from_schedule]
    return [
        step.label,
        record.number,
        record.turn,
        record.group,
        record.model,
        _text(record.server),
        *stamps,
        record.status,
        record.error,
        record.prompt_tokens,
        record.output_tokens,
        record.cached_tokens,
        record.token_source,
        record.chunks,
        *map(_ms, latencies),
        _ms(max(record.gaps, default=None)),
        record.queue_ms,
        _ms(record.lag),
        _text(record.detail),
    ]


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


def _text(said: str | None) -> str | None:
    """What a server said must not become a formula where the file is opened."""
    return "'" + said if said and said[0] in "=+-@\t\r" else said
