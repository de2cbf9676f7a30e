"""Fixtures of the live tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from live_stack import Stack
from real import of_this_scenario


@pytest.fixture(scope="session")
def stack() -> Stack:
    """The running stack."""
    return of_this_scenario()
