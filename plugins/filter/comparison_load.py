# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: comparison_load
author:
  - llm_d.inference contributors (@llm-d)
short_description: Make the load of a comparison into options of vllm_perf
version_added: 0.1.0
description:
  - Takes a workload of shared prefixes and its stages, and returns the options of M(llm_d.inference.vllm_perf) that send it.
  - A stage of a rate and seconds becomes one of a rate and requests, so that every run sends the same prompts.
options:
  _input:
    description: The workload, with the C(shared_prefix) options of C(workload) of M(llm_d.inference.vllm_perf), and C(seed) and C(nonce).
    type: dict
    required: true
  stages:
    description: Stages, each with C(rate) and either C(seconds) or C(requests).
    type: list
    elements: dict
    required: true
  warmup:
    description: A stage to send before the others that is not measured.
    type: dict
"""

EXAMPLES = r"""
- name: Show the options of a load
  ansible.builtin.debug:
    msg: "{{ {'groups': 24, 'seed': 7} | llm_d.inference.comparison_load([{'rate': 8, 'seconds': 30}], {'rate': 8, 'requests': 120}) }}"
"""

RETURN = r"""
_value:
  description: The options C(workload), C(stages), C(warmup), which is null without one, and where they were given C(seed) and C(nonce).
  type: dict
  sample:
    workload: {kind: shared_prefix, groups: 24}
    stages: [{rate: 8, requests: 240}]
    warmup: {rate: 8, requests: 120}
    seed: 7
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.benchmark import comparison_run
from ..plugin_utils.planning import plain


def comparison_load(workload: t.Any, stages: t.Any, warmup: t.Any = None) -> dict[str, t.Any]:
    """The options of vllm_perf for a workload and its stages."""
    sent, ladder, before = plain(workload or {}), plain(stages), plain(warmup)
    if not isinstance(sent, dict) or not isinstance(ladder, list) or not all(isinstance(stage, dict) for stage in [*ladder, before or {}]):
        raise AnsibleFilterError("comparison_load takes a workload, a list of stages and a warm-up, such as {} | comparison_load([{'rate': 8, 'seconds': 30}])")
    return comparison_run.options(sent, ladder, before)


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"comparison_load": comparison_load}
