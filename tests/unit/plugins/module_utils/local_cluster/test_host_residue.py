# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The residue of a cluster is found and removed: real processes, mounts, interfaces, tables and cgroups. Those of others are not."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster import host_residue
from own_host import needs_root, network_namespace, running, sh

TABLES = ["ip llm-d-test", "ip6 llm-d-test"]


@pytest.fixture(name="system", autouse=True)
def system_folders(tmp_path, monkeypatch):
    """Folders outside the cluster's own, which a real cluster of this host may use: here they are in the test's folder."""
    listed = host_residue._listed
    monkeypatch.setattr(host_residue, "_listed", lambda folder: listed(f"{tmp_path}/system{folder}"))
    monkeypatch.setattr(host_residue, "SHARED_FOLDERS", [f"{tmp_path}/system{each}" for each in host_residue.SHARED_FOLDERS])
    for each in host_residue.SHARED_FOLDERS:
        os.makedirs(each, exist_ok=True)
    return tmp_path / "system"


@pytest.fixture(name="residue")
def test_cluster(tmp_path):
    """The residue of a cluster with folders, a bridge, a cgroup and a network of this test alone."""
    for name in ("home", "run", "cache"):
        (tmp_path / name).mkdir()
    name = f"llm-d-test-{os.getpid()}"
    return host_residue.Residue(
        folders=[str(tmp_path / "home"), str(tmp_path / "run")], cache=str(tmp_path / "cache"), bridge="llmdtest0",
        cgroup=name, network=name, tables=TABLES, sysctl_backup=str(tmp_path / "home/sysctls.json"))  # fmt: skip


