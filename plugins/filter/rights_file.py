# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: rights_file
author:
  - llm_d.inference contributors (@llm-d)
short_description: The smallest set of permissions for a deployment, as a file to apply
version_added: 0.2.0
description:
  - Takes the plan and returns a file for C(kubectl apply -f) with a ServiceAccount, a Role for each namespace with what deploying, validating, diagnosing and
    benchmarking need there, a ClusterRole for what has no namespace, and their bindings. It creates no namespace.
  - With C(llm_d_scope=namespace) there are Roles only. What a Helm chart grants in its own Roles is not included.
positional: _input, options
options:
  _input:
    description: The plan, from P(llm_d.inference.plan#lookup).
    type: dict
    required: true
  options:
    description: The variables C(list_rights_*) of C(playbooks/list_rights.yml), by their whole names.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Show the file
  ansible.builtin.debug:
    msg: "{{ (lookup('llm_d.inference.plan') | llm_d.inference.rights_file({'list_rights_user': 'jane'})).content }}"
"""

RETURN = r"""
_value:
  description: The C(name) and C(content) of the file, the wanted C(state) of it, and C(lines) that say what to do with it.
  type: dict
  sample:
    state: present
    name: rights-namespace.yml
    content: "# The permissions that ...\n---\napiVersion: v1\nkind: ServiceAccount\n..."
    lines: ["for: ServiceAccount llm-d/llm-d-deployer", "namespaces that must exist (kubectl create namespace NAME): llm-d"]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.plan.build import explain
from ..module_utils.plan.rights_file import PREFIX, chosen
from ..module_utils.plan.rights_file import rights_file as made_of
from ..plugin_utils.planning import plain


def rights_file(plan: t.Any, options: t.Any = None) -> dict[str, t.Any]:
    """{state, name, content, lines} of the file with the permissions that a plan needs."""
    if not isinstance(plan, dict) or "preflight" not in plan:
        raise AnsibleFilterError("rights_file takes a plan")
    settings, found = chosen(plain(options or {}))
    if found:
        raise AnsibleFilterError(explain(found, f"{PREFIX}* variables"))
    return {"state": settings["state"], **made_of(plain(plan), settings)}


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"rights_file": rights_file}
