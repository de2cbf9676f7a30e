# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The totals of one stage, in memory that does not grow with the number of requests. Pure."""

from __future__ import annotations

import collections
import collections.abc as c
import math
import typing as t

from ..loadgen.record import CLIENT, Record
from .histogram import PERCENTILES, Hist
from .pace import Pace
from .rates import Rates
from .series import Series

TIMED = ("ttft", "ttft_from_schedule", "e2e", "e2e_from_schedule", "itl")  # latencies that a late client makes longer by its own lateness
LATENCIES = ("ttft", "ttft_from_schedule", "e2e", "e2e_from_schedule", "tpot", "itl", "ntpot", "queue", "send_lag")
# bounds of a good request, and the latency that each is compared with
GOOD = {"ttft_ms": "ttft_from_schedule", "tpot_ms": "tpot", "itl_ms": "itl", "ntpot_ms": "ntpot", "e2e_ms": "e2e_from_schedule"}
FLOOR_MS = 2.0  # the timers of any host are this late at times; no lateness up to it counts
SATURATED = 0.85  # a stage is saturated when answers end at a smaller share of the pace at which requests are due
LOST = 0.05  # a stage is saturated when a larger share of its requests failed
MAX_UNSENT = 0.1  # a late client that may have left out a larger share of the load has not sent the requested load
NAMES = 1000  # servers, models and kinds of errors that are counted by name; the rest is counted together


class Allowed(t.NamedTuple):
    """How late the client may be: `lag` seconds at the 99th percentile, and at each reported percentile the `share` of the measured value, 0 for any.
    `metrics`: the latencies whose share counts."""

    lag: float = 0.1
    share: float = 0.1
    metrics: tuple[str, ...] = ("ttft_from_schedule",)


