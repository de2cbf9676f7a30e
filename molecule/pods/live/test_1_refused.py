"""A wrong field in each block, or a missing object, is refused with its place, before any change."""

from __future__ import annotations

import typing as t

from stack import GATEWAY, SIM, Stack

MISTAKEN: dict[str, t.Any] = {
    "llm_d_model_services": [
        {
            **SIM,
            "pod": {"runtimeClass": "second"},
            "profile": "house",
            "container": {"volumeMount": []},
            "prefill": {"pod": {"priorityClass": "inference"}, "container": {"ttys": True}, "engine": {"max_num_seq": 2}},
            "scheduler": {
                **SIM["scheduler"],
                "pod": {"volumes": [{"name": "a", "configmap": {}}]},
                "container": {"stdins": True},
                "env": {"A": {"secrets": "x"}},
            },
            "cache": {
                "cpu_size": "1Gi",
                "shared": {"password_secret": "pw", "server": {"size": "1Gi", "pod": {"hostNetworks": True}, "container": {"tti": True}}},
            },
            "engine": {**SIM["engine"], "env": {"A": {"secret": "No!", "key": "a"}}},
            "warmup": {"prompts": ["x" * 100], "schedule": "@hourly", "pod": {"tolerations": [{"keys": "a"}]}, "container": {"workDir": "/"}},
            "accelerator": {"claim": {"class": "gpu"}},
        }
    ],
    "llm_d_gateway": {**GATEWAY, "pod": {"nodeSelectors": {}}, "container": {"resource": {}}},
    "llm_d_benchmark": {"job": {"image": "python:3.12-slim", "pod": {"hostnames": "x"}, "container": {"tty0": True}}},
    "llm_d_gpus": {"checks": {"pod": {"hostIPCs": True}, "container": {"workingdir": "/"}}},
    "llm_d_profiles": {"house": {"pod": {"hostPIDs": True}}},
    "llm_d_chart_values": {"envoy": {}},
}
S0 = "llm_d_model_services[0]"
PLACES = [
    f"{S0}.pod.runtimeClass",
    f"{S0}.container.volumeMount",
    f"{S0}.prefill.pod.priorityClass",
    f"{S0}.prefill.container.ttys",
    f"{S0}.prefill.engine.max_num_seq",
    f"{S0}.scheduler.pod.volumes[0].configmap",
    f"{S0}.scheduler.container.stdins",
    f"{S0}.scheduler.env.A.secrets",
    f"{S0}.cache.shared.server.pod.hostNetworks",
    f"{S0}.cache.shared.server.container.tti",
    f"{S0}.engine.env.A.secret",
    f"{S0}.warmup.pod.tolerations[0].keys",
    f"{S0}.warmup.container.workDir",
    f"{S0}.accelerator.claim.class",
    "llm_d_gateway.pod.nodeSelectors",
    "llm_d_gateway.container.resource",
    "llm_d_benchmark.job.pod.hostnames",
    "llm_d_benchmark.job.container.tty0",
    "llm_d_gpus.checks.pod.hostIPCs",
    "llm_d_gpus.checks.container.workingdir",
    "llm_d_profiles.house.pod.hostPIDs",
    "llm_d_chart_values.envoy",
]


def test_an_invalid_field_in_each_block_is_reported_with_its_path(stack: Stack) -> None:
    before = stack.versions()
    status, out = stack.play("site.yml", **MISTAKEN)
    assert status != 0 and f"{len(PLACES)} mistakes in your llm_d_* variables. Nothing has been touched." in out, out[-6000:]
    assert [place for place in PLACES if f"{place}: " not in out] == []
    assert stack.versions() == before


def test_references_to_missing_objects_are_reported_before_any_change(stack: Stack) -> None:
    before = stack.versions()
    named = {
        **SIM,
        "pod": {"runtimeClassName": "gone", "priorityClassName": "gone", "volumes": [{"name": "a", "configMap": {"name": "gone"}}]},
        "engine": {**SIM["engine"], "env": {"A": {"secret": "object-store", "key": "gone"}, "B": {"secret": "gone"}}},
        "scheduler": {**SIM["scheduler"], "env": {"C": {"config_map": "gone"}}},
    }
    status, out = stack.play("site.yml", llm_d_model_services=[named])
    kinds = {"runtimeClassName": "RuntimeClass", "priorityClassName": "PriorityClass", "volumes[0].configMap.name": "ConfigMap"}
    assert status != 0 and [where for where, kind in kinds.items() if f"{S0}.pod.{where} names a {kind} that does not exist." not in out] == [], out[-6000:]
    assert f"{S0}.engine.env.A names a Secret without the key that is read." in out and f"{S0}.engine.env.B names a Secret that does not exist." in out
    assert f"{S0}.scheduler.env.C names a ConfigMap that does not exist." in out and stack.versions() == before
