# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every rule on every release line: its advice names only what the line has."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog import plugins as catalogue
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog import presets
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.release_lines import DOCUMENT, FIELD_NOTES, LINE_FACTS
from ansible_collections.llm_d.inference.plugins.module_utils.epp.catalog.types import LINES, Param
from ansible_collections.llm_d.inference.plugins.module_utils.epp.config.build import build
from ansible_collections.llm_d.inference.plugins.module_utils.epp.rules import check
from epp_cases import INVALID
from epp_documents import VALID
from scorer_refusals import REFUSALS

DOCUMENTS = [made for _line, made, *_rest in (*INVALID.values(), *VALID.values()) if isinstance(made, dict)]
SERVERS = (
    {"engine": "vllm", "server_args": ["--block-size=8"], "server_env": {"PYTHONHASHSEED": "random"}},
    {"engine": "simulator", "server_args": ["--hash-seed=9", '--kv-events-config={"topic":"kv@a@m"}'], "server_env": {}},
)
BLOCKS: list[dict[str, t.Any]] = [
    *(block for block, *_rest in REFUSALS),
    *({"preset": name} for name in presets.PRESETS),
    *({"scorers": {alias: 1}} for alias in catalogue.SCORER_ALIASES),
    *({"scorers": {"queue": 1}, "filters": [alias]} for alias in catalogue.FILTER_ALIASES),
]
TYPES = {plugin.type for plugin in catalogue.PLUGINS}
_TYPE, _CAMEL = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+"), re.compile(r"\b[a-z]+[A-Z]\w*")
# Advice that names other lines, or a value that only looks like a parameter.
_ELSEWHERE, _VALUES = re.compile(r"\b[Uu]se a release that has (?:it|them)[^.]*:.*"), {"vLLM", "latencyPredictor"}


def words(params: t.Iterable[Param], line: str) -> t.Iterator[str]:
    for param in params:
        if line in param.lines:
            yield param.name
            yield from words(param.fields, line)


def lacking(text: str, line: str) -> list[str]:
    """Plugin types, parameters, fields and gates in a text that the line does not have."""
    here = {*words(DOCUMENT, line), *LINE_FACTS[line].gates, *_VALUES}
    here.update(name for plugin in catalogue.PLUGINS if line in plugin.lines for name in words(plugin.params, line))
    advice = _ELSEWHERE.sub("", text)
    return [name for name in _TYPE.findall(advice) if name in TYPES and name not in catalogue.types_of(line)] + [
        name for name in _CAMEL.findall(advice) if name not in here
    ]


def of_documents(line: str) -> t.Iterator[str]:
    for made in DOCUMENTS:
        for version in dict.fromkeys((made.get("apiVersion"), LINE_FACTS[line].api_versions[0])):
            document = {**made, "apiVersion": version}
            for context in ({}, *SERVERS):
                yield from (problem.fix for problem in check.check(document, line, context))
            yield from check.notes(document, line)


def of_blocks(line: str) -> t.Iterator[str]:
    for block in BLOCKS:
        for engine in ("vllm", "simulator"):
            built = build(block, line, {"engine": engine, "model": "m", "port": 8000, "epp_service": "s"})
            yield from (problem.fix for problem in built.problems)
            yield from built.notes


def of_tables(line: str) -> t.Iterator[str]:
    yield from (plugin.deprecated for plugin in catalogue.PLUGINS if line in plugin.lines)
    yield from (note for lines, _field, note in FIELD_NOTES if line in lines)
    yield from (f"{move.new} {move.how}" for lines, move in catalogue.TYPE_MOVES if line in lines)
    yield from (move.how or move.new for _kind, lines, move in catalogue.PARAM_MOVES if line in lines)
    yield from (note for rows in presets.SCORER_NOTES.values() for lines, note in rows if line in lines)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("source", [of_documents, of_blocks, of_tables])
def test_every_advice_names_only_what_the_line_has(line: str, source: t.Callable[[str], t.Iterator[str]]) -> None:
    given = set(source(line))
    assert len(given) > 5
    assert {text: missing for text in given if (missing := lacking(text, line))} == {}


def test_names_that_a_release_line_lacks_are_detected_in_advice() -> None:
    assert lacking("Declare token-producer with modelName.", "scheduler-0.7") == ["token-producer"]
    assert lacking("Add prepareDataPlugins to featureGates.", "router-0.10") == ["prepareDataPlugins"]
    assert lacking("Use a release that has it: router-0.9, with token-producer.", "scheduler-0.7") == []


@pytest.mark.parametrize("line", LINES)
def test_no_rule_judges_a_plugin_that_the_line_lacks(line: str) -> None:
    """The type is the only problem."""
    for name in sorted(TYPES - set(catalogue.types_of(line))):
        made = {
            "apiVersion": LINE_FACTS[line].api_versions[0],
            "kind": "EndpointPickerConfig",
            "plugins": [{"type": name}, {"type": "queue-scorer"}, {"type": "max-score-picker"}],
            "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}, {"pluginRef": "max-score-picker"}]}],
        }
        assert [problem.path for problem in check.check(made, line)] == ["plugins[0].type"], name
