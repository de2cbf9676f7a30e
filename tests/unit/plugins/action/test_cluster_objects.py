# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server that stops while objects are applied: kubernetes.core does not report it, and our error does."""

from __future__ import annotations

import types

import pytest
from ansible_collections.llm_d.inference.plugins.action.cluster_objects import CONTACT, CONTENTS, MODULE, ActionModule, batches
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.applyset import MEMBER

KINDS = [("Namespace", "full"), ("Namespace", "empty"), ("ConfigMap", "settings")]
# recorded: the module fails to print its own failure
MESSAGE = (
    "Value of unknown type: <class 'urllib3.exceptions.NewConnectionError'>, HTTPSConnection(host='10.215.0.1', port=6443): "
    "Failed to establish a new connection: [Errno 111] Connection refused"
)


def test_an_unreachable_api_server_is_reported_in_place_of_a_type_error(monkeypatch):
    def gone(*_arguments, **_options):
        raise TypeError(MESSAGE)

    monkeypatch.setattr(ActionModule, "_execute_module", gone)
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(args={"kubeconfig": "/k"}, diff=False, no_log=False)
    options = {"state": "absent", "field_manager": "x", "force_conflicts": True}
    answer = action._call([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}], options, {})
    assert answer["failed"] and answer["msg"].startswith("the Kubernetes API server of /k: connection refused"), answer
    assert action._task.diff is False


def test_events_that_cannot_be_created_do_not_change_the_result(monkeypatch):
    """The API server stops once the objects are applied."""
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}
    calls = []

    def answer(_action, module_args, **_options):
        calls.append(module_args)
        if len(calls) > 1:
            raise TypeError(MESSAGE)
        return {"changed": True, "method": "create", "result": {**made, "metadata": {**made["metadata"], "uid": "u"}}, "diff": {}}

    monkeypatch.setattr(ActionModule, "_execute_module", answer)
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(args={"kubeconfig": "/k"}, diff=False, no_log=False, check_mode=False)
    options = {"definitions": [made], "state": "present", "owned_by": {}, "field_manager": "x", "force_conflicts": True, "events": True}
    result = action.bring({}, options, {})
    assert result["changed"] and not result.get("failed") and [entry["action"] for entry in result["objects"]] == ["created"]
    assert [call["definition"][0]["kind"] for call in calls] == ["ConfigMap", "Event"] and "apply" in calls[0] and "apply" not in calls[1]


@pytest.mark.parametrize(("foreign", "applied"), [("keep", ["b"]), ("refuse", []), ("take", ["a", "b"])])
def test_the_foreign_option_keeps_refuses_or_takes_over_foreign_objects(monkeypatch, foreign, applied):
    theirs, new = ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}} for name in "ab")
    calls = []

    def answer(_action, module_name, module_args, **_options):
        if module_name == CONTACT:
            return {"existing": [{**theirs, "metadata": {**theirs["metadata"], "labels": {"app.kubernetes.io/part-of": "shop"}}}]}
        calls.extend(module_args["definition"])
        return {"result": {"results": [{"changed": True}] * len(module_args["definition"])}, "changed": True}

    monkeypatch.setattr(ActionModule, "_execute_module", answer)
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(args={}, diff=False, no_log=False, check_mode=False)
    options = {
        "definitions": [theirs, new],
        "state": "present",
        "owned_by": {"app.kubernetes.io/part-of": "llm-d"},
        "foreign": foreign,
        "skip_forbidden": False,
    }
    result = action.bring({}, {**options, "field_manager": "x", "force_conflicts": True}, {})
    assert [item["metadata"]["name"] for item in calls] == applied and bool(result.get("failed")) is (foreign == "refuse")
    assert result.get("foreign") == (["ConfigMap n/a (of shop)"] if foreign == "refuse" else None)


def test_a_cluster_scoped_object_stays_in_the_applyset_that_has_it(monkeypatch):
    """Files with the same instance in several namespaces share it; an object in a namespace is in the record of the file that makes it."""
    owned = {"app.kubernetes.io/part-of": "llm-d"}
    wide = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": {"name": "a", "labels": {**owned, MEMBER: "applyset-ours-v1"}}}
    inside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**wide["metadata"], "namespace": "n"}}
    theirs = {**owned, MEMBER: "applyset-theirs-v1"}
    applied = []

    def answer(_action, module_name, module_args, **_options):
        if module_name == CONTACT:
            return {"existing": [{**item, "metadata": {**item["metadata"], "labels": theirs}} for item in (wide, inside)]}
        applied.extend(module_args["definition"])
        return {"result": {"results": [{"changed": False}] * len(module_args["definition"])}, "changed": False}

    monkeypatch.setattr(ActionModule, "_execute_module", answer)
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(args={}, diff=False, no_log=False, check_mode=False)
    options = {"definitions": [wide, inside], "state": "present", "owned_by": owned, "foreign": "keep", "skip_forbidden": False}
    action.bring({}, {**options, "field_manager": "x", "force_conflicts": True}, {})
    assert [item["metadata"]["labels"][MEMBER] for item in applied] == ["applyset-theirs-v1", "applyset-ours-v1"]


