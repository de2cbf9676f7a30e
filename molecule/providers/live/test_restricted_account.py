"""Two phases, two accounts: an administrator once, then an account with permissions in its namespace only deploys a stack. Needs `make site` first.

The permissions are those of the file of playbooks/list_permissions.yml, applied unchanged. The stack has a separate namespace, with Secrets whose values no
output may contain.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import subprocess
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from kubernetes import client, config

KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
KUBECTL = os.environ.get("LLM_D_KUBECTL", "/var/lib/llm-d-local/bin/kubectl")
HOME, ACCOUNT = "llm-d-restricted", "llm-d-restricted-deployer"
TOKEN, PASSWORD = "hf_" + "q7" * 12, "s3same-" + "z9" * 8
HIDDEN = [TOKEN, PASSWORD, *(base64.b64encode(text.encode()).decode() for text in (TOKEN, PASSWORD, f"robot:{PASSWORD}"))]
USER = {
    "llm_d_namespace": HOME,
    "llm_d_instance": HOME,
    "llm_d_model_token": TOKEN,
    "llm_d_image_pull_credentials": [{"registry": "registry.example.com", "username": "robot", "password": PASSWORD}],
}


def play(name: str, folder: Path, *arguments: str, **variables: t.Any) -> subprocess.CompletedProcess[str]:
    """Run a playbook on the local inventory, with a file of variables for the separate namespace."""
    given = folder / "vars.json"
    given.write_text(json.dumps({**USER, "llm_d_artifacts_dir": str(folder / "artifacts"), **variables}), encoding="utf-8")
    done = plays.run("-i", "inventories/local", name, "-e", f"@{given}", *arguments, ANSIBLE_CALLBACK_RESULT_FORMAT="json")
    with (folder / "output").open("a", encoding="utf-8") as kept:
        kept.write(done.stdout + done.stderr)
    return done


def verdict_of(folder: Path) -> dict[str, t.Any]:
    """The verdict of the last validation."""
    verdict: dict[str, t.Any] = json.loads((folder / "artifacts" / HOME / "verdict.json").read_text(encoding="utf-8"))
    return verdict


def unpermitted(folder: Path) -> list[dict[str, t.Any]]:
    """The claims that the last validation did not check for lack of a permission; others may be unchecked because of the release."""
    return [entry for entry in verdict_of(folder)["not_checked"] if "permission" in entry["why"] or "403" in entry["why"]]


def well(done: subprocess.CompletedProcess[str]) -> str:
    """The output of a playbook that must have succeeded."""
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Path]:
    """The folder of all output; the teardown deletes the namespace."""
    config.load_kube_config(KUBECONFIG)
    yield tmp_path_factory.mktemp("restricted")
    client.CoreV1Api().delete_namespace(HOME)


def kubectl(*arguments: str) -> str:
    """Run kubectl as the administrator; returns its output."""
    done = subprocess.run([KUBECTL, "--kubeconfig", KUBECONFIG, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def listed(folder: Path, **variables: t.Any) -> Path:
    """The file that list_permissions.yml writes for an account with permissions in the namespace only."""
    output = well(play("playbooks/list_permissions.yml", folder, llm_d_scope="namespace", list_permissions_token="true", **variables))
    path = re.search(r"kubectl apply -f ([^\s\"]+)", output)
    assert path, output
    return Path(path.group(1))


@pytest.fixture(scope="module")
def account(folder: Path) -> Path:
    """The administrator's preparation, and a kubeconfig with the token of the account that list_permissions.yml defines."""
    well(play("playbooks/prerequisites.yml", folder))
    kubectl("apply", "-f", str(listed(folder)))
    secret = ("get", "secret", f"{ACCOUNT}-token", "--namespace", HOME, "--output", "go-template={{.data.token | base64decode}}")
    kubectl("wait", f"secret/{ACCOUNT}-token", "--namespace", HOME, "--for=jsonpath={.data.token}", "--timeout=60s")
    kubeconfig = yaml.safe_load(Path(KUBECONFIG).read_text(encoding="utf-8"))
    kubeconfig["users"] = [{"name": entry["name"], "user": {"token": kubectl(*secret)}} for entry in kubeconfig["users"]]
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(kubeconfig), encoding="utf-8")
    return path


def mine(account: Path) -> dict[str, str]:
    """The variables of the account's file."""
    return {"llm_d_kubeconfig": str(account), "llm_d_scope": "namespace"}


def test_prerequisites_are_refused_when_the_account_lacks_cluster_permissions(account: Path, folder: Path) -> None:
    done = play("playbooks/prerequisites.yml", folder, llm_d_kubeconfig=str(account))
    output = " ".join(done.stdout.split())
    assert done.returncode != 0 and f"The account system:serviceaccount:{HOME}:{ACCOUNT} may not" in output
    assert "customresourcedefinitions.apiextensions.k8s.io" in output and "Nothing has been touched" in output


def test_the_account_brings_up_a_stack_that_serves(account: Path, folder: Path) -> None:
    well(play("site.yml", folder, "-vvv", "--diff", **mine(account)))
    verdict = verdict_of(folder)
    ids = {entry["id"] for entry in verdict["claims"]}
    wanted = {"platform/permissions", "platform/crds", "sim/servers", "sim/scraped", "sim/counted", "sim/plugins", "sim/permissions", "sim/unprivileged"}
    assert verdict["ok"] and wanted <= ids, ids
    assert unpermitted(folder) == []
    token = client.CoreV1Api().read_namespaced_secret(f"{HOME}-model-token", HOME)
    assert base64.b64decode(token.data["HF_TOKEN"]).decode() == TOKEN
    pods = client.CoreV1Api().list_namespaced_pod(HOME).items
    assert pods and all([secret.name for secret in pod.spec.image_pull_secrets] == [f"{HOME}-image-pull"] for pod in pods)


