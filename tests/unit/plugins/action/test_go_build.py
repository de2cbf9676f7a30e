# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builder in a real ansible-playbook: check mode, progress lines, and mistakes in one line."""

from __future__ import annotations

import json
import os
import subprocess

import plays
import pytest
from go_compiler import find, needs_go

pytestmark = pytest.mark.rest

GO = find()


@pytest.fixture(name="play")
def run_play(root, tmp_path):
    """Runs a playbook of one go_build task; gives the task's result and what was printed before it."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "go.mod").write_text("module example.invalid/hello\n\ngo 1.20\n", encoding="utf-8")
    (source / "main.go").write_text("package main\n\nfunc main() {}\n", encoding="utf-8")

    def play(*flags, **options):
        task = {
            "cache": str(tmp_path / "cache"),
            "go_minimum": "1.20",
            "go_candidates": [GO or "go"],
            "binaries": [{"name": "hello", "source": str(source)}],
            **options,
        }
        task = {name: value for name, value in task.items() if value is not None}
        book = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [{"name": "Build", "llm_d.inference.go_build": task}]}]
        (tmp_path / "play.yml").write_text(json.dumps(book), encoding="utf-8")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}, "LC_ALL": "C.UTF-8", "GOPROXY": "off",
            "ANSIBLE_NOCOLOR": "1", "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"), "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
        }  # fmt: skip
        command = [*plays.command(), "-v", str(tmp_path / "play.yml"), *flags]
        out = subprocess.run(command, env=environment, cwd=tmp_path, check=False, capture_output=True, text=True)
        output, arrow, rest = out.stdout.partition(" => ")
        assert arrow, out.stdout + out.stderr
        return json.JSONDecoder().raw_decode(rest)[0], output

    return play


@needs_go
def test_check_mode_reports_the_binaries_to_build_and_builds_nothing(play, tmp_path):
    result, _output = play("--check")
    assert result["changed"] and result["built"] == ["hello"] and result["copied"] == []
    assert result["binaries"] == {"hello": str(tmp_path / "cache/bin/hello")} and result["go_version"].startswith("go1.")
    assert not (tmp_path / "cache").exists()


def test_check_mode_assumes_that_a_missing_go_compiler_will_be_installed(play):
    result, _output = play("--check", go_minimum="99.0.0")
    assert result["changed"] and result["built"] == ["hello"] and "failed" not in result


@needs_go
def test_a_build_shows_its_progress_and_a_second_run_builds_nothing(play, tmp_path):
    result, output = play()
    assert result["changed"] and os.access(tmp_path / "cache/bin/hello", os.X_OK)
    assert "    building hello (1 of 1)\n" in output and "    built hello in " in output
    for flags in ((), ("--check",)):
        result, output = play(*flags)
        assert not result["changed"] and result["built"] == [] and "building" not in output


@needs_go
def test_a_source_that_does_not_compile_is_the_compilers_words_without_a_traceback(play, tmp_path):
    (tmp_path / "source/main.go").write_text("package main\n\nfunc main() { nonsense() }\n", encoding="utf-8")
    result, output = play()
    assert "fatal: [localhost]: FAILED!" in output and "undefined: nonsense" in result["msg"] and "Traceback" not in json.dumps(result)


@pytest.mark.parametrize("options, message", [
    ({"go_minimum": "99.0.0", "go_candidates": None}, "No Go compiler of version 99.0.0 or newer among go, /usr/local/go/bin/go. Install one"),
    ({"cache": None}, "go_build: missing required arguments: cache"),
    ({"binaries": [{"name": "hello"}]}, "source"),
    ({"binaries": [{"name": "hello", "source": "/x", "pakage": "."}]}, "pakage"),
    ({"assets": [{"source": "/x", "module": "a", "path": "b"}]}, "dest"),
    ({"binaris": []}, "binaris"),
])  # fmt: skip
def test_mistakes_are_reported_in_one_line_without_a_traceback(play, options, message):
    result, output = play(**options)
    assert "FAILED!" in output and message in result["msg"] and "Traceback" not in result["msg"] and "__init__" not in result["msg"]
