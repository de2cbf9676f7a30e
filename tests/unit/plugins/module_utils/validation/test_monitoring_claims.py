"""The claims about alerts and dashboards, of answers that no Prometheus gives. Real ones are in tests/contract/test_prometheus.py."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.http.answer import Answer
from ansible_collections.llm_d.inference.plugins.module_utils.http.errors import ExchangeError
from ansible_collections.llm_d.inference.plugins.module_utils.validation.monitoring_claims import MonitoringCheck
from fake_clock import FakeClock

QUERY = {"expr": "up", "metrics": ["up"], "until": ""}
SERVICE = {"name": "sim", "queried": {"alerts": [{"title": "A", "queries": [QUERY]}], "dashboards": []}}
RULES = {"status": "success", "data": {"groups": [{"name": "llm-d/sim", "rules": [{"name": "A", "health": "ok", "state": "firing"}]}]}}
DATA = {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "2"]}]}}


class Answers:
    """A transport with one page for rules and one for queries."""

    def __init__(self, rules: t.Any, data: t.Any, status: int = 200) -> None:
        self.paths: list[str] = []
        self._pages, self._status = (rules, data), status

    def request(self, method: str, path: str, body: t.Any = None, headers: t.Any = None, timeout: float = 10.0, until: t.Any = None) -> Answer:
        self.paths.append(path)
        page = self._pages[0 if path.startswith("/api/v1/rules?") else 1]
        return Answer(f"{method} http://x{path}", self._status, {}, page if isinstance(page, bytes) else json.dumps(page).encode(), 0.1)


def judged(rules: t.Any = None, data: t.Any = None, status: int = 200, service: t.Any = None) -> t.Any:
    answers = Answers(RULES if rules is None else rules, DATA if data is None else data, status)
    return MonitoringCheck(answers, "llm-d", 0.0).service(service or SERVICE)[0]


def test_all_is_well() -> None:
    wanted = {"id": "sim/alerts", "ok": True, "evidence": "1 alert loaded; 1 of 1 queries return data; firing now: A", "remedy": ""}
    assert wanted.items() <= judged().items()


@pytest.mark.parametrize(
    ("rules", "data", "status", "evidence"),
    [
        (b"<html>", None, 200, "GET http://x/api/v1/rules: 200 <html>"),
        (b"[" * 100_000, None, 200, "GET http://x/api/v1/rules: 200 "),
        (None, b"null", 200, "GET http://x/api/v1/query: 200 null"),
        (None, {"status": "error", "error": "out of memory"}, 503, "GET http://x/api/v1/query: 503"),
        ({"status": "success", "data": {"groups": [None, {"name": "llm-d/sim", "rules": ["A", 5]}]}}, None, 200, "has not loaded 1 alert: A"),
        ({"status": "success", "data": 5}, None, 200, "has not loaded 1 alert: A"),
        ({"status": "success", "data": {"groups": [{"name": "llm-d/other", "rules": [{"name": "A"}]}]}}, None, 200, "has not loaded 1 alert: A"),
        (
            {"status": "success", "data": {"groups": [{"name": "llm-d/sim", "rules": [{"name": "A", "health": "err", "lastError": "x" * 5000}]}]}},
            None,
            200,
            "A cannot be evaluated: xxx",
        ),
        (None, {"status": "success", "data": {"result": [{"value": [1, "NaN"]}]}}, 200, "A: no series for up (Prometheus has no such metric)"),
        (None, {"status": "success", "data": {"result": [{"value": [1, "+Inf"]}, {"value": 7}, None]}}, 200, "A: no series for up"),
        (None, {"status": "success", "data": {"result": []}}, 200, "A: no series for up (Prometheus has no such metric)"),
        (None, {"status": "error", "error": "bad_data: \x1b[31mno"}, 400, "A: Prometheus refuses up: "),
    ],
)
def test_unusable_prometheus_answers_fail_the_claim(rules: t.Any, data: t.Any, status: int, evidence: str) -> None:
    claim = judged(rules, data, status if data else 200)
    assert not claim["ok"] and evidence in claim["evidence"] and claim["remedy"] and len(claim["evidence"]) < 2000


@pytest.mark.parametrize(
    ("kind", "advice", "remedy"),
    [
        ("refused", "a vLLM listens only once its model is loaded", "check that this Prometheus runs"),
        ("timeout", "raise the timeout if it is only slow", "check that this Prometheus runs"),
        ("cluster", "no pod behind the Service is ready", "no pod behind the Service is ready"),
    ],
)
def test_advice_is_about_the_prometheus_and_names_where_its_address_is_written(kind: str, advice: str, remedy: str) -> None:
    class Silent:
        def request(self, *_arguments: t.Any, **_more: t.Any) -> Answer:
            raise ExchangeError(kind, "GET http://x: nothing", advice)

    (claim,) = MonitoringCheck(Silent(), "llm-d", 600.0, FakeClock(lambda _now: pytest.fail("waits"))).service(SERVICE)
    assert not claim["ok"] and claim["evidence"] == "Prometheus does not answer: GET http://x: nothing"
    assert claim["remedy"].startswith(remedy) and claim["remedy"].endswith("; its address is llm_d_monitoring.prometheus")


def test_a_panel_without_series_until_an_event_passes_without_waiting() -> None:
    query = {"expr": "errors", "metrics": ["errors"], "until": "the first error"}
    service = {**SERVICE, "queried": {"alerts": [], "dashboards": [{"title": "Errors", "queries": [query]}]}}
    answers = Answers(RULES, {"status": "success", "data": {"result": []}})
    claims = MonitoringCheck(answers, "llm-d", 600.0, FakeClock(lambda _now: pytest.fail("waits"))).service(service)
    assert [entry["ok"] for entry in claims] == [True]
    assert claims[0]["evidence"] == "1 panel; 0 of 1 queries return data; Errors has none until the first error"


def test_scrapes_that_have_not_begun_are_waited_for() -> None:
    answers = Answers(RULES, {"status": "success", "data": {"result": []}})
    clock = FakeClock(lambda _now: setattr(answers, "_pages", (RULES, DATA)))
    claims = MonitoringCheck(answers, "llm-d", 600.0, clock).service(SERVICE)
    assert claims[0]["ok"] and len(clock.sleeps) == 1
