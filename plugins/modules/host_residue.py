# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_residue
short_description: Find or remove what a local cluster leaves on its host
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Finds processes, mounts, network namespaces, interfaces, nftables tables, iptables rules, cgroups and files of the local cluster.
  - Finds them by names and folders of this cluster; other container engines on the host are not touched.
  - With O(state=absent) removes them, and fails when something remains.
attributes:
  check_mode:
    description: Lists what would be removed.
  diff_mode:
    description: Shows what exists before and after.
  platform:
    platforms: linux
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.options.host_residue
  - llm_d.inference.attributes
"""

EXAMPLES = r"""
- name: Remove the local cluster from this host
  llm_d.inference.host_residue:
    state: absent
    folders: [/var/lib/llm-d-local, /run/llm-d-local]
    cache: /var/cache/llm-d-local
    bridge: llmd0
    cgroup: llm-d-local
    network: llm-d-local
    sysctl_backup: /var/lib/llm-d-local/sysctls.json
"""

RETURN = r"""
before:
  description: What existed before.
  returned: always
  type: list
  elements: str
  sample: [process 412 kubelet, mount /run/llm-d-local/netns/cni-1, network interface llmd0]
left:
  description: What exists now.
  returned: always
  type: list
  elements: str
  sample: []
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common import programs
from ..module_utils.common.module_options import argument_spec
from ..module_utils.local_cluster.host_residue import Residue
from ..module_utils.local_cluster.options import HOST_RESIDUE

ATTEMPTS = 5


def main() -> None:
    module = AnsibleModule(argument_spec(HOST_RESIDUE), supports_check_mode=True)
    programs.search_sbin()
    options = dict(module.params)
    state = options.pop("state")
    residue = Residue(**options)
    before = residue.find()
    removing = state == "absent" and bool(before)
    left = before
    # Repeated, since a supervisor may start a program just when it is stopped.
    for _attempt in range(ATTEMPTS if removing and not module.check_mode else 0):
        residue.remove()
        left = residue.find()
        if not left:
            break
        time.sleep(0.5)
    diff = {"before": "\n".join(before) + "\n", "after": "\n" if state == "absent" else "\n".join(before) + "\n"}
    if removing and left and not module.check_mode:
        remedy = "Run it again; a process may have been slow to end."
        module.fail_json(msg=f"The local cluster left behind: {'; '.join(left)}. {remedy}", before=before, left=left)
    module.exit_json(changed=removing, before=before, left=left, diff=diff)


if __name__ == "__main__":
    main()
