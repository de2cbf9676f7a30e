# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planned settings of cache tiers, read by LMCache's own parser and by a real Redis, with the command line of the deployed pod."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.releases.caches import LMCACHE_VERSION, POLICIES
from local_servers import port_for_a_program
from planned_pods import main

pytestmark = pytest.mark.rest  # installs LMCache and a Redis
Facts = dict[str, t.Any]
PASSWORD = "two words 'and' \"quotes\""
# Reads the environment as a model server does, and prints the configuration.
READ = """
import json
from lmcache.v1.config import LMCacheEngineConfig
config = LMCacheEngineConfig.from_env()
config.validate()
config.log_config()
print("READ" + json.dumps(config.to_dict()))
"""


def file_of(cache: Facts, **options: t.Any) -> Facts:
    service = {"name": "a", "model": {"uri": "hf://o/m"}, "engine": {"image": "acme/vllm:1"}, "cache": cache, **options}
    return {"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [service]}


def environment(cache: Facts, **options: t.Any) -> dict[str, str]:
    """The LMCache variables of a server's pod, as the kubelet expands them."""
    (server,) = plan(file_of(cache, **options))["services"][0]["servers"]
    variables: dict[str, str] = {}
    for item in main(server)["env"]:
        secret = item.get("valueFrom", {}).get("secretKeyRef")
        if secret or "value" in item:
            variables[item["name"]] = "secret" if secret else re.sub(r"\$\((\w+)\)", lambda match: variables[match.group(1)], item["value"])
    return {name: value for name, value in variables.items() if name.startswith("LMCACHE_")}


@pytest.fixture(scope="module")
def lmcache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with LMCache alone: its parser needs neither PyTorch nor an accelerator."""
    folder = tmp_path_factory.mktemp("lmcache")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), f"lmcache=={LMCACHE_VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"LMCache cannot be installed here: {done.stderr[-200:]}")
    return folder


def parsed(lmcache: Path, variables: dict[str, str]) -> tuple[Facts, str]:
    """(LMCache's configuration, its log) with these variables."""
    done = subprocess.run([sys.executable, "-c", READ], env={**variables, "PYTHONPATH": str(lmcache)}, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.partition("READ")[2]), done.stderr


def test_lmcache_reads_what_we_write(lmcache: Path) -> None:
    cache = {"cpu_size": "9Gi", "eviction": "fifo", "disk": {"size": "40Gi"}, "shared": {"password_secret": "pw", "server": {"size": "1Gi"}}}
    variables = environment(cache, accelerator={"per_replica": 2})
    config, _log = parsed(lmcache, variables)
    assert config["local_cpu"] is True and config["max_local_cpu_size"] == 4.5 and config["cache_policy"] == "FIFO"
    assert config["local_disk"] == "/kv-cache/" and config["max_local_disk_size"] == 18
    assert config["remote_url"] == "resp://a-cache:6379" and config["remote_serde"] == "naive"
    assert config["save_unfull_chunk"] is False, "the clients resp and valkey store whole blocks only"
    others = {"LMCACHE_RESP_PASSWORD", "LMCACHE_LOG_LEVEL"}  # not read by the parser
    assert {name.removeprefix("LMCACHE_").lower() for name in variables.keys() - others} <= config.keys(), "LMCache does not report unknown names"


def test_lmcache_reads_what_a_life_and_a_password_become(lmcache: Path) -> None:
    variables = environment({"cpu_size": "8Gi", "shared": {"password_secret": "pw", "server": {"size": "1Gi"}, "ttl_seconds": 600}})
    config, log = parsed(lmcache, variables)
    assert config["extra_config"] == {"valkey_enable_ttl": True, "valkey_ttl_sec": 600, "valkey_password": "secret"}
    assert config["remote_url"] == "valkey://a-cache:6379" and "secret" not in log
    loud = parsed(lmcache, {**variables, "LMCACHE_LOG_LEVEL": "INFO"})[1]
    assert "secret" in loud, "which is why our level is warning"


def test_lmcache_has_every_policy_that_we_offer(lmcache: Path) -> None:
    table = (lmcache / "lmcache/v1/storage_backend/cache_policy/__init__.py").read_text().partition("POLICY_MAPPING")[2]
    assert tuple(name.lower() for name in re.findall(r'"([A-Z]+)":', table)) == POLICIES


def test_lmcache_has_a_client_for_each_kind_of_url_and_none_for_memcached(lmcache: Path) -> None:
    clients = {path.name: path.read_text() for path in (lmcache / "lmcache/v1/storage_backend/connector").glob("*_adapter.py")}
    for scheme in ("redis", "rediss", "resp", "valkey", "redis-sentinel", "redis-cluster"):
        assert any(f'"{scheme}://"' in text for text in clients.values()), scheme
    assert not [name for name, text in clients.items() if "memcache" in text.lower()]
    serdes = (lmcache / "lmcache/v1/storage_backend/naive_serde/__init__.py").read_text()
    assert all(f'serde_type == "{name}"' in serdes for name in ("naive", "cachegen"))
    sources = "".join(clients.values()) + (lmcache / "lmcache/v1/storage_backend/connector/redis_connector.py").read_text()
    for name in ("LMCACHE_RESP_PASSWORD", "REDIS_SERVICE_NAME", "valkey_enable_ttl", "valkey_ttl_sec", "valkey_password"):
        assert f'"{name}"' in sources, name


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with redis-server and redis-cli. Debian's redis-tools has both, and starts no service; the server is the same program as redis-check-rdb."""
    folder = tmp_path_factory.mktemp("redis")
    if not shutil.which("redis-check-rdb"):
        install = "apt-get update -qq && apt-get install -y -qq --no-install-recommends redis-tools"
        if not shutil.which("apt-get") or subprocess.run(["sh", "-c", install], capture_output=True, check=False).returncode:
            pytest.skip("no Redis, and it cannot be installed")
    for name, program in (("redis-server", "redis-check-rdb"), ("redis-cli", "redis-cli")):
        (folder / name).symlink_to(t.cast(str, shutil.which(program)))
    return folder


class Server:
    """The planned server, with another folder and port."""

    def __init__(self, programs: Path, folder: Path, settings: Facts) -> None:
        shared = {"password_secret": "pw", "server": settings, "ttl_seconds": 60 if settings.get("eviction", "").startswith("volatile") else None}
        planned = plan(file_of({"cpu_size": "8Gi", "shared": shared}))["services"][0]["cache_server"]
        (container,) = planned["objects"][-1]["spec"]["template"]["spec"]["containers"]
        assert container["command"] == ["valkey-server"]
        self.port, self.programs = str(port_for_a_program()), programs
        other = {"$(CACHE_PASSWORD)": PASSWORD, "/data": str(folder), "6379": self.port}
        self.command = [str(programs / "redis-server"), *(other.get(part, part) for part in container["args"])]

    @contextlib.contextmanager
    def running(self) -> t.Iterator[int]:
        with subprocess.Popen(self.command, stdout=subprocess.DEVNULL) as process:
            try:
                end = time.monotonic() + 20
                while self.ask("PING") != "PONG":
                    assert time.monotonic() < end and process.poll() is None
                    time.sleep(0.02)
                yield process.pid
            finally:
                process.terminate()

    def ask(self, *words: str, password: str | None = PASSWORD) -> str:
        variables = {"PATH": os.environ["PATH"], **({"REDISCLI_AUTH": password} if password else {})}
        command = [str(self.programs / "redis-cli"), "-p", self.port, *words]
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False).stdout.strip()


def test_redis_requires_its_password_and_hides_it_from_the_process_list(programs: Path, tmp_path: Path) -> None:
    server = Server(programs, tmp_path, {"size": "64Mi"})
    with server.running() as process:
        assert "NOAUTH" in server.ask("PING", password=None)
        assert "two words" not in Path(f"/proc/{process}/cmdline").read_text()


@pytest.mark.parametrize("policy", ["allkeys-lru", "allkeys-lfu", "volatile-ttl"])
def test_the_server_has_the_size_and_the_policy(programs: Path, tmp_path: Path, policy: str) -> None:
    server = Server(programs, tmp_path, {"size": "64Mi", "eviction": policy})
    with server.running():
        assert server.ask("CONFIG", "GET", "maxmemory").split() == ["maxmemory", str(64 * 2**20)]
        assert server.ask("CONFIG", "GET", "maxmemory-policy").split() == ["maxmemory-policy", policy]
        assert server.ask("CONFIG", "GET", "save").split() == ["save"], "no copies of the whole memory in addition to the log"


def test_a_full_server_makes_room(programs: Path, tmp_path: Path) -> None:
    server = Server(programs, tmp_path, {"size": "4Mi"})
    with server.running():
        written = server.ask("EVAL", "for i = 1, 100 do redis.call('SET', i, string.rep('x', 131072)) end return 'written'", "0")
        assert written == "written" and 0 < int(server.ask("DBSIZE")) < 100


@pytest.mark.parametrize("lasting", [True, False])
def test_contents_outlive_a_restart_where_they_are_to(programs: Path, tmp_path: Path, lasting: bool) -> None:
    server = Server(programs, tmp_path, {"size": "64Mi", **({"persistence": {"size": "1Gi"}} if lasting else {})})
    with server.running():
        assert server.ask("SET", "block", "kept") == "OK"
    with server.running():
        assert server.ask("GET", "block") == ("kept" if lasting else "")
