"""Cache tiers of a service: the configuration of vLLM, LMCache and the shared cache server by the real templates of the roles, and all mistakes in it."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import kubernetes.client
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.images import needed
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions, render
from pruned import pruned

Facts = dict[str, t.Any]
TEMPLATES = Path(__file__).resolve().parents[6] / "roles/model_service/templates"
OWN: Facts = {"engine": {"image": "acme/vllm:1"}}
SERVER: Facts = {"password_secret": "pw", "server": {"size": "32Gi"}}
S0 = "llm_d_model_services[0]"
C0 = f"{S0}.cache"


def file_of(cache: Facts | None, **service: t.Any) -> Facts:
    made = {"name": "a", "model": {"uri": "hf://o/m"}, "cache": cache, **service}
    return {"llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"}, "llm_d_model_services": [made]}


def objects(made: Facts, template: str = "servers") -> dict[tuple[str, str], Facts]:
    return {(item["kind"], item["metadata"]["name"]): item for item in render(TEMPLATES / f"{template}.yml.j2", plan(made))}


def pod(cache: Facts | None, **service: t.Any) -> Facts:
    return objects(file_of(cache, **service))["Deployment", "a-decode"]["spec"]["template"]["spec"]


def flags(cache: Facts | None, **service: t.Any) -> list[str]:
    words = ("--kv-", "--gpu-memory")
    return [argument for argument in pod(cache, **service)["containers"][0]["args"] if argument.startswith(words)]


def variables(cache: Facts, **service: t.Any) -> Facts:
    """{variable for LMCache: its value, or (Secret, key) if it is read from a Secret}."""
    before = {item["name"] for item in pod(None, **service)["containers"][0]["env"]}
    env = pod(cache, **service)["containers"][0]["env"]
    return {item["name"]: item.get("value") or tuple(item["valueFrom"]["secretKeyRef"].values()) for item in env if item["name"] not in before}


def test_a_service_without_cache_tiers_gets_no_cache_settings() -> None:
    assert flags(None) == flags({}) == [] and not variables({})
    assert [volume["name"] for volume in pod({})["volumes"]] == ["model-cache", "shared-memory"]


TWO_NODES = {"per_replica": 16, "nodes": 2}


@pytest.mark.parametrize(
    ("size", "accelerator", "written"),
    [
        ("8Gi", {}, "8"),
        ("1536Mi", {}, "1.5"),
        ("32Gi", {"per_replica": 4}, "32"),
        ("32Gi", {"per_replica": 8, "data": 4}, "8"),
        ("32Gi", TWO_NODES, "64"),
        ("32Gi", {**TWO_NODES, "across_nodes": "expert"}, "4"),
    ],
)
def test_memory_alone_is_vllms_own(size: str, accelerator: Facts, written: str) -> None:
    made = objects(file_of({"cpu_size": size}, accelerator=accelerator))
    spec = made["LeaderWorkerSet" if "nodes" in accelerator else "Deployment", "a-decode"]["spec"]
    template = spec["leaderWorkerTemplate"]["leaderTemplate"] if "nodes" in accelerator else spec["template"]
    container = template["spec"]["containers"][0]
    assert [flag for flag in container["args"] if flag.startswith("--kv-")] == [f"--kv-offloading-size={written}", "--kv-offloading-backend=native"]
    assert not [item for item in container["env"] if item["name"].startswith("LMCACHE_")]


def test_the_size_on_the_accelerators_is_in_bytes() -> None:
    assert flags({"device_size": "40Gi"}) == [f"--kv-cache-memory-bytes={40 * 2**30}"]
    assert flags({"device_size": "2G"}) == ["--kv-cache-memory-bytes=2000000000"]


def test_lmcache_has_memory_and_a_disk() -> None:
    cache = {"cpu_size": "8Gi", "eviction": "mru", "disk": {"size": "100Gi"}}
    connector = json.dumps({"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}, separators=(",", ":"))
    assert flags(cache) == [f"--kv-transfer-config={connector}"]
    assert variables(cache) == {
        "PYTHONHASHSEED": "0",
        "LMCACHE_LOCAL_CPU": "True",
        "LMCACHE_MAX_LOCAL_CPU_SIZE": "8",
        "LMCACHE_CACHE_POLICY": "MRU",
        "LMCACHE_LOCAL_DISK": "file:///kv-cache/",
        "LMCACHE_MAX_LOCAL_DISK_SIZE": "90",
    }


def test_lmcache_sizes_are_divided_among_the_processes_of_a_pod() -> None:
    env = variables({"cpu_size": "8Gi", "disk": {"size": "100Gi"}}, accelerator={"per_replica": 4})
    assert env["LMCACHE_MAX_LOCAL_CPU_SIZE"] == "2" and env["LMCACHE_MAX_LOCAL_DISK_SIZE"] == "22.5"


@pytest.mark.parametrize(
    ("disk", "volume"),
    [
        ({}, {"emptyDir": {"sizeLimit": "100Gi"}}),
        ({"medium": "memory"}, {"emptyDir": {"medium": "Memory", "sizeLimit": "100Gi"}}),
        (
            {"class_name": "fast"},
            {
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "100Gi"}}}
                    }
                }
            },
        ),
    ],
)
def test_the_disk_is_a_volume_of_each_pod(disk: Facts, volume: Facts) -> None:
    spec = pod({"cpu_size": "8Gi", "disk": {"size": "100Gi", **disk}})
    assert spec["volumes"][2:] == [{"name": "kv-cache", **volume}]
    assert spec["containers"][0]["volumeMounts"][2:] == [{"name": "kv-cache", "mountPath": "/kv-cache"}]


@pytest.mark.parametrize(
    ("cache", "resources", "requests", "limits"),
    [
        ({"cpu_size": "8Gi"}, None, "16Gi", None),
        ({"cpu_size": "8Gi"}, {"requests": {"memory": "16Gi"}, "limits": {"memory": "20Gi", "cpu": 4}}, "24Gi", "28Gi"),
        ({"cpu_size": "512Mi"}, {"requests": {"memory": "1Gi"}}, "1536Mi", None),
        ({"cpu_size": "1k"}, {"requests": {"memory": "1Ki"}}, "2024", None),
        ({"cpu_size": "8Gi"}, {"requests": {"cpu": 1}}, None, None),
        ({"cpu_size": "8Gi", "disk": {"size": "30Gi", "medium": "memory"}}, None, "46Gi", None),
        ({"cpu_size": "8Gi", "disk": {"size": "30Gi"}}, None, "16Gi", None),
        ({"device_size": "8Gi"}, None, "8Gi", None),
    ],
)
def test_memory_tiers_of_the_cache_are_added_to_the_memory_request(cache: Facts, resources: Facts | None, requests: str | None, limits: str | None) -> None:
    written = pod(cache, **({"resources": resources} if resources else {}))["containers"][0]["resources"]
    assert written["requests"].get("memory") == requests and written["limits"].get("memory") == limits
    assert written["limits"]["nvidia.com/gpu"] == 1


PASSWORD = ("pw", "password")


@pytest.mark.parametrize(
    ("shared", "written"),
    [
        (SERVER, {"LMCACHE_RESP_PASSWORD": PASSWORD, "LMCACHE_REMOTE_URL": "resp://a-cache:6379", "LMCACHE_REMOTE_SERDE": "naive"}),
        (
            {**SERVER, "compression": "cachegen", "password_key": "other"},
            {
                "LLM_D_CACHE_PASSWORD": ("pw", "other"),
                "LMCACHE_LOG_LEVEL": "WARNING",
                "LMCACHE_REMOTE_URL": "redis://:$(LLM_D_CACHE_PASSWORD)@a-cache:6379",
                "LMCACHE_REMOTE_SERDE": "cachegen",
            },
        ),
        (
            {**SERVER, "ttl_seconds": 60},
            {
                "LLM_D_CACHE_PASSWORD": PASSWORD,
                "LMCACHE_LOG_LEVEL": "WARNING",
                "LMCACHE_REMOTE_URL": "valkey://a-cache:6379",
                "LMCACHE_REMOTE_SERDE": "naive",
                "LMCACHE_EXTRA_CONFIG": '{"valkey_enable_ttl": true, "valkey_ttl_sec": 60, "valkey_password": "$(LLM_D_CACHE_PASSWORD)"}',
            },
        ),
        ({"url": "rediss://r.b:1"}, {"LMCACHE_REMOTE_URL": "rediss://r.b:1", "LMCACHE_REMOTE_SERDE": "naive"}),
        ({"url": "valkey://r:1"}, {"LMCACHE_REMOTE_URL": "valkey://r:1", "LMCACHE_REMOTE_SERDE": "naive", "LMCACHE_EXTRA_CONFIG": "{}"}),
        (
            {"url": "redis-cluster://r:1,s:2", "password_secret": "pw"},
            {
                "LLM_D_CACHE_PASSWORD": PASSWORD,
                "LMCACHE_LOG_LEVEL": "WARNING",
                "LMCACHE_REMOTE_URL": "redis-cluster://:$(LLM_D_CACHE_PASSWORD)@r:1,s:2",
                "LMCACHE_REMOTE_SERDE": "naive",
            },
        ),
        (
            {"url": "redis-sentinel://r:1,s:2", "sentinel_master": "main"},
            {"LMCACHE_REMOTE_URL": "redis-sentinel://r:1,s:2", "LMCACHE_REMOTE_SERDE": "naive", "REDIS_SERVICE_NAME": "main"},
        ),
    ],
)
def test_lmcache_finds_the_shared_server(shared: Facts, written: Facts) -> None:
    env = variables({"cpu_size": "8Gi", "shared": shared}, **OWN)
    own = ("PYTHONHASHSEED", "LMCACHE_LOCAL_CPU", "LMCACHE_MAX_LOCAL_CPU_SIZE")
    assert {name: value for name, value in env.items() if name not in own} == written
    names = list(env)
    assert not [name for name in ("LLM_D_CACHE_PASSWORD",) if name in names and names.index(name) > names.index("LMCACHE_REMOTE_URL")]


def test_the_seed_of_the_scheduler_counts() -> None:
    scheduler = {"preset": "precise_prefix", "scorers": {"precise_prefix": {"hash_seed": "42"}}}
    service = {"scheduler": scheduler, "engine": {"image": "acme/vllm:1"}}
    assert not problems(file_of({"cpu_size": "8Gi", "disk": {"size": "9Gi"}}, **service))
    env = pod({"cpu_size": "8Gi", "disk": {"size": "9Gi"}}, **service)["containers"][0]["env"]
    assert [item["value"] for item in env if item["name"] == "PYTHONHASHSEED"] == ["42"]


def test_our_server() -> None:
    persistence = {"size": "80Gi", "class_name": "fast"}
    shared = {**SERVER, "server": {"size": "32Gi", "eviction": "allkeys-lfu", "persistence": persistence}}
    made = file_of({"cpu_size": "8Gi", "shared": shared})
    rendered = objects(made)
    spec = rendered["Deployment", "a-cache"]["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert " ".join(container["args"]) == (
        f"--requirepass $(CACHE_PASSWORD) --maxmemory {32 * 2**30} --maxmemory-policy allkeys-lfu --appendonly yes --appendfsync everysec --save "
        " --dir /data --port 6379"
    )
    assert container["env"] == [{"name": "CACHE_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "pw", "key": "password"}}}]
    assert container["resources"] == {"requests": {"cpu": "500m", "memory": str(40 * 2**30)}, "limits": {"memory": str(64 * 2**30)}}
    assert container["readinessProbe"]["tcpSocket"] == {"port": "redis"} and container["securityContext"]["readOnlyRootFilesystem"]
    assert spec["strategy"] == {"type": "Recreate"} and spec["replicas"] == 1
    assert spec["template"]["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "a-cache"}}]
    claim = objects(made, "claims")["PersistentVolumeClaim", "a-cache"]
    assert claim["spec"] == {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "80Gi"}}, "storageClassName": "fast"}
    assert not objects(made, "prune_claims"), "the claim stays"
    persistence["delete_claim"] = True
    assert list(objects(made, "prune_claims")) == [("PersistentVolumeClaim", "a-cache")]


def test_a_server_without_persistence_has_no_claim() -> None:
    made = file_of({"cpu_size": "8Gi", "shared": SERVER})
    spec = objects(made)["Deployment", "a-cache"]["spec"]["template"]["spec"]
    assert "--appendonly no" in " ".join(spec["containers"][0]["args"]) and spec["volumes"] == [{"name": "data", "emptyDir": {}}]
    assert spec["containers"][0]["resources"]["limits"] == {"memory": str(40 * 2**30)}
    assert not objects(made, "claims")


def test_only_servers_of_the_service_reach_it() -> None:
    rendered = objects(file_of({"cpu_size": "8Gi", "shared": SERVER}))
    policy, server = rendered["NetworkPolicy", "a-cache"]["spec"], rendered["Deployment", "a-cache"]["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= server.items()
    assert policy["policyTypes"] == ["Ingress", "Egress"] and policy["egress"] == []
    ((peer,), ports) = (policy["ingress"][0]["from"], policy["ingress"][0]["ports"])
    assert ports == [{"port": 6379, "protocol": "TCP"}]
    wanted, key = peer["podSelector"]["matchLabels"], peer["podSelector"]["matchExpressions"][0]
    assert key["operator"] == "Exists" and len(policy["ingress"]) == 1
    model = rendered["Deployment", "a-decode"]["spec"]["template"]["metadata"]["labels"]
    assert wanted.items() <= model.items() and key["key"] in model and key["key"] not in server
    assert rendered["Service", "a-cache"]["spec"]["selector"].items() <= server.items()
    assert not rendered["Service", "a"]["spec"]["selector"].items() <= server.items(), "requests must not reach the cache"


def test_the_objects_have_only_fields_that_kubernetes_knows() -> None:
    client = kubernetes.client.ApiClient()
    rendered = objects(file_of({"cpu_size": "8Gi", "disk": {"size": "9Gi", "class_name": "fast"}, "shared": SERVER}))
    for kind in ("NetworkPolicy", "Service", "Deployment"):
        item = rendered[kind, "a-cache"]
        again = client.deserialize(json.dumps(item), f"V1{kind}", "application/json")
        assert client.sanitize_for_serialization(again) == item


def test_a_cache_server_removed_from_the_file_is_pruned_without_its_claim() -> None:
    kinds = [("networking.k8s.io/v1", "NetworkPolicy"), ("apps/v1", "Deployment"), ("v1", "Service")]
    shared = {**SERVER, "server": {"size": "1Gi", "persistence": {"size": "3Gi"}}}
    there = definitions(plan(file_of({"cpu_size": "8Gi", "shared": shared})))
    without = file_of({"cpu_size": "8Gi", "disk": {"size": "9Gi"}})
    assert sorted(pruned(there, plan(without))) == sorted((*kind, "llm-d", "a-cache") for kind in kinds), "the claim stays"
    claims = plan({**without, "llm_d_prune": {"claims": True}})
    assert ("v1", "PersistentVolumeClaim", "llm-d", "a-cache") in pruned(there, claims)


def test_the_requirements_on_the_cluster() -> None:
    shared = {**SERVER, "server": {"size": "32Gi", "persistence": {"size": "80Gi"}}}
    made = file_of({"cpu_size": "8Gi", "disk": {"size": "9Gi", "class_name": "fast"}, "shared": shared})
    planned = plan(made)
    needs = planned["preflight"]
    (secret,) = needs["named"]
    assert (secret["object"], secret["key"], secret["path"]) == ("Secret llm-d/pw", "password", f"{C0}.shared.password_secret")
    assert needs["storage_classes"] == [
        {"class_name": "fast", "path": f"{C0}.disk.class_name"},
        {"class_name": None, "path": f"{C0}.shared.server.persistence.class_name"},
    ]
    assert any(item["name"] == "a-cache" and item["containers"][0]["requests"]["memory"] == str(40 * 2**30) for item in needs["resources"])
    requested = {(item.get("group"), item["resource"]) for item in needs["permissions"]}
    assert {("networking.k8s.io", "networkpolicies"), ("", "persistentvolumeclaims")} <= requested
    plain = plan(file_of({"cpu_size": "8Gi"}))["preflight"]
    assert ("networking.k8s.io", "networkpolicies") not in {(item.get("group"), item["resource"]) for item in plain["permissions"]}
    assert any("valkey" in image for image in needed(planned)["images"])
    mirrored = needed(plan({**made, "llm_d_image_registry": "mirror.example.com"}))
    assert any(image.startswith("mirror.example.com/valkey/") for image in mirrored["images"])
    assert "acme/cache:1" in needed(plan({**made, "llm_d_images": {"cache": "acme/cache:1"}}))["images"]


MEMORY: Facts = {"cpu_size": "8Gi"}
DISK: Facts = {**MEMORY, "disk": {"size": "9Gi"}}


def shared(**settings: t.Any) -> Facts:
    return {**MEMORY, "shared": settings}


CPU = {"accelerator": {"vendor": "none"}}
AMD = {"accelerator": {"vendor": "amd"}}
APART = {"scheduler": {"preset": "disaggregated"}}
# (title, cache, other options of the service, path of the problem, words of the reason, words of the fix)
REFUSED: list[tuple[str, Facts, Facts, str, str, str]] = [
    ("a simulator", MEMORY, {"engine": {"type": "simulator"}, "model": {"served_name": "m"}}, C0, "is for vLLM only", "type: vllm"),
    ("no accelerators", MEMORY, CPU, C0, "on CPUs the KV cache is in memory already", "VLLM_CPU_KVCACHE_SPACE"),
    ("memory of TPUs", MEMORY, {"accelerator": {"vendor": "google"}}, f"{C0}.cpu_size", "for vendors nvidia, amd, intel, not for google", "Take it out"),
    ("two sizes of one memory", {"device_size": "9Gi"}, {"engine": {"gpu_memory_utilization": 0.5}}, f"{C0}.device_size", "would ignore", "Write one of them"),
    ("a disk without memory", {"disk": {"size": "9Gi"}}, {}, f"{C0}.cpu_size", "with disk, blocks pass through memory", "such as 8Gi"),
    ("a shared server without memory", {"shared": {"url": "redis://r:1"}}, {}, f"{C0}.cpu_size", "with shared,", "such as 8Gi"),
    ("a policy of vLLM", {**MEMORY, "eviction": "lfu"}, {}, f"{C0}.eviction", "is for LMCache", "Take it out"),
    ("an unknown policy", {**DISK, "eviction": "ttl"}, {}, f"{C0}.eviction", "ttl", "lru, lfu, fifo, mru"),
    ("an image without LMCache", DISK, AMD, f"{C0}.disk", "needs LMCache, which the tested image for vendor amd does not have", "engine.image"),
    ("the same for a shared server", shared(url="redis://r:1"), AMD, f"{C0}.shared", "needs LMCache", "cpu_size alone needs no LMCache"),
    ("memory beside transfers", MEMORY, APART, f"{C0}.cpu_size", "vLLM takes one", "preset: prefix_aware"),
    ("a disk beside transfers", DISK, APART, f"{C0}.disk", "the scheduler has one already", "preset: prefix_aware"),
    ("offloading set twice", MEMORY, {"engine": {"args": ["--kv-offloading-size=4"]}}, f"{S0}.engine.args[0]", "duplicates an", "take out cache"),
    ("a connector set twice", DISK, {"engine": {"args": ["--seed=1", "--kv-transfer-config={}"]}}, f"{S0}.engine.args[1]", "duplicates an", "take out cache"),
    ("a connector beside memory", MEMORY, {"engine": {"args": ["--kv-transfer-config={}"]}}, f"{S0}.engine.args[0]", "duplicates an", "take out cache"),
    ("bytes set twice", {"device_size": "9Gi"}, {"engine": {"args": ["--kv-cache-memory-bytes=1G"]}}, f"{S0}.engine.args[0]", "duplicates an", "take out"),
    ("LMCache set twice", DISK, {"engine": {"env": {"LMCACHE_LOCAL_DISK": "x"}}}, f"{S0}.engine.env.LMCACHE_LOCAL_DISK", "duplicates an", "take out"),
    ("a file of LMCache", DISK, {"engine": {"env": {"LMCACHE_CONFIG_FILE": "x"}}}, f"{S0}.engine.env.LMCACHE_CONFIG_FILE", "ignore its environment", "out"),
    ("a class for a RAM disk", {**MEMORY, "disk": {"size": "9Gi", "medium": "memory", "class_name": "f"}}, {}, f"{C0}.disk.class_name", "RAM disk", "medium"),
    ("compression of a disk", {**MEMORY, "disk": {"size": "9Gi", "compression": "zstd"}}, {}, f"{C0}.disk.compression", "no such option", ""),
    ("a life on a disk", {**MEMORY, "disk": {"size": "9Gi", "ttl_seconds": 60}}, {}, f"{C0}.disk.ttl_seconds", "no such option", ""),
    ("a priority", {**MEMORY, "priority": 1}, {}, f"{C0}.priority", "no such option", ""),
    ("no server", shared(), {}, f"{C0}.shared.url", "is missing, and so is server", "server: {size: 32Gi}"),
    ("two servers", shared(**SERVER, url="redis://r:1"), {}, f"{C0}.shared.url", "and server both name a server", "not both"),
    ("memcached", shared(url="memcached://m:11211"), {}, f"{C0}.shared.url", "is not redis://", "redis://redis.caches:6379"),
    ("a password in the file", shared(url="redis://:secret@r:1"), {}, f"{C0}.shared.url", "without credentials", "redis://redis.caches:6379"),
    ("no password", shared(server={"size": "1Gi"}), {}, f"{C0}.shared.password_secret", "requires a password", "kubectl create secret"),
    ("no name of a primary", shared(url="redis-sentinel://r:1"), {}, f"{C0}.shared.sentinel_master", "is missing", "redismaster"),
    ("a primary of nobody", shared(url="redis://r:1", sentinel_master="m"), {}, f"{C0}.shared.sentinel_master", "is for redis-sentinel://", "Take it out"),
    ("compression of whole blocks", shared(url="resp://r:1", compression="cachegen"), {}, f"{C0}.shared.compression", "blocks of one size", "Write redis://"),
    ("compression and a life", shared(**SERVER, compression="cachegen", ttl_seconds=9), OWN, f"{C0}.shared.compression", "valkey://", "Take out ttl_seconds"),
    ("a life without its client", shared(url="redis://r:1", ttl_seconds=9), {}, f"{C0}.shared.ttl_seconds", "not set by the client", "valkey://"),
    ("a life without its image", shared(**SERVER, ttl_seconds=9), {}, f"{C0}.shared.ttl_seconds", "needs valkey-glide", "engine.image"),
    ("a client without its image", shared(url="valkey://r:1"), {}, f"{C0}.shared.url", "needs valkey-glide", "engine.image"),
    (
        "a policy for what never ends",
        shared(password_secret="pw", server={"size": "1Gi", "eviction": "volatile-ttl"}),
        {},
        f"{C0}.shared.server.eviction",
        "would reject all blocks",
        "allkeys-lru, or ttl_seconds",
    ),
    ("a policy that keeps everything", shared(server={"size": "1Gi", "eviction": "noeviction"}), {}, f"{C0}.shared.server.eviction", "", "allkeys"),
]  # fmt: skip


@pytest.mark.parametrize(("cache", "service", "path", "reason", "fix"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_invalid_cache_options_are_refused_with_their_path_and_a_fix(cache: Facts, service: Facts, path: str, reason: str, fix: str) -> None:
    reported = problems(file_of(cache, **service))
    assert [problem.path for problem in reported] == [path], [str(problem) for problem in reported]
    assert reason in str(reported[0]) and fix in str(reported[0])


@pytest.mark.parametrize("own", [{"engine": {"image": "acme/vllm-rocm:1"}}, {}])
def test_an_image_of_ones_own_may_have_lmcache(own: Facts) -> None:
    images = {} if own else {"llm_d_images": {"vllm": "acme/vllm-rocm:1"}}
    assert not problems({**file_of(DISK, **AMD, **own), **images})


def test_device_size_is_accepted_with_disaggregated_serving() -> None:
    assert not problems(file_of({"device_size": "9Gi"}, **APART))


@pytest.mark.parametrize(("cache", "place"), [({"cpu_size": "8Gi"}, "cpu_size"), ({"device_size": "9Gi"}, None)])
def test_a_version_of_vllm_without_the_flag_is_refused(cache: Facts, place: str | None) -> None:
    reported = problems(file_of(cache, engine={"image": "acme/vllm:1", "version": "0.11.0"}))
    assert {problem.path for problem in reported} == ({f"{C0}.{place}"} if place else set())


def test_two_services_cannot_share_a_name_with_a_cache() -> None:
    first = file_of(None)["llm_d_model_services"][0]
    second = {**first, "name": "a-cache", "route": {"path": "/b"}}
    reported = problems({"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [first, second]})
    assert reported and "'a-cache'" in str(reported[0])
