# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checksum changes with the value of a Secret and with nothing else, and does not reveal the value."""

from __future__ import annotations

import base64
import hashlib

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.secret_checksums import (
    ANNOTATION,
    checksum,
    current_checksum,
    environment_secrets,
    with_checksums,
)
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render


def secret(value, uid="4f7c1a52-6d0e-4f5b-9b67-0a2f6e2b9d11", **more):
    return {"metadata": {"name": "token", "uid": uid, "resourceVersion": "7", **more}, "data": {"HF_TOKEN": base64.b64encode(value.encode()).decode()}}


def template(*names):
    env = [{"name": "PLAIN", "value": "x"}] + [{"name": name, "valueFrom": {"secretKeyRef": {"name": name, "key": "HF_TOKEN"}}} for name in names]
    return {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "server", "env": env}]}}


def deployment(*names):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "n"}, "spec": {"template": template(*names)}}


def test_the_checksum_changes_only_with_the_value_of_the_secret():
    references = [("token", "HF_TOKEN")]
    first = checksum(references, {"token": secret("hf_one")})
    assert first and first == checksum(references, {"token": secret("hf_one", resourceVersion="9", labels={"a": "b"})})
    assert first != checksum(references, {"token": secret("hf_two")})


def test_the_checksum_cannot_be_computed_without_the_uid_of_the_secret():
    """A dictionary of passwords does not help: the same value under another uid has another checksum, and none is a plain hash of it."""
    references, value = [("token", "HF_TOKEN")], "s3same"
    checksums = {checksum(references, {"token": secret(value, uid=uid)}) for uid in ("one", "two", "three")}
    assert len(checksums) == 3
    plain = [value.encode(), base64.b64encode(value.encode()), f"token\0HF_TOKEN\0{value}".encode()]
    assert not checksums & {hashlib.sha256(text).hexdigest()[:32] for text in plain}


@pytest.mark.parametrize(
    "obj",
    [
        None,
        {},
        {"metadata": {"uid": "u"}, "data": {}},
        {"metadata": {}, "data": {"HF_TOKEN": "eA=="}},
        {"metadata": {"uid": "u"}, "data": {"HF_TOKEN": "no base64"}},
    ],
)
def test_an_unreadable_secret_has_no_checksum(obj):
    assert checksum([("token", "HF_TOKEN")], {"token": obj}) is None
    assert checksum([("other", "HF_TOKEN"), ("token", "HF_TOKEN")], {"token": obj, "other": secret("x")}) is None


def test_secrets_of_the_environment_are_located_in_pod_templates_of_any_kind():
    assert environment_secrets(deployment()) == {} and environment_secrets({"kind": "Pod", **template("token")}) == {}
    assert environment_secrets(deployment("token", "token", "other")) == {("spec", "template"): [("other", "HF_TOKEN"), ("token", "HF_TOKEN")]}
    group = {"kind": "LeaderWorkerSet", "spec": {"leaderWorkerTemplate": {"leaderTemplate": template("token"), "workerTemplate": template("token", "other")}}}
    assert [path[-1] for path in environment_secrets(group)] == ["leaderTemplate", "workerTemplate"]


def test_an_annotation_joins_those_that_are_there():
    given = deployment("token")
    given["spec"]["template"]["metadata"]["annotations"] = {"mine": "1"}
    made = with_checksums(given, {("spec", "template"): "abc"})
    assert made["spec"]["template"]["metadata"]["annotations"] == {"mine": "1", ANNOTATION: "abc"} and current_checksum(made, ("spec", "template")) == "abc"
    assert with_checksums(given, {("spec", "template"): None}) == given
    assert current_checksum(given, ("spec", "template")) is None and current_checksum(None, ("spec", "template")) is None


def test_only_the_servers_of_a_gated_model_read_the_model_token(root):
    models = [{"name": "gated", "model": {"uri": "hf://o/m"}}, {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}]
    services = [{**model, "route": {"path": f"/{model['name']}"}} for model in models]
    planned = plan({"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_token": "hf_x", "llm_d_model_services": services})
    by_name = {item["metadata"]["name"]: environment_secrets(item) for item in render(root / "roles/model_service/templates/servers.yml.j2", planned)}
    assert {name: paths for name, paths in by_name.items() if paths} == {"gated-decode": {("spec", "template"): [("llm-d-model-token", "HF_TOKEN")]}}
