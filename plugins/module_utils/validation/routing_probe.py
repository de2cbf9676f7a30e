# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends traffic through a gateway to observe how its requests are scheduled, and records the observation that routing_claims judges."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import functools
import random
import typing as t

from ..http.errors import ExchangeError
from ..inference import health
from .claims import EVENTS_WAIT
from .counts import increases
from .probe_traffic import SERVER_HEADER, ProbeTraffic
from .routing_counters import THREADS, WAITING, Server

EVENTS_TRIALS = 3  # of `follow` and `sticky`; few, so that a service does not pass by chance
QUEUED = 4  # requests in the queue of a server, which are sent in addition to those that it processes concurrently
# Counters of the endpoint picker that each request increases by one.
_COUNTED = ("requests", "scheduler_attempts")

# Requests per server, as counted by the picker (`picked`) and by the servers (`answered`).
Counts = dict[str, dict[str, float]]


class Prober(ProbeTraffic):
    """Probes one service once. `run` returns plain data."""

    def run(self) -> dict[str, t.Any]:
        """The observation. Checks the health of the service; if it is healthy, sends the traffic of each phase.

        Ends at the first request that fails: then the service is not serving, and no other claim is judged.
        """
        counters_at_start = self._timed("counted", self._read)
        service_health = self._timed("serving", self._health)
        if not service_health.healthy:
            return self.observation
        healthy_at = self._clock.now()
        before = self._timed("counted", lambda: self._wait_for_picker(counters_at_start))
        events_deadline, promised = self._clock.now() + self._service.get("events_wait", EVENTS_WAIT), self.observation["promises"]
        # KV events also keep prompts on one server (`sticky`), so they are checked first, and again if an endpoint picker lost them in between: then `sticky`
        # reaches several servers.
        for _trial in range(EVENTS_TRIALS if "follow" in promised else 1):
            first = last = self._initial_counts(before, events_deadline)
            # Only promised phases run, except `spread`: its traffic is needed by all other claims.
            for name, phase in (("sticky", self._sticky), ("roam", self._roam)):
                if name in promised and not self.observation["failures"]:
                    last = self._timed(name, functools.partial(phase, last))
            if self.observation["failures"] or len((self.observation.get("sticky") or {"servers": ()})["servers"]) < 2:
                break
        prefilled_before = self._timed("split", self._prefilled)
        if not self.observation["failures"]:
            self._timed("spread", lambda: self._spread(last))
        if self.observation["failures"]:
            return self.observation
        self._timed("split", lambda: self._split(prefilled_before))
        if not self._by_header:
            self.observation["answered"] = increases(first["answered"], self._answered())  # before requests are sent to servers directly
        if "avoid" in self.observation["promises"]:
            self._timed("avoid", self._avoid)
        self._timed("counted", lambda: self._count(before))
        self._timed("endpoints", lambda: self._endpoints(healthy_at))
        self._timed("aliases", self._aliases)  # last, since the counters above must not include these requests
        self.observation["words"] = self._words
        return self.observation

    def _health(self) -> health.Health:
        """Waits until the service is healthy, records its health, and limits the length of prompts to what the model accepts."""
        wanted = health.Requirements(
            model=self._service["model"], apis=(self._service.get("api") or "completions",), request_timeout=self._limits.request_timeout
        )
        service_health = health.wait_until_healthy(self._client, wanted, self._limits.wait, 0.5, self._clock, self._limits.request_timeout)
        length = next((entry.max_model_len for entry in service_health.models if entry.id == self._service["model"]), None)
        if length:
            self._words = max(16, min(self._words, length // 4))  # in words: an uncommon one can be three tokens, and the answer needs some too
        self.observation["health"] = {
            "healthy": service_health.healthy,
            "level": service_health.reached,
            "version": service_health.version,
            "waited": service_health.waited,
            "looks": service_health.looks,
            "checks": [dataclasses.asdict(check) for check in service_health.checks],
        }
        return service_health

    def _wait_for_picker(self, first: dict[str, t.Any] | None) -> dict[str, t.Any] | None:
        """The current counters, once the gateway uses the endpoint picker whose counters are read. Just after a change it may still use the previous one.

        Sends requests until the counters have increased since `first`, for `settle` seconds at most; where they never increase, the claims fail.
        """
        deadline = self._clock.now() + self._limits.settle
        now = self._read()
        first = first or now
        while now and first and not any((now[key] or 0) > (first[key] or 0) for key in _COUNTED) and self._clock.now() < deadline:
            with contextlib.suppress(ExchangeError):
                self._complete("Who picks?")
            self._clock.sleep(self._limits.gap)
            now = self._read()
        return now

    def _sticky(self, before: Counts) -> Counts:
        """Sends requests with one shared prefix, and records the servers and their cached tokens."""
        servers: dict[str, int] = {}
        prefix = self._prefix(f"sticky {self.observation['sent']}")
        sent, cached = 0, []
        for number in range(self._limits.sticky):
            begun = self._clock.now()
            reply = self._send(f"{prefix} Question {number}?", servers)
            if reply is None:
                break
            sent += 1
            cached.append(reply.completion.cached_tokens)
            # The endpoint picker records the prefix of a request only after the answer.
            self._clock.sleep(self._index_delay(self._limits.gap * 4, begun) if number == 0 else self._limits.gap)
        self.observation["cached"] = cached[1:]
        return self._phase("sticky", sent, servers, before)

    def _index_delay(self, usual: float, begun: float) -> float:
        """Seconds until the prefix index contains the prefix of a request that was sent at `begun`.

        `usual`, or the duration of the request if that is longer, since a slow server also sends its KV events late.
        """
        return max(usual, min(self._clock.now() - begun, self._limits.settle))

    def _roam(self, before: Counts) -> Counts:
        """Sends requests with one shared prefix."""
        prefix = self._prefix("roam")
        return self._until_two("roam", before, lambda number: f"{prefix} Question {number}?")

    def _spread(self, before: Counts) -> Counts:
        """Sends requests with different prefixes."""
        return self._until_two("spread", before, lambda number: f"{self._prefix(f'spread {number}')} Question?")

    def _until_two(self, name: str, before: Counts, prompt: t.Callable[[int], str]) -> Counts:
        """Sends requests until two servers have answered, or `spread_max` are sent."""
        servers: dict[str, int] = {}
        sent, after = 0, before
        while sent < self._limits.spread_max:
            # idle servers are picked at random: a few requests can all reach the same server, many do not
            if self._send(prompt(sent), servers) is None:
                break
            sent += 1
            self._clock.sleep(self._limits.gap)
            if sent % self._limits.spread_min == 0:
                after = self._phase(name, sent, servers, before)
                if len(self.observation[name]["servers"]) > 1 or (self._service.get("replicas") or 2) < 2:
                    return after
        return self._phase(name, sent, servers, before)

    def _phase(self, name: str, sent: int, servers: dict[str, int], before: Counts) -> Counts:
        """Records which servers answered in a phase, and returns the counts after it.

        Source: the header SERVER_HEADER of the answers, else the endpoint picker's attempts per server, else the counters of the servers themselves.
        """
        if self._by_header:
            self.observation[name] = {"sent": sent, "servers": dict(servers), "source": SERVER_HEADER}
            return before
        end = self._clock.now() + self._limits.settle
        while True:
            read = self._read()
            after = {"picked": read["servers"] if read else {}, "answered": {}}
            source, kind = "scheduler_attempts per server", "picked"
            if not after["picked"]:
                after["answered"], source, kind = self._answered(), "requests that servers count", "answered"
            counts = increases(before[kind], after[kind])
            if not after[kind] or sum(counts.values()) >= sent or self._clock.now() > end:  # a server may count a request shortly after its answer
                break
            self._clock.sleep(self._limits.recount)
        self.observation[name] = {"sent": sent, "servers": counts, "source": source}
        return after

    def _prefilled(self) -> float | None:
        """The number of requests that prefill servers have answered since they started; None where `split` is not promised or it cannot be read."""
        if "split" not in self.observation["promises"] or self._servers is None:
            return None
        try:
            return sum(self._servers.answered("prefill", self._limits.request_timeout).values())
        except ExchangeError as error:
            self.observation["split"] = {"error": str(error), "remedy": error.remedy}
            return None

    def _split(self, before: float | None) -> None:
        """Records how many requests of `spread` were prefilled by prefill servers. before: the result of _prefilled() before `spread`.

        All prompts of `spread` are new, and a server counts a request before the client has its answer, so both numbers have to be equal.
        """
        after = None if before is None else self._prefilled()
        if before is not None and after is not None:
            self.observation["split"] = {"sent": self.observation["spread"]["sent"], "prefilled": int(after - before)}

    def _initial_counts(self, before: dict[str, t.Any] | None, end: float) -> Counts:
        """The counts at the start of the phases; where `follow` is promised, after KV events have arrived or the time `end` has passed."""
        if "follow" in self.observation["promises"]:
            self._timed("follow", lambda: self._follow(end))
            before = self._timed("counted", self._read)
        return {"picked": before["servers"] if before else {}, "answered": self._timed("counted", self._answered)}

    def _follow(self, end: float) -> None:
        """Sends prompts to servers directly, then through the gateway, until each is routed to the server that caches it or the time `end` has passed.

        Over many rounds, one in which all picks are correct can be chance; `follow_sure` correct picks in a row cannot.
        """
        if self._servers is None:
            return
        try:
            servers, correct_in_a_row = self._servers.find("decode"), 0
            count = min(max(self._limits.follow, len(servers)), self._limits.follow_max)
            while servers:
                assigned = self._assign(servers, self._limits.follow_sure - correct_in_a_row if correct_in_a_row else count)
                with concurrent.futures.ThreadPoolExecutor(max_workers=THREADS) as pool:
                    list(
                        pool.map(lambda item: item[1].client.complete(self._service["model"], item[0], timeout=self._limits.request_timeout), assigned.items())
                    )
                self._clock.sleep(self._limits.indexing)
                correct = [self._answering_server(f"{prompt} And then?") == server.name for prompt, server in assigned.items()]
                correct_in_a_row = correct_in_a_row + len(correct) if all(correct) else 0
                sent, right = (correct_in_a_row, correct_in_a_row) if correct_in_a_row else (len(correct), sum(correct))
                self.observation["follow"] = {"sent": sent, "right": right, "servers": len(servers)}
                if correct_in_a_row >= self._limits.follow_sure or self.observation["failures"] or (not correct_in_a_row and self._clock.now() > end):
                    return
        except ExchangeError as error:
            self.observation["follow"] = {"error": str(error), "remedy": error.remedy}

    def _assign(self, servers: list[Server], count: int) -> dict[str, Server]:
        """{new prompt: the server to send it to}: each server equally often, in a random order that no endpoint picker has by chance."""
        order = [servers[number % len(servers)] for number in range(count)]
        random.Random(f"{self._nonce} {self.observation['sent']}").shuffle(order)
        return {self._prefix(f"follow {self.observation['sent']} {number}"): server for number, server in enumerate(order)}

    def _avoid(self) -> None:
        """Fills the queue of one server directly, and sends new prompts through the gateway meanwhile, unless a queue takes too many requests."""
        max_num_seqs = self._service.get("max_num_seqs")
        if not max_num_seqs or max_num_seqs > self._limits.max_num_seqs or self._servers is None or self._counters is None:
            return
        try:
            servers = self._servers.find("decode")
            if len(servers) > 1:
                self.observation["avoid"] = self._measure_avoid(servers[0], max_num_seqs)
        except ExchangeError as error:
            self.observation["avoid"] = {"error": str(error), "remedy": error.remedy}

    def _measure_avoid(self, busy: Server, max_num_seqs: int) -> dict[str, t.Any]:
        """{busy: name, sent: prompts that were sent while requests waited on `busy`, servers: these prompts by server, waiting: requests in its queue}.

        Ends at the first prompt that reaches `busy`. `waiting` is 0 where no queue formed, or where it emptied before enough prompts were sent.
        """
        request = {"model": self._service["model"], "prompt": self._nonce, "max_tokens": self._limits.busy_tokens, "ignore_eos": True, "temperature": 0}
        ended, routed = list[float](), list[tuple[float, str]]()

        def keep_busy() -> None:
            try:
                busy.client.post("/v1/completions", request, self._limits.request_timeout)
            finally:
                ended.append(self._clock.now())

        with concurrent.futures.ThreadPoolExecutor(max_workers=max_num_seqs + QUEUED) as pool:
            for _number in range(max_num_seqs + QUEUED):
                pool.submit(keep_busy)
            waiting = self._waiting(busy, self._limits.settle)
            self._clock.sleep(self._limits.noticing if waiting else 0)
            while waiting and len(routed) < self._limits.avoid and len(ended) < QUEUED and not any(server == busy.name for _sent, server in routed):
                answered, sent = dict[str, int](), self._clock.now()
                # A short prompt, since the queue empties soon. If it enters the queue, it waits for the requests before it, which is no failure.
                self._send(f"{self._nonce} avoid {len(routed)}", answered, queued=self._limits.request_timeout)
                routed.append((sent, next(iter(answered), "")))
        # The queue is empty once QUEUED requests have ended. Prompts that were sent just before may have been scheduled after that, and do not count.
        end = sorted(ended)[QUEUED - 1] - self._limits.edge
        counted = [server for sent, server in routed if sent < end]
        enough = busy.name in counted or len(counted) >= self._limits.avoid / 2
        shares = {server: counted.count(server) for server in dict.fromkeys(counted) if server}
        return {"busy": busy.name, "sent": len(counted), "servers": shares, "waiting": int(waiting) if enough else 0}

    def _waiting(self, server: Server, seconds: float) -> float:
        """The number of requests that wait on a server, once there are any, or 0 after `seconds`. Read from the server: the picker's gauge lags by seconds."""
        end = self._clock.now() + seconds
        while True:
            count = server.total(WAITING, self._limits.request_timeout)
            if count or self._clock.now() > end:
                return count
            self._clock.sleep(0.1)

    def _count(self, before: dict[str, t.Any] | None) -> None:
        """Records the increase of the counters since `before`, once they include all requests sent, or after `settle` seconds."""
        deadline = self._clock.now() + self._limits.settle
        while before is not None and (after := self._read()) is not None:
            counted = {key: None if after[key] is None else int(after[key] - (before[key] or 0)) for key in _COUNTED}
            ran = {point: increases(before["ran"].get(point, {}), names) for point, names in after["ran"].items()}
            self.observation["counters"] = {
                "moved": counted,
                "sent": self.observation["sent"],
                "picked": increases(before["servers"], after["servers"]),
                "decisions": increases(before["decisions"], after["decisions"]),
                "ran": ran,
            }
            if all(value is not None and value >= self.observation["sent"] for value in counted.values()) or self._clock.now() > deadline:
                return
            self._clock.sleep(self._limits.recount)

    def _aliases(self) -> None:
        """Requests each alias of the model once; records those that fail, with the reason."""
        aliases = self.observation.get("aliases") or {"requested": []}
        for name in aliases["requested"]:
            try:
                self._complete("Who answers?", name)
            except ExchangeError as error:
                aliases["failed"].append(f"{name}: {error}")

    def _endpoints(self, healthy_at: float) -> None:
        """Reads the counters until the picker knows the planned number of servers, until `refresh` seconds after `healthy_at` at most.

        By then the picker has updated its gauge since the service was healthy.
        """
        wanted, end = self._service.get("endpoints"), healthy_at + self._limits.refresh
        while wanted and self.observation["ready_endpoints"] is not None and self.observation["ready_endpoints"] < wanted and self._clock.now() < end:
            self._clock.sleep(min(0.5, self._limits.refresh))
            if self._read() is None:
                return
