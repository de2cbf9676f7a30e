# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of a namespace that does not exist yet are tried in another namespace, under names that no object there has."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.apply_results import Change
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.stand_in import judged, trials

Facts = dict[str, t.Any]


def service(name: str, namespace: str = "new") -> Facts:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace, "labels": {"a": "b"}}, "spec": {"x": 1}}


@pytest.mark.parametrize("name", ["a", "ab", "sim", "llama-8b", "a-very-long-name-of-a-service-decode"])
def test_the_trial_object_has_a_valid_name_of_the_same_length(name: str) -> None:
    ((_index, made),) = trials([Change(service(name), "created", {}, {}, untried="namespace")], "default")
    other = made["metadata"]["name"]
    assert len(other) == len(name) and re.fullmatch("[a-z]([-a-z0-9]*[a-z0-9])?", other) and made["metadata"]["namespace"] == "default"
    assert made["spec"] == {"x": 1} and made["metadata"]["labels"] == {"a": "b"} and (len(name) < 3 or other != name)


def test_only_what_makes_an_object_invalid_counts() -> None:
    created = [
        Change(service(name), "created", {}, {"x": 1}, untried=why)
        for name, why in (("one", "namespace"), ("two", ""), ("three", "namespace"), ("four", "kind"))
    ]
    waiting = trials(created, "default")
    assert [index for index, _definition in waiting] == [0, 2]
    first, second = (definition for _index, definition in waiting)
    answers = [
        Change(first, "refused", {}, {}, problem=f'Service "{first["metadata"]["name"]}" is invalid: spec.ports: Required value'),
        Change(second, "refused", {}, {}, problem="exceeded quota"),
    ]
    changes = judged(created, zip(waiting, answers, strict=True))
    assert [(change.action, change.untried) for change in changes] == [("refused", ""), ("created", ""), ("created", "namespace"), ("created", "kind")]
    assert changes[0].problem == 'Service "one" is invalid: spec.ports: Required value' and changes[0].definition == created[0].definition


@pytest.mark.parametrize(("missing", "there"), [(False, "new"), (True, "default")])
def test_the_pods_of_several_nodes_are_tried_as_deployments(missing: bool, there: str) -> None:
    pods = {"metadata": {"labels": {"app": "big"}}, "spec": {"tolerations": [{"operator": "Equal"}]}}
    template = {"size": 2, "leaderTemplate": pods, "workerTemplate": pods}
    big = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "big", "namespace": "new"}}
    done = [
        Change(service("big"), "created", {}, {}, untried="namespace" if missing else ""),
        Change({**big, "spec": {"leaderWorkerTemplate": template}}, "created", {}, {}, untried="kind" if missing else ""),
    ]
    pairs = [(index, definition) for index, definition in trials(done, "default") if definition["kind"] == "Deployment"]
    assert [(index, definition["metadata"]["namespace"], definition["spec"]["template"]) for index, definition in pairs] == [(1, there, pods)] * 2
    assert pairs[0][1]["spec"]["selector"] == {"matchLabels": {"app": "big"}} and pairs[0][1]["metadata"]["name"] != "big"
    answers = [Change(definition, "refused", {}, {}, problem="Deployment is invalid: spec.template.spec.tolerations[0].key") for _index, definition in pairs]
    assert [change.action for change in judged(done, zip(pairs, answers, strict=True))] == ["created", "refused"]
