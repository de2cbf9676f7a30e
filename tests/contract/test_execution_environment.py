# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The execution environment in the real ansible-builder, and its settings in the real ansible-navigator.

The image itself runs in molecule/providers/live/test_job_pod.py.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import typing as t
from pathlib import Path

import execution_environment as environment
import plays
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.releases import lines, tools
from bindep.depends import Depends
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from plays import ROOT

PINNED = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.fixture(name="needed", scope="module")
def _needed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The requirements of the built collection by ansible-builder, without those of kubernetes.core."""
    requirements = environment.needed(environment.with_others(tmp_path_factory.mktemp("collections")))
    return {kind: [line.partition(" #")[0].strip() for line in given if line.endswith("llm_d.inference")] for kind, given in requirements.items()}


@pytest.fixture(name="step", scope="module")
def _step(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The command of the Containerfile that installs Helm."""
    file = environment.context(tmp_path_factory.mktemp("builder") / "context") / "Containerfile"
    (command,) = re.findall(r"^RUN ((?:.*\\\n)*.*helm(?:.*\\\n)*.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return command.replace("\\\n", "")


def imported() -> set[str]:
    """The packages that plugins import, without those of ansible-core."""
    nodes = [node for path in (ROOT / "plugins").rglob("*.py") for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    roots = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"ansible", "ansible_collections", "jinja2", "yaml"}
    return {"websocket-client" if name == "websocket" else name for name in roots}


def test_an_image_gets_what_the_modules_import_with_bounds_and_no_tools_of_the_tests(needed: dict[str, list[str]]) -> None:
    bounds = {each.name: str(each.specifier) for each in map(Requirement, needed["python"])}
    assert bounds.keys() == imported() | {"requests"}, "requests is here for its bounds: the library kubernetes needs it"
    assert all(">=" in each for each in bounds.values())


def below(version: str) -> str:
    """The version right below, such as 2.29.99 for 2.30.0."""
    major, minor, patch = map(int, version.split("."))
    return f"{major}.{minor}.{patch - 1}" if patch else f"{major}.{minor - 1}.99" if minor else f"{major - 1}.99.99"


def versions(conditions: str) -> set[str]:
    """The numbers in conditions such as `>=34.1.0,<36.0.0`, and those right below."""
    numbers = set(re.findall(r"[0-9.]+", conditions))
    return numbers | set(map(below, numbers))


def test_no_image_gets_a_version_that_is_known_to_be_broken(needed: dict[str, list[str]]) -> None:
    allowed = {each.name: each.specifier for each in map(Requirement, needed["python"])}
    for row in tools.BROKEN:
        if row.name in allowed:
            broken = {version for version in versions(row.versions) if tools.fits(version, row.versions)}
            assert broken and not [version for version in broken if version in allowed[row.name]], row
    assert lines.MINIMUM["libraries"]["kubernetes"] in allowed["kubernetes"]
    assert all(PINNED[name] in allowed[name] for name in allowed if name in PINNED)


@pytest.mark.parametrize(("system", "package"), [("rpm", "openssh-clients"), ("dpkg", "openssh-client")])
def test_the_packages_are_those_of_the_image_s_system(needed: dict[str, list[str]], system: str, package: str) -> None:
    read = Depends("\n".join(needed["system"]) + "\n")
    assert [rule[0] for rule in read.active_rules([f"platform:{system}"])] == [package]


def test_the_definition_has_the_versions_that_are_tested_here() -> None:
    wanted = environment.definition()["dependencies"]
    ours = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))
    for name in ("ansible-core", "ansible-runner"):
        assert wanted[name.replace("-", "_")]["package_pip"] == f"{name}=={PINNED[name]}"
    collections = {each["name"]: each["version"] for each in wanted["galaxy"]["collections"]}
    assert collections["llm_d.inference"] == ours["version"] and "awx.awx" in collections, "it writes the text of an approval"
    requires = yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["requires_ansible"]
    assert PINNED["ansible-core"] in SpecifierSet(requires)


