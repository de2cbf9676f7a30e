# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: report_config_map
author:
  - llm_d.inference contributors (@llm-d)
short_description: The ConfigMap that keeps the files of a report
version_added: 1.0.0
description:
  - Takes the head of a ConfigMap and returns its definition with the files as data, as many of them, in their order, as it may hold.
  - The annotation C(llm-d.ai/left-out) names the others.
options:
  _input:
    description: The head, with C(apiVersion), C(kind) and C(metadata), from C(reports) of P(llm_d.inference.plan#lookup).
    type: dict
    required: true
  files:
    description: Content of each file by its name.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what would be kept
  ansible.builtin.debug:
    msg: "{{ head | llm_d.inference.report_config_map({'verdict.json': lookup('ansible.builtin.file', 'artifacts/verdict.json')}) }}"
  vars:
    head: {apiVersion: v1, kind: ConfigMap, metadata: {name: llm-d-report-verdict, namespace: llm-d}}
"""

RETURN = r"""
_value:
  description: The definition.
  type: dict
  sample: {apiVersion: v1, kind: ConfigMap, metadata: {name: llm-d-report-verdict, namespace: llm-d}, data: {verdict.json: "{}"}}
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.plan.cluster import reports
from ..plugin_utils.planning import plain


def report_config_map(head: t.Any, files: t.Any) -> dict[str, t.Any]:
    """The definition."""
    if not isinstance(head, dict) or not isinstance(files, dict):
        raise AnsibleFilterError("report_config_map takes the head of a ConfigMap, and the files by their names")
    return reports.with_files(plain(head), plain(files))


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"report_config_map": report_config_map}
