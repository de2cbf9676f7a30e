# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The health ladder of an OpenAI-compatible server: alive, ready, serving, metrics. One look, or looks until it is healthy."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import time
import typing as t

from ..common import prometheus_text as prometheus
from ..http.errors import Trouble
from ..http.urls import excerpt
from ..releases import engines
from . import responses as answers
from . import triton
from .client import OpenAIClient

LEVELS = ("alive", "ready", "serving", "metrics")
PROMPT = "Count: one, two, three,"
# troubles that waiting does not heal: a wrong key or certificate, a redirect to another place
FINAL = frozenset({"unauthorized", "forbidden", "tls_untrusted", "redirect"})


@dataclasses.dataclass(frozen=True)
class Requirements:
    """What a healthy server must show. No `model`: any model will do. Times in seconds. Without `completions` no completion is asked for."""

    level: str = "serving"
    model: str | None = None
    min_model_len: int | None = None
    apis: tuple[str, ...] = ("completions",)
    request_timeout: float = 10.0
    engine: str = "auto"
    signals: tuple[str, ...] = engines.REQUIRED
    completions: bool = True


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
    """The outcome: `reached` is the highest level that held (empty: none). `notes`: what is odd and no failure."""

    healthy: bool = False
    reached: str = ""
    checks: list[Check] = dataclasses.field(default_factory=list)
    models: list[answers.Model] = dataclasses.field(default_factory=list)
    version: str | None = None
    waited: float = 0.0
    looks: int = 0
    engine: str = ""
    metrics: dict[str, engines.Reading] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def failed(self) -> Check | None:
        return next((check for check in self.checks if not check.ok), None)


class _Ladder:
    """One climb; stops at the first rung that does not hold. `pages` is where the metrics are, when that is another port."""

    def __init__(self, client: OpenAIClient, wanted: Requirements, deadline: float, pages: OpenAIClient | None = None) -> None:
        self._client, self._wanted, self._deadline, self._pages = client, wanted, deadline, pages or client
        self._native = False  # Triton without an OpenAI front end
        self.health = Health(engine="" if wanted.engine == "auto" else wanted.engine)

    def climb(self, level: str) -> Health:
        apis = self._wanted.apis if self._wanted.completions else ()
        rungs: dict[str, list[tuple[str, t.Callable[[], str]]]] = {
            "alive": [("health", self._alive)],
            "ready": [("models", self._ready)],
            "serving": [
                rung
                for api in apis
                for rung in ((api, lambda api=api: self._serving(api, False)), (f"{api}_streamed", lambda api=api: self._serving(api, True)))
            ],
            "metrics": [("metrics", self._metrics)],
        }
        for name in LEVELS[: LEVELS.index(level) + 1]:
            if not all(self._rung(*rung) for rung in rungs[name]):
                return self.health
            self.health.reached = name if rungs[name] else self.health.reached
        self.health.healthy = True
        return self.health

    def _rung(self, name: str, check: t.Callable[[], str]) -> bool:
        start = time.monotonic()
        evidence, remedy, kind = "", "", ""
        try:
            evidence = check()
        except Trouble as trouble:
            evidence, remedy, kind = str(trouble), trouble.remedy, trouble.kind
        self.health.checks.append(Check(name, not kind, evidence, round((time.monotonic() - start) * 1000, 1), remedy, kind))
        return not kind

    def _timeout(self) -> float:
        """A request may not outlive the whole wait, but a last look gets a fair chance."""
        return min(self._wanted.request_timeout, max(1.0, self._deadline - time.monotonic()))

    def _alive(self) -> str:
        known = self.health.engine
        paths = engines.ENGINES[known].health if known else ("/health", *engines.ENGINES["triton"].health)
        for path in paths:
            try:
                return f"{self._client.health(self._timeout(), path).request}: 200"
            except Trouble as trouble:
                if trouble.kind != "not_found":
                    raise
        # some gateways have no such page: an answer to /v1/models proves as much
        self._client.models(self._timeout())
        return f"there is no {paths[0]}; /v1/models answers"

    def _ready(self) -> str:
        self.health.models = self._models()
        served, model = [entry.id for entry in self.health.models], self._wanted.model
        names = ", ".join(served) or "no model"
        page = "/v2/repository/index" if self._native else "/v1/models"
        if not served or (model is not None and model not in served):
            remedy = f"serve {model!r} under that name, or ask for one of those" if model and served else "look at the server's log: was the model loaded?"
            raise Trouble("model", f"{page} lists {names}" + (f", not {model}" if model else ""), remedy)
        self._require_length(next(entry for entry in self.health.models if model in (None, entry.id)))
        self._name_engine()
        engine, version = engines.ENGINES.get(self.health.engine), self.health.version
        return f"{page} lists {names}" + (f" of {engine.title}" if engine else "") + (f" {version}" if version else "")

    def _models(self) -> list[answers.Model]:
        try:
            return self._client.models(self._timeout())
        except Trouble as trouble:
            if trouble.kind != "not_found" or self.health.engine not in ("", "triton") or not triton.speaks(self._client, self._timeout()):
                raise
        self._native = True
        return triton.models(self._client, self._timeout())

    def _require_length(self, entry: answers.Model) -> None:
        least = self._wanted.min_model_len
        if least and entry.max_model_len is not None and entry.max_model_len < least:
            raise Trouble(
                "model_len",
                f"{entry.id} takes {entry.max_model_len} tokens, less than the {least} that are wanted",
                f"start the server with max_model_len {least} or more",
            )

    def _name_engine(self) -> None:
        """Engine and version, from the page of models and the version pages; both stay empty behind a gateway that shows neither."""
        engine = self.health.engine or engines.by_owner(self.health.models[0].owner)
        for path in engines.ENGINES[engine].versions if engine else ("/version",):
            try:
                self.health.version = self.health.version or engines.version_in(self._client.json(path, self._timeout()))
            except Trouble:
                continue
        if engine == "vllm" and self._wanted.engine == "auto" and self.health.version is None and self._simulates():
            engine = "simulator"  # it signs as vLLM does, has no version page, and one of its own
        self.health.engine = engine

    def _simulates(self) -> bool:
        try:
            return "max-num-seqs" in self._client.json("/admin/config", self._timeout())
        except Trouble:
            return False

    def _serving(self, api: str, stream: bool) -> str:
        model, timeout = self._wanted.model or self.health.models[0].id, self._timeout()
        if self._native:
            reply = triton.complete(self._client, model, PROMPT, 4, stream, timeout)
        else:
            reply = self._client.complete(model, PROMPT, max_tokens=4, stream=stream, api=api, timeout=timeout)
        done, pod = reply.completion, reply.answer.headers.get("x-inference-pod")
        tokens = "unknown" if done.completion_tokens is None else str(done.completion_tokens)
        return f"{reply.answer.request}: output tokens {tokens}" + (f" in {done.events} events" if stream else "") + (f" from {pod}" if pod else "")

    def _metrics(self) -> str:
        request, samples = self._page()
        engine = self.health.engine or engines.by_metrics(samples)
        if not engine:
            raise Trouble(
                "metrics",
                f"{request}: {len(samples)} metrics, none of an engine that is known",
                "ask the server itself, not the gateway in front of it, or name the engine",
            )
        self.health.engine, found = engine, engines.read(engine, samples)
        self.health.metrics = found
        others = [signal for signal in engines.EXPECTED if signal not in self._wanted.signals]
        self.health.notes = engines.renamed(engine, found) + engines.lacking(engine, found, others)
        if missing := engines.lacking(engine, found, self._wanted.signals):
            raise Trouble("metrics", f"{request}: " + "; ".join(missing), engines.remedy(engine, found, self._wanted.signals))
        return f"{request}: " + ", ".join(f"{reading.metric} {reading.value:g}" for reading in found.values() if reading.value is not None)

    def _page(self) -> tuple[str, list[prometheus.Sample]]:
        """The metrics from the first of the engine's pages that has any. Raises Trouble."""
        paths = engines.ENGINES[self.health.engine].metrics if self.health.engine else ("/metrics", "/prometheus/metrics")
        trouble = Trouble("metrics", "no page of metrics was asked", "name the engine")
        for path in paths:
            try:
                answer = self._pages.get(path, self._timeout())
                answers.require_ok(answer)
            except Trouble as error:
                trouble = error
                continue
            if samples := prometheus.parse(answer.text):
                return answer.request, samples
            kind = answer.content_type or "no content type"
            trouble = Trouble(
                "metrics",
                f"{answer.request}: no metrics on that page ({kind}): {excerpt(answer.text)!r}",
                engines.ENGINES[self.health.engine].flag if self.health.engine else "ask the server itself, on the port of its metrics",
            )
        if trouble.kind == "not_found" and self.health.engine:
            raise Trouble("metrics", str(trouble), engines.ENGINES[self.health.engine].flag, 404)
        raise trouble


