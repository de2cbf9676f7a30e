# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where results go when the folder of artifacts cannot be written: as for a user without permission, and on a read-only file system."""

from __future__ import annotations

import os
import types
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.plugin_utils import results


@pytest.fixture(name="place")
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of artifacts with one inside that someone else has made; temporary files lie beside it. Folders named `locked` are not writable."""
    (tmp_path / "locked/artifacts").mkdir(parents=True)
    (tmp_path / "open/artifacts/locked").mkdir(parents=True)
    (tmp_path / "open/other").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(results.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    monkeypatch.setattr(results.os, "access", lambda path, mode: "locked" not in str(path))
    monkeypatch.setattr(results.os, "statvfs", lambda path: types.SimpleNamespace(f_flag=os.ST_RDONLY if "artifacts" not in str(path) else 0))
    return tmp_path


@pytest.fixture(name="warnings")
def warnings_of_ansible(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    messages: list[str] = []
    monkeypatch.setattr(results.display, "warning", messages.append)
    return messages


def test_a_writable_results_folder_is_used_as_given(place: Path, warnings: list[str]) -> None:
    for wanted in (place / "open/other", place / "open/not/yet/made"):
        assert results.results_folder(str(wanted)) == str(wanted)
    assert not warnings


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ("locked/new", "{}/locked is on a read-only file system"),
        ("locked/artifacts", "no permission to write into {}/locked/artifacts"),
        ("open/artifacts", "no permission to write into {}/open/artifacts/locked"),
    ],
)
def test_an_unwritable_results_folder_is_replaced_with_a_warning(place: Path, warnings: list[str], wanted: str, why: str) -> None:
    instead = results.results_folder(str(place / wanted))
    assert instead == f"{place}/tmp/llm_d-results-{os.getuid()}{place}/{wanted}" and not Path(instead).exists()
    assert warnings == [f"{why.format(place)}, so the results of this run go to {instead}. Set llm_d_artifacts_dir to a folder that can be written."]


def test_a_symlink_in_place_of_the_fallback_results_folder_is_not_used(place: Path, warnings: list[str]) -> None:
    (place / "theirs").mkdir()
    (place / f"tmp/llm_d-results-{os.getuid()}").symlink_to(place / "theirs")
    assert results.results_folder(str(place / "locked/new")) == str(place / "locked/new") and not warnings


def test_one_folder_alone_may_have_others_in_it_that_cannot_be_written(place: Path) -> None:
    assert results.unwritable(str(place / "open/artifacts")) == "" and results.unwritable(str(place / "open/artifacts"), whole=True)
