"""Another provider on the running stack: the new gateway serves, the old one goes, and back again. Needs `make site` first."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from kubernetes import client, config

ROOT = Path(__file__).resolve().parents[3]
KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")


def site(artifacts: Path, **gateway: str) -> dict[str, object]:
    """The verdict after site.yml with that gateway; nothing given: with that of the file."""
    given: dict[str, object] = {"llm_d_artifacts_dir": str(artifacts)}
    if gateway:
        given["llm_d_gateway"] = gateway
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "inventories/local", "site.yml", "-e", json.dumps(given)]
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    return json.loads((artifacts / "verdict.json").read_text(encoding="utf-8"))


def gateway_objects() -> list[str]:
    """What only a stack with Envoy Gateway has, of the service `sim`."""
    config.load_kube_config(KUBECONFIG)
    found = []
    for group, kind in (("gateway.networking.k8s.io", "gateways"), ("gateway.networking.k8s.io", "httproutes")):
        found += [item["metadata"]["name"] for item in client.CustomObjectsApi().list_namespaced_custom_object(group, "v1", "llm-d", kind)["items"]]
    found += [item.metadata.name for item in client.AppsV1Api().list_namespaced_deployment("envoy-gateway-system").items]
    return [name for name in found if name in ("llm-d-gateway", "sim", "envoy-gateway")]


def test_the_stack_moves_to_another_provider_and_back(tmp_path: Path) -> None:
    assert sorted(gateway_objects()) == ["envoy-gateway", "llm-d-gateway", "sim"]
    moved = site(tmp_path, provider="standalone", service_type="ClusterIP")
    assert moved["ok"] and gateway_objects() == []
    back = site(tmp_path)
    assert back["ok"] and sorted(gateway_objects()) == ["envoy-gateway", "llm-d-gateway", "sim"]
    assert moved["endpoint"] != back["endpoint"]
