# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: needed_roles
author:
  - llm_d.inference contributors (@llm-d)
short_description: The smallest set of permissions for a deployment
version_added: 0.1.0
description:
  - Takes the plan and returns the Roles that an account needs for it, one for each namespace, and a ClusterRole for cluster-wide permissions.
  - With C(llm_d_scope=namespace) there are Roles only. What a Helm chart grants in its own Roles is not included.
options:
  _input:
    description: The plan, from P(llm_d.inference.plan#lookup).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the roles to grant
  ansible.builtin.debug:
    msg: "{{ lookup('llm_d.inference.plan') | llm_d.inference.needed_roles }}"
"""

RETURN = r"""
_value:
  description: The Roles.
  type: list
  elements: dict
  sample:
    - apiVersion: rbac.authorization.k8s.io/v1
      kind: Role
      metadata: {name: llm-d-deployer, namespace: llm-d}
      rules:
        - {apiGroups: [apps], resources: [deployments], verbs: [get, list, create, patch, delete]}
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.plan.rbac import deployer_roles
from ..plugin_utils.planning import plain


def needed_roles(plan: t.Any) -> list[dict[str, t.Any]]:
    """The Roles that an account needs for a plan."""
    if not isinstance(plan, dict) or "preflight" not in plan:
        raise AnsibleFilterError("needed_roles takes a plan")
    planned = plain(plan)
    return deployer_roles([*planned["preflight"]["rights"], *planned["removal"]["rights"]])


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"needed_roles": needed_roles}
