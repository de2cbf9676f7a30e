# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements of a local cluster on its host. Each check yields its problems, with remedies."""

from __future__ import annotations

import errno
import ipaddress
import itertools
import os
import platform
import re
import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..common import programs

# Capabilities that the cluster needs, with their bit numbers in CapEff of /proc/self/status.
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21, "CAP_SYS_CHROOT": 18}
CGROUP_CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
# Commands that the cluster calls, with their Debian packages.
PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "nft": "nftables",
    "conntrack": "conntrack",
    "ip": "iproute2",
    "mount": "mount",
    "ldd": "libc-bin",
    "zstd": "zstd",
}
CNI_PACKAGE = "containernetworking-plugins"
# A loopback address to which no program binds: on it, a port is in use only if a program listens on all addresses.
UNUSED_ADDRESS = "127.255.255.254"
DOWN_HINT = "`make down` stops it if it belongs to an earlier local cluster"


@dataclass(frozen=True)
class Needs:
    """Requirements of the cluster. memory, disk: MiB; folders: where it writes; ports: (address, port, `tcp` or `udp`, program); ranges: of pods and Services;
    bridge: its network interface; cni_bin: folder of the CNI plugins; foreign_cni: folders where another cluster has its CNI configuration; running: whether
    the cluster already runs; check_mode: load no kernel module; go: path of the Go compiler, None when none is new enough; go_package: `name==version` of the
    Python package that has a Go compiler.
    """

    memory: int
    disk: int
    folders: list[str]
    ports: list[tuple[str, int, str, str]]
    ranges: list[str]
    bridge: str
    cni_bin: str
    foreign_cni: list[str]
    running: bool
    check_mode: bool
    go: str | None
    go_package: str


def problems(needs: Needs) -> list[str]:
    """All problems of this host, each with its remedy."""
    if platform.system() != "Linux":
        return [f"This is {platform.system()}, and a local cluster needs Linux: use a Linux host or virtual machine, or an inventory of a cluster you have."]
    checks = [_machine(), _permissions(), _cgroups(), _kernel(needs), _memory(needs), _disk(needs), _commands(needs), _go(needs)]
    if not needs.running:
        checks += [_ports(needs), _ranges(needs), _other_cluster(needs)]
    return [problem for check in checks for problem in check]


def missing_packages(cni_bin: str) -> list[str]:
    """The Debian packages of the commands that are not on this host."""
    absent = [package for command, package in PACKAGES.items() if not shutil.which(command)]
    return absent + ([] if Path(cni_bin, "bridge").exists() else [CNI_PACKAGE])


def _machine() -> Iterator[str]:
    if platform.machine() != "x86_64":
        yield f"This machine is {platform.machine()}; the images are made for x86_64 only: use an x86_64 host."


def _permissions() -> Iterator[str]:
    if os.geteuid() != 0:
        yield f"You are user {os.geteuid()}, and a kubelet needs root: run the same command with sudo."
        return
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    match = re.search(r"^CapEff:\s*(\w+)$", status, re.MULTILINE)
    effective = int(match.group(1), 16) if match else 0
    absent = [name for name, bit in CAPABILITIES.items() if not effective >> bit & 1]
    if absent:
        yield f"Root here lacks {', '.join(absent)}, as in an unprivileged container: start that container privileged, or use the host itself."


def _cgroups() -> Iterator[str]:
    unified = Path("/sys/fs/cgroup/cgroup.controllers")
    if unified.exists():
        present = set(unified.read_text(encoding="utf-8").split())
    else:
        present = {each.name for each in Path("/sys/fs/cgroup").glob("*") if (each / "cgroup.procs").exists()}
    absent = [each for each in CGROUP_CONTROLLERS if each not in present]
    if absent:
        yield f"The cgroup controllers {', '.join(absent)} are missing under /sys/fs/cgroup: mount cgroups, or enable them on the kernel's command line."


def _kernel(needs: Needs) -> Iterator[str]:
    filesystems = Path("/proc/filesystems").read_text(encoding="utf-8").split()
    if "overlay" not in filesystems and not _modprobe("overlay", needs):
        yield "The kernel has no overlay file system, which containerd needs: load the module with `modprobe overlay`."
    if not Path("/proc/sys/net/bridge").is_dir() and not _modprobe("br_netfilter", needs):
        yield "The kernel has no br_netfilter, without which pods cannot reach Services: load the module with `modprobe br_netfilter`."
    if shutil.which("nft") and programs.run(["nft", "list", "tables"]).returncode and os.geteuid() == 0:
        yield "`nft list tables` fails, so kube-proxy cannot write its rules: use a kernel with nf_tables (`modprobe nf_tables`)."


def _memory(needs: Needs) -> Iterator[str]:
    lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines())
    available = int(lines["MemAvailable"].split()[0]) // 1024
    if not needs.running and available < needs.memory:
        remedy = "stop something, or lower the model services' replicas and local_cluster_memory_mib"
        yield f"{available} MiB of memory are free, and {needs.memory} are needed: {remedy}."


