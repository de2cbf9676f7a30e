# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: prunable_controllers
author:
  - llm_d.inference contributors (@llm-d)
short_description: Choose the controllers of other providers that can be removed
version_added: 0.1.0
description:
  - Internal to the role P(llm_d.inference.gateway_provider#role).
  - A controller can be removed when we created its namespace and nobody uses it.
options:
  _input:
    description: The controllers of the plan.
    type: list
    elements: dict
    required: true
  namespaces:
    description: Names of the namespaces that we created.
    type: list
    elements: str
    default: []
  used:
    description: Controller names that somebody uses, from M(llm_d.inference.controller_use).
    type: list
    elements: str
    default: []
  made:
    description: Classes that unused controllers created by themselves, from M(llm_d.inference.controller_use).
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Choose what to prune
  ansible.builtin.set_fact:
    prune: "{{ controllers | llm_d.inference.prunable_controllers(namespaces=['istio-system'], used=[], made=[]) }}"
"""

RETURN = r"""
_value:
  description: The key C(remove) lists the controllers to remove, each with the classes that it C(made). The key C(kept) lists providers that stay.
  type: dict
  sample:
    remove: []
    kept: [istio]
"""

import typing as t

from ..module_utils.k8s import gateway_parts


def prunable_controllers(
    controllers: list[dict[str, t.Any]], namespaces: t.Collection[str] = (), used: t.Collection[str] = (), made: t.Collection[dict[str, t.Any]] = ()
) -> gateway_parts.Pruned:
    """Which controllers can be removed, and which stay."""
    return gateway_parts.prunable(controllers, namespaces, used, made)


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"prunable_controllers": prunable_controllers}
