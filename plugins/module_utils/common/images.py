# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of an image reference, as container engines read it. Pure."""

from __future__ import annotations

# The registry of a reference without one.
DEFAULT_HOST = "docker.io"


def split_host(reference: str) -> tuple[str, str]:
    """(registry, repository:tag). A first part without '.', ':' and not `localhost` is no registry."""
    first, slash, rest = reference.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return first, rest
    return DEFAULT_HOST, reference if slash else f"library/{reference}"


def repository_of(reference: str) -> str:
    """The reference without tag and digest."""
    name = reference.partition("@")[0]
    head, colon, tag = name.rpartition(":")
    return head if colon and "/" not in tag else name
