"""The collection where Ansible would find it."""

from __future__ import annotations

import plays  # noqa: F401
