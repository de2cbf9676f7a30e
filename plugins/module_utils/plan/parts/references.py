# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""References of container images and charts, from upstream or from a mirror. Pure."""

from __future__ import annotations

import re
import typing as t

from ...common.images import repository_of, split_host
from ...common.objects import Facts
from ...releases.sources import CHARTS, GAUDI_REGISTRY, IMAGES
from ...schema.fields import Problem, suggest

REGISTRY = "llm_d_image_registry"
# One mirror of all registries, or a mapping from a registry to its mirror.
Mirror = t.Union[str, t.Mapping[str, str], None]  # noqa: UP007  # ansible-test's pylint rejects `|` in an alias


def image(user: Facts, component: str, default: str) -> str:
    """The image of a component: the one in llm_d_images as written, else the tested one, from the mirror where there is one."""
    return str(user["llm_d_images"].get(component) or mirrored(default, user["llm_d_image_registry"]))


def mirrored(reference: str, registry: Mirror) -> str:
    """The reference with its registry replaced by the mirror: `registry` is one for all, or a mapping from a host to its mirror. The path stays."""
    host, path = split_host(reference)
    mirror = registry.get(host) if isinstance(registry, t.Mapping) else registry
    return f"{mirror}/{path}" if mirror else reference


def source_of(reference: str, registry: Mirror) -> str:
    """Upstream's reference of an image that a plan pulls from the mirror; any other image as it is."""
    for repository in [*IMAGES, *([f"{GAUDI_REGISTRY}/"] if registry else [])]:
        target = mirrored(repository, registry)
        if repository_of(reference) == target or (repository.endswith("/") and reference.startswith(target)):
            return repository + reference[len(target) :]
    return reference


def chart(user: Facts, key: str, name: str, version: str) -> Facts:
    """{ref, repo, version} of a chart as Helm takes them: the user's in llm_d_charts, else upstream's. `repo` is None but for a chart repository."""
    row = CHARTS[key, name]
    reference = user["llm_d_charts"].get(key) or row.reference
    in_repository = re.match(r"https?://", reference) and not reference.endswith(".tgz")
    tag = row.version.format(version=version.removeprefix("v"))
    return {"ref": name if in_repository else reference, "repo": reference if in_repository else None, "version": tag}


def registries() -> list[str]:
    """The registries of all images of the collection, sorted."""
    return sorted({GAUDI_REGISTRY, *(split_host(name)[0] for name in IMAGES)})


def mirror_problems(user: Facts) -> list[Problem]:
    """Mirrors of registries that no image comes from, and mirrors that have two images under one name."""
    mirrors, known, problems = user[REGISTRY], registries(), []
    for host in mirrors if isinstance(mirrors, dict) else ():
        if host not in known:
            near = suggest(host, known)
            fix = f"Did you mean '{near}'?" if near else f"Write one of: {', '.join(known)}."
            problems.append(Problem(f"{REGISTRY}.{host}", mirrors[host], f"no image of this collection comes from '{host}'.", fix))
    for first, second in collisions(IMAGES, mirrors):
        reason = f"the mirror would have {first} and {second} under one name."
        problems.append(Problem(REGISTRY, mirrors, reason, "Write a mapping with a mirror for each registry, such as {docker.io: …/docker, ghcr.io: …/ghcr}."))
    return problems


def collisions(references: t.Iterable[str], registry: Mirror) -> list[tuple[str, str]]:
    """Pairs of different references that the mirror has under one name."""
    taken: dict[str, str] = {}
    pairs = []
    for reference in sorted(set(references)):
        first = taken.setdefault(mirrored(reference, registry), reference)
        if first != reference:
            pairs.append((first, reference))
    return pairs
