# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a measurement in the cluster. tests/unit/plugins/modules/test_vllm_perf_job.py runs them."""

from __future__ import annotations

import base64
import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import argument_spec, k8s_job_objects

JOB = {"namespace": "llm-d", "image": "python:3.12-slim"}


def definitions(job=None, program=b"PK", texts=None, **options):
    given = {"url": "http://here", "model": "acme/tiny", "stages": [{"rate": 1, "seconds": 1}], "job": {**JOB, **(job or {})}, **options}
    return k8s_job_objects.definitions(argument_spec.complete(given), "http://there", "perf-x", program, texts or {})


def pod(**arguments):
    return definitions(**arguments)[0]["spec"]["template"]["spec"]


def program_options(**arguments):
    """The options that the program gets."""
    _job, (_config, secret) = definitions(**arguments)
    return json.loads(base64.b64decode(secret["data"]["options.json"]))


@pytest.mark.parametrize(
    ("processes", "resources", "wanted"),
    [
        (None, None, {"requests": {"cpu": "1", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}),
        (3, None, {"requests": {"cpu": "3", "memory": "128Mi"}, "limits": {"memory": "1536Mi"}}),
        (3, {"limits": {"cpu": "2"}}, {"limits": {"cpu": "2"}}),
        (None, {"limits": {"cpu": "2"}}, {"limits": {"cpu": "2"}}),
    ],
)
def test_a_container_gets_a_core_and_memory_for_each_process(processes, resources, wanted):
    arguments = {"job": {"resources": resources}, **({"processes": processes} if processes else {})}
    assert pod(**arguments)["containers"][0]["resources"] == wanted
    assert program_options(**arguments)["processes"] == (processes or (None if resources else 1))


def test_a_job_is_not_retried_and_is_removed_by_the_cluster():
    """It starts when its other objects exist, is not repeated, ends by itself, and is removed ten minutes later by the cluster."""
    spec = definitions({"timeout": 90.5})[0]["spec"]
    assert {name: value for name, value in spec.items() if name != "template"} == {
        "suspend": True, "backoffLimit": 0, "completions": 1, "parallelism": 1, "ttlSecondsAfterFinished": 600, "activeDeadlineSeconds": 90,
    }  # fmt: skip
    spec_of_pod = pod()
    assert (spec_of_pod["restartPolicy"], spec_of_pod["automountServiceAccountToken"], spec_of_pod["enableServiceLinks"]) == ("Never", False, False)
    assert spec_of_pod["terminationGracePeriodSeconds"] == 5 and spec_of_pod["volumes"][0]["projected"]["sources"] == [
        {"configMap": {"name": "perf-x"}}, {"secret": {"name": "perf-x"}},
    ]  # fmt: skip
    assert spec_of_pod["containers"][0]["volumeMounts"] == [{"name": "perf", "mountPath": "/perf", "readOnly": True}]
    assert spec_of_pod["containers"][0]["command"] == ["python3", "-I", "/perf/perf.pyz", "/perf/options.json", "--rows"]


@pytest.mark.parametrize(
    ("number", "user"),
    [(65532, {"runAsUser": 65532, "runAsGroup": 65532}), (1, {"runAsUser": 1, "runAsGroup": 1}), (0, {}), (None, {"runAsUser": 65532, "runAsGroup": 65532})],
)
def test_the_user_of_a_pod(number, user):
    """With 0, the cluster assigns the user, as OpenShift requires."""
    spec = pod(job={} if number is None else {"run_as_user": number})
    assert spec["securityContext"] == {"runAsNonRoot": True, **user, "seccompProfile": {"type": "RuntimeDefault"}}
    assert spec["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip


def test_names_labels_and_files():
    job, (config, secret) = definitions(
        {"labels": {"app": "x"}, "image_pull_secrets": ["pull"]},
        texts={"workload": "Say hello.\n", "ca_path": "CERT"},
        workload={"kind": "prompts", "path": "/home/me/prompts"},
        ca_path="/home/me/ca.pem",
        processes=2,
    )
    for each in (job, config, secret):
        assert each["metadata"] == {"name": "perf-x", "namespace": "llm-d", "labels": {"app": "x", "llm-d.ai/perf": "perf-x"}}
    assert job["spec"]["template"]["metadata"]["labels"] == job["metadata"]["labels"]
    assert job["spec"]["template"]["spec"]["imagePullSecrets"] == [{"name": "pull"}]
    assert base64.b64decode(config["binaryData"]["perf.pyz"]) == b"PK" and secret["type"] == "Opaque"
    files = {name: base64.b64decode(data).decode() for name, data in secret["data"].items()}
    options = json.loads(files.pop("options.json"))
    assert files == {"workload": "Say hello.\n", "ca_path": "CERT"}
    assert (options["url"], options["ca_path"], options["workload"]["path"], options["workload"]["kind"]) == (
        "http://there", "/perf/ca_path", "/perf/workload", "prompts",
    )  # fmt: skip
    assert not {"job", "kubeconfig", "artifacts", "path"} & set(options)


def test_files_that_do_not_fit_into_a_secret_are_refused():
    definitions(program=b"x" * 900_000)
    rest = 900_000 - len(json.dumps(program_options(texts={"workload": ""}), sort_keys=True))
    definitions(texts={"workload": "x" * rest})
    for arguments in ({"program": b"x" * 900_001}, {"texts": {"workload": "x" * (rest + 1)}}, {"texts": {"workload": "ä" * (rest // 2 + 1)}}):
        with pytest.raises(ValueError, match="more than 900000 bytes do not fit"):
            definitions(**arguments)


def test_objects_are_owned_by_their_job():
    owned = k8s_job_objects.owned({"kind": "Secret", "metadata": {"name": "a"}}, {"metadata": {"name": "perf-x", "uid": "1-2"}})
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "perf-x", "uid": "1-2"}
    assert owned == {"kind": "Secret", "metadata": {"name": "a", "ownerReferences": [owner]}}
