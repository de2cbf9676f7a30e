# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values in the place of secrets in a user's file, and the search for them."""

from __future__ import annotations

import base64
import collections.abc as c
import json
import shutil
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

import plays

# One value for each option that is or holds a secret, and for each variable of the environment by which AWX gives one. No other text contains them.
PLANTED = {
    name: f"planted-{name}-Zq9Xw7"
    for name in ("environment", "picker", "argument", "key", "benchmark", "registry", "token", "kubeconfig", "bucket", "controller")
}
KUBECONFIG = PLANTED["kubeconfig"]  # the token of the account
# ansible-runner records the environment in this file, in which AWX hides what credentials have given.
_ENVIRONMENT = {("artifacts/one/command", name) for name in ("bucket", "controller")}


def planted_file(**service: t.Any) -> dict[str, t.Any]:
    """Variables of a user's file with all of these values but the kubeconfig's. service: further options of the model service `sim`."""
    sim = {
        "name": "sim",
        "model": {"served_name": "acme/sim"},
        "engine": {"type": "simulator", "env": {"IN_THE_FILE": PLANTED["environment"]}, "args": [f"--hf-token={PLANTED['argument']}"]},
        "scheduler": {"env": {"TOO": PLANTED["picker"]}},
        **service,
    }
    return {
        "llm_d_model_token": PLANTED["token"],
        "llm_d_api_key": PLANTED["key"],
        "llm_d_image_pull_credentials": [{"registry": "registry.example.com", "username": "robot", "password": PLANTED["registry"]}],
        "llm_d_benchmark": {"api_key": PLANTED["benchmark"], "max_lag": 5, "max_lag_share": 0},  # the lag of this host is irrelevant here
        "llm_d_model_services": [sim],
    }


def runner(folder: Path, playbook: str, variables: c.Mapping[str, t.Any], host: str) -> str:
    """The status of a job of ansible-runner with -vvv. Afterwards the folder contains all that AWX keeps of it, and its temporary files in `temporary`."""
    for name in ("env", "inventory"):
        (folder / name).mkdir(parents=True)
    (folder / "project").symlink_to(plays.ROOT)
    (folder / "inventory/hosts").write_text(f"{host} ansible_connection=local\n", encoding="utf-8")
    (folder / "env/extravars").write_text(json.dumps(variables), encoding="utf-8")
    # The length of a socket's path is limited.
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary:
        given = {"AWS_ACCESS_KEY_ID": "reporter", "AWS_SECRET_ACCESS_KEY": PLANTED["bucket"], "CONTROLLER_OAUTH_TOKEN": PLANTED["controller"]}
        around = {
            **given,
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "no_proxy": "*",
            "HOME": str(folder),
            "TMPDIR": temporary,
        }
        command = ["ansible-runner", "run", str(folder), "-p", playbook, "-i", "one", "-vvv"]
        subprocess.run(command, env=around, capture_output=True, check=False, timeout=600)
        shutil.copytree(temporary, folder / "temporary")
    return (folder / "artifacts/one/status").read_text(encoding="utf-8")


def occurrences(folder: Path, given: c.Container[Path], values: c.Mapping[str, str] = PLANTED) -> list[tuple[str, str]]:
    """(file, name of the value) of each value, plain or within base64, in the files of a folder but the `given` ones. Links are not followed."""
    forms = [(name, form) for name, value in values.items() for form in (value.encode(), *(in_base64(value.encode(), before) for before in range(3)))]
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink() and path not in given]
    places = [(str(path.relative_to(folder)), name) for path in files for name, form in forms if form in path.read_bytes()]
    return [each for each in places if each not in _ENVIRONMENT]


def in_base64(value: bytes, before: int) -> bytes:
    """The part that the base64 of all texts with the value has in common. before: the number of bytes before the value, modulo 3."""
    whole = base64.b64encode(b"x" * before + value)
    return whole[-(-before * 8 // 6) : (before + len(value)) * 8 // 6]
