"""An image with the Python of this host, for the local cluster, which has no such image. A user takes one from a registry."""

from __future__ import annotations

import sys
import venv
from pathlib import Path

from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster.oci_image import Image, Registry

NAME = "llm-d-local/python:3"
REGISTRY = "127.0.0.1:5215"
CRANE = "/var/cache/llm-d-local/bin/crane"
BLOBS = "/var/cache/llm-d-local/registry"


def push(folder: Path) -> str:
    """Push the image into the local registry; its whole name."""
    venv.create(folder / "venv", symlinks=True)
    (folder / "stamps").mkdir()
    files = {"/usr/bin/python3": sys.executable}
    Registry(REGISTRY, CRANE, BLOBS, str(folder / "stamps")).push(Image(NAME, files, ["/usr/bin/python3"], libraries=True, python=str(folder / "venv")))
    return f"{REGISTRY}/{NAME}"
