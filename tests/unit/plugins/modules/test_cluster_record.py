"""The record of an instance on a real API server: its content, what a run prunes by it, and that kubectl reads it."""

from __future__ import annotations

import collections.abc as c
import copy
import json
import os
import re
import subprocess
import typing as t

import own_api_server
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.labels import HOME_LABEL, PART_OF
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import applyset
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.record import wanted
from ansible_collections.llm_d.inference.plugins.modules import cluster_record
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import with_secrets
from own_api_server import ApiServer, api_server

Facts = dict[str, t.Any]
Key = tuple[str, str, str]
SIM: Facts = {"name": "sim", "model": {"served_name": "acme/sim"}, "engine": {"type": "simulator"}, "replicas": 1}
CHAT: Facts = {**SIM, "name": "chat"}
KEY: Facts = {"llm_d_api_key": "sk-of-the-test"}
# As kubectl computes it: the SHA-256 of `llm-d-record.llm-d.ConfigMap.`, in base64 for URLs.
ID_OF_THE_RECORD = "applyset-11mNkunZMK2mTHZ2oxlswJ2_b787DB4wLiGSlCANqZM-v1"


def file_of(*services: Facts, **more: t.Any) -> Facts:
    """A file whose objects are of kinds that this API server serves, in two namespaces."""
    gateway = {"provider": "standalone"}
    return {"llm_d_gateway": gateway, "llm_d_release": "router-0.10", "llm_d_scheduler_namespace": "pickers", "llm_d_model_services": list(services), **more}


@pytest.fixture(name="server", scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> c.Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("api")) as running:
        for name in ("llm-d", "pickers", "shop"):
            running.cluster.request("POST", "/api/v1/namespaces", body={"metadata": {"name": name}})
        yield running


@pytest.fixture(name="stack")
def deployed(server: ApiServer) -> c.Iterator[ApiServer]:
    """Two services and the record; removed afterwards."""
    apply(server, [*with_secrets(plan(file_of(SIM, CHAT, **KEY)))])
    yield server
    for kind, namespace, name in objects(server):
        delete(server, kind, namespace, name)


def path(server: ApiServer, version: str, kind: str, namespace: str, name: str = "") -> str:
    where = server.cluster.path(version, kind, namespace, name or None)
    assert where, f"{version} {kind} is not served"
    return where


def apply(server: ApiServer, definitions: t.Iterable[Facts]) -> None:
    for item in definitions:
        if item["metadata"].get("namespace"):
            where = path(server, item["apiVersion"], item["kind"], item["metadata"]["namespace"], item["metadata"]["name"])
            server.cluster.apply(where, json.dumps(item).encode())


KINDS = {"ConfigMap": "v1", "Secret": "v1", "Service": "v1", "ServiceAccount": "v1", "Deployment": "apps/v1", "Role": "rbac.authorization.k8s.io/v1"}
KINDS |= {"RoleBinding": "rbac.authorization.k8s.io/v1", "InferencePool": "inference.networking.k8s.io/v1"}


def objects(server: ApiServer) -> set[Key]:
    """(kind, namespace, name) of all objects in the three namespaces, except those that Kubernetes creates in each."""
    identities = {
        (kind, namespace, item["metadata"]["name"])
        for kind, version in KINDS.items()
        for namespace in ("llm-d", "pickers", "shop")
        for item in server.cluster.listed(path(server, version, kind, namespace))
    }
    return {each for each in identities if each[2] not in ("kube-root-ca.crt", "default")}


def delete(server: ApiServer, kind: str, namespace: str, name: str) -> None:
    server.cluster.request("DELETE", path(server, KINDS[kind], kind, namespace, name), {"propagationPolicy": "Background"})


@pytest.fixture(name="run")
def run_module(call: t.Any, stack: ApiServer) -> t.Callable[..., Facts]:
    """The module's result for a file; `find=False` as before anything is applied. The record is written as by the role."""

    def run(file: Facts, find: bool = True, **rules: t.Any) -> Facts:
        planned = plan(file)
        record = {**planned["record"], **rules}
        result: Facts = call(cluster_record, kubeconfig=str(stack.kubeconfig), record=record, wanted=wanted(with_secrets(planned)), find=find)
        assert "failed" not in result, result
        apply(stack, [result["after" if find else "before"]])
        return result

    return run


def keys(result: Facts) -> set[Key]:
    return {(item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]) for item in result["surplus"]}


def of(file: Facts) -> set[Key]:
    return {(item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]) for item in with_secrets(plan(file)) if item["metadata"].get("namespace")}


