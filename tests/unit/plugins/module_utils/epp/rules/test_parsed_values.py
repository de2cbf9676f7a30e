# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that plugins parse. tests/contract/test_epp_accepts.py compares with the endpoint pickers of two lines; this file has the other lines."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.rules import check
from ansible_collections.llm_d.inference.plugins.module_utils.epp.rules.parsed_values import _is_selector, not_a_metric
from epp_documents import GIE15, QUEUE, R09, R10, S07, document
from hostile_text import superlinear

Facts = dict[str, t.Any]


def reasons(line: str, entry: Facts) -> dict[str, str]:
    made = document(line, *QUEUE, entry)
    return {problem.path.partition(".parameters.")[2]: problem.reason for problem in check.check(made, line, {}) if ".parameters." in problem.path}


@pytest.mark.parametrize("line", [R09, R10])
def test_a_selector_of_the_router(line: str) -> None:
    expressions = [
        {"key": "a", "operator": "In"},
        {"key": "a b", "operator": "Exists", "values": ["c"]},
        {"key": "a", "operator": "NotIn", "values": ["b", "c d"]},
    ]
    refused = reasons(line, {"type": "label-selector-filter", "parameters": {"matchLabels": {"a": "b c"}, "matchExpressions": expressions}})
    assert set(refused) == {
        "matchLabels.a",
        "matchExpressions[0].values",
        "matchExpressions[1].key",
        "matchExpressions[1].values",
        "matchExpressions[2].values[1]",
    }


@pytest.mark.parametrize(
    ("line", "engine", "known"), [(S07, "trtllm-serve", False), (GIE15, "trtllm-serve", True), (GIE15, "triton", False), (R10, "triton", True)]
)
def test_default_engine_is_checked_against_the_engines_of_the_release_line(line: str, engine: str, known: bool) -> None:
    kind = "model-server-protocol-metrics" if line == S07 else "core-metrics-extractor"
    assert ("defaultEngine" in reasons(line, {"type": kind, "parameters": {"defaultEngine": engine}})) is not known


def test_metrics_of_the_users_own() -> None:
    engine = {"name": "own", "kvUsageSpec": "x{", "customMetrics": [{"attributeKey": "a", "metricSpec": "b{c=d}"}, {"attributeKey": "e", "metricSpec": "f g"}]}
    assert set(reasons(R10, {"type": "core-metrics-extractor", "parameters": {"engineConfigs": [engine]}})) == {
        "engineConfigs[0].kvUsageSpec",
        "engineConfigs[0].customMetrics[1].metricSpec",
    }


@pytest.mark.parametrize(
    ("spec", "line", "right"),
    [
        ("x{y=z,}", GIE15, True),
        ("x{y=z,}", R10, False),
        ('x{y="z"}', R10, True),
        ("x{ }", R10, True),
        ("", R10, False),
        ('x{y="z w", v = u}', R10, True),
        ('x{y="a,b"}', R10, False),
        ('x{y="a}b"}', R10, False),
        ('x{y="a=b"}', R10, False),
        ('x{y="a\\"b"}', R10, False),
        ('x{"y"="b"}', R10, False),
        ('x{__name__="y"}', R10, True),
        ("on", R10, True),
        ("x{,}", R10, False),
        ('x{y="a,b}c\\"d"}', S07, True),
        ("group_left", S07, False),
        ('x{a="b",__name__="y"}', S07, False),
        ('x{a__name__="b",b=",__name__"}', S07, True),
    ],
)
def test_each_release_line_accepts_its_own_metric_syntax(spec: str, line: str, right: bool) -> None:
    assert (not not_a_metric(spec, line)) is right


def test_metrics_of_the_users_own_have_names_of_their_own() -> None:
    engine = {"name": "own", "customMetrics": [{"attributeKey": "a", "metricSpec": "b"}, {"attributeKey": "a", "metricSpec": "c"}]}
    assert set(reasons(R09, {"type": "core-metrics-extractor", "parameters": {"engineConfigs": [engine]}})) == {
        "engineConfigs[0].customMetrics[1].attributeKey"
    }


def test_metrics_of_other_clusters() -> None:
    entry = {"type": "multicluster-metrics-extractor", "parameters": {"queueSizeMetric": "x{", "kvCacheUtilizationMetric": "a b"}}
    assert set(reasons(R10, entry)) == {"queueSizeMetric", "kvCacheUtilizationMetric"}
    assert reasons(R10, {**entry, "parameters": {"queueSizeMetric": "x{y=z}", "kvCacheUtilizationMetric": ""}}) == {}


