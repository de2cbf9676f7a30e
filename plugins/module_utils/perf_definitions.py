# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A measurement as a Job in the cluster, for servers and gateways that only the cluster reaches. Pure."""

from __future__ import annotations

import base64
import collections.abc as c
import hashlib
import json
import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils import perf_options

Facts = dict[str, t.Any]
MAX_DATA = 900_000  # bytes of a ConfigMap or Secret, with room for the rest
PROGRAM, OPTIONS, WORKLOAD = "perf.pyz", "options.json", "workload"
_SPARE = 60.0  # seconds for what a plan does not say: the start of the container, the first look, pauses


def definitions(params: Facts, program: bytes, where: c.Mapping[str, t.Any], text: str | None = None) -> list[Facts]:
    """ConfigMap, Secret and Job. `params` are complete options, `text` that of the workload's file; `where` has name, namespace, image, and may have
    labels, timeout (seconds), resources, image_pull_secrets. The Job prints the result as one line of JSON. Raises ValueError with all problems."""
    if params["baseline"] or params["artifacts"] or params["ca_path"]:
        raise ValueError("baseline, artifacts and ca_path name files, and a Job has none: compare and write with what it returns")
    perf_options.plan(params, text)
    files = {WORKLOAD: text} if text is not None else {}
    options = {**params, "progress_path": None, "workload": {**params["workload"], **({"path": f"/perf/{WORKLOAD}"} if files else {})}}
    said = json.dumps(options, sort_keys=True)
    if max(len(said) + len(text or ""), len(program)) > MAX_DATA:
        raise ValueError(f"workload.path: more than {MAX_DATA} bytes do not fit into a Secret; cut the file, or measure from a host")
    # a Job cannot be changed: another measurement is another Job
    name = f"{where['name']}-{hashlib.sha256((said + (text or '')).encode() + program).hexdigest()[:8]}"
    about = {"name": name, "namespace": where["namespace"], "labels": dict(where.get("labels") or {})}
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "binaryData": {PROGRAM: base64.b64encode(program).decode()}},
        # a Secret, since the options may hold a key
        {"apiVersion": "v1", "kind": "Secret", "metadata": about, "type": "Opaque",
         "data": {key: base64.b64encode(value.encode()).decode() for key, value in {OPTIONS: said, **files}.items()}},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": about, "spec": _job(name, about, where)},
    ]


def _job(name: str, about: Facts, where: c.Mapping[str, t.Any]) -> Facts:
    return {
        "backoffLimit": 0, "completions": 1, "parallelism": 1, "ttlSecondsAfterFinished": 3600,
        "activeDeadlineSeconds": int(float(where.get("timeout") or 3600) + _SPARE),
        "template": {"metadata": {"labels": {**about["labels"], "llm-d.ai/perf": name}}, "spec": _pod(name, where)},
    }


def _pod(name: str, where: c.Mapping[str, t.Any]) -> Facts:
    return {
        "restartPolicy": "Never", "automountServiceAccountToken": False, "enableServiceLinks": False, "terminationGracePeriodSeconds": 5,
        "imagePullSecrets": [{"name": secret} for secret in where.get("image_pull_secrets") or ()],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{
            "name": "perf", "image": where["image"], "command": ["python3", "-I", f"/perf/{PROGRAM}", f"/perf/{OPTIONS}"],
            "resources": where.get("resources") or {"requests": {"cpu": "1", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
            "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [{"name": "perf", "mountPath": "/perf", "readOnly": True}],
        }],
        "volumes": [{"name": "perf", "projected": {"sources": [{"configMap": {"name": name}}, {"secret": {"name": name}}]}}],
    }
