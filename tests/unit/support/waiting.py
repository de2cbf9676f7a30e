"""Waiting in a test: for a condition, never for a fixed time. If the condition is never met, the time limit of the test ends it and shows the place."""

from __future__ import annotations

import time
import typing as t

Value = t.TypeVar("Value")


def until(check: t.Callable[[], Value], pause: float = 0.02) -> Value:
    """The first true value of `check`, which is called again after `pause` seconds."""
    while not (value := check()):
        time.sleep(pause)
    return value
