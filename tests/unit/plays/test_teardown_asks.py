# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/teardown.yml asks on a terminal before it removes anything, and continues without a terminal."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time

import plays
import pytest
from job_output import plain, wide
from local_servers import serve
from teardown_api import KINDS, NAMESPACES, ROOT, Api, labels

pytestmark = pytest.mark.timing

ASKS = b"or Ctrl-C, then A, to keep them"
BEGUN = b"TASK [llm_d.inference.gaie_scheduler : "  # a role that removes objects has begun
STANDALONE = {"provider": "standalone", "service_type": "ClusterIP"}


@pytest.fixture(name="api")
def _api(tmp_path):
    """A cluster with two Deployments of ours and a foreign one."""
    api = Api()
    api.bare()
    for number, owner in enumerate(("llm-d", "llm-d", "other")):
        name = f"llama-{number}"
        api.kept[f"/apis/apps/v1/namespaces/llm-d/deployments/{name}"] = {"metadata": {"namespace": "llm-d", "name": name, "labels": labels(owner)}}
    with serve(api.answer) as api.url:
        plays.kubeconfig(tmp_path / "config", api.url)
        yield api


def command(tmp_path, hosts=("localhost",), **given):
    """The command of the teardown. given: variables."""
    place = "" if len(hosts) == 1 else " llm_d_namespace={}"
    (tmp_path / "hosts").write_text("".join(f"{name} ansible_connection=local{place.format(name)}\n" for name in hosts), encoding="utf-8")
    file = {"llm_d_kubeconfig": f"{tmp_path}/config", "llm_d_gateway": STANDALONE, "llm_d_artifacts_dir": f"{tmp_path}/artifacts", **given}
    return plays.command("-i", str(tmp_path / "hosts"), "playbooks/teardown.yml", "-e", json.dumps(file))


