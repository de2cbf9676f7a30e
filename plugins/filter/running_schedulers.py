# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: running_schedulers
author:
  - llm_d.inference contributors (@llm-d)
short_description: Show what the endpoint pickers run
version_added: 0.2.0
description:
  - For the role P(llm_d.inference.gaie_scheduler#role).
options:
  _input:
    description: The plan, from P(llm_d.inference.plan#lookup).
    type: dict
    required: true
  before:
    description: What M(llm_d.inference.cluster_snapshot) returned before the plan was applied. Empty where it was not called.
    type: dict
    default: {}
  verified:
    description: What M(llm_d.inference.stack_validation) returned. Without C(schedulers), as in check mode, it is said what would run.
    type: dict
    default: {}
extends_documentation_fragment: llm_d.inference.internal
"""

EXAMPLES = r"""
- name: Show what runs
  ansible.builtin.debug:
    msg: "{{ lookup('llm_d.inference.plan') | llm_d.inference.running_schedulers(before, verified) | join('\n') }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
  sample:
    - llama-8b runs release router-0.10, preset prefix_aware, changed
    - "  scorers queue 2, kv_cache 2, prefix 3; picker max-score-picker"
    - "  verified: llama-8b-epp-5d9c7-abcde (by its log)"
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.schedulers import running
from ..plugin_utils.planning import plain


def running_schedulers(plan: t.Any, before: t.Any = None, verified: t.Any = None) -> list[str]:
    """The lines about the endpoint pickers of a plan."""
    if not isinstance(plan, dict) or "services" not in plan:
        raise AnsibleFilterError("running_schedulers takes a plan")
    return running.lines(plain(plan), plain(before or {}).get("definitions"), plain(verified or {}).get("schedulers"))


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"running_schedulers": running_schedulers}
