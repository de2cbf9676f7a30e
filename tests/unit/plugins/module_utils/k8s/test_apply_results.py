# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of kubernetes.core.k8s, object by object. Results as the module (6.2.0) returned them against Kubernetes 1.34."""

from __future__ import annotations

import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.labels import RESTORES
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.apply_results import (
    HIDDEN,
    HIDDEN_NEW,
    changes,
    check_definitions,
    hide_secret_values,
    holds_values,
    split_foreign,
    without_credentials,
)


def definition(kind="ConfigMap", name="cm", namespace="t", version="v1", **rest):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def status(code, reason, message):
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code}
    return {"changed": False, "result": {}, "error": {"reason": reason, "msg": "Failed to apply object: " + str(json.dumps(body).encode() + b"\n")}}


UNKNOWN = {
    "changed": False,
    "result": {},
    "error": {"msg": "Failed to find exact match for gateway.networking.k8s.io/v1.Gateway by [kind, name, singularName, shortNames]"},
}
NO_NAMESPACE = status(404, "NotFound", 'namespaces "t" not found')


def applied(before, after, generation=1):
    return {"changed": bool(before or after), "method": "apply", "result": {"metadata": {"generation": generation}}, "diff": {"before": before, "after": after}}


def one(item, state="present", check=False, what=None):
    return changes([what or definition()], item, state, check)[0]


def test_fields_written_by_controllers_are_no_change():
    noise = applied(
        {"metadata": {"resourceVersion": "1", "generation": 1}, "status": {"replicas": 1}},
        {"metadata": {"resourceVersion": "2", "generation": 1}, "status": {"replicas": 2}},
    )
    change = one(noise)
    assert change.action == "unchanged" and not change.is_change


def test_applied_fields_that_differ_are_a_change():
    before, after = {"data": {"color": "blue"}, "metadata": {"resourceVersion": "1"}}, {"data": {"color": "red"}, "metadata": {"resourceVersion": "2"}}
    change = one(applied(before, after, 7))
    assert (change.action, change.before, change.after, change.generation) == ("changed", {"data": {"color": "blue"}}, {"data": {"color": "red"}}, 7)
    assert one(applied({"metadata": {"labels": {"a": "1"}}}, {"metadata": {"labels": {"a": "2"}}})).is_change


@pytest.mark.parametrize("before, action", [({}, "created"), ({"data": {"color": "blue"}}, "changed")])
def test_a_change_carries_the_uid_of_the_created_or_changed_object(before, action):
    """Events are assigned to their object by this UID."""
    change = one({**applied(before, {"kind": "ConfigMap", "data": {"color": "red"}}), "result": {"metadata": {"uid": "u-1"}}})
    assert (change.action, change.uid) == (action, "u-1")


def test_created_shows_the_definition_not_the_servers_defaults():
    change = one(applied({}, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"uid": "u", "name": "cm"}, "data": {"a": "b"}}))
    assert change.action == "created" and change.after == definition()


def test_several_results_keep_their_order():
    results = changes([definition(name="a"), definition(name="b")], {"result": {"results": [applied({}, {}), UNKNOWN]}}, "present", False)
    assert [(change.title, change.action) for change in results] == [("ConfigMap t/a", "unchanged"), ("ConfigMap t/b", "refused")]


@pytest.mark.parametrize("item", [UNKNOWN, NO_NAMESPACE])
def test_check_mode_reports_created_if_the_namespace_or_crd_is_missing(item):
    assert one(item, check=True).action == "created" and one(item, check=True).after == definition()
    assert one(item).action == "refused"
    assert one(item, state="absent").action == "absent"


@pytest.mark.parametrize(
    "item, words",
    [
        (UNKNOWN, "the API server knows no Gateway in gateway.networking.k8s.io/v1; install its CustomResourceDefinition (prerequisites)"),
        (NO_NAMESPACE, 'namespaces "t" not found; create the namespace first'),
        (status(403, "Forbidden", 'configmaps "cm" is forbidden: User "weak" cannot patch'), 'configmaps "cm" is forbidden: User "weak" cannot patch'),
        (status(422, "Invalid", "spec.replicas: Invalid value: -1"), "spec.replicas: Invalid value: -1"),
        (status(409, "Conflict", 'conflict with "kubectl": .data.color'), "another manager owns these fields"),
        (status(500, "InternalError", 'Internal error occurred: failed calling webhook "no.example.com": connect: connection refused'), "then run again"),
        (status(400, "BadRequest", 'admission webhook "policy.example.com" denied the request: no team label'), "a policy of this cluster refuses it"),
        (status(422, "Invalid", "deployments.apps \"sim\" is forbidden: ValidatingAdmissionPolicy 'no' with binding 'no' denied request: no"), "a policy of"),
        (status(403, "Forbidden", 'configmaps "cm" is forbidden: User "weak" cannot patch resource'), "have that permission granted"),
        ({"error": {"msg": "Failed to apply object: Max retries\n exceeded"}}, "Max retries exceeded"),
    ],
)
def test_a_refusal_is_reported_in_one_line(item, words):
    change = one(item)
    assert change.action == "refused" and words in change.problem and "\n" not in change.problem and "b'" not in change.problem


