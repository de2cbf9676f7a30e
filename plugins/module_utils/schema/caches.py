# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the user's file for the cache tiers of a model service. Data only."""

from __future__ import annotations

from ..releases.caches import POLICIES, SERVER_POLICIES
from .fields import Field
from .pods import container_field, pod_field

_DISK = {
    "size": Field(
        "quantity",
        "Size of the volume, of which LMCache fills nine tenths. Each pod has its own, which is deleted with the pod.",
        required=True,
        example="100Gi",
    ),
    "medium": Field(
        "str",
        "C(node): a disk of the node (emptyDir). C(memory): a RAM disk, which counts as memory of the pod. Not together with O(class_name).",
        default="node",
        choices=("node", "memory"),
    ),
    "class_name": Field(
        "str",
        "StorageClass of the volume (generic ephemeral), instead of the disk of the node.",
        format="dns_subdomain",
        example="local-nvme",
    ),
}

_PERSISTENCE = {
    "size": Field("quantity", "Storage of the claim: at least twice the size of the cache, for the log and its next version.", required=True, example="64Gi"),
    "class_name": Field("str", "StorageClass of the claim. If omitted, the default of the cluster.", format="dns_subdomain", example="fast-ssd"),
    "delete_claim": Field("bool", "Whether C(playbooks/teardown.yml) deletes the claim. Otherwise it stays, with its namespace.", default=False),
}

_SERVER = {
    "size": Field("quantity", "Memory of the cache (C(maxmemory)); the pod requests a quarter more.", required=True, example="32Gi"),
    "eviction": Field(
        "str",
        "What a full server deletes (C(maxmemory-policy)). Policies that begin with C(volatile-) delete only entries that expire, see O(ttl_seconds).",
        default="allkeys-lru",
        choices=SERVER_POLICIES,
    ),
    "persistence": Field("dict", "Keep the contents over restarts, in a log on a claim. If omitted, a restart empties the cache.", options=_PERSISTENCE),
    "pod": pod_field("of the cache server"),
    "container": container_field("of the cache server"),
}

_SHARED = {
    "server": Field("dict", "A Valkey that we deploy for this service. Either this or O(url).", options=_SERVER),
    "url": Field(
        "str",
        (
            "An existing Redis or Valkey: C(redis://HOST:PORT), C(rediss://) with TLS, C(resp://) for the faster client of LMCache, C(valkey://),"
            " C(redis-sentinel://HOST:PORT,HOST:PORT) or C(redis-cluster://HOST:PORT,HOST:PORT). Without credentials. LMCache has no client of memcached."
        ),
        format="cache_url",
    ),
    "sentinel_master": Field("str", "Name of the primary among the sentinels. Only with C(redis-sentinel://).", format="secret_key", example="redismaster"),
    "password_secret": Field(
        "str",
        "Name of a Secret in the namespace with the password, under the key O(password_key). Required with O(server).",
        format="dns_subdomain",
        example="llama-cache",
    ),
    "password_key": Field("str", "Key of O(password_secret) that holds the password.", default="password", format="secret_key"),
    "compression": Field(
        "str",
        "How LMCache writes blocks: C(none), or C(cachegen), which is smaller and changes the numbers a little. Not with C(resp://) and C(valkey://).",
        default="none",
        choices=("none", "cachegen"),
    ),
    "ttl_seconds": Field(
        "int",
        "Seconds until a block expires. Only LMCache's client C(valkey://) sets this, and it needs valkey-glide in O(llm_d_model_services[].engine.image).",
        minimum=1,
    ),
}

CACHE = {
    "device_size": Field(
        "quantity",
        "KV cache on each accelerator, instead of what O(llm_d_model_services[].engine.gpu_memory_utilization) leaves for it.",
        example="40Gi",
    ),
    "cpu_size": Field(
        "quantity",
        (
            "Memory of each pod for blocks that leave the accelerators. vLLM moves them by itself, or LMCache where O(disk) or O(shared) is set. Added to"
            " the memory of the pod's resources."
        ),
        example="32Gi",
    ),
    "eviction": Field(
        "str",
        "What LMCache deletes when the memory or disk is full. Only with O(disk) or O(shared); vLLM's own tier has LRU. If omitted, LRU.",
        choices=POLICIES,
    ),
    "disk": Field("dict", "LMCache writes blocks to a volume of each pod as well.", options=_DISK),
    "shared": Field("dict", "LMCache writes blocks to a Redis or Valkey that all servers of the service share.", options=_SHARED),
}
