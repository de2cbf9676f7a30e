# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: local_network
short_description: Set up the bridge, kernel settings and cgroup of a local cluster on this host
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Creates the bridge for the pods and the address of the node, routes the Service range to it,
    changes kernel settings after saving their values, and creates the cgroup of all pods.
  - Where iptables drops packets, as Docker configures it for forwarded ones, packets over the bridge are accepted.
  - M(llm_d.inference.host_residue) removes everything again.
attributes:
  check_mode:
    description: Returns what would be made.
  platform:
    platforms: linux
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.options.local_network
  - llm_d.inference.attributes.no_diff
  - llm_d.inference.attributes
"""

EXAMPLES = r"""
- name: Make the bridge
  llm_d.inference.local_network:
    bridge: llmd0
    address: 10.215.0.1/24
    service_range: 10.216.0.0/24
    sysctls: {net.ipv4.ip_forward: "1"}
    sysctl_backup: /var/lib/llm-d-local/sysctls.json
    cgroup: llm-d-local
"""

RETURN = r"""
made:
  description: What was changed.
  returned: always
  type: list
  elements: str
  sample: [bridge llmd0, address 10.215.0.1/24, sysctl net.ipv4.ip_forward=1]
"""

import ipaddress
import json
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common import programs
from ..module_utils.common.module_options import argument_spec
from ..module_utils.local_cluster import host_firewall
from ..module_utils.local_cluster.host_residue import cgroup_roots, sysctl_path
from ..module_utils.local_cluster.options import LOCAL_NETWORK


def bridge_state(module: AnsibleModule, bridge: str) -> tuple[bool, list[str], list[str]]:
    """(whether the bridge exists, its addresses, its routes)."""
    code, out, _err = module.run_command(["ip", "-json", "address", "show", "dev", bridge])
    links = json.loads(out or "[]") if code == 0 else []
    addresses = [f"{each['local']}/{each['prefixlen']}" for link in links for each in link.get("addr_info", [])]
    code, out, _err = module.run_command(["ip", "-json", "route", "show", "dev", bridge])
    return bool(links), addresses, [each["dst"] for each in json.loads(out or "[]")] if code == 0 else []


def missing_commands(module: AnsibleModule) -> list[tuple[str, list[str]]]:
    """(description, command) for each missing part."""
    bridge, address = module.params["bridge"], module.params["address"]
    services = str(ipaddress.ip_network(module.params["service_range"]))
    present, addresses, routes = bridge_state(module, bridge)
    steps = []
    if not present:
        steps.append((f"bridge {bridge}", ["ip", "link", "add", bridge, "type", "bridge"]))
    if address not in addresses:
        steps.append((f"address {address}", ["ip", "address", "add", address, "dev", bridge]))
        # Set up after it has its address. A bridge without pods has no carrier, which is fine.
        steps.append((f"link {bridge} up", ["ip", "link", "set", bridge, "up"]))
    if services not in routes:
        steps.append((f"route {services}", ["ip", "route", "add", services, "dev", bridge]))
    return steps + missing_rules(module)


def missing_rules(module: AnsibleModule) -> list[tuple[str, list[str]]]:
    """(description, command) for each missing firewall rule, inserted before all others, since one of them may drop packets."""
    if not module.get_bin_path("iptables"):
        return []
    steps = []
    for chain, rule in host_firewall.rules(module.params["bridge"]).items():
        _code, listed, _err = module.run_command(["iptables", "-S", chain])
        if host_firewall.lacking(listed, chain, rule):
            steps.append((f"iptables {chain} {' '.join(rule)}", ["iptables", "-I", chain, *rule]))
    return steps


def wanted_sysctls(module: AnsibleModule) -> dict[str, str]:
    """The settings that differ. In check mode a setting may not exist yet, since its kernel module is not loaded."""
    wanted = {name: str(value) for name, value in module.params["sysctls"].items()}
    here = {name: sysctl_path(name).read_text(encoding="utf-8").split() for name in wanted if not module.check_mode or sysctl_path(name).exists()}
    return {name: value for name, value in wanted.items() if here.get(name) != value.split()}


def write_sysctls(backup: Path, values: dict[str, str]) -> None:
    """Save the current value of each setting the first time, then change it."""
    before = json.loads(backup.read_text(encoding="utf-8")) if backup.is_file() else {}
    for name in values:
        before.setdefault(name, sysctl_path(name).read_text(encoding="utf-8").strip())
    backup.parent.mkdir(parents=True, exist_ok=True)
    backup.write_text(json.dumps(before, indent=2), encoding="utf-8")
    for name, value in values.items():
        sysctl_path(name).write_text(value, encoding="utf-8")


def make_cgroup(path: Path) -> None:
    """Create the cgroup. A v1 cpuset needs its parent's processors and memory nodes before it accepts a process."""
    path.mkdir(exist_ok=True)
    for name in ("cpuset.cpus", "cpuset.mems"):
        here, parent = path / name, path.parent / name
        if here.exists() and parent.exists() and not here.read_text(encoding="utf-8").strip():
            here.write_text(parent.read_text(encoding="utf-8"), encoding="utf-8")


def main() -> None:
    module = AnsibleModule(argument_spec(LOCAL_NETWORK), supports_check_mode=True)
    programs.search_sbin()
    steps, sysctls = missing_commands(module), wanted_sysctls(module)
    backup = Path(module.params["sysctl_backup"])
    cgroups = [path for path in cgroup_roots(module.params["cgroup"]) if not path.is_dir()]
    made = [each for each, _command in steps] + [f"sysctl {name}={value}" for name, value in sysctls.items()] + [f"cgroup {path}" for path in cgroups]
    if not module.check_mode:
        # host_residue also takes the backup file as the mark of our cluster, so it is written first.
        if sysctls or not backup.is_file():
            write_sysctls(backup, sysctls)
        for what, command in steps:
            code, _out, err = module.run_command(command)
            if code:
                module.fail_json(msg=f"Cannot make {what}: `{' '.join(command)}` says: {err.strip()}. Run as root on a Linux kernel with bridge support.")
        for path in cgroups:
            make_cgroup(path)
    module.exit_json(changed=bool(made), made=made)


if __name__ == "__main__":
    main()
