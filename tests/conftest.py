"""Make the checkout importable as ansible_collections.llm_d.inference, as Ansible itself does it; load the profile of the property tests."""

from __future__ import annotations

import os
from pathlib import Path

import plays
import property_tests
import pytest

# As in the Makefile, so that a test sees the same however it is started.
os.environ["ANSIBLE_CONFIG"] = str(plays.ROOT / "ansible.cfg")
property_tests.load_profiles()


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return plays.ROOT
