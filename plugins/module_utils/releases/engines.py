# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Model-server engines: how to recognize them, the paths of their endpoints, and the metrics that the scheduler reads. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import math
import typing as t

from ..common import prometheus_text as prometheus
from ..common.prometheus_text import Sample

# Signal to the effect on scheduling if a server does not export it.
SIGNALS = {
    "waiting": "the queue scorer and the saturation detector consider the server idle",
    "running": "scorers of running requests and load-aware scorers consider the server idle",
    "kv_cache": "the KV cache scorer considers the server's cache empty, so full servers get more requests",
    "block_size": "the prefix scorer cannot tune itself and uses its configured block size",
    "blocks": "the prefix scorer cannot tune itself and uses its configured capacity",
    "lora": "the LoRA affinity scorer does not know the server's adapters and scores it as a server without any",
}
REQUIRED = ("waiting", "running", "kv_cache")
# Every server exports these; `lora` is exported only by vLLM with --enable-lora.
EXPECTED = (*REQUIRED, "block_size", "blocks")
# Other metrics of vLLM: a counter and a histogram.
SERVED, FIRST_TOKEN = "vllm:request_success_total", "vllm:time_to_first_token_seconds"


@dataclasses.dataclass(frozen=True)
class MetricSource:
    """The source of a signal: the value of a metric, summed over the samples whose labels include `where`, or the number in its label `label`."""

    metric: str
    where: tuple[tuple[str, str], ...] = ()
    label: str = ""


@dataclasses.dataclass(frozen=True)
class Engine:
    """One engine.

    health, versions, metrics: paths, tried in order; marks: prefixes of its metrics; owners: `owned_by` of its models; flag: how to enable its metrics.
    """

    name: str
    title: str
    health: tuple[str, ...]
    versions: tuple[str, ...]
    metrics: tuple[str, ...]
    metrics_port: int | None
    marks: tuple[str, ...]
    owners: tuple[str, ...]
    flag: str
    signals: c.Mapping[str, tuple[MetricSource, ...]]


def _vllm_signals() -> dict[str, tuple[MetricSource, ...]]:
    info = "vllm:cache_config_info"
    return {
        "waiting": (MetricSource("vllm:num_requests_waiting"),),
        "running": (MetricSource("vllm:num_requests_running"),),
        # the second up to vLLM 0.10, hidden in 0.11
        "kv_cache": (MetricSource("vllm:kv_cache_usage_perc"), MetricSource("vllm:gpu_cache_usage_perc")),
        "block_size": (MetricSource(info, label="block_size"),),
        "blocks": (MetricSource(info, label="num_gpu_blocks"),),
        "lora": (MetricSource("vllm:lora_requests_info", label="max_lora"),),  # its value is a timestamp
    }


_NV_REQUESTS, _NV_BLOCKS = "nv_trt_llm_request_metrics", "nv_trt_llm_kv_cache_block_metrics"
_SGLANG = {
    "waiting": (MetricSource("sglang:num_queue_reqs"), MetricSource("sglang_num_queue_reqs")),
    "running": (MetricSource("sglang:num_running_reqs"), MetricSource("sglang_num_running_reqs")),
    "kv_cache": (MetricSource("sglang:token_usage"), MetricSource("sglang_token_usage")),
    # the first of each in 0.5.20, the others in older versions
    "block_size": (
        MetricSource("sglang:page_size"),
        MetricSource("sglang:cache_config_info", label="page_size"),
        MetricSource("sglang_cache_config_info", label="page_size"),
    ),
    "blocks": (
        MetricSource("sglang:num_pages"),
        MetricSource("sglang:cache_config_info", label="num_pages"),
        MetricSource("sglang_cache_config_info", label="num_pages"),
    ),
}
_TRTLLM = {
    "waiting": (MetricSource("trtllm_num_requests_waiting"),),
    "running": (MetricSource("trtllm_num_requests_running"),),
    "kv_cache": (MetricSource("trtllm_kv_cache_utilization"),),
    "block_size": (MetricSource("trtllm_kv_cache_tokens_per_block"),),
    "blocks": (MetricSource("trtllm_kv_cache_max_blocks"),),
}
_TRITON = {
    # the second with other back ends than TensorRT-LLM, such as vLLM
    "waiting": (MetricSource(_NV_REQUESTS, (("request_type", "waiting"),)), MetricSource("nv_inference_pending_request_count")),
    "running": (MetricSource(_NV_REQUESTS, (("request_type", "scheduled"),)),),
    "kv_cache": (MetricSource(_NV_BLOCKS, (("kv_cache_block_type", "fraction"),)),),
    "block_size": (MetricSource(_NV_BLOCKS, (("kv_cache_block_type", "tokens_per"),)),),
    "blocks": (MetricSource(_NV_BLOCKS, (("kv_cache_block_type", "max"),)),),
}
_TGI = {"waiting": (MetricSource("tgi_queue_size"),), "running": (MetricSource("tgi_batch_current_size"),)}
ENGINES = {
    engine.name: engine
    for engine in (
        Engine("vllm", "vLLM", ("/health",), ("/version",), ("/metrics",), None, ("vllm:",), ("vllm",), "leave out --disable-log-stats", _vllm_signals()),
        Engine(
            "simulator", "the llm-d simulator", ("/health/ready", "/health"), (), ("/metrics",), None, ("vllm:",), (), "use a newer simulator", _vllm_signals()
        ),
        Engine(
            "sglang",
            "SGLang",
            ("/health",),
            ("/get_server_info", "/server_info"),
            ("/metrics",),
            None,
            ("sglang:", "sglang_"),
            ("sglang",),
            "start it with --enable-metrics",
            _SGLANG,
        ),
        # its /metrics is JSON; Prometheus metrics have another path
        Engine(
            "trtllm",
            "TensorRT-LLM",
            ("/health",),
            ("/version",),
            ("/prometheus/metrics", "/metrics"),
            None,
            ("trtllm_",),
            ("tensorrt_llm",),
            "start it with return_perf_metrics: true and enable_iter_perf_stats: true",
            _TRTLLM,
        ),
        Engine(
            "triton",
            "Triton",
            ("/health/ready", "/v2/health/ready"),
            ("/v2",),
            ("/metrics",),
            8002,
            ("nv_",),
            ("triton inference server", "triton"),
            "leave out --allow-metrics=false, and ask its metrics port (8002)",
            _TRITON,
        ),
        Engine("tgi", "Text Generation Inference", ("/health",), (), ("/metrics",), None, ("tgi_",), (), "use its version 3", _TGI),
    )
}


