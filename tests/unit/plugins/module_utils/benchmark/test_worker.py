# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures and limits of a worker process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import bundle, worker

BIG = 200 << 20  # bytes


def test_worker_memory_excludes_the_memory_of_the_parent_process(tmp_path):
    """A program that a large process starts is a copy of that process at first, and getrusage keeps the peak."""
    held = b"x" * BIG
    (tmp_path / "perf.pyz").write_bytes(bundle.bundle())
    package = worker.__name__.rpartition(".")[0]
    program = f"import sys; sys.path.insert(0, 'perf.pyz'); from {package} import worker; print(worker.peak_memory())"
    done = subprocess.run([sys.executable, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 5 < float(done.stdout) < 150 < len(held) / 2**20 < worker.peak_memory()


def test_a_worker_raises_its_open_file_limit_to_the_hard_limit():
    package = worker.__name__.rpartition(".")[0]
    program = f"""if True:
        import resource, sys
        sys.path.insert(0, {str(root_of(worker))!r})
        from {package} import worker
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 256))
        worker.raise_open_files_limit()
        print(resource.getrlimit(resource.RLIMIT_NOFILE))
    """
    assert subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True).stdout == "(256, 256)\n"


def test_the_open_file_limit_is_raised_as_far_as_macos_allows(monkeypatch):
    """macOS has no hard limit, and refuses a limit higher than 10,240."""
    limits = [256, worker.resource.RLIM_INFINITY]

    def limit(_which, wanted):
        if not 0 <= wanted[0] <= 10240:
            raise ValueError("current limit exceeds maximum limit")
        limits[:] = wanted

    monkeypatch.setattr(worker.resource, "getrlimit", lambda _which: tuple(limits))
    monkeypatch.setattr(worker.resource, "setrlimit", limit)
    worker.raise_open_files_limit()
    assert limits == [10240, worker.resource.RLIM_INFINITY]


def root_of(module):
    """The folder that holds its package."""
    return Path(module.__file__).parents[module.__name__.count(".")]
