# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command `vllm` of upstream's image."""

from __future__ import annotations

import importlib
import os
import sys

# This image has no compiler, which torch would call for some requests only, and the server would die of it.
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
# vLLM asks the distribution `vllm` for its version, and so for the platform that it was built for. In Python's package index it has another name.
sys.path.append("/opt/vllm")
# The processes of the engine import this file, too.
if os.environ.get("LLM_D_LOCAL_KV_EVENTS") == "arrays":
    importlib.import_module("earlier_events")

from vllm.entrypoints.cli.main import main

if __name__ == "__main__":
    main()
