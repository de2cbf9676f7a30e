# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cache tiers of a model service: the configuration of vLLM and LMCache, and the volumes and memory that it takes. Pure.

Blocks go from the accelerators to memory, and from there to a disk and to a shared server. Each tier is optional. LMCache moves the blocks if there is a
disk or a shared server; with memory alone vLLM moves them. LMCache is configured by environment variables, since the password of the server is in one of
them, and with a file it would ignore them all.
"""

from __future__ import annotations

import json
import typing as t

from ...common.flags import flags_of
from ...common.objects import Facts
from ...k8s.platform import amount
from ...releases.caches import CONNECTOR, VENDORS_WITH_LMCACHE, VENDORS_WITH_OFFLOADING
from ...schema.fields import Problem
from ..engines.engine import vendor
from .cache_server import server_url

MOUNT: Facts = {"name": "kv-cache", "mountPath": "/kv-cache"}
PASSWORD = "LLM_D_CACHE_PASSWORD"
_DISK_SHARE = 0.9  # of the volume; LMCache counts blocks, and a file is larger than its block
_RESP_PASSWORD = "LMCACHE_RESP_PASSWORD"
_SENTINEL, _VALKEY = "redis-sentinel", "valkey"
_WHOLE_BLOCKS = ("resp", _VALKEY)  # clients that store only blocks of one size, uncompressed
_DEVICE, _OFFLOAD = "kv-cache-memory-bytes", ("kv-offloading-size", "kv-offloading-backend")
_TRANSFER = "kv-transfer-config"


def with_caches(service: Facts, required: Facts) -> Facts:
    """{args, env, ports} that the cache tiers and the scheduler require of model servers. If both set a value, the scheduler's takes effect.

    required: those of the scheduler.
    """
    if not service["cache"]:
        return required
    return {**required, "args": [*_arguments(service), *required.get("args", [])], "env": [*_environment(service), *required.get("env", [])]}


def cache_volumes(service: Facts) -> tuple[list[Facts], list[Facts]]:
    """(volumes of the pod, mounts of the server)."""
    disk = (service["cache"] or {}).get("disk")
    if not disk:
        return [], []
    if disk["class_name"]:
        spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": disk["class_name"], "resources": {"requests": {"storage": disk["size"]}}}
        volume: Facts = {"ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    else:
        volume = {"emptyDir": {**({"medium": "Memory"} if disk["medium"] == "memory" else {}), "sizeLimit": disk["size"]}}
    return [{"name": MOUNT["name"], **volume}], [dict(MOUNT)]


def classes_of_caches(service: Facts, path: str) -> list[tuple[str, Facts]]:
    """(path in the user's file, its options) of each volume of the cache that a StorageClass provisions."""
    cache = service["cache"] or {"disk": None, "shared": None}
    volumes = [(f"{path}.disk", cache["disk"])] if cache["disk"] and cache["disk"]["class_name"] else []
    server = (cache["shared"] or {}).get("server")
    return volumes + ([(f"{path}.shared.server.persistence", server["persistence"])] if server and server["persistence"] else [])


def with_memory(service: Facts, resources: Facts) -> Facts:
    """The resources of a server with the memory for its cache added, in requests and limits that name memory."""
    cache = service["cache"] or {"cpu_size": None, "disk": None}
    cache_bytes = amount(cache["cpu_size"]) + (amount(cache["disk"]["size"]) if cache["disk"] and cache["disk"]["medium"] == "memory" else 0)
    if not cache_bytes:
        return resources
    return {
        part: {key: _bytes(int(amount(value) + cache_bytes)) if key == "memory" else value for key, value in amounts.items()}
        for part, amounts in resources.items()
    }


def cache_problems(service: Facts, path: str, user: Facts, required: Facts) -> list[Problem]:
    """Mistakes in the cache tiers. required: what the scheduler configuration requires of model servers."""
    cache, place = service["cache"], f"{path}.cache"
    if not cache:
        return []
    if service["engine"]["type"] != "vllm":
        return [Problem(place, None, "is for vLLM only.", "Take it out, or write 'type: vllm' under engine.")]
    if vendor(service) == "none":
        fix = "Take it out; the environment variable VLLM_CPU_KVCACHE_SPACE under engine.env sets the size of the cache on CPUs."
        return [Problem(place, None, "is for servers with accelerators: on CPUs the KV cache is in memory already.", fix)]
    problems = [*_device(service, place), *_memory(service, place), *_with_others(service, path, required)]
    if _by_lmcache(cache):
        problems += _image(service, place, user)
    if cache["disk"] and cache["disk"]["class_name"] and cache["disk"]["medium"] == "memory":
        problems.append(Problem(f"{place}.disk.class_name", cache["disk"]["class_name"], "is not for a RAM disk.", "Take it out, or take out medium."))
    return problems + (list(_shared(service, f"{place}.shared", user)) if cache["shared"] else [])


def _arguments(service: Facts) -> list[str]:
    cache, settings = service["cache"], service["accelerator"]
    arguments = [f"--{_DEVICE}={int(amount(cache['device_size']))}"] if cache["device_size"] else []
    if _by_lmcache(cache):
        arguments.append(f"--{_TRANSFER}={json.dumps({'kv_connector': CONNECTOR, 'kv_role': 'kv_both'}, separators=(',', ':'))}")
    elif cache["cpu_size"]:
        # vLLM divides its number among the accelerators of one engine.
        engines = settings["per_replica"] if settings["across_nodes"] == "expert" else settings["data"]
        arguments += [f"--{_OFFLOAD[0]}={_gib(cache['cpu_size'], settings['nodes'] / engines)}", f"--{_OFFLOAD[1]}=native"]
    return arguments


def _environment(service: Facts) -> list[Facts]:
    cache, settings = service["cache"], service["accelerator"]
    if not _by_lmcache(cache):
        return []
    # Each worker process has one accelerator and a share of its own.
    share = settings["nodes"] / settings["per_replica"]
    # The names of blocks are Python's hashes, which are equal in all processes only with the same seed.
    variables = {"PYTHONHASHSEED": "0", "LMCACHE_LOCAL_CPU": "True", "LMCACHE_MAX_LOCAL_CPU_SIZE": _gib(cache["cpu_size"], share)}
    if cache["eviction"]:
        variables["LMCACHE_CACHE_POLICY"] = cache["eviction"].upper()
    if cache["disk"]:
        variables |= {"LMCACHE_LOCAL_DISK": f"file://{MOUNT['mountPath']}/", "LMCACHE_MAX_LOCAL_DISK_SIZE": _gib(cache["disk"]["size"], share * _DISK_SHARE)}
    plain = [{"name": name, "value": value} for name, value in variables.items()]
    return plain + (_remote(service) if cache["shared"] else [])


def _remote(service: Facts) -> list[Facts]:
    shared = service["cache"]["shared"]
    scheme, _colon, hosts = _url(service).partition("://")
    secret: list[Facts] = []
    variables: dict[str, str] = {}
    if shared["password_secret"]:
        name = _RESP_PASSWORD if scheme == "resp" else PASSWORD
        secret = [{"name": name, "valueFrom": {"secretKeyRef": {"name": shared["password_secret"], "key": shared["password_key"]}}}]
        if scheme != "resp":
            variables["LMCACHE_LOG_LEVEL"] = "WARNING"  # it logs its configuration, and the password is in it
        if scheme not in _WHOLE_BLOCKS:
            hosts = f":$({PASSWORD})@{hosts}"
    variables |= {"LMCACHE_REMOTE_URL": f"{scheme}://{hosts}", "LMCACHE_REMOTE_SERDE": "cachegen" if shared["compression"] == "cachegen" else "naive"}
    if scheme == _VALKEY:
        extra: Facts = {"valkey_enable_ttl": True, "valkey_ttl_sec": shared["ttl_seconds"]} if shared["ttl_seconds"] else {}
        extra |= {"valkey_password": f"$({PASSWORD})"} if secret else {}
        variables["LMCACHE_EXTRA_CONFIG"] = json.dumps(extra)
    if scheme == _SENTINEL:
        variables["REDIS_SERVICE_NAME"] = shared["sentinel_master"]
    return secret + [{"name": name, "value": value} for name, value in variables.items()]


def _url(service: Facts) -> str:
    """The URL of the user's server, or of ours with the scheme of a client that supports the options: if possible one that needs no password in the URL."""
    shared = service["cache"]["shared"]
    scheme = _VALKEY if shared["ttl_seconds"] else "redis" if shared["compression"] == "cachegen" else "resp"
    return str(shared["url"] or server_url(service, scheme))


def _by_lmcache(cache: Facts) -> bool:
    return bool(cache["disk"] or cache["shared"])


def _gib(size: str, share: float) -> str:
    return f"{round(float(amount(size)) * share / 2**30, 3):g}"


def _bytes(number: int) -> str:
    """A number of bytes as a quantity, in the largest unit that divides it."""
    unit, factor = next(((unit, factor) for unit, factor in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)) if number % factor == 0), ("", 1))
    return f"{number // factor}{unit}"