def test_the_account_validates_and_diagnoses_a_healthy_stack(account: Path, folder: Path) -> None:
    well(play("playbooks/validate.yml", folder, **mine(account)))
    assert verdict_of(folder)["ok"] and unpermitted(folder) == []
    output = well(play("playbooks/diagnose.yml", folder, diagnose_fail=True, **mine(account)))
    report = json.loads((folder / "artifacts" / HOME / "diagnosis.json").read_text(encoding="utf-8"))
    assert report["ok"] and report["findings"] == [], report
    assert report["claims"] > 10, "the diagnosis checks the claims of the validation too"
    (line,) = report["not_read"]
    assert "Node" in line and f"in {HOME}" not in line and "no permission" not in output


def test_a_second_run_and_check_mode_change_nothing(account: Path, folder: Path) -> None:
    for arguments in ((), ("--check", "--diff", "-vvv")):
        assert re.search(r"changed=0 ", well(play("site.yml", folder, *arguments, **mine(account))))


@pytest.mark.parametrize(
    "resource", ["httproutes", "inferencepools", "deployments", "secrets", "services/proxy", "pods/proxy", "pods/log", "replicasets", "envoyproxies"]
)
def test_the_preflight_names_what_is_missing(account: Path, folder: Path, resource: str) -> None:
    with without(resource):
        done = play("playbooks/preflight.yml", folder, **mine(account))
    kept = json.loads((folder / "artifacts" / HOME / "preflight.json").read_text(encoding="utf-8"))
    lacking = [finding["what"] for finding in kept["findings"] if finding["severity"] == "error"]
    assert done.returncode != 0 and re.search(rf"may not [a-z, ]+ {resource}[a-z.0-9 -]* in {HOME}", " ".join(lacking)), done.stdout[-3000:]
    assert len(set(re.findall(r"may not [a-z, ]+ ([a-z/]+)", " ".join(lacking)))) == 1


def test_the_validation_names_what_is_missing(account: Path, folder: Path) -> None:
    with without("deployments"):
        done = play("playbooks/validate.yml", folder, validation_wait=5, llm_d_wait_timeout=5, **mine(account))
    claims = {entry["id"]: entry for entry in json.loads((folder / "artifacts" / HOME / "verdict.json").read_text(encoding="utf-8"))["claims"]}
    assert done.returncode != 0 and not claims["platform/permissions"]["ok"] and "deployments.apps" in claims["platform/permissions"]["evidence"]


@contextlib.contextmanager
def without(resource: str) -> t.Iterator[None]:
    """Remove one resource from the account's Role, and restore it at the end."""
    rbac = client.RbacAuthorizationV1Api()
    role = rbac.list_namespaced_role(HOME, field_selector=f"metadata.name={ACCOUNT}").items[0]
    whole = [client.V1PolicyRule(**{key: getattr(rule, key) for key in rule.attribute_map}) for rule in role.rules]
    for rule in role.rules:
        rule.resources = [name for name in rule.resources if name != resource]
    role.rules = [rule for rule in role.rules if rule.resources]
    rbac.replace_namespaced_role(role.metadata.name, HOME, role)
    try:
        yield
    finally:
        role = rbac.read_namespaced_role(role.metadata.name, HOME)
        role.rules = whole
        rbac.replace_namespaced_role(role.metadata.name, HOME, role)


def test_the_account_removes_its_stack_and_nothing_else(account: Path, folder: Path) -> None:
    well(play("playbooks/teardown.yml", folder, "-vvv", **mine(account)))
    assert not client.AppsV1Api().list_namespaced_deployment(HOME).items
    assert [secret.metadata.name for secret in client.CoreV1Api().list_namespaced_secret(HOME).items] == [f"{ACCOUNT}-token"]
    assert not client.CoreV1Api().list_namespaced_service(HOME).items
    custom = client.CustomObjectsApi()
    kinds = (("gateway.networking.k8s.io", "gateways"), ("gateway.networking.k8s.io", "httproutes"), ("inference.networking.k8s.io", "inferencepools"))
    for group, plural in kinds:
        assert not custom.list_namespaced_custom_object(group, "v1", HOME, plural)["items"]
    assert custom.get_cluster_custom_object("gateway.networking.k8s.io", "v1", "gatewayclasses", "envoy-gateway")
    assert client.CoreV1Api().read_namespace(HOME).status.phase == "Active"


def test_another_provider_with_the_permissions_for_it(account: Path, folder: Path) -> None:
    """The account has no permissions for the first provider's kinds; no play fails at kinds that it may not read."""
    gateway = {"llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"}}
    path = listed(folder, **gateway)
    (role,) = [item for item in yaml.safe_load_all(path.read_text(encoding="utf-8")) if item["kind"] == "Role"]
    assert not [rule for rule in role["rules"] if {"gateways", "httproutes", "envoyproxies"} & set(rule["resources"])]
    kubectl("apply", "-f", str(path))
    well(play("site.yml", folder, **mine(account), **gateway))
    assert verdict_of(folder)["ok"] and unpermitted(folder) == []
    well(play("playbooks/teardown.yml", folder, **mine(account), **gateway))
    assert not client.AppsV1Api().list_namespaced_deployment(HOME).items


def test_no_output_and_no_artifact_shows_a_secret(folder: Path) -> None:
    for path in [folder / "output", *(path for path in (folder / "artifacts").rglob("*") if path.is_file())]:
        text = path.read_text(encoding="utf-8", errors="replace")
        assert text and not [value for value in HIDDEN if value in text], path
