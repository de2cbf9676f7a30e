"""Fixtures of the live tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from watched import Watched


@pytest.fixture(scope="session")
def stack() -> Watched:
    """The running stack and its Prometheus."""
    return Watched()
