# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a namespace from being deleted, and what is deleted with it."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.namespace_contents import Contents, Ours, keepers, lines, summary, unlisted
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan

Facts = dict[str, t.Any]
LABELS = {"app.kubernetes.io/managed-by": "llm_d.inference", "app.kubernetes.io/part-of": "llm-d"}
HOME, CONTROLLER = "llm-d", "envoy-gateway-system"
RBAC, OLM = "rbac.authorization.k8s.io/v1", "operators.coreos.com/v1alpha1"


def item(kind: str, name: str, version: str = "v1", owner: str = "", namespace: str = HOME, **metadata: t.Any) -> Facts:
    """An object whose uid is its name. owner: the uid of what owns it."""
    owners = {"ownerReferences": [{"apiVersion": "x/v1", "kind": "X", "name": owner, "uid": owner}]} if owner else {}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace, "uid": name, **owners, **metadata}}


def kept(*items: Facts, owners: Facts | None = None, namespace: str = HOME, **ours: t.Any) -> list[str]:
    """The names of the objects that keep a namespace."""
    inside = Contents(namespace, items, owners or {})
    return [obj["metadata"]["name"] for obj in keepers(inside, Ours(**{"labels": LABELS, "home": HOME, **ours}))]


def planned(**user: t.Any) -> Facts:
    """The contents that belong to the collection, by the plan of a file."""
    return plan({"llm_d_charts": {"envoy_gateway": "/c", "gpu_operator": "/c"}, **user})["removal"]["contents"]


@pytest.mark.parametrize(
    "theirs",
    [
        item("Deployment", "notebook", "apps/v1"),
        item("ConfigMap", "notes"),
        item("Secret", "llm-d-hf-token"),
        item("Secret", "llm-d-model-token", labels={}),  # the name of one of ours
        item("PersistentVolumeClaim", "data"),
        item("Pod", "shell"),
        item("ServiceAccount", "deployer"),  # OpenShift has one of this name
        item("Workflow", "train", "argoproj.io/v1alpha1"),
        item("ConfigMap", "other", labels={**LABELS, "app.kubernetes.io/part-of": "b"}),
        item("Service", "chat", labels={**LABELS, "llm-d.ai/namespace": "b"}),
        item("ConfigMap", "copied", managedFields=[{"manager": "llm_d.inference", "operation": "Apply"}]),
        item("RoleBinding", "admin", RBAC),
        item("ConfigMap", "kube-root-ca.crt", "example.com/v1"),  # another kind of this name
    ],
    ids=lambda each: f"{each['kind']} {each['metadata']['name']}",
)
def test_an_object_not_of_the_collection_keeps_the_namespace(theirs: Facts) -> None:
    assert kept(theirs, **planned()) == [theirs["metadata"]["name"]]


def test_own_objects_and_those_they_own_do_not_keep_the_namespace() -> None:
    ours = [item("Deployment", "sim", "apps/v1", labels=LABELS), item("ReplicaSet", "sim-1", "apps/v1", "sim"), item("Pod", "sim-1-a", owner="sim-1")]
    assert kept(*ours) == []
    theirs = [item("Deployment", "web", "apps/v1"), item("ReplicaSet", "web-1", "apps/v1", "web"), item("Pod", "web-1-a", owner="web-1")]
    assert kept(*ours, *theirs) == ["web"], "what another object owns is not named beside it"


def test_an_object_with_a_foreign_or_unreadable_owner_keeps_the_namespace() -> None:
    """The garbage collector deletes an object whose owner is gone; an owner that cannot be read counts as another's."""
    made = [item("DaemonSet", name, "apps/v1", owner) for name, owner in (("a", "policy"), ("b", "theirs"), ("c", "gone"), ("d", "unread"))]
    owners = {"policy": {"metadata": {"name": "policy", "labels": LABELS}}, "theirs": {"metadata": {"name": "theirs"}}, "gone": None}
    assert kept(*made, owners=owners) == ["b", "d"]
    both = item("ConfigMap", "both", owner="gone")
    both["metadata"]["ownerReferences"].append({"uid": "theirs"})
    assert kept(both, owners=owners) == ["both"], "one of its owners stays"


def test_objects_that_own_each_other_keep_the_namespace() -> None:
    assert kept(item("A", "a", "x/v1", "b"), item("B", "b", "x/v1", "a")) == ["a", "b"]


def test_an_object_being_deleted_does_not_keep_the_namespace() -> None:
    assert kept(item("Pod", "theirs", deletionTimestamp="2026-01-01T00:00:00Z")) == []


