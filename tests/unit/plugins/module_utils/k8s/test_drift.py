# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The differences of an object from its definition, by a dry run and by its managed fields as an API server writes them."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.apply_results import HIDDEN_NEW
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.drift import ABSENT, Drift, differences

OURS = "llm_d.inference"
Facts = dict[str, t.Any]

SERVICE: Facts = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "sim-epp", "namespace": "llm-d", "labels": {"app": "sim"}},
    "spec": {"selector": {"app": "epp"}, "ports": [{"name": "grpc", "port": 9002, "targetPort": 9002}]},
}
OWNED: Facts = {
    "f:metadata": {"f:labels": {"f:app": {}}},
    "f:spec": {"f:selector": {}, "f:ports": {'k:{"port":9002,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}, "f:targetPort": {}}}},
}
DEPLOYMENT: Facts = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "sim", "namespace": "llm-d"},
    "spec": {
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "server",
                        "args": ["--model", "a", "--port=8000"],
                        "env": [{"name": "HF_TOKEN", "value": "hf_planted00"}],
                        "resources": {"requests": {"memory": "1024Mi", "cpu": "1000m"}},
                    }
                ]
            }
        }
    },
}


def entry(manager: str, fields: Facts, operation: str = "Update", **more: str) -> Facts:
    return {"manager": manager, "operation": operation, "time": "2026-11-22T12:00:00Z", "fieldsV1": fields, **more}


def live(definition: Facts, *others: Facts, **spec: t.Any) -> Facts:
    """The object in the cluster, with what the API server adds."""
    made = copy.deepcopy(definition)
    made["metadata"].update(uid="1", resourceVersion="5", managedFields=[entry(OURS, OWNED, "Apply"), *others])
    made["spec"].update(spec)
    made["status"] = {"loadBalancer": {}}
    return made


def service(**port: t.Any) -> Facts:
    """The Service as it is in the cluster, with another port."""
    return live(SERVICE, clusterIP="10.0.0.1", ports=[{"name": "grpc", "port": 9002, "protocol": "TCP", "targetPort": 9002, **port}])


def container(**fields: t.Any) -> Facts:
    made = live(DEPLOYMENT)
    made["spec"]["template"]["spec"]["containers"][0].update(fields)
    return made


def rows(listed: list[t.Any]) -> list[tuple[str, str, str, str]]:
    return [(each.field, each.found, each.planned, each.by) for each in listed]


def test_an_object_as_planned_does_not_differ() -> None:
    assert differences(SERVICE, service(), service(), OURS) == []
    assert differences(SERVICE, service(), None, OURS) == []


def test_a_changed_field_is_reported_with_both_values_and_its_manager() -> None:
    there = service(targetPort=9999)
    fields = {"f:spec": {"f:ports": {'k:{"port":9002,"protocol":"TCP"}': {"f:targetPort": {}}}}}
    there["metadata"]["managedFields"].append(entry("kubectl-edit", fields))
    for wanted in (service(), None):
        (difference,) = differences(SERVICE, there, wanted, OURS)
        assert difference.field.startswith("spec.ports[") and difference.field.endswith("].targetPort")
        assert (difference.found, difference.planned, difference.by, difference.at) == ("9999", "9002", "kubectl-edit", "2026-11-22T12:00:00Z")
        assert difference.line().endswith("].targetPort is 9999, planned: 9002; last set by kubectl-edit at 2026-11-22T12:00:00Z")


def test_a_field_that_is_gone_is_laid_to_the_last_other_manager() -> None:
    there = service()
    del there["metadata"]["labels"]["app"]
    there["metadata"]["managedFields"] += [entry("kubectl-label", {}, time="2026-11-22T13:00:00Z"), entry("kube-controller-manager", {}, subresource="status")]
    assert rows(differences(SERVICE, there, service(), OURS)) == [("metadata.labels.app", ABSENT, "sim", "kubectl-label")]


def test_a_field_that_another_manager_has_added_differs_though_applying_leaves_it() -> None:
    there = service()
    there["spec"]["externalIPs"] = ["203.0.113.7"]
    there["metadata"]["managedFields"].append(entry("helm", {"f:spec": {"f:externalIPs": {}}, "f:metadata": {"f:annotations": {"f:x": {}}}}))
    assert rows(differences(SERVICE, there, copy.deepcopy(there), OURS)) == [("spec.externalIPs", '["203.0.113.7"]', ABSENT, "helm")]


def test_a_field_that_another_manager_has_set_to_its_default_is_no_difference() -> None:
    there = service()
    there["spec"]["sessionAffinity"] = "None"
    there["metadata"]["managedFields"].append(entry("kubectl-edit", {"f:spec": {"f:sessionAffinity": {}}}))
    new = {**SERVICE, "spec": {**SERVICE["spec"], "sessionAffinity": "None"}}
    assert differences(SERVICE, there, copy.deepcopy(there), OURS, new) == []
    there["spec"]["sessionAffinity"] = "ClientIP"
    assert rows(differences(SERVICE, there, copy.deepcopy(there), OURS, new)) == [("spec.sessionAffinity", "ClientIP", ABSENT, "kubectl-edit")]


