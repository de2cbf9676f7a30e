# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wait returns references to the objects, and nothing of the environment of pods."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.readiness.judge import judge
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.related_objects import Ref
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.wait import Wait
from ansible_collections.llm_d.inference.plugins.modules import resource_ready
from module_calls import user_output
from recorded import recorded

SECRET = "hunter2-in-clear"


class Waited(Wait):
    """Replaces the wait, with a Deployment that is ready."""

    elapsed = 1.5

    def __init__(self, _cluster: t.Any, refs: list[Ref], *_more: t.Any) -> None:
        made = recorded("deployment")
        made["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "MODE", "value": SECRET}]
        made["spec"]["template"]["spec"]["containers"][0]["args"] = [f"--api-key={SECRET}"]
        self.refs = refs
        self.objects = {refs[0]: [made]}
        self.verdicts = {refs[0]: judge(made)}

    def run(self, *_given: t.Any) -> bool:
        return True


def test_no_more_than_which_objects_there_are(call: t.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_ready, "Wait", Waited)
    monkeypatch.setattr(resource_ready, "connect", lambda _module: None)
    result = call(resource_ready, resources=[{"api_version": "apps/v1", "kind": "Deployment", "name": "sim-decode", "namespace": "llm-d"}])
    name = recorded("deployment")["metadata"]["name"]
    (resource,) = result["resources"]
    spec = resource.pop("spec")
    assert resource == {"api_version": "apps/v1", "kind": "Deployment", "name": name, "namespace": "llm-d", "reason": "4/4 ready"}
    assert set(spec) == {"template"} and set(spec["template"]) == {"metadata", "spec"} and spec["template"]["metadata"]["labels"]
    assert {key for part in spec["template"]["spec"]["containers"] for key in part} == {"ports"}
    assert SECRET not in user_output(result) and not result["changed"] and result["waited"] == 1.5
