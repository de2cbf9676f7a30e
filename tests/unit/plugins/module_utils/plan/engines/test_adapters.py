# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LoRA adapters of a service: arguments at startup, adapters at run time, and mistakes."""

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.engines.engine import engine_warnings
from ansible_collections.llm_d.inference.plugins.module_utils.schema.fields import complete
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import SERVICE
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import definitions
from planned_pods import main

Facts = dict[str, t.Any]
SQL, CHAT = {"name": "sql", "source": "/models/sql"}, {"name": "chat", "source": "acme/chat"}
PLACE = "llm_d_model_services[0]"
CHARTS = {"envoy_gateway": "/c", "leader_worker_set": "/c"}


def file_of(*adapters: Facts, engine: str = "vllm", runtime: bool = False, args: t.Sequence[str] = (), **options: t.Any) -> Facts:
    model = {"uri": "hf://org/model", "adapters": list(adapters), "adapters_at_runtime": runtime}
    return {"llm_d_charts": CHARTS, "llm_d_model_services": [{"name": "a", "model": model, "engine": {"type": engine, "args": list(args)}, **options}]}


def server(file: Facts) -> Facts:
    return t.cast(Facts, plan(file)["services"][0]["server"])


def environment(file: Facts) -> dict[str, str]:
    return {item["name"]: item["value"] for item in main(server(file))["env"] if "value" in item}


@pytest.mark.parametrize(("engine", "switch"), [("vllm", ["--enable-lora"]), ("simulator", [])])
def test_at_the_start_they_are_arguments(engine: str, switch: list[str]) -> None:
    args = server(file_of(SQL, CHAT, engine=engine))["args"]
    at = args.index("--lora-modules")
    assert [json.loads(value) for value in args[at + 1 : at + 3]] == [{"name": each["name"], "path": each["source"]} for each in (SQL, CHAT)]
    assert args[at - len(switch) : at] == switch and plan(file_of(SQL, engine=engine))["adapters"] == []


def test_at_run_time_a_change_of_them_changes_no_object() -> None:
    files = [file_of(*adapters, runtime=True) for adapters in ([SQL], [SQL, CHAT], [])]
    assert definitions(plan(files[0])) == definitions(plan(files[1])) == definitions(plan(files[2]))
    assert "--enable-lora" in server(files[2])["args"] and "--lora-modules" not in server(files[0])["args"]
    assert environment(files[2])["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "True"
    assert "VLLM_ALLOW_RUNTIME_LORA_UPDATING" not in environment(file_of(SQL))
    assert [entry["adapters"] for file in files for entry in plan(file)["adapters"]] == [[SQL], [SQL, CHAT], []]


def test_a_flag_of_the_user_is_not_repeated() -> None:
    assert server(file_of(SQL, args=["--enable-lora", "--max-loras=4"]))["args"].count("--enable-lora") == 1


def test_adapters_are_loaded_at_the_engine_ports_of_decode_and_prefill_servers() -> None:
    """A decode server behind its routing sidecar listens on another port."""
    split = {"scheduler": {"preset": "disaggregated"}, "prefill": {}}
    (entry,) = plan(file_of(SQL, runtime=True, **split))["adapters"]
    assert [(each["label_selector"].rpartition("=")[2], each["port"]) for each in entry["replicas"]] == [("decode", "8200"), ("prefill", "8000")]
    assert plan(file_of(SQL, runtime=True, replicas=0))["adapters"] == []


def test_the_scheduled_warm_up_loads_adapters_again() -> None:
    scheduled = file_of(SQL, runtime=True, warmup={"schedule": "@hourly"})
    planned = plan(scheduled)
    options = json.loads(planned["services"][0]["warmup_job"]["options"])
    assert options["warmup"] is None and options["adapters"]["adapters"] == [SQL] and planned["warmups"] == []
    assert [problem.path for problem in problems(file_of(SQL, warmup={"schedule": "@hourly"}))] == [f"{PLACE}.warmup"]


def test_autoscaled_services_with_adapters_get_a_warning() -> None:
    scaled = {"autoscaling": {"provider": "hpa", "max": 3, "metrics": {"queue": 3}}}

    def warnings(file: Facts) -> list[str]:
        return [line for line in engine_warnings(complete(file["llm_d_model_services"][0], SERVICE, "")[0], ()) if "adapters" in line]

    assert len(warnings(file_of(SQL, runtime=True, **scaled))) == 1
    assert (
        warnings(file_of(SQL, **scaled))
        == warnings(file_of(SQL, runtime=True))
        == warnings(file_of(SQL, runtime=True, warmup={"schedule": "@daily"}, **scaled))
        == []
    )


@pytest.mark.parametrize(
    ("file", "place", "reason"),
    [
        (file_of(SQL, engine="sglang"), "model.adapters", "is not set up for SGLang"),
        (file_of(engine="sglang", runtime=True), "model.adapters_at_runtime", "is not set up for SGLang"),
        (file_of(SQL, {**CHAT, "name": "sql"}), "model.adapters[1].name", "is another adapter already"),
        (file_of({**SQL, "name": "org/model"}), "model.adapters[0].name", "is the served name already"),
        (file_of({**SQL, "name": "a b"}), "model.adapters[0].name", "is not letters"),
        (file_of({**SQL, "source": "sql"}), "model.adapters[0].source", "is not the path of a folder"),
        (file_of(SQL, args=["--no_enable_lora"]), "engine.args[0]", "leaves servers that load no adapters"),
        (file_of(SQL, args=["--lora-modules", "x=/y"]), "engine.args[0]", "duplicates model.adapters"),
        (file_of(runtime=True, args=["--api-server-count=2"]), "engine.args[0]", "has several processes answer"),
        (file_of(SQL, runtime=True, accelerator={"per_replica": 2, "data": 2}), "accelerator.data", "has several processes answer"),
    ],
)
def test_invalid_or_conflicting_adapter_options_are_refused_with_their_path(file: Facts, place: str, reason: str) -> None:
    reported = problems(file)
    assert [problem.path for problem in reported] == [f"{PLACE}.{place}"], [str(problem) for problem in reported]
    assert reason in str(reported[0]) and ("Write" in reported[0].fix or "Take it out" in reported[0].fix)


@pytest.mark.parametrize(
    "file", [file_of(SQL, args=["--api-server-count=2"]), file_of(SQL, runtime=True, args=["--data-parallel-size=1"]), file_of(runtime=True)]
)
def test_adapter_options_that_fit_the_engine_arguments_are_accepted(file: Facts) -> None:
    assert problems(file) == []
