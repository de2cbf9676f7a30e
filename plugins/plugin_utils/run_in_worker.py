# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action plugin of each short module: runs the module of its own name in the worker. plugins/action has one link to it per module."""

from __future__ import annotations

import importlib

from ..plugin_utils.in_process import InProcess

# Action plugins are loaded before Ansible forks its workers, so that every worker finds the module loaded.
importlib.import_module(__name__.replace(".plugins.action.", ".plugins.modules."))


class ActionModule(InProcess):
    """See in_process.py."""
