# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: health_table
author:
  - llm_d.inference contributors (@llm-d)
short_description: Show how long model servers took for each check of their health
version_added: 0.2.0
description:
  - For the role P(llm_d.inference.benchmark#role).
options:
  _input:
    description: The results of a loop of M(llm_d.inference.vllm_health) over pairs of a run and a group of servers.
    type: list
    elements: dict
    required: true
extends_documentation_fragment: llm_d.inference.internal
"""

EXAMPLES = r"""
- name: Show the figures
  ansible.builtin.debug:
    msg: "{{ health.results | llm_d.inference.health_table | join('\n') }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
  sample: ["llama-8b: 2 of 2 servers answer (vllm 0.33.0)", "server                    health  completions"]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.validation import benchmark_runs
from ..plugin_utils.planning import plain


def health_table(results: t.Any) -> list[str]:
    """The lines about some groups of servers."""
    listed = plain(results)
    if not isinstance(listed, list) or not all(isinstance(each, dict) and isinstance(each.get("item"), list) for each in listed):
        raise AnsibleFilterError("health_table takes the results of a loop of vllm_health over pairs of a run and servers")
    return benchmark_runs.quick(listed)


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"health_table": health_table}
