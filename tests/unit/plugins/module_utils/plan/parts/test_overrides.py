# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another scheduler block for one run, without an edit of the user's file."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.filter.comparison import comparison_cases
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import comparison_run
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.workloads import PrefixedPrompts
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems


def variables(overrides: t.Any) -> dict[str, t.Any]:
    engine = {"type": "simulator", "simulator": {"prefill_time_per_token": "500us"}}
    return {
        "llm_d_charts": {"envoy_gateway": "/charts"},
        "llm_d_scheduler_overrides": overrides,
        "llm_d_model_services": [
            {"name": "one", "model": {"served_name": "one"}, "engine": engine, "scheduler": {"preset": "balanced", "scorers": {"queue": 7}, "verbosity": 4}},
            {"name": "two", "model": {"served_name": "two"}, "engine": engine, "route": {"path": "/two"}},
        ],
    }


def weights(overrides: t.Any, service: int = 0) -> dict[str, float]:
    config = yaml.safe_load(plan(variables(overrides))["services"][service]["scheduler"]["config"])
    return {item["pluginRef"]: item["weight"] for item in config["schedulingProfiles"][0]["plugins"] if "weight" in item}


def test_a_preset_override_replaces_the_scorers_and_keeps_other_options() -> None:
    assert weights({}) == {"queue-scorer": 7, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}
    assert weights({"one": {"preset": "queue"}}) == {"queue-scorer": 1}
    assert "--v=4" in plan(variables({"one": {"preset": "queue"}}))["services"][0]["scheduler"]["args"]


def test_weights_alone_are_merged() -> None:
    assert weights({"one": {"scorers": {"kv_cache": 5}}}) == {"queue-scorer": 7, "kv-cache-utilization-scorer": 5, "prefix-cache-scorer": 3}


def test_an_override_is_for_one_service_or_for_all_others() -> None:
    before, after = plan(variables({}))["services"], plan(variables({"one": {"preset": "queue"}}))["services"]
    assert before[1] == after[1] and before[0] != after[0]
    assert weights({"*": {"preset": "queue"}}, 1) == weights({"*": {"preset": "queue"}}, 0) == {"queue-scorer": 1}
    assert weights({"*": {"preset": "queue"}, "one": {"scorers": {"queue": 9}}}, 0)["queue-scorer"] == 9


@pytest.mark.parametrize(
    ("overrides", "path", "words"),
    [
        ({"onne": {"preset": "queue"}}, "llm_d_scheduler_overrides.onne", "Did you mean one?"),
        ({"one": {"scorers": {"quue": 1}}}, "llm_d_scheduler_overrides.one.scorers.quue", "Did you mean"),
        ({"one": {"presett": "queue"}}, "llm_d_scheduler_overrides.one.presett", "preset"),
        ({"*": {"preset": "qeue"}}, "llm_d_scheduler_overrides.*.preset", "queue"),
        ({"one": "queue"}, "llm_d_scheduler_overrides.one", "mapping"),
        ("queue", "llm_d_scheduler_overrides", "mapping"),
    ],
)
def test_a_mistake_is_reported_where_it_is_written(overrides: t.Any, path: str, words: str) -> None:
    mistakes = problems(variables(overrides))
    assert path in [problem.path for problem in mistakes], mistakes
    assert any(words in f"{problem.reason} {problem.fix}" for problem in mistakes if problem.path == path)


def compared() -> dict[str, dict[str, t.Any]]:
    """The comparisons that docs/compare.md shows as files, by name."""
    text = (Path(__file__).resolve().parents[6] / "docs/compare.md").read_text(encoding="utf-8")
    return {name: yaml.safe_load(block) for name, block in re.findall(r"```yaml\n# -e @([\w.-]+):[^\n]*\n(.*?)```", text, re.DOTALL)}


def test_comparisons_in_the_docs_have_distinct_plans_and_valid_load_options() -> None:
    """Each policy has a plan of its own; the prompts are the same for all, and each is sent once as a warm-up."""
    assert set(compared()) == {"one-prefix.yml", "many-sessions.yml"}
    for name, given in compared().items():
        cases = {case["name"]: case["scheduler"] for case in comparison_cases(given["compare_presets"])}
        assert list(cases) == ["round_robin", "balanced", "prefix_aware", "sticky"]
        assert len({plan(variables({"one": block}))["services"][0]["scheduler"]["config"] for block in cases.values()}) == 4, name
        sent = comparison_run.options(given["compare_workload"], given["compare_stages"], given["compare_warmup"])
        shape = PrefixedPrompts(**{key: value for key, value in given["compare_workload"].items() if key != "output_len"})
        assert sent["warmup"]["requests"] == shape.groups * shape.prompts_per_group and len(sent["stages"]) == 3
