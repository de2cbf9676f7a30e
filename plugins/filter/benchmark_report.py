# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: benchmark_report
author:
  - llm_d.inference contributors (@llm-d)
short_description: Put measurements of several services together
version_added: 0.1.0
description:
  - Takes what M(llm_d.inference.vllm_perf) returned for each service, and the C(result.json) of those that were measured, and returns one report.
options:
  _input:
    description: The results of M(llm_d.inference.vllm_perf) as registered by a loop over P(llm_d.inference.benchmark_runs#filter).
    type: list
    elements: dict
    required: true
  wholes:
    description: The contents of C(result.json) by name of the service.
    type: dict
    default: {}
  about:
    description: More to keep with the data, such as the time.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Show the numbers of a run
  ansible.builtin.debug:
    msg: "{{ ([{'item': {'name': 'llama-8b'}}] | llm_d.inference.benchmark_report({'llama-8b': whole})).lines }}"
  vars:
    whole: "{{ lookup('ansible.builtin.file', 'artifacts/benchmark/llama-8b/result.json') | from_json }}"
"""

RETURN = r"""
_value:
  description: The report.
  type: dict
  contains:
    data:
      description: All numbers, without what only plots need; C(ok) says whether every service kept its objectives.
      type: dict
      sample: {ok: true, services: [{name: llama-8b, verdict: passed}]}
    lines:
      description: The tables for a terminal.
      type: list
      elements: str
      sample: ["llama-8b: passed", "  load     TTFT p50"]
    failures:
      description: What was missed, one line each.
      type: list
      elements: str
      sample: ["llama-8b: rate 16: ttft_p90_ms: 812.4 misses at most 500"]
    page:
      description: The HTML page.
      type: str
      sample: "<!doctype html>"
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.validation import benchmark_runs
from ..plugin_utils.planning import plain


def benchmark_report(results: t.Any, wholes: t.Any = None, about: t.Any = None) -> dict[str, t.Any]:
    """The report of some measurements."""
    listed = plain(results)
    if not isinstance(listed, list) or not all(isinstance(each, dict) and "name" in (each.get("item") or ()) for each in listed):
        raise AnsibleFilterError("benchmark_report takes the results of a loop over benchmark_runs")
    return benchmark_runs.report(listed, plain(wholes or {}), plain(about or {}))


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"benchmark_report": benchmark_report}
