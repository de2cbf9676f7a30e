# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers whose bytes depend only on the inputs, and a real registry that holds the pushed images."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster.oci_image import NOBODY, Image, Registry
from fake_clock import FakeClock
from local_servers import answers, closed_port, port_for_a_program
from waiting import until

CRANE = "/var/cache/llm-d-local/bin/crane"


@pytest.fixture(name="image")
def small_image(tmp_path):
    """An image of one program and one configuration file."""
    (tmp_path / "program").write_bytes(b"\x7fELF" + b"p" * 5000)
    (tmp_path / "settings").write_text("a=1\n", encoding="utf-8")
    files = {"/app/program": str(tmp_path / "program"), "/etc/deep/er/settings": str(tmp_path / "settings")}
    return Image("acme/program:v1", files, ["/app/program", "--serve"])


def layer(image, path):
    with open(path, "wb") as file:
        image.layer(file)


def members(path):
    with tarfile.open(path) as tar:
        return {each.name: each for each in tar.getmembers()}


def test_the_same_inputs_are_the_same_bytes(image, tmp_path):
    layer(image, tmp_path / "one.tar")
    os.utime(tmp_path / "program", (1, 1))
    turned = Image(image.name, dict(reversed(image.files.items())), image.entrypoint)
    layer(turned, tmp_path / "two.tar")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_a_layer_has_its_files_their_folders_and_a_user(image, tmp_path):
    layer(image, tmp_path / "layer.tar")
    entries = members(tmp_path / "layer.tar")
    assert list(entries) == ["app", "etc", "etc/deep", "etc/deep/er", "home", "home/nonroot", "tmp", "etc/passwd", "app/program", "etc/deep/er/settings"]
    assert entries["app/program"].mode == 0o755 and entries["tmp"].mode == 0o1777 and entries["home/nonroot"].uid == NOBODY
    assert all(each.mtime == 0 and not each.uname for each in entries.values())
    with tarfile.open(tmp_path / "layer.tar") as tar:
        assert tar.extractfile("app/program").read() == (tmp_path / "program").read_bytes()
        assert f":{NOBODY}:{NOBODY}:".encode() in tar.extractfile("etc/passwd").read()


def test_a_dynamic_program_brings_its_libraries_and_loader(tmp_path):
    shell = os.path.realpath(shutil.which("sh"))
    listed = subprocess.run(["ldd", shell], check=False, capture_output=True, text=True).stdout
    if "libc" not in listed:
        pytest.skip("this host's shell links to no library")
    layer(Image("a:b", {"/bin/sh": shell}, ["/bin/sh"], libraries=True), tmp_path / "layer.tar")
    root = tmp_path / "root"
    with tarfile.open(tmp_path / "layer.tar") as tar:
        tar.extractall(root, filter="fully_trusted")
    names = set(members(tmp_path / "layer.tar"))
    assert any("libc.so" in each for each in names) and any("ld-linux" in each or "ld-musl" in each for each in names)
    if os.geteuid() == 0:
        assert subprocess.run(["chroot", root, "/bin/sh", "-c", "echo runs"], check=True, capture_output=True, text=True).stdout == "runs\n"


def test_each_input_changes_the_fingerprint(image, tmp_path):
    before = image.fingerprint()
    assert Image(image.name, image.files, image.entrypoint).fingerprint() == before
    assert Image("acme/program:v2", image.files, image.entrypoint).fingerprint() != before
    assert Image(image.name, image.files, ["/app/program"]).fingerprint() != before
    assert Image(image.name, image.files, image.entrypoint, libraries=True).fingerprint() != before
    assert Image(image.name, {"/program": image.files["/app/program"]}, image.entrypoint).fingerprint() != before
    os.utime(tmp_path / "program", (1, 1))
    assert image.fingerprint() != before


