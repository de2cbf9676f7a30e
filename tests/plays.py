"""Runs plays as a user does: with the settings of this checkout, and none that molecule has made for its own plays.

Importing this module makes the checkout importable as ansible_collections.llm_d.inference, as Ansible itself does it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder

ROOT = Path(__file__).resolve().parents[1]

_AnsibleCollectionFinder(paths=[str(ROOT / "collections")])._install()


def command(*arguments: str) -> list[str]:
    """ansible-playbook, of the Python that runs the test."""
    return [str(Path(sys.executable).parent / "ansible-playbook"), *arguments]


def environment(**variables: str) -> dict[str, str]:
    """The environment of a play, without colours since its output is read, and with the arguments of modules, as ansible-core before 2.21 shows them."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "MOLECULE_"))}
    return {**own, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_INJECT_INVOCATION": "1", **variables}


def kubeconfig(path: Path, server: str, token: str = "sk-token-of-the-test") -> str:
    """Write a kubeconfig for an API server; its path."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def copied(checkout: Path, folder: Path) -> Path:
    """Copy the files of a checkout, tracked or untracked and not ignored, into a new folder, which is returned."""
    folder.mkdir(parents=True)
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=checkout, capture_output=True, check=True).stdout
    there = b"\0".join(name for name in listed.split(b"\0") if name and os.path.lexists(checkout / os.fsdecode(name)))
    subprocess.run(["xargs", "-0", "cp", "--parents", "-P", "-t", str(folder)], input=there, cwd=checkout, check=True)
    return folder


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a play in the checkout. variables: of its environment."""
    return subprocess.run(command(*arguments), cwd=ROOT, capture_output=True, text=True, env=environment(**variables), check=False)


def well(inventory: str, playbook: str, artifacts: Path, *options: str, **given: t.Any) -> str:
    """The output of a play that succeeds. given: variables; artifacts: the folder of its reports."""
    done = run("-i", inventory, playbook, "-e", json.dumps({"llm_d_artifacts_dir": str(artifacts), **given}), *options)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    return done.stdout


def site(inventory: str, artifacts: Path, *options: str, **given: t.Any) -> tuple[dict[str, t.Any], str]:
    """(verdict, output) of a site.yml that succeeds."""
    out = well(inventory, "site.yml", artifacts, *options, **given)
    return json.loads((artifacts / "verdict.json").read_text(encoding="utf-8")), out
