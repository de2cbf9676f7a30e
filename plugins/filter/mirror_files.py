# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: mirror_files
author:
  - llm_d.inference contributors (@llm-d)
short_description: Files for tools that copy images to a mirror
version_added: 0.1.0
description:
  - Takes what P(llm_d.inference.needed_images#filter) returns and writes lists for crane, skopeo, oc-mirror and OpenShift's mirror objects.
  - An image whose tag depends on the nodes (C(<system>), of NVIDIA's driver) is in C(images.txt), and a comment in C(crane-copy.sh).
positional: _input, registry
options:
  _input:
    description: What P(llm_d.inference.needed_images#filter) returns.
    type: dict
    required: true
  registry:
    description: The mirror, or a mapping from a registry to its mirror, as in C(llm_d_image_registry). Without one the files have a placeholder.
    type: raw
"""

EXAMPLES = r"""
- name: Write what crane, skopeo and oc-mirror read
  ansible.builtin.copy:
    dest: "mirror/{{ item.key }}"
    content: "{{ item.value }}"
    mode: "0644"
  loop: "{{ lookup('llm_d.inference.plan') | llm_d.inference.needed_images | llm_d.inference.mirror_files('mirror.example.com/llm-d') | dict2items }}"
"""

RETURN = r"""
_value:
  description: Content by file name.
  type: dict
  sample:
    images.txt: "ghcr.io/llm-d/llm-d-inference-scheduler:v0.7.1\n"
    crane-copy.sh: "#!/bin/sh\nset -eu\ncrane copy ghcr.io/llm-d/..."
    skopeo-sync.yml: "ghcr.io:\n  images:\n    llm-d/llm-d-inference-scheduler:\n    - v0.7.1\n"
    openshift-mirrors.yml: "apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\n..."
    oc-mirror.yml: "kind: ImageSetConfiguration\n..."
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.plan import mirrors
from ..plugin_utils.planning import plain


def mirror_files(needed: t.Any, registry: t.Any = None) -> dict[str, str]:
    """{file name: content}."""
    if not isinstance(needed, dict) or "sources" not in needed:
        raise AnsibleFilterError("mirror_files takes what needed_images returns")
    if registry and not isinstance(registry, (str, dict)):
        raise AnsibleFilterError("mirror_files takes a registry, or a mapping from a registry to its mirror")
    return mirrors.mirror_files(plain(needed["sources"]), plain(registry) or None)


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"mirror_files": mirror_files}
