# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several clusters in one ansible-playbook run: each has its own folder, and all have a row on one page, however the run ends."""

from __future__ import annotations

import json
import sys
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from keeping_api_server import empty
from local_servers import JSON, closed_port, serve

Facts = dict[str, t.Any]
SERVICE: Facts = {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}
COMMON: Facts = {
    "ansible_connection": "local",
    "ansible_python_interpreter": sys.executable,
    "llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"},
    "llm_d_model_services": [SERVICE],
}
SAMPLE = plays.ROOT / "inventories/sample-fleet"


class Fleet:
    """An inventory, and runs with it that have their own artifacts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.artifacts = folder, folder / "out"

    def inventory(self, hosts: dict[str, Facts], **common: t.Any) -> None:
        """Write an inventory of these hosts with their variables, each with its own namespace."""
        own = {name: {"llm_d_namespace": name, **given} for name, given in hosts.items()}
        made = {"all": {"hosts": own, "vars": {**COMMON, "llm_d_artifacts_dir": str(self.artifacts), **common}}}
        (self.folder / "hosts.yml").write_text(yaml.safe_dump(made, sort_keys=False), encoding="utf-8")

    def run(self, playbook: str, *options: str, **environment: str) -> tuple[int, str]:
        """(exit status, output)."""
        done = plays.run("-i", str(self.folder / "hosts.yml"), playbook, *options, no_proxy="*", HOME=str(self.folder), **environment)
        return done.returncode, done.stdout + done.stderr

    def judge(self, verdicts: dict[str, bool], *options: str, **play: t.Any) -> tuple[int, str]:
        """Run role validation of an absent stack, with these verdicts in the place of its own. Hosts in `broken` fail before."""
        verdict = {"ok": True, "time": "", "endpoint": "http://10.0.0.1", "claims": [{"id": "x/y", "ok": True, "evidence": "", "seconds": 1}], "versions": {}}
        tasks = [
            {"ansible.builtin.fail": {"msg": "planted"}, "when": "inventory_hostname in broken"},
            {
                "ansible.builtin.set_fact": {"validation_verdict": "{{ verdict | combine({'ok': verdicts[inventory_hostname]}) }}"},
                "when": "not ansible_check_mode",
            },
        ]
        roles = ["llm_d.inference.inputs", "llm_d.inference.validation"]
        given = {"llm_d_state": "absent", "verdict": verdict, "verdicts": verdicts, "broken": []}
        made = {"hosts": "all", "gather_facts": False, "roles": roles, "tasks": tasks, **play, "vars": {**given, **play.get("vars", {})}}
        (self.folder / "play.yml").write_text(yaml.safe_dump([made]), encoding="utf-8")
        return self.run(str(self.folder / "play.yml"), *options)

    def page(self) -> Facts:
        """fleet.json; checks that each of its rows is on the page."""
        report: Facts = json.loads((self.artifacts / "fleet/fleet.json").read_text(encoding="utf-8"))
        text = (self.artifacts / "fleet/index.html").read_text(encoding="utf-8")
        assert all(f">{row['host']}<" in text and f">{row['state']}<" in text for row in report["clusters"])
        return report

    def states(self) -> dict[str, str]:
        return {row["host"]: row["state"] for row in self.page()["clusters"]}


@pytest.fixture(name="fleet")
def _fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def refuse(_handler: t.Any, _method: str, _path: str, _body: bytes) -> t.Any:
    return 401, {"Content-Type": JSON}, json.dumps({"kind": "Status", "apiVersion": "v1", "code": 401, "reason": "Unauthorized", "message": "no"})


def last(output: str) -> list[str]:
    """The output after Ansible's recap, as lines."""
    return output.partition("PLAY RECAP")[2].partition("\n\n")[2].splitlines()