def test_planned_objects_are_not_pruned_and_the_record_lists_their_kinds(run: t.Any) -> None:
    before, after = (run(file_of(SIM, CHAT, **KEY), find)["before"] for find in (False, True))
    assert before == after == run(file_of(SIM, CHAT, **KEY))["after"] and run(file_of(SIM, CHAT, **KEY))["surplus"] == []
    notes = before["metadata"]["annotations"]
    kinds = "ConfigMap,Deployment.apps,Role.rbac.authorization.k8s.io,RoleBinding.rbac.authorization.k8s.io,Secret,Service,ServiceAccount"
    assert notes[applyset.KINDS] == kinds and notes[applyset.NAMESPACES] == "pickers"
    assert before["metadata"]["labels"][applyset.ID] == ID_OF_THE_RECORD
    of_pickers, rest = "pickers/ConfigMap\npickers/Deployment.apps\npickers/Service\npickers/ServiceAccount", [*kinds.split(",")[1:]]
    assert before["data"].pop("kinds") == "\n".join([*(f"llm-d/{kind}" for kind in rest), of_pickers])
    assert before["data"] == {"secrets": "llm-d/llm-d-api-key", "releases": "", "crds": "", "needed": ""}


def test_each_applied_object_has_the_id_of_its_record_in_a_label(run: t.Any, stack: ApiServer) -> None:
    parent = run(file_of(SIM, CHAT, **KEY))["after"]["metadata"]
    for kind, namespace, name in of(file_of(SIM, CHAT, **KEY)):
        labels = stack.cluster.get(path(stack, KINDS[kind], kind, namespace, name))["metadata"]["labels"]
        assert labels[applyset.MEMBER] == parent["labels"][applyset.ID], (kind, name)


def test_objects_that_left_the_file_are_pruned_in_every_namespace(run: t.Any) -> None:
    run(file_of(SIM, CHAT, **KEY), False)
    gone = keys(run(file_of(SIM)))
    assert gone == of(file_of(SIM, CHAT, **KEY)) - of(file_of(SIM)) and ("Secret", "llm-d", "llm-d-api-key") in gone
    assert {namespace for _kind, namespace, _name in gone} == {"llm-d", "pickers"}


def test_namespaces_and_secrets_of_before_are_in_the_record(run: t.Any) -> None:
    """The file no longer names either."""
    run(file_of(SIM, CHAT, **KEY), False)
    moved = {**file_of(SIM), "llm_d_scheduler_namespace": None}
    result = run(moved)
    assert keys(result) == of(file_of(SIM, CHAT, **KEY)) - of(moved) and "pickers" in {namespace for _kind, namespace, _name in keys(result)}
    assert result["after"]["metadata"]["annotations"][applyset.NAMESPACES] == ""


def test_objects_of_a_stack_older_than_the_record_are_pruned_by_their_labels(run: t.Any, stack: ApiServer) -> None:
    """Older versions of the collection set no label of the record."""
    for item in with_secrets(plan(file_of(SIM, CHAT, **KEY))):
        if item["metadata"].get("namespace"):
            del item["metadata"]["labels"][applyset.MEMBER]
            apply(stack, [item])
    assert keys(run(file_of(SIM))) == of(file_of(SIM, CHAT, **KEY)) - of(file_of(SIM))