@dataclasses.dataclass(frozen=True)
class Reading:
    """The value of one signal; None if the page has no such metric or no finite number for it."""

    signal: str
    metric: str
    value: float | None

    @property
    def ok(self) -> bool:
        return self.value is not None


def engine_by_owner(owner: str) -> str:
    """The engine with this `owned_by` in `/v1/models`; empty if unknown."""
    owner = owner.strip().lower()
    return next((name for name, engine in ENGINES.items() if owner in engine.owners), "")


def engine_by_metrics(samples: c.Iterable[Sample]) -> str:
    """The engine that exports these metrics (vLLM for the simulator); empty if unknown."""
    names = {sample.name for sample in samples}
    return next((name for name, engine in ENGINES.items() if any(metric.startswith(engine.marks) for metric in names)), "")


def read_signals(engine: str, samples: c.Sequence[Sample]) -> dict[str, Reading]:
    """Every signal of an engine, from the first of its metrics that is present."""
    return {signal: _reading(signal, sources, samples) for signal, sources in ENGINES[engine].signals.items()}


def _reading(signal: str, sources: c.Sequence[MetricSource], samples: c.Sequence[Sample]) -> Reading:
    for source in sources:
        if any(sample.name == source.metric for sample in samples):
            return Reading(signal, source.metric, _value(source, samples))
    return Reading(signal, sources[0].metric, None)


def _value(source: MetricSource, samples: c.Sequence[Sample]) -> float | None:
    if not source.label:
        return prometheus.total(samples, source.metric, dict(source.where))
    for sample in samples:
        if sample.name == source.metric:
            try:
                number = float(sample.labels.get(source.label, ""))
            except ValueError:
                continue
            if math.isfinite(number):
                return number
    return None


def missing_signals(engine: str, readings: c.Mapping[str, Reading], wanted: c.Iterable[str] = REQUIRED) -> list[str]:
    """The missing signals and their effect, one line each."""
    return [
        f"{readings[signal].metric if signal in readings else signal} is not exported by {ENGINES[engine].title}: {SIGNALS[signal]}"
        for signal in _missing(readings, wanted)
    ]


def remedy(engine: str, readings: c.Mapping[str, Reading], wanted: c.Iterable[str]) -> str:
    """How to make the server export the missing signals."""
    only_adapters = _missing(readings, wanted) == ["lora"]
    return "start it with --enable-lora (vLLM), or remove the LoRA affinity scorer" if only_adapters else ENGINES[engine].flag


def _missing(readings: c.Mapping[str, Reading], wanted: c.Iterable[str]) -> list[str]:
    return [signal for signal in wanted if signal not in readings or not readings[signal].ok]


def old_metric_names(engine: str, readings: c.Mapping[str, Reading]) -> list[str]:
    """Signals with an old metric name, which current endpoint pickers do not read, one line each."""
    return [
        f"{reading.metric} is the old name of {ENGINES[engine].signals[signal][0].metric}: an endpoint picker that reads the new name gets no value, so "
        f"{SIGNALS[signal]}"
        for signal, reading in readings.items()
        if reading.ok and reading.metric == "vllm:gpu_cache_usage_perc"
    ]


def version_in(page: c.Mapping[str, t.Any]) -> str | None:
    """The version in the JSON of any engine's version endpoint; None if it has none."""
    for key in ("version", "sglang_version"):
        version = page.get(key)
        if isinstance(version, str) and version:
            return version
    return None
