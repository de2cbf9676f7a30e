# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every engine is detected by its pages; the signals of the scheduler are read from its metrics, or reported as missing with the effect."""

from __future__ import annotations

import engine_servers as pages
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common import prometheus_text
from ansible_collections.llm_d.inference.plugins.module_utils.http.transport import UrlTransport
from ansible_collections.llm_d.inference.plugins.module_utils.inference import health
from ansible_collections.llm_d.inference.plugins.module_utils.inference.client import OpenAIClient
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.releases import engines
from ansible_collections.llm_d.inference.plugins.module_utils.releases.deployed import ENGINE_DEFAULTS, picker_signals
from hypothesis import given
from hypothesis import strategies as st
from local_servers import serve


def look(url, **options):
    return health.check_once(
        OpenAIClient(UrlTransport(url)), health.Requirements(**{"level": "metrics", "model": pages.MODEL, "request_timeout": 60.0, **options})
    )


# pages of engine_servers, engine, version, block size
DETECTED = [
    ("vllm", "vllm", "0.33.0", 16),
    ("sglang", "sglang", "0.5.4", 64),
    ("trtllm", "trtllm", "1.2.0", 32),
    ("triton_openai", "triton", None, 64),
    ("triton", "triton", "2.60.0", 64),
]


def test_every_engine_has_its_pages():
    """The real simulator is checked by tests/contract/test_health_simulator.py."""
    assert {row[1] for row in DETECTED} | {"simulator", "tgi"} == set(engines.ENGINES)


@pytest.mark.parametrize("engine", sorted(ENGINE_DEFAULTS))
def test_an_engine_that_is_deployed_is_checked_and_planned(engine):
    assert engine in engines.ENGINES
    service = {"name": "a", "model": {"uri": "hf://o/m"}, "engine": {"type": engine}, "scheduler": {"preset": "queue"}}
    if engine == "triton":
        service["model"]["served_name"] = "m"
    planned = plan({"llm_d_gateway": {"provider": "none", "name": "g"}, "llm_d_images": {engine: "mine/server:v1"}, "llm_d_model_services": [service]})
    assert planned["services"][0]["server"]["image"] == "mine/server:v1"


@pytest.mark.parametrize("name, engine, version, block", DETECTED)
@pytest.mark.parametrize("given_engine", [False, True])
def test_each_engine_is_detected_and_passes_all_health_levels(name, engine, version, block, given_engine):
    with serve(pages.engine(name)) as url:
        result = look(url, engine=engine if given_engine else "auto")
    assert result.healthy, result.failed
    assert (result.engine, result.version, result.reached) == (engine, version, "metrics")
    assert result.metrics["block_size"].value == block and result.notes == []
    assert all(reading.ok for reading in result.metrics.values())


@pytest.mark.parametrize("given_engine", ["auto", "tgi"])
def test_tgi_is_healthy_when_the_cache_metric_is_not_required(given_engine):
    wanted = tuple(signal for signal in engines.REQUIRED if signal in picker_signals("tgi"))
    with serve(pages.engine("tgi")) as url:
        result, with_all_signals = look(url, engine=given_engine, signals=wanted), look(url, engine=given_engine)
    assert result.healthy and result.engine == "tgi"
    assert {signal: reading.value for signal, reading in result.metrics.items()} == {"waiting": 2, "running": 3}
    assert not with_all_signals.healthy and "kv_cache is not exported by Text Generation Inference" in with_all_signals.failed.evidence


def test_triton_with_vllm_exports_its_own_queue_only():
    with serve(pages.engine("triton_openai", **{"/metrics": (200, pages.TEXT, pages.TRITON_VLLM)})) as url:
        result = look(url, signals=tuple(picker_signals("triton")))
    assert result.healthy and result.metrics["waiting"].metric == picker_signals("triton")["waiting"]


@pytest.mark.parametrize(("engine", "page"), [("sglang", pages.SGLANG), ("trtllm", pages.TRTLLM), ("tgi", pages.TGI), ("triton", pages.TRITON_VLLM)])
def test_metrics_that_the_endpoint_picker_reads_are_exported_by_the_engine(engine, page):
    names = {sample.name for sample in prometheus_text.parse(page)}
    assert picker_signals(engine) and {metric.partition("{")[0] for metric in picker_signals(engine).values()} <= names


def test_an_unknown_engine_is_known_by_its_metrics():
    with serve(pages.engine("vllm", **{"/v1/models": (200, "application/json", pages.listed("acme"))})) as url:
        assert look(url).engine == "vllm"


@pytest.mark.parametrize(
    "metric, breaks",
    [
        ("vllm:num_requests_waiting", "queue scorer"),
        ("vllm:num_requests_running", "running requests"),
        ("vllm:kv_cache_usage_perc", "KV cache scorer"),
    ],
)
def test_a_missing_metric_is_named_with_what_it_breaks(metric, breaks):
    page = "".join(line for line in pages.VLLM.splitlines(True) if metric not in line)
    with serve(pages.engine("vllm", **{"/metrics": (200, pages.TEXT, page)})) as url:
        result = look(url)
    assert result.reached == "serving" and result.failed.name == "metrics" and result.failed.kind == "metrics"
    assert f"{metric} is not exported by vLLM" in result.failed.evidence and breaks in result.failed.evidence and result.failed.remedy


def test_missing_optional_metrics_are_reported_as_notes():
    page = "".join(line for line in pages.VLLM.splitlines(True) if "cache_config" not in line and "lora" not in line)
    with serve(pages.engine("vllm", **{"/metrics": (200, pages.TEXT, page)})) as url:
        result = look(url)
        refused = look(url, signals=("block_size",))
    assert result.healthy and len(result.notes) == 2 and "prefix scorer cannot tune itself" in result.notes[0]
    assert not refused.healthy


