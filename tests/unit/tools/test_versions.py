# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/versions prints every row of the tables, and compares a file of newest versions with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.releases.deployed import ENGINE_DEFAULTS
from ansible_collections.llm_d.inference.plugins.module_utils.releases.gateways import GATEWAY_API, GATEWAY_PROVIDERS
from ansible_collections.llm_d.inference.plugins.module_utils.releases.lines import LEADER_WORKER_SET, RELEASES
from ansible_collections.llm_d.inference.plugins.module_utils.releases.sources import CHARTS, GAUDI_REGISTRY, IMAGES, REMOVED

SIMULATOR = "ghcr.io/llm-d/llm-d-inference-sim"


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, root / "tools/versions", *arguments], capture_output=True, text=True, check=False)


def check(root: Path, folder: Path, text: str) -> tuple[int, list[str]]:
    """(exit status, lines) of a comparison with a file."""
    (folder / "newest.yml").write_text(text, encoding="utf-8")
    done = run(root, "--check", str(folder / "newest.yml"))
    return done.returncode, [*done.stdout.splitlines(), *done.stderr.splitlines()]


@pytest.fixture(scope="module")
def printed(root: Path) -> str:
    done = run(root)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_source_has_a_line_with_its_page(printed: str) -> None:
    ours = {name.partition(" (")[0] for name in yaml.safe_load(printed)}
    assert {name for name in IMAGES if name not in REMOVED and not name.startswith(GAUDI_REGISTRY)} <= ours
    assert {chart.reference for chart in CHARTS.values() if chart.reference.startswith("oci://")} <= ours
    sources = [*GATEWAY_API["sources"], *(source for row in RELEASES.values() for source in row["crds_sources"])]
    sources += [source for row in GATEWAY_PROVIDERS.values() for source in row["crds_sources"]]
    sources += [source for row in GATEWAY_PROVIDERS.values() if row["extension"] for source in row["extension"]["crds"]["sources"]]
    assert all(any(source.startswith(f"{name}/") for name in ours) for source in sources)
    assert all("# https://" in line for line in printed.splitlines()[1:])
    assert f"{SIMULATOR}: '{ENGINE_DEFAULTS['simulator']['image'].rpartition(':')[2]}'" in printed
    assert f"registry.k8s.io/lws/lws: 'v{LEADER_WORKER_SET['version']}'" in printed


def test_the_printed_file_of_versions_is_not_behind_the_tables(root: Path, tmp_path: Path, printed: str) -> None:
    status, lines = check(root, tmp_path, printed)
    assert status == 0 and lines == [f"{len(yaml.safe_load(printed))} versions compared: none is behind."]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{SIMULATOR}: v0.12.0", f"{SIMULATOR}: v0.11.4 is behind v0.12.0. Table: deployed.py: ENGINE_DEFAULTS. Page: https://"),
        (f"{SIMULATOR}: v0.9.9", f"{SIMULATOR}: the file has v0.9.9, which is older than v0.11.4 of deployed.py"),
        ("cr.agentgateway.dev/controller (agentgateway): v1.8.0", "v1.7.0 is behind v1.8.0. Table: gateways.py: agentgateway."),
        ("vault.habana.ai/gaudi-docker: 1.25.0/ubuntu24.04/habanalabs/vllm-0.30.0", "is behind 1.25.0/ubuntu24.04"),
        ("ghcr.io/llm-d/llm-d-inference-simm: v0.12.0", f"no table has it. Did you mean {SIMULATOR}?"),
        (f"{SIMULATOR}: 0.11", f"{SIMULATOR}: 0.11 is no version. Write it in quotes, such as 'v0.11.4'."),
        (f"{SIMULATOR}: newest", f"{SIMULATOR}: 'newest' is no version."),
    ],
)
def test_outdated_unknown_and_invalid_versions_are_reported(root: Path, tmp_path: Path, line: str, message: str) -> None:
    status, lines = check(root, tmp_path, f"{line}\nregistry.k8s.io/lws/lws: v{LEADER_WORKER_SET['version']}\n")
    assert status == 1 and len(lines) == 1 and message in lines[0]


@pytest.mark.parametrize("text", ["", "- a\n", "a: [\n"])
def test_an_invalid_versions_file_is_refused_without_a_traceback(root: Path, tmp_path: Path, text: str) -> None:
    status, lines = check(root, tmp_path, text)
    assert status == 2 and "newest.yml: " in lines[0] and "Traceback" not in "".join(lines)
