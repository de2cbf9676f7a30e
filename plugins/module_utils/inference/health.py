# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Health levels of an OpenAI-compatible server (alive, ready, serving, metrics), checked once or until a server is healthy."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import typing as t

from ..common import prometheus_text as prometheus
from ..common.clock import SYSTEM, Clock
from ..common.text import legible
from ..http.errors import ExchangeError
from ..http.urls import excerpt
from ..releases import engines
from . import responses as answers
from . import triton
from .client import OpenAIClient

LEVELS = ("alive", "ready", "serving", "metrics")
# Any model continues this prompt. TOKENS are enough for a model that reasons first: some text follows the tokens that mark the reasoning.
PROMPT = "Count: one, two, three,"
TOKENS = 16
# Temperature: above zero, so that tokens are sampled, and low, so that the answer does not start with its end token.
SAMPLED = 0.1
LAST_CHECK = 1.0  # seconds
# Kinds of errors that waiting does not fix: a wrong key or certificate, a redirect.
FINAL = frozenset({"unauthorized", "forbidden", "tls_untrusted", "redirect"})


@dataclasses.dataclass(frozen=True)
class Requirements:
    """The requirements on a healthy server. Without `model` any model is accepted; without `completions` no completion is requested. Times are seconds."""

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
    """One check: its name, whether it passed, what was observed, its duration in milliseconds, and, if it failed, a remedy and the kind of error."""

    name: str
    ok: bool
    evidence: str
    ms: float
    remedy: str = ""
    kind: str = ""


@dataclasses.dataclass
class Health:
    """The result of a check. `reached`: the highest level that passed, or empty; `notes`: observations that are no failures."""

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
    """One run through the levels, up to the first check that fails. `pages`: the client for metrics, where they are on another port."""

    def __init__(self, client: OpenAIClient, wanted: Requirements, deadline: float, pages: OpenAIClient | None = None, clock: Clock = SYSTEM) -> None:
        self._client, self._wanted, self._deadline, self._pages, self._clock = client, wanted, deadline, pages or client, clock
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
        start = self._clock.now()
        evidence, remedy, kind = "", "", ""
        try:
            evidence = check()
        except ExchangeError as trouble:
            evidence, remedy, kind = str(trouble), trouble.remedy, trouble.kind
        self.health.checks.append(Check(name, not kind, evidence, round((self._clock.now() - start) * 1000, 1), remedy, kind))
        return not kind

    def _timeout(self) -> float:
        """Seconds for one request: no more than the wait has left, but LAST_CHECK at least so that the last check can succeed."""
        return min(self._wanted.request_timeout, max(LAST_CHECK, self._deadline - self._clock.now()))

    def _alive(self) -> str:
        known = self.health.engine
        paths = engines.ENGINES[known].health if known else ("/health", *engines.ENGINES["triton"].health)
        for path in paths:
            try:
                return f"{self._client.health(self._timeout(), path).request}: 200"
            except ExchangeError as trouble:
                if trouble.kind != "not_found":
                    raise
        # some gateways have no health page; an answer to /v1/models proves the same
        self._client.models(self._timeout())
        return f"there is no {paths[0]}; /v1/models answers"

    def _ready(self) -> str:
        self.health.models = self._models()
        served, model = [entry.id for entry in self.health.models], self._wanted.model
        names = ", ".join(served) or "no model"
        page = "/v2/repository/index" if self._native else "/v1/models"
        if not served or (model is not None and model not in served):
            remedy = (
                f"serve {model!r} under that name, or ask for one of those" if model and served else "check in the server's log whether the model was loaded"
            )
            raise ExchangeError("model", f"{page} lists {names}" + (f", not {model}" if model else ""), remedy)
        self._require_length(next(entry for entry in self.health.models if model in (None, entry.id)))
        self._name_engine()
        engine, version = engines.ENGINES.get(self.health.engine), self.health.version
        return f"{page} lists {names}" + (f" of {engine.title}" if engine else "") + (f" {version}" if version else "")

    def _models(self) -> list[answers.Model]:
        try:
            return self._client.models(self._timeout())
        except ExchangeError as trouble:
            if trouble.kind != "not_found" or self.health.engine not in ("", "triton") or not triton.speaks(self._client, self._timeout()):
                raise
        self._native = True
        return triton.models(self._client, self._timeout())

    def _require_length(self, entry: answers.Model) -> None:
        minimum = self._wanted.min_model_len
        if minimum and entry.max_model_len is not None and entry.max_model_len < minimum:
            raise ExchangeError(
                "model_len",
                f"{entry.id} takes {entry.max_model_len} tokens, less than min_model_len {minimum}",
                f"start the server with max_model_len {minimum} or more",
            )

    def _name_engine(self) -> None:
        """Sets engine and version from the model list and the version pages. Both stay empty behind a gateway that hides them."""
        engine = self.health.engine or engines.engine_by_owner(self.health.models[0].owner)
        for path in engines.ENGINES[engine].versions if engine else ("/version",):
            try:
                self.health.version = self.health.version or engines.version_in(self._client.json(path, self._timeout()))
            except ExchangeError:
                continue
        if engine == "vllm" and self._wanted.engine == "auto" and self.health.version is None and self._simulates():
            engine = "simulator"  # the simulator reports the owner vllm, has no version page, and has /admin/config
        self.health.engine = engine

    def _simulates(self) -> bool:
        try:
            return "max-num-seqs" in self._client.json("/admin/config", self._timeout())
        except ExchangeError:
            return False

    def _serving(self, api: str, stream: bool) -> str:
        model, timeout = self._wanted.model or self.health.models[0].id, self._timeout()
        if self._native:
            reply = triton.complete(self._client, model, PROMPT, TOKENS, stream, timeout)
        else:
            # Most clients let the server sample tokens, which is separate code: a vLLM without a compiler crashes in it.
            reply = self._client.complete(model, PROMPT, max_tokens=TOKENS, stream=stream, api=api, timeout=timeout, temperature=SAMPLED if stream else 0)
        done, pod = reply.completion, reply.answer.headers.get("x-inference-pod")
        tokens = "unknown" if done.completion_tokens is None else str(done.completion_tokens)
        if not legible(done.text):
            raise ExchangeError(
                "no_output",
                f"{reply.answer.request}: the answer has no text that can be read (output tokens {tokens}, finish_reason {done.finish_reason or 'unknown'})",
                "the model generates nothing that can be read: check its weights, its tokenizer and its chat template",
                200,
            )
        return f"{reply.answer.request}: output tokens {tokens}" + (f" in {done.events} events" if stream else "") + (f" from {pod}" if pod else "")

    def _metrics(self) -> str:
        request, samples = self._page()
        engine = self.health.engine or engines.engine_by_metrics(samples)
        if not engine:
            raise ExchangeError(
                "metrics",
                f"{request}: {len(samples)} metrics, none of a known engine",
                "query the server itself instead of the gateway in front of it, or set engine",
            )
        self.health.engine, readings = engine, engines.read_signals(engine, samples)
        self.health.metrics = readings
        others = [signal for signal in engines.EXPECTED if signal not in self._wanted.signals]
        self.health.notes = engines.old_metric_names(engine, readings) + engines.missing_signals(engine, readings, others)
        if missing := engines.missing_signals(engine, readings, self._wanted.signals):
            raise ExchangeError("metrics", f"{request}: " + "; ".join(missing), engines.remedy(engine, readings, self._wanted.signals))
        return f"{request}: " + ", ".join(f"{reading.metric} {reading.value:g}" for reading in readings.values() if reading.value is not None)

    def _page(self) -> tuple[str, list[prometheus.Sample]]:
        """(request, samples) of the first of the engine's pages that has metrics. Raises ExchangeError."""
        paths = engines.ENGINES[self.health.engine].metrics if self.health.engine else ("/metrics", "/prometheus/metrics")
        trouble = ExchangeError("metrics", "no metrics page was requested", "set engine")
        for path in paths:
            try:
                answer = self._pages.get(path, self._timeout())
                answers.require_ok(answer)
            except ExchangeError as error:
                trouble = error
                continue
            if samples := prometheus.parse(answer.text):
                return answer.request, samples
            kind = answer.content_type or "no content type"
            trouble = ExchangeError(
                "metrics",
                f"{answer.request}: no metrics on that page ({kind}): {excerpt(answer.text)!r}",
                engines.ENGINES[self.health.engine].flag if self.health.engine else "query the server itself, on its metrics port",
            )
        if trouble.kind == "not_found" and self.health.engine:
            raise ExchangeError("metrics", str(trouble), engines.ENGINES[self.health.engine].flag, 404)
        raise trouble


