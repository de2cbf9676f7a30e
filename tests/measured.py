"""Helpers of benchmarks of whole runs on the local cluster: its programs, and commands and plays that have to succeed to be a measurement."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path
from xml.etree import ElementTree

import plays

CACHE, HOME = Path("/var/cache/llm-d-local"), Path("/var/lib/llm-d-local")
KUBECONFIG = str(HOME / "admin.kubeconfig")
KUBECTL, HELM = [str(HOME / "bin/kubectl"), "--kubeconfig", KUBECONFIG], [str(CACHE / "bin/helm"), "--kubeconfig", KUBECONFIG]


def run(command: t.Sequence[str], given: str | None = None, **environment: str) -> tuple[float, str]:
    """(seconds, output) of a command. One that fails ends the benchmark."""
    started = time.monotonic()
    done = subprocess.run(command, cwd=plays.ROOT, env=plays.environment(**environment), capture_output=True, text=True, check=False, input=given)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    return time.monotonic() - started, done.stdout


def play(playbook: str, *arguments: str, inventory: str = "inventories/local", **variables: t.Any) -> tuple[float, str]:
    """(seconds, output) of a playbook."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:  # not on the command line, whose length is limited
        json.dump(variables, file)
        file.flush()
        return run(plays.command("-i", inventory, playbook, "-e", f"@{file.name}", *arguments))


def of_task(task: str, playbook: str, inventory: str = "inventories/local") -> float:
    """Seconds that a task of a playbook takes, by a callback of ansible-core. task: a part of its name."""
    with tempfile.TemporaryDirectory() as folder:
        run(plays.command("-i", inventory, playbook), ANSIBLE_CALLBACKS_ENABLED="ansible.builtin.junit", JUNIT_OUTPUT_DIR=folder)
        (file,) = Path(folder).iterdir()
        (case,) = (each for each in ElementTree.parse(file).iter("testcase") if task in each.attrib["name"])
    return float(case.attrib["time"])


def down(**variables: t.Any) -> float:
    """Take the local cluster down; returns the seconds that this takes."""
    return play("playbooks/local_cluster.yml", local_cluster_state="absent", **variables)[0]


@contextlib.contextmanager
def new_cluster() -> t.Iterator[None]:
    """Take the local cluster down at the beginning and at the end."""
    down()
    try:
        yield
    finally:
        down()


@contextlib.contextmanager
def local_stack() -> t.Iterator[None]:
    """The stack of inventories/local, on a new cluster."""
    with new_cluster():
        play("site.yml")
        yield
