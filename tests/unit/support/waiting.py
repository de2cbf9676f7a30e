"""Waiting in a test: for a condition, never for a time. What never comes is ended by the limit that each test has, which shows where it stands."""

from __future__ import annotations

import time
import typing as t

Seen = t.TypeVar("Seen")


def until(look: t.Callable[[], Seen], pause: float = 0.02) -> Seen:
    """The first true value of `look`, asked for again after `pause` seconds."""
    while not (seen := look()):
        time.sleep(pause)
    return seen