@contextlib.contextmanager
def program(path, *arguments):
    """A real program under another name, such as etcd; it sleeps, whatever its arguments (`sleep 60 0s` is 60 s)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy("/bin/sleep", path)
    with subprocess.Popen([path, *arguments]) as process:
        try:
            yield running(process)
        finally:
            process.kill()


@contextlib.contextmanager
def script(folder, name, *arguments):
    """A process whose command line ends in arguments of any form."""
    shell = folder / name
    shutil.copy(shutil.which("bash"), shell)
    with subprocess.Popen([shell, "-c", "read", name, *arguments], stdin=subprocess.PIPE) as process:
        try:
            yield running(process)
        finally:
            process.kill()


def backup(residue, **values):
    with open(residue.sysctl_backup, "w", encoding="utf-8") as stream:
        json.dump(values, stream)


def test_a_program_of_the_cluster_is_found_and_stopped(residue, tmp_path):
    with program(tmp_path / "home/bin/etcd", "60") as etcd, script(tmp_path, "kubelet", f"--config={tmp_path}/home/kubelet.yml") as kubelet:
        assert set(residue.processes()) == {(etcd.pid, "etcd"), (kubelet.pid, "kubelet")}
        assert f"process {etcd.pid} etcd" in residue.find()
        residue.stop_processes()
        assert etcd.wait(5) == kubelet.wait(5) == -9
    assert residue.processes() == []


def test_stopping_lasts_until_what_was_killed_has_ended(residue, tmp_path, monkeypatch):
    """A process that is ending no longer has a command line, but still its ports and files."""
    calls = []
    ended = host_residue.ended
    monkeypatch.setattr(host_residue, "ended", lambda pid: calls.append(pid) or (len(calls) > 3 and ended(pid)))
    with program(tmp_path / "home/bin/etcd", "60") as etcd:
        assert not ended(etcd.pid)
        residue.stop_processes()
        assert len(calls) > 3 and set(calls) == {etcd.pid}
        assert host_residue.ended(etcd.pid) and os.path.exists(f"/proc/{etcd.pid}"), "it is a zombie, which has not been waited for"
    assert host_residue.ended(etcd.pid)


def test_programs_of_others_are_left_alone(residue, tmp_path):
    lookalike = f"{tmp_path}/home-2/etcd"
    with (
        program(tmp_path / "elsewhere/etcd", "60"),
        program(tmp_path / "home-2/etcd", "60"),
        program(tmp_path / "home/bin/postgres", "60"),
        script(tmp_path, "etcd", f"--data-dir={lookalike}", f"--backup=/old{tmp_path}/home") as last,
    ):
        assert residue.processes() == []
        residue.stop_processes()
        assert last.poll() is None


def test_the_supervisor_is_known_by_its_script(residue, tmp_path):
    supervisor = tmp_path / "cache/python/bin/supervisord"
    supervisor.parent.mkdir(parents=True)
    supervisor.write_text("import sys; sys.stdin.read()", encoding="utf-8")
    with subprocess.Popen(["python3", supervisor], stdin=subprocess.PIPE) as process:
        try:
            running(process)
            assert residue.processes() == [(process.pid, "supervisord")]
        finally:
            process.kill()


@pytest.mark.parametrize("word, named", [
    ("/run/x", True), ("/run/x/a.sock", True), ("unix:///run/x/a.sock", True), ("--root=/run/x", True), ("a=/run/x:b", True),
    ("/run/x2", False), ("/run/x-2/a", False), ("/run/x.old", False), ("/mnt/run/x", False), ("", False),
])  # fmt: skip
def test_a_folder_is_named_as_a_whole(word, named):
    assert host_residue._mentions(["etcd", word], ["/run/x/", "/var/y"]) is named


@needs_root
def test_mounts_are_found_innermost_first_and_removed_with_the_folders(residue, tmp_path):
    outer, inner, other = tmp_path / "run/a b", tmp_path / "run/a b/inner", tmp_path / "run-2"
    other.mkdir()
    outer.mkdir()
    sh("mount", "-t", "tmpfs", "none", str(outer))
    inner.mkdir()
    sh("mount", "-t", "tmpfs", "none", str(inner))
    sh("mount", "-t", "tmpfs", "none", str(other))
    try:
        (other / "kept").touch()
        assert residue.mounts() == [str(inner), str(outer)]
        residue.remove()
        assert residue.find() == []
        assert (other / "kept").exists() and not outer.exists()
    finally:
        for each in (inner, outer, other):
            subprocess.run(["umount", "--lazy", each], check=False, capture_output=True)


@needs_root
def test_only_the_bridge_of_the_cluster_is_removed_with_its_interfaces(residue):
    with network_namespace():
        for name in ("llmdtest0", "cni0"):
            sh("ip", "link", "add", name, "type", "bridge")
        for number, bridge in enumerate(("llmdtest0", "cni0")):
            sh("ip", "link", "add", f"veth{number}", "type", "veth", "peer", "name", f"peer{number}")
            sh("ip", "link", "set", f"veth{number}", "master", bridge)
        assert residue.interfaces() == ["veth0", "llmdtest0"]
        residue.remove()
        remaining = {each["ifname"] for each in json.loads(sh("ip", "-json", "link"))}
        assert {"cni0", "veth1", "peer1"} <= remaining and not {"llmdtest0", "veth0", "peer0"} & remaining


@needs_root
def test_nftables_tables_are_removed_only_from_a_host_the_cluster_changed(residue):
    if not shutil.which("nft"):
        pytest.skip("this host has no nft")
    with network_namespace():
        for table in (*TABLES, "inet llm-d-test", "ip another"):
            sh("nft", "add", "table", *table.split())
        assert residue.nft_tables() == []
        residue.remove()
        assert "ip llm-d-test" in sh("nft", "list", "tables")
        os.makedirs(residue.folders[0])
        backup(residue)
        assert residue.find()[:2] == [f"nftables table {each}" for each in TABLES]
        residue.remove()
        assert sh("nft", "list", "tables").split("\n")[:-1] == ["table inet llm-d-test", "table ip another"]


@needs_root
def test_the_cgroup_is_removed_and_its_processes_are_killed(residue):
    roots = host_residue.cgroup_roots(residue.cgroup)
    made = []
    try:
        for root in roots:
            (root / "kubepods").mkdir(parents=True)
            made.append(root)
            for name in ("cpuset.cpus", "cpuset.mems"):
                for folder in (root, root / "kubepods"):
                    if (folder / name).exists() and not (folder / name).read_text(encoding="utf-8").strip():
                        (folder / name).write_text((folder.parent / name).read_text(encoding="utf-8"), encoding="utf-8")
        with subprocess.Popen(["sleep", "60"]) as process:
            try:
                (roots[0] / "kubepods/cgroup.procs").write_text(str(process.pid), encoding="utf-8")
                assert residue.cgroups() == [str(each) for each in roots]
                assert residue.processes() == [(process.pid, "sleep")]
                residue.remove()
                assert process.wait(5) == -9
            finally:
                process.kill()
        assert residue.find() == [] and not any(each.exists() for each in roots)
    except OSError as error:
        pytest.skip(f"cgroups cannot be written here: {error}")
    finally:
        for root in made:
            for folder in (root / "kubepods", root):
                if folder.exists():
                    folder.rmdir()


@needs_root
def test_kernel_settings_are_put_back(residue):
    with network_namespace():
        setting = host_residue.sysctl_path("net.ipv4.ip_forward")
        setting.write_text("1", encoding="utf-8")
        backup(residue, **{"net.ipv4.ip_forward": "0", "net.bridge.no-such-setting": "1"})
        residue.remove()
        assert setting.read_text(encoding="utf-8").strip() == "0"


def test_files_of_the_cluster_and_no_others(residue, system, tmp_path):
    logs, results, plugins = (system / each for each in ("var/log/containers", "var/lib/cni/results", "var/lib/kubelet/device-plugins"))
    socket, gone = tmp_path / "shim.sock", tmp_path / "gone.sock"
    socket.touch()
    for number, path in enumerate((socket, gone)):
        task = tmp_path / f"run/containerd/io.containerd.runtime.v2.task/k8s.io/{number}"
        task.mkdir(parents=True)
        (task / "address").write_text(f"unix://{path}", encoding="utf-8")
    (logs / "ours.log").symlink_to(tmp_path / "home/pod-logs/0.log")
    (logs / "another.log").symlink_to("/var/log/pods/0.log")
    (results / f"{residue.network}-1-eth0").touch()
    (results / "cbr0-1-eth0").touch()
    # The results of the loopback plugin name no network, only the pod sandbox.
    (tmp_path / "home/containerd/io.containerd.grpc.v1.cri/sandboxes/5a4d").mkdir(parents=True)
    (results / "cni-loopback-5a4d-lo").touch()
    (results / "cni-loopback-77e1-lo").touch()
    (plugins / "kubelet.sock").touch()
    ours = [str(logs / "ours.log"), str(results / "cni-loopback-5a4d-lo"), str(results / f"{residue.network}-1-eth0"), str(socket), *residue.folders]
    assert residue.files() == ours
    backup(residue)
    assert set(residue.files()) == {*ours, str(plugins / "kubelet.sock")}
    residue.remove()
    # A folder with only our files is removed; a folder with files of others stays.
    assert not (system / "var/lib/kubelet").exists() and not (system / "run/containerd").exists()
    assert sorted(os.listdir(results)) == ["cbr0-1-eth0", "cni-loopback-77e1-lo"] and os.listdir(logs) == ["another.log"]


def test_no_residue_is_found_on_a_host_without_a_cluster(residue):
    for folder in residue.folders:
        os.rmdir(folder)
    assert residue.find() == []
    residue.remove()
    assert os.path.isdir(residue.cache)


def test_a_host_without_the_programs_that_list_things(residue, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/rm").symlink_to(shutil.which("rm"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))  # neither ip nor nft, as before the first `up`
    backup(residue)
    assert residue.find() == [f"file {each}" for each in residue.folders]
    residue.remove()
    assert residue.find() == []
