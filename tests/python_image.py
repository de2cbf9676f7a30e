"""An image with the Python of this host, for the local cluster, which has none: what a user takes from a registry."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster.oci_image import Image, Registry

NAME = "llm-d-local/python:3"
REGISTRY = "127.0.0.1:5215"
CRANE = "/var/cache/llm-d-local/bin/crane"
LEFT_OUT = {"test", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip", "site-packages", "__pycache__", "lib-dynload"}


def push(folder: Path) -> str:
    """Put it into the local registry; its whole name."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = Path(sys.base_prefix) / "lib" / version
    archive = folder / "library.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for file in sorted(library.rglob("*.py")):
            inside = file.relative_to(library)
            if not LEFT_OUT & set(inside.parts) and not inside.parts[0].startswith("config-"):
                made.write(file, str(inside))
    files = {
        "/usr/bin/python3": str(Path(sys.base_prefix) / "bin" / version),
        f"/usr/lib/{version.replace('.', '')}.zip": str(archive),
        f"/usr/lib/{version}/os.py": str(library / "os.py"),  # by which Python finds its folder
        **{f"/usr/lib/{version}/lib-dynload/{file.name}": str(file) for file in (library / "lib-dynload").glob("*.so")},
    }
    (folder / "stamps").mkdir()
    Registry(REGISTRY, CRANE, str(folder / "stamps")).push(Image(NAME, files, ["/usr/bin/python3"], libraries=True))
    return f"{REGISTRY}/{NAME}"
