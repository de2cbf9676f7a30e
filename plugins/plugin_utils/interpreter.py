# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python that runs modules: with a local connection that of ansible-playbook, which has the libraries, and not one that Ansible discovers."""

from __future__ import annotations

import re
import subprocess
import typing as t

from ansible import constants
from ansible.plugins.action import ActionBase

from ..module_utils.common import programs
from ..module_utils.common.objects import Facts

OLDEST = (3, 11)
# Messages of ansible-core about an interpreter that it refuses, and of our modules about a missing library, whose installation does not help an old one.
_REFUSAL = re.compile(r"requires (?:a minimum of )?Python|the Python library '[^']+' is missing for ")
_DISCOVERED = "discovered_interpreter_python"
_DISCOVERY = ("", "auto", "auto_legacy", "auto_silent", "auto_legacy_silent")


def wanted(action: ActionBase, variables: t.Mapping[str, t.Any]) -> str | None:
    """The interpreter that the inventory, an extra variable or ansible.cfg names; None where Ansible would discover one."""
    named = str(action._templar.template(constants.config.get_config_value("INTERPRETER_PYTHON", variables=dict(variables))) or "")
    return None if named in _DISCOVERY else named


def too_old(result: Facts, python: str | None) -> str:
    """Why a module that was sent to this host crashed before it could answer: its Python is older than OLDEST. Empty for any other result."""
    crashed = "module_stderr" in result or _REFUSAL.search(str(result.get("msg")))
    if not python or not result.get("failed") or not crashed:
        return ""
    try:
        version = programs.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], timeout=20).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
    if not re.fullmatch(r"[0-9]+\.[0-9]+", version) or tuple(map(int, version.split("."))) >= OLDEST:
        return ""
    wanted_version = ".".join(map(str, OLDEST))
    return (
        f"modules need Python {wanted_version} or newer with the library kubernetes, and ansible_python_interpreter is {python}, which is Python {version}: "
        "remove it for tasks on this host, which then run with the Python of ansible-playbook, or name a newer one"
    )


def facts(action: ActionBase, variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Fields for the result of an action that make all later tasks, of any collection, run with the Python of ansible-playbook."""
    if action._connection.transport != "local" or "ansible_playbook_python" not in variables or wanted(action, variables) is not None:
        return {}
    return {"ansible_facts": {_DISCOVERED: variables["ansible_playbook_python"]}}
