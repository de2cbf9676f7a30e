# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""configure_awx.yml and the real modules of awx.awx, against a stand-in of AWX's API with the validation of AWX."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from awx_guide import COLLECTION_URL, INVENTORY_URL, awx_collection
from controller_api.client import call
from controller_api.server import Controller
from keeping_api_server import PREPARED, KeepingApi
from local_servers import serve
from plays import ROOT

pytestmark = pytest.mark.rest  # downloads awx.awx
GIVEN = {
    "inventory_url": INVENTORY_URL,
    "inventory_path": "inventories/local",
    "image": "registry.example.com/llm-d-ee:1",
    "notification_url": "https://chat.example.com/x",
}
APPROVAL = "/api/v2/workflow_approval_templates"


@pytest.fixture(name="awx", scope="module")
def _awx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of collections with awx.awx."""
    return awx_collection(tmp_path_factory.mktemp("awx"))


class Configured:
    """A controller, and the playbooks that write to it. folder: for the files of a run."""

    def __init__(self, api: Controller, awx: Path, folder: Path) -> None:
        self.api, self._awx, self._folder, self.output = api, awx, folder, ""
        (folder / "config").write_text("apiVersion: v1\nkind: Config\n", encoding="utf-8")

    def run(self, playbook: str = "configure_awx", *arguments: str, **given: t.Any) -> int:
        """Run a playbook; the number of changed tasks."""
        options = {"configure_awx_kubeconfig": f"{self._folder}/config", **{f"configure_awx_{name}": value for name, value in {**GIVEN, **given}.items()}}
        where = {"CONTROLLER_HOST": self.api.url, "CONTROLLER_OAUTH_TOKEN": self.api.token, "CONTROLLER_VERIFY_SSL": "false"}
        paths = {"ANSIBLE_COLLECTIONS_PATH": f"{ROOT}/collections:{self._awx}", "HOME": str(self._folder)}
        done = plays.run(f"playbooks/{playbook}.yml", "-e", json.dumps(options), *arguments, **paths, **where)
        self.output = done.stdout + done.stderr
        assert done.returncode == 0, self.output[-4000:]
        return int(re.findall(r"changed=(\d+)", done.stdout)[-1])

    def names(self, kind: str) -> set[str]:
        return {each["name"] for each in self.api.objects(kind)}


@pytest.fixture(name="made", scope="module")
def _made(awx: Path, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Configured]:
    """A controller on which the playbook has created everything."""
    with Controller({COLLECTION_URL: ROOT, INVENTORY_URL: ROOT}) as api:
        configured = Configured(api, awx, tmp_path_factory.mktemp("made"))
        assert configured.run() > 10
        yield configured


def test_all_of_it_is_made_once(made: Configured) -> None:
    data = {name: items for path in (ROOT / "extensions/controller").glob("*.yml") for name, items in DataLoader().load_from_file(str(path)).items()}
    for name, kind in (("templates", "job_templates"), ("workflows", "workflow_job_templates"), ("notifications", "notification_templates")):
        assert {each["name"] for each in data[f"controller_{name}"]} == made.names(kind)
    surveys = {each["name"]: each["survey_spec"] for each in made.api.objects("job_templates")}
    assert {each["name"]: each.get("survey_spec", {}) for each in data["controller_templates"]} == surveys
    before = len(made.api.writes)
    assert made.run() == 0
    assert not [write for write in made.api.writes[before:] if write.changed]
    assert made.api.complaints == [] and made.api.refused == []


def test_awx_objects_whose_settings_are_empty_are_not_created(awx: Path, tmp_path: Path) -> None:
    with Controller({COLLECTION_URL: ROOT, INVENTORY_URL: ROOT}) as api:
        configured = Configured(api, awx, tmp_path)
        configured.run(image="", notification_url="")
        assert not configured.names("notification_templates") and "llm-d" not in configured.names("execution_environments")
        assert not any(each["enabled"] for each in api.objects("schedules"))


@pytest.mark.timeout(300)  # three runs of the playbook
def test_repositories_and_registries_that_are_private_have_credentials_of_their_own(awx: Path, tmp_path: Path) -> None:
    kinds = {"project_credential": "Source Control", "inventory_credential": "Source Control", "image_credential": "Container Registry"}
    with Controller({COLLECTION_URL: ROOT, INVENTORY_URL: ROOT}) as api:
        types = {each["name"]: each["id"] for each in api.objects("credential_types")}
        for name, kind in kinds.items():
            inputs = {"host": "registry.example.com"} if name == "image_credential" else {"username": "robot"}
            body = {"name": name, "organization": 1, "credential_type": types[kind], "inputs": inputs}
            assert call(api, "POST", "/api/v2/credentials/", body)[0] == 201
        configured = Configured(api, awx, tmp_path)
        configured.run(**{name: name for name in kinds})
        made = [*api.objects("projects"), *api.objects("execution_environments")]
        assert {each["name"]: each["summary_fields"]["credential"]["name"] for each in made if each["credential"]} == {
            "llm_d.inference": "project_credential",
            "llm-d: Inventories": "inventory_credential",
            "llm-d": "image_credential",
        }
        assert configured.run(**{name: name for name in kinds}) == 0


@pytest.mark.timeout(300)
def test_organization_schedules_branches_and_credentials_can_be_chosen(awx: Path, tmp_path: Path) -> None:
    """Another organization, schedules that start jobs, a tag of the collection, and existing credentials, or none."""
    chosen: dict[str, t.Any] = {"organization": "Ops", "scheduled": "true", "project_branch": "v0.1.0", "inventory_branch": "live", "kubeconfig": ""}
    with Controller({COLLECTION_URL: ROOT, INVENTORY_URL: ROOT}) as api:
        assert call(api, "POST", "/api/v2/organizations/", {"name": "Ops"})[0] == 201
        types = {each["name"]: each["id"] for each in api.objects("credential_types")}
        body = {"name": "an account", "organization": 1, "credential_type": types["OpenShift or Kubernetes API Bearer Token"], "inputs": {"host": "https://x"}}
        assert call(api, "POST", "/api/v2/credentials/", body)[0] == 201
        configured = Configured(api, awx, tmp_path)
        configured.run(credentials=[], **chosen)
        assert {each["scm_branch"] for each in api.objects("projects")} == {"v0.1.0", "live"}
        assert all(each["enabled"] for each in api.objects("schedules"))
        assert {each["summary_fields"]["organization"]["name"] for kind in ("projects", "inventories") for each in api.objects(kind)} == {"Ops"}
        assert of_jobs(api) == {()}
        (kind,) = [each["id"] for each in api.objects("credential_types") if each["name"] == "llm-d: Model token"]
        body = {"name": "a model", "organization": 1, "credential_type": kind, "inputs": {"token": "planted-hf"}}
        assert call(api, "POST", "/api/v2/credentials/", body)[0] == 201
        configured.run(credentials="an account, a model", **chosen)
        assert of_jobs(api) == {("a model", "an account")}
        assert configured.run(credentials=["an account", "a model"], **chosen) == 0


def of_jobs(api: Controller) -> set[tuple[str, ...]]:
    """The credentials of the job templates, except the one that only requests approval."""
    templates = [each for each in api.objects("job_templates") if each["name"] != "llm-d: Ask for approval"]
    return {tuple(sorted(each["lists"]["credentials"])) for each in templates}


def test_no_secret_is_shown(awx: Path, tmp_path: Path) -> None:
    with Controller({COLLECTION_URL: ROOT, INVENTORY_URL: ROOT}) as api:
        configured = Configured(api, awx, tmp_path)
        (tmp_path / "config").write_text("apiVersion: v1\nkind: Config\nusers: [{name: a, user: {token: planted-token-Zq9}}]\n", encoding="utf-8")
        configured.run("configure_awx", "-vvv")
        assert "Create the credentials" in configured.output and not [text for text in (api.token, "planted-token-Zq9") if text in configured.output]


def test_a_survey_can_be_answered_with_what_it_requires(made: Configured) -> None:
    for template in made.api.objects("job_templates"):
        required = [each for each in (template["survey_spec"] or {}).get("spec", []) if each["required"]]
        answers = {each["variable"]: each.get("choices", ["a"])[0] for each in required}
        status, _answer = call(made.api, "POST", f"{template['url']}launch/", {"extra_vars": answers})
        assert status == 201, template["name"]
        assert answers.items() <= made.api.launches[-1]["extra_vars"].items()


def test_the_approval_text_shows_the_verdict_and_the_changes(made: Configured, tmp_path: Path) -> None:
    """The cluster has no stack yet."""
    services = [{"name": "sim", "model": {"served_name": "acme/sim"}, "engine": {"type": "simulator"}}]
    cluster = KeepingApi(ready=True)
    cluster.kept.update(PREPARED)
    with serve(cluster.answer) as api:
        plays.kubeconfig(tmp_path / "kubeconfig", api)
        here = {
            "llm_d_kubeconfig": str(tmp_path / "kubeconfig"),
            "llm_d_artifacts_dir": str(tmp_path / "artifacts"),
            "llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"},
        }
        hosts = {"all": {"hosts": {"paris": {"ansible_connection": "local", "llm_d_model_services": services, **here}}}}
        (tmp_path / "hosts.yml").write_text(yaml.safe_dump(hosts), encoding="utf-8")
        (flow,) = made.names("workflow_job_templates")
        made.run("ask_approval", "-i", str(tmp_path / "hosts.yml"), "-e", json.dumps({"awx_workflow_job_name": flow}))
    (approval,) = made.api.objects("workflow_approval_templates")
    assert approval["name"] == "llm-d: Approve the change"
    head, now, changes, *lines = approval["description"].splitlines()
    assert head == "paris" and re.fullmatch(r"  Verdict by this file, before the change: NOT OK: \d+ of \d+ claims hold, not .*sim/picker.*\.", now), now
    assert changes == f"  Changes: {len(lines) - 1} differences." and "  - Deployment llm-d/sim-epp-solo: not there." in lines
    assert lines[-1] == "  Deletes: nothing."
    assert made.run() == 0  # the text is kept
