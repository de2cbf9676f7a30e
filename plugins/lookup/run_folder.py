# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: run_folder
author:
  - llm_d.inference contributors (@llm-d)
short_description: A folder for the temporary files of a task, which the next run removes
version_added: 1.0.0
description:
  - Returns the path of a folder that ends with the task. If the task is interrupted, the next run of a playbook of this collection removes the folder.
  - M(kubernetes.core.helm) writes values and a copy of the kubeconfig to temporary files, which an interruption leaves behind.
options:
  _terms:
    description: Takes no terms.
extends_documentation_fragment: llm_d.inference.internal
"""

EXAMPLES = r"""
- name: Install the release
  kubernetes.core.helm:
    release_name: envoy-gateway
    release_namespace: envoy-gateway-system
    chart_ref: oci://docker.io/envoyproxy/gateway-helm
  environment:
    TMPDIR: "{{ lookup('llm_d.inference.run_folder') }}"
"""

RETURN = r"""
_raw:
  description: The path. Empty unless C(ansible_connection) is V(local), since the folder is on the control host.
  type: list
  elements: str
  sample: [/tmp/llm_d-4711-x8v1k2]
"""

import typing as t

from ansible.plugins.lookup import LookupBase

from ..plugin_utils import run_files


class LookupModule(LookupBase):
    """The folder for temporary files of this worker."""

    def run(self, terms: list[t.Any], variables: dict[str, t.Any] | None = None, **kwargs: t.Any) -> list[str]:
        """Return the path as the only element."""
        return [run_files.folder() if (variables or {}).get("ansible_connection") == "local" else ""]
