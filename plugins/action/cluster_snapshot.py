# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads definitions, which are registered and not shown."""

from __future__ import annotations

import typing as t

from ..modules import cluster_snapshot  # noqa: F401  # pylint: disable=unused-import  # loaded before workers are forked
from ..plugin_utils.in_process import InProcess


class ActionModule(InProcess):
    """See in_process.py."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """As the module. Definitions hold values of environment variables, so callbacks do not show them. A failure is shown."""
        result = super().run(tmp, task_vars)
        return result if result.get("failed") else {**result, "_ansible_no_log": True}
