# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bill of materials of a release, in CycloneDX: collections, Python packages, Go modules of the local cluster, and images that a deployment may name."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import yaml
from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from plugins.module_utils.plan.gpus.gpu_checks import IMAGE as GPU_TEST_IMAGE
from plugins.module_utils.releases.caches import SERVER_IMAGE
from plugins.module_utils.releases.deployed import ENGINE_DEFAULTS, PYTHON_IMAGE
from plugins.module_utils.releases.gateways import GATEWAY_PROVIDERS, variants
from plugins.module_utils.releases.gpus import OPERATORS
from plugins.module_utils.releases.lines import LEADER_WORKER_SET, RELEASES

_MODULE = re.compile(r"^(?:require|\t)\s*(\S+\.\S+) (v\S+)(?: // indirect)?$", re.MULTILINE)
_REPLACED = re.compile(r"^(?:replace|\t)\s*(\S+)(?: v\S+)? => (\S+) (v\S+)$", re.MULTILINE)
# The packages that modules import, and those that the local cluster installs.
_PACKAGES = ("meta/ee-requirements.txt", "roles/local_cluster/files/requirements.txt", "roles/local_cluster/files/vllm/requirements.txt")
_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)\s*([^#;]*)")


def sbom(root: Path, version: str) -> str:
    """The document of a checkout, as JSON."""
    bom = Bom()
    galaxy = yaml.safe_load((root / "galaxy.yml").read_text(encoding="utf-8"))
    name = f"{galaxy['namespace']}.{galaxy['name']}"
    bom.metadata.component = Component(name=name, version=version, type=ComponentType.APPLICATION, bom_ref=name)
    parts = [*collections(galaxy), *packages(root), *modules(root), *images()]
    for part in parts:
        bom.components.add(part)
    bom.register_dependency(bom.metadata.component, parts)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def collections(galaxy: dict[str, t.Any]) -> list[Component]:
    """The collections that ours needs."""
    return [_part(PackageURL("generic", "ansible-galaxy", name), bounds) for name, bounds in galaxy["dependencies"].items()]


def packages(root: Path) -> list[Component]:
    """The Python packages that modules import, with their bounds, and those of the local cluster, with their versions."""
    lines = [line for name in _PACKAGES for line in (root / name).read_text(encoding="utf-8").splitlines()]
    matches = [match for line in lines if (match := _REQUIREMENT.match(line))]
    pairs = dict.fromkeys((match[1].lower(), match[2].strip()) for match in matches)
    return [
        _part(PackageURL("pypi", None, name, bounds[2:])) if bounds.startswith("==") else _part(PackageURL("pypi", None, name), bounds)
        for name, bounds in pairs
    ]


def modules(root: Path) -> list[Component]:
    """The Go modules of which the local cluster's programs are built, each version once."""
    files = sorted((root / "roles/local_cluster/files/go").glob("*/go.mod"))
    pairs = {pair for file in files for pair in built(file.read_text(encoding="utf-8"))}
    return [_part(PackageURL("golang", path.rpartition("/")[0] or None, path.rpartition("/")[2], version)) for path, version in sorted(pairs)]


def built(text: str) -> t.Iterator[tuple[str, str]]:
    """(path, version) of each module that the text of a go.mod requires, or of the module that replaces it."""
    replaced = {path: (other, version) for path, other, version in _REPLACED.findall(text)}
    yield from (replaced.get(path, (path, version)) for path, version in _MODULE.findall(text))


def images() -> list[Component]:
    """The images of a deployment whose file names no image."""
    return [_image(name) for name in sorted({image for _component, image in image_rows()})]


def image_rows() -> t.Iterator[tuple[str, str]]:
    """(component, image) of every table of plugins/module_utils/releases."""
    for name, release in RELEASES.items():
        yield from ((f"{name} {key}", release[key]) for key in ("epp_image", "sidecar_image", "tokenizer_image") if release[key])
    for name, engine in ENGINE_DEFAULTS.items():
        yield from ((f"{name} {vendor}", image) for vendor, image in {"": engine["image"], **engine["images"]}.items())
    for name, provider in GATEWAY_PROVIDERS.items():
        for facts in variants(provider):
            yield from ((f"{name} {key}", facts[key]) for key in ("controller_image", "proxy_image") if facts[key])
        if provider["extension"]:
            yield f"{name} extension", provider["extension"]["image"]
    for name, operator in OPERATORS.items():
        yield from ((f"{name} {part}", image) for part, image in operator.get("chart", {}).get("images", {}).items())
    yield "LeaderWorkerSet", LEADER_WORKER_SET["image"].format(version=LEADER_WORKER_SET["version"])
    yield "shared cache", SERVER_IMAGE
    yield "warm-up on a schedule", PYTHON_IMAGE
    yield "GPU test", GPU_TEST_IMAGE


def _image(name: str) -> Component:
    path, _at, digest = name.partition("@")
    repository, _colon, tag = path.rpartition(":")
    short = repository.rsplit("/", 1)[-1]
    return _part(PackageURL("oci", None, short, digest or None, {"repository_url": repository, "tag": tag}), kind=ComponentType.CONTAINER)


def _part(url: PackageURL, bounds: str = "", kind: ComponentType = ComponentType.LIBRARY) -> Component:
    """A component. bounds: the accepted versions, if there is not exactly one."""
    version = url.version or (url.qualifiers or {}).get("tag")
    properties = [Property(name="llm_d.inference:versions", value=bounds)] if bounds else []
    return Component(name=url.name, group=url.namespace, version=version, type=kind, purl=url, bom_ref=str(url), properties=properties)
