# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends the requests of a probe, reads counters around them, and records the observations."""

from __future__ import annotations

import dataclasses
import random
import secrets
import typing as t

from ..common.clock import SYSTEM, Clock
from ..http.errors import ExchangeError
from ..inference.client import OpenAIClient, Reply
from .counts import increases
from .routing_counters import Counters, Servers

SERVER_HEADER = "x-inference-pod"
SCHEDULER_HEADER = "x-went-into-resp-headers"
_WORDS = ("river", "stone", "green", "light", "table", "music", "seven", "cloud", "paper", "north", "quiet", "apple", "storm", "glass", "field", "early")


@dataclasses.dataclass(frozen=True)
class ProbeLimits:
    """Bounds of one probe: numbers of requests, seconds, and lengths in words (a word is one token or slightly more)."""

    sticky: int = 6
    spread_min: int = 4
    spread_max: int = 24
    prefix_words: int = 256
    gap: float = 0.06
    settle: float = 3.0
    request_timeout: float = 10.0
    wait: float = 60.0
    refresh: float = 6.0  # gauges of an endpoint picker are updated every five seconds
    follow: int = 6  # or one for each server, where there are more servers
    follow_max: int = 64
    follow_sure: int = 24  # in a row; random picks keep the promise in one of 300,000 waits of 50 rounds, even with two servers
    avoid: int = 24
    max_num_seqs: int = 16  # above this many concurrent requests no queue is created on a server
    busy_tokens: int = 600
    edge: float = 0.5  # before the end of a queue; prompts sent later may have been scheduled without a queue
    noticing: float = 0.3  # an endpoint picker reads the queues of its servers several times a second
    indexing: float = 0.3  # KV events are sent immediately and indexed soon after
    recount: float = 0.2  # between two reads of counters that have not increased yet


class ProbeTraffic:
    """Requests to one service. `observation`: the recorded results, plain data."""

    def __init__(
        self,
        service: dict[str, t.Any],
        client: OpenAIClient,
        counters: Counters | None,
        limits: ProbeLimits,
        servers: Servers | None = None,
        clock: Clock = SYSTEM,
    ) -> None:
        self._service, self._client, self._counters, self._limits, self._servers, self._clock = service, client, counters, limits, servers, clock
        self._nonce = secrets.token_hex(6)  # makes prefixes that no earlier run has sent
        self._words = limits.prefix_words
        self._by_header = False  # becomes True when an answer names its server
        self.observation: dict[str, t.Any] = {
            **{key: service.get(key) for key in ("name", "url", "through", "model", "replicas", "endpoints", "plugins", "sometimes", "cold_tokens")},
            "promises": list(service.get("promises") or ()),
            "ready_endpoints": None,
            "sent": 0,
            "scheduled": 0,
            "failures": [],
            "seconds": {},
            "answered": {},
        }
        if service.get("aliases"):
            self.observation["aliases"] = {"requested": list(service["aliases"]), "failed": []}

    def _timed(self, name: str, step: t.Callable[[], t.Any]) -> t.Any:
        start = self._clock.now()
        try:
            return step()
        finally:
            self.observation["seconds"][name] = round(self.observation["seconds"].get(name, 0.0) + self._clock.now() - start, 3)

    def _answered(self) -> dict[str, float]:
        """Requests that each server has answered, from its own counters; empty where they cannot be read."""
        try:
            return self._servers.answered("decode", self._limits.request_timeout) if self._servers else {}
        except ExchangeError:
            return {}

    def _answering_server(self, prompt: str) -> str | None:
        """Sends a prompt. The name of the server that answers it; None where it is unknown."""
        servers: dict[str, int] = {}
        before, end = {} if self._by_header else self._answered(), self._clock.now() + self._limits.settle
        self._send(prompt, servers)
        while before and not (servers or (servers := increases(before, self._answered()))) and self._clock.now() < end:
            self._clock.sleep(self._limits.recount)
        return next(iter(servers), None)

    def _prefix(self, label: str) -> str:
        """A prefix that starts differently for each `label` and each run, so that no block of it is cached: block hashes depend on all blocks before."""
        rng = random.Random(f"{self._nonce} {label}")
        return " ".join([self._nonce, label, *(rng.choice(_WORDS) for _word in range(self._words))]) + "."

    def _send(self, prompt: str, servers: dict[str, int], queued: float = 0.0) -> Reply | None:
        """The reply; None, with a recorded failure, where the request failed. queued: seconds that it may wait behind other requests of this validation."""
        self.observation["sent"] += 1
        try:
            reply = self._complete(prompt, queued=queued)
        except ExchangeError as error:
            self.observation["failures"].append({"request": self.observation["sent"], "evidence": str(error), "remedy": error.remedy})
            return None
        self.observation["scheduled"] += SCHEDULER_HEADER in reply.answer.headers
        server = reply.answer.headers.get(SERVER_HEADER)
        self._by_header = bool(server)
        if server:
            for counts in (servers, self.observation["answered"]):
                counts[server] = counts.get(server, 0) + 1
        return reply

    def _complete(self, prompt: str, model: str | None = None, queued: float = 0.0) -> Reply:
        timeout = self._limits.request_timeout + queued
        return self._client.complete(model or self._service["model"], prompt, max_tokens=1, api=self._service.get("api") or "completions", timeout=timeout)

    def _read(self) -> dict[str, t.Any] | None:
        if self._counters is None:
            return None
        try:
            read = self._counters.read(self._limits.request_timeout)
        except ExchangeError as error:
            self.observation["counters"] = {"error": str(error), "remedy": error.remedy}
            return None
        self.observation.update({key: read[key] for key in ("pickers", "ready_endpoints")})
        return read
