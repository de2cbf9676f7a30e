"""All places that name supported versions agree."""

from __future__ import annotations

import ast
import json
import re
import typing as t
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from ansible_collections import kubernetes
from ansible_collections.llm_d.inference.plugins.plugin_utils import supported
from packaging.specifiers import SpecifierSet


def minor(version: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(int(part) for part in version.split(".")[:2])


@pytest.fixture(name="nox", scope="module")
def noxfile(root: Path) -> dict[str, t.Any]:
    """The constants of noxfile.py; nox itself is not among the requirements."""
    statements = ast.parse((root / "noxfile.py").read_text(encoding="utf-8")).body
    pairs = [(node.targets[0], node.value) for node in statements if isinstance(node, ast.Assign)]
    return {target.id: ast.literal_eval(value) for target, value in pairs if isinstance(target, ast.Name)}


def test_the_readme_names_the_versions_of_the_test_matrix(root: Path, nox: dict[str, t.Any]) -> None:
    match = re.search(r"ansible-core (\S+) to (\S+) on Python (\S+) to ([\d.]+\d)", (root / "README.md").read_text(encoding="utf-8"))
    assert match
    cores, pythons = (sorted({pair[at] for pair in nox["MATRIX"]}, key=minor) for at in (0, 1))
    assert match.groups() == (cores[0], cores[-1], pythons[0], pythons[-1])
    assert set(cores) == set(nox["ANSIBLE"])


def test_ansible_refuses_what_is_older(root: Path, nox: dict[str, t.Any]) -> None:
    wanted = yaml.safe_load((root / "meta/runtime.yml").read_text(encoding="utf-8"))["requires_ansible"]
    cores = sorted((pair[0] for pair in nox["MATRIX"]), key=minor)
    assert wanted == f">={cores[0]}.0"
    assert all(SpecifierSet(wanted).contains(f"{core}.0") for core in cores)
    assert (".".join(map(str, supported.OLDEST)), supported.PYTHON) == (cores[0], min((pair[1] for pair in nox["MATRIX"]), key=minor)), "the README says so"


def test_the_linter_knows_what_we_support(root: Path, nox: dict[str, t.Any]) -> None:
    """ansible-lint refuses the lower bound of meta/runtime.yml otherwise."""
    versions = yaml.safe_load((root / ".ansible-lint").read_text(encoding="utf-8"))["supported_ansible_also"]
    assert versions == [f"{core}." for core in sorted(nox["ANSIBLE"], key=minor)]


def test_the_pinned_versions_are_in_the_matrix(root: Path, nox: dict[str, t.Any]) -> None:
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)$", (root / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE))
    core = ".".join(pinned["ansible-core"].split(".")[:2])
    assert nox["ANSIBLE"][core] == pinned["ansible"]
    assert nox["PREFERRED"] == core and f"`make` installs ansible-core {core}" in (root / "docs/local-cluster.md").read_text(encoding="utf-8")
    assert min(minor(pair[1]) for pair in nox["MATRIX"]) == (3, 12), "the Makefile accepts 3.12 and newer"
    assert minor(metadata.version("ansible-core")) in {minor(pair[0]) for pair in nox["MATRIX"]}


def test_the_installed_kubernetes_core_satisfies_the_galaxy_dependency(root: Path) -> None:
    wanted = yaml.safe_load((root / "galaxy.yml").read_text(encoding="utf-8"))["dependencies"]["kubernetes.core"]
    manifest = json.loads((Path(list(kubernetes.__path__)[0]) / "core/MANIFEST.json").read_text(encoding="utf-8"))
    assert SpecifierSet(wanted).contains(manifest["collection_info"]["version"])
