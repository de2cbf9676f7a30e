# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Assembles container images from files of this host, and pushes them to a registry on this host with crane."""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import http.client
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from ..common import programs
from ..common.clock import SYSTEM, Clock

# The user and group that the upstream images run as.
NOBODY = 65532
PASSWD = f"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{NOBODY}:{NOBODY}:nonroot:/home/nonroot:/sbin/nologin\n"
# Media types of manifests, as an Accept header.
MANIFESTS = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"
ABSENT = "absent"  # in the place of the digest of an image that the registry does not have
# Number of programs in one call of `ldd`.
LDD_FILES = 200
# Patterns of names in the standard library folder of Python that are left out of images, since no server needs them.
STDLIB_LEFT_OUT = ("site-packages", "dist-packages", "test", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip", "config-*")


@dataclass(frozen=True)
class Image:
    """An image, or one more layer on the image `base` of the same registry.

    files: {path in the image: file on this host}; trees: {path in the image: folder on this host}, folders that may be removed once the image is made;
    leave_out: patterns of names that are left out of the trees; inputs: files whose content determines the trees; python: a virtual environment of
    this host whose interpreter and standard library are added, at their own paths; libraries: whether to add the shared libraries that all of these link to.
    """

    name: str
    files: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    libraries: bool = False
    trees: dict[str, str] = field(default_factory=dict)
    leave_out: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    python: str = ""
    base: str = ""

    def missing(self) -> list[str]:
        """Files and folders of this host that do not exist."""
        folders = [*self.trees.values(), *([self.python] if self.python else [])]
        return [*(path for path in [*self.files.values(), *self.inputs] if not os.path.isfile(path)), *(path for path in folders if not os.path.isdir(path))]

    def fingerprint(self, base: str = "") -> str:
        """The hash of all inputs. Of `files`, which may be large, only size and modification time are hashed. base: the digest of the base image."""
        inputs: list[t.Any] = [(target, source, os.stat(source).st_size, os.stat(source).st_mtime_ns) for target, source in sorted(self.files.items())]
        inputs += [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in self.inputs]
        inputs += [sorted(self.trees.items()), self.leave_out, self.python and _interpreter(self.python)]
        return hashlib.sha256(json.dumps([self.name, inputs, self.entrypoint, self.libraries, base, PASSWD]).encode()).hexdigest()

    def layer(self, file: t.IO[bytes]) -> None:
        """Writes the layer as a tar file. The same inputs give the same bytes."""
        sources = self._sources()
        if self.libraries:
            sources = {**_libraries(sources), **sources}
        with tarfile.open(fileobj=file, mode="w|") as tar:
            for folder in _folders([*sources, "tmp/", "home/nonroot/", "etc/passwd"]):
                entry = tarfile.TarInfo(folder)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
                entry.uid = entry.gid = NOBODY if folder == "home/nonroot" else 0
                tar.addfile(entry)
            _add(tar, "etc/passwd", io.BytesIO(PASSWD.encode()), len(PASSWD), 0o644)
            for target, source in sorted(sources.items()):
                details = os.stat(source)
                with open(source, "rb") as content:
                    if target in self.files:
                        _add(tar, target.lstrip("/"), content, details.st_size, 0o755)
                    else:  # with the modification time: Python ignores a .pyc file that records another one for its source
                        _add(tar, target.lstrip("/"), content, details.st_size, 0o755 if details.st_mode & 0o100 else 0o644, int(details.st_mtime))

    def _sources(self) -> dict[str, str]:
        """{path in the image: file on this host}. Links are followed."""
        sources: dict[str, str] = {}
        for target, source in self.trees.items():
            sources.update(_tree(source, target, self.leave_out))
        if self.python:
            program, library = _interpreter(self.python)
            sources |= {program: os.path.realpath(program), **_tree(library, library, STDLIB_LEFT_OUT)}
        return {**sources, **self.files}


class Registry:
    """A registry on this host with plain HTTP.

    blobs: the folder on its disk; stamps: the folder that records the inputs of each pushed image; starts: seconds that it may take to accept connections.
    """

    def __init__(self, address: str, crane: str, blobs: str, stamps: str, starts: float = 0.0, clock: Clock = SYSTEM) -> None:
        self.address = address
        self.crane = crane
        self.blobs = Path(blobs)
        self.stamps = Path(stamps)
        self._clock, self._start_deadline = clock, clock.now() + starts

    def holds(self, image: Image) -> bool:
        """Whether the registry has this image, made from the current inputs."""
        stamp = self._stamp(image)
        if not stamp.is_file() or not all(os.path.isfile(path) for path in [*image.files.values(), *image.inputs]):
            return False
        if self._digest(image.name) == ABSENT:
            self._restore_manifest(image.name)
        return stamp.read_text(encoding="utf-8") == self._stamp_content(image)

    def push(self, image: Image) -> None:
        """Assembles the image and pushes it. Raises CalledProcessError with the output of crane."""
        reference = f"{self.address}/{image.name}"
        packing = self.stamps.parent / "packing"
        shutil.rmtree(packing, ignore_errors=True)  # of a run that was killed, possibly gigabytes
        packing.mkdir(parents=True)
        try:
            layer = str(packing / "layer.tar.zst")
            _write_compressed(image, layer)
            self._upload(image.name, layer)
            below = ["--base", f"{self.address}/{image.base}"] if image.base else []
            self._crane("append", "--new_layer", layer, "--new_tag", reference, *below)
            self._crane("mutate", reference, "--entrypoint", ",".join(image.entrypoint), "--user", str(NOBODY), "--workdir", "/",
                        "--set-platform", "linux/amd64", "--env", "PATH=/usr/local/bin:/usr/bin:/bin:/app", "--tag", reference)  # fmt: skip
        finally:
            shutil.rmtree(packing, ignore_errors=True)
        stamp = self._stamp(image)
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(self._stamp_content(image), encoding="utf-8")
        _status, kind, content = self._request("GET", image.name)
        kept = self._manifest(image.name)
        kept.parent.mkdir(exist_ok=True)
        former_blobs = _blobs(kept)
        # A run may be killed at any moment: the manifest is complete, or unchanged.
        partial = self.stamps.parent / "manifest"
        partial.write_bytes(kind.encode() + b"\n" + content)
        partial.replace(kept)
        for digest in former_blobs.keys() - {digest for manifest in kept.parent.iterdir() for digest in _blobs(manifest)}:
            self._blob(digest).unlink(missing_ok=True)  # gigabytes, if it is a layer of vLLM

    def _upload(self, name: str, layer: str) -> None:
        """Uploads a layer in one request, which the registry writes to disk. crane would upload it in chunks, which the registry keeps in memory."""
        digest = hashlib.sha256()
        with open(layer, "rb") as content, contextlib.suppress(OSError):  # crane then tries again, and reports the error
            for piece in iter(lambda: content.read(2**20), b""):
                digest.update(piece)
            content.seek(0)
            self._request("POST", name, f"blobs/uploads/?digest=sha256:{digest.hexdigest()}", body=content, size=os.path.getsize(layer))

    def _restore_manifest(self, name: str) -> None:
        """Uploads the manifest of an image again if the registry has its blobs: a registry that restarts keeps blobs, which are on disk, but no manifests.

        The blobs are checked on disk: the registry would hash each blob before it answers, which takes seconds for each of vLLM's images.
        """
        kept = self._manifest(name)
        blobs = _blobs(kept)
        if blobs and all(self._blob(digest).is_file() and self._blob(digest).stat().st_size == size for digest, size in blobs.items()):
            kind, _newline, content = kept.read_bytes().partition(b"\n")
            self._request("PUT", name, body=content, kind=kind.decode())

    def _blob(self, digest: str) -> Path:
        return self.blobs / digest.replace(":", "/")

    def _stamp_content(self, image: Image) -> str:
        """The content of a stamp: the hash of the inputs, and the digest in the registry."""
        return f"{image.fingerprint(self._digest(image.base) if image.base else '')} {self._digest(image.name)}"

    def _crane(self, *arguments: str) -> None:
        programs.run([self.crane, *arguments, "--insecure"], check=True)

    def _digest(self, name: str) -> str:
        """The digest of an image in the registry, `present` where the registry does not say it, or ABSENT."""
        status, digest, _content = self._request("HEAD", name, header="Docker-Content-Digest")
        return digest or "present" if status == 200 else ABSENT

    def _request(self, method: str, name: str, what: str = "", body: bytes | t.BinaryIO = b"", kind: str = "", size: int | None = None,
                 header: str = "Content-Type") -> tuple[int, str, bytes]:  # fmt: skip
        """(status, one header, content) of a request about an image: for its manifest, or the path `what` of its repository. kind: media type of the body;
        size: bytes of a body that is a file; header: which header of the answer. Raises OSError."""
        repository, _colon, tag = name.rpartition(":")
        connection = http.client.HTTPConnection(self.address, timeout=10)
        try:
            self._connect(connection)
            path = f"/v2/{repository}/{what or f'manifests/{tag}'}"
            headers = {"Accept": MANIFESTS, **({"Content-Type": kind} if kind else {}), **({} if size is None else {"Content-Length": str(size)})}
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheader(header, ""), answer.read()
        finally:
            connection.close()

    def _connect(self, connection: http.client.HTTPConnection) -> None:
        """Connects; while the registry may still be starting, it tries again. Raises OSError."""
        while True:
            try:
                return connection.connect()
            except ConnectionRefusedError:
                if self._clock.now() >= self._start_deadline:
                    raise
            self._clock.sleep(0.2)

    def _manifest(self, name: str) -> Path:
        return self.stamps.parent / "manifests" / _file_name(name)

    def _stamp(self, image: Image) -> Path:
        return self.stamps / _file_name(image.name)


def _blobs(manifest: Path) -> dict[str, int]:
    """{digest: bytes} of the blobs in a manifest file, whose first line is the media type; empty where there is no such file, or only a part of one."""
    if not manifest.is_file():
        return {}
    try:
        document = json.loads(manifest.read_bytes().partition(b"\n")[2])
    except ValueError:
        return {}
    return {blob["digest"]: blob["size"] for blob in (document["config"], *document["layers"])}


def _file_name(image: str) -> str:
    return re.sub(r"[^\w.-]+", "_", image)


def _write_compressed(image: Image, path: str) -> None:
    """Writes the layer with zstd. With gzip, gigabytes would take minutes here, and minutes again when the node unpacks them."""
    with programs.start(["zstd", "-q", "-1", "-T0", "-o", path], stdin=subprocess.PIPE) as packing, t.cast("t.IO[bytes]", packing.stdin) as pipe:
        image.layer(pipe)
    if packing.returncode:
        raise subprocess.CalledProcessError(packing.returncode, packing.args, stderr=f"zstd could not write {path}")


def _folders(paths: list[str]) -> list[str]:
    """The folders that lead to these paths, parents first. A path that ends in / is a folder, and included."""
    folders: set[str] = set()
    for path in paths:
        parts = path.strip("/").split("/") if path.endswith("/") else path.strip("/").split("/")[:-1]
        folders.update("/".join(parts[: count + 1]) for count in range(len(parts)))
    return sorted(folders)


def _add(tar: tarfile.TarFile, path: str, content: t.BinaryIO, size: int, mode: int, time: int = 0) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode, entry.mtime = size, mode, time
    tar.addfile(entry, content)


def _tree(source: str, target: str, left_out: t.Sequence[str]) -> dict[str, str]:
    """{path under `target`: file} for each file under the folder `source`. left_out: patterns of names. Links to folders are left out."""

    def included(name: str) -> bool:
        return not any(fnmatch.fnmatchcase(name, pattern) for pattern in left_out)

    members: dict[str, str] = {}
    for folder, folders, files in os.walk(source):
        folders[:] = filter(included, folders)
        inside = f"{target}/{os.path.relpath(folder, source)}".removesuffix("/.")
        members.update({f"{inside}/{name}": f"{folder}/{name}" for name in filter(included, files) if os.path.isfile(f"{folder}/{name}")})
    return members


def _interpreter(environment: str) -> tuple[str, str]:
    """(path of the base interpreter of a virtual environment, folder of its standard library)."""
    code = "import sys, sysconfig; print(sys._base_executable); print(sysconfig.get_path('stdlib'))"
    lines = programs.run([f"{environment}/bin/python3", "-c", code], check=True).stdout.split("\n")
    return lines[0], lines[1]


def _libraries(sources: dict[str, str]) -> dict[str, str]:
    """{path that the loader opens: file on this host} for the shared libraries and the loader that the files link to, without those among the files."""
    binaries = [source for source in sources.values() if _is_elf(source)]
    libraries: dict[str, str] = {}
    for start in range(0, len(binaries), LDD_FILES):
        listed = programs.run(["ldd", *binaries[start : start + LDD_FILES]]).stdout
        libraries.update({path: os.path.realpath(path) for path in re.findall(r"(/\S+)\s+\(0x", listed)})
    present = {os.path.realpath(source) for source in sources.values()}
    return {path: file for path, file in libraries.items() if file not in present}


def _is_elf(file: str) -> bool:
    """Whether a file is a binary program or a shared library, which may link to others."""
    with open(file, "rb") as content:
        return content.read(4) == b"\x7fELF"