@pytest.mark.parametrize(
    ("conditions", "paths"),
    [
        ([], {"conditions"}),
        ([{"metric": "kv-cache-utilization", "maxValue": 80}], {"conditions[0].maxValue"}),
        ([{"metric": "kv-cache-utilization", "maxValue": 1}, {"metric": "waiting-queue", "maxValue": 80}], set()),
    ],
)
def test_a_filter_by_utilization(conditions: list[Facts], paths: set[str]) -> None:
    assert set(reasons(R10, {"type": "utilization-filter", "parameters": {"conditions": conditions}})) == paths


SCREENER: Facts = {
    "scope": {"labelSelector": "app=llama,tier in (a, b),!old,x notin (),y>1,z!=,example.com/w"},
    "headerSelectors": [
        {"name": "a", "headerName": "X-A", "labelKey": "a", "mode": "strict"},
        {"name": "b", "headerName": "x-b", "labelKey": "a", "mode": "prefer"},
    ],
    "revisionGating": {"mode": "sum", "requireRoles": {"values": ["prefill", "decode"]}},
}


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({}, set()),
        ({"revisionGating": {"mode": "disabled"}, "headerSelectors": []}, set()),
        ({"scope": {}}, {"scope.labelSelector"}),
        ({"scope": {"labelSelector": ""}}, {"scope.labelSelector"}),
        *(
            ({"scope": {"labelSelector": text}}, {"scope.labelSelector"})
            for text in ("a in", "a,", "a=b c", "a b", "a in b", "a>b", "a=-b", "!a=b", "a/=b", "=b")
        ),
        ({"revisionGating": {"mode": "sum"}}, {"revisionGating.requireRoles"}),
        ({"revisionGating": {}}, {"revisionGating.mode"}),
        ({"revisionGating": {"mode": "max-role", "requireRoles": {}}}, {"revisionGating.requireRoles.values"}),
        ({"revisionGating": {"mode": "sum", "requireRoles": {"values": []}}}, {"revisionGating.requireRoles.values"}),
        (
            {"revisionGating": {"mode": "sum", "requireRoles": {"values": ["a", "", "a"]}}},
            {"revisionGating.requireRoles.values[1]", "revisionGating.requireRoles.values[2]"},
        ),
        ({"headerSelectors": [{"name": "a"}]}, {f"headerSelectors[0].{option}" for option in ("headerName", "labelKey", "mode")}),
        (
            {"headerSelectors": [{"name": "a", "headerName": header, "labelKey": "a", "mode": "strict"} for header in ("x-a", "X-A")]},
            {"headerSelectors[1].name", "headerSelectors[1].headerName"},
        ),
    ],
)
def test_a_screener_of_rollouts(changes: Facts, paths: set[str]) -> None:
    assert set(reasons(R10, {"type": "disaggregatedset-rollout-screener", "parameters": {**SCREENER, **changes}})) == paths


def test_a_screener_of_rollouts_needs_parameters() -> None:
    assert set(reasons(R10, {"type": "disaggregatedset-rollout-screener"})) == {"scope", "revisionGating"}


def test_parameters_of_any_type_raise_no_exception() -> None:
    for value in (None, 7, "x", [], {}, [7], [{"name": 7}], [{"key": 7, "values": 7, "operator": []}]):
        for kind in (
            "label-selector-filter",
            "core-metrics-extractor",
            "utilization-filter",
            "multicluster-metrics-extractor",
            "disaggregatedset-rollout-screener",
        ):
            check.check(
                document(
                    R10,
                    *QUEUE,
                    {
                        "type": kind,
                        "parameters": {
                            "matchLabels": value,
                            "matchExpressions": value,
                            "engineConfigs": value,
                            "defaultEngine": value,
                            **dict.fromkeys(("conditions", "queueSizeMetric", "scope", "headerSelectors", "revisionGating"), value),
                        },
                    },
                ),
                R10,
                {},
            )


def test_parameters_that_the_router_accepts_and_never_reads_are_accepted() -> None:
    entry = {"type": "no-hit-lru-scorer", "parameters": {"prefixPluginName": "prefix-cache-scorer", "prefixPluginType": "prefix-cache-scorer"}}
    assert reasons(R10, entry) == {}


@pytest.mark.timing
@pytest.mark.parametrize("piece", ["x", "x ", ",", "x in (", "x in (a,", "(", "x=", 'x="', 'x{y="z",', "__name__"])
@pytest.mark.parametrize("read", [_is_selector, lambda text: not_a_metric(text, R10), lambda text: not_a_metric(text, GIE15)])
def test_a_long_text_is_read_in_proportion_to_its_length(read: t.Callable[[str], t.Any], piece: str) -> None:
    assert not superlinear(read, piece)


def test_commas_in_brackets_part_no_selector() -> None:
    assert _is_selector("a in (b,c),d notin (e, f),!g,h") and not any(_is_selector(text) for text in ("a in (b,c", "a in b,c)", "a,(b,c)", "a,,b"))
