"""A sequence of jobs on a real cluster, with a value in each secret option: AWX's records contain none, and neither does the cluster outside of its Secrets.
Needs `make site` first.

The same on a cluster without servers, in more playbooks, is tests/unit/plays/test_planted.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from planted import PLANTED, occurrences, planted_file, runner

ADMINISTRATOR = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
KUBECTL = os.environ.get("LLM_D_KUBECTL", "/var/lib/llm-d-local/bin/kubectl")
HOME = "llm-d-planted"
LOCAL = yaml.safe_load((plays.ROOT / "inventories/local/group_vars/all/llm_d.yml").read_text(encoding="utf-8"))
SIM: dict[str, t.Any] = LOCAL["llm_d_model_services"][0]
SERVICE = {
    "model": SIM["model"],
    "engine": {**SIM["engine"], "env": {"IN_THE_FILE": PLANTED["environment"]}},
    "scheduler": {**SIM["scheduler"], "env": {"TOO": PLANTED["picker"]}},
}
FILE: dict[str, t.Any] = {
    **{name: LOCAL[name] for name in ("llm_d_release", "llm_d_gateway", "llm_d_preflight", "llm_d_images")},
    **planted_file(**SERVICE),
    "llm_d_namespace": HOME,
    "llm_d_instance": HOME,
}
# Values that the cluster shows in plain text on request of the file: environment variables of containers.
PLAIN = ("environment", "picker")
JOBS = [
    ("site", {}),
    ("site", {}),
    ("validate", {}),
    ("diff", {}),
    ("diagnose", {}),
    ("scorers", {"llm_d_scheduler_overrides": {"sim": {"preset": "queue"}}}),
    ("benchmark", {}),
    ("teardown", {}),
]


def kubectl(*arguments: str) -> str:
    """Run kubectl as the administrator; returns its output."""
    done = subprocess.run([KUBECTL, "--kubeconfig", ADMINISTRATOR, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(name="token", scope="module")
def _token(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[str]:
    """The token of a cluster-admin account; its namespace has the administrator's prerequisites."""
    plays.well("inventories/local", "playbooks/prerequisites.yml", tmp_path_factory.mktemp("artifacts"), **FILE)
    try:
        kubectl("create", "serviceaccount", "job", "--namespace", HOME)
        kubectl("create", "clusterrolebinding", HOME, "--clusterrole=cluster-admin", f"--serviceaccount={HOME}:job")
        yield kubectl("create", "token", "job", "--namespace", HOME, "--duration=2h").strip()
    finally:
        kubectl("delete", "namespace", HOME, "--ignore-not-found")
        kubectl("delete", "clusterrolebinding", HOME, "--ignore-not-found")


def in_the_cluster() -> str:
    """All objects of the namespace except Secrets, and the logs of its containers."""
    kinds = kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
    objects = kubectl("get", ",".join(kind for kind in kinds if kind != "secrets"), "--namespace", HOME, "-o", "json", "--ignore-not-found")
    pods = [each["metadata"]["name"] for each in json.loads(kubectl("get", "pods", "--namespace", HOME, "-o", "json"))["items"]]
    return objects + "".join(kubectl("logs", name, "--namespace", HOME, "--all-containers", "--ignore-errors") for name in pods)


def test_a_life_of_jobs_leaves_no_secret(token: str, tmp_path: Path) -> None:
    kubeconfig = yaml.safe_load(Path(ADMINISTRATOR).read_text(encoding="utf-8"))
    kubeconfig["users"] = [{"name": each["name"], "user": {"token": token}} for each in kubeconfig["users"]]
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig), encoding="utf-8")
    values = {**PLANTED, "kubeconfig": token}
    for number, (playbook, variables) in enumerate(JOBS):
        here = tmp_path / f"{number}-{playbook}"
        own = {"llm_d_kubeconfig": str(tmp_path / "kubeconfig"), "llm_d_artifacts_dir": str(here / "out"), "llm_d_scope": "namespace"}
        status = runner(here, f"playbooks/{playbook}.yml", {**FILE, **own, "llm_d_artifacts": {"config_map": True}, **variables}, "cluster")
        assert status == "successful", (here / "artifacts/one/stdout").read_text(encoding="utf-8")[-6000:]
        assert occurrences(here, {here / "env/extravars"}, values) == [], playbook
        content = in_the_cluster()
        assert [name for name, value in values.items() if name not in PLAIN and value in content] == [], playbook