class Totals:
    """Counts, sums and distributions of the requests of a stage. Latencies are those of successful requests, in milliseconds."""

    def __init__(self, good: c.Mapping[str, float] | None = None, open_loop: bool = False) -> None:
        self.hist = {name: Hist() for name in LATENCIES}
        self.client_lag = Hist()  # how late the event loop of the client ran
        self.input_len, self.output_len = Hist(), Hist()
        self.series = Series()
        self.pace = Pace()  # of the requests of the schedule: of conversations, the first turns
        self.rates = Rates(open_loop, self.pace)
        self.errors: collections.Counter[str] = collections.Counter()
        self.servers: collections.Counter[str] = collections.Counter()
        self.models: collections.Counter[str] = collections.Counter()
        self.sources: collections.Counter[str] = collections.Counter()
        self.example: str | None = None
        self.requests = self.ok = self.good = 0
        self.prompt_tokens = self.output_tokens = self.cached_tokens = self.cacheable_tokens = 0
        self.chunks = self.gap_squares = 0
        self.wall = 0.0
        self.sent: tuple[float, float] | None = None
        self.cpu = 0.0
        self.bounds = dict(good or {})  # of a good request, in milliseconds, by name

    @property
    def failed(self) -> int:
        """Requests that failed."""
        return self.requests - self.ok

    def add(self, record: Record) -> None:
        """Add a request that has ended."""
        self.requests += 1
        if record.end > self.wall:
            self.wall = record.end
        if record.sent is not None:
            self.hist["send_lag"].add((record.sent - record.planned) * 1000)
            self.sent = (min(self.sent[0], record.sent), max(self.sent[1], record.sent)) if self.sent else (record.sent, record.sent)
        _count(self.models, record.model)
        if record.error:
            _count(self.errors, record.error)
            self.example = self.example or record.detail
            self.series.add(record)
            self._rates(record, {})
            return
        self.ok += 1
        self._latencies(record)
        self._tokens(record)
        if record.server:
            _count(self.servers, record.server)
        self.series.add(record)
        if record.turn == 0 and record.e2e_from_schedule is not None:
            self.pace.add(record.planned, record.e2e_from_schedule)
        prompt, output, good = record.prompt_tokens or 0, record.output_tokens or 0, self._is_good(record)
        self.good += good
        self._rates(record, {"ok": 1, "prompt": prompt, "output": output, "good": int(good), "good_output": output if good else 0})

    def _rates(self, record: Record, counts: dict[str, float]) -> None:
        sent = record.end if record.sent is None else record.sent
        self.rates.add(sent, record.end, counts, record.planned if record.turn == 0 else None)

    def _latencies(self, record: Record) -> None:
        for name in ("ttft", "ttft_from_schedule", "e2e", "e2e_from_schedule", "tpot", "ntpot"):
            value = getattr(record, name)
            if value is not None:
                self.hist[name].add(value * 1000)
        add = self.hist["itl"].add
        for gap in record.gaps:
            add(gap * 1000)
        self.gap_squares += len(record.gaps) ** 2
        if record.queue_ms is not None:
            self.hist["queue"].add(record.queue_ms)

    def _tokens(self, record: Record) -> None:
        self.chunks += record.chunks
        self.sources[record.token_source] += 1
        if record.prompt_tokens is not None:
            self.prompt_tokens += record.prompt_tokens
            self.input_len.add(record.prompt_tokens)
        if record.output_tokens is not None:
            self.output_tokens += record.output_tokens
            self.output_len.add(record.output_tokens)
        if record.cached_tokens is not None and record.prompt_tokens:
            self.cached_tokens += record.cached_tokens
            self.cacheable_tokens += record.prompt_tokens

    def _is_good(self, record: Record) -> bool:
        """Whether a request met every bound. TPOT does not apply to answers of one token. A latency that is unknown, such as that of several tokens in one
        event, counts as a miss."""
        for name, bound in self.bounds.items():
            value = _of(record, name)
            if value is None and record.output_tokens is not None and record.output_tokens < 2:
                continue
            if value is None or value > bound:
                return False
        return True

    def merge(self, other: Totals) -> None:
        """Add the totals of another client, of the same stage at the same time."""
        for name, hist in self.hist.items():
            hist.merge(other.hist[name])
        for mine, theirs in ((self.client_lag, other.client_lag), (self.input_len, other.input_len), (self.output_len, other.output_len)):
            mine.merge(theirs)
        self.series.merge(other.series)
        self.pace.merge(other.pace)
        self.rates.merge(other.rates)
        for name in ("errors", "servers", "models", "sources"):
            getattr(self, name).update(getattr(other, name))
        for name in ("requests", "ok", "good", "prompt_tokens", "output_tokens", "cached_tokens", "cacheable_tokens", "chunks", "gap_squares", "cpu"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.example = self.example or other.example
        self.wall = max(self.wall, other.wall)
        both = [each for each in (self.sent, other.sent) if each]
        self.sent = (min(each[0] for each in both), max(each[1] for each in both)) if both else None

    @property
    def gap_answers(self) -> int:
        """How many answers of equal length carry as much information on the times between tokens as these, of which the long ones have the most."""
        return self.hist["itl"].n ** 2 // self.gap_squares if self.gap_squares else 0

    def lost(self, metric: str) -> int:
        """How many values of a latency the failed requests count for, each of them infinite."""
        # a request has several gaps between tokens, and maybe no time in a queue, so a failed one counts as many values as a request has on average
        each = self.hist[metric].n / self.ok if self.ok else 1.0
        return 0 if metric == "send_lag" else math.ceil(self.failed * max(1.0, each))

    @property
    def saturated(self) -> bool:
        """Whether requests came faster than the server answers: each took longer than the one before it, or they failed."""
        return self.failed > LOST * self.requests or self.pace.share < SATURATED

    @property
    def keeps_up(self) -> bool:
        """Whether the server is known to answer as fast as requests come."""
        return self.pace.keeps_up and not self.saturated

    def lateness(self, allowed: Allowed) -> str | None:
        """Why the client may decide the figures: it was later than is allowed. None when it was not."""
        return self.stalled(allowed) or self.blurred(allowed)

    def exhausted(self) -> str | None:
        """Why the client's host kept requests from being sent, which ended the stage; None when it did not."""
        count = self.errors[CLIENT]
        return f"{count} of {self.requests} requests found no connection left on the client's own host, and no others were sent" if count else None

    def stalled(self, allowed: Allowed) -> str | None:
        """Why the client was later than `allowed.lag`; None when it was not."""
        bound = allowed.lag * 1000
        lag, own = self.hist["send_lag"].percentile(99), self.client_lag.percentile(99)
        if lag is not None and lag > bound:
            return f"the client sent late: 99 % of requests within {lag:.1f} ms of their time, {bound:g} ms allowed"
        if own is not None and own > bound:
            return (
                f"the client itself stalled: its clock ran up to {self.client_lag.high:.0f} ms late, 99 % of the time within {own:.1f} ms, {bound:g} ms allowed"
            )
        return None

    def blurred(self, allowed: Allowed) -> str | None:
        """Why the lateness of the client is too large a share of what was measured; None when it is not."""
        for metric in allowed.metrics if allowed.share else ():
            share, percent, late, measured = self._own(metric)
            if share > allowed.share:
                return (
                    f"the client itself is too much of what it measured: it was {late:.1f} ms late at p{percent}, where {metric}_ms is {measured:.1f}, "
                    f"so that {share:.0%} of it may be its own, {allowed.share:.0%} allowed"
                )
        return None

    def _own(self, metric: str) -> tuple[float, int, float, float]:
        """(share, percentile, client late, measured) in milliseconds, at the reported percentile where the client's share of a metric is largest.

        A measured time includes the lateness of the client at sending and at reading. Equal percentiles are compared: a stall in 1 % of the time moves
        the highest 1 % of the values and leaves the median alone.
        """
        shares = [(0.0, 0, 0.0, 0.0)]
        for percent in PERCENTILES:
            late, measured = self.late(metric, percent), self.hist[metric].percentile(percent)
            if measured and late > FLOOR_MS:
                shares.append((late / measured, percent, late, measured))
        return max(shares)

    def late(self, metric: str, percent: float) -> float:
        """Milliseconds by which the client was late at this percentile: at reading, and for a time from the schedule also at sending."""
        lags = (self.client_lag, self.hist["send_lag"]) if metric.endswith("_from_schedule") else (self.client_lag,)
        return max(hist.percentile(percent) or 0.0 for hist in lags)

    def unsent(self) -> float:
        """The share of the load that a late client may not have put on the server: of an open loop, how much longer it took to send it; of a closed one, how
        long its places stood idle."""
        if not self.rates.open_loop:
            idle, busy = self.client_lag.mean or 0.0, self.hist["e2e"].mean or 0.0
            return idle / (idle + busy) if busy else 0.0
        due = self.rates.due
        late = (self.hist["send_lag"].percentile(99) or 0.0) / 1000
        return late / (due.last - due.first + late) if due.last > due.first else 0.0

    def summary(self, allowed: Allowed) -> dict[str, t.Any]:
        """The figures of the stage: times in milliseconds, rates per second, shares from 0 to 1. Rates of tokens that were not counted are None."""

        counted = {"prompt": self.input_len.n, "output": self.output_len.n, "good_output": self.output_len.n}

        def per_second(*names: str) -> float | None:
            if self.ok and not all(counted.get(name, True) for name in names):
                return None  # they were not counted
            return round(self.rates.per_second(*names), 3)

        return {
            "requests": self.requests,
            "ok": self.ok,
            "failed": self.failed,
            "error_rate": _share(self.failed, self.requests),
            "errors": dict(sorted(self.errors.items())),
            "error_example": self.example,
            "seconds": round(self.wall, 3),
            "sent_per_s": self._sent_rate(),
            "requests_per_s": per_second("ok"),
            "output_tokens_per_s": per_second("output"),
            "prompt_tokens_per_s": per_second("prompt"),
            "total_tokens_per_s": per_second("prompt", "output"),
            "goodput_per_s": per_second("good"),
            "goodput_share": _share(self.good, self.requests),
            "goodput_tokens_per_s": per_second("good_output"),
            **{f"{name}_ms": hist.summary() for name, hist in self.hist.items()},
            "client_lag_ms": self.client_lag.summary(),
            "client_share": round(self._own("ttft_from_schedule")[0], 4),
            "client_cpu": round(self.cpu / self.wall, 3) if self.wall else 0.0,
            "prompt_tokens": self.prompt_tokens,
            "output_tokens": self.output_tokens,
            "cached_tokens": self.cached_tokens if self.cacheable_tokens else None,
            "hit_ratio": _share(self.cached_tokens, self.cacheable_tokens),
            "chunks": self.chunks,
            "token_source": dict(sorted(self.sources.items())),
            "servers": dict(sorted(self.servers.items())),
            "models": dict(sorted(self.models.items())),
            "late": self.lateness(allowed),
        }

    def _sent_rate(self) -> float | None:
        lag = self.hist["send_lag"].n
        return round((lag - 1) / (self.sent[1] - self.sent[0]), 3) if self.sent and lag > 1 and self.sent[1] > self.sent[0] else None


def _of(record: Record, name: str) -> float | None:
    if name == "itl_ms":
        return max(record.gaps) * 1000 if record.gaps else None
    value = {"ttft_ms": record.ttft_from_schedule, "e2e_ms": record.e2e_from_schedule, "tpot_ms": record.tpot, "ntpot_ms": record.ntpot}[name]
    return None if value is None or math.isnan(value) else value * 1000


def _count(counter: collections.Counter[str], name: str) -> None:
    counter[name if name in counter or len(counter) < NAMES else "(others)"] += 1


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 5) if whole else None
