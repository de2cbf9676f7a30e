# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An extra of Python packages that cannot be built is one error and leaves no image; the next run builds it, and the one after changes nothing.

The registry is a program of the local cluster, on another port; the package is a small one of ours, and no index is used.
"""

from __future__ import annotations

import collections.abc as c
import json
import re
import subprocess
import sys
import typing as t
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import own_api_server
import plays
import pytest
from local_servers import port_for_a_program
from waiting import until

pytestmark = pytest.mark.rest

CRANE = own_api_server.CACHE / "bin/crane"
NAME = "docker.io/llm-d-local/tiny"
PLAY = [
    {
        "hosts": "localhost",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.include_role": {"name": "llm_d.inference.local_cluster", "tasks_from": "packages"}}],
    }
]
MODELS = 'import pathlib, sys, tiny\nfolder = pathlib.Path(sys.argv[1])\nfolder.mkdir()\n(folder / "weights").write_text(tiny.WEIGHTS)\n'


class Made(t.NamedTuple):
    """A run of the tasks, and the registry that they push to."""

    run: c.Callable[..., subprocess.CompletedProcess[str]]
    folder: Path
    registry: str

    def pushed(self) -> bool:
        """Whether the registry contains the image."""
        try:
            urllib.request.urlopen(f"http://{self.registry}/v2/{NAME}/manifests/v1", timeout=10).close()
        except urllib.error.HTTPError:
            return False
        return True


@pytest.fixture(name="made")
def _made(tmp_path: Path) -> c.Iterator[Made]:
    if not CRANE.is_file():
        pytest.skip("no crane: the local cluster builds it")
    registry, cache = f"127.0.0.1:{port_for_a_program()}", tmp_path / "cache"
    wheels = tmp_path / "wheels"
    for folder in (cache, cache / "registry", wheels):
        folder.mkdir()
    (tmp_path / "requirements.txt").write_text("tiny==1\n", encoding="utf-8")
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "play.yml").write_text(json.dumps(PLAY), encoding="utf-8")
    image = {
        "name": f"{NAME}:v1",
        "files": {},
        "entrypoint": ["/opt/venv/bin/python3"],
        "trees": {"/opt/venv": f"{cache}/tiny/venv", "/models": f"{cache}/tiny/models"},
        "inputs": [f"{tmp_path}/requirements.txt", f"{tmp_path}/models.py"],
    }
    given = {
        "local_cluster_cache": str(cache),
        "local_cluster_registry": registry,
        "__local_cluster_bin": str(CRANE.parent),
        "__local_cluster_layers": str(tmp_path / "layers"),
        "ansible_python_interpreter": sys.executable,
        # There is no node.
        "__local_cluster_pull": ["true"],
        "__local_cluster_remove_images": ["true"],
        "__local_cluster_packages": {"folder": f"{cache}/tiny", "requirements": image["inputs"][0], "models": image["inputs"][1], "images": [image]},
    }

    def run(**environment: str) -> subprocess.CompletedProcess[str]:
        return plays.run(
            "-i", "localhost,", "-c", "local", str(tmp_path / "play.yml"), "-e", json.dumps(given), PIP_NO_INDEX="1", PIP_FIND_LINKS=str(wheels), **environment
        )

    with own_api_server.program(tmp_path, "registry", str(CRANE), "registry", "serve", "--address", registry, "--disk", f"{cache}/registry"):
        until(lambda: answers(registry))
        yield Made(run, tmp_path, registry)


def answers(registry: str) -> bool:
    try:
        urllib.request.urlopen(f"http://{registry}/v2/", timeout=5).close()
    except OSError:
        return False
    return True


def wheel(folder: Path) -> None:
    """Write the wheel of the package `tiny`."""
    with zipfile.ZipFile(folder / "tiny-1-py3-none-any.whl", "w") as packed:
        packed.writestr("tiny.py", 'WEIGHTS = "small"\n')
        packed.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
        packed.writestr("tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr("tiny-1.dist-info/RECORD", "tiny.py,,\ntiny-1.dist-info/METADATA,,\ntiny-1.dist-info/WHEEL,,\ntiny-1.dist-info/RECORD,,\n")


def broken(done: subprocess.CompletedProcess[str], message: str) -> None:
    """Check that a run ended with one error, with this message."""
    errors = re.findall(r"^\[ERROR\].*", done.stdout, re.MULTILINE)
    assert done.returncode != 0 and len(errors) == 1 and "Traceback" not in errors[0], done.stdout + done.stderr
    assert message in done.stdout, done.stdout


def test_a_package_that_cannot_be_had(made: Made) -> None:
    broken(made.run(), "No matching distribution found for tiny==1")
    assert not made.pushed()
    wheel(made.folder / "wheels")
    done = made.run()
    assert done.returncode == 0 and made.pushed(), done.stdout + done.stderr
    assert not (made.folder / "cache/tiny").exists(), "the content of images is in the registry"
    done = made.run()
    assert done.returncode == 0 and "changed=0 " in done.stdout, done.stdout + done.stderr


def test_a_model_that_cannot_be_written(made: Made) -> None:
    """The packages are not installed again."""
    wheel(made.folder / "wheels")
    models = made.folder / "models.py"
    models.write_text('raise SystemExit("no room for the weights")\n', encoding="utf-8")
    broken(made.run(), "no room for the weights")
    assert not made.pushed()
    models.write_text(MODELS, encoding="utf-8")
    (made.folder / "wheels/tiny-1-py3-none-any.whl").unlink()
    done = made.run()
    assert done.returncode == 0 and made.pushed(), done.stdout + done.stderr