@pytest.mark.rest
def test_there_is_a_page_where_every_cluster_failed(fleet: Fleet, tmp_path: Path) -> None:
    """Ansible then runs no further play. One host has mistakes in its file, one is unreachable, one refuses the account."""
    dead = f"http://127.0.0.1:{closed_port()}"
    with serve(refuse) as url:
        fleet.inventory({
            "typo": {"llm_d_gatway": {}, "llm_d_release": "router-9"},
            "away": {"llm_d_kubeconfig": plays.kubeconfig(tmp_path / "away", dead, "sk-planted")},
            "closed": {"llm_d_kubeconfig": plays.kubeconfig(tmp_path / "closed", url, "sk-planted")},
        })  # fmt: skip
        status, output = fleet.run("site.yml", "--forks", "3", "-vv")
    assert status and output.count("fatal: ") == 3 and "Traceback" not in output and "sk-planted" not in output, output
    assert fleet.states() == {"typo": "refused", "away": "unreachable", "closed": "unreachable"}
    rows = {row["host"]: row for row in fleet.page()["clusters"]}
    assert len(rows["typo"]["why"]) == 2 and rows["typo"]["why"][0].startswith("llm_d_gatway: there is no such option.")
    assert dead in rows["away"]["why"][0] and "does not accept the credentials (401)" in rows["closed"]["why"][0]
    assert rows["away"]["versions"]["release"] == "router-0.11" and rows["away"]["page"] is None
    lines = last(output)
    assert lines[0] == "3 clusters: 1 refused, 2 unreachable" and lines[-1] == f"page: {fleet.artifacts}/fleet/index.html", lines
    assert [line.split()[:2] for line in lines[1:-1]] == [["typo", "refused"], ["away", "unreachable"], ["closed", "unreachable"]]
    assert all(len(line) <= 80 for line in lines[:-1])


@pytest.mark.rest
def test_an_unreachable_api_server_replaces_the_earlier_verdict(fleet: Fleet, tmp_path: Path) -> None:
    dead = plays.kubeconfig(tmp_path / "config", f"http://127.0.0.1:{closed_port()}", "sk-planted")
    fleet.inventory({name: {} for name in "abc"}, llm_d_kubeconfig=dead)
    earlier = fleet.artifacts / "a/verdict.json"
    earlier.parent.mkdir(parents=True)
    earlier.write_text('{"ok": true}', encoding="utf-8")
    status, output = fleet.run("playbooks/validate.yml", "--forks", "3", "--check")
    assert status == 0 and output.count("nothing was validated and") == 3 and "true" in earlier.read_text(encoding="utf-8"), output
    status, output = fleet.run("playbooks/validate.yml", "--forks", "3")
    assert status and set(fleet.states().values()) == {"unreachable"} and "nothing listens there" in output, output
    for row in fleet.page()["clusters"]:
        verdict = json.loads((fleet.artifacts / row["host"] / "verdict.json").read_text(encoding="utf-8"))
        (claim,) = verdict["claims"]
        assert not verdict["ok"] and claim["id"] == "platform/reachable" and claim["evidence"] == row["why"][0] and verdict["versions"]["release"]
        assert "platform/reachable" in (fleet.artifacts / row["host"] / "report.html").read_text(encoding="utf-8")


@pytest.mark.rest
def test_each_cluster_writes_its_own_verdict_and_the_page_links_to_it(fleet: Fleet, tmp_path: Path) -> None:
    with serve(empty) as url:
        here = plays.kubeconfig(tmp_path / "config", url, "sk-planted")
        fleet.inventory({name: {} for name in "abc"}, llm_d_kubeconfig=here, validation_wait=0, validation_timeout=10, validation_request_timeout=60)
        status, output = fleet.run("playbooks/validate.yml", "--forks", "3")
    assert status and set(fleet.states().values()) == {"not ok"}, output
    assert not (fleet.artifacts / "verdict.json").exists()
    for row in fleet.page()["clusters"]:
        own = json.loads((fleet.artifacts / row["host"] / "verdict.json").read_text(encoding="utf-8"))
        assert [claim["id"] for claim in row["failed"]] == [claim["id"] for claim in own["claims"] if not claim["ok"]] and row["failed"]
        assert (fleet.artifacts / "fleet" / row["page"]).resolve() == (fleet.artifacts / row["host"] / "report.html").resolve()
        assert (fleet.artifacts / "fleet" / row["page"]).is_file()
        assert f'href="{row["page"]}"' in (fleet.artifacts / "fleet/index.html").read_text(encoding="utf-8")


