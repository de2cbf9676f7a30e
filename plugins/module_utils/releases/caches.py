# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about LMCache and the server of a shared cache. Data only."""

from __future__ import annotations

# The version of LMCache whose parser and clients these facts are from; contract tests use it. https://docs.lmcache.ai/api_reference/configurations.html
LMCACHE_VERSION = "0.5.6"
# vLLM's images with LMCache: those for NVIDIA are built with INSTALL_KV_CONNECTORS, the others are not.
# https://github.com/vllm-project/vllm/blob/main/requirements/kv_connectors.txt, https://github.com/vllm-project/vllm/pull/51208
VENDORS_WITH_LMCACHE = ("nvidia",)
# Accelerators from which vLLM itself moves blocks to memory. https://docs.vllm.ai/en/latest/features/kv_offloading_usage.html
VENDORS_WITH_OFFLOADING = ("nvidia", "amd", "intel")
CONNECTOR = "LMCacheConnectorV1"
# How LMCache makes room in memory and on a disk. https://docs.lmcache.ai/kv_cache/caching_policies.html
POLICIES = ("lru", "lfu", "fifo", "mru")
SERVER_IMAGE = "docker.io/valkey/valkey:8.1.4"
SERVER_PORT = 6379
# Policies of Valkey and Redis; those that begin with volatile- delete only entries that expire. https://valkey.io/topics/lru-cache/
SERVER_POLICIES = ("allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-ttl", "volatile-lru", "volatile-lfu")
