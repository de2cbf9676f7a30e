"""Events name the fields that a run changed, on the objects themselves, and no values."""

from __future__ import annotations

import datetime
import json

from ansible_collections.llm_d.inference.plugins.module_utils.k8s.apply_results import Change
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.events import events

NOW = datetime.datetime(2026, 11, 24, 12, 30, 5, tzinfo=datetime.UTC)
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "sim-decode", "namespace": "llm-d"}}
BEFORE = {"spec": {"replicas": 2, "template": {"spec": {"a": 1}, "metadata": {"x": "y"}}}, "data": {"token": "hunter2"}}
AFTER = {"spec": {"replicas": 4, "template": {"spec": {"a": 2}, "metadata": {"x": "y"}}, "strategy": {"type": "Recreate"}}, "data": {"token": "hunter3"}}


def test_the_event_on_a_changed_object_names_its_changed_fields() -> None:
    (event,) = events([Change(DEPLOYMENT, "changed", BEFORE, AFTER, 3, uid="u-1")], NOW)
    assert event["message"] == "Changed by a run of llm_d.inference: data.token, spec.replicas, spec.strategy.type, spec.template.spec"
    assert event["involvedObject"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "sim-decode", "namespace": "llm-d", "uid": "u-1"}
    assert (event["reason"], event["type"], event["count"], event["source"]) == ("Changed", "Normal", 1, {"component": "llm_d.inference"})
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2026-11-24T12:30:05Z"
    assert event["metadata"] == {"name": f"sim-decode.{int(NOW.timestamp()) * 10**9:x}", "namespace": "llm-d"}
    assert "hunter" not in json.dumps(event)


def test_many_fields_are_counted() -> None:
    after = {"data": {f"key{number}": "x" for number in range(9)}}
    (event,) = events([Change(DEPLOYMENT, "changed", {}, after, uid="u")], NOW)
    assert event["message"].endswith(": data.key0, data.key1, data.key2, data.key3, data.key4 and 4 more")


def test_unchanged_or_cluster_scoped_objects_get_no_event() -> None:
    cluster_wide = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "llm-d"}}
    quiet = [Change(DEPLOYMENT, action, {}, {}, uid="u") for action in ("unchanged", "deleted", "absent", "foreign", "refused")]
    assert events([*quiet, Change(cluster_wide, "created", {}, {}, uid="u"), Change(DEPLOYMENT, "created", {}, {})], NOW) == []
    assert [event["message"] for event in events([Change(DEPLOYMENT, "created", {}, AFTER, uid="u")], NOW)] == ["Created by a run of llm_d.inference"]
