# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of the user's file: values, and references to Secrets and ConfigMaps."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.plan.parts.environment import stated, variables

Facts = dict[str, t.Any]
FORMS = "Write {secret: NAME, key: KEY} or {config_map: NAME, key: KEY}."
FROM_SECRET: Facts = {"secret": "store", "key": "access"}
FROM_CONFIG_MAP: Facts = {"config_map": "proxies"}


def file_of(engine: Facts | None = None, scheduler: Facts | None = None, **options: t.Any) -> Facts:
    service = {"name": "a", "model": {"uri": "hf://o/m"}, "engine": {"env": engine or {}, **options}, "scheduler": {"preset": "queue", "env": scheduler or {}}}
    return {"llm_d_charts": {"envoy_gateway": "/c"}, "llm_d_model_services": [service]}


def messages(*given: t.Any, **options: t.Any) -> dict[str, str]:
    """The mistakes: {path within the service: the rest of the message}."""
    lines = (str(problem).removeprefix("llm_d_model_services[0].").partition(": ") for problem in problems(file_of(*given, **options)))
    return {path: rest for path, _colon, rest in lines}


def test_a_variable_has_a_value_or_where_it_is() -> None:
    env = {"A": "1", "B": {**FROM_SECRET, "config_map": None}, "HTTP_PROXY": {**FROM_CONFIG_MAP, "secret": None, "key": None}}
    assert variables(env) == [
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "store", "key": "access"}}},
        {"name": "HTTP_PROXY", "valueFrom": {"configMapKeyRef": {"name": "proxies", "key": "HTTP_PROXY"}}},
    ]
    assert stated(env) == {"A": "1"}


def test_variables_of_the_user_override_those_of_the_plan() -> None:
    (service,) = plan(file_of({"HF_HOME": FROM_CONFIG_MAP, "S3": FROM_SECRET}, {"POD_NAME": FROM_SECRET}))["services"]
    (server,), (picker,) = (part["template"]["spec"]["containers"] for part in (service["server"], service["scheduler"]))
    env = {item["name"]: item for item in server["env"]}
    assert env["S3"]["valueFrom"] == {"secretKeyRef": {"name": "store", "key": "access"}}
    assert env["HF_HOME"] == {"name": "HF_HOME", "valueFrom": {"configMapKeyRef": {"name": "proxies", "key": "HF_HOME"}}}
    assert len(env) == len(server["env"]) and picker["env"][-1] == {"name": "POD_NAME", "valueFrom": {"secretKeyRef": {"name": "store", "key": "access"}}}


@pytest.mark.parametrize(
    ("value", "path", "rest"),
    [
        ({"key": "x"}, "A", f"names no Secret and no ConfigMap. {FORMS}"),
        ({}, "A", f"names no Secret and no ConfigMap. {FORMS}"),
        ({"secret": "s", "config_map": "c"}, "A", f"names a Secret and a ConfigMap, and a value is in one of them. {FORMS}"),
        ({"secret": "s", "keys": "x"}, "A.keys", "there is no such option. Did you mean 'key'?"),
        ({"valueFrom": {"secretKeyRef": {"name": "s"}}}, "A.valueFrom", f"there is no such option in this block. {FORMS}"),
        ({"secret": "S!", "key": "k"}, "A.secret", "'S!' is not lower-case letters, digits, '-' and '.', starting and ending with a letter or digit. Write "),
        ({"secret": "s", "key": "a/b"}, "A.key", "'a/b' is not letters, digits, '-', '_' and '.'. Write something like HF_TOKEN."),
        (5, "A", "(not shown) is a whole number, not a string or a mapping (key: value). Write it in quotes."),
    ],
)
@pytest.mark.parametrize("block", ["engine", "scheduler"])
def test_an_invalid_reference_is_reported_at_its_path(block: str, value: t.Any, path: str, rest: str) -> None:
    ((place, message),) = messages(**{block: {"A": value}}).items()
    assert place == f"{block}.env.{path}" and message.startswith(rest)


FOLLOWED = "has to be in the file: other parts of the plan depend on the value. Write the value itself."


@pytest.mark.parametrize(
    ("name", "rest", "engine"),
    [
        ("PYTHONHASHSEED", FOLLOWED, {}),
        ("VLLM_NIXL_SIDE_CHANNEL_PORT", FOLLOWED, {}),
        ("PROMETHEUS_PORT", FOLLOWED, {"type": "tgi"}),
        ("HOSTNAME", "is --hostname for it: the server listens there only", {"type": "tgi"}),
        ("MAX_TOTAL_TOKENS", "is --max-total-tokens for Text Generation Inference, and contradicts", {"type": "tgi", "max_model_len": 9}),
        ("VLLM_API_KEY", "gives the servers an API key that validation, warm-ups and measurements do not send. ", {}),
    ],
)
def test_variables_that_the_plan_depends_on_cannot_be_references(name: str, rest: str, engine: Facts) -> None:
    reported = messages({name: FROM_SECRET}, **engine)
    assert reported[f"engine.env.{name}"].startswith(rest), reported
    assert messages({}, {"PYTHONHASHSEED": FROM_SECRET}) == {}, "an endpoint picker has it in its configuration"


@pytest.mark.parametrize("name", ["HF_HUB_OFFLINE", "POD_IP", "VLLM_LOGGING_LEVEL", "LMCACHE_CONFIG_FILE", "AWS_ENDPOINT_URL", "VLLM_HOST_IP"])
def test_any_other_variable_may_be_a_reference(name: str) -> None:
    assert messages({name: FROM_CONFIG_MAP}) == {}
