# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Traffic that shows how requests are scheduled: sends it through a gateway and writes down what was seen. claims.py judges it."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import secrets
import time
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils import health, prometheus_text
from ansible_collections.llm_d.inference.plugins.module_utils.http_transport import Transport, excerpt
from ansible_collections.llm_d.inference.plugins.module_utils.openai_answers import require_ok
from ansible_collections.llm_d.inference.plugins.module_utils.openai_api import Client, Reply, Trouble

SERVER_HEADER = "x-inference-pod"
SCHEDULER_HEADER = "x-went-into-resp-headers"
SERVER_LABELS = ("pod_name", "endpoint_name")  # of scheduler_attempts: gateway-api-inference-extension 1.5, llm-d-router
_COUNTED = ("requests", "scheduler_attempts")
_WORDS = ("river", "stone", "green", "light", "table", "music", "seven", "cloud", "paper", "north", "quiet", "apple", "storm", "glass", "field", "early")


@dataclasses.dataclass(frozen=True)
class Limits:
    """Bounds of one probe. Counts are requests, times are seconds, lengths are words (a word is a token or a little more)."""

    sticky: int = 6
    spread_min: int = 4
    spread_max: int = 24
    prefix_words: int = 256
    gap: float = 0.06
    settle: float = 3.0
    request_timeout: float = 10.0
    wait: float = 60.0


class Counters:
    """The endpoint picker's own counters, read from its metrics page. `names`: requests, scheduler_attempts, ready_endpoints."""

    def __init__(self, transport: Transport, path: str, names: dict[str, str]) -> None:
        self._transport, self._path, self._names = transport, path, names

    def read(self, timeout: float) -> dict[str, t.Any]:
        """{requests, scheduler_attempts, ready_endpoints: total or None, servers: {server: attempts}}. Raises Trouble."""
        answer = self._transport.request("GET", self._path, timeout=timeout)
        require_ok(answer)
        samples = prometheus_text.parse(answer.text)
        if not samples:
            raise Trouble("metrics", f"{answer.request}: no metrics in the answer ({answer.content_type}): {excerpt(answer.text)!r}",
                          "check the port and path of the metrics")
        attempts = self._names.get("scheduler_attempts", "")
        where = {"status": "success"} if prometheus_text.total(samples, attempts, {"status": "success"}) is not None else None
        servers = (prometheus_text.by_label(samples, attempts, label, where) for label in SERVER_LABELS)
        return {
            "requests": prometheus_text.total(samples, self._names.get("requests", "")),
            "scheduler_attempts": prometheus_text.total(samples, attempts, where),
            "ready_endpoints": prometheus_text.total(samples, self._names.get("ready_endpoints", "")),
            "servers": next((found for found in servers if found), {}),
        }