def _device(service: Facts, place: str) -> t.Iterator[Problem]:
    utilization = service["engine"]["gpu_memory_utilization"]
    if service["cache"]["device_size"] and utilization is not None:
        why = "takes precedence in vLLM, which would ignore engine.gpu_memory_utilization."
        yield Problem(f"{place}.device_size", service["cache"]["device_size"], why, "Write one of them.")


def _memory(service: Facts, place: str) -> t.Iterator[Problem]:
    cache = service["cache"]
    if _by_lmcache(cache) and not cache["cpu_size"]:
        tier = "disk" if cache["disk"] else "shared"
        yield Problem(f"{place}.cpu_size", None, f"is missing: with {tier}, blocks pass through memory.", "Write how much, such as 8Gi.")
    if cache["cpu_size"] and not _by_lmcache(cache) and vendor(service) not in VENDORS_WITH_OFFLOADING:
        why = f"is not available: vLLM moves blocks to memory for vendors {', '.join(VENDORS_WITH_OFFLOADING)}, not for {vendor(service)}."
        yield Problem(f"{place}.cpu_size", cache["cpu_size"], why, "Take it out.")
    if cache["eviction"] and not _by_lmcache(cache):
        yield Problem(f"{place}.eviction", cache["eviction"], "is for LMCache; vLLM's own tiers delete what was used longest ago.", "Take it out.")