def test_default_kubernetes_and_openshift_objects_do_not_keep_the_namespace() -> None:
    kubernetes = [item("ServiceAccount", "default"), item("ConfigMap", "kube-root-ca.crt")]
    tokens = [
        item("Secret", "default-token-x1", annotations={"kubernetes.io/service-account.name": "default"}),
        item("Secret", "builder-dockercfg-x1", annotations={"openshift.io/internal-registry-auth-token.service-account": "builder"}),
        item("Secret", "old-token-x1", annotations={"kubernetes.io/service-account.name": "gone"}),
    ]
    openshift = [
        item("ConfigMap", "openshift-service-ca.crt"),
        *(item("ServiceAccount", name) for name in ("builder", "deployer", "pipeline")),
        *(item("ConfigMap", f"config-{name}-cabundle") for name in ("service", "trusted")),
        item("RoleBinding", "pipelines-scc-rolebinding", RBAC),
        *(item("RoleBinding", f"system:{name}", RBAC) for name in ("image-pullers", "image-builders", "deployers")),
        item("ClusterServiceVersion", "someones.v1", OLM, labels={"olm.copiedFrom": "openshift-operators"}),
    ]
    copied = [
        *(item("ConfigMap", name) for name in ("openshift-gw-ca-root-cert", "odh-trusted-ca-bundle")),
        item("ConfigMap", "company-ca", owner="bundle", labels={"trust.cert-manager.io/bundle": "company-ca"}),
        item("RoleBinding", "rb-x1", RBAC, labels={"authz.cluster.cattle.io/rtb-owner-updated": "p-x1_prtb-x1"}),
    ]
    mesh = [item("ConfigMap", "istio-ca-root-cert"), item("ConfigMap", "leader", annotations={"control-plane.alpha.kubernetes.io/leader": "{}"})]
    assert kept(*kubernetes, *tokens, *openshift, *copied, *mesh, owners={"bundle": item("Bundle", "company-ca", "trust.cert-manager.io/v1alpha1")}) == []
    theirs = [item("ServiceAccount", "robot"), item("Secret", "robot-token", annotations={"kubernetes.io/service-account.name": "robot"})]
    assert kept(*kubernetes, *theirs) == ["robot"]


def test_a_claim_that_is_left_keeps_it_for_its_data() -> None:
    claims = [item("PersistentVolumeClaim", name, labels=LABELS) for name in ("kept", "given-up")]
    going = [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "given-up", "namespace": HOME}}]
    assert kept(*claims, going=going) == ["kept"]
    assert kept(item("PersistentVolumeClaim", "given-up"), going=going) == ["given-up"], "another one of the name"


def test_an_object_in_a_shared_namespace_is_own_only_with_the_home_label() -> None:
    place = "pickers"
    ours, theirs, unnamed = ({**LABELS, **more} for more in ({"llm-d.ai/namespace": HOME}, {"llm-d.ai/namespace": "b"}, {}))
    there = [item("Service", name, namespace=place, labels=labels) for name, labels in (("a", ours), ("b", theirs), ("c", unnamed))]
    assert kept(*there, namespace=place) == ["b", "c"]


def test_the_stack_keeps_the_namespace_in_a_teardown_of_prerequisites() -> None:
    stack = item("Deployment", "sim", "apps/v1", labels=LABELS)
    assert kept(stack, **planned(llm_d_scope="prerequisites")) == ["sim"] and kept(stack, **planned()) == []


def test_leftovers_of_an_own_release_and_controller_do_not_keep_the_namespace() -> None:
    release = {"meta.helm.sh/release-name": "envoy-gateway", "meta.helm.sh/release-namespace": CONTROLLER}
    helm = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "envoy-gateway"}
    owning = {f"gateway.envoyproxy.io/owning-gateway-{key}": value for key, value in (("name", "llm-d-gateway"), ("namespace", HOME))}
    ours = [
        item("Deployment", "envoy-gateway", "apps/v1", namespace=CONTROLLER, annotations=release),
        item("Secret", "sh.helm.release.v1.envoy-gateway.v1", namespace=CONTROLLER, labels={"owner": "helm", "name": "envoy-gateway"}),
        item("ServiceAccount", "envoy-gateway-gateway-helm-certgen", namespace=CONTROLLER, labels=helm),
        item("Deployment", "envoy-llm-d-gateway-1a", "apps/v1", namespace=CONTROLLER, labels=owning),
        *(item("Secret", name, namespace=CONTROLLER) for name in ("envoy", "envoy-rate-limit", "envoy-oidc-hmac")),
        item("Secret", "llm-d-image-pull", namespace=CONTROLLER, labels=LABELS),
    ]
    theirs = [
        item("Deployment", "grafana", "apps/v1", namespace=CONTROLLER, annotations={**release, "meta.helm.sh/release-name": "grafana"}),
        item("Secret", "sh.helm.release.v1.grafana.v1", namespace=CONTROLLER, labels={"owner": "helm", "name": "grafana"}),
        item("Deployment", "envoy-front-2b", "apps/v1", namespace=CONTROLLER, labels={**owning, "gateway.envoyproxy.io/owning-gateway-name": "front"}),
        item("Secret", "envoy-certificate", namespace=CONTROLLER),
        item("ConfigMap", "elsewhere", namespace=CONTROLLER, annotations={**release, "meta.helm.sh/release-namespace": "other"}),
    ]
    names = sorted(each["metadata"]["name"] for each in theirs)
    assert sorted(kept(*ours, *theirs, namespace=CONTROLLER, **planned(llm_d_image_pull_credentials=CREDENTIALS))) == names
    assert len(kept(*ours, namespace=CONTROLLER)) == len(ours), "nothing of them is anybody's by itself"


