# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Existing objects that a file names: each with its namespace and its path in the file."""

from __future__ import annotations

import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan

Facts = dict[str, t.Any]
S0 = "llm_d_model_services[0]"


def named(service: Facts, **variables: t.Any) -> dict[tuple[str, str], str]:
    """{(object, key): path within the service} of all objects that the file names."""
    element = {"name": "a", "model": {"uri": "hf://o/m"}, **service}
    planned = plan({"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [element], **variables})
    return {(each["object"], each["key"]): each["path"].removeprefix(f"{S0}.") for each in planned["preflight"]["named"]}


def test_variables_are_read_beside_their_pod() -> None:
    env = {"A": {"secret": "s", "key": "k"}, "B": {"config_map": "c"}, "C": "1"}
    prefill = {"engine": {"env": {"D": {"secret": "of-prefill"}}}}
    service = {"engine": {"env": env}, "prefill": prefill, "scheduler": {"preset": "disaggregated", "env": env}}
    assert named(service, llm_d_scheduler_namespace="pickers") == {
        ("Secret llm-d/of-prefill", "D"): "prefill.engine.env.D",
        ("Secret llm-d/s", "k"): "engine.env.A",
        ("ConfigMap llm-d/c", "B"): "engine.env.B",
        ("Secret pickers/s", "k"): "scheduler.env.A",
        ("ConfigMap pickers/c", "B"): "scheduler.env.B",
    }


def test_objects_in_additions_to_pods_are_named() -> None:
    volumes = [
        {"name": "a", "secret": {"secretName": "in-volume"}},
        {"name": "b", "projected": {"sources": [{"configMap": {"name": "projected"}}, {"secret": {"name": "maybe", "optional": True}}]}},
        {"name": "c", "csi": {"driver": "d.example.com", "nodePublishSecretRef": {"name": "to-mount"}}},
        {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "e", "configMap": {"name": "not-needed", "optional": True}},
    ]
    env = [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "of-container", "key": "x"}}}, {"name": "Y", "value": "1"}]
    side = {"name": "side", "image": "a/b:1", "envFrom": [{"configMapRef": {"name": "of-sidecar"}}]}
    paths = named(
        {
            "scheduler": {"preset": "disaggregated", "pod": {"priorityClassName": "system-cluster-critical"}},
            "pod": {"volumes": volumes, "runtimeClassName": "nvidia", "containers": [side]},
            "container": {"env": env},
            "prefill": {"pod": {"priorityClassName": "low", "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "other"}}]}},
        }
    )
    assert paths == {
        ("Secret llm-d/in-volume", ""): "pod.volumes[0].secret.secretName",
        ("ConfigMap llm-d/projected", ""): "pod.volumes[1].projected.sources[0].configMap.name",
        ("CSIDriver d.example.com", ""): "pod.volumes[2].csi.driver",
        ("Secret llm-d/to-mount", ""): "pod.volumes[2].csi.nodePublishSecretRef.name",
        ("PersistentVolumeClaim llm-d/data", ""): "pod.volumes[3].persistentVolumeClaim.claimName",
        ("PersistentVolumeClaim llm-d/other", ""): "prefill.pod.volumes[0].persistentVolumeClaim.claimName",
        ("RuntimeClass nvidia", ""): "pod.runtimeClassName",
        ("PriorityClass low", ""): "prefill.pod.priorityClassName",
        ("PriorityClass system-cluster-critical", ""): "scheduler.pod.priorityClassName",
        ("ConfigMap llm-d/of-sidecar", ""): "pod.containers[0].envFrom[0].configMapRef.name",
        ("Secret llm-d/of-container", "x"): "container.env[0].valueFrom.secretKeyRef.name",
    }


def test_prompts_of_warm_ups_are_named_and_our_own_secrets_are_not() -> None:
    assert named({"warmup": {"config_map": "prompts"}}) == {("ConfigMap llm-d/prompts", ""): "warmup.config_map"}
    keyed = {"llm_d_model_token": "hf_" + "a" * 34, "llm_d_api_key": "sk-1234567890", "llm_d_image_pull_secrets": ["mine"]}
    assert named({}, **keyed) == {("Secret llm-d/mine", ".dockerconfigjson"): "llm_d_image_pull_secrets[0]"}
    assert named({"pod": {"priorityClassName": "x"}}, llm_d_scope="prerequisites") == {}
