# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Weights of a model: their source, arguments, credentials, volumes, and the claim that we create. Pure."""

from __future__ import annotations

import typing as t

from ...common.flags import flags_of
from ...common.objects import Facts
from ...releases.deployed import ENGINE_DEFAULTS
from ...releases.engines import ENGINES
from ...schema.fields import Problem
from ..parts.environment import stated

CACHE_PATH = "/model-cache"
HUB_PATH = f"{CACHE_PATH}/huggingface"
MODELS_MOUNT: Facts = {"name": "models", "mountPath": "/models", "readOnly": True}
CLAIM_SUFFIX = "-weights"
BUCKET_KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_BUCKETS = ("s3", "gs")
_OF_A_CLAIM = ("class_name", "delete_claim")
# Variables that keep Hugging Face's library from downloading, and those that set the folder of its downloads.
# https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_ELSEWHERE = {"HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}


class ModelUri(t.NamedTuple):
    """The parts of `model.uri`; all are empty without one."""

    scheme: str  # hf, pvc, s3, gs or file
    name: str  # name of the model
    location: str  # the argument of engines: a name on the hub, a folder, or the address in a bucket
    claim: str  # the PersistentVolumeClaim that holds the model, for pvc


def model_uri(model: Facts) -> ModelUri:
    """The URI of a model, parsed."""
    scheme, _mark, rest = (model["uri"] or "").partition("://")
    first, _slash, below = rest.partition("/")
    location = f"{MODELS_MOUNT['mountPath']}/{below}" if scheme == "pvc" else model["uri"] if scheme in _BUCKETS else rest
    return ModelUri(scheme, rest if scheme == "hf" else rest.rpartition("/")[2], location, first if scheme == "pvc" else "")


def served_name(model: Facts) -> str | None:
    """The model name in requests: the configured one, otherwise the one of the URI; None without both."""
    return model["served_name"] or model_uri(model).name or None


def loader(model: Facts) -> list[str]:
    """Arguments of vLLM for weights in a bucket. This loader is the only one that reads buckets; it streams, without a copy on disk."""
    return ["--load-format=runai_streamer"] if model_uri(model).scheme in _BUCKETS else []


