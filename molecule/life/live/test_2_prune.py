"""The next run prunes a model service that the file no longer contains, and nothing else; --check --diff shows it before."""

from __future__ import annotations

import typing as t

import pytest
from stack import MODEL, NAMESPACE, SIM, Stack
from steady_load import SteadyLoad

LABELS = {"app.kubernetes.io/managed-by": "llm_d.inference", "app.kubernetes.io/part-of": "llm-d"}
OF_SECOND = {"llm-d.ai/model-service": "second"}
SECOND = {**SIM, "name": "second", "route": {"path": "/second"}}
KINDS = {
    "v1": ("ConfigMap", "Service", "ServiceAccount"),
    "apps/v1": ("Deployment",),
    "rbac.authorization.k8s.io/v1": ("Role", "RoleBinding"),
    "gateway.networking.k8s.io/v1": ("HTTPRoute",),
    "inference.networking.k8s.io/v1": ("InferencePool",),
    "gateway.envoyproxy.io/v1alpha1": ("EnvoyExtensionPolicy", "BackendTrafficPolicy"),
}


def objects_present(stack: Stack) -> dict[str, str]:
    """{kind and name: uid and generation} of the objects, those that controllers create left out."""
    objects = {}
    for version, kinds in KINDS.items():
        for kind in kinds:
            for name, item in stack.named(version, kind).items():
                objects[f"{kind} {name}"] = f"{item['metadata']['uid']} {item['metadata'].get('generation', item.get('data'))}"
    return objects


@pytest.fixture(name="others")
def _others(stack: Stack) -> t.Iterator[list[str]]:
    """Paths of a claim of the collection, and of a foreign ConfigMap with the model service's label."""
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}, "storageClassName": "none-here"}
    made = [
        {"kind": "PersistentVolumeClaim", "metadata": {"name": "second-weights", "namespace": NAMESPACE, "labels": {**LABELS, **OF_SECOND}}, "spec": claim},
        {"kind": "ConfigMap", "metadata": {"name": "strangers", "namespace": NAMESPACE, "labels": OF_SECOND}},
    ]
    paths = []
    for item in made:
        path = stack.cluster.path("v1", item["kind"], NAMESPACE) or ""
        stack.cluster.request("POST", path, body={"apiVersion": "v1", **item})
        paths.append(f"{path}/{item['metadata']['name']}")
    yield paths
    for path in paths:
        stack.cluster.request("DELETE", path)


def test_a_service_removed_from_the_file_is_pruned_and_nothing_else(stack: Stack, others: list[str]) -> None:
    stack.serves(SIM)
    alone = objects_present(stack)
    stack.serves(SIM, SECOND)
    assert stack.ask("second", "who answers?").startswith("second-")
    both = objects_present(stack)
    second = sorted(set(both) - set(alone))
    assert len(second) >= 9 and both == {**both, **alone}

    shown = " ".join(stack.serves(SIM, options=("--check", "--diff")).split())
    deleted = [f"{what.replace(' ', f' {NAMESPACE}/')} (deleted)" for what in second]
    assert not [what for what in deleted if what not in shown], shown[-6000:]
    assert objects_present(stack) == both, "check mode deletes nothing"

    with SteadyLoad(stack.url("sim"), MODEL, rate=10, long_tokens=50) as load:
        stack.serves(SIM, options=("--skip-tags", "validation"))  # the claims count requests
    print(f"\n{load.report}")
    assert load.report.sent > 20 and not load.report.lost
    assert objects_present(stack) == alone
    for path in others:
        assert stack.cluster.get(path)
    assert "changed=0 " in stack.serves(SIM)
