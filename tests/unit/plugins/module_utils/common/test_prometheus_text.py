# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Prometheus text format: real pages, and any garbage."""

from __future__ import annotations

import math

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common import prometheus_text as prometheus
from hypothesis import given
from hypothesis import strategies as st

# What an endpoint picker of llm-d-inference-scheduler 0.7.1 shows, shortened
PAGE = """\
# HELP inference_extension_scheduler_attempts_total [ALPHA] Total number of scheduling attempts.
# TYPE inference_extension_scheduler_attempts_total counter
inference_extension_scheduler_attempts_total{status="failure"} 1
inference_extension_scheduler_attempts_total{status="success"} 12
# TYPE inference_extension_prefix_indexer_hit_ratio histogram
inference_extension_prefix_indexer_hit_ratio_bucket{le="+Inf"} 12
inference_extension_prefix_indexer_hit_ratio_sum 4.875e+00
inference_objective_request_total{model_name="acme/tiny",target_model_name="acme/tiny"} 10
inference_objective_request_total{model_name="acme/\\"odd\\",}",target_model_name="x"} 2
inference_pool_average_kv_cache_utilization{name="llama-8b"} NaN
inference_pool_average_queue_size{name="llama-8b"} +Inf
process_start_time_seconds 1.795248213e+09 1795248213000
"""


def test_a_real_page():
    samples = prometheus.parse(PAGE)
    assert len(samples) == 9
    assert prometheus.total(samples, "inference_objective_request_total") == 12
    assert prometheus.total(samples, "inference_extension_scheduler_attempts_total", {"status": "success"}) == 12
    assert prometheus.by_label(samples, "inference_extension_scheduler_attempts_total", "status") == {"failure": 1, "success": 12}
    assert samples[5].labels["model_name"] == 'acme/"odd",}'


def test_non_finite_samples_are_parsed_but_not_summed():
    samples = prometheus.parse(PAGE)
    assert [math.isfinite(sample.value) for sample in samples if sample.name.startswith("inference_pool")] == [False, False]
    assert prometheus.total(samples, "inference_pool_average_queue_size") is None


def test_no_sample_is_not_zero():
    assert prometheus.total([], "x") is None
    assert prometheus.by_label([], "x", "y") == {}


@pytest.mark.parametrize(
    "line",
    [
        "<!DOCTYPE html>",
        "a",
        "a b",
        'a{b="c" 1',
        "a{b=c} 1",
        'a{b="c"}',
        "a-b 1",
        "1a 2",
        'a{b="c',
        "{} 1",
        "a 0x",
        "# a 1",
        "  ",
        'a{b="c"d="e"} 1',
    ],
)
def test_garbage_is_passed_over(line):
    assert prometheus.parse(line + "\nok 1\n") == [prometheus.Sample("ok", {}, 1.0)]


@pytest.mark.parametrize(
    "line, sample",
    [
        ('a{b="c",} 1', prometheus.Sample("a", {"b": "c"}, 1.0)),
        ('a { b = "c" } 1 99', prometheus.Sample("a", {"b": "c"}, 1.0)),
        ('a{b="x\\\\y\\nz"} 1\r', prometheus.Sample("a", {"b": "x\\y\nz"}, 1.0)),
        ('a{b="c"} 1 # {trace_id="}"} 0.5', prometheus.Sample("a", {"b": "c"}, 1.0)),
        ("a{} 1", prometheus.Sample("a", {}, 1.0)),
    ],
)
def test_spellings(line, sample):
    assert prometheus.parse(line) == [sample]


@given(st.text(max_size=300))
def test_any_text_is_read(text):
    for sample in prometheus.parse(text):
        assert isinstance(sample.value, float)


@given(st.lists(st.sampled_from(["a{", "}", '"', "\\", 'b="c"', ",", " ", "1", "\n", "NaN", "#", "a", "="]), max_size=60).map("".join))
def test_any_near_miss_is_read(text):
    prometheus.parse(text)


def test_a_hostile_line_does_not_slow_the_parser_down():
    assert prometheus.parse("a{" + 'b="c" , ' * 20000 + "   " * 20000) == []


_NAMES = st.from_regex(r"\A[a-zA-Z_][a-zA-Z0-9_]{0,8}\Z")


@given(_NAMES, st.dictionaries(_NAMES, st.text(max_size=20), max_size=4), st.floats(allow_nan=False))
def test_a_written_sample_is_parsed_with_its_name_labels_and_value(name, labels, value):
    escaped = {key: text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for key, text in labels.items()}
    line = name + "{" + ",".join(f'{key}="{text}"' for key, text in escaped.items()) + "} " + repr(value)
    assert prometheus.parse(line) == [prometheus.Sample(name, labels, value)]
