# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The health ladder of an OpenAI-compatible server: alive, ready, serving. One look, or looks until it is healthy."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import time
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils import openai_answers as answers
from ansible_collections.llm_d.inference.plugins.module_utils.openai_api import Client, Trouble

LEVELS = ("alive", "ready", "serving")
PROMPT = "Count: one, two, three,"
# troubles that waiting does not heal: a wrong key or certificate, a redirect to another place
FINAL = frozenset({"unauthorized", "forbidden", "tls_untrusted", "redirect"})


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What a healthy server must show. No `model`: any model will do. Times in seconds."""

    level: str = "serving"
    model: str | None = None
    min_model_len: int | None = None
    apis: tuple[str, ...] = ("completions",)
    request_timeout: float = 10.0


@dataclasses.dataclass(frozen=True)
class Check:
    """One rung: what was looked at, whether it held, what was seen, what to do if not, milliseconds it took."""

    name: str
    ok: bool
    evidence: str
    ms: float
    remedy: str = ""
    kind: str = ""


@dataclasses.dataclass
class Health:
    """The outcome: `reached` is the highest level that held (empty: none)."""

    healthy: bool = False
    reached: str = ""
    checks: list[Check] = dataclasses.field(default_factory=list)
    models: list[answers.Model] = dataclasses.field(default_factory=list)
    version: str | None = None
    waited: float = 0.0
    looks: int = 0

    @property
    def failed(self) -> Check | None:
        return next((check for check in self.checks if not check.ok), None)


class _Ladder:
    """One climb; stops at the first rung that does not hold."""

    def __init__(self, client: Client, wanted: Wanted, deadline: float) -> None:
        self._client, self._wanted, self._deadline = client, wanted, deadline
        self.health = Health()

    def climb(self, level: str) -> Health:
        rungs: dict[str, list[tuple[str, t.Callable[[], str]]]] = {
            "alive": [("health", self._alive)],
            "ready": [("models", self._ready)],
            "serving": [rung for api in self._wanted.apis for rung in (
                (api, lambda api=api: self._serving(api, False)), (f"{api}_streamed", lambda api=api: self._serving(api, True)))],
        }
        for name in LEVELS[:LEVELS.index(level) + 1]:
            if not all(self._rung(*rung) for rung in rungs[name]):
                return self.health
            self.health.reached = name
        self.health.healthy = True
        return self.health

    def _rung(self, name: str, look: t.Callable[[], str]) -> bool:
        start = time.monotonic()
        evidence, remedy, kind = "", "", ""
        try:
            evidence = look()
        except Trouble as trouble:
            evidence, remedy, kind = str(trouble), trouble.remedy, trouble.kind
        self.health.checks.append(Check(name, not kind, evidence, round((time.monotonic() - start) * 1000, 1), remedy, kind))
        return not kind

    def _timeout(self) -> float:
        """A request may not outlive the whole wait, but a last look gets a fair chance."""
        return min(self._wanted.request_timeout, max(1.0, self._deadline - time.monotonic()))

    def _alive(self) -> str:
        try:
            answer = self._client.health(self._timeout())
        except Trouble as trouble:
            if trouble.kind != "not_found":
                raise
            # Triton's front end and some gateways have no /health: an answer to /v1/models proves as much
            self._client.models(self._timeout())
            return "there is no /health; /v1/models answers"
        return f"{answer.request}: 200"

    def _ready(self) -> str:
        self.health.models = self._client.models(self._timeout())
        served, model = [entry.id for entry in self.health.models], self._wanted.model
        names = ", ".join(served) or "no model"
        if not served or (model is not None and model not in served):
            remedy = f"serve {model!r} under that name, or ask for one of those" if model and served else "look at the server's log: was the model loaded?"
            raise Trouble("model", f"/v1/models lists {names}" + (f", not {model}" if model else ""), remedy)
        self._require_length(next(entry for entry in self.health.models if model in (None, entry.id)))
        self.health.version = self._client.version(self._timeout())
        return f"/v1/models lists {names}"

    def _require_length(self, entry: answers.Model) -> None:
        least = self._wanted.min_model_len
        if least and entry.max_model_len is not None and entry.max_model_len < least:
            raise Trouble("model_len", f"{entry.id} takes {entry.max_model_len} tokens, less than the {least} that are wanted",
                          f"start the server with max_model_len {least} or more")

    def _serving(self, api: str, stream: bool) -> str:
        model = self._wanted.model or self.health.models[0].id
        reply = self._client.complete(model, PROMPT, max_tokens=4, stream=stream, api=api, timeout=self._timeout())
        done, pod = reply.completion, reply.answer.headers.get("x-inference-pod")
        tokens = "unknown" if done.completion_tokens is None else str(done.completion_tokens)
        return f"{reply.answer.request}: output tokens {tokens}" + (f" in {done.events} events" if stream else "") + (f" from {pod}" if pod else "")


def look(client: Client, wanted: Wanted, level: str | None = None, timeout: float | None = None) -> Health:
    """One climb up to `level` (default: the wanted one), in `timeout` seconds at most, more or less."""
    ladder = _Ladder(client, wanted, time.monotonic() + (timeout if timeout is not None else 4 * wanted.request_timeout))
    health = ladder.climb(level or wanted.level)
    health.looks = 1
    return health


def wait(client: Client, wanted: Wanted, timeout: float, interval: float, sleep: c.Callable[[float], None] = time.sleep) -> Health:
    """Looks until the server is healthy, or `timeout` seconds are over, or the trouble is one that waiting does not heal."""
    start, looks = time.monotonic(), 0
    while True:
        looks += 1
        health = look(client, wanted, timeout=timeout - (time.monotonic() - start))
        health.waited, health.looks = round(time.monotonic() - start, 3), looks
        failed, left = health.failed, timeout - health.waited
        if health.healthy or (failed is not None and failed.kind in FINAL) or left <= 0.05:
            return health
        sleep(min(interval, left))
