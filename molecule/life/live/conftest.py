"""Fixtures of the live tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from stack import Stack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """The running stack."""
    return Stack(tmp_path_factory.mktemp("artifacts"), os.environ["LLM_D_KUBECONFIG"])
