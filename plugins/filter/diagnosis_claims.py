# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: diagnosis_claims
author:
  - llm_d.inference contributors (@llm-d)
short_description: Add the claims that do not hold to a diagnosis
version_added: 0.1.0
description:
  - For the role P(llm_d.inference.diagnose#role).
  - Takes the result of M(llm_d.inference.stack_diagnosis) that names no cause, and returns it with a symptom for each claim of the verdict that does not hold.
options:
  _input:
    description: The result.
    type: dict
    required: true
  verdict:
    description: The verdict, from M(llm_d.inference.stack_validation).
    type: dict
    required: true
extends_documentation_fragment: llm_d.inference.internal
"""

EXAMPLES = r"""
- name: Show what is wrong
  ansible.builtin.debug:
    msg: "{{ (diagnosis | llm_d.inference.diagnosis_claims(validation_verdict)).lines }}"
"""

RETURN = r"""
_value:
  description: The result, with the number of C(claims), and with other C(ok), C(summary), C(findings), C(lines) and C(markdown) where a claim does not hold.
  type: dict
  sample: {ok: true, summary: no known failure was found, claims: 21}
"""

import typing as t

from ..module_utils.common.commands import spelled
from ..module_utils.diagnosis import report
from ..plugin_utils.planning import plain


def diagnosis_claims(found: t.Any, verdict: t.Any) -> dict[str, t.Any]:
    """The result with the claims that do not hold."""
    made: dict[str, t.Any] = spelled(report.with_claims(plain(found), plain(verdict)))
    return {**made, "lines": report.lines(made), "markdown": report.markdown(made)}


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"diagnosis_claims": diagnosis_claims}
