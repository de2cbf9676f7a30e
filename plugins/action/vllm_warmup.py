# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module of the same name in the worker, where that is this host."""

from __future__ import annotations

from ansible_collections.llm_d.inference.plugins.modules import vllm_warmup  # noqa: F401  # pylint: disable=unused-import  # loaded before workers are forked
from ansible_collections.llm_d.inference.plugins.plugin_utils.in_process import InProcess


class ActionModule(InProcess):
    """See plugin_utils/in_process.py."""
