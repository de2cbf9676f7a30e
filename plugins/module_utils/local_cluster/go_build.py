# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds binaries from pinned Go modules, and copies files out of them, only when their inputs change.

For each result, a stamp file holds the hash of its inputs; while the hash of the current inputs is the same, the result is kept. A result is written to a
partial file and renamed, so an interrupted build leaves either the old file or none.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from string import Template
from threading import Thread

from ..common import programs

# go.mod has the version of each module; go.sum, which all programs share, has only checksums, which prove that the modules are unchanged.
SOURCE_SUFFIXES = (".go", "go.mod")


class BuildError(Exception):
    """A build that failed; the message has the problem and the remedy."""


@dataclass(frozen=True)
class Binary:
    """One program. source: the folder with its go.mod; package: the package to build there; ldflags, gcflags: flags of linker and compiler."""

    name: str
    source: str
    package: str = "."
    ldflags: str = "-s -w"
    gcflags: tuple[str, ...] = ()

    def fingerprint(self, go_version: str) -> str:
        """The hash of all inputs: sources, versions of modules, flags and compiler."""
        digest = hashlib.sha256(json.dumps([self.package, self.ldflags, self.gcflags, go_version]).encode())
        for path in sorted(Path(self.source).rglob("*")):
            if path.is_file() and path.name.endswith(SOURCE_SUFFIXES):
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class Asset:
    """A file or folder `path` of a Go module, copied to assets/`dest` of the cache.

    source: the folder with the go.mod that has the version of the module; template: a file below `path` in which each `${name}` of `substitute` is replaced.
    """

    source: str
    module: str
    path: str
    dest: str
    template: str = ""
    substitute: tuple[tuple[str, str], ...] = ()

    def fingerprint(self) -> str:
        """The hash of all inputs: the module's version and how it is copied."""
        versions = (Path(self.source) / "go.mod").read_text(encoding="utf-8")
        wanted = [line for line in versions.splitlines() if self.module in line.split()]
        return hashlib.sha256(json.dumps([wanted, self.module, self.path, self.dest, self.template, self.substitute]).encode()).hexdigest()


