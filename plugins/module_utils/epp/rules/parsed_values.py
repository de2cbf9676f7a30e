# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that plugins parse when they are created: with one that they cannot read, the endpoint picker does not start. Pure.

The rules follow metav1.LabelSelectorAsSelector and labels.Parse of k8s.io/apimachinery, and the packages of the plugins in llm-d-router and in the Gateway API
Inference Extension.
"""

from __future__ import annotations

import re
import typing as t

from ...common.objects import dicts, mapping
from ...schema.fields import FORMATS, Problem
from ..catalog.types import ON_15, R11_UP, ROUTER, S07
from ..document import Declared, ParsedConfig

# Engines whose metrics the extractor knows by itself.
ENGINES: dict[str, tuple[str, ...]] = {
    S07: ("vllm", "sglang"),
    **dict.fromkeys(ON_15, ("vllm", "sglang", "trtllm-serve", "triton-tensorrt-llm")),
    **dict.fromkeys(ROUTER, ("vllm", "sglang", "trtllm-serve", "triton-tensorrt-llm", "triton")),
}
RESERVED = "default"  # no engine in engineConfigs may have this name
_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_UNQUOTED = re.compile(r'\b(\w+)\s*=\s*([^",}\s]+)', re.ASCII)  # \b skips attempts inside a word, which fail where the one at its start failed
# Labels with quoted values, as a list. The router splits the list at each comma; the lines before it parse PromQL, which has escapes, allows a comma at the
# end, and has keywords that cannot be names.
_KEY, _TEXT = r"[a-zA-Z_][a-zA-Z0-9_]*", r'"(?:[^"\\\n]|\\(?:[abfnrtv\\"]|[0-7]{3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}))*"'
_ROUTER_LABEL, _PROMQL_LABEL = rf'\s*{_KEY}\s*=\s*"[^",}}]*"\s*', rf"\s*(?:{_KEY}|{_TEXT})\s*=\s*{_TEXT}\s*"
_ROUTER_LABELS, _PROMQL_LABELS = re.compile(rf"{_ROUTER_LABEL}(?:,{_ROUTER_LABEL})*"), re.compile(rf"{_PROMQL_LABEL}(?:,{_PROMQL_LABEL})*(?:,\s*)?")
_NAMED_AGAIN = re.compile(r'(?:\A|,)\s*"?__name__"?\s*=')
_PROMQL_KEYWORDS = ("on", "ignoring", "group_left", "group_right", "bool", "atan2", "inf", "nan")
# One requirement of a selector in its string form, such as `a=b` or `c in (d,e)`; `_WORD` is a key or value in it.
_WORD = r"[^\s=!(),<>]+"
_REQUIREMENT = re.compile(
    rf"\s*(?:!\s*(?P<not>{_WORD})|(?P<key>{_WORD})(?:\s+(?:not)?in\s*\((?P<values>[^()=!<>]*)\)|\s*(?:==?|!=)\s*(?P<value>(?:{_WORD})?)|\s*[<>]\s*[0-9]+)?)\s*"
)
# The requirements of a selector, each up to a comma outside of parentheses.
_PARTS = re.compile(r"((?:\([^()]*\)|[^,])*),")


def label_selectors(config: ParsedConfig) -> list[Problem]:
    """Selectors that Kubernetes refuses."""
    return [problem for item in config.of_type("by-label-selector", "label-selector-filter") for problem in _selector(item)]


def _selector(item: Declared) -> t.Iterator[Problem]:
    path = f"{item.path}.parameters"
    for key, value in mapping(item.parameters.get("matchLabels")).items():
        yield from _check_format(key, "label_key", f"{path}.matchLabels.{key}")
        yield from _check_format(value, "label_value", f"{path}.matchLabels.{key}")
    for index, wanted in enumerate(dicts(item.parameters.get("matchExpressions"))):
        place, operator, values = f"{path}.matchExpressions[{index}]", wanted.get("operator"), wanted.get("values") or []
        yield from _check_format(wanted.get("key"), "label_key", f"{place}.key")
        if operator in ("In", "NotIn") and not values:
            yield Problem(
                f"{place}.values", values or None, f"operator {operator} compares with values, and there are none.", "Write one or more, or operator: Exists."
            )
        if operator in ("Exists", "DoesNotExist") and values:
            yield Problem(f"{place}.values", values, f"operator {operator} takes no values.", "Take them out, or write operator: In.")
        for number, value in enumerate(values if isinstance(values, list) else []):
            yield from _check_format(value, "label_value", f"{place}.values[{number}]")


def _check_format(value: t.Any, form: str, place: str) -> t.Iterator[Problem]:
    """The problem of a text without a format; a value that is not a text is reported by the check of types."""
    if isinstance(value, str) and not FORMATS[form].pattern.match(value):
        yield Problem(place, value, f"'{value}' is not {FORMATS[form].words}.", f"Write something like {FORMATS[form].example}.")


def metrics_of_engines(config: ParsedConfig) -> list[Problem]:
    """Engines and metrics that the extractor of metrics refuses."""
    return [problem for item in config.of_type("core-metrics-extractor", "model-server-protocol-metrics") for problem in _engines(item, config.line.name)]


def _engines(item: Declared, line: str) -> t.Iterator[Problem]:
    path, positions = f"{item.path}.parameters", dict[str, int]()
    for index, engine in enumerate(dicts(item.parameters.get("engineConfigs"))):
        place, name = f"{path}.engineConfigs[{index}]", engine.get("name")
        if name in ("", RESERVED):
            why = "is empty." if not name else "is reserved for the engine of Pods without a label."
            yield Problem(f"{place}.name", name, why, f"Write a name such as {ENGINES[line][0]}, and defaultEngine with it where Pods have no label.")
        elif isinstance(name, str) and positions.setdefault(name, index) != index:
            yield Problem(f"{place}.name", name, f"is the name of engineConfigs[{positions[name]}] already.", "Write each engine once.")
        own = dicts(engine.get("customMetrics"))
        yield from _repeated([each.get("attributeKey") for each in own], f"{place}.customMetrics[{{}}].attributeKey")
        for option, spec in [*engine.items(), *((f"customMetrics[{number}].metricSpec", each.get("metricSpec")) for number, each in enumerate(own))]:
            if option.endswith("Spec") and isinstance(spec, str) and spec and (reason := not_a_metric(spec, line)):
                yield Problem(f"{place}.{option}", spec, reason, "Write NAME, or NAME{LABEL=VALUE,LABEL=VALUE}.")
    default = item.parameters.get("defaultEngine")
    if isinstance(default, str) and default and default not in (*positions, *ENGINES[line]):
        yield Problem(
            f"{path}.defaultEngine",
            default,
            "is not an engine that the extractor knows.",
            f"Write one of {', '.join(dict.fromkeys([*positions, *ENGINES[line]]))}, or add it to engineConfigs.",
        )


def not_a_metric(spec: str, line: str) -> str:
    """Why a text is not the name of a metric with labels; empty if it is.

    Lines before the router read it as PromQL. Parts that these read and ignore (an offset, labels with !=) are refused too.
    """
    name, brace, rest = _UNQUOTED.sub(r'\1="\2"', spec).strip().partition("{")
    name, labels = name.strip(), rest[:-1].strip()
    if not _METRIC.fullmatch(name) or (line not in ROUTER and name.lower() in _PROMQL_KEYWORDS):
        return f"'{name}' is no name of a metric."
    if not brace:
        return ""
    if not rest.endswith("}"):
        return "the braces around its labels are not closed at its end."
    if labels and not (_ROUTER_LABELS if line in ROUTER else _PROMQL_LABELS).fullmatch(labels):
        return f"'{labels}' is not a list of labels with values."
    return "__name__ is the name of the metric, which stands before the braces." if line not in ROUTER and _NAMED_AGAIN.search(labels) else ""


def pools_of_clusters(config: ParsedConfig) -> list[Problem]:
    """Metrics of pools in other clusters that the multicluster extractor refuses."""
    return [
        Problem(f"{item.path}.parameters.{option}", spec, reason, "Write NAME, or NAME{LABEL=VALUE,LABEL=VALUE}.")
        for item in config.of_type("multicluster-metrics-extractor")
        for option, spec in item.parameters.items()
        if isinstance(spec, str) and spec and (reason := not_a_metric(spec, config.line.name))
    ]


def utilization(config: ParsedConfig) -> list[Problem]:
    """Bounds of the KV-cache utilization that are not fractions."""
    why, fix = "is above 1, and the use of the KV cache is a fraction.", "Write a number from 0 to 1, such as 0.8."
    return [
        Problem(f"{item.path}.parameters.conditions[{index}].maxValue", most, why, fix)
        for item in config.of_type("utilization-filter")
        for index, condition in enumerate(dicts(item.parameters.get("conditions")))
        if condition.get("metric") == "kv-cache-utilization" and isinstance(most := condition.get("maxValue"), (int, float)) and most > 1
    ]


def screeners(config: ParsedConfig) -> list[Problem]:
    """Selectors, headers and roles that the screener of rollouts refuses."""
    return [problem for item in config.of_type("disaggregatedset-rollout-screener") for problem in _screener(item)]


def _screener(item: Declared) -> t.Iterator[Problem]:
    path = f"{item.path}.parameters"
    selector, gating = mapping(item.parameters.get("scope")).get("labelSelector"), mapping(item.parameters.get("revisionGating"))
    if isinstance(selector, str) and selector and not _is_selector(selector):
        yield Problem(f"{path}.scope.labelSelector", selector, f"'{selector}' is no label selector.", "Write something like app=llama,tier in (a,b).")
    headers = dicts(item.parameters.get("headerSelectors"))
    for option, texts in (("name", [each.get("name") for each in headers]), ("headerName", [str(each.get("headerName", "")).lower() for each in headers])):
        yield from _repeated(texts, f"{path}.headerSelectors[{{}}].{option}")
    roles = mapping(gating.get("requireRoles")).get("values")
    if gating.get("mode") in ("sum", "max-role") and "requireRoles" not in gating:
        why = f"is missing, and mode {gating['mode']} counts the Pods of each role."
        yield Problem(f"{path}.revisionGating.requireRoles", None, why, "Write the roles, such as {values: [prefill, decode]}, or mode: disabled.")
    yield from _repeated(roles if isinstance(roles, list) else [], f"{path}.revisionGating.requireRoles.values[{{}}]", empty=True)


def attributes(config: ParsedConfig) -> list[Problem]:
    """Attributes written as NAME/PRODUCER, which the router refuses since 0.11 unless the parameter `producer` is set."""
    problems = []
    for kind, option in (("endpoint-attribute-filter", "attribute"), ("endpoint-attribute-scorer", "attributeKey")):
        for item in config.of_type(kind) if config.line.name in R11_UP else ():
            name, slash, producer = str(item.parameters.get(option, "")).partition("/")
            if slash and "producer" not in item.parameters:
                why = "is refused with a producer in it since router 0.11."
                fix = f"Write {option}: {name} and producer: {producer}, or producer: '' where the slash belongs to the name."
                problems.append(Problem(f"{item.path}.parameters.{option}", item.parameters[option], why, fix))
    return problems


def _repeated(texts: t.Sequence[t.Any], place: str, empty: bool = False) -> t.Iterator[Problem]:
    """The problems of repeated texts. place: with {} for the index; empty: whether to report empty texts, where no other rule does."""
    for index, text in enumerate(texts):
        if empty and text == "":
            yield Problem(place.format(index), text, "is empty.", "Write a name, or take it out.")
        elif text and text in texts[:index]:
            yield Problem(place.format(index), text, f"'{text}' is in the list already.", "Write each once.")


def _is_selector(text: str) -> bool:
    """Whether a text is a label selector in its string form, such as a=b,c in (d,e),!f."""
    for part in _PARTS.findall(f"{text},"):
        match = _REQUIREMENT.fullmatch(part)
        if not match or not FORMATS["label_key"].pattern.match(match["not"] or match["key"]):
            return False
        values = [value.strip() for value in (match["values"] or "").split(",")] + [match["value"] or ""]
        if not all(FORMATS["label_value"].pattern.match(value) for value in values):
            return False
    return True


RULES: tuple[t.Callable[[ParsedConfig], list[Problem]], ...] = (label_selectors, metrics_of_engines, pools_of_clusters, utilization, screeners, attributes)
