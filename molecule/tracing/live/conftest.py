"""Fixtures of the live tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from traced import Traced


@pytest.fixture(scope="session")
def stack() -> Traced:
    """The running stack, and the collector of its spans."""
    return Traced()
