# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vllm_adapters against HTTP servers with vLLM's API for adapters, which answer as vLLM does, and pod by pod through an API server."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.inference.adapters import LOADED, UNLOADED, steps
from ansible_collections.llm_d.inference.plugins.modules import vllm_adapters
from engine_servers import SECRET, SECRETS, TINY, LoraServer, cluster, keyed, pod
from local_servers import closed_port, serve

Facts = dict[str, t.Any]
SQL, CHAT = {"name": "sql", "source": "/models/sql"}, {"name": "chat", "source": "/models/chat"}
REPLICAS = {"namespace": "llm-d", "label_selector": "llm-d.ai/model-service=tiny", "port": "8000"}


def wanted(*adapters: Facts, **more: t.Any) -> list[Facts]:
    return [{"name": "tiny", "adapters": list(adapters), **(more or {"replicas": [REPLICAS]})}]


def states(result: Facts) -> list[dict[str, str]]:
    return [{row["adapter"]: row["state"] for row in server["adapters"]} for entry in result["services"] for server in entry["servers"]]


@pytest.mark.parametrize(
    ("has", "requested", "expected"),
    [
        ({}, {}, []),
        ({"a": "/1"}, {"a": "/1"}, []),
        ({"a": "/1"}, {}, [(UNLOADED, "a")]),
        ({"a": "/1"}, {"b": "/2"}, [(UNLOADED, "a"), (LOADED, "b")]),
        ({"a": "/1"}, {"a": "/2", "b": "/3"}, [(UNLOADED, "a"), (LOADED, "a"), (LOADED, "b")]),
    ],
)
def test_adapters_are_unloaded_and_loaded_until_they_match_the_request(has: dict[str, str], requested: dict[str, str], expected: list[tuple[str, str]]) -> None:
    assert steps(has, requested) == expected


def test_servers_get_exactly_the_listed_adapters_and_a_rerun_changes_nothing(call: t.Any, monkeypatch: t.Any) -> None:
    servers = LoraServer(), LoraServer(sql="/old/sql", gone="/models/gone")
    with cluster(monkeypatch, *servers):
        first = call(vllm_adapters, services=wanted(SQL, CHAT))
        second = call(vllm_adapters, services=wanted(SQL, CHAT))
    assert first["changed"] is True and states(first) == [{"sql": "loaded", "chat": "loaded"}, {"sql": "loaded", "gone": "unloaded", "chat": "loaded"}]
    assert second["changed"] is False and states(second) == [{"sql": "has", "chat": "has"}] * 2
    assert [server.has for server in servers] == [{"sql": "/models/sql", "chat": "/models/chat"}] * 2
    assert servers[1].calls == [("unload", "sql"), ("unload", "gone"), ("load", "sql"), ("load", "chat")]
    assert first["diff"]["before"] == "Pod llm-d/pod-1: gone from /models/gone\nPod llm-d/pod-1: sql from /old/sql\n"
    lines = [f"Pod llm-d/pod-{number}: {name} from /models/{name}" for number in (0, 1) for name in ("chat", "sql")]
    assert first["diff"]["after"] == second["diff"]["after"] == second["diff"]["before"] == "".join(f"{line}\n" for line in lines)


def test_servers_that_want_a_key_get_that_of_their_secret(call: t.Any, monkeypatch: t.Any) -> None:
    server = LoraServer()
    with cluster(monkeypatch, keyed(server), objects=SECRETS):
        result = call(vllm_adapters, services=wanted(SQL, replicas=[{**REPLICAS, "api_key_secret": SECRET}]))
    assert states(result) == [{"sql": "loaded"}] and server.has == {"sql": "/models/sql"} and "sk-model" not in str(result)


def test_check_mode_reports_adapter_changes_and_makes_none(call: t.Any) -> None:
    server = LoraServer(gone="/models/gone")
    with serve(server) as url:
        result = call(vllm_adapters, services=wanted(SQL, urls=[url]), check=True)
    assert result["changed"] is True and states(result) == [{"gone": "unloaded", "sql": "loaded"}] and server.calls == []
    assert result["services"][0]["servers"][0]["after"] == {"sql": "/models/sql"}


def test_a_pod_that_is_not_ready_is_a_warning(call: t.Any, monkeypatch: t.Any) -> None:
    server, starting = LoraServer(), LoraServer()
    with serve(server) as one, serve(starting) as two, cluster(monkeypatch, pod("pod-0", one, TINY), pod("pod-1", two, TINY, ready=False)):
        result = call(vllm_adapters, services=wanted(SQL))
    assert "failed" not in result and states(result) == [{"sql": "loaded"}, {"all": "not_ready"}] and starting.has == {}
    assert ["pod-1 is not ready" in entry["event"]["msg"] for entry in result["warnings"]] == [True]


def test_with_none_all_are_unloaded(call: t.Any) -> None:
    server = LoraServer(gone="/models/gone")
    with serve(server) as url:
        result = call(vllm_adapters, services=wanted(urls=[url]))
    assert result["changed"] is True and server.has == {}


def test_adapters_that_fail_to_load_are_all_reported_and_others_are_loaded(call: t.Any) -> None:
    with serve(LoraServer("/models/sql")) as one, serve(LoraServer(closed=True)) as two:
        result = call(vllm_adapters, services=wanted(SQL, CHAT, urls=[one, two, f"http://127.0.0.1:{closed_port()}"]))
    assert result["failed"] is True and result["changed"] is True
    assert states(result) == [{"sql": "failed", "chat": "loaded"}, {"sql": "failed", "chat": "failed"}, {"all": "failed"}]
    lines = result["msg"].splitlines()
    assert len(lines) == 4 and "No adapter found for /models/sql" in lines[0] and "adapters_at_runtime" not in lines[0]
    assert all("VLLM_ALLOW_RUNTIME_LORA_UPDATING=True" in line for line in lines[1:3]) and "connection refused" in lines[3]
    assert result["services"][0]["servers"][0]["after"] == {"chat": "/models/chat"}


def test_an_adapter_that_cannot_be_unloaded_is_not_loaded_again(call: t.Any) -> None:
    with serve(LoraServer(closed=True, sql="/old/sql")) as url:
        result = call(vllm_adapters, services=wanted(SQL, urls=[url]))
    (server,) = result["services"][0]["servers"]
    assert [(row["adapter"], row["state"]) for row in server["adapters"]] == [("sql", "failed")] and server["after"] == {"sql": "/old/sql"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"services": wanted(SQL, SQL, urls=["http://127.0.0.1"])}, "sql 2 times"),
        ({"services": wanted(SQL, urls=[])}, "names no server"),
        ({"services": wanted(SQL, urls=["http://127.0.0.1"]), "request_timeout": 0}, "request_timeout is 0"),
    ],
)
def test_options_that_are_refused(call: t.Any, options: Facts, message: str) -> None:
    result = call(vllm_adapters, **options)
    assert result["failed"] is True and message in result["msg"]