class Prober:
    """One service, probed once. The result of `run` is plain data."""

    def __init__(self, service: dict[str, t.Any], client: Client, counters: Counters | None, limits: Limits) -> None:
        self._service, self._client, self._counters, self._limits = service, client, counters, limits
        self._nonce = secrets.token_hex(6)  # a prefix that no earlier run has sent, so that each run proves anew
        self._words = limits.prefix_words
        self._by_header = True
        self.seen: dict[str, t.Any] = {
            **{key: service.get(key) for key in ("name", "url", "model", "replicas")},
            "promises": list(service.get("promises") or ()), "ready_endpoints": None, "sent": 0, "scheduled": 0, "failures": [], "seconds": {},
        }

    def run(self) -> dict[str, t.Any]:
        """Health first; traffic only against a healthy service."""
        first = self._timed("counted", self._read)
        found = self._timed("serving", self._health)
        if not found.healthy:
            return self.seen
        before = self._timed("counted", lambda: self._arrive(first))
        middle = self._timed("sticky", lambda: self._sticky(before))
        self._timed("spread", lambda: self._spread(middle))
        self._timed("counted", lambda: self._count(before))
        return self.seen

    def _timed(self, name: str, step: t.Callable[[], t.Any]) -> t.Any:
        start = time.monotonic()
        try:
            return step()
        finally:
            self.seen["seconds"][name] = round(self.seen["seconds"].get(name, 0.0) + time.monotonic() - start, 3)

    def _health(self) -> health.Health:
        wanted = health.Wanted(model=self._service["model"], apis=(self._service.get("api") or "completions",), request_timeout=self._limits.request_timeout)
        found = health.wait(self._client, wanted, self._limits.wait, 0.5)
        length = next((entry.max_model_len for entry in found.models if entry.id == self._service["model"]), None)
        if length:
            self._words = max(16, min(self._words, length // 4))  # a rare word may be three tokens, and the answer needs room
        self.seen["health"] = {"healthy": found.healthy, "level": found.reached, "version": found.version, "waited": found.waited, "looks": found.looks,
                               "checks": [dataclasses.asdict(check) for check in found.checks]}
        return found

    def _arrive(self, first: dict[str, t.Any] | None) -> dict[str, t.Any] | None:
        """Waits until the endpoint picker whose counters are read is the one that is asked: for a moment after a change the gateway still asks
        the one before. It was when its counters have moved since `first`; where they never do, the claims will tell. Returns the counters now.
        """
        deadline = time.monotonic() + self._limits.settle
        now = self._read()
        first = first or now
        while now and first and not any((now[key] or 0) > (first[key] or 0) for key in _COUNTED) and time.monotonic() < deadline:
            with contextlib.suppress(Trouble):
                self._complete("Who picks?")
            time.sleep(self._limits.gap)
            now = self._read()
        return now

    def _sticky(self, before: dict[str, t.Any] | None) -> dict[str, t.Any] | None:
        servers: dict[str, int] = {}
        prefix = self._prefix("sticky")
        sent = 0
        for number in range(self._limits.sticky):
            if not self._send(f"{prefix} Question {number}?", servers):
                break
            sent += 1
            time.sleep(self._limits.gap * (4 if number == 0 else 1))  # the picker notes the first prefix behind its answer
        return self._phase("sticky", sent, servers, before)

    def _spread(self, before: dict[str, t.Any] | None) -> dict[str, t.Any] | None:
        servers: dict[str, int] = {}
        sent, after = 0, before
        while sent < self._limits.spread_max:
            # ties between idle servers are broken at random: a few requests may meet one server by chance, many do not
            if not self._send(f"{self._prefix(f'spread {sent}')} Question?", servers):
                break
            sent += 1
            time.sleep(self._limits.gap)
            if sent % self._limits.spread_min == 0:
                after = self._phase("spread", sent, servers, before)
                if len(self.seen["spread"]["servers"]) > 1 or (self._service.get("replicas") or 2) < 2:
                    return after
        return self._phase("spread", sent, servers, before)

    def _phase(self, name: str, sent: int, servers: dict[str, int], before: dict[str, t.Any] | None) -> dict[str, t.Any] | None:
        """Notes which servers answered in a phase; where they do not say so themselves, the picker's counters per server do."""
        if self._by_header:
            self.seen[name] = {"sent": sent, "servers": dict(servers), "source": SERVER_HEADER}
            return before
        after = self._read()
        moved: dict[str, int] = {}
        if before and after:
            moved = {server: int(value - before["servers"].get(server, 0)) for server, value in after["servers"].items()}
        self.seen[name] = {"sent": sent, "servers": {server: count for server, count in moved.items() if count}, "source": "scheduler_attempts per server"}
        return after

    def _prefix(self, which: str) -> str:
        """A prefix that starts differently for each `which` and each run: every block hash depends on all that went before."""
        dice = random.Random(f"{self._nonce} {which}")
        return " ".join([self._nonce, which, *(dice.choice(_WORDS) for dummy in range(self._words))]) + "."

    def _send(self, prompt: str, servers: dict[str, int]) -> bool:
        self.seen["sent"] += 1
        try:
            reply = self._complete(prompt)
        except Trouble as trouble:
            self.seen["failures"].append({"request": self.seen["sent"], "evidence": str(trouble), "remedy": trouble.remedy})
            return False
        self.seen["scheduled"] += SCHEDULER_HEADER in reply.answer.headers
        server = reply.answer.headers.get(SERVER_HEADER)
        self._by_header = bool(server)
        if server:
            servers[server] = servers.get(server, 0) + 1
        return True

    def _complete(self, prompt: str) -> Reply:
        return self._client.complete(self._service["model"], prompt, max_tokens=1, api=self._service.get("api") or "completions",
                                     timeout=self._limits.request_timeout)

    def _read(self) -> dict[str, t.Any] | None:
        if self._counters is None:
            return None
        try:
            read = self._counters.read(self._limits.request_timeout)
        except Trouble as trouble:
            self.seen["counters"] = {"error": str(trouble), "remedy": trouble.remedy}
            return None
        self.seen["ready_endpoints"] = read["ready_endpoints"]
        return read

    def _count(self, before: dict[str, t.Any] | None) -> None:
        """Reads until the counters moved by what was sent, or the time to settle is over."""
        deadline = time.monotonic() + self._limits.settle
        while before is not None and (after := self._read()) is not None:
            moved = {key: None if after[key] is None else int(after[key] - (before[key] or 0)) for key in _COUNTED}
            self.seen["counters"] = {"moved": moved, "sent": self.seen["sent"]}
            if all(value is not None and value >= self.seen["sent"] for value in moved.values()) or time.monotonic() > deadline:
                return
            time.sleep(0.2)
