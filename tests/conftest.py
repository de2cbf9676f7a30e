"""Make the checkout importable as ansible_collections.llm_d.inference, as Ansible itself does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder

ROOT = Path(__file__).resolve().parent.parent

_AnsibleCollectionFinder(paths=[str(ROOT / "collections")])._install()


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return ROOT
