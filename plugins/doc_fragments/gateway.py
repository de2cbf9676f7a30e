# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option of modules that send requests through a Gateway."""

from __future__ import annotations


class ModuleDocFragment:
    """extends_documentation_fragment: llm_d.inference.gateway"""

    DOCUMENTATION = r"""
options:
  gateway:
    description: The Gateway whose address requests are sent to, where no address is given.
    type: dict
    suboptions:
      namespace:
        description: Namespace of the Gateway.
        type: str
        required: true
      name:
        description: Name of the Gateway.
        type: str
        required: true
      listener:
        description: Name of the listener; the first one by default.
        type: str
"""
