# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option of modules whose action plugin displays their progress."""

from __future__ import annotations


class ModuleDocFragment:
    """extends_documentation_fragment: llm_d.inference.progress"""

    DOCUMENTATION = r"""
options:
  progress_path:
    description: File to which progress lines are appended. The action plugin sets it.
    type: path
"""
