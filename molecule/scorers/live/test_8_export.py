"""After kubectl has applied the files of playbooks/export.yml, site.yml changes nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import plays
from stack import NAMESPACE, Stack, until

INVENTORY = "molecule/scorers/inventory"
KUBECTL = ["/var/lib/llm-d-local/bin/kubectl", "--kubeconfig", os.environ["LLM_D_KUBECONFIG"]]


def kubectl(*arguments: str) -> str:
    done = subprocess.run([*KUBECTL, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_site_changes_nothing_after_kubectl_applies_the_export(stack: Stack, tmp_path: Path) -> None:
    plays.well(INVENTORY, "playbooks/export.yml", tmp_path, export_path=str(tmp_path / "out"))
    before = len(stack.servers("sim"))
    kubectl("delete", "--namespace", NAMESPACE, "deployment/sim-decode", "deployment/sim-epp", "service/sim-epp", "httproute/sim")
    applied = kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=gitops", "-k", str(tmp_path / "out"))
    assert "deployment.apps/sim-decode serverside-applied" in applied, applied
    until(lambda: len(stack.servers("sim")) == before, 120, "the applied servers are ready")
    until(lambda: bool(stack.pickers("sim")), 120, "the endpoint picker is ready")
    out = plays.well(INVENTORY, "site.yml", tmp_path)
    assert "changed=0" in out, out[-3000:]
    stack.obeyed("sim")