@pytest.mark.rest
def test_the_row_of_a_cluster_stays_until_a_later_run_judges_it(fleet: Fleet) -> None:
    fleet.inventory({name: {} for name in "abc"})
    good = dict.fromkeys("abc", True)
    assert fleet.judge(good, "--check")[0] == 0 and not fleet.artifacts.exists(), "check mode writes nothing"
    status, output = fleet.judge(good, "--limit", "a,b")
    assert status == 0 and fleet.states() == {"a": "ok", "b": "ok", "c": "no verdict"} and not fleet.page()["ok"], output
    assert last(output)[:3] == ["2 clusters: 2 ok", "a  ok               1/1  http://10.0.0.1", "b  ok               1/1  http://10.0.0.1"]
    assert fleet.judge(good)[0] == 0 and fleet.page()["ok"]
    status, output = fleet.judge(good, "--limit", "b", vars={"broken": ["b"]})
    assert status and fleet.states() == {"a": "ok", "b": "failed", "c": "ok"} and "planted" in last(output)[1], output
    before = fleet.page()
    assert fleet.judge(good, "--check", vars={"broken": ["a"]})[0] and fleet.page() == before, "check mode changes nothing"
    status, output = fleet.run("playbooks/list_permissions.yml")
    assert status == 0 and last(output) == ["3 clusters: 3 done", "a  done", "b  done", "c  done"] and fleet.page() == before, output


@pytest.mark.rest
def test_a_failure_that_ends_the_run_for_all_is_on_the_page(fleet: Fleet) -> None:
    fleet.inventory({name: {} for name in "abc"})
    good = dict.fromkeys("abc", True)
    assert fleet.judge(good)[0] == 0
    status, output = fleet.judge({**good, "c": False}, any_errors_fatal=True, vars={"broken": ["b"]})
    assert status and fleet.states() == {"a": "stopped", "b": "failed", "c": "stopped"}, output


def test_a_second_host_in_one_namespace_is_refused_and_others_continue(fleet: Fleet) -> None:
    fleet.inventory({"a": {}, "b": {"llm_d_namespace": "a"}, "c": {}, "d": {"llm_d_namespace": "a", "llm_d_instance": "d"}, "e": {"llm_d_context": "e"}})
    status, output = fleet.judge(dict.fromkeys("abcde", True), "--limit", "b,c,d,e")
    assert status and fleet.states() == {"a": "no verdict", "b": "refused", "c": "ok", "d": "ok", "e": "ok"}, output
    assert "llm_d_namespace: 'a' of the same cluster is also the namespace of a in the inventory" in " ".join(output.split())


@pytest.mark.rest
def test_two_hosts_with_kubeconfigs_of_one_cluster_are_in_one_place(fleet: Fleet, tmp_path: Path) -> None:
    """Names of kubeconfigs and of their users do not matter; a suffix is part of the instance, and an empty value is the default."""
    one, copy, other = (
        {"llm_d_kubeconfig": plays.kubeconfig(tmp_path / name, f"https://10.0.0.{number}:6443", name), "llm_d_namespace": "same"}
        for name, number in (("one", 1), ("copy", 1), ("other", 2))
    )
    apart = {**copy, "llm_d_name_suffix": "-blue"}
    fleet.inventory({"a": one, "b": {**copy, "llm_d_instance": None}, "c": other, "d": apart, "e": {**one, "llm_d_instance": "llm-d-blue"}})
    status, output = fleet.judge(dict.fromkeys("abcde", True), "--forks", "5")
    assert status and fleet.states() == {"a": "refused", "b": "refused", "c": "ok", "d": "refused", "e": "refused"}, output
    folded = " ".join(output.split())
    assert "'same' of the same cluster is also the namespace of b in the inventory" in folded and "the namespace of e in the inventory" in folded


