# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The thread that shows the progress of a long module."""

from __future__ import annotations

import os

import pytest
from ansible_collections.llm_d.inference.plugins.plugin_utils import followed
from waiting import until


@pytest.fixture(name="shown")
def lines_shown(monkeypatch, tmp_path):
    lines = []
    monkeypatch.setattr(followed.display, "display", lines.append)
    monkeypatch.setattr(followed.run_files, "folder", lambda: str(tmp_path))
    return lines


def append(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def test_progress_lines_are_displayed_as_they_are_written(shown):
    follower = followed.Follower(interval=0.01)
    append(follower.path, "waiting 0 s: a\nwait")
    until(lambda: shown)
    assert shown == ["    waiting 0 s: a"]
    append(follower.path, "ing 10 s: a\n")
    follower.stop()
    assert shown == ["    waiting 0 s: a", "    waiting 10 s: a"] and not os.path.exists(follower.path)


def test_progress_lines_start_with_the_host_name_if_there_are_several_hosts(shown):
    for hosts in (["paris"], ["paris", "berlin"]):
        follower = followed.Follower(followed.prefix_of({"inventory_hostname": "paris", "groups": {"all": hosts}}), interval=0.01)
        append(follower.path, "waiting\n")
        follower.stop()
    assert shown == ["    waiting", "    paris: waiting"] and followed.prefix_of({}) == ""


def test_no_control_character_reaches_the_terminal(shown):
    follower = followed.Follower(interval=0.01)
    append(follower.path, "waiting \x1b[31mred\x1b[0m \x1b]0;title\x07\x9b2J\u202eend\rover\n")
    follower.stop()
    assert shown == ["    waiting red  end over"]


def test_a_missing_progress_file_displays_nothing(shown):
    follower = followed.Follower(interval=0.01)
    os.unlink(follower.path)
    follower.stop()
    assert shown == []
