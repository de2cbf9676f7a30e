# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The note of plugins that are not for playbooks of users."""

from __future__ import annotations


class ModuleDocFragment:
    """extends_documentation_fragment: llm_d.inference.internal"""

    DOCUMENTATION = r"""
options: {}
notes:
  - Internal to the roles of this collection. Its options and results may change in any release.
"""
