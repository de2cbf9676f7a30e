# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing of a run stays on the host: not its keys, not its folders, not its workers, however it ends. Real plays, really killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import plays
import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.local_cluster import pki
from ansible_collections.llm_d.inference.plugins.plugin_utils import run_files
from local_servers import closed_port, serve
from waiting import until

HOSTS = 'localhost ansible_connection=local ansible_python_interpreter="{{ ansible_playbook_python }}"\n'
WAIT = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Wait
      llm_d.inference.resource_ready:
        kubeconfig: %(kubeconfig)s
        timeout: 1
        resources: [{api_version: v1, kind: Node, name: local}]
      ignore_errors: true
"""


@pytest.fixture(name="silent")
def _silent():
    """The address of a server that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"https://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture(name="temporary")
def _temporary(tmp_path_factory):
    """The temporary folder of a play. Its path is short, since Ansible makes a socket there."""
    return tmp_path_factory.mktemp("t")


@pytest.fixture(name="play")
def _play(root, tmp_path, temporary):
    """Gives a function that starts a play which connects to a server, with a temporary folder of its own."""

    def start(server: str) -> subprocess.Popen:
        authority = pki.Authority(str(tmp_path / "pki"), "test")
        authority.authority()
        authority.certificate("admin", "admin", [], [])
        authority.kubeconfig("admin", str(tmp_path / "kubeconfig"), server, "test")
        (tmp_path / "play.yml").write_text(WAIT % {"kubeconfig": tmp_path / "kubeconfig"}, encoding="utf-8")
        (tmp_path / "hosts").write_text(HOSTS, encoding="utf-8")
        command = [*plays.command(), "-i", str(tmp_path / "hosts"), str(tmp_path / "play.yml")]
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"), "TMPDIR": str(temporary)}
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    return start


def left(temporary: Path) -> list[str]:
    """Files below the play's temporary folder, but for the list of kinds that kubernetes.core keeps between runs, and the socket of Ansible's workers."""
    # os.walk, since folders of a play that runs vanish meanwhile: rglob would raise.
    return [f"{folder}/{name}" for folder, _folders, names in os.walk(temporary) for name in names if not name.startswith(("k8srcp-", "listener-"))]


def keys(temporary: Path) -> list[str]:
    return [path for path in left(temporary) if "PRIVATE KEY" in Path(path).read_text(encoding="utf-8", errors="replace")]


def test_a_run_leaves_no_key_of_the_kubeconfig(play, temporary):
    with play(f"https://127.0.0.1:{closed_port()}") as run:
        out, _err = run.communicate(timeout=60)
    assert "connection refused" in out, out
    assert left(temporary) == []


@pytest.mark.rest
def test_workers_of_a_killed_run_end_and_the_next_run_removes_its_files(play, silent, temporary, monkeypatch):
    with play(silent) as run:
        until(lambda: keys(temporary))
        folder = Path(keys(temporary)[0]).parent
        worker = int(folder.name.split("-")[1])
        os.kill(worker, 0)
        os.killpg(run.pid, signal.SIGKILL)  # the worker has a session of its own: this does not reach it
    until(lambda: not Path(f"/proc/{worker}").exists() or "State:\tZ" in Path(f"/proc/{worker}/status").read_text(encoding="utf-8"))
    assert keys(temporary)
    until(lambda: not Path(f"/proc/{worker}").exists())
    monkeypatch.setattr(run_files.tempfile, "tempdir", str(temporary))
    assert run_files.remove_orphans() == [str(folder)]
    assert left(temporary) == []


