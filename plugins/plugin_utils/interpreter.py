# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Python runs modules: with a local connection that of ansible-playbook, which has the libraries, and not one that Ansible discovers."""

from __future__ import annotations

import typing as t

from ansible import constants
from ansible.plugins.action import ActionBase

_DISCOVERED = "discovered_interpreter_python"
_DISCOVERY = ("", "auto", "auto_legacy", "auto_silent", "auto_legacy_silent")


def wanted(action: ActionBase, variables: t.Mapping[str, t.Any]) -> str | None:
    """The interpreter that the inventory, an extra variable or ansible.cfg names; None where Ansible would discover one."""
    named = str(action._templar.template(constants.config.get_config_value("INTERPRETER_PYTHON", variables=dict(variables))) or "")
    return None if named in _DISCOVERY else named


def facts(action: ActionBase, variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What the result of an action says, so that all tasks after it, of whatever collection, run with the Python of ansible-playbook."""
    if action._connection.transport != "local" or "ansible_playbook_python" not in variables or wanted(action, variables) is not None:
        return {}
    return {"ansible_facts": {_DISCOVERED: variables["ansible_playbook_python"]}}
