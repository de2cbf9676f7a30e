# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of an installed collection."""

from __future__ import annotations

import functools
import importlib
import json
import re
from pathlib import Path


@functools.cache
def version(name: str = "llm_d.inference") -> str:
    """The version of a collection: from its manifest once it is installed, from galaxy.yml in a checkout; `unknown` without either."""
    root = Path(next(iter(importlib.import_module(f"ansible_collections.{name}").__path__)))
    manifest, galaxy = root / "MANIFEST.json", root / "galaxy.yml"
    if manifest.is_file():
        return str(json.loads(manifest.read_text(encoding="utf-8"))["collection_info"]["version"])
    match = re.search(r"^version:\s*(\S+)", galaxy.read_text(encoding="utf-8"), re.MULTILINE) if galaxy.is_file() else None
    return match.group(1) if match else "unknown"