@pytest.mark.parametrize("name, title, metric", [("vllm", "vLLM", "vllm:lora_requests_info"), ("sglang", "SGLang", "lora")])
def test_adapter_metrics_are_required_only_when_a_scorer_reads_them(name, title, metric):
    """Without --enable-lora vLLM has no metric of adapters, and other engines never have one: it is reported only if a scorer needs it."""
    page = "".join(line for line in (pages.VLLM if name == "vllm" else pages.SGLANG).splitlines(True) if "lora" not in line)
    with serve(pages.engine(name, **{"/metrics": (200, pages.TEXT, page)})) as url:
        plain, wanted = look(url), look(url, signals=(*engines.REQUIRED, "lora"))
    assert plain.healthy and plain.notes == [] and not wanted.healthy
    assert f"{metric} is not exported by {title}: the LoRA affinity scorer" in wanted.failed.evidence and "--enable-lora" in wanted.failed.remedy


def test_max_lora_is_read_and_a_missing_required_metric_is_remedied_first():
    page = "".join(line for line in pages.VLLM.splitlines(True) if "waiting{" not in line)
    with serve(pages.engine("vllm")) as url, serve(pages.engine("vllm", **{"/metrics": (200, pages.TEXT, page.replace("max_lora", "max"))})) as worse:
        result, worse_result = look(url, signals=("lora",)), look(worse, signals=(*engines.REQUIRED, "lora"))
    assert result.healthy and result.metrics["lora"].value == 4 and "vllm:lora_requests_info 4" in result.checks[-1].evidence
    assert "lora_requests_info" in worse_result.failed.evidence and worse_result.failed.remedy == "leave out --disable-log-stats"


def test_the_old_name_of_a_metric_is_a_note():
    with serve(pages.engine("vllm", **{"/metrics": (200, pages.TEXT, pages.VLLM.replace("kv_cache_usage", "gpu_cache_usage"))})) as url:
        result = look(url)
    assert result.healthy and result.metrics["kv_cache"].metric == "vllm:gpu_cache_usage_perc" and "old name of vllm:kv_cache_usage_perc" in result.notes[0]


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf"])
def test_a_metric_without_a_finite_value_is_reported_as_missing(value):
    page = pages.VLLM.replace('kv_cache_usage_perc{engine="0",model_name="acme/tiny"} 0.125', f'kv_cache_usage_perc{{engine="0"}} {value}')
    with serve(pages.engine("vllm", **{"/metrics": (200, pages.TEXT, page)})) as url:
        assert "kv_cache_usage_perc is not exported" in look(url).failed.evidence


@pytest.mark.parametrize(
    "name, page, words, remedy",
    [
        ("sglang", (404, "text/plain", "Not Found"), "404", "--enable-metrics"),
        ("vllm", (200, pages.TEXT, ""), "no metrics on that page", "--disable-log-stats"),
        ("vllm", (200, "text/html", "<html>Sign in</html>"), "Sign in", ""),
        ("vllm", (200, pages.TEXT, "go_goroutines 7\n"), "vllm:num_requests_waiting is not exported", "--disable-log-stats"),
        ("vllm", (401, "text/plain", "who are you"), "401", "key"),
    ],
)
def test_a_page_without_metrics(name, page, words, remedy):
    with serve(pages.engine(name, **{"/metrics": page})) as url:
        result = look(url)
    assert words in result.failed.evidence and remedy in result.failed.remedy and result.failed.remedy


def test_json_statistics_are_no_metrics():
    with serve(pages.engine("trtllm", **{"/prometheus/metrics": None})) as url:
        result = look(url)
    assert "no metrics on that page (application/json)" in result.failed.evidence and "return_perf_metrics" in result.failed.remedy


def test_metrics_on_another_port():
    with serve(pages.engine("triton_openai", **{"/metrics": None})) as url, serve(pages.engine("triton")) as other:
        result = health.check_once(OpenAIClient(UrlTransport(url)), health.Requirements("metrics", pages.MODEL), pages=OpenAIClient(UrlTransport(other)))
    assert result.healthy and result.metrics["waiting"].value == 1 and result.metrics["running"].value == 2


@pytest.mark.parametrize(
    "path, answer, kind",
    [
        ("generate", (200, "application/json", '{"error":"CUDA out of memory"}'), "error_in_answer"),
        ("generate", (200, "application/json", "[]"), "bad_json"),
        ("generate_stream", (200, "text/event-stream", 'data: {"error":"executor died"}\n\n'), "error_in_stream"),
        ("generate_stream", (200, "text/event-stream", ""), "truncated"),
        ("generate_stream", (500, "application/json", '{"error":"unload"}'), "status"),
    ],
)
def test_triton_that_does_not_serve(path, answer, kind):
    with serve(pages.engine("triton", **{f"/v2/models/{pages.MODEL}/{path}": answer})) as url:
        result = look(url)
    assert result.reached == "ready" and result.failed.kind == kind and result.failed.remedy


def test_without_completions_none_is_sent():
    with serve(pages.engine("vllm", **{"/v1/completions": (500, "text/plain", "must not be asked")})) as url:
        result = look(url, completions=False)
    assert result.healthy and [check.name for check in result.checks] == ["health", "models", "metrics"]


@given(st.sampled_from(sorted(engines.ENGINES)), st.text())
def test_reading_never_raises(engine, page):
    readings = engines.read_signals(engine, prometheus_text.parse(page))
    assert set(readings) == set(engines.ENGINES[engine].signals)
    engines.missing_signals(engine, readings, engines.SIGNALS)
