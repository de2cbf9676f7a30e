# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: verdict_page
author:
  - llm_d.inference contributors (@llm-d)
short_description: Show a verdict as a web page
version_added: 1.0.0
description:
  - Takes a verdict and returns an HTML page with each claim, its evidence, its remedy and the time it took. It has no scripts or external resources.
options:
  _input:
    description: The verdict, from M(llm_d.inference.stack_validation).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Make a page of a saved verdict
  llm_d.inference.files:
    files:
      - path: report.html
        content: "{{ lookup('ansible.builtin.file', 'artifacts/verdict.json') | from_json | llm_d.inference.verdict_page }}"
"""

RETURN = r"""
_value:
  description: The page.
  type: str
  sample: "<!doctype html><html lang=\"en\">"
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.validation import verdict_page as pages


def verdict_page(verdict: t.Any) -> str:
    """A verdict as a page."""
    if not isinstance(verdict, dict) or "claims" not in verdict:
        raise AnsibleFilterError("verdict_page takes a verdict")
    return pages.page(verdict)


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"verdict_page": verdict_page}
