"""The option kv_cache_metric: its spelling in each release line, the configuration that is mounted, and the values that are refused."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.presets import PRESETS
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.release_lines import LINE_FACTS
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import build
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.plugin_utils.planning import render

Facts = dict[str, t.Any]
TEMPLATE = Path(__file__).resolve().parents[6] / "roles/gaie_scheduler/templates/scheduler.yml.j2"
OLD = "vllm:gpu_cache_usage_perc"
CONTEXT = {"engine": "vllm", "model": "llama-8b", "block_size": 16}
PLACE = "llm_d_model_services[0].scheduler.kv_cache_metric"


def file_of(block: Facts, **more: t.Any) -> Facts:
    """A user's file with this scheduler block."""
    service = {"name": "a", "model": {"uri": "hf://o/m"}, "scheduler": block}
    return {"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [service], **more}


def read(document: Facts) -> Facts:
    """The only engine of the extractor that a document names under the metrics source, with the type of the extractor."""
    plugins = {plugin.get("name", plugin["type"]): plugin for plugin in document["plugins"]}
    (source,) = [each for each in (document.get("dataLayer") or document["data"])["sources"] if plugins[each["pluginRef"]]["type"] == "metrics-data-source"]
    (extractor,) = [plugins[each["pluginRef"]] for each in source["extractors"]]
    (engine,) = extractor["parameters"]["engineConfigs"]
    return {"extractor": extractor["type"], **engine}


@pytest.mark.parametrize(("line", "preset"), [(line, preset) for preset, facts in PRESETS.items() for line in LINE_FACTS if line in facts["lines"]])
def test_kv_cache_metric_is_configured_in_the_spelling_of_each_release_line(line: str, preset: str) -> None:
    built = build({"preset": preset, "kv_cache_metric": OLD}, line, CONTEXT)
    assert not built.problems
    assert read(built.document) == {
        "extractor": "model-server-protocol-metrics" if line == "scheduler-0.7" else "core-metrics-extractor",
        "name": "vllm",
        "queuedRequestsSpec": "vllm:num_requests_waiting",
        "runningRequestsSpec": "vllm:num_requests_running",
        "kvUsageSpec": OLD,
        "loraSpec": "vllm:lora_requests_info",
        "cacheInfoSpec": "vllm:cache_config_info",
    }
    assert ("dataLayer" in built.document.get("featureGates", [])) == (line == "scheduler-0.7"), "without the gate that line does not start"
    plain = build({"preset": preset}, line, CONTEXT).document
    assert built.document["schedulingProfiles"] == plain["schedulingProfiles"]
    assert OLD not in str(plain)


def test_the_endpoint_picker_mounts_it() -> None:
    block = {"preset": "balanced", "kv_cache_metric": f"{OLD}{{engine=0}}"}
    objects = {(item["kind"], item["metadata"]["name"]): item for item in render(TEMPLATE, plan(file_of(block)))}
    assert read(yaml.safe_load(objects[("ConfigMap", "a-epp")]["data"]["config.yaml"]))["kvUsageSpec"] == f"{OLD}{{engine=0}}"
    pod = objects[("Deployment", "a-epp")]["spec"]["template"]["spec"]
    assert {"name": "config", "configMap": {"name": "a-epp"}} in pod["volumes"]
    assert not [argument for argument in pod["containers"][0]["args"] if "kv-cache-usage" in argument], "the former flag stops the endpoint picker"


def test_another_preset_for_this_run_keeps_the_name() -> None:
    block = {"preset": "queue", "kv_cache_metric": OLD}
    planned = plan(file_of(block, llm_d_scheduler_overrides={"a": {"preset": "balanced"}}))
    assert read(yaml.safe_load(planned["services"][0]["scheduler"]["config"]))["kvUsageSpec"] == OLD


@pytest.mark.parametrize("metric", ["gpu cache", "", "vllm:x{}", "vllm:x{a}", "{a=b}", "vllm:x{a=b}c"])
def test_an_invalid_kv_cache_metric_is_refused(metric: str) -> None:
    mistakes = problems(file_of({"preset": "balanced", "kv_cache_metric": metric}))
    if not metric:
        assert not mistakes, "an empty text is not set"
        return
    assert [problem.path for problem in mistakes] == [PLACE] and "Write a name such as vllm:gpu_cache_usage_perc" in str(mistakes[0])


def test_kv_cache_metric_is_refused_beside_plugins_of_the_user() -> None:
    plugins = [{"type": "queue-scorer"}, {"type": "max-score-picker"}, {"type": "single-profile-handler"}]
    mistakes = problems(file_of({"plugins": plugins, "kv_cache_metric": OLD}))
    assert "kv_cache_metric exclude each other. Write kv_cache_metric inside plugins" in str(mistakes[0])


def test_the_flag_of_former_days_is_refused_with_the_option() -> None:
    mistakes = problems(file_of({"args": [f"--kv-cache-usage-percentage-metric={OLD}"]}))
    assert [problem.path for problem in mistakes] == ["llm_d_model_services[0].scheduler.args[0]"] and "Write kv_cache_metric, or kvUsageSpec" in str(
        mistakes[0]
    )
