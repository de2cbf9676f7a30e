# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installed collection in a job: no ansible.cfg of ours, another callback, a Python that Ansible discovers, a folder that cannot be written."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import typing as t
from pathlib import Path

import plays
import pytest
from keeping_api_server import PREPARED, KeepingApi
from local_servers import serve
from plays import ROOT

FILE = {
    "llm_d_model_services": [{"name": "sim", "model": {"served_name": "acme/sim"}, "engine": {"type": "simulator"}}],
    "llm_d_charts": {"envoy_gateway": "/charts"},
    "validation_wait": "0",
    "validation_timeout": "1",
}
# As that of ansible-runner: it inherits the default callback, and declares none of its options for the format of results.
CALLBACK = '''
DOCUMENTATION = """
    name: like_awx
    type: stdout
    short_description: x
    description: x
    extends_documentation_fragment: [default_callback]
"""
from ansible.plugins.callback.default import CallbackModule as Default


class CallbackModule(Default):
    CALLBACK_NAME = "like_awx"
'''


@pytest.fixture(name="collections", scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the collection as ansible-galaxy installs it: a copy with a manifest."""
    folder = tmp_path_factory.mktemp("collections")
    home = folder / "ansible_collections/llm_d/inference"
    home.mkdir(parents=True)
    for name in ("meta", "playbooks", "plugins", "roles"):
        shutil.copytree(ROOT / name, home / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "go"))
    (home / "MANIFEST.json").write_text(json.dumps({"collection_info": {"namespace": "llm_d", "name": "inference", "version": "0.1.0"}}), encoding="utf-8")
    return folder


@pytest.fixture(name="play")
def run_playbook(collections: Path, tmp_path: Path) -> t.Callable[..., t.Any]:
    """A function that runs a playbook of the installed collection on an empty cluster, as a job does, and returns the process."""

    def run(name: str, *arguments: str, environment: t.Mapping[str, str] | None = None, **variables: t.Any) -> t.Any:
        cluster = KeepingApi(ready=True)
        cluster.kept.update(PREPARED)
        (tmp_path / "project").mkdir(exist_ok=True)
        with serve(cluster.answer) as api:
            given = {**FILE, "llm_d_kubeconfig": plays.kubeconfig(tmp_path / "kubeconfig", api), **variables}
            (tmp_path / "vars.json").write_text(json.dumps(given), encoding="utf-8")
            around = {"PATH": f"{broken_pythons(tmp_path)}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "ANSIBLE_NOCOLOR": "1", "no_proxy": "*"}
            around |= {"ANSIBLE_COLLECTIONS_PATH": str(collections), "HOME": str(tmp_path), "TMPDIR": str(tmp_path), **(environment or {})}
            command = plays.command("-i", "localhost,", f"llm_d.inference.{name}", "-e", f"@{tmp_path / 'vars.json'}", *arguments)
            return subprocess.run(command, cwd=tmp_path / "project", env=around, capture_output=True, text=True, timeout=200, check=False)

    return run


def broken_pythons(folder: Path) -> Path:
    """A folder with broken programs by the names of Pythons that Ansible searches for."""
    made = folder / "bin"
    made.mkdir(exist_ok=True)
    for name in ("python3", *(f"python3.{minor}" for minor in range(9, 16))):
        (made / name).write_text("#!/bin/sh\necho this Python was discovered >&2\nexit 127\n", encoding="utf-8")
        (made / name).chmod(0o755)
    return made


@pytest.mark.rest
@pytest.mark.parametrize("callback", ["default", "like_awx", "yaml"])
def test_the_verdict_is_printed_in_lines_with_installed_playbook_names(play: t.Callable[..., t.Any], tmp_path: Path, callback: str) -> None:
    (tmp_path / "callbacks").mkdir()
    (tmp_path / "callbacks/like_awx.py").write_text(CALLBACK, encoding="utf-8")
    chosen = {"ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml"} if callback == "yaml" else {"ANSIBLE_STDOUT_CALLBACK": callback}
    done = play("validate", environment={"ANSIBLE_CALLBACK_PLUGINS": str(tmp_path / "callbacks"), **chosen})
    shown = done.stdout.partition("report | Show the verdict]")[2].partition("\nTASK ")[0]
    lines = [line.strip(' ",') for line in shown.splitlines()]
    assert len([line for line in lines if re.match(r"(ok|FAIL|-) +([0-9.]+ s +)?\S+/\S+: ", line)]) > 8, done.stdout + done.stderr
    assert any(re.fullmatch(r"NOT OK: \d+ of \d+ claims hold", line) for line in lines) and "\\n" not in shown, shown
    failed = done.stdout.partition("[ERROR]: Task failed: Action failed: ")[2].partition("Origin: ")[0]
    assert failed.count("remedy: ") > 8 and "run llm_d.inference.site" in failed, failed
    verdict = next((tmp_path / "project/artifacts").glob("*/*/verdict.json")).read_text(encoding="utf-8")
    assert "playbooks/" not in done.stdout + done.stderr + verdict and "make " not in failed and "llm_d.inference.site" in verdict


@pytest.mark.rest
@pytest.mark.parametrize("name", ["export", "list_images", "list_permissions", "diagnose"])
def test_a_python_that_ansible_would_discover_is_not_used(play: t.Callable[..., t.Any], name: str) -> None:
    done = play(name)
    assert done.returncode == 0 and "unreachable=0" in done.stdout and "discovered" not in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.rest
@pytest.mark.parametrize(("name", "shown", "written"), [
    ("validate", "claims hold", "verdict.json"),
    ("diagnose", "most probable cause", "diagnosis.json"),
    ("list_images", "docker.io/envoyproxy/gateway", "mirror/images.txt"),
    ("export", " objects in ", "export/kustomization.yaml"),
])  # fmt: skip
def test_an_unwritable_artifacts_folder_is_replaced_with_one_warning(play: t.Callable[..., t.Any], tmp_path: Path, name: str, shown: str, written: str) -> None:
    """A folder below a file: root can write into any folder, so test_results.py tests a read-only project without a play."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project/artifacts").write_text("a file", encoding="utf-8")
    done = play(name)
    assert shown in done.stdout and "Cannot write" not in done.stdout and done.returncode == (2 if name == "validate" else 0), done.stdout + done.stderr
    folded = " ".join((done.stdout + done.stderr).split())
    assert (
        folded.count("llm_d_artifacts_dir") == 1
        and f"{tmp_path}/project/artifacts is no folder, so the results of this run go to {tmp_path}/llm_d-results-" in folded
    )
    (base,) = tmp_path.glob("llm_d-results-*")
    (there,) = (base / str(tmp_path / "project/artifacts").lstrip("/")).glob(f"*/*/{written}")
    assert there.is_file()


@pytest.mark.rest
@pytest.mark.parametrize(("name", "option"), [("export", "export_path"), ("pin_images", "pin_images_file"), ("benchmark", "benchmark_path")])
def test_an_unwritable_output_path_is_refused_before_anything_is_changed(play: t.Callable[..., t.Any], tmp_path: Path, name: str, option: str) -> None:
    (tmp_path / "file").write_text("a file", encoding="utf-8")
    done = play(name, "-e", f"{option}={tmp_path}/file/below")
    assert done.returncode == 2 and "1 mistake in your variables. Nothing has been touched." in done.stdout, done.stdout + done.stderr
    assert f"  - {option}: is not writable: {tmp_path}/file is no folder. Write a path that is." in done.stdout