class Builder:
    """Builds into the folder `cache`: `bin/<name>` for binaries, `assets/<dest>` for assets. go: path of the Go command; report: takes lines of progress."""

    def __init__(self, cache: str, go: str, report: Callable[[str], None] = lambda line: None) -> None:
        self.cache = Path(cache).absolute()  # the compiler runs in another folder
        self.go = go
        self.report = report
        # GOTOOLCHAIN=local: Go does not download another toolchain during a build.
        self.environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false"}
        # The compiler runs its garbage collector less often: 20% less processor time for some hundred MiB more memory.
        self.environment.setdefault("GOGC", "400")
        self.go_version = self._go("version", cwd="/").split()[2]

    def stale_binaries(self, binaries: list[Binary]) -> list[Binary]:
        """The binaries whose file is missing or was built from other inputs."""
        return [each for each in binaries if self._stamp(each.name) != each.fingerprint(self.go_version) or not self.path(each.name).is_file()]

    def stale_assets(self, assets: list[Asset]) -> list[Asset]:
        """The assets that are missing or come from another module version."""
        return [each for each in assets if self._stamp("assets/" + each.dest) != each.fingerprint() or not self._asset_path(each).exists()]

    def path(self, name: str) -> Path:
        """The path of the binary of that name."""
        return self.cache / "bin" / name

    def fetch(self, binaries: list[Binary]) -> None:
        """Downloads the modules of the binaries in the background, while another binary is compiled."""
        Thread(target=self._fetch, args=[[*binaries]], daemon=True).start()

    def build(self, binary: Binary, position: str) -> None:
        """Compiles one binary and reports progress at most every ten seconds. position: such as `2 of 5`. Raises BuildError."""
        fingerprint = binary.fingerprint(self.go_version)
        target = self.path(binary.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{binary.name}.partial")
        partial.unlink(missing_ok=True)  # of an interrupted build
        compiler = [f"-gcflags={each}" for each in binary.gcflags]
        command = [self.go, "build", "-v", "-trimpath", *compiler, "-ldflags", binary.ldflags, "-o", str(partial), binary.package]
        started = time.monotonic()
        self.report(f"building {binary.name} ({position})")
        output: list[str] = []
        for line, compiled in self._progress(command, binary.source):
            output.append(line)
            if line == "":
                self.report(f"building {binary.name} ({position}): {compiled} packages compiled after {time.monotonic() - started:.0f} s")
        if not partial.is_file():
            raise BuildError(self._explain(binary, output))
        partial.replace(target)
        self._write_stamp(binary.name, fingerprint)
        self.report(f"built {binary.name} in {time.monotonic() - started:.0f} s ({target.stat().st_size / 2**20:.0f} MiB)")

    def copy(self, asset: Asset) -> None:
        """Copies one asset out of its module, which is downloaded unless it is in the module cache. Raises BuildError."""
        original = self._module_dir(asset) / asset.path
        if not original.exists():
            raise BuildError(f"{asset.module} has no {asset.path}; check the version in {asset.source}/go.mod.")
        target = self._asset_path(asset)
        partial = target.with_name(f".{target.name}.partial")
        _remove(partial)
        partial.parent.mkdir(parents=True, exist_ok=True)
        if original.is_dir():
            shutil.copytree(original, partial, copy_function=shutil.copyfile)
            for folder, _names, _files in os.walk(partial):
                os.chmod(folder, 0o755)
        else:
            shutil.copyfile(original, partial)
        if asset.template:
            _fill(partial / asset.template, dict(asset.substitute))
        _remove(target)
        partial.rename(target)
        self._write_stamp("assets/" + asset.dest, asset.fingerprint())

    def _fetch(self, binaries: list[Binary]) -> None:
        for each in binaries:
            try:
                self._go("list", "-deps", each.package, cwd=each.source)
            except BuildError:
                return  # the build reports the same error

    def _progress(self, command: list[str], folder: str) -> Iterator[tuple[str, int]]:
        """(line, lines so far) for each line of the compiler, mostly one for each package; and an empty line at most every ten seconds, as a sign to report."""
        compiled, reported = 0, time.monotonic()
        with programs.start(command, cwd=folder, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            try:
                for line in process.stdout or ():
                    compiled += 1
                    yield line.rstrip(), compiled
                    if time.monotonic() - reported >= 10:
                        reported = time.monotonic()
                        yield "", compiled
            except BaseException:
                process.kill()
                raise

    def _explain(self, binary: Binary, output: list[str]) -> str:
        """The message for a failed build: the first lines of the compiler that are errors, not names of packages."""
        errors = [line for line in output if line and not line.startswith("go: downloading") and not re.fullmatch(r"[\w.\-/]+", line)]
        head = "\n  ".join(errors[:12])  # the cause is first, followed by consequences and usage texts
        hint = "Check that the Go module proxy can be reached, and that the disk is not full."
        return f"Building {binary.name} ({binary.package} in {binary.source}) failed:\n  {head}\n{hint}"

    def _module_dir(self, asset: Asset) -> Path:
        self._go("mod", "download", asset.module, cwd=asset.source)
        return Path(self._go("list", "-m", "-f", "{{.Dir}}", asset.module, cwd=asset.source).strip())

    def _go(self, *arguments: str, cwd: str) -> str:
        done = programs.run([self.go, *arguments], cwd=cwd, env=self.environment)
        if done.returncode:
            raise BuildError(f"`go {' '.join(arguments)}` in {cwd} failed: {done.stderr.strip()[-800:]}")
        return done.stdout

    def _asset_path(self, asset: Asset) -> Path:
        return self.cache / "assets" / asset.dest

    def _stamp(self, name: str) -> str:
        path = self.cache / "stamps" / name
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def _write_stamp(self, name: str, value: str) -> None:
        path = self.cache / "stamps" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value, encoding="utf-8")


def find_go(minimum: str, candidates: list[str]) -> str | None:
    """The path of the first `go` that is at least `minimum` (such as 1.26.7); None without one."""
    for candidate in candidates:
        path = shutil.which(candidate)
        if path and _version(_run_quietly([path, "version"])) >= _version(f"go{minimum}"):
            return path
    return None


def _run_quietly(command: list[str]) -> str:
    environment = {**os.environ, "GOTOOLCHAIN": "local"}
    try:
        return programs.run(command, env=environment, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _version(text: str) -> tuple[int, ...]:
    match = re.search(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def _fill(path: Path, values: dict[str, str]) -> None:
    """Replaces each `${name}` of `values` in a file and removes `.tmpl` from its name; other `${...}` stay."""
    filled = Template(path.read_text(encoding="utf-8")).safe_substitute(values)
    path.with_name(path.name.replace(".tmpl", "")).write_text(filled, encoding="utf-8")
    path.unlink()


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()