CREDENTIALS = [{"registry": "registry.example.com", "username": "robot", "password": "sesame-open"}]


def test_objects_olm_makes_of_own_subscriptions_do_not_keep_the_namespace() -> None:
    place = "nvidia-gpu-operator"
    mine = f"operators.coreos.com/gpu-operator-certified.{place}"
    there = [
        item("ClusterServiceVersion", "gpu-operator-certified.v26.3.1", OLM, namespace=place, labels={mine: ""}),
        item("Deployment", "gpu-operator", "apps/v1", "gpu-operator-certified.v26.3.1", place),
        item("RoleBinding", "gpu-operator-x", RBAC, namespace=place, labels={"olm.owner": "gpu-operator-certified.v26.3.1"}),
        item("NodeFeature", "node-1", "nfd.k8s-sigs.io/v1alpha1", namespace=place),
        item("ClusterServiceVersion", "theirs.v1", OLM, namespace=place),
        item("RoleBinding", "theirs-x", RBAC, namespace=place, labels={"olm.owner": "theirs.v1"}),
    ]
    user = {"llm_d_platform": "openshift", "llm_d_run_as_user": 0, "llm_d_gpus": {"operator": "nvidia_olm"}}
    assert kept(*there, namespace=place, **planned(**user)) == ["theirs.v1"]


def test_a_certificate_issued_for_the_gateway_does_not_keep_the_namespace() -> None:
    listener = {"name": "secure", "port": 443, "protocol": "HTTPS", "hostname": "chat.example.com"}
    user = {"llm_d_gateway": {"provider": "envoy_gateway", "certificate_issuer": {"name": "company"}, "listener": listener}}
    note = {"cert-manager.io/certificate-name": "llm-d-gateway-secure-tls"}
    secret, written = item("Secret", "llm-d-gateway-secure-tls", annotations=note), item("Secret", "llm-d-gateway-secure-tls")
    assert kept(secret, **planned(**user)) == [] and kept(secret, **planned()) == kept(written, **planned(**user)) == ["llm-d-gateway-secure-tls"]


def test_a_mark_without_a_kind_or_labels_matches_no_object() -> None:
    assert kept(item("ConfigMap", "notes"), marks=[{"namespace": HOME, "kind": None, "labels": None}]) == ["notes"]


def test_the_list_of_objects_that_keep_the_namespace_is_limited() -> None:
    one = Contents(HOME, [item("Deployment", "llama-decode", "apps/v1", labels={**LABELS, "app.kubernetes.io/part-of": "b"})], {})
    force = f"kubectl delete namespace {HOME} deletes it with all that is in it"
    assert lines(one, keepers(one, Ours())) == ["the namespace llm-d stays: Deployment llm-d/llama-decode of instance b", force]
    many = Contents(HOME, [item("ConfigMap", f"notes-{number:02}") for number in range(33)], {})
    reasons = lines(many, keepers(many, Ours()))
    assert reasons[0] == summary(many, many.items) == "the namespace llm-d stays: it holds 33 objects that are not deleted"
    assert reasons[1:3] == ["  ConfigMap llm-d/notes-00", "  ConfigMap llm-d/notes-01"] and reasons[-2:] == ["  and 13 more", force] and len(reasons) == 23
    empty = Contents(HOME, [], {})
    assert lines(empty, []) == [] and summary(empty, []) == ""


def test_kinds_that_cannot_be_listed_keep_the_namespace_and_are_named() -> None:
    unread = unlisted(["secrets", "deployments.apps"], {"metrics.k8s.io/v1beta1": "503 the server is currently unable to handle the request"})
    inside = Contents(HOME, [], {}, unread)
    first, second, _force = lines(inside, [])
    assert first == ("the namespace llm-d stays: it is not known whether it holds objects of others, since this account may not list deployments.apps, secrets")
    assert second.endswith("since metrics.k8s.io/v1beta1 cannot be listed: 503 the server is currently unable to handle the request")
    assert summary(inside, []) == "the namespace llm-d stays: not all that is in it is known"
    assert unlisted([f"kind-{number:02}" for number in range(25)], {})[0].endswith("kind-19 and 5 more kinds")
