# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/show.yml as a user runs it, and its lines: our objects without additions, and the additions separately."""

from __future__ import annotations

import json
import typing as t

import plays
import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.llm_d.inference.plugins.filter.readable import shown_objects
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.shown import shown, without_additions
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions

Facts = dict[str, t.Any]
PLAIN: Facts = {"name": "a", "model": {"uri": "hf://o/m"}, "engine": {"env": {"TOKEN": "planted-1"}}, "scheduler": {"preset": "disaggregated"}}
ADDED: Facts = {
    **PLAIN,
    "pod": {"runtimeClassName": "nvidia"},
    "container": {"env": [{"name": "MORE", "value": "planted-2"}]},
    "prefill": {"pod": {"hostname": "x"}},
    "scheduler": {**PLAIN["scheduler"], "pod": {"priorityClassName": "high"}},
}
GROUPS: Facts = {
    "name": "b",
    "model": {"uri": "hf://o/m"},
    "accelerator": {"per_replica": 16, "nodes": 2},
    "pod": {"hostNetwork": True},
    "route": {"path": "/b"},
}


def file_of(*services: Facts) -> Facts:
    return {"llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"}, "llm_d_model_services": [*services]}


def lines(file: Facts, only: tuple[str, ...] = ()) -> list[str]:
    planned = plan(file)
    return shown(definitions(planned), definitions(without_additions(planned)), only)


def test_our_objects_are_those_of_a_file_without_additions() -> None:
    assert definitions(without_additions(plan(file_of(ADDED, GROUPS)))) == definitions(plan(file_of(PLAIN, {**GROUPS, "pod": None})))


def test_additions_of_the_users_file_are_shown_separately() -> None:
    rows = lines(file_of(ADDED, GROUPS))
    assert {line.strip("+ ") for line in rows if line.startswith("+ ")} == {
        "runtimeClassName: nvidia",
        "- name: MORE",
        'value: "(removed)"',
        "hostname: x",
        "priorityClassName: high",
        "hostNetwork: true",
    }
    changed = [line for line in rows if line.startswith("# what your file adds to ")]
    workloads = ["Deployment llm-d/a-epp", "Deployment llm-d/a-decode", "Deployment llm-d/a-prefill", "LeaderWorkerSet llm-d/b-decode"]
    assert sorted(changed) == sorted(f"# what your file adds to {name}" for name in workloads)
    assert not [line for line in lines(file_of(PLAIN)) if line.startswith(("+", "# what"))] and "planted" not in "".join(rows)
    assert len([line for line in rows if "hostNetwork" in line]) == 2, "leader and workers"


def test_objects_without_additions_are_printed_as_yaml() -> None:
    text = "\n".join(lines(file_of(PLAIN)))
    kinds = [item["kind"] for item in yaml.safe_load_all(text)]
    assert kinds == [item["kind"] for item in definitions(plan(file_of(PLAIN)))]


def test_kinds_and_names_choose() -> None:
    heads = [line for line in lines(file_of(PLAIN), ("InferencePool", "a-epp")) if line.startswith("# ")]
    assert "# InferencePool llm-d/a" in heads and "# Deployment llm-d/a-epp" in heads and "# Deployment llm-d/a-decode" not in heads
    assert lines(file_of(PLAIN), ("Nothing",)) == []


@pytest.mark.parametrize("given", [("x", []), ([], "x"), ([{}], [])])
def test_the_filter_refuses_arguments_that_are_not_matching_lists_of_objects(given: tuple[t.Any, t.Any]) -> None:
    with pytest.raises(AnsibleFilterError, match="takes the definitions"):
        shown_objects(*given)


@pytest.mark.rest
@pytest.mark.parametrize(
    ("only", "wanted", "unwanted"),
    [
        ("Deployment, Service", "+      priorityClassName: high", "# InferencePool"),
        ("Job", "+      hostname: measuring", "# Deployment"),
        ("a-none", "no object has this kind or name", "# Deployment"),
    ],
)
def test_the_playbook_prints_them(only: str, wanted: str, unwanted: str) -> None:
    given = {**file_of(ADDED), "llm_d_benchmark": {"job": {"image": "python:3.12-slim", "pod": {"hostname": "measuring"}}}, "show_only": only}
    done = plays.run("-i", "localhost,", "-c", "local", "playbooks/show.yml", "-e", json.dumps(given), "-vvv")
    assert done.returncode == 0 and wanted in done.stdout and unwanted not in done.stdout and "changed=0" in done.stdout, done.stdout + done.stderr
    assert "planted" not in done.stdout
