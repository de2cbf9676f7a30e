# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds with the host's own Go: only stale programs, never half of one, and with the messages of the compiler when they fail."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster import go_build
from go_compiler import find, needs_go

GO = find()
PROGRAM = 'package main\n\nvar greeting = "hello"\n\nfunc main() { println(greeting) }\n'


@pytest.fixture(name="binary")
def small_program(tmp_path):
    """A Go program of one file, without dependencies."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "go.mod").write_text("module example.invalid/hello\n\ngo 1.20\n", encoding="utf-8")
    (source / "main.go").write_text(PROGRAM, encoding="utf-8")
    return go_build.Binary("hello", str(source))


@pytest.fixture(name="builder")
def real_builder(tmp_path, monkeypatch):
    """A builder with a cache in the test's folder; it cannot download modules."""
    monkeypatch.setenv("GOPROXY", "off")
    progress = []
    builder = go_build.Builder(str(tmp_path / "cache"), GO, progress.append)
    builder.progress = progress
    return builder


def output_of(path):
    return subprocess.run([path], check=True, capture_output=True, text=True).stderr.strip()


@pytest.mark.parametrize("change", [
    lambda binary, source: dataclasses.replace(binary, package="./cmd"),
    lambda binary, source: dataclasses.replace(binary, ldflags="-s"),
    lambda binary, source: dataclasses.replace(binary, gcflags=("all=-l",)),
    lambda binary, source: (source / "main.go").write_text(PROGRAM + "\n", encoding="utf-8"),
    lambda binary, source: (source / "go.mod").write_text("module other.invalid/hello\n\ngo 1.20\n", encoding="utf-8"),
    lambda binary, source: (source / "more.go").write_text("package main\n", encoding="utf-8"),
    lambda binary, source: (source / "main.go").rename(source / "start.go"),
])  # fmt: skip
def test_each_input_changes_the_fingerprint(binary, change):
    before = binary.fingerprint("go1.26.8")
    changed = change(binary, Path(binary.source))
    binary = changed if isinstance(changed, go_build.Binary) else binary
    assert binary.fingerprint("go1.26.8") != before


def test_the_compiler_is_an_input_and_where_the_checkout_lies_is_not(binary, tmp_path):
    before = binary.fingerprint("go1.26.8")
    assert binary.fingerprint("go1.26.9") != before
    os.utime(Path(binary.source, "main.go"), (0, 0))
    for name in ("README.md", "go.sum"):
        Path(binary.source, name).write_text("no input", encoding="utf-8")
    shutil.copytree(binary.source, tmp_path / "elsewhere")
    assert dataclasses.replace(binary, source=str(tmp_path / "elsewhere")).fingerprint("go1.26.8") == before


@needs_go
def test_a_program_is_built_once(builder, binary):
    assert builder.stale_binaries([binary]) == [binary]
    builder.build(binary, "1 of 1")
    assert output_of(builder.path("hello")) == "hello"
    assert builder.stale_binaries([binary]) == []
    assert builder.progress[0] == "building hello (1 of 1)" and builder.progress[-1].startswith("built hello in ")
    assert os.listdir(builder.path("hello").parent) == ["hello"]
    builder.path("hello").unlink()
    assert builder.stale_binaries([binary]) == [binary]


@needs_go
def test_a_long_build_reports_its_progress_every_ten_seconds(builder, binary, tmp_path, monkeypatch):
    slow = tmp_path / "go"
    slow.write_text("""#!/bin/sh
while [ "$1" != -o ]; do shift; done
sleep 0.15
printf 'unicode/utf8\\nerrors\\n'
sleep 0.15
echo example.invalid/hello
echo program > "$2"
""", encoding="utf-8")  # fmt: skip
    slow.chmod(0o755)
    builder.go = str(slow)
    # A clock on which a second takes ten milliseconds.
    monkeypatch.setattr(go_build, "time", SimpleNamespace(monotonic=lambda: time.monotonic() * 100))
    builder.build(binary, "1 of 1")
    matches = [re.fullmatch(r"building hello \(1 of 1\): (\d+) packages compiled after (\d+) s", each) for each in builder.progress[1:-1]]
    assert all(matches) and [int(each[1]) for each in matches] == [1, 3], builder.progress
    assert int(matches[0][2]) >= 15 and int(matches[1][2]) >= 30