def check_once(
    client: OpenAIClient,
    wanted: Requirements,
    level: str | None = None,
    timeout: float | None = None,
    pages: OpenAIClient | None = None,
    clock: Clock = SYSTEM,
) -> Health:
    """One check up to `level` (default: the required one). `timeout`: about the seconds it takes at most."""
    ladder = _Ladder(client, wanted, clock.now() + (timeout if timeout is not None else 4 * wanted.request_timeout), pages, clock)
    health = ladder.climb(level or wanted.level)
    health.looks = 1
    return health


def wait_until_healthy(client: OpenAIClient, wanted: Requirements, timeout: float, interval: float, clock: Clock = SYSTEM, minimum: float = 0.0) -> Health:
    """Checks until the server is healthy, `timeout` seconds are over, or the error is one that waiting does not fix.

    minimum: seconds that a check may take even when less time is left, so that a slow answer does not count as no answer.
    """
    health, waited, looks = poll(lambda left: check_once(client, wanted, timeout=max(left, minimum), clock=clock), is_final, timeout, interval, clock)
    health.waited, health.looks = waited, looks
    return health


def is_final(health: Health) -> bool:
    """True when another check would not change the result."""
    return health.healthy or (health.failed is not None and health.failed.kind in FINAL)


Observation = t.TypeVar("Observation")


def poll(
    view: c.Callable[[float], Observation],
    done: c.Callable[[Observation], bool],
    timeout: float,
    interval: float,
    clock: Clock = SYSTEM,
) -> tuple[Observation, float, int]:
    """Calls `view` with the seconds left until `done` accepts its result or the time is over. Returns (last result, seconds waited, number of calls)."""
    start, looks = clock.now(), 0
    while True:
        looks += 1
        observation = view(timeout - (clock.now() - start))
        waited = round(clock.now() - start, 3)
        if done(observation) or timeout - waited <= 0.05:
            return observation, waited, looks
        clock.sleep(min(interval, timeout - waited))
