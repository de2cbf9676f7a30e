# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that plugins parse when they are created: with one that they cannot read, the endpoint picker does not start. Pure.

As metav1.LabelSelectorAsSelector of k8s.io/apimachinery and the package datalayer/extractor/metrics of llm-d-router and of the Gateway API Inference Extension
read them.
"""

from __future__ import annotations

import re
import typing as t

from ...common.objects import dicts, mapping
from ...schema.fields import FORMATS, Problem
from ..catalog.types import ON_15, ROUTER, S07
from ..document import Declared, ParsedConfig

# Engines whose metrics the extractor knows by itself.
ENGINES: dict[str, tuple[str, ...]] = {
    S07: ("vllm", "sglang"),
    **dict.fromkeys(ON_15, ("vllm", "sglang", "trtllm-serve", "triton-tensorrt-llm")),
    **dict.fromkeys(ROUTER, ("vllm", "sglang", "trtllm-serve", "triton-tensorrt-llm", "triton")),
}
RESERVED = "default"
_METRIC, _LABEL = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*"), re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_VALUE = re.compile(r'"[^"]*"|[^",}\s]+')


def label_selectors(config: ParsedConfig) -> list[Problem]:
    """Selectors that Kubernetes refuses."""
    return [problem for item in config.of_type("by-label-selector", "label-selector-filter") for problem in _selector(item)]


def _selector(item: Declared) -> t.Iterator[Problem]:
    path = f"{item.path}.parameters"
    for key, value in mapping(item.parameters.get("matchLabels")).items():
        yield from _not(key, "label_key", f"{path}.matchLabels.{key}")
        yield from _not(value, "label_value", f"{path}.matchLabels.{key}")
    for index, wanted in enumerate(dicts(item.parameters.get("matchExpressions"))):
        place, operator, values = f"{path}.matchExpressions[{index}]", wanted.get("operator"), wanted.get("values") or []
        yield from _not(wanted.get("key"), "label_key", f"{place}.key")
        if operator in ("In", "NotIn") and not values:
            yield Problem(
                f"{place}.values", values or None, f"operator {operator} compares with values, and there are none.", "Write one or more, or operator: Exists."
            )
        if operator in ("Exists", "DoesNotExist") and values:
            yield Problem(f"{place}.values", values, f"operator {operator} takes no values.", "Take them out, or write operator: In.")
        for number, value in enumerate(values if isinstance(values, list) else []):
            yield from _not(value, "label_value", f"{place}.values[{number}]")


def _not(value: t.Any, form: str, place: str) -> t.Iterator[Problem]:
    """A text that is not of a form; what is no text at all is reported by the types of parameters."""
    if isinstance(value, str) and not FORMATS[form].pattern.match(value):
        yield Problem(place, value, f"'{value}' is not {FORMATS[form].words}.", f"Write something like {FORMATS[form].example}.")


def metrics_of_engines(config: ParsedConfig) -> list[Problem]:
    """Engines and metrics that the extractor of metrics refuses."""
    return [problem for item in config.of_type("core-metrics-extractor", "model-server-protocol-metrics") for problem in _engines(item, config.line.name)]


def _engines(item: Declared, line: str) -> t.Iterator[Problem]:
    path, seen = f"{item.path}.parameters", dict[str, int]()
    for index, engine in enumerate(dicts(item.parameters.get("engineConfigs"))):
        place, name = f"{path}.engineConfigs[{index}]", engine.get("name")
        if name in ("", RESERVED):
            why = "is empty." if not name else "is reserved for the engine of Pods without a label."
            yield Problem(f"{place}.name", name, why, f"Write a name such as {ENGINES[line][0]}, and defaultEngine with it where Pods have no label.")
        elif isinstance(name, str) and seen.setdefault(name, index) != index:
            yield Problem(f"{place}.name", name, f"is the name of engineConfigs[{seen[name]}] already.", "Write each engine once.")
        for option, spec in [
            *engine.items(),
            *((f"customMetrics[{number}].metricSpec", each.get("metricSpec")) for number, each in enumerate(dicts(engine.get("customMetrics")))),
        ]:
            if option.endswith("Spec") and isinstance(spec, str) and spec and (wrong := not_a_metric(spec, line)):
                yield Problem(f"{place}.{option}", spec, wrong, "Write NAME, or NAME{LABEL=VALUE,LABEL=VALUE}.")
    default = item.parameters.get("defaultEngine")
    if isinstance(default, str) and default and default not in (*seen, *ENGINES[line]):
        yield Problem(
            f"{path}.defaultEngine",
            default,
            "is no engine that it knows.",
            f"Write one of {', '.join(dict.fromkeys([*seen, *ENGINES[line]]))}, or add it to engineConfigs.",
        )


def not_a_metric(spec: str, line: str) -> str:
    """Why a text is not the name of a metric with labels; empty where it is. Before the router it was read as PromQL, which takes a comma at the end."""
    name, brace, rest = spec.strip().partition("{")
    if not _METRIC.fullmatch(name.strip()):
        return f"'{name.strip()}' is no name of a metric."
    if not brace:
        return ""
    labels, closed, after = rest.partition("}")
    if not closed or after.strip():
        return "the braces around its labels are not closed at its end."
    labels = labels.strip() if line in ROUTER else labels.strip().removesuffix(",")
    for pair in labels.split(",") if labels else []:
        key, _equal, value = pair.partition("=")
        if not _LABEL.fullmatch(key.strip()) or not _VALUE.fullmatch(value.strip()):
            return f"'{pair.strip()}' is no label with its value."
    return ""


RULES: tuple[t.Callable[[ParsedConfig], list[Problem]], ...] = (label_selectors, metrics_of_engines)
