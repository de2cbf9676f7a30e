# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Assemble container images from files of this host, and push them to a registry on it with crane."""

from __future__ import annotations

import hashlib
import http.client
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

# The user and group that the upstream images run as.
NOBODY = 65532
PASSWD = f"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{NOBODY}:{NOBODY}:nonroot:/home/nonroot:/sbin/nologin\n"
MANIFESTS = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json"


@dataclass(frozen=True)
class Image:
    """An image of one layer. files: paths in the image, each with a file of this host; libraries: add the shared libraries that the files link to."""

    name: str
    files: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    libraries: bool = False

    def fingerprint(self) -> str:
        """The hash of all inputs; of files, which may be large, size and modification time."""
        inputs = [(target, source, os.stat(source).st_size, os.stat(source).st_mtime_ns) for target, source in sorted(self.files.items())]
        return hashlib.sha256(json.dumps([self.name, inputs, self.entrypoint, self.libraries, PASSWD]).encode()).hexdigest()

    def layer(self, path: str) -> None:
        """Write the layer as a tar file. The same inputs give the same bytes."""
        with tarfile.open(path, "w") as tar:
            for folder in _folders([*self.files, "tmp/", "home/nonroot/", "etc/passwd"]):
                entry = tarfile.TarInfo(folder)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
                entry.uid = entry.gid = NOBODY if folder == "home/nonroot" else 0
                tar.addfile(entry)
            _add(tar, "etc/passwd", PASSWD.encode(), 0o644)
            sources = {**self.files, **(_libraries(self.files.values()) if self.libraries else {})}
            for target, source in sorted(sources.items()):
                _add(tar, target.lstrip("/"), Path(source).read_bytes(), 0o755)


class Registry:
    """A registry on this host with plain HTTP. stamps: the folder that records from which inputs an image was pushed."""

    def __init__(self, address: str, crane: str, stamps: str) -> None:
        self.address = address
        self.crane = crane
        self.stamps = Path(stamps)

    def holds(self, image: Image) -> bool:
        """Whether the registry has this image, made from the current inputs."""
        stamp = self._stamp(image)
        return stamp.is_file() and stamp.read_text(encoding="utf-8") == self._record(image)

    def push(self, image: Image) -> None:
        """Assemble the image and push it. Raises CalledProcessError with the output of crane."""
        reference = f"{self.address}/{image.name}"
        with tempfile.TemporaryDirectory(dir=self.stamps.parent) as folder:
            layer = f"{folder}/layer.tar"
            image.layer(layer)
            self._crane("append", "--new_layer", layer, "--new_tag", reference)
            self._crane("mutate", reference, "--entrypoint", ",".join(image.entrypoint), "--user", str(NOBODY), "--workdir", "/",
                        "--set-platform", "linux/amd64", "--env", "PATH=/usr/local/bin:/usr/bin:/bin:/app", "--tag", reference)  # fmt: skip
        stamp = self._stamp(image)
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(self._record(image), encoding="utf-8")

    def _record(self, image: Image) -> str:
        """The content of a stamp: the hash of the inputs, and the digest in the registry."""
        return f"{image.fingerprint()} {self._digest(image.name)}"

    def _crane(self, *arguments: str) -> None:
        subprocess.run([self.crane, *arguments, "--insecure"], check=True, capture_output=True, text=True)

    def _digest(self, name: str) -> str:
        repository, _colon, tag = name.rpartition(":")
        connection = http.client.HTTPConnection(self.address, timeout=10)
        try:
            connection.request("HEAD", f"/v2/{repository}/manifests/{tag}", headers={"Accept": MANIFESTS})
            answer = connection.getresponse()
            return answer.getheader("Docker-Content-Digest", "present") if answer.status == 200 else "absent"
        finally:
            connection.close()

    def _stamp(self, image: Image) -> Path:
        return self.stamps / re.sub(r"[^\w.-]+", "_", image.name)


def _folders(paths: list[str]) -> list[str]:
    found: set[str] = set()
    for path in paths:
        parts = path.strip("/").split("/") if path.endswith("/") else path.strip("/").split("/")[:-1]
        found.update("/".join(parts[: count + 1]) for count in range(len(parts)))
    return sorted(found)


def _add(tar: tarfile.TarFile, path: str, content: bytes, mode: int) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(content), mode
    tar.addfile(entry, io.BytesIO(content))


def _libraries(programs: Iterable[str]) -> dict[str, str]:
    """The shared libraries and the loader that the programs link to: the path where they are loaded from, the file."""
    found: dict[str, str] = {}
    for program in programs:
        listed = subprocess.run(["ldd", program], check=False, capture_output=True, text=True).stdout
        found.update({path: os.path.realpath(path) for path in re.findall(r"(/\S+)\s+\(0x", listed)})
    return found
