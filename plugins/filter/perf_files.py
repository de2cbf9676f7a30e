# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: perf_files
author:
  - llm_d.inference contributors (@llm-d)
short_description: Make reports of a result of vllm_perf
version_added: 0.1.0
description:
  - Takes a whole result, as it stands in C(result.json) or as a Job of P(llm_d.inference.perf_definitions#filter) prints it, and returns the files that
    M(llm_d.inference.vllm_perf) would write.
options:
  _input:
    description: The result.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Keep the page of what the Job measured
  ansible.builtin.copy:
    content: "{{ (log.split('\n') | last | from_json | llm_d.inference.perf_files)['report.html'] }}"
    dest: report.html
    mode: "0644"
"""

RETURN = r"""
_value:
  description: Contents of files by name, C(result.json), C(report.html), and C(benchmark_report_0.json) and so on, one for each stage.
  type: dict
  sample: {report.html: "<!doctype html>"}
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.llm_d.inference.plugins.module_utils import perf_job
from ansible_collections.llm_d.inference.plugins.plugin_utils.user_file import plain


def perf_files(result: t.Any) -> dict[str, str]:
    """The reports of one measurement."""
    found = plain(result)
    if not isinstance(found, dict) or not {"about", "stages", "verdict"} <= set(found):
        raise AnsibleFilterError("perf_files takes a whole result of vllm_perf, such as its result.json holds; what the module returns lacks the plots' points")
    try:
        return perf_job.contents(found)
    except (KeyError, TypeError, ValueError) as error:
        raise AnsibleFilterError(f"perf_files: this is no result of this version of vllm_perf: {error}") from error


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"perf_files": perf_files}