def taken_elsewhere(number: signal.Signals, ours: bool) -> None:
    """A worker whose main thread waits without end: another thread takes the signal, as the kernel may decide."""
    signal.signal(number, lambda _number, _frame: os._exit(7))
    if ours:
        run_files.end_with_the_run.__wrapped__()  # this process may have called it before the fork
    threading.Timer(0.2, lambda: signal.pthread_kill(threading.get_ident(), number)).start()
    os.read(os.pipe()[0], 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_worker_whichever_thread_receives_it(number):
    for ours, code in ((False, None), (True, 7)):
        worker = multiprocessing.get_context("fork").Process(target=taken_elsewhere, args=(number, ours))
        worker.start()
        worker.join(30 if ours else 1)
        exitcode = worker.exitcode
        worker.kill()
        assert exitcode == code


def test_a_signal_for_what_a_worker_has_forked_wakes_no_one():
    def forks() -> None:
        signal.signal(signal.SIGTERM, lambda _number, _frame: None)
        run_files.end_with_the_run.__wrapped__()  # this process may have called it before the fork
        woken: list[int] = []
        signal.signal(run_files.WAKE, lambda number, _frame: woken.append(number))
        if not (child := os.fork()):
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(0)
        os.waitpid(child, 0)
        time.sleep(0.5)
        none = not woken
        os.kill(os.getpid(), signal.SIGTERM)
        until(lambda: woken)
        os._exit(7 if none and woken else 1)

    worker = multiprocessing.get_context("fork").Process(target=forks)
    worker.start()
    worker.join(30)
    assert worker.exitcode == 7


def test_only_folders_of_ended_processes_are_removed_as_orphans(tmp_path, monkeypatch):
    monkeypatch.setattr(run_files.tempfile, "tempdir", str(tmp_path))
    done = subprocess.Popen(["true"])
    done.wait()
    for name in (f"llm_d-{os.getpid()}-a", "llm_d-settings", f"other-{done.pid}-a", f"llm_d-{done.pid}-a"):
        (tmp_path / name).mkdir()
    assert run_files.remove_orphans() == [str(tmp_path / f"llm_d-{done.pid}-a")]


def test_the_inputs_role_removes_temporary_folders_of_killed_runs(root, tmp_path):
    done = subprocess.Popen(["true"])
    done.wait()
    orphan = tmp_path / f"llm_d-{done.pid}-a"
    orphan.mkdir()
    play = [{"hosts": "localhost", "gather_facts": False, "vars": {"llm_d_model_services": []}, "roles": ["llm_d.inference.inputs"]}]
    (tmp_path / "play.yml").write_text(yaml.safe_dump(play), encoding="utf-8")
    command = [*plays.command(), "-i", "localhost,", "-c", "local", str(tmp_path / "play.yml")]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"), "TMPDIR": str(tmp_path)}
    subprocess.run(command, env=environment, capture_output=True, check=False)
    assert not orphan.exists()


HELM = """#!/bin/sh
case " $* " in
  *" version "*) echo 'version.BuildInfo{Version:"v3.18.0",' ;;
  *" upgrade "*) : > "$0.upgrades"; sleep 30 ;;
  *" show "*) echo "version: 1.0.0" ;;
  *) echo "[]" ;;
esac
"""


@pytest.mark.rest
def test_ctrl_c_while_helm_works_leaves_values_and_kubeconfig_to_the_next_run(root, tmp_path, temporary, monkeypatch):
    helm = tmp_path / "helm"
    helm.write_text(HELM, encoding="utf-8")
    helm.chmod(0o755)
    with serve(lambda *_request: (200, {}, '{"items": []}')) as url:
        authority = pki.Authority(str(tmp_path / "pki"), "test")
        authority.authority()
        authority.certificate("admin", "admin", [], [])
        authority.kubeconfig("admin", str(tmp_path / "kubeconfig"), url, "test")
        release = {"release_name": "eg", "namespace": "eg", "ref": "oci://registry.test/eg", "version": "1.0.0", "values": {"token": "given"}}
        variables = {"objects_kubeconfig": str(tmp_path / "kubeconfig"), "objects_helm": str(helm), "objects_release": release}
        role = {"ansible.builtin.include_role": {"name": "llm_d.inference.objects", "tasks_from": "release"}, "vars": variables}
        (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": [role]}]), encoding="utf-8")
        (tmp_path / "hosts").write_text(HOSTS, encoding="utf-8")
        command = [*plays.command(), "-i", str(tmp_path / "hosts"), str(tmp_path / "play.yml")]
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"), "TMPDIR": str(temporary)}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True) as run:
            # Not earlier: modules that only read write a kubeconfig too, and remove it at their end.
            until((tmp_path / "helm.upgrades").exists)
            os.killpg(run.pid, signal.SIGINT)
            run.communicate(timeout=60)
    assert len([path for path in left(temporary) if "ansible" not in path]) == 2, "the module removes its files itself now: drop the lookup run_folder"
    monkeypatch.setattr(run_files.tempfile, "tempdir", str(temporary))
    until(run_files.remove_orphans)
    assert [path for path in left(temporary) if "ansible" not in path] == []