def helm(folder: Path, step: str, spoilt: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the step with a local archive; the program goes into `folder`/bin."""
    (folder / "linux-amd64").mkdir()
    (folder / "linux-amd64/helm").write_text("the program", encoding="utf-8")
    (name,) = set(re.findall(r"helm-v[0-9.]+-linux-", step))
    archive = folder / f"{name}amd64.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(folder / "linux-amd64/helm", "linux-amd64/helm")
    digest = hashlib.sha256(archive.read_bytes() + (b"x" if spoilt else b"")).hexdigest()
    (folder / f"{archive.name}.sha256sum").write_text(f"{digest}  {archive.name}\n", encoding="utf-8")
    (folder / "bin").mkdir()
    assert "/usr/local/bin" in step
    here = {**os.environ, "HELM_MIRROR": f"file://{folder}", "TMPDIR": str(folder)}
    return subprocess.run(["sh", "-c", step.replace("/usr/local/bin", str(folder / "bin"))], env=here, capture_output=True, text=True, check=False)


def test_helm_is_in_the_image(step: str, tmp_path: Path) -> None:
    done = helm(tmp_path, step)
    assert done.returncode == 0 and (tmp_path / "bin/helm").read_text(encoding="utf-8") == "the program", done.stderr
    (version,) = re.findall(r"helm-v([0-9.]+)-linux", step)
    assert tools.fits(version, f">={lines.MINIMUM['helm']},<4.0.0")


def test_a_helm_with_an_incorrect_checksum_fails_the_build(step: str, tmp_path: Path) -> None:
    done = helm(tmp_path, step, spoilt=True)
    assert done.returncode and "FAILED" in done.stdout and not (tmp_path / "bin/helm").exists(), done.stdout


def test_the_definition_in_the_readme_installs_a_checkout_in_the_image(tmp_path: Path) -> None:
    """The definition with the lines of the README."""
    (block,) = re.findall(r"```yaml\n(.*?)```", (environment.FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    given = yaml.safe_load(block)
    whole = environment.definition()
    whole["dependencies"]["galaxy"] = given["dependencies"]["galaxy"]
    whole["additional_build_files"] = given["additional_build_files"]
    (tmp_path / "definition.yml").write_text(yaml.safe_dump(whole), encoding="utf-8")
    environment.built(tmp_path)
    build = environment.context(tmp_path / "context", tmp_path / "definition.yml") / "_build"
    wanted = yaml.safe_load((build / "requirements.yml").read_text(encoding="utf-8"))["collections"]
    (build / "requirements.yml").write_text(yaml.safe_dump({"collections": [each for each in wanted if each.get("type") == "file"]}), encoding="utf-8")
    there = environment.install(build, "-r", "requirements.yml", into=tmp_path / "there")
    assert (there / "ansible_collections/llm_d/inference/MANIFEST.json").exists()


@pytest.mark.rest
def test_ansible_navigator_runs_a_playbook_with_the_settings_of_the_checkout(tmp_path: Path) -> None:
    """ansible-navigator runs without the image, since this host has no container engine."""
    settings: dict[str, t.Any] = yaml.safe_load((ROOT / "ansible-navigator.yml").read_text(encoding="utf-8"))["ansible-navigator"]
    tag = re.findall(r"--tag (\S+)", (environment.FOLDER / "README.md").read_text(encoding="utf-8"))
    assert tag == [settings["execution-environment"]["image"]]
    (tmp_path / ".kube").mkdir()
    command = [str(environment.BIN / "ansible-navigator"), "run", "playbooks/list_images.yml", "-i", "inventories/openshift", "--ee", "false"]
    around = plays.environment(HOME=str(tmp_path), PATH=f"{environment.BIN}:{os.environ['PATH']}")
    done = subprocess.run([*command, "--log-file", str(tmp_path / "log")], cwd=ROOT, env=around, capture_output=True, text=True, check=False, timeout=110)
    assert done.returncode == 0 and "llm-d-router-endpoint-picker" in done.stdout, done.stdout + done.stderr
    assert not list(ROOT.glob("*-artifact-*.json"))
