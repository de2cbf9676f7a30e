# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions of ansible-core that run this collection. With an older one Ansible warns without a remedy, and continues until a plugin cannot be loaded.

Loaded before all other code of this collection, so it has to run with every ansible-core and its Python.
"""

from __future__ import annotations

import platform

from ansible.errors import AnsibleError
from ansible.release import __version__
from ansible.utils.display import Display

OLDEST = (2, 20)  # requires_ansible of meta/runtime.yml
RUNS = (2, 19)  # below that a plugin cannot be loaded
PYTHON = "3.12"  # the oldest Python of OLDEST


def advice(version: str, python: str) -> str:
    """What to do about an ansible-core that is older than OLDEST; empty for any other."""
    if _minor(version) >= OLDEST:
        return ""
    wanted = ".".join(map(str, OLDEST))
    return (
        f"llm_d.inference needs ansible-core {wanted} or newer, which runs on Python {PYTHON} or newer; this is ansible-core {version} on Python {python}. "
        f"Install a newer one beside it: python{PYTHON} -m venv ~/llm-d, then ~/llm-d/bin/pip install 'ansible-core>={wanted}' kubernetes, and start "
        "~/llm-d/bin/ansible-playbook. The page docs/jobs.md of this collection says where each system has that Python."
    )


def check(version: str = __version__) -> None:
    """Raise AnsibleError where this ansible-core cannot load the collection; warn, once a run, where it is merely older than what is tested."""
    problem = advice(version, platform.python_version())
    if problem and _minor(version) < RUNS:
        raise AnsibleError(problem)
    if problem:
        Display().warning(problem)


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
