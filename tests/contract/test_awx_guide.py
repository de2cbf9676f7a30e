# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs docs/awx.md on a cluster without running pods, up to a change that fails. molecule/providers/live/test_awx_guide.py runs every command on a real one."""

from __future__ import annotations

import base64
import time
import typing as t

import plays
import pytest
from awx_guide import INVENTORY_URL, Guide, awx_collection
from keeping_api_server import PREPARED, KeepingApi
from local_servers import serve

# Variables that the file of the guide lacks: no waiting for pods.
HERE = {"llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"}, "llm_d_wait_timeout": 10, "validation_patient": False}


@pytest.fixture(name="cluster", scope="module")
def _cluster() -> KeepingApi:
    cluster = KeepingApi(ready=True)
    cluster.kept.update(PREPARED)
    return cluster


@pytest.fixture(name="guide", scope="module")
def _guide(cluster: KeepingApi, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Guide]:
    folder = tmp_path_factory.mktemp("guide")
    awx = awx_collection(tmp_path_factory.mktemp("awx"))
    with serve(cluster.answer) as api, Guide(folder, awx, plays.kubeconfig(folder / "config", api)) as guide:
        yield guide


@pytest.mark.rest  # downloads awx.awx
@pytest.mark.timeout(900)
def test_the_commands_up_to_a_change_that_fails(guide: Guide, cluster: KeepingApi) -> None:
    guide.run("git clone")
    guide.shell("! grep -r llm_d_kubeconfig inventories")  # a path of this host, which no job has
    guide.file(HERE)
    guide.run("export CONTROLLER_HOST")
    guide.left = [each for each in guide.left if not each.startswith("kubectl")]  # the file is that of the fixture
    guide.shell("cp $KUBECONFIG ../kubeconfig")
    guide.run("ansible-playbook llm_d.inference.configure_awx")
    guide.run("rm")
    guide.run('ansible localhost -m awx.awx.job_launch -a \'{"name": "llm-d: Deploy the file"', well=False)
    assert "did not confirm in time that it has loaded the configuration" in guide.ended()
    guide.run("sed")
    guide.run("ansible localhost -m awx.awx.workflow_launch")
    guide.run("ansible localhost -m awx.awx.workflow_approval")
    assert guide.finished("workflow_jobs")["status"] == "failed"
    (approval,) = guide.rows("workflow_approvals")
    assert (
        approval["description"].startswith("localhost\n  Verdict by this file, before the change: NOT OK")
        and "Deployment llm-d/sim-decode: not there" in approval["description"]
    )
    assert guide.jobs()[1:] == [
        ("Ask for approval", "successful"),
        ("Deploy the file", "failed"),
        ("Diagnose a stack", "successful"),
        ("End a failed change", "failed"),
    ]
    assert "diagnosis: " in guide.ended() and "drift: " in guide.ended(), "the summaries of the earlier jobs"
    # A push between the text and the approval is not deployed.
    guide.shell('ansible localhost -m awx.awx.workflow_launch -a \'{"name": "llm-d: Change after approval", "wait": false}\'')
    while len(guide.rows("workflow_approvals")) < 2:
        time.sleep(0.1)
    guide.file({**HERE, "llm_d_wait_timeout": 2})
    flow = guide.rows("workflow_jobs")[-1].id
    guide.shell(f'ansible localhost -m awx.awx.workflow_approval -a \'{{"workflow_job_id": {flow}, "name": "llm-d: Approve the change"}}\'')
    assert guide.finished("workflow_jobs")["status"] == "failed" and guide.jobs()[-3:-1] == [("Deploy the file", "failed"), ("Diagnose a stack", "successful")]
    assert "the file, or the collection, has changed since the approval" in " ".join(guide.rows("jobs")[-3].hidden["output"].split())

    guide.credential("llm-d: Models", "llm-d: Model token", token="planted-models-5Kq")
    options = f"-e configure_awx_inventory_url={INVENTORY_URL} -e 'configure_awx_credentials=\"llm-d: Cluster,llm-d: Models\"'"
    guide.shell(f"ansible-playbook llm_d.inference.configure_awx {options}")
    guide.shell('ansible localhost -m awx.awx.job_launch -a \'{"name": "llm-d: Deploy the file", "wait": true}\'', well=False)
    secret = cluster.kept["/api/v1/namespaces/llm-d/secrets/llm-d-model-token"]
    assert base64.b64decode(secret["data"]["HF_TOKEN"]).decode() == "planted-models-5Kq"
    assert "planted-models-5Kq" not in guide.outputs() and guide.api.token not in guide.outputs()
