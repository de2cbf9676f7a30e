# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: connection
author:
  - llm_d.inference contributors (@llm-d)
short_description: The connection options of a host's tasks
version_added: 1.0.0
description:
  - Returns the options that are set, for C(module_defaults).
  - Returns none where the environment has a server and an account, as an AWX credential sets them. Modules of this collection ignore a kubeconfig then,
    but M(kubernetes.core.helm) refuses the context of the file beside the certificate authority of the environment.
options:
  _terms:
    description: Takes no terms.
  kubeconfig:
    description: Path of the kubeconfig.
    type: str
  context:
    description: Context in the kubeconfig.
    type: str
extends_documentation_fragment: llm_d.inference.internal
"""

EXAMPLES = r"""
- name: List the nodes
  kubernetes.core.k8s_info:
    kind: Node
  module_defaults:
    kubernetes.core.k8s_info: "{{ lookup('llm_d.inference.connection', kubeconfig=llm_d_kubeconfig, context=llm_d_context) }}"
"""

RETURN = r"""
_raw:
  description: The options.
  type: list
  elements: dict
  sample: [{context: prod}]
"""

import typing as t

from ansible.plugins.lookup import LookupBase

from ..plugin_utils.planning import connection


class LookupModule(LookupBase):
    """The connection options of the host's tasks."""

    def run(self, terms: list[t.Any], variables: dict[str, t.Any] | None = None, **kwargs: t.Any) -> list[dict[str, t.Any]]:
        """Return the options as the only element. kwargs: kubeconfig and context."""
        return [connection(variables or {}, kwargs)]