@pytest.mark.parametrize(
    "by",
    [
        entry("kube-controller-manager", {"f:spec": {"f:volumeName": {}}}),
        entry("someone", {"f:status": {"f:volumeName": {}}}),
        entry("someone", {"f:spec": {"f:volumeName": {}}}, subresource="scale"),
        entry(f"{OURS}-replicas", {"f:spec": {"f:volumeName": {}}}),
    ],
)
def test_fields_of_the_control_plane_or_own_managers_are_no_difference(by: Facts) -> None:
    there = live(SERVICE, by, volumeName="pvc-1")
    assert differences(SERVICE, there, copy.deepcopy(there), OURS) == []


def test_scaling_an_object_without_planned_replicas_is_no_difference() -> None:
    there = live(DEPLOYMENT, entry("keda", {"f:spec": {"f:replicas": {}}}), replicas=7)
    assert differences(DEPLOYMENT, there, live(DEPLOYMENT), OURS) == []
    numbered = copy.deepcopy(DEPLOYMENT)
    numbered["spec"]["replicas"] = 2
    assert rows(differences(numbered, there, live(numbered), OURS)) == [("spec.replicas", "7", "2", "keda")]


def test_a_restart_of_pods_and_our_checksums_are_no_difference() -> None:
    there = live(DEPLOYMENT)
    there["spec"]["template"]["metadata"] = {"annotations": {"kubectl.kubernetes.io/restartedAt": "now", "llm-d.ai/secret-checksum": "1"}}
    restart = {"f:spec": {"f:template": {"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/restartedAt": {}}}}}}
    there["metadata"]["managedFields"].append(entry("kubectl-rollout", restart))
    assert differences(DEPLOYMENT, there, live(DEPLOYMENT), OURS) == []


def test_of_long_lists_and_texts_only_what_differs_is_shown() -> None:
    (difference,) = differences(DEPLOYMENT, container(args=["--model", "a", "--port=8000", "--seed=1"]), live(DEPLOYMENT), OURS)
    assert (difference.field, difference.found, difference.planned) == ("spec.template.spec.containers[name=server].args", '["--seed=1"]', "without these")
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "epp"}, "data": {"config.yaml": "a: 1\nb: 2\n"}}
    there = {**copy.deepcopy(config), "data": {"config.yaml": "a: 1\nb: 3\n"}}
    assert rows(differences(config, there, config, OURS)) == [("data[config.yaml]", "b: 3 in line 2", "b: 2", "")]


def test_values_of_environment_variables_and_secrets_are_not_shown() -> None:
    there = container(env=[{"name": "HF_TOKEN", "value": "hf_another00"}, {"name": "MORE", "value": "planted"}])
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "data": {"token": "cGxhbnRlZA=="}}
    listed = differences(DEPLOYMENT, there, live(DEPLOYMENT), OURS) + differences(secret, {**secret, "data": {"token": "b3RoZXI="}}, secret, OURS)
    shown = "\n".join(each.line() for each in listed)
    assert len(listed) == 3 and not [word for word in ("hf_", "planted", "cGxhbnRl", "b3RoZXI") if word in shown], shown


def test_secrets_in_differing_lists_are_not_shown() -> None:
    twice = [{"name": "A", "value": "planted"}, {"name": "A", "value": "planted, too"}, {"name": "B", "value": "b"}]
    there = container(env=twice, args=["--model", "a", "--port=8000", "--api-key=sk-planted0planted0"])
    definition = copy.deepcopy(DEPLOYMENT)
    definition["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "planted before"}, {"name": "B", "value": "b"}]
    listed = differences(definition, there, live(definition), OURS)
    assert [each.field.rpartition(".")[2] for each in listed] == ["args", "env"] and not [each for each in listed if "planted" in each.line()], listed


def test_a_secret_in_an_argument_of_its_own_is_not_shown() -> None:
    planned = copy.deepcopy(DEPLOYMENT)
    planned["spec"]["template"]["spec"]["containers"][0]["args"] = ["--api-key", "planted-b", "--x"]
    for args, shown in ((["--api-key", "planted-a", "--x"], HIDDEN_NEW), (["--api-key", "planted-a"], '["--x"]')):
        (difference,) = differences(planned, container(args=args), live(planned), OURS)
        assert "planted" not in difference.line() and difference.planned == shown, difference


def test_without_a_dry_run_what_the_api_server_writes_otherwise_is_the_same() -> None:
    there = container(resources={"requests": {"memory": "1Gi", "cpu": "1"}}, imagePullPolicy="IfNotPresent")
    plain = copy.deepcopy(DEPLOYMENT)
    plain["spec"]["template"]["spec"]["nodeSelector"] = {}
    assert differences(plain, there, None, OURS) == []
    there["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2"
    assert [each.field for each in differences(plain, there, None, OURS)] == ["spec.template.spec.containers[name=server].resources.requests.cpu"]


def test_many_fields_are_cut() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {f"k{number}": "a" for number in range(40)}}
    listed = differences(config, {**config, "data": {}}, config, OURS)
    assert len(listed) == 40 and len(Drift("ConfigMap x", tuple(listed)).lines()) == 21
    assert Drift("ConfigMap x", missing=True).lines() == ["not there"]
