"""Fixtures of the live tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from scaled import Scaled


@pytest.fixture(scope="session")
def stack() -> Scaled:
    """The running stack, whose model servers are scaled."""
    return Scaled()
