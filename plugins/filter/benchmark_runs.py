# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: benchmark_runs
author:
  - llm_d.inference contributors (@llm-d)
short_description: Say what of a plan is to be measured
version_added: 0.1.0
description:
  - Takes a plan and returns, for each model service that C(llm_d_benchmark) names, options of M(llm_d.inference.vllm_perf) that measure it through its route.
options:
  _input:
    description: The plan, from P(llm_d.inference.plan#lookup).
    type: dict
    required: true
  seconds:
    description: Send only the first stage, for this number of seconds, without warm-up and baseline. Without objectives no request of it may fail.
    type: float
"""

EXAMPLES = r"""
- name: Show what would be sent to which service
  ansible.builtin.debug:
    msg: "{{ lookup('llm_d.inference.plan') | llm_d.inference.benchmark_runs | items2dict(key_name='name', value_name='stages') }}"
"""

RETURN = r"""
_value:
  description: One element for each service, with its C(name).
  type: list
  elements: dict
  sample:
    - {name: llama-8b, model: meta-llama/Llama-3.1-8B-Instruct, gateway: {namespace: llm-d, name: llm-d-gateway}, stages: [{concurrency: 64, seconds: 30}]}
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.validation import benchmark_runs as benchmark
from ..plugin_utils.planning import plain


def benchmark_runs(plan: t.Any, seconds: float | None = None) -> list[dict[str, t.Any]]:
    """What of a plan is to be measured."""
    if not isinstance(plan, dict) or "benchmark" not in plan:
        raise AnsibleFilterError("benchmark_runs takes a plan")
    return benchmark.runs(plain(plan), seconds)


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"benchmark_runs": benchmark_runs}