def _with_others(service: Facts, path: str, required: Facts) -> t.Iterator[Problem]:
    """Settings that conflict with the cache: of the scheduler, engine.args and engine.env."""
    cache, engine = service["cache"], service["engine"]
    tier = next((option for option in ("disk", "shared", "cpu_size") if cache[option]), None)
    if tier and _TRANSFER in flags_of(required.get("args", [])):
        why = "needs a KV connector, and the scheduler has one already, which sends blocks from prefill to decode servers. vLLM takes one."
        yield Problem(f"{path}.cache.{tier}", None, why, "Take it out, or write a scheduler without disaggregation, such as preset: prefix_aware.")
    flags = flags_of(_arguments(service)).keys() | ({_TRANSFER, *_OFFLOAD} if tier else set())
    for index, argument in enumerate(engine["args"]):
        if argument.startswith("-") and flags_of([argument]).keys() & flags:
            yield Problem(f"{path}.engine.args[{index}]", argument, "duplicates an option of cache.", "Take it out, or take out cache.")
    for name in sorted({item["name"] for item in _environment(service)} & engine["env"].keys() - {"PYTHONHASHSEED"}):
        yield Problem(f"{path}.engine.env.{name}", None, "duplicates an option of cache.", "Take it out, or take out cache.")
    if _by_lmcache(cache) and "LMCACHE_CONFIG_FILE" in engine["env"]:
        why = "makes LMCache ignore its environment variables, by which cache is set."
        yield Problem(f"{path}.engine.env.LMCACHE_CONFIG_FILE", None, why, "Take it out, or take out cache.")


def _own_image(service: Facts, user: Facts) -> bool:
    return bool(service["engine"]["image"] or user["llm_d_images"]["vllm"])


def _image(service: Facts, place: str, user: Facts) -> list[Problem]:
    if _own_image(service, user) or vendor(service) in VENDORS_WITH_LMCACHE:
        return []
    tier = "disk" if service["cache"]["disk"] else "shared"
    why = f"needs LMCache, which the tested image for vendor {vendor(service)} does not have."
    return [Problem(f"{place}.{tier}", None, why, "Write an image with it under engine.image, or take it out: cpu_size alone needs no LMCache.")]


def _shared(service: Facts, place: str, user: Facts) -> t.Iterator[Problem]:
    shared = service["cache"]["shared"]
    url, ttl, server = shared["url"], shared["ttl_seconds"], shared["server"]
    if bool(url) == bool(server):
        why = "both name a server." if url else "is missing, and so is server: there is no cache to share."
        yield Problem(f"{place}.url", url, why if not url else f"and server {why}", "Write 'server: {size: 32Gi}', or the url of a Redis, not both.")
        return
    scheme = _url(service).partition("://")[0]
    if server and not shared["password_secret"]:
        fix = "Write the name of a Secret, as 'kubectl create secret generic NAME --from-literal=password=…' makes it."
        yield Problem(f"{place}.password_secret", None, "is missing: our server requires a password.", fix)
    if (scheme == _SENTINEL) != bool(shared["sentinel_master"]):
        why = "is missing: sentinels know several primaries by name." if scheme == _SENTINEL else "is for redis-sentinel:// only."
        yield Problem(f"{place}.sentinel_master", shared["sentinel_master"], why, "Write it, such as redismaster." if scheme == _SENTINEL else "Take it out.")
    if shared["compression"] == "cachegen" and scheme in _WHOLE_BLOCKS:
        why = f"is not available with {scheme}://, whose client stores blocks of one size."
        fix = "Take out ttl_seconds or compression." if server else "Write redis://, or take it out."
        yield Problem(f"{place}.compression", shared["compression"], why, fix)
    if ttl and scheme != _VALKEY:
        yield Problem(f"{place}.ttl_seconds", ttl, f"is not set by the client for {scheme}://.", "Write a url with valkey://, or take it out.")
    elif scheme == _VALKEY and not _own_image(service, user):
        option, value = ("ttl_seconds", ttl) if server else ("url", url)
        why = "needs valkey-glide, which the tested image of vLLM does not have."
        yield Problem(f"{place}.{option}", value, why, "Write an image with it under engine.image, or do without ttl_seconds and valkey://.")
    if server and server["eviction"].startswith("volatile-") and not ttl:
        why = "deletes only keys that expire, and none does here: a full server would reject all blocks."
        yield Problem(f"{place}.server.eviction", server["eviction"], why, "Write allkeys-lru, or ttl_seconds.")