@needs_go
def test_a_relative_cache_is_relative_to_where_ansible_runs(binary, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    go_build.Builder("here", GO).build(binary, "1 of 1")
    assert output_of(tmp_path / "here/bin/hello") == "hello"


@needs_go
def test_linker_flags_reach_the_program(builder, binary):
    builder.build(dataclasses.replace(binary, ldflags="-s -w -X main.greeting=bonjour"), "1 of 1")
    assert output_of(builder.path("hello")) == "bonjour"


@needs_go
def test_compiler_flags_reach_the_compiler(builder, binary):
    builder.build(dataclasses.replace(binary, gcflags=("all=-l", "example.invalid/...=-l -N")), "1 of 1")
    with pytest.raises(go_build.BuildError, match="no_such_key"):
        builder.build(dataclasses.replace(binary, gcflags=("example.invalid/...=-d=no_such_key",)), "1 of 1")


@needs_go
def test_a_broken_source_fails_with_the_compilers_message_and_leaves_the_old_program(builder, binary):
    builder.build(binary, "1 of 1")
    Path(binary.source, "main.go").write_text(PROGRAM.replace("println(greeting)", "println(greeing)"), encoding="utf-8")
    # Half a program of an interrupted build must not become the result.
    builder.path(".hello.partial").write_text("half", encoding="utf-8")
    with pytest.raises(go_build.BuildError) as caught:
        builder.build(binary, "1 of 1")
    assert "undefined: greeing" in str(caught.value) and binary.source in str(caught.value) and "module proxy" in str(caught.value)
    assert output_of(builder.path("hello")) == "hello"
    assert builder.stale_binaries([binary]) == [binary]
    assert os.listdir(builder.path("hello").parent) == ["hello"]


@needs_go
def test_a_module_that_cannot_be_had(builder, binary):
    Path(binary.source, "go.mod").write_text("module example.invalid/hello\n\ngo 1.20\n\nrequire example.invalid/far v1.0.0\n", encoding="utf-8")
    Path(binary.source, "main.go").write_text('package main\n\nimport _ "example.invalid/far"\n\nfunc main() {}\n', encoding="utf-8")
    with pytest.raises(go_build.BuildError, match="example.invalid/far"):
        builder.build(binary, "1 of 1")


@needs_go
def test_an_interrupted_build_leaves_no_program(builder, binary, tmp_path):
    slow = tmp_path / "go"
    slow.write_text(f"""#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo half > "$2"
echo $$ > {tmp_path}/pid
sleep 0.5
kill -INT $PPID
exec sleep 60
""", encoding="utf-8")  # fmt: skip
    slow.chmod(0o755)
    builder.go = str(slow)
    # a shell starts background programs with this signal ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            builder.build(binary, "1 of 1")
    finally:
        signal.signal(signal.SIGINT, before)
    assert not builder.path("hello").exists() and builder.stale_binaries([binary]) == [binary]
    assert not Path("/proc", (tmp_path / "pid").read_text(encoding="utf-8").strip()).exists()
    builder.go = GO
    builder.build(binary, "1 of 1")
    assert output_of(builder.path("hello")) == "hello"


@pytest.fixture(name="asset")
def vendored_chart(tmp_path, binary):
    """A chart in a Go module on this disk."""
    chart = tmp_path / "far/charts/it"
    (chart / "templates").mkdir(parents=True)
    (tmp_path / "far/go.mod").write_text("module example.invalid/far\n\ngo 1.20\n", encoding="utf-8")
    (chart / "values.tmpl.yaml").write_text("image: ${GatewayImage}\nkeep: ${Other}\n", encoding="utf-8")
    (chart / "templates/a.yaml").write_text("kind: A\n", encoding="utf-8")
    for folder, _names, _files in os.walk(chart, topdown=False):
        os.chmod(folder, 0o555)  # as in Go's module cache
    return go_build.Asset(binary.source, "example.invalid/far", "charts/it", "charts/it", "values.tmpl.yaml", (("GatewayImage", "a/b:v1"),))


class HereBuilder(go_build.Builder):
    """Takes modules from the test's folder, since Go checks downloads against a public database."""

    def _module_dir(self, asset):
        return Path(asset.source).parent / "far"


@needs_go
def test_an_asset_is_copied_with_its_values_and_stale_at_a_new_version(asset, tmp_path):
    versions = Path(asset.source, "go.mod")
    versions.write_text("require (\n\texample.invalid/far v1.0.0\n\texample.invalid/more v1.0.0 // indirect\n)\n", encoding="utf-8")
    builder = HereBuilder(str(tmp_path / "cache"), GO)
    for _each in range(2):  # also over existing files
        builder.copy(asset)
        chart = tmp_path / "cache/assets/charts/it"
        assert (chart / "values.yaml").read_text(encoding="utf-8") == "image: a/b:v1\nkeep: ${Other}\n"
        assert sorted(os.listdir(chart)) == ["templates", "values.yaml"] and os.listdir(chart.parent) == ["it"]
    assert builder.stale_assets([asset]) == []
    versions.write_text("require (\n\texample.invalid/far v1.0.0\n\texample.invalid/more v1.1.0 // indirect\n)\n", encoding="utf-8")
    assert builder.stale_assets([asset]) == []
    versions.write_text("require example.invalid/far v1.0.1\n", encoding="utf-8")
    assert builder.stale_assets([asset]) == [asset]
    with pytest.raises(go_build.BuildError, match="has no charts/none; check the version in "):
        builder.copy(dataclasses.replace(asset, path="charts/none"))


@pytest.mark.parametrize("output, accepted", [
    ("go version go1.26.7 linux/amd64", True),
    ("go version go1.26.10 linux/amd64", True),
    ("go version go1.27 linux/amd64", True),
    ("go version go2.0.1 linux/amd64", True),
    ("go version go1.26.6 linux/amd64", False),
    ("go version go1.9.7 linux/amd64", False),
    ("gopher", False),
    ("", False),
])  # fmt: skip
def test_a_compiler_must_be_new_enough(tmp_path, output, accepted):
    old, new = tmp_path / "old", tmp_path / "new"
    for path, text in ((old, "go version go1.19.8 linux/amd64"), (new, output)):
        path.write_text(f"#!/bin/sh\necho '{text}'\n", encoding="utf-8")
        path.chmod(0o755)
    assert go_build.find_go("1.26.7", ["/nowhere/go", str(old), str(new)]) == (str(new) if accepted else None)