def test_objects_that_do_not_belong_to_the_instance_are_not_pruned(run: t.Any, stack: ApiServer) -> None:
    labels = plan(file_of())["labels"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "theirs", "uid": "6b0c1d1e-0000-0000-0000-000000000000"}
    heads: list[Facts] = [
        {"name": "theirs", "namespace": "llm-d"},
        {"name": "another-instance", "namespace": "llm-d", "labels": {**labels, PART_OF: "another"}},
        {"name": "another-file", "namespace": "llm-d", "labels": {**labels, HOME_LABEL: "shop"}},
        {"name": "of-a-home-elsewhere", "namespace": "pickers", "labels": labels},
        {"name": "in-no-namespace-of-ours", "namespace": "shop", "labels": labels},
        {"name": "owned", "namespace": "llm-d", "labels": labels, "ownerReferences": [owner]},
    ]
    apply(stack, [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": head} for head in heads])
    apply(stack, [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ours", "namespace": "llm-d", "labels": labels}}])
    assert keys(run(file_of(SIM, CHAT, **KEY))) == {("ConfigMap", "llm-d", "ours")}


def test_the_two_scopes_do_not_prune_each_others_objects(run: t.Any, stack: ApiServer) -> None:
    """The records of both scopes are in one namespace and have the same labels. Neither scope prunes what the other account deployed."""
    run(file_of(SIM, CHAT, **KEY), False)
    before = objects(stack)
    assert run(file_of(llm_d_scope="prerequisites"))["surplus"] == []
    assert objects(stack) - before == {("ConfigMap", "llm-d", "llm-d-prerequisites-record")}
    assert run(file_of(SIM, CHAT, llm_d_scope="namespace", **KEY))["surplus"] == []


def test_an_object_that_lost_its_labels_is_not_pruned(run: t.Any, stack: ApiServer) -> None:
    run(file_of(SIM, CHAT, **KEY), False)
    lost = next(item for item in with_secrets(plan(file_of(CHAT))) if item["kind"] == "Deployment" and item["metadata"]["name"] == "chat-decode")
    where = path(stack, "apps/v1", "Deployment", "llm-d", "chat-decode")
    body = {"metadata": {"labels": dict.fromkeys(plan(file_of())["labels"])}}
    stack.cluster.request("PATCH", where, body=body, content_type="application/merge-patch+json")
    assert lost and ("Deployment", "llm-d", "chat-decode") not in keys(run(file_of(SIM)))


def test_services_that_the_file_keeps_stay_in_the_record(run: t.Any) -> None:
    """llm_d_prune: {services: false}, and a run for one service alone."""
    run(file_of(SIM, CHAT, **KEY), False)
    result = run(file_of(SIM, llm_d_prune={"services": False}, **KEY))
    assert result["surplus"] == [] and result["after"] == result["before"]
    assert keys(run(file_of(**KEY), services=["chat"], alone=True)) == of(file_of(CHAT)) - of(file_of())


def test_a_file_without_services_prunes_all_objects_but_the_record(run: t.Any, stack: ApiServer) -> None:
    run(file_of(SIM, CHAT, **KEY), False)
    assert keys(run(file_of())) == of(file_of(SIM, CHAT, **KEY))
    assert ("ConfigMap", "llm-d", "llm-d-record") in objects(stack)


def test_recorded_kinds_the_account_cannot_list_are_reported_and_stay_recorded(run: t.Any, stack: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import Cluster
    from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError

    run(file_of(SIM, CHAT, **KEY), False)
    listed = Cluster.listed

    def refused(self: Cluster, where: str, *arguments: t.Any, **options: t.Any) -> list[Facts]:
        if "/pickers/" in where:
            raise ApiError("forbidden", 403, "Forbidden", "forbidden")
        return listed(self, where, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Cluster, "listed", refused)
        result = run(file_of(SIM))
    assert "Deployment.apps in namespace pickers" in result["unseen"] and not [each for each in result["unseen"] if "InferencePool" in each or "llm-d" in each]
    assert "pickers" not in {namespace for _kind, namespace, _name in keys(result)}
    assert result["after"]["metadata"]["annotations"][applyset.NAMESPACES] == "pickers", "another account may see it"


def kubectl_prunes(stack: ApiServer, kept: Facts) -> subprocess.CompletedProcess[str]:
    """The dry run of kubectl on our set, where its file has one member."""
    kubectl = stack.kubeconfig.parent / "bin/kubectl"
    if not kubectl.exists():
        kubectl.symlink_to(own_api_server.NODE)
    options = ["-n", "llm-d", "--prune", "--applyset=configmap/llm-d-record", "--dry-run=server", "-f", "-"]
    return subprocess.run(
        [str(kubectl), "--kubeconfig", str(stack.kubeconfig), "apply", *options],
        input=json.dumps(kept), capture_output=True, text=True, timeout=60, env={**os.environ, "KUBECTL_APPLYSET": "true"}, check=False,
    )  # fmt: skip


def test_kubectl_reads_it_as_the_parent_of_an_applyset(run: t.Any, stack: ApiServer) -> None:
    """kubectl refuses the ApplySet of another tool. If the set has kubectl as its tool, kubectl finds the same members, in each namespace."""
    record = run(file_of(SIM, CHAT))["after"]
    kept = next(copy.deepcopy(item) for item in with_secrets(plan(file_of(SIM))) if item["kind"] == "Service" and item["metadata"]["namespace"] == "llm-d")
    del kept["metadata"]["labels"][applyset.MEMBER]  # kubectl sets it itself
    done = kubectl_prunes(stack, kept)
    assert done.returncode and 'is managed by tooling "llm_d.inference" instead of "kubectl"' in done.stderr, done.stderr
    notes = {**record["metadata"]["annotations"], applyset.TOOLING: "kubectl/v1.34.4"}
    apply(stack, [{**record, "metadata": {**record["metadata"], "annotations": notes}}])
    done = kubectl_prunes(stack, kept)
    pruned = re.findall(r"^([a-z]+)\S*/(\S+) pruned \(server dry run\)$", done.stdout, re.MULTILINE)
    wanted_gone = {(kind.lower(), name) for kind, _namespace, name in of(file_of(SIM, CHAT))} - {("service", kept["metadata"]["name"])}
    assert done.returncode == 0 and set(pruned) == wanted_gone, done.stdout + done.stderr
