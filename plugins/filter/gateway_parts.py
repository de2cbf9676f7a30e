# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: gateway_parts
author:
  - llm_d.inference contributors (@llm-d)
short_description: Split the definitions of a gateway by how they are deleted
version_added: 0.1.0
description:
  - Internal to the role P(llm_d.inference.gateway_provider#role).
  - Separates GatewayClasses, which are cluster-wide and may be shared, from the rest, and the Gateways from what they refer to.
options:
  _input:
    description: Object definitions in the order of creation.
    type: list
    elements: dict
    required: true
  used_classes:
    description: Names of GatewayClasses that are in use and must stay.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Show the classes that can be deleted
  ansible.builtin.debug:
    msg: "{{ (definitions | llm_d.inference.gateway_parts(used_classes=['istio'])).classes }}"
"""

RETURN = r"""
_value:
  description: The keys C(classes), without those in use, C(namespaced), and of these C(gateways) and C(attached).
  type: dict
  sample:
    classes: []
    namespaced: []
    gateways: []
    attached: []
"""

import typing as t

from ..module_utils.k8s import gateway_parts


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"gateway_parts": gateway_parts.parts}
