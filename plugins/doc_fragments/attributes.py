# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes and requirements of modules. What a module writes itself takes precedence, then the fragment named first."""

from __future__ import annotations


class ModuleDocFragment:
    """DOCUMENTATION: every module. READ_ONLY: one that never changes anything. NO_DIFF: one without diff mode. CLUSTER: one that connects to a cluster."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Returns what would change and changes nothing.
    support: full
  diff_mode:
    description: Shows what differs.
    support: full
  platform:
    description: Works on hosts of these systems.
    support: full
    platforms: posix
"""

    READ_ONLY = r"""
options: {}
attributes:
  check_mode:
    description: No difference, since it changes nothing.
    support: full
  diff_mode:
    description: Has no differences to show, since it changes nothing.
    support: none
"""

    NO_DIFF = r"""
options: {}
attributes:
  diff_mode:
    description: Has no difference to show.
    support: none
"""

    CLUSTER = r"""
options: {}
requirements:
  - python >= 3.11
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
"""
