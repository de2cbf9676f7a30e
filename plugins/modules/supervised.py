# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supervised
short_description: Run the programs of a supervisor configuration
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Starts C(supervisord) with a configuration file, or makes a running one apply changes of it.
  - Returns when all programs run. Fails with the end of the log of each program that does not.
options:
  config:
    description: The configuration file, which must have a C([supervisorctl]) section.
    type: path
    required: true
  bin:
    description: Folder with C(supervisord) and C(supervisorctl).
    type: path
    required: true
  timeout:
    description: Seconds to wait until all programs run.
    type: int
    default: 60
attributes:
  check_mode:
    description: Returns whether it would start or change anything.
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes.no_diff
  - llm_d.inference.attributes
"""

EXAMPLES = r"""
- name: Run the cluster's components
  llm_d.inference.supervised:
    config: /var/lib/llm-d-local/supervisord.conf
    bin: /var/cache/llm-d-local/python/bin
"""

RETURN = r"""
programs:
  description: State of each program.
  returned: always
  type: dict
  sample: {etcd: RUNNING, kubelet: RUNNING}
"""

import configparser
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.programs import search_sbin

SETTLED = ("RUNNING", "FATAL")


def control(module: AnsibleModule, *command: str) -> tuple[int, str]:
    """(exit status, output) of supervisorctl: 4 when the supervisor cannot be reached, 3 when a program does not run."""
    code, out, err = module.run_command([f"{module.params['bin']}/supervisorctl", "-c", module.params["config"], *command])
    return code, (out + err).strip()


def programs(module: AnsibleModule) -> dict[str, str] | None:
    """The state of each program; None when no supervisor runs with this configuration."""
    if not Path(module.params["bin"], "supervisorctl").exists():  # check mode, before anything is installed
        return None
    code, out = control(module, "status")
    if code == 4 or "no such file" in out or "refused" in out:
        return None
    return {words[0]: words[1] for words in (line.split() for line in out.splitlines()) if len(words) > 1}


def end_of_log(module: AnsibleModule, program: str) -> str:
    """The last lines of a program's log, as one line."""
    parser = configparser.RawConfigParser(strict=False, inline_comment_prefixes=(";",))
    parser.read(module.params["config"])
    path = Path(parser.get(f"program:{program}", "stdout_logfile", fallback=""))
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-5:] if path.is_file() else []
    return f"{program} ({path}): " + " | ".join(lines)


def wait_until_running(module: AnsibleModule) -> dict[str, str]:
    end = time.monotonic() + module.params["timeout"]
    while True:
        states = programs(module) or {}
        if states and all(each == "RUNNING" for each in states.values()):
            return states
        if (states and all(each in SETTLED for each in states.values())) or time.monotonic() > end:
            failed = [name for name, state in states.items() if state != "RUNNING"]
            ends = "\n  ".join(end_of_log(module, name) for name in failed)
            names = ", ".join(failed) or "the supervisor itself"
            module.fail_json(msg=f"These programs do not run: {names}. The end of their logs:\n  {ends}", programs=states)
        time.sleep(0.3)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "config": {"type": "path", "required": True},
            "bin": {"type": "path", "required": True},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    search_sbin()
    states = programs(module)
    changed = states is None
    if states is not None:
        _code, news = control(module, "reread")
        changed = "No config updates" not in news or any(each != "RUNNING" for each in states.values())
    if module.check_mode or not changed:
        module.exit_json(changed=changed, programs=states or {})
    if states is None:
        code, out, err = module.run_command([f"{module.params['bin']}/supervisord", "-c", module.params["config"]])
        if code:
            module.fail_json(msg=f"supervisord did not start: {(out + err).strip()[:500]}")
    else:
        control(module, "update")
        control(module, "start", "all")
    module.exit_json(changed=True, programs=wait_until_running(module))


if __name__ == "__main__":
    main()
