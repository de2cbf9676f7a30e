# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether services that share a route get requests by its weights: requests without the header of a service, counted by the endpoint picker of each."""

from __future__ import annotations

import collections.abc as c
import concurrent.futures
import math
import typing as t

from ..common.clock import SYSTEM, Clock
from ..common.objects import Facts
from ..http.errors import ExchangeError
from .claims import Judged, claim
from .probe_traffic import ProbeLimits
from .routing_counters import THREADS, Counters

REQUESTS = 200
CHANCE = 1e-6  # of a share that right weights would nevertheless give


def observe(ask: c.Callable[[], t.Any], counters: c.Mapping[str, Counters], weights: c.Mapping[str, int], limits: ProbeLimits, clock: Clock = SYSTEM) -> Facts:
    """{sent, counted: requests by service, failed: reasons, seconds}, of the last of the trials that `limits.wait` seconds leave time for.

    A proxy takes some seconds until it obeys new weights. One trial is enough where it tells nothing, since requests failed or others sent some.
    ask: sends one request.
    """
    start = clock.now()
    while True:
        found = {**_trial(ask, counters, limits, clock), "seconds": round(clock.now() - start, 3)}
        if found["failed"] or sum(found["counted"].values()) > found["sent"] or not unlikely(weights, found) or found["seconds"] > limits.wait:
            return found
        clock.sleep(1)


def _trial(ask: c.Callable[[], t.Any], counters: c.Mapping[str, Counters], limits: ProbeLimits, clock: Clock) -> Facts:
    try:
        before = _read(counters, limits)
        with concurrent.futures.ThreadPoolExecutor(max_workers=THREADS) as pool:
            failed = list(filter(None, pool.map(lambda _number: _failure(ask), range(REQUESTS))))
        end = clock.now() + limits.settle
        while True:  # an endpoint picker may count a request shortly after its answer
            now = _read(counters, limits)
            counted = {name: int(now[name] - before[name]) for name in counters}
            if sum(counted.values()) >= REQUESTS or clock.now() > end:
                return {"sent": REQUESTS, "counted": counted, "failed": failed}
            clock.sleep(limits.recount)
    except ExchangeError as trouble:
        return {"sent": 0, "counted": {}, "failed": [str(trouble)]}


def _failure(ask: c.Callable[[], t.Any]) -> str:
    try:
        ask()
    except ExchangeError as trouble:
        return str(trouble)
    return ""


def _read(counters: c.Mapping[str, Counters], limits: ProbeLimits) -> dict[str, float]:
    return {name: each.read(limits.request_timeout)["requests"] or 0.0 for name, each in counters.items()}


def unlikely(weights: c.Mapping[str, int], seen: Facts) -> list[str]:
    """The services whose share of the counted requests cannot be chance with these weights."""
    total, whole = sum(seen["counted"].values()), sum(weights.values())
    return [name for name, count in seen["counted"].items() if _tail(count, total, weights[name] / whole) < CHANCE]


def _tail(count: int, total: int, share: float) -> float:
    """The probability of a number as far from the mean as this, on its side of it: P(X <= count) or P(X >= count) of a binomial distribution."""
    side = range(count + 1) if count <= total * share else range(count, total + 1)
    return math.fsum(math.comb(total, number) * share**number * (1 - share) ** (total - number) for number in side)


def judge(name: str, weights: c.Mapping[str, int], seen: Facts | None) -> Judged:
    """The claim NAME/weights. seen: what `observe` returned; None where not all of these services are validated."""
    if seen is None:
        return [], [{"id": f"{name}/weights", "why": f"not all of {', '.join(weights)} are validated here and serving"}]
    counted = sum(seen["counted"].values())
    shown = ", ".join(f"{each} {count}" for each, count in seen["counted"].items())
    asked = ", ".join(f"{each} {weight}" for each, weight in weights.items())
    evidence = f"of {seen['sent']} requests: {shown}; weights: {asked}"
    if seen["failed"]:
        evidence = f"{len(seen['failed'])} of {seen['sent']} requests failed, the first: {seen['failed'][0]}" if seen["sent"] else seen["failed"][0]
        remedy = "check the claims of the services that share this route, and that they serve the same model name"
        return [claim(f"{name}/weights", False, evidence, remedy, seen["seconds"])], []
    if counted > seen["sent"]:
        return [], [{"id": f"{name}/weights", "why": f"the endpoint pickers counted {counted} requests while {seen['sent']} were sent: others sent some too"}]
    wrong = counted < seen["sent"] or unlikely(weights, seen)
    remedy = "some requests reached none of these endpoint pickers: check their routes" if counted < seen["sent"] else "check the HTTPRoutes of these services"
    return [claim(f"{name}/weights", not wrong, evidence, remedy, seen["seconds"])], []
