# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CronJob that warms up the servers of one model service: our program, in an image with Python, and a Secret with the prompts of the file. Pure."""

from __future__ import annotations

import base64
import json
import re
import typing as t

from ...common.labels import INSTANCE_LABEL, NAME_LABEL
from ...common.objects import Facts
from ...releases.deployed import PYTHON_IMAGE
from ...schema.fields import Problem
from ..engines.adapters import engine_targets
from ..engines.api_keys import api_key_environment
from ..engines.engine import block_size
from ..engines.weights import served_name
from ..parts.other_pods import pod_of
from ..parts.pod_spec import SERVICE_LABEL, container_security, pod_security
from ..parts.references import image
from .server import server_targets

SUFFIX = "-warmup"
API_VERSION, KIND = "batch/v1", "CronJob"
# Path of the program in module_utils; the template packs it with its imports.
PROGRAM = "inference/warmup_program"
KEY_VARIABLE = "LLM_D_API_KEY"  # environment variable of the program: the API key of the servers
PROGRAM_KEY, OPTIONS_KEY, PROMPTS_KEY = "warmup.pyz", "options.json", "prompts.json"
# A CronJob appends 11 characters to its name for each Job. https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/
LONGEST_NAME = 52 - len(SUFFIX)
_FOLDER, _ACCOUNT = "/warmup", "/var/run/secrets/kubernetes.io/serviceaccount"
_LARGEST_SECRET = 1 << 20  # bytes of all values, the maximum that the API server accepts
# Seconds. A Job that cannot start in time is skipped, since the next one does the same. A Job that hangs is ended, since it would block the next ones.
_START_WITHIN, _END_WITHIN = 300, 3600


def warmup_job(service: Facts, user: Facts, labels: Facts, servers: t.Sequence[Facts]) -> Facts | None:
    """{name, image, replicas, resources, labels, program, options, rules, prompts: data of the Secret, spec: of the CronJob, and the fields of `pod_of`}.

    None without a schedule.
    """
    wanted = service["warmup"]
    if not wanted or not wanted["schedule"]:
        return None
    name = f"{service['name']}{SUFFIX}"
    planned = {
        "name": name,
        "image": image(user, "python", PYTHON_IMAGE),
        "replicas": 1,
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "labels": labels,
        "program": PROGRAM,
        "options": _options(service, user, servers),
        "rules": _rules(wanted),
        "prompts": {PROMPTS_KEY: base64.b64encode(_prompts(wanted)).decode()},
    }
    # Without the label of the service, so that no selector of its servers matches these pods.
    own = {**{key: value for key, value in labels.items() if key != SERVICE_LABEL}, NAME_LABEL: "warmup", INSTANCE_LABEL: name}
    pod = pod_of({"metadata": {"labels": own}, "spec": _pod(user, planned, api_key_environment(service, KEY_VARIABLE))}, wanted)
    job = {"backoffLimit": 0, "activeDeadlineSeconds": _END_WITHIN, "template": pod["template"]}
    zone = {"timeZone": wanted["time_zone"]} if wanted["time_zone"] else {}
    spec = {
        "schedule": wanted["schedule"],
        **zone,
        "suspend": wanted["suspend"],
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": _START_WITHIN,
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"metadata": {"labels": own}, "spec": job},
    }
    return {**planned, **pod, "spec": spec}


