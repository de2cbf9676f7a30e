"""Fixtures of the live tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from stack import Stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """The running stack, with the objects that these tests refer to."""
    made = Stack(tmp_path_factory.mktemp("artifacts"))
    made.prepare()
    return made