def _disk(needs: Needs) -> Iterator[str]:
    # Folders of one file system share its space: one problem for each file system.
    for path in {each.stat().st_dev: each for each in map(_existing, reversed(needs.folders))}.values():
        free = shutil.disk_usage(path).free // 2**20
        if not needs.running and free < needs.disk:
            yield f"{free} MiB are free under {path}, and {needs.disk} are needed: free some, or put local_cluster_cache and local_cluster_home elsewhere."


def _existing(folder: str) -> Path:
    """The folder, or its nearest parent that exists."""
    return next(path for path in [Path(folder), *Path(folder).parents] if path.exists())


def _commands(needs: Needs) -> Iterator[str]:
    absent = missing_packages(needs.cni_bin)
    if absent and not shutil.which("apt-get"):
        yield f"These are missing, and there is no apt-get to install them: {', '.join(absent)}. Install them with this system's package manager."


def _go(needs: Needs) -> Iterator[str]:
    if needs.go is not None:
        return
    name, _equals, version = needs.go_package.partition("==")
    listed = programs.run([sys.executable, "-m", "pip", "index", "versions", name]).stdout
    if version not in listed.replace(",", " ").split():
        reason = f"no Python package index that this host reaches has {needs.go_package}"
        yield f"There is no Go compiler that is new enough, and {reason}: install Go and put it on the PATH."


def _ports(needs: Needs) -> Iterator[str]:
    for address, port, protocol, program in needs.ports:
        if _in_use(address, port, protocol):
            finder = f"`ss -l{protocol[0]}np 'sport = :{port}'` names it; {DOWN_HINT}"
            yield f"Port {port}/{protocol}, which {program} needs, is in use on this host: stop the program that has it ({finder})."


def _in_use(address: str, port: int, protocol: str) -> bool:
    """Whether a program uses the port on that address or, when this host does not have the address yet, on all addresses."""
    for here in (address, UNUSED_ADDRESS):
        with socket.socket(type=socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM) as probe:
            # With SO_REUSEADDR, as servers set it, a closed connection does not count. With UDP it would allow two programs on one port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, protocol == "tcp")
            try:
                probe.bind((str(ipaddress.IPv4Address(here)), port))
                return False
            except ipaddress.AddressValueError:
                continue  # not an IPv4 address, since it comes from an invalid range, which _ranges reports
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL:
                    return error.errno == errno.EADDRINUSE  # not EACCES: _permissions reports that
    return False


def _ranges(needs: Needs) -> Iterator[str]:
    ranges = [each for each in map(_network, needs.ranges) if each]
    for text in needs.ranges:
        if _network(text) is None:
            yield f"{text!r} is no range for local_cluster_pod_range or local_cluster_service_range: write an IPv4 one that ends in .0, such as 10.215.0.0/24."
    if any(one.overlaps(other) for one, other in itertools.combinations(ranges, 2)):
        yield f"The ranges {' and '.join(needs.ranges)} overlap: choose others with local_cluster_pod_range and local_cluster_service_range."
    for line in Path("/proc/net/route").read_text(encoding="utf-8").splitlines()[1:]:
        name, destination, _gateway, _flags, _ref, _use, _metric, mask = line.split()[:8]
        if name == needs.bridge or mask == "00000000":
            continue
        present = ipaddress.ip_network((bytes.fromhex(destination)[::-1], bin(int(mask, 16)).count("1")))
        for wanted in ranges:
            if present.overlaps(wanted):
                yield f"The range {wanted} overlaps {present} on {name}: choose others with local_cluster_pod_range and local_cluster_service_range."


def _network(text: str) -> ipaddress.IPv4Network | None:
    """The range; None when it is invalid or its first address does not end in .0: the address of the node is the same with .1 in the place of .0."""
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError:
        return None
    return network if str(network.network_address).endswith(".0") and "/" in text else None


def _other_cluster(needs: Needs) -> Iterator[str]:
    for folder in needs.foreign_cni:
        # Podman keeps its own network there, which is not a cluster.
        files = [path for path in Path(folder).glob("*.conf*") if "podman" not in path.name] if os.path.isdir(folder) else []
        if files:
            remedy = "Use a host without Kubernetes, or remove what is left of the old one."
            yield f"Another cluster's CNI configuration is here: {', '.join(map(str, files))}. {remedy}"
    kubelets = running_kubelets()
    if kubelets:
        yield f"A kubelet runs on this host already (process {kubelets[0]}): use that cluster with another inventory, or stop it ({DOWN_HINT})."


def running_kubelets() -> list[int]:
    """The process ids of running kubelets. A zombie, which has ended but has not been waited for, has no command line and is left out."""
    named = [path for path in Path("/proc").glob("[0-9]*/comm") if _read(path).strip() == "kubelet"]
    return [int(path.parent.name) for path in named if _read(path.with_name("cmdline"))]


def _modprobe(name: str, needs: Needs) -> bool:
    """Whether a kernel module could be loaded; in check mode, whether it can be."""
    command = ["modprobe", "--dry-run", name] if needs.check_mode else ["modprobe", name]
    return bool(shutil.which("modprobe")) and programs.run(command).returncode == 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