def warmup_job_problems(service: Facts, path: str, ending: str) -> list[Problem]:
    """Mistakes in the schedule of a warm-up. ending: the suffix that the plan adds to the name of the service."""
    wanted, place, name = service["warmup"], f"{path}.warmup", service["name"]
    if wanted["schedule"] is None:
        options = [option for option in ("time_zone", "suspend") if wanted[option]]
        return [Problem(f"{place}.{option}", wanted[option], "is for a schedule, and there is none.", "Write schedule, or take it out.") for option in options]
    problems = []
    for first, last in _reversed_ranges(wanted["schedule"]):
        why = f"has a range that ends before it begins, {first}-{last}."
        problems.append(Problem(f"{place}.schedule", wanted["schedule"], why, f"Write {last}-{first}, or two parts with a comma."))
    if (size := len(_prompts(wanted))) > _LARGEST_SECRET:
        why = f"come to {size} bytes in JSON, and the Secret with those of a scheduled warm-up holds {_LARGEST_SECRET}."
        fix = f"Write fewer or shorter ones, move some to the ConfigMap of {place}.config_map, or take out {place}.schedule."
        problems.append(Problem(f"{place}.prompts", None, why, fix))
    if len(name) > LONGEST_NAME:
        why = f"has {len(name)} characters; a CronJob is named '{name}{SUFFIX}', and Kubernetes allows it 52."
        problems.append(Problem(f"{path}.name", name, why, f"Write a name of at most {LONGEST_NAME - len(ending)} characters, or take out {place}.schedule."))
    return problems


def _prompts(wanted: Facts) -> bytes:
    """The prompts in JSON, as the program reads them."""
    return json.dumps(wanted["prompts"]).encode()


def _reversed_ranges(schedule: str) -> list[tuple[str, str]]:
    """(first, last) of each range of numbers whose first is larger than its last, which Kubernetes rejects."""
    return [(first, last) for first, last in re.findall(r"(\d+)-(\d+)", schedule) if int(first) > int(last)]


def _options(service: Facts, user: Facts, servers: t.Sequence[Facts]) -> str:
    """The options {warmup, adapters} of the program, in JSON.

    warmup: an element of the option `services` of vllm_warmup, without prompts; adapters: one of vllm_adapters; null if not configured. The count is 0, since
    other checks report missing servers.
    """
    wanted, home = service["warmup"], user["llm_d_namespace"]
    source = wanted["config_map"]
    warmup = {
        "name": service["name"],
        "model": served_name(service["model"]),
        "api": wanted["api"],
        "block_size": block_size(service),
        "config_map": {"namespace": home, "name": source} if source else None,
        "replicas": [{**_reached(server_targets(server, home)), "count": 0} for server in servers],
    }
    adapters = {"name": service["name"], "adapters": service["model"]["adapters"], "replicas": [_reached(engine_targets(server, home)) for server in servers]}
    parts = {
        "warmup": warmup if wanted["prompts"] or source else None,
        "adapters": adapters if service["model"]["adapters_at_runtime"] else None,
    }
    return json.dumps(parts, sort_keys=True)


def _reached(servers: Facts) -> Facts:
    """Servers without the Secret of their API key, which the account of the pod may not read: the pod has the key in its environment."""
    return {option: value for option, value in servers.items() if option != "api_key_secret"}


def _rules(wanted: Facts) -> list[Facts]:
    """The permissions of the account of the pod: list the servers, and read the ConfigMap with prompts."""
    named = [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [wanted["config_map"]], "verbs": ["get"]}] if wanted["config_map"] else []
    return [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}, *named]


def _pod(user: Facts, planned: Facts, env: list[Facts]) -> Facts:
    name = planned["name"]
    container = {
        "name": "warmup",
        "image": planned["image"],
        "imagePullPolicy": user["llm_d_image_pull_policy"],
        "command": ["python3", "-I", *(f"{_FOLDER}/{key}" for key in (PROGRAM_KEY, OPTIONS_KEY, PROMPTS_KEY)), _ACCOUNT],
        **({"env": env} if env else {}),
        "resources": planned["resources"],
        "securityContext": container_security(read_only=True),
        "volumeMounts": [{"name": "warmup", "mountPath": _FOLDER, "readOnly": True}],
    }
    return {
        "serviceAccountName": name,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 5,
        "securityContext": pod_security(user),
        "containers": [container],
        "volumes": [{"name": "warmup", "projected": {"sources": [{"configMap": {"name": name}}, {"secret": {"name": name}}]}}],
    }
