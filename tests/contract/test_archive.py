# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive of the collection: small, without what only this repository needs, and complete by itself."""

from __future__ import annotations

import re
import subprocess
import tarfile
import typing as t
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 1_500_000  # bytes
OURS_ALONE = ("tests/", "molecule/", "tools/", "changelogs/fragments/", "docs/site/", "docs/coverage.yml", ".github/", "Makefile", "noxfile.py")
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]+)")


@pytest.fixture(name="archive", scope="module")
def _archive(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[tarfile.TarFile]:
    folder = tmp_path_factory.mktemp("archive")
    subprocess.run(["ansible-galaxy", "collection", "build", str(ROOT), "--output-path", str(folder)], check=True, capture_output=True)
    (path,) = folder.glob("*.tar.gz")
    with tarfile.open(path) as opened:
        yield opened


def test_it_is_small(archive: tarfile.TarFile) -> None:
    size = Path(str(archive.name)).stat().st_size
    assert 500_000 < size <= LARGEST, f"{size} bytes"


def test_what_only_this_repository_needs_stays_out(archive: tarfile.TarFile) -> None:
    names = archive.getnames()
    assert {"README.md", "LICENSE", "CHANGELOG.md", "meta/runtime.yml", "playbooks/site.yml", "docs/user-file.md"} <= set(names)
    assert not [name for name in names if name.startswith(OURS_ALONE)]


def test_its_documents_lead_to_what_is_in_it(archive: tarfile.TarFile) -> None:
    names, lost = set(archive.getnames()), []
    for name in sorted(name for name in names if name.endswith(".md")):
        file = archive.extractfile(name)
        assert file is not None
        for link in _LINK.findall(file.read().decode()):
            target = (Path("/", name).parent / link).resolve().relative_to("/")
            if str(target) not in names:
                lost.append(f"{name}: {link}")
    assert not lost


def test_links_between_files_stay_links(archive: tarfile.TarFile) -> None:
    """Else each program of the local cluster brings a go.sum of all."""
    links = [member for member in archive.getmembers() if member.issym()]
    assert links and all(str((Path("/", link.name).parent / link.linkname).resolve().relative_to("/")) in archive.getnames() for link in links)
