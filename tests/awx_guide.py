# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the commands of docs/awx.md in a shell, against the stand-in of AWX, which runs the jobs that they start."""

from __future__ import annotations

import collections.abc as c
import json
import re
import shutil
import subprocess
import sys
import time
import typing as t
import zipfile
from pathlib import Path

import execution_environment as environment
import plays
import yaml
from controller_api.client import call
from controller_api.server import Controller
from controller_api.store import Row

COLLECTION_URL, INVENTORY_URL = "https://github.com/llm-d/llm_d.inference.git", "https://git.example.com/stack.git"
PACKAGE = "ansible==11.13.0"  # the last one with awx.awx
BLOCKS = re.findall(r"^```console\n(.*?)^```$", (plays.ROOT / "docs/awx.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
# Blocks that these tests cannot run, by their first words, and the test that runs them.
ELSEWHERE = {
    "python3.12 -m venv": "tests/contract/test_packaging.py",  # and the guide runs in the collection that it installs
    "definition=": "tests/contract/test_execution_environment.py",
}


def awx_collection(folder: Path) -> Path:
    """`folder`, with awx.awx, for ANSIBLE_COLLECTIONS_PATH."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"awx.awx cannot be downloaded: {done.stderr[-200:]}"
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder, [name for name in packed.namelist() if name.startswith("ansible_collections/awx/")])
    return folder


class Projects(c.Mapping[str, Path]):
    """The projects at the URLs of the guide: this checkout, and the commits that were pushed to the repository of the inventory."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._pushed = folder, folder / "git/stack.git"
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", self._pushed], check=True)
        self._clones = 0

    def __getitem__(self, url: str) -> Path:
        if url == COLLECTION_URL:
            return plays.ROOT
        if url != INVENTORY_URL:
            raise KeyError(url)
        self._clones += 1
        made = self._folder / f"clones/{self._clones}"
        subprocess.run(["git", "clone", "--quiet", self._pushed, made], check=True, capture_output=True)
        return made

    def __iter__(self) -> c.Iterator[str]:
        return iter((COLLECTION_URL, INVENTORY_URL))

    def __len__(self) -> int:
        return 2


class Guide:
    """A reader of the guide, with a shell, an empty AWX and an empty repository. kubeconfig: for the shell; path: of additional programs."""

    def __init__(self, folder: Path, awx: Path, kubeconfig: str, path: str = "") -> None:
        self.folder, self.left = folder, list(BLOCKS)
        self.api = Controller(Projects(folder), awx)
        self._environment = {
            "PATH": ":".join(part for part in (str(Path(sys.executable).parent), path, "/usr/bin:/bin") if part),
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "no_proxy": "*",
            "KUBECONFIG": kubeconfig,
            "ANSIBLE_COLLECTIONS_PATH": f"{environment.with_others(folder)}:{awx}",  # as ansible-galaxy installs them
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.file://{folder}/git/.insteadOf",
            "GIT_CONFIG_VALUE_0": "https://git.example.com/",
            **{f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }

    def __enter__(self) -> Guide:
        self.api.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.api.__exit__(*error)
        shutil.rmtree(self.folder / "clones", ignore_errors=True)

    def run(self, start: str, well: bool = True) -> str:
        """The output of the next block of commands that begins with `start`. well: whether it has to succeed."""
        block = next(each for each in self.left if each.startswith(start))
        self.left.remove(block)
        flow = ([0] + [each.id for each in self.rows("workflow_jobs")])[-1]
        block = block.replace("https://awx.example.com", self.api.url).replace("TOKEN=...", f"TOKEN={self.api.token}")
        return self.shell(re.sub(r'"workflow_job_id": \d+', f'"workflow_job_id": {flow}', block), well)

    def shell(self, commands: str, well: bool = True) -> str:
        """The output of commands, in the folder and with the variables that the commands before left."""
        state = self.folder / "state"
        before = f"source {state}" if state.exists() else f"cd {self.folder}"
        script = f"set -euo pipefail; {before}\n{commands}\n{{ export -p; echo cd $PWD; }} > {state}"
        done = subprocess.run(["bash", "-c", script], env=self._environment, capture_output=True, text=True, check=False, timeout=1800)
        assert (done.returncode == 0) is well, f"{commands}\n{done.stdout}\n{done.stderr}\n{self.ended()}"
        return done.stdout

    def file(self, variables: c.Mapping[str, t.Any]) -> None:
        """Push a file with variables that override those of the guide."""
        (self.folder / "stack/inventories/mine/group_vars/all/overrides.yml").write_text(yaml.safe_dump(dict(variables)), encoding="utf-8")
        self.shell("git add . && git commit --quiet -m Here && git push --quiet")

    def finished(self, kind: str) -> Row:
        """The last row of a kind, once it has ended."""
        (*_before, row) = self.rows(kind)
        while not row["finished"]:
            time.sleep(0.1)
        return row

    def rows(self, kind: str) -> list[Row]:
        return list(self.api.api.store.rows[kind].values())

    def jobs(self) -> list[tuple[str, str]]:
        """(name, status) of all jobs."""
        return [(job.name.removeprefix("llm-d: "), job["status"]) for job in self.rows("jobs")]

    def credential(self, name: str, kind: str, **inputs: t.Any) -> None:
        """Create a credential of the type with this name: a step that the guide leaves to AWX's pages."""
        (number,) = [each.id for each in self.rows("credential_types") if each.name == kind]
        body = {"name": name, "organization": 1, "credential_type": number, "inputs": inputs}
        assert call(self.api, "POST", "/api/v2/credentials/", body)[0] == 201

    def outputs(self) -> str:
        """The values and outputs of all jobs, as AWX keeps them."""
        return json.dumps([[job.values, job.hidden.get("output")] for job in self.rows("jobs")], default=str)

    def ended(self) -> str:
        """The end of the output of the last job."""
        jobs = self.rows("jobs")
        return f"{jobs[-1].name}: {jobs[-1].values}\n{jobs[-1].hidden['output'][-6000:]}" if jobs else ""
