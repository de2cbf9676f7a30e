# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the simulator that make it behave like a server that was measured. Pure.

The simulator, as its version 0.10 computes: a request waits (prefill_overhead + uncached prompt tokens * prefill_time_per_token) for its first token and
inter_token_latency for each other one, all times 1 + (time_factor_under_load - 1) * (requests in flight - 1) / (max_num_seqs - 1).
max_num_seqs requests are in flight at once; further ones wait their turn, so a server that was measured with such a limit is imitated with the same one.
"""

from __future__ import annotations

import collections
import collections.abc as c
import csv
import dataclasses
import heapq
import io
import itertools
import math
import statistics
import typing as t

from ..common.objects import Facts
from ..report import text

METRICS = ("ttft_ms", "tpot_ms")
PERCENTILES = (50, 90)
# The options that a search for better values changes, and its factors, the largest first: growth alone, since requests that were sent one at a time
# determine the others, and a wrong overhead can compensate for a wrong growth; then all of them by a little.
SEARCH = ((("growth",), (1.5, 1.2, 1.08, 1.03, 1.005)), (("growth", "overhead", "per_token", "inter_token"), (1.08, 1.03)))
# The least number of pairs of requests with different lengths that determines the time per token.
LEAST = 20
# Rates at which servers are compared, as shares of the rate with several requests in flight all the time. Closer to 1, chance decides which requests wait.
SHARES = (0.3, 0.5, 0.7)
# Words of a prompt for each token that a server takes, since some are several tokens.
WORDS = 0.75
# Values at which the search for `growth` begins: factors do not reach 0.
GROWTHS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)


@dataclasses.dataclass(frozen=True)
class Simulated:
    """Options of the simulator, in milliseconds; `growth` is the share by which each further request in flight slows all of them.

    places: how many requests are in flight at once.
    """

    overhead: float
    per_token: float
    inter_token: float
    growth: float = 0.0
    places: int = 64

    def factor(self, running: int) -> float:
        """How much slower a server is with this number of requests in flight than with one."""
        return 1 + self.growth * (running - 1)


class Request(t.NamedTuple):
    """One request as it was measured: sent in seconds from the start of its stage, tokens that were not cached, tokens of the answer, milliseconds."""

    sent: float
    prompt: int
    output: int
    ttft_ms: float
    tpot_ms: float | None


def requests(rows: c.Iterable[c.Mapping[str, str]]) -> dict[str, list[Request]]:
    """The answered requests by stage, from the rows of requests.csv."""
    by_stage: dict[str, list[Request]] = {}
    for row in rows:
        kept = by_stage.setdefault(row["stage"], [])
        if not row["error"] and row["ttft_ms"]:
            prompt = int(row["prompt_tokens"] or 0) - int(row["cached_tokens"] or 0)
            tpot = float(row["tpot_ms"]) if row["tpot_ms"] else None
            kept.append(Request(float(row["sent_s"]), max(0, prompt), int(row["output_tokens"] or 1), float(row["ttft_ms"]), tpot))
    return by_stage


def read(rows: str) -> dict[str, list[Request]]:
    """The answered requests by stage, from the text of requests.csv."""
    return requests(csv.DictReader(io.StringIO(rows)))


def simulated(server: Simulated, sent: c.Iterable[Request]) -> list[Request]:
    """The requests as the simulator would answer them, in the order in which they are sent."""
    order = itertools.count()
    waiting = [(request.sent * 1000, next(order), request, 0, 0.0) for request in sent]
    heapq.heapify(waiting)
    running, done = 0, {}
    queue: collections.deque[tuple[int, Request]] = collections.deque()
    while waiting:
        now, number, request, token, first = heapq.heappop(waiting)
        if token == 0 and running == server.places:
            queue.append((number, request))
        elif token == 0:
            running += 1
            first = now + (server.overhead + request.prompt * server.per_token) * server.factor(running)
            heapq.heappush(waiting, (first, number, request, 1, first))
        elif token < request.output:
            heapq.heappush(waiting, (now + server.inter_token * server.factor(running), number, request, token + 1, first))
        else:
            running -= 1
            if queue:
                heapq.heappush(waiting, (now, *queue.popleft(), 0, 0.0))
            tpot = (now - first) / (request.output - 1) if request.output > 1 else None
            done[number] = request._replace(ttft_ms=first - request.sent * 1000, tpot_ms=tpot)
    return [done[number] for number in sorted(done)]


def percentiles(answered: c.Sequence[Request]) -> dict[str, float]:
    """{ttft_p50, ttft_p90, tpot_p50, tpot_p90} in milliseconds, without those that are unknown."""
    figures = {}
    for metric in METRICS:
        values = sorted(value for request in answered if (value := getattr(request, metric)) is not None)
        if values:
            for percent in PERCENTILES:
                figures[f"{metric.removesuffix('_ms')}_p{percent}"] = values[min(len(values) - 1, math.ceil(len(values) * percent / 100) - 1)]
    return figures


def errors(real: c.Sequence[Request], imitated: c.Sequence[Request]) -> dict[str, float]:
    """By how much each percentile differs, as a share of the real one."""
    simulated_values, real_values = percentiles(imitated), percentiles(real)
    return {name: simulated_values[name] / real_values[name] - 1 for name in real_values if name in simulated_values and real_values[name] > 0}


def report(real: c.Mapping[str, c.Sequence[Request]], imitated: c.Mapping[str, c.Sequence[Request]]) -> Facts:
    """{stages, largest, summary, lines, table}: percentiles of both and differences, by stage; the largest; tables for a terminal and as Markdown."""
    stages = [
        {"stage": name, "real": percentiles(answered), "imitated": percentiles(imitated[name]), "errors": errors(answered, imitated[name])}
        for name, answered in real.items()
        if name in imitated
    ]
    largest = max((abs(error) for stage in stages for error in t.cast("dict[str, float]", stage["errors"]).values()), default=None)
    names = [f"{metric.removesuffix('_ms')}_p{percent}" for metric in METRICS for percent in PERCENTILES]
    rows = [["load", *(name.upper().replace("_P", " p") for name in names)]]
    rows += [[str(stage["stage"]), *(_cell(stage, name) for name in names)] for stage in stages]
    summary = "no stage has enough requests to compare" if largest is None else f"the simulator differs by {largest:.0%} at most"
    return {
        "stages": stages,
        "largest": largest,
        "summary": summary,
        "lines": text.aligned(rows, left=0),
        "table": "\n".join([*text.markdown(rows, left=0), ""]),
    }


def _cell(stage: Facts, name: str) -> str:
    if name not in stage["errors"]:
        return "-"
    return f"{stage['real'][name]:.0f} ms, simulated {stage['imitated'][name]:.0f} ({stage['errors'][name]:+.0%})"


def fit(alone: c.Sequence[Request], loaded: c.Sequence[c.Sequence[Request]], places: int = Simulated.places) -> Simulated:
    """The simulator that comes nearest. alone: requests that were sent one at a time, with prompts of different lengths; loaded: stages at rates.

    places: the server's own limit of requests in flight, behind which the others wait.

    Raises ValueError where the requests do not determine the options.
    """
    between = [request.tpot_ms for request in alone if request.tpot_ms]
    # Medians of the slopes between any two requests and of what is left: one stall of the host does not move them.
    slopes = [(one.ttft_ms - other.ttft_ms) / (one.prompt - other.prompt) for one, other in itertools.combinations(alone, 2) if one.prompt != other.prompt]
    if len(slopes) < LEAST:
        raise ValueError(
            f"{len(alone)} answered requests with prompts of {len({request.prompt for request in alone})} lengths do not determine the time per token"
        )
    if not between:
        raise ValueError("no answer came in more than one piece, so the time between tokens is unknown")
    slope = max(0.0, statistics.median(slopes))
    rest = statistics.median(request.ttft_ms - request.prompt * slope for request in alone)
    return _nearer(Simulated(max(rest, 0.1), slope, statistics.median(between), places=places), [stage for stage in loaded if stage])


def longest(workload: c.Mapping[str, t.Any], words: int, taken: c.Sequence[int]) -> Facts:
    """The workload of prompts of this number of words, or of as many as fit. taken: tokens that each model of the server takes.

    A word is a token or a little more. Where the server reports no limit, prompts are no longer than those of `workload`.
    """
    sent = int(workload.get("input_len_max") or workload.get("input_len") or 1)
    fits = max(1, int(min(taken) * WORDS)) if taken else sent
    return {"kind": "random", "input_len": min(words, fits), "output_len": 1}


def prefill(alone: c.Iterable[Request]) -> Facts | None:
    """{peak_prefill_throughput, prompt_tokens}: the medians of tokens per second and of tokens, of requests that were sent one at a time. None without one.

    As in llm-d's own calibration, the whole time to the first token counts, since requests behind the prompt wait for all of it.
    """
    cold = [request for request in alone if request.prompt and request.ttft_ms > 0]
    if not cold:
        return None
    speed = statistics.median(request.prompt * 1000 / request.ttft_ms for request in cold)
    return {"peak_prefill_throughput": max(1, round(speed)), "prompt_tokens": round(statistics.median(request.prompt for request in cold))}


def rates(together: c.Sequence[Request]) -> list[float]:
    """Three rates, in requests per second, from requests of which several were in flight all the time."""
    ends = [request.sent + (request.ttft_ms + (request.tpot_ms or 0.0) * (request.output - 1)) / 1000 for request in together]
    seconds = max(ends) - min(request.sent for request in together)
    return [float(f"{share * len(together) / seconds:.3g}") for share in SHARES]


def _nearer(server: Simulated, stages: c.Sequence[c.Sequence[Request]]) -> Simulated:
    """The options after they are changed one at a time, as long as the simulated percentiles of the loaded stages come nearer."""
    if not stages:
        return server
    best = min((dataclasses.replace(server, growth=growth) for growth in GROWTHS), key=lambda candidate: _distance(candidate, stages))
    distance = _distance(best, stages)
    for names, step in ((names, step) for names, steps in SEARCH for step in steps):
        better = True
        while better:
            better = False
            for name, factor in itertools.product(names, (step, 1 / step)):
                candidate = dataclasses.replace(best, **{name: getattr(best, name) * factor})
                if (candidate_distance := _distance(candidate, stages)) < distance - 1e-9:
                    best, distance, better = candidate, candidate_distance, True
    return best


def _distance(server: Simulated, stages: c.Sequence[c.Sequence[Request]]) -> float:
    """How far the percentiles are off: the mean of the squares of the logarithms of their ratios."""
    ratios = [1 + error for stage in stages for error in errors(stage, simulated(server, stage)).values()]
    return statistics.fmean(math.log(max(ratio, 1e-6)) ** 2 for ratio in ratios) if ratios else math.inf


def options(server: Simulated, blocks: int, block_size: int) -> Facts:
    """The block `engine` of a model service that is simulated. blocks, block_size: of the cache, 0 where they are unknown."""
    simulator = {
        "prefill_overhead": f"{server.overhead * 1000:.0f}us",
        "prefill_time_per_token": f"{server.per_token * 1000:.0f}us",
        "inter_token_latency": f"{server.inter_token * 1000:.0f}us",
        "time_factor_under_load": round(1 + server.growth * (server.places - 1), 3),
    }
    if blocks:
        simulator["kv_cache_size"] = blocks
    return {"type": "simulator", "max_num_seqs": server.places, **({"block_size": block_size} if block_size else {}), "simulator": simulator}
