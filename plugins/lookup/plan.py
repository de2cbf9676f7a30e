# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: plan
author:
  - llm_d.inference contributors (@llm-d)
short_description: Derive the whole deployment from the llm_d_* variables
version_added: 1.0.0
description:
  - Reads every variable of the host whose name begins with C(llm_d_), rejects mistakes, and returns one dictionary with
    every name, label, port, image and flag of the deployment.
  - All roles of this collection read their facts from it, so that both sides of a setting have one source.
  - Options are C(llm_d_*) variables that take the place of those of the host, also of extra variables.
  - Relative C(llm_d_artifacts_dir) and C(llm_d_kubeconfig) are relative to the working directory of C(ansible-playbook).
options:
  _terms:
    description: Takes no terms.
seealso:
  - plugin: llm_d.inference.service_plan
    plugin_type: filter
    description: The same from a dictionary.
"""

EXAMPLES = r"""
- name: Show what would be deployed
  ansible.builtin.debug:
    msg: "{{ lookup('llm_d.inference.plan') }}"
"""

RETURN = r"""
_raw:
  description: The plan.
  type: list
  elements: dict
  sample:
    - instance: llm-d
      namespace: llm-d
      state: present
"""

import typing as t

from ansible.plugins.lookup import LookupBase

from ..plugin_utils.planning import planned


class LookupModule(LookupBase):
    """The plan of the host's llm_d_* variables."""

    def run(self, terms: list[t.Any], variables: dict[str, t.Any] | None = None, **kwargs: t.Any) -> list[t.Any]:
        """Return the plan as the only element; raise with every problem of the user's file. kwargs: variables in place of the host's."""
        return [planned({**(variables or {}), **kwargs}, self._templar.template)]
