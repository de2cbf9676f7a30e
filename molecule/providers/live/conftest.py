"""The collection where Ansible would find it: importing plays puts it there, before a test imports from it."""

from __future__ import annotations

import plays


def pytest_report_header() -> str:
    """Which checkout is tested."""
    return f"collection: {plays.ROOT}"
