# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: comparison
author:
  - llm_d.inference contributors (@llm-d)
short_description: Set the same workload under several scheduling policies side by side
version_added: 0.1.0
description:
  - Takes what P(llm_d.inference.comparison_run#filter) made of the measurement under each policy and returns the comparison, as data, as a table for a
    terminal, as Markdown, and as an HTML page that needs no network.
  - The first run is the baseline.
options:
  _input:
    description: The runs. Each is a dictionary with a C(preset), the policy's name, and the C(stages) and C(total) of its measurement.
    type: list
    elements: dict
    required: true
  about:
    description: What was measured, for people, shown as it is.
    type: dict
    default: {}
  servers:
    description:
      - The C(servers) that M(llm_d.inference.vllm_health_info) returned. Where their metrics say how large their caches are, the comparison says that the
        shared prefixes do not fit into them.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Show which policy was sooner
  ansible.builtin.debug:
    msg: "{{ (runs | llm_d.inference.comparison({'model': 'llm-d/simulated-8b'})).results.headline }}"
  vars:
    files: [artifacts/compare/runs/round_robin.json, artifacts/compare/runs/prefix_aware.json]
    runs: "{{ query('ansible.builtin.file', *files) | map('from_json') }}"
"""

RETURN = r"""
_value:
  description: The comparison.
  type: dict
  contains:
    results:
      description:
        - All numbers, C(about), C(baseline), C(runs) with C(ttft_p90_ratio) and C(ttft_p90_differs) by rate, and the same of p50 and p99, C(caches),
          C(headline) and C(valid).
        - C(caches) has the tokens of all shared C(prefixes) and of one C(prefix), those that the largest cache (C(most)) and all C(servers) hold
          (C(together)), and C(fit). Null without O(servers), and where one of them does not say how large its cache is.
      type: dict
      sample:
        baseline: round_robin
        headline: "prefix_aware: 90 % of first tokens within 52 ms at 8 requests/s, 15.3 times sooner than with round_robin (794 ms)."
        valid: true
    lines:
      description: The table for a terminal.
      type: list
      elements: str
      sample: ["requests/s  preset        TTFT p50", "         8  prefix_aware     27 ms"]
    table:
      description: The table as Markdown.
      type: str
      sample: "| requests/s | preset | TTFT p50 |"
    page:
      description: The HTML page.
      type: str
      sample: "<!doctype html>"
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.benchmark import comparison as comparisons
from ..module_utils.benchmark import comparison_page
from ..plugin_utils.planning import plain


def comparison(runs: t.Any, about: t.Any = None, servers: t.Any = None) -> dict[str, t.Any]:
    """The comparison of some runs."""
    listed = plain(runs)
    if not isinstance(listed, list) or not listed or not all(isinstance(run, dict) and {"preset", "stages", "total"} <= set(run) for run in listed):
        raise AnsibleFilterError("comparison takes a list of runs, each with preset, stages and total")
    found = comparisons.results(listed, plain(about or {}), plain(servers or []))
    return {"results": found, "lines": comparisons.lines(found), "table": comparisons.table(found), "page": comparison_page.page(found)}


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"comparison": comparison}