def test_a_layer_contains_a_whole_tree_and_the_targets_of_its_links(tmp_path):
    tree = tmp_path / "tree"
    (tree / "deep/__pycache__").mkdir(parents=True)
    (tree / "deep/one.py").write_text("1\n", encoding="utf-8")
    os.utime(tree / "deep/one.py", (1700000000, 1700000000))
    (tree / "run").write_text("#!/bin/sh\n", encoding="utf-8")
    (tree / "run").chmod(0o755)
    (tmp_path / "outside").write_text("outside\n", encoding="utf-8")
    (tree / "link").symlink_to(tmp_path / "outside")
    (tree / "dangling").symlink_to(tmp_path / "nowhere")
    image = Image("a:b", {}, ["/opt/it/run"], trees={"/opt/it": str(tree)})
    layer(image, tmp_path / "layer.tar")
    entries = members(tmp_path / "layer.tar")
    files = {name for name, each in entries.items() if each.isfile()}
    assert files == {"etc/passwd", "opt/it/deep/one.py", "opt/it/link", "opt/it/run"}
    assert (entries["opt/it/run"].mode, entries["opt/it/deep/one.py"].mode) == (0o755, 0o644)
    assert entries["opt/it/deep/one.py"].mtime == 1700000000, "Python compares it with the time in a compiled file"
    assert image.missing() == [] and Image("a:b", trees={"/opt/it": str(tree / "run")}).missing() == [str(tree / "run")]
    filtered = Image("a:b", trees={"/opt/it": str(tree)}, leave_out=["l*k", "deep"])
    layer(filtered, tmp_path / "layer.tar")
    assert [name for name in members(tmp_path / "layer.tar") if name.startswith("opt/it/")] == ["opt/it/run"]


def test_the_fingerprint_follows_the_contents_of_the_inputs_of_a_tree(tmp_path):
    (tmp_path / "list").write_text("one==1\n", encoding="utf-8")
    image = Image("a:b", trees={"/opt/it": str(tmp_path / "gone")}, inputs=[str(tmp_path / "list")])
    before = image.fingerprint()
    os.utime(tmp_path / "list", (1, 1))
    assert image.fingerprint() == before and image.missing() == [str(tmp_path / "gone")]
    (tmp_path / "list").write_text("one==2\n", encoding="utf-8")
    assert image.fingerprint() != before
    assert Image("a:b", trees=image.trees, inputs=image.inputs, leave_out=["x"]).fingerprint() != image.fingerprint()


