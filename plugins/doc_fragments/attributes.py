# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes of modules. An attribute that a module documents itself takes precedence."""

from __future__ import annotations


class ModuleDocFragment:
    """DOCUMENTATION: for every module. READ_ONLY: for modules that never change anything."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Says what would change and changes nothing.
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