def on_a_terminal(tmp_path, keys=(), hosts=("localhost",), user=(), arguments=(), **environ):
    """The output of the teardown on a new terminal. keys: pressed once it asks; user: variables; environ: environment variables."""
    given, environment, keys = [*command(tmp_path, hosts, **dict(user)), *arguments], plays.environment(**environ), list(keys)
    # A separate process creates the terminal, since this one has threads.
    spawned = [sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])", *given]
    play = subprocess.Popen(spawned, cwd=plays.ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    output, end = b"", time.monotonic() + 100
    with play:
        while time.monotonic() < end:
            if not select.select([play.stdout], [], [], 1)[0]:
                continue
            if not (chunk := os.read(play.stdout.fileno(), 4096)):
                break
            output += chunk
            while ASKS in output and keys:
                time.sleep(0.5)  # it discards keys that were typed before it reads
                os.write(play.stdin.fileno(), keys.pop(0))
        else:
            os.killpg(play.pid, signal.SIGKILL)
    return output


def words(output):
    return b" ".join(output.split())


def test_ctrl_c_leaves_everything_and_it_was_shown(tmp_path, api):
    before = dict(api.kept)
    output = on_a_terminal(tmp_path, [b"\x03", b"a"])
    assert ASKS in output and BEGUN not in output and api.kept == before, output
    assert b"of instance llm-d in the namespace llm-d these objects are deleted: Deployment (2): llama-0, llama-1" in words(output.partition(ASKS)[0]), output


def test_all_clusters_are_named_where_there_are_several(tmp_path, api):
    output = on_a_terminal(tmp_path, [b"\x03", b"a"], hosts=("paris", "berlin"))
    assert b"Press Enter to delete them, on paris, berlin, or Ctrl-C, then A, to keep them" in output and BEGUN not in output, output
    assert b"in the namespace paris nothing to delete." in words(output) and b"in the namespace berlin nothing to delete." in words(output)


def test_the_namespace_of_the_file_is_named(tmp_path, api):
    output = on_a_terminal(tmp_path, [b"\x03", b"a"], user={"llm_d_namespace": "team-a"})
    assert b"in the namespace team-a nothing to delete." in words(output) and BEGUN not in output, output


def used(api, monkeypatch, name):
    """Create a Gateway of ours, and a foreign route that leads through it; all objects of the cluster."""
    monkeypatch.setitem(KINDS, ROOT, [*KINDS[ROOT], ("httproutes", "HTTPRoute", True)])
    gateway = {"namespace": "llm-d", "name": name}
    api.kept[f"{ROOT}/namespaces/llm-d/gateways/{name}"] = {"metadata": {**gateway, "labels": labels("llm-d")}}
    api.kept[f"{ROOT}/namespaces/shop/httproutes/search"] = {"metadata": {"namespace": "shop", "name": "search"}, "spec": {"parentRefs": [gateway]}}
    return dict(api.kept)


def test_teardown_refuses_a_gateway_that_others_use_before_it_prompts(tmp_path, api, monkeypatch):
    before = used(api, monkeypatch, "llm-d-gateway")
    output = on_a_terminal(tmp_path, user={"llm_d_gateway": {"provider": "envoy_gateway", "service_type": "ClusterIP"}})
    assert ASKS not in output and b"HTTPRoute shop/search leads through the Gateway llm-d/llm-d-gateway" in words(output) and api.kept == before, output


def test_a_gateway_that_the_file_has_no_longer_is_refused_as_early(tmp_path, api, monkeypatch):
    """It was not pruned since a foreign route leads through it."""
    before = used(api, monkeypatch, "llm-d-gateway-istio")
    output = on_a_terminal(tmp_path)
    assert ASKS not in output and b"HTTPRoute shop/search leads through the Gateway llm-d/llm-d-gateway-istio" in words(output), output
    assert api.kept == before


def test_services_missing_in_the_file_are_shown_and_removed_too(tmp_path, api):
    """A deployment with `llm_d_prune: {services: false}` keeps such services; a teardown removes all of them, with the namespace."""
    chat, space = "/apis/apps/v1/namespaces/llm-d/deployments/chat-decode", f"{NAMESPACES}/llm-d"
    for given in ({}, {"llm_d_prune": {"services": False}, "llm_d_model_services": []}):
        api.kept = {
            chat: {"metadata": {"namespace": "llm-d", "name": "chat-decode", "labels": {**labels("llm-d"), "llm-d.ai/model-service": "chat"}}},
            space: {"metadata": {"name": "llm-d", "labels": labels("llm-d")}},
        }
        output = words(on_a_terminal(tmp_path, [b"\r"], user=given))
        assert b"these objects are deleted: Deployment (1): chat-decode Namespace (1), if nothing else is in it: llm-d" in output.partition(ASKS)[0], output
        assert not {chat, space} & set(api.kept)


def test_teardown_prompts_unless_every_cluster_is_confirmed(tmp_path, api):
    (tmp_path / "host_vars").mkdir()
    (tmp_path / "host_vars/paris.yml").write_text("llm_d_confirm: true\n", encoding="utf-8")
    output = on_a_terminal(tmp_path, [b"\x03", b"a"], hosts=("paris", "berlin"))
    assert ASKS in output and BEGUN not in output, output
    (tmp_path / "host_vars/berlin.yml").write_text("llm_d_confirm: true\n", encoding="utf-8")
    assert ASKS not in on_a_terminal(tmp_path, hosts=("paris", "berlin"))


@pytest.mark.parametrize("name", ["llm_d_confirm", "teardown_confirmed"])
def test_teardown_does_not_prompt_when_it_is_confirmed_by_a_variable(tmp_path, api, name):
    output = on_a_terminal(tmp_path, user={name: True})
    assert BEGUN in output and ASKS not in output


def test_enter_removes(tmp_path, api):
    output = on_a_terminal(tmp_path, [b"\r"])
    assert BEGUN in output.partition(ASKS)[2], output
    assert [path.rpartition("/")[2] for path in api.kept if "/deployments/" in path] == ["llama-2"]


def test_tags_do_not_leave_out_the_question(tmp_path, api):
    before = dict(api.kept)
    output = on_a_terminal(tmp_path, [b"\x03", b"a"], arguments=["--tags", "model_service"])
    shown = b"these objects are deleted, as far as the tags select them: Deployment (2): llama-0, llama-1"
    assert ASKS in output and shown in words(output.partition(ASKS)[0]) and api.kept == before, output


def test_teardown_does_not_prompt_without_a_terminal(tmp_path, api):
    """The results are JSON in 80 columns, as in AWX."""
    given = {"cwd": plays.ROOT, "env": plays.environment(ANSIBLE_CALLBACK_RESULT_FORMAT="json"), "stdin": subprocess.DEVNULL}
    done = subprocess.run(command(tmp_path, llm_d_namespace="llm-d-of-a-team"), capture_output=True, check=False, timeout=120, **given)
    assert BEGUN in done.stdout and ASKS not in done.stdout + done.stderr
    assert b"of-a-team" in done.stdout and wide(plain(done.stdout.decode())) == []


def test_teardown_does_not_prompt_in_awx(tmp_path, api):
    """Jobs of AWX have a terminal."""
    output = on_a_terminal(tmp_path, AWX_ISOLATED_DATA_DIR="/runner/artifacts/1")
    assert BEGUN in output and ASKS not in output
