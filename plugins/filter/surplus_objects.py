# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: surplus_objects
author:
  - llm_d.inference contributors (@llm-d)
short_description: Choose the objects of model services that the user's file no longer asks for
version_added: 0.2.0
description:
  - Internal to the role P(llm_d.inference.model_service#role).
  - An object that another one owns is not chosen, since it goes with its owner.
positional: _input, wanted
options:
  _input:
    description: The objects in the cluster, as M(llm_d.inference.cluster_access) finds them.
    type: list
    elements: dict
    required: true
  wanted:
    description: References to the objects of the plan, as M(llm_d.inference.role_facts) derives them.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Choose what to prune
  ansible.builtin.set_fact:
    surplus: "{{ access.found | llm_d.inference.surplus_objects(facts.references) }}"
"""

RETURN = r"""
_value:
  description: References to the objects, in the order of their creation.
  type: list
  elements: dict
  sample: [{apiVersion: v1, kind: Service, metadata: {name: qwen, namespace: llm-d}}]
"""

import typing as t

from ..module_utils.plan.pruning import surplus


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"surplus_objects": surplus}
