# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: calibration_prompt
author:
  - llm_d.inference contributors (@llm-d)
short_description: The workload by which the prefill throughput of a server is measured
version_added: 0.2.0
description:
  - For the role P(llm_d.inference.calibrate#role).
options:
  _input:
    description: The workload that the server is sent otherwise.
    type: dict
    required: true
  words:
    description: Words of a prompt, if the server takes as many.
    type: int
    required: true
  models:
    description: The models of the server as M(llm_d.inference.vllm_health) returns them.
    type: list
    elements: dict
    default: []
extends_documentation_fragment: llm_d.inference.internal
"""

EXAMPLES = r"""
- name: Show the workload
  ansible.builtin.debug:
    msg: "{{ {'input_len_max': 512} | llm_d.inference.calibration_prompt(8192, [{'id': 'acme/tiny', 'max_model_len': 4096}]) }}"
"""

RETURN = r"""
_value:
  description: A workload for M(llm_d.inference.vllm_perf).
  type: dict
  sample: {kind: random, input_len: 3072, output_len: 1}
"""

import typing as t

from ..module_utils.benchmark import calibration as measured
from ..plugin_utils.planning import plain


def calibration_prompt(workload: t.Any, words: int, models: t.Any = None) -> dict[str, t.Any]:
    """Prompts as long as what the server computes at once."""
    taken = [model["max_model_len"] for model in plain(models or []) if model.get("max_model_len")]
    return measured.longest(plain(workload), int(words), taken)


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"calibration_prompt": calibration_prompt}
