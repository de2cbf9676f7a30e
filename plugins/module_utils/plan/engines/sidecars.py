# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sidecars that a scheduler configuration requires beside the endpoint picker or model servers. Pure.

All are native sidecars (init containers that keep running): they start before the main container and end after it.
"""

from __future__ import annotations

import typing as t

from ...common.objects import Facts
from ...releases.deployed import ENGINE_DEFAULTS
from ...releases.pairs import paired
from ..parts.pod_spec import PORT_NAME, container_security
from ..parts.references import image
from ..parts.tracing import collector, picker_environment, picker_flag
from .weights import CACHE_PATH, MODELS_MOUNT, model_uri, models_volume

TOKENIZER_VOLUME = "tokenizer"
TOKENIZER_HEALTH_PORT = 8082
CACHE_VOLUME = "tokenizer-cache"
TOKENIZERS_PATH = "/tokenizers"
_SMALL = {"requests": {"cpu": "50m", "memory": "64Mi"}}
_LARGE = {"requests": {"cpu": "2", "memory": "4Gi"}}


def picker_sidecars(service: Facts, user: Facts, release: Facts, wanted: t.Sequence[Facts]) -> tuple[list[Facts], list[Facts], list[Facts]]:
    """(containers, volumes of the pod, mounts of the endpoint picker itself) for the sidecars of the endpoint picker."""
    containers: list[Facts] = []
    volumes: list[Facts] = []
    mounts: list[Facts] = []
    for sidecar in wanted:
        if sidecar["on"] != "epp":
            continue
        if sidecar["kind"] == "uds":
            shared = {"name": TOKENIZER_VOLUME, "mountPath": sidecar["shared_dir"]}
            containers.append(_tokenizer(service, user, release, sidecar, shared))
            mounts.append(shared)
            volumes.append({"name": TOKENIZER_VOLUME, "emptyDir": {"medium": "Memory"}})
        else:
            containers.append(_render(service, user, sidecar))
    mounted = [mount["name"] for container in containers for mount in container["volumeMounts"]]
    if CACHE_VOLUME in mounted:
        volumes.append({"name": CACHE_VOLUME, "emptyDir": {}})
    if MODELS_MOUNT["name"] in mounted:
        volumes.append(models_volume(service["model"]))
    return containers, volumes, mounts


def routing_proxy(service: Facts, user: Facts, release: Facts, sidecar: Facts) -> Facts:
    """The routing sidecar of a decode server: it listens on the port of the pool, and sends a prompt to a prefill server first, then to its own server."""
    return {
        **_native(sidecar["name"], image(user, "routing_sidecar", release["sidecar_image"]), user),
        # Older routing sidecars do not have this flag and always send spans.
        "args": [*sidecar["args"], *([picker_flag(user)] if collector(user) and not release["tracing"]["always"] else [])],
        "env": [_field("POD_NAME", "metadata.name"), _field("POD_IP", "status.podIP"), *picker_environment(user, release, f"{service['name']}-sidecar")],
        "ports": [{"name": PORT_NAME, "containerPort": sidecar["port"]}],
        "startupProbe": {"tcpSocket": {"port": sidecar["port"]}, "periodSeconds": 1, "failureThreshold": 60},
        "resources": _SMALL,
    }


def _tokenizer(service: Facts, user: Facts, release: Facts, sidecar: Facts, shared: Facts) -> Facts:
    """The tokenizer, from which the endpoint picker gets token ids over a Unix socket in a shared volume."""
    own = service["engine"]["type"] == "simulator"
    container = {
        **_native(
            sidecar["name"], image(user, "tokenizer", ENGINE_DEFAULTS[service["engine"]["type"]].get("tokenizer_image") or release["tokenizer_image"]), user
        ),
        "ports": [{"name": "tok-health", "containerPort": TOKENIZER_HEALTH_PORT}],
        "startupProbe": {"httpGet": {"path": "/healthz", "port": TOKENIZER_HEALTH_PORT}, "periodSeconds": 1, "failureThreshold": 300},
        "resources": _resources(service, _SMALL if own else _LARGE),
        "volumeMounts": [shared],
    }
    if own:
        container["args"] = [f"--socket={sidecar['socket']}", f"--health=:{TOKENIZER_HEALTH_PORT}"]
        return container
    # The tokenizer of llm-d loads that of the model from the hub, or from a folder.
    folders = [{"name": name, "value": TOKENIZERS_PATH} for name in ("HOME", "HF_HOME", "TOKENIZERS_DIR")]
    cache = {"name": CACHE_VOLUME, "mountPath": TOKENIZERS_PATH}
    return {
        **container,
        "env": [*folders, *_token(service)],
        "volumeMounts": [shared, cache, *_models(service)],
        "securityContext": container_security(read_only=False),
    }


def _render(service: Facts, user: Facts, sidecar: Facts) -> Facts:
    """vLLM without accelerator and weights, which only converts requests to tokens."""
    vllm = ENGINE_DEFAULTS["vllm"]
    return {
        **_native(sidecar["name"], image(user, "tokenizer", paired(vllm["images"]["none"], "vllm", user["llm_d_release"], vllm["image"])), user),
        "command": list(sidecar["command"]),
        "args": list(sidecar["args"]),
        "env": [{"name": "HOME", "value": CACHE_PATH}, {"name": "HF_HOME", "value": f"{CACHE_PATH}/huggingface"}, *_token(service)],
        "ports": [{"name": "render", "containerPort": sidecar["port"]}],
        "startupProbe": {"httpGet": {"path": "/health", "port": sidecar["port"]}, "periodSeconds": 5, "failureThreshold": 120},
        "resources": _resources(service, _LARGE),
        "securityContext": container_security(read_only=False),
        "volumeMounts": [{"name": CACHE_VOLUME, "mountPath": CACHE_PATH}, *_models(service)],
    }


def _native(name: str, reference: str, user: Facts) -> Facts:
    return {
        "name": name,
        "image": reference,
        "imagePullPolicy": user["llm_d_image_pull_policy"],
        "restartPolicy": "Always",
        "securityContext": container_security(read_only=True),
    }


def _field(name: str, path: str) -> Facts:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _resources(service: Facts, usual: Facts) -> Facts:
    """Resources of a tokenizer: the user's, otherwise `usual`."""
    own = service["scheduler"]["tokenizer_resources"]
    return {part: amounts for part, amounts in (own or usual).items() if amounts}


def _models(service: Facts) -> list[Facts]:
    """The mount of a `pvc://` model, whose volume holds the files of the tokenizer beside the weights."""
    return [dict(MODELS_MOUNT)] if model_uri(service["model"]).scheme == "pvc" else []


def _token(service: Facts) -> list[Facts]:
    secret, key = service["model"]["token_secret"], service["model"]["token_key"]
    return [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}] if secret else []
