# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tokenizer of the local cluster gives the token ids of the real simulator: runs its Go tests."""

from __future__ import annotations

import os
from pathlib import Path

import go_compiler
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster.go_build import Builder

CACHE = Path("/var/cache/llm-d-local")


def test_the_local_tokenizer_returns_the_token_ids_of_the_simulator(root):
    go = go_compiler.find()
    simulator = Path(os.environ.get("LLM_D_SIMULATOR_BINARY") or CACHE / "bin/llm-d-inference-sim")
    if not go or not simulator.is_file():
        pytest.skip("no Go or no simulator: bring up the local cluster, which builds it")
    # The flags of the role's builds, so that their compiled packages are used.
    environment = {**Builder(str(CACHE), go).environment, "LLM_D_SIMULATOR_BINARY": str(simulator)}
    outcomes = go_compiler.outcomes(root / "roles/local_cluster/files/go/tokenizer", ".", environment=environment)
    assert len(outcomes) >= 6 and set(outcomes.values()) == {"pass"}, outcomes
