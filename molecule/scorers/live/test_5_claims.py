"""The claims of playbooks/validate.yml about configurations, servers, rights and speed: each holds of the running stack, and fails when it is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from agreement import show
from kubernetes import client
from stack import NAMESPACE, ROOT, Stack, until

SEES_SECRETS: dict[str, t.Any] = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "too-much", "namespace": NAMESPACE}}


@pytest.fixture(autouse=True)
def as_written(stack: Stack) -> None:
    """Other tests have tried something else with the same stack, and had the servers of `table` show what they have not."""
    for address in stack.servers("table").values():
        show(address, {"waiting": 0, "running": 0, "kv_usage": 0.0})
    done = stack.as_written()
    assert done.returncode == 0, done.stdout
    for service in ("sim", "table"):
        until(lambda service=service: len(stack.servers(service)) == 4, 60, f"four servers of {service}")


def validate(folder: Path, slo: dict[str, float]) -> tuple[int, dict[str, dict[str, t.Any]], str]:
    """The exit status, the claims by id, and what was shown."""
    given = {"llm_d_artifacts_dir": str(folder), "validation_performance": True, "validation_performance_seconds": 3, "validation_wait": 5,
             "llm_d_benchmark": {"services": ["sim"], "concurrency": [2], "max_lag": 5, "slo": slo}}
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "molecule/scorers/inventory", "playbooks/validate.yml", "-e", json.dumps(given)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}, check=False)
    verdict = json.loads((folder / "verdict.json").read_text())
    return done.returncode, {entry["id"]: entry for entry in verdict["claims"]}, done.stdout


def test_all_claims_hold_of_what_is_well(stack: Stack, tmp_path: Path) -> None:
    code, claims, shown = validate(tmp_path, {"error_rate_max": 0})
    assert code == 0, shown
    for service in ("sim", "table"):
        assert {f"{service}/{name}" for name in ("configured", "servers", "rights", "unprivileged")} <= set(claims)
    assert "4 servers" in claims["sim/servers"]["evidence"] and "2 requests" not in claims["sim/performance"]["evidence"]
    assert [name for name in claims if name.endswith("/performance")] == ["sim/performance"]


def test_each_claim_fails_when_it_is_broken(stack: Stack, tmp_path: Path) -> None:
    rbac, apps = client.RbacAuthorizationV1Api(), client.AppsV1Api()
    rbac.create_namespaced_role(NAMESPACE, {**SEES_SECRETS, "kind": "Role", "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]})
    rbac.create_namespaced_role_binding(NAMESPACE, {
        **SEES_SECRETS, "kind": "RoleBinding", "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "too-much"},
        "subjects": [{"kind": "ServiceAccount", "name": "sim-epp", "namespace": NAMESPACE}]})
    try:
        switched = stack.switch("sim", {"preset": "queue"})
        assert switched.returncode == 0, switched.stdout
        apps.patch_namespaced_deployment("sim-decode", NAMESPACE, {"spec": {"replicas": 3}})
        until(lambda: len(stack.servers("sim")) == 3, 60, "three servers")
        code, claims, shown = validate(tmp_path, {"ttft_p50_ms": 0.01})
    finally:
        rbac.delete_namespaced_role_binding("too-much", NAMESPACE)
        rbac.delete_namespaced_role("too-much", NAMESPACE)
        apps.patch_namespaced_deployment("sim-decode", NAMESPACE, {"spec": {"replicas": 4}})
        back = stack.switch("sim", {"preset": "balanced"})
    assert back.returncode == 0, back.stdout
    wrong = {name for name, entry in claims.items() if not entry["ok"]}
    assert code != 0 and {"sim/configured", "sim/servers", "sim/rights", "sim/performance"} <= wrong, shown
    assert not {name for name in wrong if name.startswith("table/")}, shown
    assert "may get secrets" in claims["sim/rights"]["evidence"] and "3 of 4 servers" in claims["sim/servers"]["evidence"]
    assert "ttft_p50_ms" in claims["sim/performance"]["evidence"] and all(claims[name]["remedy"] for name in wrong)
