# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: comparison_cases
author:
  - llm_d.inference contributors (@llm-d)
short_description: Name and scheduler block of each preset to compare
version_added: 0.1.0
description:
  - For the role P(llm_d.inference.compare#role).
options:
  _input:
    description: Names of presets, or mappings with a C(name) and the keys of a C(scheduler) block, mixed.
    type: list
    elements: raw
    required: true
extends_documentation_fragment: llm_d.inference.internal
"""

EXAMPLES = r"""
- name: Show what is compared
  ansible.builtin.debug:
    msg: "{{ ['queue', {'name': 'own', 'scorers': {'queue': 2}}] | llm_d.inference.comparison_cases }}"
"""

RETURN = r"""
_value:
  description: One element for each preset. A mapping without a C(name) gets an empty one, which the role refuses.
  type: list
  elements: dict
  sample:
    - name: queue
      scheduler: {preset: queue}
    - name: own
      scheduler: {scorers: {queue: 2}}
"""

import collections.abc as c
import typing as t


def comparison_cases(presets: t.Iterable[t.Any]) -> list[dict[str, t.Any]]:
    """Name and scheduler block of each preset."""
    return [_case(preset) for preset in presets]


def _case(preset: t.Any) -> dict[str, t.Any]:
    if isinstance(preset, c.Mapping):
        return {"name": str(preset.get("name", "")), "scheduler": {key: value for key, value in preset.items() if key != "name"}}
    return {"name": str(preset), "scheduler": {"preset": preset}}


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"comparison_cases": comparison_cases}
