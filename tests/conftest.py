"""Make the checkout importable as ansible_collections.llm_d.inference, as Ansible itself does it."""

from __future__ import annotations

import os
from pathlib import Path

import plays
import pytest

# As in the Makefile, so that a test sees the same however it is started.
os.environ["ANSIBLE_CONFIG"] = str(plays.ROOT / "ansible.cfg")


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return plays.ROOT
