# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs recorded from the real endpoint picker v0.7.1, and the results that are read from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp import observed
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import build

LOGS = Path(__file__).resolve().parents[5] / "tests/unit/fixtures/epp"
BLOCK = {"preset": "balanced", "scorers": {"prefix": {"weight": 3, "auto_tune": False, "block_size_tokens": 64}}}
# As GIE 1.5 writes it (apix/config/v1alpha1, PluginSpec.String).
NEWER = (
    '{Plugins: [{Type: queue-scorer} {Name: mine, Type: prefix-cache-scorer, Parameters: {"autoTune":false,"names":["a/b","{x/y}"]}}'
    " {Type: max-score-picker}], SchedulingProfiles: [{Name: default, Plugins: [{PluginRef: queue-scorer, Weight: 2.500000} {PluginRef: mine, Weight: 3.000000}"
    " {PluginRef: max-score-picker}]}]}"
)


def document(block: dict) -> dict:
    return build(block, "scheduler-0.7", {"engine": "simulator", "model": "m", "block_size": 16}).document


def log(name: str) -> str:
    return (LOGS / name).read_text(encoding="utf-8")


def test_a_log_that_loaded_is_the_document() -> None:
    result = observed.read_log(log("loaded.log"))
    assert result.loaded and observed.LOADED in result.line and not result.error
    assert observed.difference(result, document(BLOCK)) == ""


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"preset": "queue"}, "plugins"),
        ({"preset": "balanced", "scorers": {"prefix": {"weight": 3, "auto_tune": False, "block_size_tokens": 32}}}, '"blockSizeTokens": 32'),
        ({"preset": "balanced", "scorers": {"queue": 7, "prefix": {"weight": 3, "auto_tune": False, "block_size_tokens": 64}}}, "queue-scorer 7"),
    ],
)
def test_a_log_with_another_loaded_document_is_reported_with_the_difference(block: dict, words: str) -> None:
    assert words in observed.difference(observed.read_log(log("loaded.log")), document(block))


def test_a_log_of_a_refused_configuration_gives_the_reason() -> None:
    result = observed.read_log(log("refused.log"))
    assert not result.loaded
    assert result.error == "failed to load the configuration - plugin instantiation failed: plugin type 'quue-scorer' is not registered"


def test_the_newer_print_out_is_read_as_well() -> None:
    summary = observed.summary_from_log(NEWER)
    assert summary is not None
    assert [plugin[0] for plugin in summary.plugins] == ["queue-scorer", "mine", "max-score-picker"]
    assert [plugin[1] for plugin in summary.plugins] == ["queue-scorer", "prefix-cache-scorer", "max-score-picker"]
    assert summary.plugins[1][2] == '{"autoTune": false, "names": ["a/b", "{x/y}"]}'
    assert summary.profiles == (("default", (("queue-scorer", 2.5), ("mine", 3.0), ("max-score-picker", None))),)


@pytest.mark.parametrize("text", ["", "no json\n", '["a list"]\n', "panic: runtime error: invalid memory address\n\ngoroutine 1 [running]:\n"])
def test_a_log_without_a_configuration_is_read_as_not_loaded(text: str) -> None:
    result = observed.read_log(text)
    assert not result.loaded
    assert result.error == ("panic: runtime error: invalid memory address" if "panic" in text else "")


def test_a_plain_text_log_counts_too() -> None:
    assert observed.read_log(f"2026-11-21T09:20:49Z\tINFO\t{observed.LOADED}\n").loaded
    assert observed.read_log('ERROR setup Failed to parse configuration {"error": "no such type"}\n').error


def page(*plugins: tuple[str, str, int]) -> str:
    rows = [f'inference_extension_plugin_duration_seconds_count{{extension_point="{a}",plugin_name="{b}",plugin_type="{b}"}} {n}' for a, b, n in plugins]
    return "\n".join(["# TYPE inference_extension_plugin_duration_seconds histogram", *rows])


BALANCED = (
    *(("Scorer", kind, 3) for kind in ("queue-scorer", "kv-cache-utilization-scorer", "prefix-cache-scorer")),
    ("Picker", "max-score-picker", 3),
)


def test_plugins_in_metrics_are_matched_by_name_regardless_of_their_type() -> None:
    """In the metrics of llm-d's endpoint picker 0.7.1, both filters by role have one type."""
    roles = [("Filter", name, "by-label") for name in ("decode-filter", "prefill-filter")]
    others = [("Scorer", name, name) for name in ("queue-scorer", "prefix-cache-scorer")] + [("Picker", "max-score-picker", "max-score-picker")]
    rows = [f'x_count{{extension_point="{a}",plugin_name="{b}",plugin_type="{c}"}} 2' for a, b, c in roles + others]
    disaggregated = document({"preset": "disaggregated"})
    assert observed.unexpected_runs(disaggregated, "scheduler-0.7", observed.plugin_runs("\n".join(rows), "x")) == []
    without = observed.plugin_runs("\n".join(rows[:1] + rows[2:]), "x")
    assert observed.unexpected_runs(disaggregated, "scheduler-0.7", without) == ["prefill-filter did not run as filter"]


@pytest.mark.parametrize(
    ("plugins", "lines"),
    [
        ((*BALANCED, ("ProfilePicker", "single-profile-handler", 3)), []),
        (BALANCED[1:], ["queue-scorer did not run as scorer"]),
        ((*BALANCED, ("Scorer", "load-aware-scorer", 1)), ["load-aware-scorer ran as scorer and was not intended"]),
        ((*BALANCED, ("Scorer", "load-aware-scorer", 0)), []),
        ((*BALANCED[:3], ("Picker", "random-picker", 3)), ["random-picker ran as picker and was not intended", "max-score-picker did not run as picker"]),
    ],
)
def test_metrics_are_compared_plugin_by_plugin(plugins: tuple, lines: list[str]) -> None:
    runs = observed.plugin_runs(page(*plugins), "inference_extension_plugin_duration_seconds")
    assert observed.unexpected_runs(document({"preset": "balanced"}), "scheduler-0.7", runs) == lines
