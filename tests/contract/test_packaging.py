"""The built collection works elsewhere: it is complete, contains nothing else, and its playbooks run by their full names."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import execution_environment as environment
import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of collections in which ansible-galaxy has installed ours."""
    return environment.installed(tmp_path_factory.mktemp("built"))


def play(installed: Path, tmp_path: Path, name: str, inventory: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a playbook by its full name, in a folder outside of the checkout."""
    others = [path for path in sys.path if path.endswith("site-packages")]
    (tmp_path / "ansible.cfg").write_text("[defaults]\n", encoding="utf-8")  # without the settings of the checkout
    env = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": ":".join([str(installed), *others]),
        "HOME": str(tmp_path),
        "ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg"),
    }
    command = [BIN / "ansible-playbook", f"llm_d.inference.{name}", "-i", str(ROOT / "inventories" / inventory), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=env, timeout=120)


def test_the_collection_contains_the_needed_files_and_no_development_files(installed: Path) -> None:
    home = installed / "ansible_collections/llm_d/inference"
    for needed in (
        *("MANIFEST.json", "FILES.json", "meta/runtime.yml", "plugins/lookup/plan.py", "roles/gpu_operator/tasks/main.yml", "playbooks/preflight.yml"),
        *("extensions/controller/templates.yml", "extensions/controller/approval.j2", "extensions/patterns/upgrade/playbooks/upgrade.yml"),
        *("extensions/execution_environment/execution-environment.yml", "meta/execution-environment.yml", "docs/awx.md"),
    ):
        assert (home / needed).exists(), needed
    for foreign in (".git", ".venv", "collections", "artifacts", "tests", "molecule", "tools", "changelogs/fragments", "docs/site", "Makefile"):
        assert not (home / foreign).exists(), foreign


def test_the_collection_archive_does_not_exceed_1_5_megabytes(installed: Path) -> None:
    (archive,) = installed.parent.glob("*.tar.gz")
    assert 500_000 < archive.stat().st_size <= 1_500_000, f"{archive.stat().st_size} bytes"


def test_links_in_installed_documents_lead_to_included_files(installed: Path) -> None:
    home, lost = installed / "ansible_collections/llm_d/inference", []
    for document in sorted(home.rglob("*.md")):
        links = re.findall(r"\]\((?!https?:|mailto:)([^)#\s]+)", document.read_text(encoding="utf-8"))
        lost += [f"{document.relative_to(home)}: {link}" for link in links if not (document.parent / link).exists()]
    assert not lost


def test_the_go_programs_of_the_local_cluster_share_one_go_sum(installed: Path) -> None:
    locks = list((installed / "ansible_collections/llm_d/inference/roles/local_cluster/files/go").glob("*/go.sum"))
    assert len(locks) > 10 and [lock.readlink() for lock in locks] == [Path("../go.sum")] * len(locks)


def test_the_collection_declares_its_licence_and_includes_its_text(installed: Path) -> None:
    home = installed / "ansible_collections/llm_d/inference"
    info = json.loads((home / "MANIFEST.json").read_text(encoding="utf-8"))["collection_info"]
    assert info["license"] == ["GPL-3.0-or-later"] and not info["license_file"]
    assert "GNU GENERAL PUBLIC LICENSE" in (home / "LICENSE").read_text(encoding="utf-8")


def test_a_playbook_runs_by_its_full_name(installed: Path, tmp_path: Path) -> None:
    done = play(installed, tmp_path, "list_images", "openshift")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.11.0" in done.stdout


def test_the_inventory_playbook_runs_with_its_module_and_checks_the_name(installed: Path, tmp_path: Path) -> None:
    """It checks the name before it connects to a cluster."""
    done = play(installed, tmp_path, "inventory", "simulator", "-e", "inventory_name=../mine")
    assert done.returncode == 2 and "'../mine' is no name for an inventory" in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.rest
@pytest.mark.parametrize("name", ["site", "preflight", "teardown", "validate"])
def test_each_installed_playbook_reports_a_misspelled_variable(installed: Path, tmp_path: Path, name: str) -> None:
    """The report of a mistake shows that Ansible can load every role and module."""
    assert (installed / f"ansible_collections/llm_d/inference/playbooks/{name}.yml").exists()
    done = play(installed, tmp_path, name, "simulator", "-e", '{"llm_d_gatway": 1}')
    assert done.returncode != 0 and "Did you mean 'llm_d_gateway'?" in done.stdout + done.stderr, done.stdout + done.stderr
    listed = play(installed, tmp_path, name, "simulator", "--list-tasks")
    assert listed.returncode == 0 and "inputs" in listed.stdout, listed.stdout + listed.stderr