@pytest.mark.parametrize(("refused", "answer", "failed"), [
    ("fail", {"error": {"status": 422, "msg": "a is invalid"}}, True),
    ("report", {"error": {"status": 422, "msg": "a is invalid"}}, False),
    ("report", {"failed": True, "msg": "no route to host"}, True),
])  # fmt: skip
def test_refusals_fail_the_task_or_are_reported_but_connection_errors_fail_it(monkeypatch, refused, answer, failed):
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}
    monkeypatch.setattr(ActionModule, "_execute_module", lambda _action, **_options: dict(answer))
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(args={}, diff=False, no_log=False, check_mode=False)
    options = {"definitions": [made], "state": "present", "owned_by": {}, "field_manager": "x", "force_conflicts": True, "refused": refused}
    result = action.bring({}, options, {})
    assert bool(result.get("failed")) is failed and ("is invalid" if "error" in answer else "no route to host") in result["msg"]
    assert [entry["action"] for entry in result.get("objects", [])] == (["refused"] if "error" in answer else [])


def test_objects_are_deleted_with_foreground_propagation(monkeypatch):
    """An object is deleted after the objects that it owns: a Deployment after its pods."""
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "b"}}
    calls = []
    monkeypatch.setattr(ActionModule, "_execute_module", lambda _action, module_args, **_options: calls.append(module_args) or {"changed": True})
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(args={}, diff=False, no_log=False, check_mode=False)
    result = action.bring({}, {"definitions": [made], "state": "absent", "owned_by": {}}, {})
    assert result["changed"] and [(call["state"], call["delete_options"]) for call in calls] == [("absent", {"propagationPolicy": "Foreground"})]


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_namespace_is_deleted_last_and_kept_if_it_holds_foreign_objects(monkeypatch, check_mode):
    """The objects that this call deletes are passed to the check of its contents, since they may still exist."""
    full, empty, config = ({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}} for kind, name in KINDS)
    summary, calls = "the namespace full stays: it holds 2 objects that are not deleted", []

    def answer(_action, module_name, module_args, **_options):
        calls.append((module_name, module_args))
        if module_name == CONTACT:
            return {"existing": [{**item, "metadata": {**item["metadata"], "labels": {"part": "ours"}}} for item in module_args["resources"]]}
        if module_name == CONTENTS:
            return {"kept": [{"namespace": "full", "objects": [], "lines": [summary, "  Pod full/a", "  Pod full/b"], "summary": summary}]}
        return {"changed": True}

    monkeypatch.setattr(ActionModule, "_execute_module", answer)
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(args={"kubeconfig": "/k"}, diff=True, no_log=False, check_mode=check_mode)
    options = {"definitions": [full, empty, config], "state": "absent", "owned_by": {"part": "ours"}, "skip_forbidden": False}
    result = action.bring({}, {**options, "contents": {"home": "full", "going": [{"kind": "Secret"}]}}, {})
    assert [(entry["name"], entry["action"], entry["problem"]) for entry in result["objects"]] == [
        ("settings", "deleted", ""),
        ("full", "kept", summary),
        ("empty", "deleted", ""),
    ]
    assert result["kept"][1:] == ["  Pod full/a", "  Pod full/b"] and result["warnings"] == [summary]
    assert [entry["before_header"] for entry in result["diff"]] == ["ConfigMap settings", "Namespace empty"]
    deleted = [item["metadata"]["name"] for module, args in calls if module == MODULE for item in args["definition"]]
    (arguments,) = [args for module, args in calls if module == CONTENTS]
    assert deleted == ["settings", "empty"] and [module for module, _args in calls][1:3] == [MODULE, CONTENTS]
    assert arguments == {
        "kubeconfig": "/k",
        "labels": {"part": "ours"},
        "home": "full",
        "namespaces": ["empty", "full"],
        "going": [{"kind": "Secret"}, {key: config[key] for key in ("apiVersion", "kind", "metadata")}],
    }


