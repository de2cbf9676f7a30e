"""A fault that keeps an autoscaler from its metrics is reported in one line, changes no number of servers, and the next run converges."""

from __future__ import annotations

from pathlib import Path

from live_stack import reset_prometheus
from scaled import SERVICE, Scaled


def test_a_prometheus_that_does_not_answer(stack: Scaled, tmp_path: Path) -> None:
    changes = {"prometheus": "http://prometheus-operated.nowhere:9090"}
    stack.apply(tmp_path, changes)
    claim = stack.broken(tmp_path, changes, 'nowhere:9090/api/v1/query": dial tcp: lookup')
    print(f"\n{claim['evidence']}\n{claim['remedy']}")
    assert claim["id"] == f"{SERVICE}/scaling" and "autoscaling.prometheus" in claim["remedy"], claim
    assert stack.number == 1
    stack.site(tmp_path, {})


def test_a_query_without_series(stack: Scaled, tmp_path: Path) -> None:
    unscraped = {"llm_d_monitoring": {"scrape": False}}
    stack.apply(tmp_path, {}, **unscraped)
    reset_prometheus(stack.core)
    claim = stack.broken(tmp_path, {}, "the result is empty", **unscraped)
    print(f"\n{claim['evidence']}\n{claim['remedy']}")
    assert claim["id"] == f"{SERVICE}/scaling" and "llm_d_monitoring.scrape" in claim["remedy"], claim
    assert stack.number == 1
    stack.site(tmp_path, {})