@pytest.mark.parametrize(
    "code, message",
    [
        (403, 'persistentvolumeclaims "x" is forbidden: exceeded quota: small'),
        (403, 'roles.rbac.authorization.k8s.io "x" is forbidden: user "me" is attempting to grant RBAC permissions not currently held'),
        (400, 'admission webhook "policy.example.com" denied the request: no team label'),
        (500, 'admission webhook "policy.example.com" denied the request: no team label'),
        (500, "failed to create typed patch object (t/a; gateway.networking.k8s.io/v1, Kind=HTTPRoute): .spec.rules[0].name: field not declared in schema"),
        (500, "failed to create typed patch object (t/a; apps/v1, Kind=Deployment): .spec.x: duplicate entries for key [name]"),
        (400, 'Deployment in version "v1" cannot be handled as a Deployment: quantities must match'),
        (422, 'Deployment.apps "a" is invalid: spec.replicas: Invalid value: -1'),
    ],
)
def test_a_dry_run_that_is_refused_for_good(code, message):
    assert one(status(code, "x", message), check=True).untried == ""


@pytest.mark.parametrize(
    "item",
    [
        status(409, "Conflict", 'conflict with "kubectl": .data.color'),
        status(429, "TooManyRequests", "too many requests"),
        status(503, "ServiceUnavailable", "the server is currently unable to handle the request"),
        status(500, "InternalError", 'Internal error occurred: failed calling webhook "policy.example.com": connection refused'),
        status(400, "BadRequest", 'admission webhook "policy.example.com" does not support dry run'),
        status(403, "Forbidden", 'configmaps "cm" is forbidden: User "weak" cannot patch resource "configmaps" in API group ""'),
        status(403, "Forbidden", "admission webhook \"vscaledobject.kb.io\" denied the request: the workload 'a' is already managed by the hpa 'a'"),
        {"error": {"msg": "Failed to apply object: Max retries exceeded"}},
    ],
)
def test_a_dry_run_that_another_moment_may_take(item):
    """Webhooks that are away or take no dry run, the autoscaler that is pruned first, permissions, which the preflight checks."""
    assert one(item, check=True).untried == "answer" and one(item).untried == ""


def test_a_dry_run_of_a_binding_without_its_role_is_reported_as_untried():
    """A restricted account may bind only permissions that it has itself: to check that, the API server reads the Role."""
    missing = status(404, "NotFound", 'rolebindings.rbac.authorization.k8s.io "sim-epp" not found')
    tried, applied = one(missing, check=True), one(missing)
    assert (tried.action, tried.untried) == ("created", "reference")
    assert applied.action == "refused" and '"sim-epp" not found' in applied.problem and not applied.untried


def test_a_forbidden_error_is_not_treated_as_a_missing_namespace():
    assert one(status(403, "Forbidden", 'namespaces "t" not found'), check=True).action == "refused"


def test_absent():
    assert one({"changed": True, "method": "delete", "result": {}}, state="absent").action == "deleted"
    assert one({"changed": False, "method": "delete", "result": {}}, state="absent").action == "absent"


@pytest.mark.parametrize(("doing", "action"), [("delete", "deleted"), ("retrieve requested", "absent")])
def test_deleting_an_object_that_is_already_gone_is_not_refused(doing, action):
    """The garbage collector was faster, or the answer to a first try was lost."""
    gone = status(404, "NotFound", 'configmaps "cm" not found')
    gone["error"]["msg"] = gone["error"]["msg"].replace("apply", doing)
    assert doing in gone["error"]["msg"] and one(gone, state="absent").action == action


def test_credentials_that_are_refused_are_counted():
    refused, other = status(401, "Unauthorized", "Unauthorized"), status(403, "Forbidden", "no")
    assert without_credentials({"result": {"results": [refused, other, refused]}}) == 2
    assert (without_credentials(refused), without_credentials(other), without_credentials({"result": {}})) == (1, 0, 0)


def test_secrets_are_hidden_by_value():
    secret = definition("Secret", stringData={"token": "hf_verysecret"})
    assert hide_secret_values(secret)["stringData"] == {"token": HIDDEN} and secret["stringData"]["token"] == "hf_verysecret"
    change = one(applied({"data": {"token": "b2xk"}}, {"data": {"token": "bmV3"}}), what=secret)
    assert (change.action, change.before, change.after) == ("changed", {"data": {"token": HIDDEN}}, {"data": {"token": HIDDEN_NEW}})
    created = one(applied({}, {"kind": "Secret", "data": {"token": "bmV3"}}), what=secret)
    assert "verysecret" not in str(created.after)


