"""If an extra program cannot be built, the cluster still serves, one error names the program, and the next run builds it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import plays
import pytest
from stack import CACHE, Stack

NAME = "lws"
GIVEN = ("-i", "inventories/local", "playbooks/local_cluster.yml", "-e", '{"local_cluster_extras": ["leader_worker_set"]}')


@pytest.fixture(name="unbuilt")
def _unbuilt() -> None:
    """Remove the program of the extra."""
    (CACHE / "bin" / NAME).unlink(missing_ok=True)


@pytest.mark.usefixtures("unbuilt")
def test_an_extra_that_cannot_be_built_leaves_a_cluster_that_serves(stack: Stack, tmp_path: Path) -> None:
    """Its Go modules are neither downloadable nor cached."""
    done = plays.run(*GIVEN, GOPROXY="off", GOMODCACHE=str(tmp_path))
    errors = re.findall(r"^\[ERROR\].*", done.stdout, re.MULTILINE)
    assert done.returncode != 0 and len(errors) == 1 and NAME in errors[0] and "GOPROXY=off" in done.stdout, done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert stack.answers()
    stack.converges()
    done = plays.run(*GIVEN)
    assert done.returncode == 0 and os.access(CACHE / "bin" / NAME, os.X_OK), done.stdout
    assert "changed=0 " in plays.run(*GIVEN).stdout
