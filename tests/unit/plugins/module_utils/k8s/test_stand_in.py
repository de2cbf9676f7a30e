# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of a namespace that is not there yet are tried in another one, under names that nothing there has."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.apply_results import Change
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.stand_in import elsewhere, judged, untried

Facts = dict[str, t.Any]


def service(name: str, namespace: str = "new") -> Facts:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace, "labels": {"a": "b"}}, "spec": {"x": 1}}


@pytest.mark.parametrize("name", ["a", "ab", "sim", "llama-8b", "a-very-long-name-of-a-service-decode"])
def test_a_name_of_the_same_length_that_kubernetes_takes(name: str) -> None:
    made = elsewhere(service(name), "default")
    other = made["metadata"]["name"]
    assert len(other) == len(name) and re.fullmatch("[a-z]([-a-z0-9]*[a-z0-9])?", other) and made["metadata"]["namespace"] == "default"
    assert made["spec"] == {"x": 1} and made["metadata"]["labels"] == {"a": "b"} and (len(name) < 3 or other != name)


def test_only_what_makes_an_object_invalid_counts() -> None:
    created = [
        Change(service(name), "created", {}, {"x": 1}, untried=why)
        for name, why in (("one", "namespace"), ("two", ""), ("three", "namespace"), ("four", "kind"))
    ]
    waiting = untried(created)
    assert [change.definition["metadata"]["name"] for change in waiting] == ["one", "three"]
    tried = [elsewhere(change.definition, "default") for change in waiting]
    trials = [
        Change(tried[0], "refused", {}, {}, problem=f'Service "{tried[0]["metadata"]["name"]}" is invalid: spec.ports: Required value'),
        Change(tried[1], "refused", {}, {}, problem="exceeded quota"),
    ]
    found = judged(created, trials)
    assert [(change.action, change.untried) for change in found] == [("refused", ""), ("created", ""), ("created", "namespace"), ("created", "kind")]
    assert found[0].problem == 'Service "one" is invalid: spec.ports: Required value' and found[0].definition == created[0].definition
