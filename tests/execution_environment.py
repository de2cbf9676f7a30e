"""The parts of the execution environment that can be built without a container engine: its collections, its libraries, and an image of both."""

from __future__ import annotations

import subprocess
import sys
import typing as t
import venv
from pathlib import Path

import ansible_collections.kubernetes
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster.oci_image import Image, Registry
from python_image import BLOBS, CRANE, REGISTRY

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "extensions/execution_environment"
BIN = Path(sys.executable).parent
NAME, CACHE = "llm-d-local/execution-environment:1", "/var/cache/llm-d-local"
# The programs of the base image: the shell in which Ansible starts modules, and the commands that it and the entry point run.
SYSTEM = ("bash", "chmod", "cut", "env", "getent", "id", "mkdir", "rm", "sed")
PROGRAMS = ("ansible-inventory", "ansible-playbook", "ansible-runner", "dumb-init")


def run(*command: str | Path, folder: Path | None = None) -> str:
    """The output of a program that succeeds. folder: its working directory."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def definition() -> dict[str, t.Any]:
    """The definition for ansible-builder."""
    document: dict[str, t.Any] = yaml.safe_load((FOLDER / "execution-environment.yml").read_text(encoding="utf-8"))
    return document


def built(folder: Path) -> Path:
    """The archive of this collection."""
    run(BIN / "ansible-galaxy", "collection", "build", ROOT, "--output-path", folder)
    return next(folder.glob("llm_d-inference-*.tar.gz"))


def install(folder: Path, *what: str | Path, into: Path) -> Path:
    """Install collections with ansible-galaxy; the folder `into`. what: arguments of ansible-galaxy; folder: its working directory."""
    run(BIN / "ansible-galaxy", "collection", "install", *what, "--no-deps", "--offline", "--force", "-p", into, folder=folder)
    return into


def installed(folder: Path) -> Path:
    """A folder of collections with this one."""
    return install(folder, built(folder), into=folder / "collections")


def with_others(folder: Path) -> Path:
    """A folder with the installed collection and with kubernetes.core, on which it depends."""
    collections = installed(folder)
    (collections / "ansible_collections/kubernetes").symlink_to(kubernetes())
    return collections


def kubernetes() -> Path:
    """The folder of the collections kubernetes.*, which are a part of the package `ansible`."""
    return Path(next(iter(ansible_collections.kubernetes.__path__)))


def needed(collections: Path) -> dict[str, list[str]]:
    """The requirements of the collections in a folder by ansible-builder: lines for pip (python), and lines for bindep (system)."""
    requirements: dict[str, list[str]] = yaml.safe_load(run(BIN / "ansible-builder", "introspect", collections))
    return requirements


def context(folder: Path, file: Path = FOLDER / "execution-environment.yml") -> Path:
    """The folder from which an engine would build the image."""
    run(BIN / "ansible-builder", "create", "--file", file, "--context", folder, "--output-filename", "Containerfile")
    return folder


def push(folder: Path) -> str:
    """Push an image with the same content into the local registry; its whole name.

    The Python, the shell and its programs are those of this host, and Helm is that of the local cluster, since neither UBI nor an engine is available. The
    libraries are those of the definition and of `needed`, each in the version that this checkout is tested with.
    """
    collections, python = with_others(folder), folder / "venv"
    venv.create(python, symlinks=True, with_pip=True)
    wanted = definition()["dependencies"]
    listed = [wanted["ansible_core"]["package_pip"], wanted["ansible_runner"]["package_pip"], "dumb-init", *needed(collections)["python"]]
    (folder / "needed.txt").write_text("\n".join(listed), encoding="utf-8")
    run(python / "bin/pip", "install", "--quiet", "--no-compile", "-r", folder / "needed.txt", "-c", ROOT / "requirements.txt")
    files = {f"/usr/bin/{name}": f"/usr/bin/{name}" for name in SYSTEM} | {f"/usr/local/bin/{name}": f"{python}/bin/{name}" for name in PROGRAMS}
    files |= {"/bin/sh": "/bin/sh", "/usr/local/bin/helm": f"{CACHE}/bin/helm"}
    files |= {"/opt/builder/bin/entrypoint": f"{context(folder / 'context')}/_build/scripts/entrypoint"}
    there = "/usr/share/ansible/collections/ansible_collections"
    trees = {
        str(python): str(python),
        "/usr/lib/locale/C.utf8": "/usr/lib/locale/C.utf8",
        f"{there}/llm_d": f"{collections}/ansible_collections/llm_d",
        f"{there}/kubernetes": str(kubernetes()),
    }
    image = Image(NAME, files, ["/opt/builder/bin/entrypoint", "dumb-init"], libraries=True, trees=trees, leave_out=["pip*", "__pycache__"], python=str(python))
    # With the stamps of the local cluster, so that the blobs of the last image are deleted.
    Registry(REGISTRY, CRANE, BLOBS, f"{CACHE}/stamps/images").push(image)
    return f"{REGISTRY}/{NAME}"
