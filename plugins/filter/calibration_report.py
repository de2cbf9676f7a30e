# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: calibration_report
author:
  - llm_d.inference contributors (@llm-d)
short_description: Set a calibrated simulator beside the server that it imitates
version_added: 0.2.0
description:
  - Takes the C(requests.csv) that M(llm_d.inference.vllm_perf) wrote of the same requests to both, and returns by how much their latencies differ.
options:
  _input:
    description: C(real) and C(imitated), the texts of the two files.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show by how much they differ
  ansible.builtin.debug:
    msg: "{{ ({'real': real, 'imitated': imitated} | llm_d.inference.calibration_report).lines }}"
  vars:
    real: "{{ lookup('ansible.builtin.file', 'artifacts/calibrate/llama/held_out/requests.csv') }}"
    imitated: "{{ lookup('ansible.builtin.file', 'artifacts/calibrate/llama/imitated/requests.csv') }}"
"""

RETURN = r"""
_value:
  description: The comparison.
  type: dict
  contains:
    stages:
      description: For each stage the percentiles of both in milliseconds, and the differences as shares of the real ones.
      type: list
      elements: dict
      sample: [{stage: "0.5 requests/s", real: {ttft_p50: 120.0}, imitated: {ttft_p50: 118.0}, errors: {ttft_p50: -0.0167}}]
    largest:
      description: The largest difference of all, as a share.
      type: float
      sample: 0.12
    lines:
      description: The table for a terminal.
      type: list
      elements: str
      sample: ["load            TTFT p50            TTFT p90"]
    table:
      description: The table as Markdown.
      type: str
      sample: "| load | TTFT p50 | TTFT p90 |"
"""

import typing as t

from ..module_utils.benchmark import calibration as measured
from ..plugin_utils.planning import plain


def calibration_report(files: t.Any) -> dict[str, t.Any]:
    """The comparison of two files of requests."""
    texts = plain(files)
    return measured.report(*(measured.read(texts[name]) for name in ("real", "imitated")))


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"calibration_report": calibration_report}
