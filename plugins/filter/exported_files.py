# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: exported_files
author:
  - llm_d.inference contributors (@llm-d)
short_description: A deployment as files for GitOps
version_added: 0.2.0
description:
  - Takes the plan and the definitions that M(llm_d.inference.role_facts) returns, and returns a file for each object, with its wave of Argo CD,
    C(kustomization.yaml) and C(NEEDS.md), which lists the CRDs, charts and Secrets that the files do not hold.
positional: _input, definitions
options:
  _input:
    description: The plan, from P(llm_d.inference.plan#lookup).
    type: dict
    required: true
  definitions:
    description: The definitions of every object.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Compute the objects
  llm_d.inference.role_facts:
    role: export
    derive: [everything]
  register: facts

- name: Show the names of the files
  ansible.builtin.debug:
    msg: "{{ facts.plan | llm_d.inference.exported_files(facts.everything) | list }}"
"""

RETURN = r"""
_value:
  description: Content by file name.
  type: dict
  sample:
    service-llm-d-llama-8b.yml: "---\napiVersion: v1\nkind: Service\n..."
    kustomization.yaml: "---\napiVersion: kustomize.config.k8s.io/v1beta1\n..."
    NEEDS.md: "# What has to be there before these files are applied\n..."
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.plan.export import exported
from ..plugin_utils.planning import plain


def exported_files(plan: t.Any, definitions: t.Any) -> dict[str, str]:
    """{file name: content}."""
    if not isinstance(plan, dict) or "services" not in plan or not isinstance(definitions, list):
        raise AnsibleFilterError("exported_files takes a plan and a list of definitions")
    return exported(plain(plan), plain(definitions))


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"exported_files": exported_files}
