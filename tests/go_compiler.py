"""The Go compiler of the tests: one that the local cluster's build would use, whether it is installed on the host or by its role."""

from __future__ import annotations

import functools
import json
import subprocess
import typing as t
from pathlib import Path

import jinja2
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster.go_build import find_go
from plays import ROOT

ROLE = ROOT / "roles/local_cluster"


def role_variables(**given: str) -> dict[str, t.Any]:
    """The role's variables on Go: `minimum`, `package` (of PyPI) and `candidates`, the last of which is in that package. given: variables of a user."""
    files = [yaml.safe_load((ROLE / each / "main.yml").read_text(encoding="utf-8")) for each in ("defaults", "vars")]
    variables = {**files[0], **files[1], **given}
    variables["__local_cluster_python"] = jinja2.Template(variables["__local_cluster_python"]).render(variables)
    go = {name: variables[f"__local_cluster_go_{name}"] for name in ("minimum", "package", "candidates")}
    return {**go, "candidates": [jinja2.Template(each).render(variables) for each in go["candidates"]]}


@functools.cache
def find() -> str | None:
    """A Go compiler that is new enough for all that we build, or None."""
    variables = role_variables()
    return find_go(variables["minimum"], variables["candidates"])


needs_go = pytest.mark.skipif(find() is None, reason="no Go compiler: none on this host, and the local cluster has not installed one yet")


def outcomes(folder: Path, *arguments: str, environment: t.Mapping[str, str]) -> dict[str, str]:
    """The outcome of each Go test in a folder (pass, fail, skip), by name. Fails with their output if one fails."""
    command = [str(find()), "test", "-trimpath", "-vet=off", "-count=1", "-json", *arguments]
    done = subprocess.run(command, cwd=folder, env=dict(environment), capture_output=True, text=True, check=False)
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert done.returncode == 0, "".join(each.get("Output", "") for each in events) + done.stderr
    return {each["Test"]: each["Action"] for each in events if "Test" in each and each["Action"] in ("pass", "fail", "skip")}
