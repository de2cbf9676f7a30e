"""Booleans, numbers and lists of the user's file as strings, as surveys and -e pass them."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import completed, plan, problems
from ansible_collections.llm_d.inference.plugins.module_utils.schema.fields import FORMATS, Field, complete, separable
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES

from tools.manifests import names, user_file

BOOL, INT, FLOAT, QUANTITY = Field("bool", "b", default=True), Field("int", "i", default=3), Field("float", "f", default=0.5), Field("quantity", "q")
HOSTS = Field("list", "Hosts.", default=["h"], elements=Field("str", "Host.", format="hostname"))
RATES = Field("list", "Rates.", elements=Field("float", "Rate.", minimum=0.5))


@pytest.mark.parametrize(
    ("field", "text", "meant"),
    [
        *(
            (BOOL, text, text.strip().lower() in ("true", "yes", "on", "1"))
            for text in ("true", "True", "false", "False", "yes", "no", "on", "off", "1", "0", " true\n")
        ),
        *((INT, text, int(text)) for text in ("4", "600", "0", "-1", "+7", " 4 ")),
        (FLOAT, "5.5", 5.5),
        (FLOAT, "8", 8),
        (FLOAT, "1e-3", 0.001),
        (QUANTITY, "2", "2"),
        (BOOL, "", True),
        (INT, "", 3),
        (FLOAT, " ", 0.5),
        (QUANTITY, "", None),
        (HOSTS, "a.example.com, b.example.com", ["a.example.com", "b.example.com"]),
        (HOSTS, "a.example.com", ["a.example.com"]),
        (HOSTS, "", ["h"]),
        (RATES, "1,2.5", [1, 2.5]),
        (Field("list", "", elements=Field("bool", "")), ["false", "true"], [False, True]),
        (Field("map", "", elements=Field("int", "")), {"a": "1"}, {"a": 1}),
    ],
)
def test_a_text_is_what_it_is_beyond_doubt(field: Field, text: t.Any, meant: t.Any) -> None:
    value, mistakes = complete(text, field, "p")
    assert not mistakes and value == meant and type(value) is type(meant)


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [
        *(
            (INT, text, "is a string, not a whole number. Write a whole number.")
            for text in ("four", "4.5", "4.0", "007", "0x10", "1_000", "1e3", "9" * 40, "４")
        ),
        *((FLOAT, text, "is a string, not a number. Write a number.") for text in ("fast", "5,5", "nan", "inf", ".inf", "5.", "1e9999")),
        *((BOOL, text, "is a string, not true or false. Write true or false.") for text in ("maybe", "2", "y", "t", "wahr")),
        (BOOL, 1, "is a whole number, not true or false"),
        (FLOAT, "1e300", "is too large"),
        (Field("int", "", minimum=1), "0", "0 is less than 1."),
        (Field("int", "", required=True), "", "is missing."),
        (Field("list", "", elements=Field("int", "")), [""], "is empty."),
        (RATES, "1,0.1", "0.1 is less than 0.5"),
        (RATES, "1,many", "'many' is a string, not a number"),
        (Field("list", "", elements=Field("str", "")), "a,b", "is a string, not a list. Write it as a list: [a,b]."),
        (Field("list", "", elements=Field("str", "", format="cache_url")), "redis://a:1", "is a string, not a list"),
        (Field("list", "", elements=Field("dict", "", options={})), "a,b", "is a string, not a list"),
    ],
)
def test_any_other_text_is_refused(field: Field, text: t.Any, words: str) -> None:
    (problem,) = complete(text, field, "p")[1]
    assert words in f"{problem.reason} {problem.fix}", problem


def test_a_list_is_written_with_commas_only_where_no_element_can_hold_one() -> None:
    held = {name for name in FORMATS if not separable(Field("list", "", elements=Field("str", "", format=name)))}
    assert held == {"cache_url", "chart", "credential", "cron", "download_url", "http_url", "image", "label_key", "token"}


def texts(value: t.Any) -> t.Any:
    """The value with each boolean and number as a string."""
    if isinstance(value, dict):
        return {key: texts(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [texts(item) for item in value]
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, (int, float)) else value


@pytest.mark.parametrize("name", names())
def test_a_file_of_texts_plans_the_same(name: str) -> None:
    user = {key: value for key, value in user_file(name).items() if key.startswith("llm_d_")}
    assert texts(user) != user
    assert plan(texts(user)) == plan(user)


def scalars(fields: t.Mapping[str, Field], path: str = "") -> t.Iterator[tuple[str, Field]]:
    for name, field in fields.items():
        if field.type in ("bool", "int", "float"):
            yield f"{path}{name}", field
        for inner in (field, field.elements, field.otherwise):
            yield from scalars((inner.options if inner else None) or {}, f"{path}{name}.")


def test_every_boolean_or_number_option_accepts_a_string() -> None:
    """All options of the schema, so that new ones are tested too."""
    tried = list(scalars(VARIABLES))
    assert len(tried) > 80
    for path, field in tried:
        given: t.Any = False if field.type == "bool" else field.choices[0] if field.choices else (field.minimum or 1)
        assert complete(str(given), field, path) == (given, []), path
        assert complete("", field, path)[0] == field.default, path
        assert complete("many", field, path)[1], path


SIM = {"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}


@pytest.mark.parametrize(
    ("scheduler", "same"),
    [
        ({"scorers": {"queue": "1", "prefix": "2.5"}}, {"scorers": {"queue": 1, "prefix": 2.5}}),
        ({"preset": "balanced", "scorers": {"queue": "false"}}, {"preset": "balanced", "scorers": {"queue": False}}),
        ({"preset": "balanced", "scorers": {"queue": ""}}, {"preset": "balanced"}),
        ({"scorers": {"load_aware": {"weight": "2", "threshold": "64"}}}, {"scorers": {"load_aware": {"weight": 2, "threshold": 64}}}),
        ({"scorers": {"queue": {"enabled": "false"}, "prefix": 1}}, {"scorers": {"queue": {"enabled": False}, "prefix": 1}}),
        ({"preset": "queue", "picker_parameters": {"max_num_of_endpoints": "2"}}, {"preset": "queue", "picker_parameters": {"max_num_of_endpoints": 2}}),
        ({"preset": "balanced", "saturation": {"queue_depth": "7"}}, {"preset": "balanced", "saturation": {"queue_depth": 7}}),
        ({"preset": "balanced", "flow_control": {"enabled": "false"}}, {"preset": "balanced", "flow_control": {"enabled": False}}),
        ({"preset": "balanced", "disaggregation": "true"}, {"preset": "balanced", "disaggregation": True}),
        (
            {"preset": "precise_prefix", "scorers": {"precise_prefix": {"block_size": "64", "kv_events_port": "5601"}}},
            {"preset": "precise_prefix", "scorers": {"precise_prefix": {"block_size": 64, "kv_events_port": 5601}}},
        ),
    ],
)
def test_the_scheduler_block_accepts_strings_for_weights_and_parameters(scheduler: dict[str, t.Any], same: dict[str, t.Any]) -> None:
    service = {"name": "llama", "model": {"uri": "hf://org/m"}}
    converted, typed = (plan({"llm_d_model_services": [{**service, "scheduler": block}]})["services"][0] for block in (scheduler, same))
    assert converted["scheduler"]["config"] == typed["scheduler"]["config"] and converted["servers"] == typed["servers"]


def test_a_weight_that_is_not_a_number_is_refused() -> None:
    (problem,) = problems({"llm_d_model_services": [{**SIM, "scheduler": {"scorers": {"queue": "much"}}}]})
    assert str(problem) == "llm_d_model_services[0].scheduler.scorers.queue: 'much' is not a weight. Write a number, or 0 to remove the scorer."


def test_shared_gpus_take_a_text() -> None:
    pool = {"name": "a", "node_selector": {"pool": "a"}, "sharing": "mps"}
    given = {"llm_d_gpus": {"operator": "nvidia_helm", "pools": [{**pool, "replicas": "2"}]}}
    assert completed(given)["llm_d_gpus"]["pools"][0]["replicas"] == 2
