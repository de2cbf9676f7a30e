# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: calibration_rates
author:
  - llm_d.inference contributors (@llm-d)
short_description: Derive the rates at which a server is calibrated
version_added: 0.2.0
description:
  - For the role P(llm_d.inference.calibrate#role).
options:
  _input:
    description: The text of the C(requests.csv) of requests of which several were in flight all the time.
    type: str
    required: true
  seconds:
    description: Length of each stage.
    type: float
    required: true
extends_documentation_fragment: llm_d.inference.internal
"""

EXAMPLES = r"""
- name: Show the stages
  ansible.builtin.debug:
    msg: "{{ lookup('ansible.builtin.file', 'together/requests.csv') | llm_d.inference.calibration_rates(45) }}"
"""

RETURN = r"""
_value:
  description: Stages for M(llm_d.inference.vllm_perf).
  type: list
  elements: dict
  sample: [{rate: 0.3, seconds: 45}, {rate: 0.5, seconds: 45}, {rate: 0.7, seconds: 45}]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.benchmark import calibration as measured


def calibration_rates(text: str, seconds: float) -> list[dict[str, t.Any]]:
    """Stages at three rates."""
    together = [request for stage in measured.read(text).values() for request in stage]
    if not together:
        raise AnsibleFilterError("The simulator cannot be calibrated: no request was answered.")
    return [{"rate": rate, "seconds": seconds} for rate in measured.rates(together)]


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"calibration_rates": calibration_rates}
