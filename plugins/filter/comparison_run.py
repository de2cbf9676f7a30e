# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: comparison_run
author:
  - llm_d.inference contributors (@llm-d)
short_description: Make a result of vllm_perf into a run of a comparison
version_added: 0.1.0
description:
  - Takes the C(result.json) and C(requests.csv) that M(llm_d.inference.vllm_perf) wrote, and returns what P(llm_d.inference.comparison#filter) compares.
  - Percentiles interpolate between the two nearest ranks of the requests, which matters where a stage has few of them.
options:
  _input:
    description: The content of C(result.json).
    type: dict
    required: true
  preset:
    description: Name of the scheduling policy that was measured.
    type: str
    required: true
  requests:
    description: The text of C(requests.csv).
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Keep what was measured under a policy
  ansible.builtin.set_fact:
    measured: "{{ lookup('ansible.builtin.file', folder ~ '/result.json') | from_json | llm_d.inference.comparison_run('queue', rows) }}"
  vars:
    folder: artifacts/compare/runs/queue
    rows: "{{ lookup('ansible.builtin.file', folder ~ '/requests.csv') }}"
"""

RETURN = r"""
_value:
  description: The run.
  type: dict
  contains:
    preset:
      description: Name of the policy.
      type: str
      sample: queue
    url:
      description: Where the requests were sent.
      type: str
      sample: http://10.96.0.20
    workload:
      description: What was sent.
      type: dict
      sample: {groups: 24, prompts_per_group: 5, system_prompt_len: 1500, question_len: 40, output_len: 16, seed: 42, nonce: 4fd1a0c2}
    stages:
      description: The stages as M(llm_d.inference.vllm_perf) returns them, with C(ttft_cdf) and C(largest_share), the share of the busiest server.
      type: list
      elements: dict
      sample: [{rate: 8.0, requests: 240, ok: 240, failed: 0, largest_share: 0.29, valid: true}]
    total:
      description: All stages together.
      type: dict
      sample: {requests: 600, ok: 600, failed: 0, hit_ratio: 0.97, servers: {sim-decode-6d9c-2xkqp: 600}, valid: true}
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.benchmark import comparison_run as runs
from ..plugin_utils.planning import plain


def comparison_run(whole: t.Any, preset: str, requests: str) -> dict[str, t.Any]:
    """The run of one policy."""
    result = plain(whole)
    if not isinstance(result, dict) or not {"url", "nonce", "about", "stages"} <= set(result):
        raise AnsibleFilterError("comparison_run takes the result.json of vllm_perf")
    return runs.run(str(preset), result, str(requests))


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"comparison_run": comparison_run}
