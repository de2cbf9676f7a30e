# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images pinned by the digests of llm_d_image_digests, which playbooks/pin_images.yml writes. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import Facts
from ...schema.fields import Problem
from ..parts.references import Mirror, mirrored
from .images import needed

DIGESTS = "llm_d_image_digests"
_AGAIN = "Write the digests again: ansible-playbook -i INVENTORY playbooks/pin_images.yml."


def pinned(plan: Facts, digests: t.Mapping[str, str], registry: Mirror) -> Facts:
    """The plan with the digest appended to each image that has one, so that pods get that image even if its tag has moved.

    digests: {image as upstream names it: its digest}.
    """
    return t.cast(Facts, _pinned(plan, {mirrored(source, registry): digest for source, digest in digests.items()}))


def pin_problems(plan: Facts, digests: t.Mapping[str, str]) -> list[Problem]:
    """Images of a pinned plan that lack a digest. Digests of other images are no problem, since with llm_d_scope a plan has only a part of the objects."""
    return [Problem(DIGESTS, None, f"lacks {source}.", _AGAIN) for source in needed(plan)["sources"] if pinnable(source)] if digests else []


def pinnable(source: str) -> bool:
    """Whether an image can get a digest: it has none yet, and is not NVIDIA's driver, whose tag depends on the operating system of the nodes."""
    return "<" not in source and "@" not in source


def _pinned(node: t.Any, digests: t.Mapping[str, str]) -> t.Any:
    if isinstance(node, str):
        return f"{node}@{digests[node]}" if node in digests else node
    if isinstance(node, list):
        return [_pinned(item, digests) for item in node]
    if not isinstance(node, dict):
        return node
    if {"repository", "tag"} <= node.keys():  # the form of chart values
        whole = "/".join(str(node[part]) for part in ("registry", "repository") if part in node)
        digest = digests.get(f"{whole}:{node['tag']}")
        return {**node, "tag": f"{node['tag']}@{digest}"} if digest else node
    return {key: _pinned(value, digests) for key, value in node.items()}
