"""Autoscaling of a running stack's servers: the collection gives up the number without a change, and does not set it afterwards. Needs `make site` first.

The local cluster has no metrics server, so a HorizontalPodAutoscaler has no metrics and its claim fails.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from kubernetes import client, config

KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
HOME, NAME, MANAGER = "llm-d", "sim-decode", "llm_d.inference"
FILE = plays.ROOT / "inventories/local/group_vars/all/llm_d.yml"
HPA = {"provider": "hpa", "min": 2, "max": 5, "metrics": {"cpu": 70}}


@pytest.fixture(scope="module", name="artifacts")
def _artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config.load_kube_config(KUBECONFIG)
    return tmp_path_factory.mktemp("artifacts")


def site(artifacts: Path, scaling: dict[str, t.Any] | None, *options: str) -> tuple[subprocess.CompletedProcess[str], dict[str, t.Any]]:
    """Run site.yml with this autoscaling of the file's servers (None: the fixed number of the file): (play, {id: claim} of its verdict)."""
    given: dict[str, t.Any] = {"llm_d_artifacts_dir": str(artifacts)}
    if scaling:
        services = copy.deepcopy(yaml.safe_load(FILE.read_text(encoding="utf-8"))["llm_d_model_services"])
        services[0].pop("replicas")
        services[0]["autoscaling"] = scaling
        given["llm_d_model_services"] = services
    done = plays.run("-i", "inventories/local", "site.yml", "-e", json.dumps(given), *options)
    path = artifacts / "verdict.json"
    verdict = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"claims": []}
    return done, {entry["id"]: entry for entry in verdict["claims"]}


def succeed(artifacts: Path, scaling: dict[str, t.Any] | None, *options: str) -> str:
    """Run site.yml, which must succeed; returns its output."""
    done, _claims = site(artifacts, scaling, *options)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
    return done.stdout


def servers() -> tuple[int, set[str], set[str]]:
    """(desired number, names of the pods, field managers of the number)."""
    deployment = client.AppsV1Api().read_namespaced_deployment(NAME, HOME)
    pods = client.CoreV1Api().list_namespaced_pod(HOME, label_selector="llm-d.ai/model-service=sim,llm-d.ai/role=decode").items
    owners = {entry.manager for entry in deployment.metadata.managed_fields if "f:replicas" in (entry.fields_v1 or {}).get("f:spec", {})}
    return deployment.spec.replicas, {pod.metadata.name for pod in pods if not pod.metadata.deletion_timestamp}, owners


def autoscalers() -> list[str]:
    return [item.metadata.name for item in client.AutoscalingV2Api().list_namespaced_horizontal_pod_autoscaler(HOME).items]


def test_the_replicas_field_is_released_unchanged_to_an_external_autoscaler(artifacts: Path) -> None:
    before = servers()
    assert before[0] == 4 and before[2] == {MANAGER}
    out = succeed(artifacts, {"provider": "external"}, "--check", "--diff")
    assert "changed=0 " in out and servers() == before, out
    succeed(artifacts, {"provider": "external"})
    count, pods, owners = servers()
    assert (count, pods) == before[:2] and MANAGER not in owners and owners


def test_replicas_set_through_the_scale_subresource_are_kept(artifacts: Path) -> None:
    client.AppsV1Api().patch_namespaced_deployment_scale(NAME, HOME, {"spec": {"replicas": 3}}, field_manager="someone")
    assert servers()[0] == 3
    assert "changed=0 " in succeed(artifacts, {"provider": "external"})
    count, _pods, owners = servers()
    assert count == 3 and owners == {"someone"}


def test_an_autoscaler_without_metrics_is_claimed_not_to_scale(artifacts: Path) -> None:
    done, claims = site(artifacts, HPA)
    assert done.returncode != 0 and "autoscaling/metrics" in done.stdout, done.stdout[-6000:]
    failed = [name for name, entry in claims.items() if not entry["ok"]]
    assert failed == ["sim/scaling"], claims
    claim = claims["sim/scaling"]
    assert f"{NAME} does not scale {NAME}: ScalingActive" in claim["evidence"] and "metrics.k8s.io" in claim["remedy"], claim
    assert autoscalers() == [NAME] and servers()[0] == 3, "the number exceeds its minimum, and it has no metrics"


def test_an_hpa_raises_replicas_to_its_minimum_and_the_next_run_keeps_them(artifacts: Path) -> None:
    client.AppsV1Api().patch_namespaced_deployment_scale(NAME, HOME, {"spec": {"replicas": 1}})
    _done, claims = site(artifacts, HPA)
    count, _pods, owners = servers()
    assert count == 2 and MANAGER not in owners and claims["sim/servers"]["ok"], (count, owners, claims)
    _done, claims = site(artifacts, HPA)
    assert servers()[0] == 2 and claims["objects/ready"]["ok"]


def test_fixed_replicas_remove_the_autoscaler_and_a_second_run_changes_nothing(artifacts: Path) -> None:
    succeed(artifacts, None)
    assert autoscalers() == [] and servers()[0] == 4 and MANAGER in servers()[2]
    assert "changed=0 " in succeed(artifacts, None)
