"""A separate playbook removes CRDs: refused while a stack uses them, done when none does; the next run restores them. Needs `make site` first."""

from __future__ import annotations

import os
import subprocess

import plays
from kubernetes import client, config

KUBECONFIG = os.environ.get("LLM_D_KUBECONFIG", "/var/lib/llm-d-local/admin.kubeconfig")
FOREIGN = "things.example.com"
OF_ANOTHER_PROVIDER = ".aigateway.envoyproxy.io"  # a former provider of the stack, whose CRDs stay
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": FOREIGN},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Thing", "plural": "things"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
    },
}


def play(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a playbook on the local inventory."""
    return plays.run("-i", "inventories/local", name, *arguments)


def definitions() -> set[str]:
    """Names of all CRDs of the cluster."""
    config.load_kube_config(KUBECONFIG)
    return {item.metadata.name for item in client.ApiextensionsV1Api().list_custom_resource_definition().items}


def test_crds_are_removed_only_when_unused_and_reinstalled_by_the_next_run() -> None:
    before = definitions()
    client.ApiextensionsV1Api().create_custom_resource_definition(CRD)
    try:
        refused = play("playbooks/remove_crds.yml")
        assert refused.returncode != 0 and "inferencepools.inference.networking.k8s.io llm-d/sim" in refused.stdout
        assert definitions() == before | {FOREIGN}
        assert play("playbooks/teardown.yml").returncode == 0
        assert definitions() == before | {FOREIGN}
        checked = play("playbooks/remove_crds.yml", "--check", "--diff")
        assert checked.returncode == 0 and "-inferencepools.inference.networking.k8s.io" in checked.stdout, checked.stdout
        assert definitions() == before | {FOREIGN}
        done = play("playbooks/remove_crds.yml")
        assert done.returncode == 0, done.stdout
        assert definitions() == {FOREIGN}
        again = play("playbooks/remove_crds.yml")
        assert again.returncode == 0 and "changed=0 " in again.stdout
    finally:
        client.ApiextensionsV1Api().delete_custom_resource_definition(FOREIGN)
    site = play("site.yml")
    assert site.returncode == 0, site.stdout[-4000:]
    assert definitions() == {name for name in before if not name.endswith(OF_ANOTHER_PROVIDER)}
