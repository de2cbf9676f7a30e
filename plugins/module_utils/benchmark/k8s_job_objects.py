# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a measurement inside the cluster: a Job, the ConfigMap with its program and the Secret with its options. Pure."""

from __future__ import annotations

import base64
import collections.abc as c
import json
import typing as t

from ..common.objects import Facts
from ..schema.pods import TEMPLATE, Type, merged

MAX_DATA = 900_000  # bytes of a ConfigMap or Secret; Kubernetes allows 1 MiB with its metadata
TIMEOUT = 3600  # seconds after which the cluster ends a Job, where the user gives no others
LABEL = "llm-d.ai/perf"
PROGRAM, OPTIONS = "perf.pyz", "options.json"
CONTAINER = "perf"
_FOLDER = "/perf"
# Options that the program in the Job does not get.
_HERE = ("url", "gateway", "service", "path", "kubeconfig", "context", "job", "baseline", "baseline_max_ratio", "artifacts", "progress_path")


def definitions(params: c.Mapping[str, t.Any], url: str, name: str, program: bytes, texts: c.Mapping[str, str]) -> tuple[Facts, list[Facts]]:
    """(job, others): a suspended Job, and the ConfigMap and Secret that it needs.

    `params`: the complete options of the module; `url`: where to send; `program`: the file of `bundle`; `texts`: the content of the files that
    `workload.path`, `ca_path`, `client_cert` and `client_key` name, the first as `workload`. Raises ValueError for files that are too large.
    """
    where = params["job"]
    # the requests of the container follow from the number of processes, which the program chooses only where the user gives resources
    processes = params["processes"] or (None if where["resources"] else 1)
    options = {**{key: value for key, value in params.items() if key not in _HERE}, "url": url, "processes": processes}
    if "workload" in texts:
        options["workload"] = {**options["workload"], "path": f"{_FOLDER}/workload"}
    options |= {name: f"{_FOLDER}/{name}" for name in texts if name != "workload"}
    files = {OPTIONS: json.dumps(options, sort_keys=True), **texts}
    if max(sum(len(text.encode()) for text in files.values()), len(program)) > MAX_DATA:
        raise ValueError(f"workload.path: more than {MAX_DATA} bytes do not fit into a Secret; cut the file, or measure without job")
    job = job_definition(name, processes, where)
    about = job["metadata"]
    return job, [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "binaryData": {PROGRAM: base64.b64encode(program).decode()}},
        # a Secret, since the options may hold a key
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": about,
            "type": "Opaque",
            "data": {key: base64.b64encode(value.encode()).decode() for key, value in files.items()},
        },
    ]


def job_definition(name: str, processes: int | None, where: c.Mapping[str, t.Any]) -> Facts:
    """The suspended Job. where: the job's options."""
    about = {"name": name, "namespace": where["namespace"], "labels": {**(where["labels"] or {}), LABEL: name}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": about, "spec": _job(about, processes, where)}


def owned(definition: Facts, job: c.Mapping[str, t.Any]) -> Facts:
    """The definition, owned by an existing Job: it is deleted with the Job."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}
    return {**definition, "metadata": {**definition["metadata"], "ownerReferences": [owner]}}


def _job(about: Facts, processes: int | None, where: c.Mapping[str, t.Any]) -> Facts:
    return {
        # the TTL removes the Job where the process that made it was killed
        "suspend": True,
        "backoffLimit": 0,
        "completions": 1,
        "parallelism": 1,
        "ttlSecondsAfterFinished": 600,
        "activeDeadlineSeconds": int(where["timeout"]),
        "template": merged(pod_template(about["name"], about["labels"], processes, where), where["patch"] or {}, Type(TEMPLATE)),
    }


def pod_template(name: str, labels: Facts, processes: int | None, where: c.Mapping[str, t.Any]) -> Facts:
    """The template of the pod, to which `patch` of the job is applied. where: the job's options."""
    return {"metadata": {"labels": labels}, "spec": _pod(name, processes, where)}


def _pod(name: str, processes: int | None, where: c.Mapping[str, t.Any]) -> Facts:
    count = processes or 1
    user = {"runAsUser": where["run_as_user"], "runAsGroup": where["run_as_user"]} if where["run_as_user"] else {}
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 5,
        "imagePullSecrets": [{"name": secret} for secret in where["image_pull_secrets"]],
        "securityContext": {"runAsNonRoot": True, **user, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": CONTAINER,
                "image": where["image"],
                "command": ["python3", "-I", f"{_FOLDER}/{PROGRAM}", f"{_FOLDER}/{OPTIONS}", "--rows"],
                "resources": where["resources"] or {"requests": {"cpu": str(count), "memory": "128Mi"}, "limits": {"memory": f"{512 * count}Mi"}},
                "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
                "volumeMounts": [{"name": "perf", "mountPath": _FOLDER, "readOnly": True}],
            }
        ],
        "volumes": [{"name": "perf", "projected": {"sources": [{"configMap": {"name": name}}, {"secret": {"name": name}}]}}],
    }
