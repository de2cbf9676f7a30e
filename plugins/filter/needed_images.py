# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: needed_images
author:
  - llm_d.inference contributors (@llm-d)
short_description: Everything that a deployment downloads
version_added: 0.1.0
description:
  - Takes the plan and lists images, charts and CRDs, for mirrors and air-gapped clusters.
  - Images that a chart names itself, without a value for them, are not included.
options:
  _input:
    description: The plan, from P(llm_d.inference.plan#lookup).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what to mirror
  ansible.builtin.debug:
    msg: "{{ (lookup('llm_d.inference.plan') | llm_d.inference.needed_images).images }}"
"""

RETURN = r"""
_value:
  description: Lists C(images), as pods name them, C(sources), the same as upstream names them, C(charts) and C(definitions).
  type: dict
  sample:
    images: ["registry.example.com:5000/llm-d/llm-d-inference-scheduler:v0.7.1"]
    sources: ["ghcr.io/llm-d/llm-d-inference-scheduler:v0.7.1"]
    charts: [{release: envoy-gateway, ref: "oci://docker.io/envoyproxy/gateway-helm", repo: null, version: v1.9.1}]
    definitions: ["https://github.com/kubernetes-sigs/gateway-api/releases/download/v1.6.1/standard-install.yaml"]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.plan.images import needed
from ..plugin_utils.planning import plain


def needed_images(plan: t.Any) -> dict[str, t.Any]:
    """Images, charts and CRDs of a plan."""
    if not isinstance(plan, dict) or "services" not in plan:
        raise AnsibleFilterError("needed_images takes a plan")
    return needed(plain(plan))


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"needed_images": needed_images}
