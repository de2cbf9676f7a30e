"""Puts the collection where Ansible finds it, by the import of plays, before a test imports from it."""

from __future__ import annotations

import plays


def pytest_report_header() -> str:
    """The checkout under test."""
    return f"collection: {plays.ROOT}"
