# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments with which a server runs, but cannot be reached, or does not report its load, are refused at their place."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.engines.out_of_reach import OUT_OF_REACH
from ansible_collections.llm_d.inference.plugins.module_utils.releases import sglang, vllm
from ansible_collections.llm_d.inference.plugins.module_utils.releases.deployed import ENGINE_DEFAULTS

Facts = dict[str, t.Any]
MODEL = {"tgi": {"uri": "hf://org/model"}, "triton": {"uri": "hf://org/model", "served_name": "m"}, "simulator": {"served_name": "m"}}


def refusals(engine: str, *arguments: str, **options: t.Any) -> list[tuple[str, str]]:
    service = {"name": "a", "model": MODEL.get(engine, {"uri": "hf://org/model"}), "engine": {"type": engine, "args": list(arguments)}, **options}
    if engine in ("tgi", "triton"):
        service["scheduler"] = {"preset": "queue"}
    file = {"llm_d_charts": {"envoy_gateway": "/c", "leader_worker_set": "/c"}, "llm_d_model_services": [service]}
    return [(problem.path, str(problem)) for problem in problems(file)]


@pytest.mark.parametrize(("engine", "flag"), [(engine, flag) for engine, flags in OUT_OF_REACH.items() for flag in flags])
def test_each_argument_that_hides_a_server_is_refused_with_a_remedy(engine: str, flag: str) -> None:
    values = {"host": "127.0.0.1", "hostname": "localhost", "api-server-count": "0", "nnodes": "2", "node-rank": "1"}
    takes_none = vllm.options("0.30.0").get(f"--{flag}") if engine == "vllm" else None
    value = values.get(flag, "" if engine == "sglang" and not sglang.options("0.5.20").get(flag, "=") or (takes_none and takes_none.count == "0") else "x")
    ((path, text),) = refusals(engine, f"--{flag}={value}" if value else f"--{flag}")
    assert path == "llm_d_model_services[0].engine.args[0]" and f"--{flag}: " in text and " Take it out" in text


@pytest.mark.parametrize(
    ("engine", "arguments"),
    [
        ("vllm", ["--host=0.0.0.0"]),
        ("vllm", ["--host", "::"]),
        ("vllm", ["--host=$(POD_IP)"]),
        ("vllm", ["--host="]),
        ("vllm", ["--host=None"]),
        ("vllm", ["--ssl-ca-certs=/ca.pem"]),
        ("vllm", ["--data-parallel-size-local=1", "-dpr=0", "-dpa=$(POD_IP)"]),
        ("sglang", ["--disaggregation-mode=null", "--host=", "--ssl-ca-certs=/ca.pem"]),
        ("vllm", ["--api-server-count=2"]),
        ("vllm", ["--nnodes=1", "--node-rank=0"]),
        ("trtllm", ["--host=0.0.0.0"]),
        ("simulator", ["--self-signed-certs=false"]),
    ],
)
def test_values_that_keep_a_server_reachable_are_accepted(engine: str, arguments: list[str]) -> None:
    assert refusals(engine, *arguments) == []


@pytest.mark.parametrize("written", ["--disable_log_stats", "--disable-log-st"])
def test_an_argument_that_stops_metrics_is_refused_in_every_spelling(written: str) -> None:
    ((_path, text),) = refusals("vllm", written)
    assert "its metrics stand still" in text


@pytest.mark.parametrize(
    ("arguments", "index"),
    [
        (["-dp=2", "-dpl=0"], 1),
        (["-dp=2", "-dpr=1", "-dpl=2"], 1),
        (["--data-parallel-size=2", "--data-parallel-external-lb"], 1),
        (["--data-parallel-rank=1"], 0),
        (["--data-parallel-address=10.0.0.1"], 0),
    ],
)
def test_a_part_of_a_group_is_refused(arguments: list[str], index: int) -> None:
    ((path, text),) = refusals("vllm", *arguments, accelerator={"per_replica": 2})
    assert path == f"llm_d_model_services[0].engine.args[{index}]" and "waits for others of its group" in text


def test_ranks_of_one_server_are_all_here() -> None:
    assert refusals("vllm", "--data-parallel-size-local=2", accelerator={"per_replica": 2, "data": 2}) == []
    assert refusals("vllm", "-dp=2", "-dpl", "2", accelerator={"per_replica": 2}) == []


def test_groups_of_several_nodes_are_checked_too() -> None:
    groups = {"per_replica": 16, "nodes": 2}
    ((path, text),) = refusals("vllm", "--seed=1", "--host=127.0.0.1", accelerator=groups)
    assert path == "llm_d_model_services[0].engine.args[1]" and "listens there only" in text
    ((path, text),) = refusals("vllm", "--nnodes=4", accelerator=groups)
    assert path == "llm_d_model_services[0].engine.args[0]" and "follows from the rest of the plan" in text


@pytest.mark.parametrize(("value", "refused"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_the_variable_with_the_address_of_tgi_is_checked(value: str, refused: bool) -> None:
    service = {"name": "a", "model": MODEL["tgi"], "engine": {"type": "tgi", "env": {"HOSTNAME": value}}, "scheduler": {"preset": "queue"}}
    reported = problems({"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [service]})
    assert [problem.path for problem in reported] == (["llm_d_model_services[0].engine.env.HOSTNAME"] if refused else [])
    assert not refused or value not in str(reported[0])


def test_each_engine_has_a_table_of_refused_arguments() -> None:
    assert set(OUT_OF_REACH) == set(ENGINE_DEFAULTS)
