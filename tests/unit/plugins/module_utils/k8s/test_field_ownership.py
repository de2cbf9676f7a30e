# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The applied fields of an object are read back from its managed fields, without the fields of other managers."""

from __future__ import annotations

import copy

from ansible_collections.llm_d.inference.plugins.module_utils.k8s.field_ownership import applied_definition

OURS = {
    "f:metadata": {"f:labels": {"f:app": {}}},
    "f:spec": {
        "f:replicas": {},
        "f:template": {
            "f:metadata": {"f:annotations": {"f:llm-d.ai/config-checksum": {}}},
            "f:spec": {
                "f:containers": {
                    'k:{"name":"epp"}': {
                        ".": {}, "f:name": {}, "f:args": {}, "f:resources": {"f:requests": {"f:cpu": {}}},
                        "f:ports": {'k:{"containerPort":9002,"protocol":"TCP"}': {".": {}, "f:containerPort": {}, "f:name": {}}},
                    },
                },
            },
        },
    },
}  # fmt: skip
LIVE = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "sim-epp", "namespace": "llm-d", "uid": "1", "resourceVersion": "7", "labels": {"app": "epp", "theirs": "x"},
        "managedFields": [
            {"manager": "llm_d.inference", "operation": "Apply", "fieldsV1": OURS},
            {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {"f:replicas": {}}}},
            {"manager": "someone", "operation": "Apply", "fieldsV1": {"f:metadata": {"f:labels": {"f:theirs": {}}}}},
        ],
    },
    "spec": {
        "replicas": 1, "progressDeadlineSeconds": 600,
        "template": {
            "metadata": {"annotations": {"llm-d.ai/config-checksum": "abc", "kubectl.kubernetes.io/restartedAt": "now"}},
            "spec": {
                "restartPolicy": "Always",
                "containers": [
                    {
                        "name": "epp", "args": ["--v=2"], "terminationMessagePath": "/dev/termination-log", "resources": {"requests": {"cpu": "50m"}},
                        "ports": [{"containerPort": 9002, "name": "grpc", "protocol": "TCP"}],
                    },
                    {"name": "injected", "image": "mesh"},
                ],
            },
        },
    },
    "status": {"replicas": 1},
}  # fmt: skip


def test_the_applied_definition_holds_all_own_fields_and_no_others() -> None:
    assert applied_definition(LIVE, "llm_d.inference") == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "sim-epp", "namespace": "llm-d", "labels": {"app": "epp"}},
        "spec": {
            "replicas": 1,
            "template": {
                "metadata": {"annotations": {"llm-d.ai/config-checksum": "abc"}},
                "spec": {
                    "containers": [
                        {
                            "name": "epp", "args": ["--v=2"], "resources": {"requests": {"cpu": "50m"}},
                            "ports": [{"containerPort": 9002, "protocol": "TCP", "name": "grpc"}],
                        },
                    ],
                },
            },
        },
    }  # fmt: skip


def test_the_applied_definition_includes_fields_taken_over_by_scorer_config() -> None:
    """Otherwise going back would remove the very field that was switched."""
    live = copy.deepcopy(LIVE)
    ours = live["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"]
    taken = {"manager": "llm_d.inference.scorer_config", "operation": "Apply", "fieldsV1": {"f:spec": {"f:template": {"f:metadata": ours.pop("f:metadata")}}}}
    assert applied_definition(live, "llm_d.inference")["spec"]["template"] == {"spec": applied_definition(LIVE, "llm_d.inference")["spec"]["template"]["spec"]}
    live["metadata"]["managedFields"].append(taken)
    assert applied_definition(live, "llm_d.inference") == applied_definition(LIVE, "llm_d.inference")


def test_an_object_the_manager_never_applied_has_no_applied_definition() -> None:
    assert applied_definition(LIVE, "llm_d.other") is None
    assert applied_definition({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}, "llm_d.inference") is None
    updated = copy.deepcopy(LIVE)
    updated["metadata"]["managedFields"][0]["operation"] = "Update"
    assert applied_definition(updated, "llm_d.inference") is None


def test_sets_and_whole_values() -> None:
    live = {
        "apiVersion": "v1", "kind": "Thing", "data": {"config.yaml": "a: 1", "other": "b"}, "names": ["x", "y"], "gone": None,
        "metadata": {
            "name": "t",
            "managedFields": [
                {"manager": "m", "operation": "Apply", "fieldsV1": {"f:data": {".": {}, "f:config.yaml": {}, "f:lost": {}}, "f:names": {'v:"x"': {}}}}
            ],
        },
    }  # fmt: skip
    assert applied_definition(live, "m") == {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t"}, "data": {"config.yaml": "a: 1"}, "names": ["x"]}
