# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module of the same name and says what it waits for."""

from __future__ import annotations

from ansible_collections.llm_d.inference.plugins.modules import helm_release  # noqa: F401  # pylint: disable=unused-import  # loaded before workers are forked
from ansible_collections.llm_d.inference.plugins.plugin_utils.followed import Followed


class ActionModule(Followed):
    """The module in the worker where it can be, its lines as they come."""
