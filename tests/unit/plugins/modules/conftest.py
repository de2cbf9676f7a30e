# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures that tests of modules share."""

from __future__ import annotations

from module_calls import call_module, clock_of_the_system

__all__ = ["call_module", "clock_of_the_system"]
