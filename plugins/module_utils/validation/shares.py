# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether services that share a route receive requests by weight: requests without the header of a service, counted by the endpoint picker of each."""

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
CHANCE = 1e-6  # the probability below which a share contradicts the weights


def observe(send: c.Callable[[], t.Any], counters: c.Mapping[str, Counters], weights: c.Mapping[str, int], limits: ProbeLimits, clock: Clock = SYSTEM) -> Facts:
    """The last trial within `limits.wait` seconds: {sent, counted: requests by service, failed: reasons, seconds}.

    Unlikely shares are counted again, since a proxy takes some seconds to apply new weights. A trial is not repeated where requests failed or other clients
    sent requests. send: sends one request.
    """
    start = clock.now()
    while True:
        trial = {**_trial(send, counters, limits, clock), "seconds": round(clock.now() - start, 3)}
        if trial["failed"] or sum(trial["counted"].values()) > trial["sent"] or not unlikely(weights, trial) or trial["seconds"] > limits.wait:
            return trial
        clock.sleep(1)


def _trial(send: c.Callable[[], t.Any], counters: c.Mapping[str, Counters], limits: ProbeLimits, clock: Clock) -> Facts:
    try:
        before = _read(counters, limits)
        with concurrent.futures.ThreadPoolExecutor(max_workers=THREADS) as pool:
            failed = list(filter(None, pool.map(lambda _number: _failure(send), range(REQUESTS))))
        end = clock.now() + limits.settle
        while True:  # an endpoint picker may count a request shortly after its answer
            now = _read(counters, limits)
            counted = {name: int(now[name] - before[name]) for name in counters}
            if sum(counted.values()) >= REQUESTS or clock.now() > end:
                return {"sent": REQUESTS, "counted": counted, "failed": failed}
            clock.sleep(limits.recount)
    except ExchangeError as error:
        return {"sent": 0, "counted": {}, "failed": [str(error)]}


def _failure(send: c.Callable[[], t.Any]) -> str:
    try:
        send()
    except ExchangeError as error:
        return str(error)
    return ""


def _read(counters: c.Mapping[str, Counters], limits: ProbeLimits) -> dict[str, float]:
    return {name: each.read(limits.request_timeout)["requests"] or 0.0 for name, each in counters.items()}


def unlikely(weights: c.Mapping[str, int], trial: Facts) -> list[str]:
    """The services whose share of the counted requests cannot be chance with these weights."""
    total, whole = sum(trial["counted"].values()), sum(weights.values())
    return [name for name, count in trial["counted"].items() if _tail(count, total, weights[name] / whole) < CHANCE]


def _tail(count: int, total: int, share: float) -> float:
    """The probability of a number as far from the mean as this, on its side of it: P(X <= count) or P(X >= count) of a binomial distribution."""
    side = range(count + 1) if count <= total * share else range(count, total + 1)
    return math.fsum(math.comb(total, number) * share**number * (1 - share) ** (total - number) for number in side)


def judge(name: str, weights: c.Mapping[str, int], trial: Facts | None) -> Judged:
    """The claim NAME/weights. trial: the result of `observe`; None where not all of these services are validated."""
    if trial is None:
        return [], [{"id": f"{name}/weights", "why": f"not all of {', '.join(weights)} are validated here and serving"}]
    counted = sum(trial["counted"].values())
    shown = ", ".join(f"{each} {count}" for each, count in trial["counted"].items())
    planned = ", ".join(f"{each} {weight}" for each, weight in weights.items())
    evidence = f"of {trial['sent']} requests: {shown}; weights: {planned}"
    if trial["failed"]:
        evidence = f"{len(trial['failed'])} of {trial['sent']} requests failed, the first: {trial['failed'][0]}" if trial["sent"] else trial["failed"][0]
        remedy = "check the claims of the services that share this route, and that they serve the same model name"
        return [claim(f"{name}/weights", False, evidence, remedy, trial["seconds"])], []
    if counted > trial["sent"]:
        why = f"the endpoint pickers counted {counted} requests while {trial['sent']} were sent: other clients sent requests too"
        return [], [{"id": f"{name}/weights", "why": why}]
    deviates = counted < trial["sent"] or unlikely(weights, trial)
    remedy = "some requests reached none of these endpoint pickers: check their routes" if counted < trial["sent"] else "check the HTTPRoutes of these services"
    return [claim(f"{name}/weights", not deviates, evidence, remedy, trial["seconds"])], []
