# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of playbooks that write files about a plan. Each is described in the YAML of its name."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.plan.build import explain
from ..module_utils.plan.cluster import mirrors
from ..module_utils.plan.cluster.export import exported
from ..module_utils.plan.cluster.images import needed
from ..module_utils.plan.cluster.permissions_file import PREFIX, chosen
from ..module_utils.plan.cluster.permissions_file import permissions_file as made_of
from ..plugin_utils.planning import plain


def needed_images(plan: t.Any) -> dict[str, t.Any]:
    """Images, charts and CRDs of a plan."""
    if not isinstance(plan, dict) or "services" not in plan:
        raise AnsibleFilterError("needed_images takes a plan")
    return needed(plain(plan))


def mirror_files(images: t.Any, registry: t.Any = None) -> dict[str, str]:
    """{file name: content}."""
    if not isinstance(images, dict) or "sources" not in images:
        raise AnsibleFilterError("mirror_files takes what needed_images returns")
    if registry and not isinstance(registry, (str, dict)):
        raise AnsibleFilterError("mirror_files takes a registry, or a mapping from a registry to its mirror")
    return mirrors.mirror_files(plain(images["sources"]), plain(registry) or None)


def exported_files(plan: t.Any, definitions: t.Any) -> dict[str, str]:
    """{file name: content}."""
    if not isinstance(plan, dict) or "services" not in plan or not isinstance(definitions, list):
        raise AnsibleFilterError("exported_files takes a plan and a list of definitions")
    return exported(plain(plan), plain(definitions))


def permissions_file(plan: t.Any, options: t.Any = None) -> dict[str, t.Any]:
    """{state, name, content, lines} of the file with the permissions that a plan needs."""
    if not isinstance(plan, dict) or "preflight" not in plan:
        raise AnsibleFilterError("permissions_file takes a plan")
    settings, problems = chosen(plain(options or {}))
    if problems:
        raise AnsibleFilterError(explain(problems, f"{PREFIX}* variables"))
    return {"state": settings["state"], **made_of(plain(plan), settings)}


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {each.__name__: each for each in (needed_images, mirror_files, exported_files, permissions_file)}
