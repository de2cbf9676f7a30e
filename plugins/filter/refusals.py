# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: refusals
author:
  - llm_d.inference contributors (@llm-d)
short_description: Say where the user's file has what the API server refuses
version_added: 0.2.0
description:
  - For the role P(llm_d.inference.prerequisites#role).
positional: _input, plan, definitions
options:
  _input:
    description: The objects that were refused, as M(llm_d.inference.cluster_objects) returns them.
    type: list
    elements: dict
    required: true
  plan:
    description: The plan, as P(llm_d.inference.plan#lookup) returns it.
    type: dict
    required: true
  definitions:
    description: The objects, as they were given to the module.
    type: list
    elements: dict
    required: true
extends_documentation_fragment: llm_d.inference.internal
"""

EXAMPLES = r"""
- name: Show what was refused
  ansible.builtin.debug:
    msg: "{{ refused | llm_d.inference.refusals(facts.plan, facts.everything) }}"
"""

RETURN = r"""
_value:
  description: A line for each object.
  type: list
  elements: str
  sample: ["Deployment llm-d/sim-decode: spec.template.spec.tolerations[0].effect: Unsupported value (llm_d_model_services[0].tolerations[0].effect)"]
"""

import typing as t

from ..module_utils.plan.refusals import refusals


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"refusals": refusals}