def test_the_configmap_of_a_comparison_is_hidden_like_a_secret():
    what = definition(data={"objects.json": '[{"name": "A", "value": "sesame"}]'})
    what["metadata"]["labels"] = {RESTORES: "a"}
    assert one(applied({}, {"kind": "ConfigMap", "data": what["data"]}), what=what).after["data"] == {"objects.json": HIDDEN} and holds_values(what)
    change = one(applied({"data": {"objects.json": "sesame-old"}}, {"data": what["data"]}), what=what)
    assert (change.before, change.after) == ({"data": {"objects.json": HIDDEN}}, {"data": {"objects.json": HIDDEN_NEW}})
    assert "sesame" not in one(status(422, "Invalid", f"Invalid value: {json.dumps(what)}"), what=what).problem


def pods(**env):
    """A part of a Deployment with these variables."""
    container = {"name": "server", "env": [{"name": name, "value": value} for name, value in env.items()] + [{"name": "REF", "valueFrom": {}}]}
    return {"spec": {"template": {"spec": {"containers": [container]}}}}


def variables(part):
    return {entry["name"]: entry.get("value") for entry in part["spec"]["template"]["spec"]["containers"][0]["env"]}


def test_environment_variables_are_listed_by_name_with_hidden_values():
    what = definition("Deployment", version="apps/v1", **pods(A="sesame-one", B="same"))
    assert variables(one(applied({}, {"kind": "Deployment"}), what=what).after) == {"A": HIDDEN, "B": HIDDEN, "REF": None}
    assert variables(one({"changed": True}, state="absent", what=what).before) == {"A": HIDDEN, "B": HIDDEN, "REF": None}
    change = one(applied(pods(B="same", A="sesame-old", GONE="x"), pods(A="sesame-one", B="same", NEW="y")), what=what)
    assert variables(change.before) == {"B": HIDDEN, "A": HIDDEN, "GONE": HIDDEN, "REF": None}
    assert variables(change.after) == {"A": HIDDEN_NEW, "B": HIDDEN, "NEW": HIDDEN, "REF": None}
    assert variables(what)["A"] == "sesame-one"


def test_a_refusal_does_not_repeat_a_value():
    what = definition("Deployment", version="apps/v1", **pods(A="sesame\nopen", B="sesame"))
    change = one(status(422, "Invalid", f"Invalid value: {json.dumps(what)}"), what=what)
    assert change.action == "refused" and "sesame" not in change.problem and '"name": "A", "value": "(hidden)"' in change.problem
    argued = definition("Deployment", version="apps/v1", spec={"template": {"spec": {"containers": [{"args": ["--api-key", "sesame", "--token=open-it"]}]}}})
    for message in (json.dumps(argued), '"sesame"', "open-it"):
        problem = one(status(422, "Invalid", f"spec.template.spec.containers[0].args: Invalid value: {message}: denied"), what=argued).problem
        assert "sesame" not in problem and "open-it" not in problem and problem.endswith(": denied"), problem
    assert holds_values(argued)
    secret = definition("Secret", stringData={"token": "sesame-open"})
    assert "sesame" not in one(status(422, "Invalid", "sesame-open is no base64"), what=secret).problem


def test_definitions_are_checked_all_at_once():
    problems = check_definitions([definition(), {"apiVersion": "v1", "metadata": {"name": "x"}}, "text", definition(), {"kind": "A", "metadata": {}}])
    assert len(problems) == 4
    assert "definitions[1] (x) lacks kind" in problems[0] and "definitions[2] is str" in problems[1]
    assert "definitions[3] and definitions[0] are both ConfigMap t/cm" in problems[2] and "lacks apiVersion, metadata.name" in problems[3]
    assert check_definitions({"a": 1}) and not check_definitions([definition(), definition(namespace="u"), definition("Secret")])


OURS = {"app.kubernetes.io/part-of": "llm-d"}


def test_objects_of_another_owner_are_left_unchanged():
    mine, theirs, new = definition(name="mine"), definition(name="theirs"), definition(name="new")
    there = [
        {**mine, "metadata": {**mine["metadata"], "labels": {**OURS, "more": "1"}}},
        {**theirs, "metadata": {**theirs["metadata"], "labels": {"app.kubernetes.io/part-of": "another"}}},
    ]
    done, rest = split_foreign([mine, theirs, new], there, OURS, "present")
    assert [(change.title, change.action, change.problem) for change in done] == [("ConfigMap t/theirs", "foreign", "of another")]
    assert rest == [(mine, there[0]), (new, None)]
    done, rest = split_foreign([mine, theirs, new], there, OURS, "absent")
    assert [change.action for change in done] == ["foreign", "absent"] and rest == [(mine, there[0])]