def credentials(model: Facts) -> list[Facts]:
    """Environment variables with the credentials of a model repository or a bucket."""
    variables = [("HF_TOKEN", model["token_secret"], model["token_key"])] + [(key, model["bucket_secret"], key) for key in BUCKET_KEYS]
    return [{"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}} for name, secret, key in variables if secret]


def volumes(service: Facts) -> tuple[list[Facts], list[Facts]]:
    """(volumes of the pod, mounts of the server)."""
    if service["engine"]["type"] == "simulator":
        return [], []
    storage = service["storage"]
    size = None if storage["claim"] else storage["size"]
    pod_volumes: list[Facts] = [
        {"name": "model-cache", "emptyDir": {"sizeLimit": size} if size else {}},
        {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
    ]
    mounts: list[Facts] = [{"name": "model-cache", "mountPath": CACHE_PATH}, {"name": "shared-memory", "mountPath": "/dev/shm"}]
    if model_uri(service["model"]).scheme == "pvc":
        pod_volumes.append(models_volume(service["model"]))
        mounts.append(dict(MODELS_MOUNT))
    elif storage["claim"]:
        # Only downloads are on it: compiled kernels are of no use on a node with another accelerator.
        pod_volumes.append({"name": "weights", "persistentVolumeClaim": {"claimName": claim_name(service)}})
        mounts.append({"name": "weights", "mountPath": HUB_PATH})
    return pod_volumes, mounts


def models_volume(model: Facts) -> Facts:
    """The volume of a `pvc://` model."""
    return {"name": MODELS_MOUNT["name"], "persistentVolumeClaim": {"claimName": model_uri(model).claim, "readOnly": True}}


def claim_name(service: Facts) -> str:
    """Name of the claim that we create."""
    return f"{service['name']}{CLAIM_SUFFIX}"


def access_mode(service: Facts) -> str | None:
    """The access mode of the claim of a model; None without a claim, and for an existing claim without access_mode."""
    storage = service["storage"]
    return storage["access_mode"] or ("ReadWriteOnce" if storage["claim"] else None)


def claim(service: Facts) -> Facts | None:
    """{name, spec, delete: whether it is deleted with the servers} of the claim that we create; None if we create none."""
    storage = service["storage"]
    if not storage["claim"]:
        return None
    spec: Facts = {"accessModes": [access_mode(service)], "resources": {"requests": {"storage": storage["size"]}}}
    if storage["class_name"]:
        spec["storageClassName"] = storage["class_name"]
    return {"name": claim_name(service), "spec": spec, "delete": storage["delete_claim"]}


def weights_problems(service: Facts, path: str, servers: int, tested: bool) -> list[Problem]:
    """Mistakes in the source of the weights and in their volume. servers: number of pods that mount it; tested: whether the image is the tested one."""
    return [*_source(service, path, tested), *_place(service, path, servers)]


def _source(service: Facts, path: str, tested: bool) -> t.Iterator[Problem]:
    model, kind, simulated = service["model"], model_uri(service["model"]).scheme, service["engine"]["type"] == "simulator"
    for option, wanted in (("token_secret", "hf"), ("revision", "hf"), ("bucket_secret", "s3")):
        if model[option] and (simulated or kind != wanted):
            fix = f"Take it out, or write an {wanted}:// uri."
            yield Problem(f"{path}.model.{option}", model[option], f"is of use only for a model from {wanted}:// that is loaded.", fix)
    if simulated:
        return
    known = ENGINE_DEFAULTS[service["engine"]["type"]]["sources"]
    if kind and kind not in known:
        forms = " or ".join(f"{word}://" for word in known)
        why = f"cannot be opened by {ENGINES[service['engine']['type']].title}."
        yield Problem(f"{path}.model.uri", model["uri"], why, f"Write {forms}, or 'type: vllm'.")
    env, empty = service["engine"]["env"], kind == "hf" and not service["storage"]["claim"]
    if empty and not _ELSEWHERE & env.keys() and "download-dir" not in flags_of(service["engine"]["args"]):
        why, fix = (
            "keeps a server from loading the model, and its volume is empty at its start.",
            "Take it out, or write pvc://CLAIM/PATH for weights on a volume.",
        )
        yield from (
            Problem(f"{path}.engine.env.{name}", None, why, fix) for name in _OFFLINE if stated(env).get(name, "").upper() in ("1", "ON", "YES", "TRUE")
        )
    if kind == "file" and tested:
        fix = "Write the image under engine.image, or pvc://CLAIM/PATH for weights on a volume."
        yield Problem(f"{path}.model.uri", model["uri"], "is a folder of the image, and the tested one has no model in it.", fix)


def _place(service: Facts, path: str, servers: int) -> t.Iterator[Problem]:
    storage, kind, place = service["storage"], model_uri(service["model"]).scheme, f"{path}.storage"
    simulated = service["engine"]["type"] == "simulator"
    if simulated and storage["size"] and not storage["claim"]:
        yield Problem(f"{place}.size", storage["size"], "is of no use: the simulator loads no weights.", "Take it out.")
    if storage["claim"] and (simulated or kind != "hf"):
        yield Problem(f"{place}.claim", True, "is for what an engine downloads of an hf:// model; these weights are not downloaded.", "Take it out.")
    elif storage["claim"] and not storage["size"]:
        yield Problem(f"{place}.size", None, "is missing: a claim requests a size.", "Write twice the size of the weights, such as 50Gi.")
    for option in _OF_A_CLAIM if not storage["claim"] else ():
        if storage[option]:
            yield Problem(f"{place}.{option}", storage[option], "is for a claim that we make.", "Write 'claim: true' beside it, or take it out.")
    mode = access_mode(service)
    if mode and not storage["claim"] and kind != "pvc":
        yield Problem(f"{place}.access_mode", mode, "is of use only for a model from pvc://, or with 'claim: true'.", "Take it out.")
    elif mode == "ReadOnlyMany" and storage["claim"]:
        yield Problem(f"{place}.access_mode", mode, "would not let a server download the weights.", "Write ReadWriteMany, or ReadWriteOnce for one server.")
    elif mode and mode.startswith("ReadWriteOnce") and servers > 1:
        fix = "Use a claim with ReadOnlyMany or ReadWriteMany, an hf:// model, or one replica."
        if storage["claim"]:
            fix = "Write ReadWriteMany, if the storage class has it, take 'claim' out, or write one replica."
        yield Problem(f"{place}.access_mode", mode, f"{servers} servers cannot share a {mode} volume: those on other nodes would never start.", fix)
