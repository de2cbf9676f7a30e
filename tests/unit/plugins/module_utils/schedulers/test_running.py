# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of endpoint pickers that run, or would run."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.llm_d.inference.plugins.filter.readable import running_schedulers
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan as make_plan
from ansible_collections.llm_d.inference.plugins.module_utils.schedulers.running import lines

SIM = {"model": {"served_name": "acme/tiny"}, "engine": {"type": "simulator"}}


def planned(release="router-0.10", **schedulers):
    services = [{"name": name, **SIM, "scheduler": scheduler, "route": {"path": f"/{name}"}} for name, scheduler in schedulers.items()]
    return make_plan({"llm_d_release": release, "llm_d_model_services": services, "llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"}})


def proof(*names):
    return [{"name": f"{name}-epp", "pods": [{"pod": f"{name}-epp-x", "by": "log", "line": "loaded"}]} for name in names]


def config_map(plan, service=0, text=None):
    """The ConfigMap of an endpoint picker as it was before."""
    scheduler = plan["services"][service]["scheduler"]
    return {"kind": "ConfigMap", "metadata": {"name": scheduler["name"]}, "data": {scheduler["config_key"]: scheduler["config"] if text is None else text}}


@pytest.mark.parametrize(
    ("scheduler", "words"),
    [
        ({}, ["preset default", "scorers queue 2, kv_cache 2, prefix 3; picker max-score-picker"]),
        ({"preset": "queue"}, ["preset queue", "scorers queue 1; picker max-score-picker"]),
        ({"preset": "round_robin"}, ["preset round_robin", "no scorers; picker random-picker"]),
        ({"preset": "prefix_aware", "scorers": {"prefix": 6}}, ["preset prefix_aware, with scorers of its own", "scorers queue 2, kv_cache 2, prefix 6; "]),
        ({"scorers": {"queue": 1, "prefix": 3}}, ["no preset", "scorers queue 1, prefix 3; picker max-score-picker"]),
    ],
)
def test_preset_scorers_and_weights_are_shown(scheduler, words):
    output = " ".join(" ".join(lines(planned(a=scheduler), None, proof("a"))).split())
    assert output.startswith(f"a runs release router-0.10, {' '.join(words)}") and output.endswith("picker verified: a-epp-x (by its log)")


def test_the_prefill_and_decode_profiles_are_shown():
    (one,) = planned(a={"preset": "disaggregated"})["services"]
    assert [line.partition(":")[0] for line in one["scheduler"]["decides"]] == ["preset disaggregated", "profile prefill", "profile decode"]


def test_whether_the_configuration_is_new_changed_or_as_it_was():
    plan = planned(a={"preset": "queue"}, b={"preset": "balanced"}, c={"preset": "balanced"})
    before = [config_map(plan), config_map(plan, 1, "kind: EndpointPickerConfig\n"), {"kind": "Deployment", "metadata": {"name": "c-epp"}}]
    heads = [line for line in lines(plan, before, proof("a", "b", "c")) if not line.startswith(" ")]
    assert heads == [
        "a runs release router-0.10, preset queue, unchanged",
        "b runs release router-0.10, preset balanced, changed",
        "c runs release router-0.10, preset balanced, new",
    ]


def test_in_check_mode_it_would_run():
    output = lines(planned(release="scheduler-0.7", a={"preset": "queue"}), None, None)
    assert output == ["a would run release scheduler-0.7, preset queue", "  scorers queue 1; picker max-score-picker"]


def test_a_picker_without_a_verified_pod_is_named():
    assert lines(planned(a={}), [], [])[-1] == "  no pod is verified to run it"


def test_the_filter_accepts_registered_task_results():
    plan = planned(a={"preset": "queue"})
    assert running_schedulers(plan, {"definitions": [config_map(plan)]}, {"schedulers": proof("a")})[0].endswith("unchanged")
    assert running_schedulers(plan, {"skipped": True}, {"changed": False})[0] == "a would run release router-0.10, preset queue"
    with pytest.raises(AnsibleFilterError, match="takes a plan"):
        running_schedulers([])
