# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hides texts in Ansible's output: ansible-core 2.22 masks registered texts in all later output of a play, older versions only in the result of the module.

An option that is no_log is hidden as a whole, every value in it: from 2.22 on in the output of all later tasks, too.
"""

from __future__ import annotations

import collections.abc as c
import typing as t

try:
    from ansible.module_utils.secrets import register_secrets
except ImportError:  # before ansible-core 2.22
    register_secrets = None

REGISTERS = register_secrets is not None


def register(texts: c.Iterable[str]) -> None:
    """Hide texts from now on, where ansible-core can."""
    if register_secrets is not None:
        register_secrets(texts)


def hide(module: t.Any, texts: c.Collection[str], instead: bool = False) -> None:
    """Hide texts in a module's result, beside the values of its options that are no_log, or instead of them."""
    if REGISTERS:
        register(texts)
    else:
        module.no_log_values = set(texts) | (set() if instead else module.no_log_values)
