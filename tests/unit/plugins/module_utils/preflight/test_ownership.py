# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of others with the names of ours are reported before anything is changed."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.labels import HOME_LABEL
from ansible_collections.llm_d.inference.plugins.module_utils.preflight.ownership import objects_of_others

Facts = dict[str, t.Any]
OURS = {"app.kubernetes.io/managed-by": "llm_d.inference", "app.kubernetes.io/part-of": "llm-d"}


def service(name: str, labels: Facts | None) -> Facts:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "llm-d", **({} if labels is None else {"labels": labels})}}


def findings(*objects: Facts, adopt: bool = False) -> list[tuple[str, str]]:
    return [(each.found, each.severity) for each in objects_of_others({"objects": list(objects)}, {"labels": OURS, "adopt": adopt}, {})]


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        (None, "of unknown origin"),
        ({"app.kubernetes.io/managed-by": "Helm"}, "of Helm"),
        ({"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/part-of": "shop"}, "of shop"),
        ({**OURS, "app.kubernetes.io/part-of": "blue"}, "of llm_d_instance blue in namespace llm-d"),
        ({"app.kubernetes.io/part-of": "\x1b[31m" + "x" * 100}, "of " + "x" * 59 + " ..."),
    ],
)
def test_an_object_of_another_owner_is_an_error_that_names_the_owner(labels: Facts | None, owner: str) -> None:
    assert findings(service("sim", OURS), service("sim-epp", labels)) == [(f"Service llm-d/sim-epp ({owner})", "error")]
    assert findings(service("sim-epp", labels), adopt=True) == []


def test_an_object_of_the_same_instance_from_another_namespace_is_foreign() -> None:
    planned, needs = service("sim-epp", {HOME_LABEL: "b"}), {"labels": OURS, "adopt": False}
    assert list(objects_of_others({"objects": [service("sim-epp", {**OURS, HOME_LABEL: "b"})]}, {**needs, "objects": [planned]}, {})) == []
    (finding,) = objects_of_others({"objects": [service("sim-epp", {**OURS, HOME_LABEL: "a"})]}, {**needs, "objects": [planned]}, {})
    assert finding.found == "Service llm-d/sim-epp (of llm_d_instance llm-d in namespace a)"


def test_own_objects_cause_no_finding() -> None:
    assert findings(service("sim", {**OURS, "more": "x"})) == findings() == [] and list(objects_of_others({}, {"labels": OURS, "adopt": False}, {})) == []


def test_many_are_counted() -> None:
    ((listing, _severity),) = findings(*(service(f"s{number}", None) for number in range(13)))
    assert listing.count("Service") == 10 and listing.endswith(" and 3 more")
