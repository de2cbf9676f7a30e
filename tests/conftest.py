"""Make the checkout importable as ansible_collections.llm_d.inference, as Ansible itself does it."""

from __future__ import annotations

from pathlib import Path

import plays
import pytest


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return plays.ROOT