@pytest.mark.rest
def test_hosts_that_differ_only_in_k8s_auth_context_are_accepted(fleet: Fleet) -> None:
    fleet.inventory(dict.fromkeys("ab", {"llm_d_namespace": "same"}))
    assert fleet.judge(dict.fromkeys("ab", True), environment={"K8S_AUTH_CONTEXT": "{{ inventory_hostname }}"})[0] == 0


@pytest.mark.rest
def test_a_run_without_the_fleet_callback_logs_how_to_enable_it(fleet: Fleet) -> None:
    fleet.inventory({name: {} for name in "ab"})
    good = dict.fromkeys("ab", True)
    assert "callbacks_enabled" not in fleet.judge(good)[1]
    (fleet.folder / "ansible.cfg").write_text(f"[defaults]\ncollections_path = {plays.ROOT}/collections\n", encoding="utf-8")
    output = " ".join(fleet.run(str(fleet.folder / "play.yml"), ANSIBLE_CONFIG=str(fleet.folder / "ansible.cfg"))[1].split())
    assert output.count("callbacks_enabled = llm_d.inference.fleet") == 1, output


@pytest.mark.rest
def test_the_sample_is_planned_for_ten_clusters_each_in_its_own_place(tmp_path: Path) -> None:
    exported = plays.run("-i", str(SAMPLE), "playbooks/export.yml", "-e", json.dumps({"export_path": str(tmp_path / "git")}), HOME=str(tmp_path))
    assert exported.returncode == 0, exported.stdout + exported.stderr
    texts = {path.name: "".join(each.read_text(encoding="utf-8") for each in path.iterdir()) for path in (tmp_path / "git").iterdir()}
    assert len(texts) == 10
    for name, text in texts.items():
        space = name.partition("-")[2] or "llm-d"
        assert f"namespace: {space}\n" in text and not any(f"namespace: {other}\n" in text for other in {"red", "blue", "llm-d"} - {space}), name
    listed = plays.run("-i", str(SAMPLE), "playbooks/list_images.yml", "-e", f"llm_d_artifacts_dir={tmp_path}/out", HOME=str(tmp_path))
    assert listed.returncode == 0 and {path.name for path in (tmp_path / "out").iterdir()} == set(texts), listed.stdout


@pytest.mark.rest
def test_one_lock_has_the_images_of_all_clusters(fleet: Fleet) -> None:
    other = {"llm_d_model_services": [{"name": "m", "model": {"uri": "hf://a/b"}}]}

    def answer(_handler: t.Any, _method: str, path: str, _body: bytes) -> t.Any:
        return (404, {}, "") if lacks in path else (200, {"Docker-Content-Digest": f"sha256:{'a' * 64}"}, "")

    lock, lacks = fleet.folder / "group_vars/all/llm-d.lock.yml", "vllm-openai"
    with serve(answer) as url:
        host = url.partition("://")[2]
        fleet.inventory({"a": {}, "b": other}, llm_d_image_registry=host)
        status, output = fleet.run("playbooks/pin_images.yml")
        assert status and not lock.exists() and output.count("fatal: ") == 1, output
        lacks = "nothing"
        status, output = fleet.run("playbooks/pin_images.yml", "--forks", "2")
    assert status == 0 and output.count(f"written: {lock}") <= 2, output
    names = yaml.safe_load(lock.read_text(encoding="utf-8"))["llm_d_image_digests"]
    assert all(any(part in name for name in names) for part in ("vllm-openai", "inference-sim")), names
    assert fleet.run("playbooks/list_images.yml")[0] == 0, "it fits the file of each host"


def test_two_local_clusters_on_one_host_are_refused(fleet: Fleet, tmp_path: Path) -> None:
    """The play runs in check mode and with separate folders, so that nothing is touched if the test fails."""
    apart = {f"local_cluster_{name}": str(tmp_path / name) for name in ("cache", "home", "run")}
    fleet.inventory({name: {} for name in "ab"}, **apart)
    status, output = fleet.run("playbooks/local_cluster.yml", "--check")
    assert status and output.count("fatal: ") == 2 and "a, b would each bring up a cluster on this host" in " ".join(output.split()), output
