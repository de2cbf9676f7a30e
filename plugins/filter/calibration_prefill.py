# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: calibration_prefill
author:
  - llm_d.inference contributors (@llm-d)
short_description: Read from requests that were measured how many prompt tokens per second a server computes
version_added: 0.2.0
description:
  - Takes the C(requests.csv) that M(llm_d.inference.vllm_perf) wrote of requests that were sent one at a time, with prompts as long as what the server computes
    in one step, and returns the option C(peak_prefill_throughput) of C(llm_d_model_services[].scheduler).
options:
  _input:
    description: The text of the file.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the option
  ansible.builtin.debug:
    msg: "{{ lookup('ansible.builtin.file', 'artifacts/calibrate/llama/prefill/requests.csv') | llm_d.inference.calibration_prefill }}"
"""

RETURN = r"""
_value:
  description: What was found, the medians of all requests.
  type: dict
  contains:
    peak_prefill_throughput:
      description: Tokens of a prompt that were in no cache, per second until the first token of its answer.
      type: int
      sample: 15928
    prompt_tokens:
      description: Tokens of a prompt that were in no cache.
      type: int
      sample: 8192
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.benchmark import calibration as measured


def calibration_prefill(text: str) -> dict[str, t.Any]:
    """The option for the scheduler, and what it was measured with."""
    found = measured.prefill([request for stage in measured.read(text).values() for request in stage])
    if found is None:
        raise AnsibleFilterError("The prefill throughput cannot be measured: no request with a prompt that was in no cache was answered.")
    return found


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"calibration_prefill": calibration_prefill}
