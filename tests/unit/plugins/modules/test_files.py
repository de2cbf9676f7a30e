# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files, folders and links: made once, replaced when they differ, shown as a difference, untouched in check mode."""

from __future__ import annotations

import os

import pytest
from ansible_collections.llm_d.inference.plugins.modules import files


@pytest.fixture(name="options")
def some_of_each(tmp_path):
    """One folder, two links and two files."""
    return {
        "directories": [str(tmp_path / "logs/deep")],
        "links": [str(tmp_path / "bin/etcd"), str(tmp_path / "bin/kubelet")],
        "link_target": "/opt/node",
        "files": [{"path": str(tmp_path / "config/a"), "content": "one\ntwo\n"}, {"path": str(tmp_path / "config/b"), "content": "ü\n"}],
    }


def test_the_second_run_changes_nothing(call, options, tmp_path):
    first = call(files, **options)
    assert first["changed"] and first["written"] == [*options["directories"], *options["links"], *(each["path"] for each in options["files"])]
    assert os.path.isdir(tmp_path / "logs/deep") and os.readlink(tmp_path / "bin/kubelet") == "/opt/node"
    assert (tmp_path / "config/b").read_text(encoding="utf-8") == "ü\n"
    assert sorted(os.listdir(tmp_path / "config")) == ["a", "b"] and sorted(os.listdir(tmp_path / "bin")) == ["etcd", "kubelet"]
    second = call(files, **options)
    assert not second["changed"] and second["written"] == [] and second["diff"] == []


def test_only_what_differs_is_replaced_and_shown(call, options, tmp_path):
    call(files, **options)
    kept = os.stat(tmp_path / "config/b").st_ino
    options["files"][0]["content"] = "one\n2\n"
    options["link_target"] = "/opt/node-2"
    assert call(files, **options, check=True)["diff"] == [], "nobody asks for it"
    result = call(files, **options, _ansible_diff=True)
    path = str(tmp_path / "config/a")
    assert result["written"] == [*options["links"], path]
    assert result["diff"] == [{"before": "one\ntwo\n", "after": "one\n2\n", "before_header": path, "after_header": path}]
    assert os.stat(tmp_path / "config/b").st_ino == kept and os.readlink(tmp_path / "bin/etcd") == "/opt/node-2"


def test_line_ends_and_bytes_count(call, tmp_path):
    path = tmp_path / "a"
    for present in (b"one\r\n", b"one\n\xff"):
        path.write_bytes(present)
        assert call(files, files=[{"path": str(path), "content": "one\n"}])["changed"]
        assert path.read_bytes() == b"one\n"


def test_a_dead_link_and_a_file_become_the_link(call, tmp_path):
    (tmp_path / "dead").symlink_to("/nowhere")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    links = [str(tmp_path / "dead"), str(tmp_path / "file")]
    assert call(files, links=links, link_target="/opt/node")["written"] == links
    assert {os.readlink(each) for each in links} == {"/opt/node"}


def test_check_mode_reports_the_same_changes_and_writes_nothing(call, options, tmp_path):
    planned = call(files, check=True, **options, _ansible_diff=True)
    assert planned["changed"] and os.listdir(tmp_path) == []
    done = call(files, **options, _ansible_diff=True)
    assert planned["written"] == done["written"] and planned["diff"] == done["diff"] != []


def test_links_without_a_target(call, tmp_path):
    result = call(files, links=[str(tmp_path / "a")])
    assert result["failed"] and "link_target" in result["msg"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_reported(call, tmp_path, monkeypatch):
    def write(path, content):
        with open("/dev/full", "w", encoding="utf-8") as file:
            file.write(content)

    monkeypatch.setattr(files, "write", write)
    result = call(files, files=[{"path": str(tmp_path / "a"), "content": "x"}])
    assert result["failed"] and "Cannot write all files: No space left on device" in result["msg"]


def test_a_folder_at_the_path_of_a_file_is_reported(call, tmp_path):
    (tmp_path / "a").mkdir()
    result = call(files, files=[{"path": str(tmp_path / "a"), "content": "x"}])
    assert result["failed"] and f"Cannot write {tmp_path}/a: " in result["msg"] and "contents of the folder" in result["msg"] and "exception" not in result
