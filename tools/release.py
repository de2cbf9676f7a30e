#!/usr/bin/env python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the files of a release, and publish nothing: tools/release.py VERSION [--key KEY], or make release VERSION=1.0.0 KEY=me@example.com.

Writes the version and its changelog into the checkout, then into artifacts/release/VERSION the archive, the signature of its manifest (for
`ansible-galaxy collection install --signature`), a bill of materials in CycloneDX, and checksums of these with a signature.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tools.sbom import sbom  # noqa: E402

# Where the version stands, beside the changelog.
VERSIONED = ("galaxy.yml", "SECURITY.md", "extensions/execution_environment/execution-environment.yml", "extensions/execution_environment/README.md")
# What an earlier run for the same version wrote: it need not be committed before the next run.
WRITTEN = (*VERSIONED, "CHANGELOG.md", "changelogs/")
SUMS = "SHA256SUMS"
NEXT = """\
{folder} holds the release. Nothing is published. What is left:
  git commit --all --message "Release {version}" && git tag --sign v{version} && git push origin HEAD v{version}
  ansible-galaxy collection publish {folder}/{archive}
  and a release of the tag with the files of {folder}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--key", default="", help="of GnuPG; by default the first secret key")
    given = parser.parse_args()
    if not re.fullmatch(r"\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?", given.version):
        parser.error(f"{given.version!r} is not a version such as 1.0.0 or 1.1.0-rc.1")
    if subprocess.run(["gpg", "--list-secret-keys", *filter(None, [given.key])], capture_output=True, text=True, check=False).stdout.strip() == "":
        parser.error(f"GnuPG has no secret key{f' {given.key}' if given.key else ''}: create one with `gpg --quick-generate-key`, or name another with KEY=")
    if changes := [line for line in run("git", "status", "--porcelain").splitlines() if not (released(given.version) and line[3:].startswith(WRITTEN))]:
        parser.error("the checkout has changes that are not committed:\n" + "\n".join(changes))
    set_version(given.version)
    folder = ROOT / "artifacts/release" / given.version
    files(folder, given.version, given.key)
    (archive,) = folder.glob("*.tar.gz")
    print(NEXT.format(folder=folder.relative_to(ROOT), version=given.version, archive=archive.name), end="")
    return 0


def released(version: str) -> bool:
    """Whether the changelog contains this version."""
    return version in yaml.safe_load((ROOT / "changelogs/changelog.yaml").read_text(encoding="utf-8"))["releases"]


def set_version(version: str) -> None:
    """Write the version, and its changelog from the fragments."""
    before = str(yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"])
    for path in (ROOT / name for name in VERSIONED):
        path.write_text(path.read_text(encoding="utf-8").replace(before, version), encoding="utf-8")
    if not released(version):
        run("antsibull-changelog", "release", "--version", version)


def files(folder: Path, version: str, key: str) -> None:
    """Write the files of the release into a folder. Files of an earlier run are deleted."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    with tempfile.TemporaryDirectory() as copy:
        tracked(Path(copy))
        run("ansible-galaxy", "collection", "build", copy, "--output-path", str(folder))
    (archive,) = folder.glob("*.tar.gz")
    name = archive.name.removesuffix(".tar.gz")
    with tarfile.open(archive) as opened:
        opened.extract("MANIFEST.json", folder, filter="data")
    sign(folder / "MANIFEST.json", folder / f"{name}.asc", key)
    (folder / "MANIFEST.json").unlink()
    (folder / f"{name}.cdx.json").write_text(sbom(ROOT, version), encoding="utf-8")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")
    sign(folder / SUMS, folder / f"{SUMS}.asc", key)


def tracked(copy: Path) -> None:
    """Copy the files that git tracks, and no others, such as a vault's password beside them."""
    for name in filter(None, run("git", "ls-files", "-z").split("\0")):
        if (ROOT / name).is_symlink() or (ROOT / name).is_file():  # a fragment that the changelog has replaced is gone
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)


def sign(path: Path, signature: Path, key: str) -> None:
    """Write a detached signature. GnuPG may ask for a passphrase."""
    chosen = ["--local-user", key] if key else []
    subprocess.run(["gpg", "--yes", "--armor", *chosen, "--output", str(signature), "--detach-sign", str(path)], check=True)


def run(*command: str) -> str:
    """The output of a command. Ends the release if it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:3])} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