def test_no_namespace_is_deleted_if_listing_its_contents_fails(monkeypatch):
    space, calls = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}, []

    def answer(_action, module_name, **_options):
        calls.append(module_name)
        return {"failed": True, "msg": "connection refused"}

    monkeypatch.setattr(ActionModule, "_execute_module", answer)
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(args={}, diff=False, no_log=False, check_mode=False)
    result = action.bring({}, {"definitions": [space], "state": "absent", "owned_by": {}}, {})
    assert result["failed"] and result["msg"] == "connection refused" and calls == [CONTENTS]


def diff_of(monkeypatch, made, before, after):
    """(before, after) in the diff of a task whose module reports these parts of an object."""
    item = {"changed": True, "method": "apply", "result": made, "diff": {"before": before, "after": after}}
    monkeypatch.setattr(ActionModule, "_execute_module", lambda *_arguments, **_options: item)
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(args={}, diff=True, no_log=False, check_mode=True)
    options = {"definitions": [{**made, **after}], "state": "present", "owned_by": {}, "field_manager": "x", "force_conflicts": True}
    (shown,) = action.bring({}, options, {})["diff"]
    return shown["before"], shown["after"]


def test_a_diff_has_checksums_instead_of_programs(monkeypatch):
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}, "data": {"c": "text"}, "binaryData": {"d.pyz": "UEsD" * 999}}

    def changed(program):
        return diff_of(monkeypatch, made, {"binaryData": {"d.pyz": "old"}}, {"binaryData": program})

    (before, after), (_before, other) = changed({"d.pyz": "UEsD" * 999}), changed({"d.pyz": "UEsE" * 999})
    assert len({before, after, other}) == 3 and all("d.pyz: (binary, sha256 " in text and len(text) < 100 for text in (before, after, other)), (before, after)


def test_a_diff_shows_a_configuration_line_by_line(monkeypatch):
    """A configuration such as that of the endpoint picker is YAML in a ConfigMap; a token in it stays hidden."""
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}}
    old, new = ({"data": {"config.yaml": f"plugins:\n  - type: queue-scorer\n    weight: {weight}\n    token: hf_abcdefghij\n"}} for weight in (2, 6))
    before, after = diff_of(monkeypatch, made, old, new)
    assert after == "data:\n  config.yaml: |\n    plugins:\n      - type: queue-scorer\n        weight: 6\n        token: (removed)\n"
    assert before == after.replace("6", "2")


def test_a_diff_shows_that_a_hidden_secret_in_an_argument_has_changed(monkeypatch):
    """Otherwise a Deployment of which only the key changes is replaced with an empty diff."""
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "b"}}
    old, new = ({"spec": {"replicas": 1, "template": {"spec": {"containers": [{"args": ["--api-key", key]}]}}}} for key in ("planted", "planted-2"))
    before, after = diff_of(monkeypatch, made, old, new)
    assert "planted" not in before + after and "(hidden, another value)" in after
    assert before == after.replace("(hidden, another value)", "(removed)"), (before, after)


@pytest.mark.parametrize(("state", "calls"), [("absent", [["Service", "ConfigMap"], ["Secret"]]), ("present", [["Secret"], ["ConfigMap", "Service"]])])
def test_secrets_are_applied_before_other_objects_and_deleted_after_them(monkeypatch, state, calls):
    items = [{"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": "b"}} for kind in ("Secret", "ConfigMap", "Service")]
    kinds = []

    def answer(_action, module_args, **_options):
        kinds.append([item["kind"] for item in module_args["definition"]])
        return {"result": {"results": [{"changed": True}] * len(kinds[-1])}, "changed": True}

    monkeypatch.setattr(ActionModule, "_execute_module", answer)
    action = ActionModule.__new__(ActionModule)
    action._task = types.SimpleNamespace(args={}, diff=False, no_log=False, check_mode=False)
    action.bring({}, {"definitions": items, "state": state, "owned_by": {}, "field_manager": "x", "force_conflicts": True}, {})
    assert kinds == calls


def test_secrets_are_applied_in_a_separate_call_after_namespaces():
    space, secret, rest = ({"apiVersion": "v1", "kind": kind, "metadata": {"name": "cm"}} for kind in ("Namespace", "Secret", "ConfigMap"))
    assert batches([rest, secret, space]) == [[space], [secret], [rest]]
    assert batches([rest, space]) == [[rest, space]] and batches([]) == []
