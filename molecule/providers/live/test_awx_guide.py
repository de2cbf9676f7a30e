"""docs/awx.md on a real cluster, from an empty AWX to the first verdict, a change after approval and a survey. Needs `make site` first.

The file of the guide is extended by what this host requires: local charts, CRDs and images, and a short benchmark.
"""

from __future__ import annotations

import os
import re
import subprocess
import typing as t
from pathlib import Path

import plays
import pytest
from awx_guide import ELSEWHERE, Guide, awx_collection

from tools.manifests import user_file

KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
KUBECTL = os.environ.get("LLM_D_KUBECTL", "/var/lib/llm-d-local/bin/kubectl")
HERE = ("llm_d_helm", "llm_d_charts", "llm_d_crd_sources", "llm_d_images", "llm_d_preflight", "llm_d_release")
WELL = re.compile(r"^verdict   OK: (\d+) of \1 claims hold$", re.MULTILINE)


@pytest.fixture(name="guide")
def _guide(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Guide]:
    """The guide on a cluster without a deployment; the teardown restores the deployment."""
    awx = awx_collection(tmp_path_factory.mktemp("awx"))
    removed("inventories/local", tmp_path)
    with Guide(tmp_path, awx, KUBECONFIG, path=str(Path(KUBECTL).parent)) as guide:
        yield guide
    removed(str(tmp_path / "stack/inventories/mine"), tmp_path)
    plays.well("inventories/local", "site.yml", tmp_path / "out")


def removed(inventory: str, folder: Path) -> None:
    """Remove a deployment, and the namespaces that it has left for other reasons."""
    plays.well(inventory, "playbooks/teardown.yml", folder / "out", llm_d_confirm=True, llm_d_kubeconfig=KUBECONFIG)
    command = [KUBECTL, "--kubeconfig", KUBECONFIG, "delete", "namespace", "--ignore-not-found", "llm-d", "envoy-gateway-system"]
    subprocess.run(command, check=True, capture_output=True)


def test_from_an_empty_controller_to_the_first_verdict_and_on(guide: Guide) -> None:
    guide.run("git clone")
    guide.shell("! grep -r llm_d_kubeconfig inventories")  # a path of this host, which does not exist in jobs
    local = user_file("local")
    guide.file({**{name: local[name] for name in HERE}, "llm_d_benchmark": {"rates": [2], "seconds": 5, "max_lag": 5, "max_lag_share": 0}})
    guide.run("export CONTROLLER_HOST")
    guide.run("kubectl config view --raw")
    guide.run("ansible-playbook llm_d.inference.configure_awx")
    guide.run("rm")
    # The account comes first here, as for a kubeconfig that works only on the host of the reader: nothing is deployed yet.
    guide.run("ansible-playbook -i inventories/mine llm_d.inference.prerequisites")
    guide.run("ansible-playbook -i inventories/mine llm_d.inference.list_permissions")
    endpoint, token, *authority = guide.run("kubectl config view --minify --output").splitlines()
    made = {"host": endpoint, "bearer_token": token, "ssl_ca_cert": "\n".join(authority) + "\n", "verify_ssl": True}
    guide.credential("llm-d: Account", "OpenShift or Kubernetes API Bearer Token", **made)
    guide.run("ansible-playbook llm_d.inference.configure_awx")
    guide.run('ansible localhost -m awx.awx.job_launch -a \'{"name": "llm-d: Deploy the file"')
    assert WELL.search(guide.ended())
    guide.run("sed")
    guide.run("ansible localhost -m awx.awx.workflow_launch")
    guide.run("ansible localhost -m awx.awx.workflow_approval")
    assert guide.finished("workflow_jobs")["status"] == "successful", guide.ended()
    (approval,) = guide.rows("workflow_approvals")
    assert "\n  - Deployment llm-d/sim-decode: spec.replicas is 3, planned: 4; last set by llm_d.inference at " in approval["description"]
    assert guide.jobs()[1:] == [(name, "successful") for name in ("Ask for approval", "Deploy the file", "Check the stack", "Measure latency and throughput")]
    guide.run('ansible localhost -m awx.awx.job_launch -a \'{"name": "llm-d: Change how requests are scheduled"')
    guide.run("ansible-playbook llm_d.inference.configure_awx")  # a newer version, and without the name of the account: the kubeconfig counts again
    guide.shell('ansible localhost -m awx.awx.job_launch -a \'{"name": "llm-d: Deploy the file", "wait": true}\'')
    assert WELL.search(guide.ended()) and guide.rows("jobs")[-1].hidden["credentials"] != guide.rows("jobs")[0].hidden["credentials"]
    assert token not in guide.outputs() and guide.api.token not in guide.outputs()
    assert [each for each in guide.left if not each.startswith(tuple(ELSEWHERE))] == []
