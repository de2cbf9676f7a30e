# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: only_service
author:
  - llm_d.inference contributors (@llm-d)
short_description: The plan of one service alone
version_added: 1.0.0
description:
  - For the role P(llm_d.inference.compare#role).
  - With it as their plan, roles neither apply nor prune the other services.
positional: _input, name
options:
  _input:
    description: The plan, from P(llm_d.inference.plan#lookup).
    type: dict
    required: true
  name:
    description: The name of the service.
    type: str
    required: true
extends_documentation_fragment: llm_d.inference.internal
"""

EXAMPLES = r"""
- name: Deploy one of the services
  ansible.builtin.include_role:
    name: llm_d.inference.model_service
  vars:
    model_service_plan: "{{ lookup('llm_d.inference.plan') | llm_d.inference.only_service('qwen') }}"
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  sample: {namespace: llm-d, services: [{name: qwen}]}
"""

import typing as t

from ..module_utils.plan.cluster.record import with_services


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"only_service": with_services}
