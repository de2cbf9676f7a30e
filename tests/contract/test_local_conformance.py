# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conformance suite of the local cluster has its version, and its endpoint picker's answers are valid in Envoy's full-duplex mode."""

from __future__ import annotations

from pathlib import Path

import go_compiler
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.report import suite_version
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster.go_build import Builder

CACHE = Path("/var/cache/llm-d-local")


def test_the_version_of_the_suite_is_read_from_its_binary() -> None:
    program = CACHE / "bin/conformance"
    if not program.is_file():
        pytest.skip("the local cluster has not built the suite: bring it up with local_cluster_extras=[conformance]")
    assert suite_version(program.read_bytes()) == "v1.6.0"


def test_the_endpoint_picker_of_the_suite_passes_its_go_tests(root: Path) -> None:
    """Runs its Go tests."""
    go = go_compiler.find()
    if not go or not (CACHE / "bin/lwepp").is_file():
        pytest.skip("no Go, or its libraries are not compiled yet: bring up the local cluster with local_cluster_extras=[conformance]")
    # The flags of the role's builds, so that their compiled packages are used.
    flags = yaml.safe_load((root / "roles/local_cluster/vars/main.yml").read_text(encoding="utf-8"))["__local_cluster_gcflags"]
    folder = root / "roles/local_cluster/files/go/conformance"
    outcomes = go_compiler.outcomes(folder, *(f"-gcflags={each}" for each in flags), "./lwepp", environment=Builder(str(CACHE), go).environment)
    assert len(outcomes) >= 2 and set(outcomes.values()) == {"pass"}, outcomes
