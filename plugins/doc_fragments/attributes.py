# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What modules tell about themselves; what a module writes itself goes before."""

from __future__ import annotations


class ModuleDocFragment:
    """DOCUMENTATION: every module. READ_ONLY: one that changes nothing, whatever it is asked."""

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
    description: Does the same, since it changes nothing.
    support: full
  diff_mode:
    description: It changes nothing, so there is no difference to show.
    support: none
"""
