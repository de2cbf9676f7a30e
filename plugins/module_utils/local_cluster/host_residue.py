# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds and removes the processes, network objects and files of a local cluster on its host.

All are found by the names and folders of this cluster, so that another containerd, Docker or Kubernetes on the host is not changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..common import programs
from . import host_firewall

# Only these programs are killed, and only when their command line names one of our folders.
OUR_PROGRAMS = ("supervisord", "containerd", "containerd-shim", "etcd", "kube-", "kubelet", "crane", "coredns", "runc")

# Folders that the programs create outside the cluster's own; removed when empty.
SHARED_FOLDERS = (
    "/run/containerd/s",
    "/run/containerd",
    "/var/lib/kubelet/device-plugins",
    "/var/lib/kubelet",
    "/var/lib/cni/results",
    "/var/lib/cni",
    "/var/log/containers",
)


@dataclass
class Residue:
    """Names and folders of the cluster. folders: its state, which is removed; cache: its programs, which stay; cgroup: its name below the root;
    network: the name of its CNI network; tables: those of nftables, each as `family name`; sysctl_backup: the file with previous kernel settings.
    """

    folders: list[str]
    cache: str
    bridge: str
    cgroup: str
    network: str
    tables: list[str]
    sysctl_backup: str

    def find(self) -> list[str]:
        """One line for each process, object and file that exists, such as `process 412 kubelet`."""
        return [
            *(f"process {pid} {name}" for pid, name in self.processes()),
            *(f"mount {path}" for path in self.mounts()),
            *(f"network interface {name}" for name in self.interfaces()),
            *(f"nftables table {table}" for table in self.nft_tables()),
            *(f"iptables rule {' '.join(rule)}" for rule in self.firewall_rules()),
            *(f"cgroup {path}" for path in self.cgroups()),
            *(f"file {path}" for path in self.files()),
        ]

    def remove(self) -> None:
        """Removes all of them, in the order of dependencies."""
        self.stop_processes()
        for path in self.mounts():
            programs.run(["umount", "--lazy", path])
        for name in self.interfaces():
            programs.run(["ip", "link", "delete", name])
        for table in self.nft_tables():
            programs.run(["nft", "delete", "table", *table.split()])
        for rule in self.firewall_rules():
            programs.run(["iptables", "-D", *rule])
        _until(lambda: not self.cgroups(), self._remove_cgroups, 5)
        self._restore_sysctls()
        for path in self.files():
            _remove_tree(path)
        for folder in SHARED_FOLDERS:
            try:
                os.rmdir(folder)
            except OSError:
                continue  # absent, or used by another program

    def processes(self) -> list[tuple[int, str]]:
        """(pid, name) of the supervisor, its programs, the container shims and everything in their cgroups."""
        contained = self._contained()
        processes: list[tuple[int, str]] = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) not in (os.getpid(), os.getppid()):
                words = _command(entry)
                name = _program(words)
                if int(entry.name) in contained:
                    processes.append((int(entry.name), name or "in a container"))
                elif name.startswith(OUR_PROGRAMS) and _mentions(words, [*self.folders, self.cache]):
                    processes.append((int(entry.name), name))
        return sorted(processes)

    def stop_processes(self) -> None:
        """Kills the supervisor first, so that it restarts nothing, then all others, and waits for their end.

        Until it has ended, a killed process holds its ports and files, but no longer has the command line by which it is found.
        """
        killed: set[int] = set()

        def kill(prefix: str = "") -> None:
            for pid, name in self.processes():
                if name.startswith(prefix):
                    killed.add(pid)
                    _kill(pid)

        kill(prefix="supervisord")
        _until(lambda: not self.processes() and all(map(ended, killed)), kill, 30)

    def mounts(self) -> list[str]:
        """Mount points in our folders (volumes, container roots, pod network namespaces), innermost first."""
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
        points = [line.split()[4].encode().decode("unicode_escape") for line in lines]
        return sorted((each for each in points if self._ours(each)), key=len, reverse=True)

    def interfaces(self) -> list[str]:
        """The interfaces of pods on our bridge, then the bridge."""
        listed = _output(["ip", "-json", "link", "show"])
        links = json.loads(listed) if listed else []
        return [each["ifname"] for each in links if each.get("master") == self.bridge] + [each["ifname"] for each in links if each["ifname"] == self.bridge]

    def nft_tables(self) -> list[str]:
        """Our nftables tables that exist, each as `family name`; none without the backup file, since the names are kube-proxy's of any cluster."""
        if not os.path.exists(self.sysctl_backup):
            return []
        present = {line.removeprefix("table ") for line in _output(["nft", "list", "tables"]).splitlines()}
        return [table for table in self.tables if table in present]

    def firewall_rules(self) -> list[list[str]]:
        """The iptables rules that we inserted, each as chain and rule; they name our bridge."""
        wanted = host_firewall.rules(self.bridge).items()
        return [[chain, *rule] for chain, rule in wanted if host_firewall.present(_output(["iptables", "-S", chain]), chain, rule)]

    def cgroups(self) -> list[str]:
        """The folders of our cgroup: one with cgroup v2, one per controller with v1."""
        return [str(path) for path in cgroup_roots(self.cgroup) if path.is_dir()]

    def files(self) -> list[str]:
        """Our folders, and the files that the kubelet, CNI and shims write outside them, at paths that no setting changes."""
        own = [each for each in self.folders if os.path.exists(each)]
        # Each shim's folder has a file with the path of its socket.
        addresses = [path for folder in self.folders for path in Path(folder).glob("containerd/io.containerd.runtime.v2.task/*/*/address")]
        sockets = sorted({path.read_text(encoding="utf-8").removeprefix("unix://") for path in addresses})
        plugins = [str(path) for path in _listed("/var/lib/kubelet/device-plugins")] if os.path.exists(self.sysctl_backup) else []
        logs = [str(path) for path in _listed("/var/log/containers") if path.is_symlink() and self._ours(os.readlink(path))]
        results = [str(path) for path in _listed("/var/lib/cni/results") if path.name.startswith(self.network + "-")]
        # Results of the loopback plugin have the id of the pod sandbox in their names, not our network.
        sandboxes = tuple(path.name for folder in self.folders for path in Path(folder).glob("containerd/io.containerd.grpc.v1.cri/sandboxes/*"))
        results += [str(path) for path in _listed("/var/lib/cni/results") if any(each in path.name for each in sandboxes)]
        return [*logs, *sorted(set(results)), *plugins, *(path for path in sockets if os.path.exists(path)), *own]

    def _ours(self, path: str) -> bool:
        return any(path == folder or path.startswith(folder + "/") for folder in self.folders)

    def _contained(self) -> set[int]:
        pids: set[int] = set()
        for root in self.cgroups():
            for path in Path(root).rglob("cgroup.procs"):
                try:
                    pids.update(int(pid) for pid in path.read_text(encoding="utf-8").split())
                except OSError:
                    continue
        return pids

    def _remove_cgroups(self) -> None:
        for root in self.cgroups():
            for folder, _names, _files in os.walk(root, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    continue

    def _restore_sysctls(self) -> None:
        backup = Path(self.sysctl_backup)
        if backup.is_file():
            for name, value in json.loads(backup.read_text(encoding="utf-8")).items():
                if sysctl_path(name).exists():  # the kernel module of a setting may be unloaded
                    sysctl_path(name).write_text(value, encoding="utf-8")


def sysctl_path(name: str) -> Path:
    """The file of a sysctl such as `net.ipv4.ip_forward`."""
    return Path("/proc/sys", *name.split("."))


def cgroup_roots(name: str) -> list[Path]:
    """The folder of a cgroup of that name in each hierarchy of this host, whether or not it exists."""
    base = Path("/sys/fs/cgroup")
    if (base / "cgroup.controllers").exists():
        return [base / name]
    return [path / name for path in sorted(base.iterdir()) if path.is_dir() and not path.is_symlink() and (path / "cgroup.procs").exists()]


def _remove_tree(path: str) -> None:
    """Removes a file, link or folder with `rm`, which is several times faster than shutil on a container store."""
    programs.run(["rm", "-rf", "--one-file-system", path])


def _command(entry: Path) -> list[str]:
    try:
        return entry.joinpath("cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def _program(words: list[str]) -> str:
    """The name of the program; for a Python script, of the script."""
    names = [os.path.basename(word) for word in words[:2]]
    return names[1] if len(names) > 1 and names[0].startswith("python") else (names[0] if names else "")


def _mentions(words: list[str], folders: list[str]) -> bool:
    """Whether a command line names one of the folders or a path in one; `/run/x-2` is not in `/run/x`."""
    pattern = re.compile("|".join(rf"(?<![\w.-]){re.escape(each.rstrip('/'))}(?![\w.-])" for each in folders))
    return any(pattern.search(word) for word in words)


def _listed(folder: str) -> list[Path]:
    return sorted(Path(folder).iterdir()) if os.path.isdir(folder) else []


def _output(command: list[str]) -> str:
    """The output of a command; empty without the program, when there is nothing to list, as with `ip` before the first `up`."""
    try:
        return programs.run(command).stdout
    except FileNotFoundError:
        return ""


def ended(pid: int) -> bool:
    """Whether no thread of a process runs any longer; True for a zombie, which has not been waited for yet."""
    try:
        states = [each.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0] for each in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # a thread has ended in between
        return False
    return set(states) <= {"Z", "X"}


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _until(done: Callable[[], bool], step: Callable[[], object], seconds: float) -> None:
    """Repeats `step` until `done` returns True, for at most `seconds`."""
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        step()
        time.sleep(0.1)
