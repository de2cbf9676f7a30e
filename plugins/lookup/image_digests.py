# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: image_digests
author:
  - llm_d.inference contributors (@llm-d)
short_description: The digests of images, as their registries have them now
version_added: 1.0.0
description:
  - Requests the digest of each image's tag from its registry, several at a time and for at most 8 seconds each.
  - Fails with all images whose digest is not known.
options:
  _terms:
    description: Images with their tags.
    required: true
  registry:
    description: The mirror that the images are from, or a mapping from a registry to its mirror, as in C(llm_d_image_registry).
    type: raw
  credentials:
    description: Credentials of registries, as in C(llm_d_image_pull_credentials). Those of the Docker configuration of the host are used too.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Show the digests of all images
  ansible.builtin.debug:
    msg: "{{ lookup('llm_d.inference.image_digests', (lookup('llm_d.inference.plan') | llm_d.inference.needed_images).images) }}"
"""

RETURN = r"""
_raw:
  description: One mapping from each image, as upstream names it, to its digest.
  type: list
  elements: dict
  sample: [{"ghcr.io/llm-d/llm-d-inference-sim:v0.10.2": "sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"}]
"""

import json
import os
import typing as t
from pathlib import Path

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..module_utils.http import pull
from ..module_utils.plan.cluster.pins import pinnable
from ..module_utils.plan.parts.references import source_of
from ..plugin_utils.planning import plain


class LookupModule(LookupBase):
    """The digests of images."""

    def run(self, terms: list[t.Any], variables: dict[str, t.Any] | None = None, **kwargs: t.Any) -> list[t.Any]:
        """Return {image as upstream names it: digest} as the only element; raise with each image that has none."""
        self.set_options(var_options=variables, direct=kwargs)
        registry = plain(self.get_option("registry")) or None
        given = {pull.account_host(each["registry"]): (each["username"], each["password"]) for each in plain(self.get_option("credentials"))}
        images = [image for term in plain(terms) for image in ([term] if isinstance(term, str) else term) if pinnable(image)]
        digests, failures = pull.digests(images, {**_docker_accounts(), **given})
        if failures:
            raise AnsibleLookupError(
                "\n".join(["The digests of some images are not known.", *(f"  - {image}: {reason}." for image, reason in failures.items())])
            )
        return [{source_of(image, registry): digest for image, digest in digests.items()}]


def _docker_accounts() -> dict[str, tuple[str, str]]:
    """The accounts in the Docker configuration, as `docker login` and `crane auth login` write it."""
    folder = os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker"
    try:
        return pull.accounts_in(json.loads((Path(folder) / "config.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return {}
