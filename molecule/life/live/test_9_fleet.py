"""Ten clusters from one control host, represented by namespaces of this cluster, each with an account that has permissions there only.

One has a mistake in its file, one a refused kubeconfig: the others serve nevertheless, and one page shows all ten. Then both are corrected.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from kubernetes import client, config

pytestmark = pytest.mark.rest

KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
NAMES = [f"fleet-{number}" for number in range(10)]
MISTAKEN, CLOSED = "fleet-3", "fleet-7"
GOOD = [name for name in NAMES if name not in (MISTAKEN, CLOSED)]
ACCOUNT = "deployer"
SMALL = {"requests": {"cpu": "10m", "memory": "64Mi"}}
SERVICE = {
    "name": "sim",
    "profile": "simulated",
    "model": {"served_name": "llm-d/simulated-8b"},
    "replicas": 1,
    "resources": SMALL,
    "scheduler": {"resources": SMALL},
}


class Fleet:
    """The inventory of ten hosts, and runs on it."""

    def __init__(self, folder: Path) -> None:
        config.load_kube_config(KUBECONFIG)
        self.folder, self.artifacts = folder, folder / "artifacts"
        shutil.copytree(plays.ROOT / "inventories/local/group_vars", folder / "group_vars")
        (folder / "group_vars/fleet.yml").write_text(
            yaml.safe_dump({
                "ansible_connection": "local",
                "ansible_python_interpreter": sys.executable,
                "llm_d_artifacts_dir": str(self.artifacts),
                "llm_d_scope": "namespace",
                "llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"},
                "llm_d_model_services": [SERVICE],
            }),
            encoding="utf-8",
        )  # fmt: skip

    def write(self, **changed: dict[str, t.Any]) -> None:
        """Write the hosts; `changed`: variables per host, its name with `_` for `-`."""
        hosts = {
            name: {"llm_d_namespace": name, "llm_d_instance": name, "llm_d_kubeconfig": self.kubeconfig(name), **changed.get(name.replace("-", "_"), {})}
            for name in NAMES
        }
        (self.folder / "hosts.yml").write_text(yaml.safe_dump({"fleet": {"hosts": hosts}}), encoding="utf-8")

    def kubeconfig(self, name: str) -> str:
        return str(self.folder / f"{name}.kubeconfig")

    def folder_of(self, name: str) -> Path:
        """The artifacts folder of a host's instance, which has the host's name."""
        return self.artifacts / name / name

    def run(self, playbook: str, *options: str, **given: t.Any) -> tuple[int, str]:
        """Run a playbook: (exit status, output)."""
        done = plays.run("-i", str(self.folder), playbook, "--forks", "5", "-e", json.dumps(given), *options, ANSIBLE_CALLBACK_RESULT_FORMAT="json")
        with (self.folder / "output.txt").open("a", encoding="utf-8") as kept:
            kept.write(done.stdout + done.stderr)
        return done.returncode, done.stdout

    def well(self, playbook: str, *options: str, **given: t.Any) -> str:
        status, output = self.run(playbook, *options, **given)
        assert status == 0, output[-6000:]
        return output

    def page(self) -> dict[str, t.Any]:
        """The content of fleet.json; index.html must show the same states."""
        page: dict[str, t.Any] = json.loads((self.artifacts / "fleet/fleet.json").read_text(encoding="utf-8"))
        text = (self.artifacts / "fleet/index.html").read_text(encoding="utf-8")
        assert [row["host"] for row in page["clusters"]] == NAMES and all(f">{row['state']}<" in text for row in page["clusters"])
        return page

    def admit(self, name: str, rules: list[dict[str, t.Any]], role: str) -> None:
        """Create an account in the namespace with these rules, and its kubeconfig."""
        core, rbac = client.CoreV1Api(), client.RbacAuthorizationV1Api()
        core.create_namespaced_service_account(name, {"metadata": {"name": ACCOUNT}})
        rbac.create_namespaced_role(name, {"metadata": {"name": role}, "rules": rules})
        subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": name}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role}
        rbac.create_namespaced_role_binding(name, {"metadata": {"name": ACCOUNT}, "roleRef": reference, "subjects": [subject]})
        token = core.create_namespaced_service_account_token(ACCOUNT, name, {"spec": {"expirationSeconds": 7200}}).status.token
        kubeconfig = yaml.safe_load(Path(KUBECONFIG).read_text(encoding="utf-8"))
        kubeconfig["users"] = [{"name": entry["name"], "user": {"token": token}} for entry in kubeconfig["users"]]
        Path(self.kubeconfig(name)).write_text(yaml.safe_dump(kubeconfig), encoding="utf-8")


def summary(output: str) -> list[str]:
    """The lines after Ansible's recap."""
    return output.partition("PLAY RECAP")[2].partition("\n\n")[2].splitlines()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Fleet]:
    """The fleet with the administrator's prerequisites and an account for each host; the teardown deletes the namespaces."""
    made = Fleet(tmp_path_factory.mktemp("fleet"))
    made.write()
    try:
        made.well("playbooks/prerequisites.yml", llm_d_kubeconfig=KUBECONFIG)
        output = made.well("playbooks/list_permissions.yml", "--limit", NAMES[0])
        path = re.search(r"kubectl apply -f ([^\s\"]+)", output)
        assert path, output
        (role,) = [item for item in yaml.safe_load_all(Path(path.group(1)).read_text(encoding="utf-8")) if item["kind"] == "Role"]
        for name in NAMES:
            made.admit(name, role["rules"], role["metadata"]["name"])
        yield made
    finally:
        core = client.CoreV1Api()
        for name in {space.metadata.name for space in core.list_namespace().items} & set(NAMES):
            core.delete_namespace(name)