def check_once(client: OpenAIClient, wanted: Requirements, level: str | None = None, timeout: float | None = None, pages: OpenAIClient | None = None) -> Health:
    """One climb up to `level` (default: the wanted one), in `timeout` seconds at most, more or less."""
    ladder = _Ladder(client, wanted, time.monotonic() + (timeout if timeout is not None else 4 * wanted.request_timeout), pages)
    health = ladder.climb(level or wanted.level)
    health.looks = 1
    return health


def wait_until_healthy(client: OpenAIClient, wanted: Requirements, timeout: float, interval: float, sleep: c.Callable[[float], None] = time.sleep) -> Health:
    """Looks until the server is healthy, or `timeout` seconds are over, or the trouble is one that waiting does not heal."""
    health, waited, looks = poll(lambda left: check_once(client, wanted, timeout=left), is_final, timeout, interval, sleep)
    health.waited, health.looks = waited, looks
    return health


def is_final(health: Health) -> bool:
    """True when another look would tell nothing new."""
    return health.healthy or (health.failed is not None and health.failed.kind in FINAL)


Observation = t.TypeVar("Observation")


def poll(
    view: c.Callable[[float], Observation],
    done: c.Callable[[Observation], bool],
    timeout: float,
    interval: float,
    sleep: c.Callable[[float], None] = time.sleep,
) -> tuple[Observation, float, int]:
    """Looks, given the seconds that are left, until one is done or the time is over: (last look, seconds, looks)."""
    start, looks = time.monotonic(), 0
    while True:
        looks += 1
        seen = view(timeout - (time.monotonic() - start))
        waited = round(time.monotonic() - start, 3)
        if done(seen) or timeout - waited <= 0.05:
            return seen, waited, looks
        sleep(min(interval, timeout - waited))
