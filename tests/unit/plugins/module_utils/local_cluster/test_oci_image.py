# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers whose bytes depend on the inputs alone, and a real registry that holds what was pushed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import time
import urllib.request

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster.oci_image import NOBODY, Image, Registry
from local_servers import free_port

CRANE = "/var/cache/llm-d-local/bin/crane"


@pytest.fixture(name="image")
def small_image(tmp_path):
    """An image of one program and one configuration file."""
    (tmp_path / "program").write_bytes(b"\x7fELF" + b"p" * 5000)
    (tmp_path / "settings").write_text("a=1\n", encoding="utf-8")
    files = {"/app/program": str(tmp_path / "program"), "/etc/deep/er/settings": str(tmp_path / "settings")}
    return Image("acme/program:v1", files, ["/app/program", "--serve"])


def members(path):
    with tarfile.open(path) as tar:
        return {each.name: each for each in tar.getmembers()}


def test_the_same_inputs_are_the_same_bytes(image, tmp_path):
    image.layer(str(tmp_path / "one.tar"))
    os.utime(tmp_path / "program", (1, 1))
    turned = Image(image.name, dict(reversed(image.files.items())), image.entrypoint)
    turned.layer(str(tmp_path / "two.tar"))
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_a_layer_has_its_files_their_folders_and_a_user(image, tmp_path):
    image.layer(str(tmp_path / "layer.tar"))
    found = members(tmp_path / "layer.tar")
    assert list(found) == ["app", "etc", "etc/deep", "etc/deep/er", "home", "home/nonroot", "tmp", "etc/passwd", "app/program", "etc/deep/er/settings"]
    assert found["app/program"].mode == 0o755 and found["tmp"].mode == 0o1777 and found["home/nonroot"].uid == NOBODY
    assert all(each.mtime == 0 and not each.uname for each in found.values())
    with tarfile.open(tmp_path / "layer.tar") as tar:
        assert tar.extractfile("app/program").read() == (tmp_path / "program").read_bytes()
        assert f":{NOBODY}:{NOBODY}:".encode() in tar.extractfile("etc/passwd").read()


def test_a_dynamic_program_brings_its_libraries_and_loader(tmp_path):
    shell = os.path.realpath(shutil.which("sh"))
    listed = subprocess.run(["ldd", shell], check=False, capture_output=True, text=True).stdout
    if "libc" not in listed:
        pytest.skip("this host's shell links to no library")
    Image("a:b", {"/bin/sh": shell}, ["/bin/sh"], libraries=True).layer(str(tmp_path / "layer.tar"))
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


@pytest.fixture(name="registry")
def real_registry(tmp_path):
    """A registry that runs, with its stamps in the test's folder."""
    if not os.path.exists(CRANE):
        pytest.skip(f"there is no {CRANE}: the local cluster was never built on this host")
    address = f"127.0.0.1:{free_port()}"
    (tmp_path / "blobs").mkdir()
    # Under a path that is not the local cluster's, whose clean-up would stop what runs from there.
    crane = tmp_path / "crane"
    crane.symlink_to(CRANE)
    with subprocess.Popen([crane, "registry", "serve", "--address", address, "--disk", str(tmp_path / "blobs")], stderr=subprocess.DEVNULL) as process:
        try:
            for _each in range(100):
                try:
                    urllib.request.urlopen(f"http://{address}/v2/", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield Registry(address, str(crane), str(tmp_path / "stamps/images"))
        finally:
            process.kill()


def test_the_registry_holds_what_was_pushed_until_something_changes(registry, image, tmp_path):
    (tmp_path / "stamps").mkdir()
    assert not registry.holds(image)
    registry.push(image)
    assert registry.holds(image)
    config = json.loads(subprocess.run([registry.crane, "config", "--insecure", f"{registry.address}/{image.name}"], check=True, capture_output=True).stdout)
    assert config["architecture"] == "amd64" and config["config"]["Entrypoint"] == image.entrypoint and config["config"]["User"] == str(NOBODY)
    assert os.listdir(tmp_path / "stamps") == ["images"]
    os.utime(tmp_path / "program", (1, 1))
    assert not registry.holds(image)
    registry.push(image)
    assert registry.holds(image)


def test_a_registry_that_lost_the_image_does_not_hold_it(registry, image, tmp_path):
    (tmp_path / "stamps").mkdir()
    registry.push(image)
    (stamp,) = (tmp_path / "stamps/images").iterdir()
    kept = stamp.read_text(encoding="utf-8")
    stamp.write_text(kept[:20], encoding="utf-8")  # half a stamp, of a run that was cut off
    assert not registry.holds(image)
    stamp.write_text(kept, encoding="utf-8")
    registry.push(Image(image.name, image.files, ["/app/other"]))
    stamp.write_text(kept, encoding="utf-8")
    assert not registry.holds(image)


def test_crane_says_why_it_cannot_push(registry, image, tmp_path):
    (tmp_path / "stamps").mkdir()
    registry.address = f"127.0.0.1:{free_port()}"
    with pytest.raises(subprocess.CalledProcessError) as caught:
        registry.push(image)
    assert "connection refused" in caught.value.stderr
