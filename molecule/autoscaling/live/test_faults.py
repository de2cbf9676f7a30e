"""What keeps an autoscaler from its metrics is said in one line, changes no number, and the next run converges."""

from __future__ import annotations

from pathlib import Path

from live_stack import forget_series
from scaled import SERVICE, Scaled


def test_a_prometheus_that_does_not_answer(stack: Scaled, tmp_path: Path) -> None:
    changes = {"prometheus": "http://prometheus-operated.nowhere:9090"}
    stack.apply(tmp_path, changes)
    found = stack.broken(tmp_path, changes, 'nowhere:9090/api/v1/query": dial tcp: lookup')
    print(f"\n{found['evidence']}\n{found['remedy']}")
    assert found["id"] == f"{SERVICE}/scaling" and "autoscaling.prometheus" in found["remedy"], found
    assert stack.number == 1
    stack.site(tmp_path, {})


def test_a_query_without_series(stack: Scaled, tmp_path: Path) -> None:
    unscraped = {"llm_d_monitoring": {"scrape": False}}
    stack.apply(tmp_path, {}, **unscraped)
    forget_series(stack.core)
    found = stack.broken(tmp_path, {}, "the result is empty", **unscraped)
    print(f"\n{found['evidence']}\n{found['remedy']}")
    assert found["id"] == f"{SERVICE}/scaling" and "llm_d_monitoring.scrape" in found["remedy"], found
    assert stack.number == 1
    stack.site(tmp_path, {})
