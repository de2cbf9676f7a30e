# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/list_images.yml as a user runs it on the six-line file, with and without a mirror: its output and its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.filter.plan_files import mirror_files
from ansible_collections.llm_d.inference.plugins.module_utils.common.images import repository_of
from ansible_collections.llm_d.inference.plugins.module_utils.releases.sources import CHARTS, IMAGES

SIX_LINES = """---
llm_d_model_services:
  - name: llama-8b
    model:
      uri: hf://meta-llama/Llama-3.1-8B-Instruct
"""
REPOSITORIES = {
    "ghcr.io/llm-d/llm-d-router-endpoint-picker",
    "docker.io/vllm/vllm-openai",
    "docker.io/envoyproxy/gateway",
    "docker.io/envoyproxy/envoy",
}
FILES = ["crane-copy.sh", "images.txt", "oc-mirror.yml", "openshift-mirrors.yml", "skopeo-sync.yml"]


def run(root: Path, folder: Path, *options: str, **variables: t.Any) -> tuple[dict[str, t.Any], list[str], int]:
    """Run the playbook; (images, lines about files, number of changed tasks)."""
    (folder / "llm_d.yml").write_text(SIX_LINES, encoding="utf-8")
    given = ["-e", f"@{folder / 'llm_d.yml'}", "-e", json.dumps(variables), "-e", f"ansible_python_interpreter={sys.executable}", *options]
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "localhost,", "-c", "local", str(root / "playbooks/list_images.yml"), *given]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"),
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    shown = {task["task"]["name"]: task["hosts"]["localhost"].get("msg") for task in result["plays"][0]["tasks"]}
    return shown["Show images, charts and CRDs"], shown["Show which files were written"], result["stats"]["localhost"]["changed"]


@pytest.mark.rest
@pytest.mark.parametrize(
    ("mirror", "first"),
    [
        (None, "ghcr.io/llm-d/llm-d-router-endpoint-picker"),
        ("mirror.example.com/m", "mirror.example.com/m/llm-d/llm-d-router-endpoint-picker"),
        ({"ghcr.io": "mirror.example.com/ghcr"}, "mirror.example.com/ghcr/llm-d/llm-d-router-endpoint-picker"),
    ],
)
def test_six_lines_are_pulled_from_upstream_or_from_its_mirror(root: Path, tmp_path: Path, mirror: t.Any, first: str) -> None:
    listed, files, changed = run(root, tmp_path, **({"llm_d_image_registry": mirror} if mirror else {}))
    assert {repository_of(name) for name in listed["sources"]} == REPOSITORIES <= set(IMAGES)
    assert first in {repository_of(name) for name in listed["images"]} and len(listed["images"]) == len(listed["sources"])
    assert [chart["ref"] for chart in listed["charts"]] == [CHARTS["envoy_gateway", "gateway-helm"].reference]
    assert all(source.startswith("https://github.com/") for source in listed["definitions"])
    folder = tmp_path / "artifacts/mirror"
    assert sorted(path.name for path in folder.iterdir()) == FILES and changed == 1
    assert files[:2] == ["written into", str(folder)] and sorted(name.strip() for name in files[2:]) == FILES
    assert (folder / "images.txt").read_text(encoding="utf-8").split() == listed["sources"]
    script = (folder / "crane-copy.sh").read_text(encoding="utf-8")
    target = "mirror.example.com/llm-d/llm-d/llm-d-router-endpoint-picker" if mirror is None else first
    assert f"crane copy ghcr.io/llm-d/llm-d-router-endpoint-picker:v0.11.0 {target}:v0.11.0\n" in script
    assert ("docker.io" in script) is not isinstance(mirror, dict), "an image without a mirror is not copied"
    assert [each["kind"] for each in yaml.safe_load_all((folder / "openshift-mirrors.yml").read_text(encoding="utf-8"))] == [
        "ImageDigestMirrorSet",
        "ImageTagMirrorSet",
    ]


@pytest.mark.rest
def test_the_playbook_reports_files_that_it_writes_or_leaves_unchanged(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "artifacts/mirror"
    _listed, files, changed = run(root, tmp_path, "--check")
    assert files[:2] == ["would be written into", str(folder)] and changed == 1 and not folder.exists()
    run(root, tmp_path)
    _listed, files, changed = run(root, tmp_path)
    assert files[:2] == ["nothing has changed in", str(folder)] and len(files) == 2 + len(FILES) and changed == 0
    (folder / "images.txt").unlink()
    _listed, files, changed = run(root, tmp_path)
    assert files == ["written into", str(folder), "  images.txt"] and changed == 1


def test_mirror_files_refuses_input_that_is_no_result_of_needed_images() -> None:
    for value in (None, [], {}, {"images": []}):
        with pytest.raises(Exception, match="takes what needed_images returns"):
            mirror_files(value)
    with pytest.raises(Exception, match="a registry, or a mapping"):
        mirror_files({"sources": []}, 7)


def test_a_tag_that_depends_on_the_nodes_is_left_to_the_user() -> None:
    sources = ["nvcr.io/nvidia/driver:580.126.20-<system>", "nvcr.io/nvidia/gpu-operator:v26.3.1"]
    files = mirror_files({"sources": sources}, "mirror.example.com/m")
    assert files["images.txt"].splitlines() == sources
    assert files["crane-copy.sh"].splitlines()[2:] == [
        "# crane copy nvcr.io/nvidia/driver:580.126.20-<system> mirror.example.com/m/nvidia/driver:580.126.20-<system>",
        "crane copy nvcr.io/nvidia/gpu-operator:v26.3.1 mirror.example.com/m/nvidia/gpu-operator:v26.3.1",
    ]
    assert "<" not in files["skopeo-sync.yml"] + files["oc-mirror.yml"] and "nvcr.io/nvidia/driver" in files["openshift-mirrors.yml"]