def test_a_fleet_run_reports_a_refused_and_an_unreachable_cluster(fleet: Fleet) -> None:
    refused = yaml.safe_load(Path(fleet.kubeconfig(CLOSED)).read_text(encoding="utf-8"))
    refused["users"] = [{"name": entry["name"], "user": {"token": "of-someone-else"}} for entry in refused["users"]]
    closed = fleet.folder / "closed.kubeconfig"
    closed.write_text(yaml.safe_dump(refused), encoding="utf-8")
    fleet.write(fleet_3={"llm_d_gatway": {}}, fleet_7={"llm_d_kubeconfig": str(closed)})
    status, output = fleet.run("site.yml")
    assert status and "Traceback" not in output and "of-someone-else" not in output, output[-6000:]

    page = fleet.page()
    states = {row["host"]: row["state"] for row in page["clusters"]}
    assert states == {**dict.fromkeys(GOOD, "ok"), MISTAKEN: "refused", CLOSED: "unreachable"}, output[-6000:]
    lines = summary(output)
    assert lines[0] == "10 clusters: 8 ok, 1 refused, 1 unreachable" and lines[-1] == f"page: {fleet.artifacts}/fleet/index.html", lines
    assert len(lines) == 12 and all(len(line) <= 80 for line in lines[:-1])

    rows = {row["host"]: row for row in page["clusters"]}
    assert "llm_d_gatway" in rows[MISTAKEN]["why"][0] and "does not accept the credentials (401)" in rows[CLOSED]["why"][0]
    for name in GOOD:
        verdict = json.loads((fleet.folder_of(name) / "verdict.json").read_text(encoding="utf-8"))
        assert verdict["ok"] and f"{name}/sim-epp" in json.dumps(verdict["claims"]) and rows[name]["endpoint"] == verdict["endpoint"]
        assert (fleet.artifacts / "fleet" / rows[name]["page"]).resolve() == (fleet.folder_of(name) / "report.html").resolve()
    assert len({rows[name]["endpoint"] for name in GOOD}) == len(GOOD)
    apps = client.AppsV1Api()
    assert {name: bool(apps.list_namespaced_deployment(name).items) for name in NAMES} == {name: name in GOOD for name in NAMES}


def test_a_second_fleet_run_changes_nothing_and_drift_is_reported_per_cluster(fleet: Fleet) -> None:
    output = fleet.well("site.yml", "--limit", ",".join(GOOD))
    recap = dict(re.findall(r"^(fleet-\d+) .* changed=(\d+) ", output, re.MULTILINE))
    assert recap == dict.fromkeys(GOOD, "0"), output[-4000:]
    assert fleet.page()["states"] == {"ok": 8, "refused": 1, "unreachable": 1}, "rows of hosts outside the limit stay"
    client.AppsV1Api().delete_namespaced_deployment("sim-decode", GOOD[0])
    status, output = fleet.run("playbooks/diff.yml", "--limit", f"{GOOD[0]},{GOOD[1]}")
    drift = {name: json.loads((fleet.folder_of(name) / "drift.json").read_text(encoding="utf-8"))["ok"] for name in GOOD[:2]}
    assert status == 2 and drift == {GOOD[0]: False, GOOD[1]: True}, output[-4000:]
    assert fleet.page()["states"] == {"ok": 8, "refused": 1, "unreachable": 1}, "only runs that validate write the page"


def test_the_rest_joins_and_all_are_ok(fleet: Fleet) -> None:
    fleet.write()
    output = fleet.well("site.yml", "--limit", f"{MISTAKEN},{CLOSED},{GOOD[0]}")
    assert summary(output)[0] == "3 clusters: 3 ok" and fleet.page()["ok"] and fleet.page()["states"] == {"ok": 10}


def test_a_fleet_teardown_removes_each_stack_from_its_own_namespace(fleet: Fleet) -> None:
    output = fleet.well("playbooks/teardown.yml", teardown_confirmed=True)
    assert summary(output)[0] == "10 clusters: 10 done"
    apps = client.AppsV1Api()
    assert not [name for name in NAMES if apps.list_namespaced_deployment(name).items]
    assert client.CoreV1Api().read_namespace(NAMES[0]).status.phase == "Active"
