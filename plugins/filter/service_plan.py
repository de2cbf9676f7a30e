# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: service_plan
author:
  - llm_d.inference contributors (@llm-d)
short_description: Derive the whole deployment from a dictionary of llm_d_* variables
version_added: 1.0.0
description:
  - Takes a dictionary of C(llm_d_*) variables, rejects mistakes, and returns one dictionary with every name, label, port,
    image and flag of the deployment.
options:
  _input:
    description: The variables, such as C(llm_d_model_services).
    type: dict
    required: true
seealso:
  - plugin: llm_d.inference.plan
    plugin_type: lookup
    description: The same from the variables of the host.
"""

EXAMPLES = r"""
- name: Show what a file would deploy
  ansible.builtin.debug:
    msg: "{{ (lookup('ansible.builtin.file', 'llm_d.yml') | from_yaml | llm_d.inference.service_plan).services | map(attribute='name') }}"
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
  sample:
    instance: llm-d
    namespace: llm-d
    state: present
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.plan.build import Mistakes, plan
from ..plugin_utils.planning import plain


def service_plan(variables: t.Any) -> dict[str, t.Any]:
    """The plan of a dictionary of llm_d_* variables."""
    if not isinstance(variables, dict):
        raise AnsibleFilterError(f"service_plan takes a dictionary of llm_d_* variables, not {type(variables).__name__}.")
    try:
        return plan(plain(variables))
    except Mistakes as mistakes:
        raise AnsibleFilterError(str(mistakes)) from None


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"service_plan": service_plan}