def test_a_python_of_this_host_runs_in_an_image(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root may change the root folder")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (tmp_path / "venv/hello.py").write_text("import ctypes, json, ssl, sys\nprint(json.dumps(sys.prefix))\n", encoding="utf-8")
    image = Image("a:b", trees={"/opt/venv": str(tmp_path / "venv")}, python=str(tmp_path / "venv"), libraries=True)
    layer(image, tmp_path / "layer.tar")
    with tarfile.open(tmp_path / "layer.tar") as tar:
        tar.extractall(tmp_path / "root", filter="fully_trusted")
    ran = subprocess.run(["chroot", tmp_path / "root", "/opt/venv/bin/python3", "-B", "/opt/venv/hello.py"], check=False, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ('"/opt/venv"\n', "")
    assert not [name for name in members(tmp_path / "layer.tar") if "/site-packages/pip" in name or "/test/" in name]


@contextlib.contextmanager
def serving(tmp_path):
    """A running registry with its blobs and stamps in the test's folder."""
    if not os.path.exists(CRANE):
        pytest.skip(f"there is no {CRANE}: the local cluster was never built on this host")
    address = f"127.0.0.1:{port_for_a_program()}"
    (tmp_path / "blobs").mkdir(exist_ok=True)
    (tmp_path / "stamps").mkdir(exist_ok=True)
    # At a path outside the local cluster's folders, whose clean-up would stop programs that run from there.
    crane = tmp_path / "crane"
    if not crane.is_symlink():
        crane.symlink_to(CRANE)
    with subprocess.Popen([crane, "registry", "serve", "--address", address, "--disk", str(tmp_path / "blobs")], stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: answers(f"http://{address}/v2/"))
            yield Registry(address, str(crane), str(tmp_path / "blobs"), str(tmp_path / "stamps/images"))
        finally:
            process.kill()


@pytest.fixture(name="registry")
def real_registry(tmp_path):
    """A running registry."""
    with serving(tmp_path) as running:
        yield running


def test_the_registry_holds_what_was_pushed_until_something_changes(registry, image, tmp_path):
    assert not registry.holds(image)
    registry.push(image)
    assert registry.holds(image)
    config = json.loads(subprocess.run([registry.crane, "config", "--insecure", f"{registry.address}/{image.name}"], check=True, capture_output=True).stdout)
    assert config["architecture"] == "amd64" and config["config"]["Entrypoint"] == image.entrypoint and config["config"]["User"] == str(NOBODY)
    assert sorted(os.listdir(tmp_path / "stamps")) == ["images", "manifests"]
    os.utime(tmp_path / "program", (1, 1))
    assert not registry.holds(image)
    registry.push(image)
    assert registry.holds(image)


def test_an_image_on_another_has_its_layers_and_is_stale_when_that_changes(registry, image, tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/weights").write_bytes(b"w" * 100)
    upper = Image("acme/model:v1", {}, ["/app/program"], trees={"/models/m": str(tmp_path / "tree")}, base=image.name)
    registry.push(image)
    registry.push(upper)
    assert registry.holds(upper)
    below, both = (
        json.loads(subprocess.run([registry.crane, "manifest", "--insecure", f"{registry.address}/{name}"], check=True, capture_output=True).stdout)["layers"]
        for name in (image.name, upper.name)
    )
    assert [layer["digest"] for layer in both[:1]] == [layer["digest"] for layer in below] and len(both) == 2
    (tmp_path / "program").write_bytes(b"\x7fELF" + b"q" * 4000)
    registry.push(image)
    assert registry.holds(image) and not registry.holds(upper)


@pytest.mark.rest
def test_the_registry_does_not_hold_a_large_layer_in_memory(tmp_path):
    (tmp_path / "weights").write_bytes(os.urandom(256 * 2**20))
    with serving(tmp_path) as registry:
        registry.push(Image("acme/model:v1", {"/weights": str(tmp_path / "weights")}, ["/app/program"]))
        (process,) = [path for path in Path("/proc").glob("[0-9]*") if registry.address.encode() in _command(path) and b"serve" in _command(path)]
        (peak,) = re.findall(r"^VmHWM:\s+(\d+) kB$", (process / "status").read_text(), re.MULTILINE)
    assert int(peak) < 128 * 1024, "a GiB where the layer is held in memory"


def _command(process):
    with contextlib.suppress(OSError):
        return (process / "cmdline").read_bytes()
    return b""


def test_a_registry_that_has_just_been_started_is_waited_for(image, tmp_path):
    stamp = tmp_path / "stamps/images/acme_program_v1"
    stamp.parent.mkdir(parents=True)
    stamp.write_text("a b", encoding="utf-8")
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler, bind_and_activate=False) as server:  # it answers that it supports no method
        server.server_bind()
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

        def held(clock, starts):
            return Registry(f"127.0.0.1:{server.server_port}", CRANE, str(tmp_path), str(tmp_path / "stamps/images"), starts, clock).holds(image)

        def start(now):
            if now > 1008 and not serving.ident:
                server.server_activate()
                serving.start()

        for starts in (0.0, 60.0):
            clock = FakeClock()
            with pytest.raises(ConnectionRefusedError):
                held(clock, starts)
            assert starts <= sum(clock.sleeps) < starts + 1
        clock = FakeClock(start)
        assert held(clock, 60.0) is False and 7 < sum(clock.sleeps) < 9
        server.shutdown()


def test_a_failed_push_reports_the_error_of_crane(registry, image, tmp_path):
    registry.address = f"127.0.0.1:{closed_port()}"
    with pytest.raises(subprocess.CalledProcessError) as caught:
        registry.push(image)
    assert "connection refused" in caught.value.stderr
