# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: verdict_table
author:
  - llm_d.inference contributors (@llm-d)
short_description: Show a verdict as text
version_added: 1.0.0
description:
  - Takes a verdict and returns lines of text, one for each claim, then the outcome, then a C(curl) line for each endpoint.
options:
  _input:
    description: The verdict, from M(llm_d.inference.stack_validation).
    type: dict
    required: true
  failed:
    description: Whether to show the claims that do not hold and their remedies, and nothing else.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show a saved verdict
  ansible.builtin.debug:
    msg: "{{ lookup('ansible.builtin.file', 'artifacts/verdict.json') | from_json | llm_d.inference.verdict_table }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
  sample:
    - "ok    0.61 s  llama-8b/sticky: 6 requests with one shared prefix went to llama-8b-decode-7d4b9c-x2x9p (6) (x-inference-pod)"
    - "OK: 7 of 7 claims hold"
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.validation import claims
from ..module_utils.validation import verdict as verdicts


def verdict_table(verdict: t.Any, failed: bool = False) -> list[str]:
    """The lines of a verdict."""
    if not isinstance(verdict, dict) or "claims" not in verdict:
        raise AnsibleFilterError("verdict_table takes a verdict")
    return claims.failures(verdict["claims"]) if failed else verdicts.table(verdict)


def verdict_summary(verdict: t.Any) -> dict[str, t.Any]:
    """A verdict in short."""
    if not isinstance(verdict, dict) or "claims" not in verdict:
        raise AnsibleFilterError("verdict_summary takes a verdict")
    return verdicts.summary(verdict)


class FilterModule:
    """Filters of this file. The second one is described in the YAML of its name."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"verdict_table": verdict_table, "verdict_summary": verdict_summary}
