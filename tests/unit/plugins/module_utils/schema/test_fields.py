"""Completing and validating one value: defaults at any depth, strict types, every problem at once."""

from __future__ import annotations

import base64
import math

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.schema.fields import FORMATS, REDACTED, Field, complete, suggest
from ansible_collections.llm_d.inference.plugins.module_utils.schema.variables import VARIABLES

ENGINE = Field(
    "dict",
    "Engine.",
    default={},
    options={
        "port": Field("int", "Port.", default=8000, minimum=1024, maximum=65535),
        "env": Field("map", "Environment.", default={}, keys="env_name", elements=Field("str", "Value.", secret=True)),
        "simulator": Field("dict", "Simulator.", options={"seed": Field("int", "Seed.")}),
    },
)
SERVICE = Field(
    "dict",
    "Service.",
    options={
        "name": Field("str", "Name.", required=True, format="dns_label"),
        "replicas": Field("int", "Replicas.", default=1, minimum=0),
        "weight": Field("float", "Weight.", default=0.5),
        "install": Field("bool", "Install.", default=True),
        "engine": ENGINE,
        "hostnames": Field("list", "Hosts.", default=[], most=2, elements=Field("str", "Host.", format="hostname")),
        "args": Field("list", "Arguments.", elements=Field("str", "Argument.")),
        "labels": Field("map", "Labels.", default={}, most=1, elements=Field("str", "Value.")),
        "memory": Field("quantity", "Memory."),
    },
)


def problems(value: object) -> dict[str, str]:
    """{path: message} of every problem of a service."""
    return {problem.path: f"{problem.reason} {problem.fix}" for problem in complete(value, SERVICE, "s")[1]}


def test_defaults_are_completed_at_any_depth() -> None:
    value, mistakes = complete({"name": "a", "engine": {"simulator": {}}}, SERVICE, "s")
    assert not mistakes
    assert value == {
        "name": "a",
        "replicas": 1,
        "weight": 0.5,
        "install": True,
        "hostnames": [],
        "args": None,
        "labels": {},
        "memory": None,
        "engine": {"port": 8000, "env": {}, "simulator": {"seed": None}},
    }


def test_a_default_is_never_shared() -> None:
    first, second = (complete({"name": "a"}, SERVICE, "s")[0] for _count in range(2))
    first["hostnames"].append("x")
    assert second["hostnames"] == []


def test_an_option_without_a_value_counts_as_left_out() -> None:
    value, mistakes = complete({"name": "a", "replicas": None, "engine": None}, SERVICE, "s")
    assert not mistakes
    assert value["replicas"] == 1 and value["engine"]["port"] == 8000


def test_all_mistakes_are_reported_at_once() -> None:
    assert set(problems({"name": "A_b", "replicas": -1, "engine": {"port": 1, "prot": 2}, "hostnames": ["ok", "Not ok"]})) == {
        "s.name",
        "s.replicas",
        "s.engine.port",
        "s.engine.prot",
        "s.hostnames[1]",
    }


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        ({"name": "a", "replicas": "four"}, "s.replicas", "'four' is a string, not a whole number. Write a whole number, at least 0."),
        ({"name": "a", "replicas": True}, "s.replicas", "is true/false, not a whole number"),
        ({"name": "a", "replicas": 1.5}, "s.replicas", "is a number, not a whole number"),
        ({"name": "a", "install": "maybe"}, "s.install", "'maybe' is a string, not true or false. Write true or false."),
        ({"name": "a", "install": 1}, "s.install", "is a whole number, not true or false"),
        ({"name": 8}, "s.name", 'Write it in quotes: "8"'),
        ({}, "s.name", "is missing."),
        ({"name": "a", "engine": []}, "s.engine", "is a list, not a mapping"),
        ({"name": "a", "hostnames": 5}, "s.hostnames", "Write it as a list: [5]."),
        ({"name": "a", "args": "--a,--b"}, "s.args", "Write it as a list: [--a,--b]."),
        ({"name": "a", "hostnames": {"h": 1}}, "s.hostnames", "Put '- ' in front of each element."),
        ({"name": "a", "hostnames": [None]}, "s.hostnames[0]", "is empty."),
        ({"name": "a", "hostnames": ["a", "b", "c"]}, "s.hostnames", "has 3 elements. Write at most 2."),
        ({"name": "a", "labels": {"a": "1", "b": "2"}}, "s.labels", "has 2 elements. Write at most 1."),
        ({"name": "a", "port": 1}, "s.port", "Write it under engine."),
        ({"name": "a", "seed": 1}, "s.seed", "Write it under engine.simulator."),
        ({"name": "a", "zzz": 1}, "s.zzz", "Allowed here: args, engine, hostnames, install, labels, memory, name, replicas, weight."),
        ({"name": "a", "replcas": 1}, "s.replcas", "Did you mean 'replicas'?"),
        ({"name": "a", "memory": "5 GB"}, "s.memory", "Kubernetes quantity"),
        ({"name": "a", "engine": {"env": {"1X": "v"}}}, "s.engine.env.1X", "not starting with a digit"),
        ({"name": "a", "weight": math.inf}, "s.weight", ".inf is too large."),
        ({"name": "a", "weight": -math.inf}, "s.weight", "-.inf is too large."),
        ({"name": "a", "weight": math.nan}, "s.weight", ".nan is not a number."),
        ({"name": "a", "replicas": 10**400}, "s.replicas", "is too large."),
        ({"name": "a", "weight": {(1, 2): 3}}, "s.weight", "is a mapping"),
        ({"name": "a", "engine": {"env": {5: "v"}}}, "s.engine.env.5", 'Write it in quotes: "5".'),
    ],
)
def test_each_mistake_is_reported_with_its_correction(value: object, path: str, words: str) -> None:
    messages = problems(value)
    assert list(messages) == [path]
    assert words in messages[path]


def test_a_whole_number_is_a_number_and_a_quantity() -> None:
    value, mistakes = complete({"name": "a", "weight": 2, "memory": 2}, SERVICE, "s")
    assert not mistakes
    assert value["weight"] == 2 and value["memory"] == "2"


def test_a_secret_is_never_shown() -> None:
    mistakes = complete({"name": "a", "engine": {"env": {"TOKEN": 31337}}}, SERVICE, "s")[1]
    assert [problem.value for problem in mistakes] == [REDACTED]
    assert "31337" not in str(mistakes[0])


def test_a_former_choice_is_refused_with_its_replacement() -> None:
    field = Field("str", "Provider.", choices=("envoy_gateway",), replaced={"contour": "envoy_gateway"})
    assert "is not supported any more. Write envoy_gateway, which replaces it." in str(complete("contour", field, "p")[1][0])
    assert "Did you mean 'envoy_gateway'?" in str(complete("envoy", field, "p")[1][0])


def test_a_suggestion_ignores_case_and_dashes() -> None:
    assert suggest("Max-Model-Len", ["max_model_len", "block_size"]) == "max_model_len"
    assert suggest("frobnicate", ["max_model_len"]) is None


HF_TOKEN = "hf_" + "abcdEFGHij" * 3 + "KLmn"
IN_BASE64 = base64.b64encode(HF_TOKEN.encode()).decode()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("token", text) for text in (HF_TOKEN, "changeme", "a,b", "Bearer", "BearerToken", "key=", "aGZf", "a\\nb")),
        *(("credential", text) for text in ("pass word", "$oauthtoken", "p\xe4ssw\xf6rt", '{"a": "b"}', '"', "x")),
    ],
)
def test_a_credential_is_accepted(name: str, text: str) -> None:
    assert FORMATS[name].pattern.match(text)


@pytest.mark.parametrize(
    "text",
    [
        *("{}", "{}\u200b", "\ufeff{}", "`{}`", "<{}>", "Token {}", "HF_TOKEN={}", "https://me:{}@huggingface.co/x", "--hf-token={}", "{}\r\n"),
        "{0}\u2060",
    ],
)
def test_a_token_in_an_option_that_is_no_secret_is_refused_and_not_shown(text: str) -> None:
    for token in (HF_TOKEN, IN_BASE64):
        [problem] = complete(text.format(token), Field("str", "A name."), "name")[1]
        assert "access token" in str(problem) and token not in f"{problem} {problem.value}", text


@pytest.mark.parametrize(
    "token",
    [
        HF_TOKEN[:20] + "\n" + HF_TOKEN[20:],
        *(f"{head}{'a1B2' * 12}" for head in ("npm_", "gsk_", "r8_", "pypi-AgE", "hvs.", "ya29.", "sha256~", "ghu_")),
        "AIza" + "a1B2c" * 7,
        "dop_v1_" + "ab12" * 16,
    ],
)
def test_tokens_of_others_are_known_too(token: str) -> None:
    [problem] = complete(token, Field("str", "A name."), "name")[1]
    assert "access token" in str(problem)


def test_a_text_that_only_resembles_a_token_is_accepted() -> None:
    for text in (
        "hf_transfer is enabled and used for\nall models of this cluster",
        "hf_transfer_of_models",
        "sha256:" + "0" * 64,
        "meta-llama/Llama-3.1-8B-Instruct",
    ):
        assert complete(text, Field("str", "A text."), "text")[1] == []


def test_a_token_in_place_of_a_mapping_is_not_shown() -> None:
    field = Field("dict", "A mapping.", options={"name": Field("str", "A name.")})
    for value in (HF_TOKEN, [HF_TOKEN], f"Bearer {HF_TOKEN}"):
        assert HF_TOKEN not in str(complete(value, field, "x")[1][0])


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_example_of_a_format_has_that_format(name: str) -> None:
    assert FORMATS[name].pattern.match(FORMATS[name].example)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dns_label", "a" * 64),
        ("dns_label", "-a"),
        ("dns_label", "a.b"),
        ("dns_label", "a\n"),
        ("quantity", "1 Gi"),
        ("duration", "5"),
        ("url_path", "llama"),
        ("url_path", "/a//b"),
        ("url_path", "//"),
        ("url_path", "//a"),
        ("chart", "oci://u:planted@registry.example.com/charts/c"),
        ("chart", "oci://planted@registry.example.com/charts/c"),
        ("url_path", "/a/../b"),
        ("url_path", "/a/."),
        ("url_path", "/.."),
        ("url_path", "/a b"),
        ("url_path", f"/{'a' * 1024}"),
        ("image", "vllm"),
        ("image", "a//b:1"),
        ("image", "Mine/X:1"),
        ("image", "Mine/x:1"),
        ("image", "mine/x.:1"),
        ("image", "mine/a___b:1"),
        ("image", "mine/a.-b:1"),
        ("image", "/x:1"),
        ("image", "https://mine/x:1"),
        ("image", "mine.example.com:port/x:1"),
        ("image", "mine/x:" + "1" * 129),
        ("image", "mine/x:-1"),
        ("image", "mine/x:1 "),
        ("image", "mine/x:1\n"),
        ("image", f"mine/{'x' * 251}:1"),
        ("image", "mine/vllm@sha256:ab"),
        ("image", f"mine/vllm@sha256:{'A' * 64}"),
        ("image", f"mine/vllm@md5:{'a' * 64}"),
        ("image", "mine/vllm:1@sha256:ab"),
        ("image_prefix", "host/"),
        ("model_uri", "meta-llama/x"),
        ("model_uri", "hf://x"),
        ("model_uri", "pvc://claim/../model"),
        ("gateway_duration", "1.5s"),
        ("hostname", "a.*.b"),
        ("label_value", "a b"),
        *(("token", text) for text in ("Bearer:x", "authorization:x", "x\\n", '"x', "x'", "`x`", "<x>", "HF_TOKEN=x", "$ANSIBLE_VAULT;1.1;AES256")),
        *(("token", text) for text in (IN_BASE64, "x\u200b", "\ufeffx", "x\xa0", "a\nb", "\u201cx\u201d", "x\r\n")),
        *(("credential", text) for text in ("a\nb", "a\r\n", "a\u2060", "a\u200bb", "a\x00", "\u201ca\u201d", "a\u00adb", "\ufeffa")),
    ],
)
def test_a_text_of_an_invalid_format_is_refused(name: str, text: str) -> None:
    assert not FORMATS[name].pattern.match(text)


@pytest.mark.parametrize(
    "text",
    [
        "vllm:1",
        "a/b/c/d-e__f.g--h:v1_2.3-4",
        "_".join("ab") + ":_x",
        "Registry.Example.com/mine/x:1",
        "registry-1.example.com:5000/x:1",
        "localhost:5000/x:1",
        "localhost/x:1",
        "[fd00::1]:5000/x:1",
        f"mine/x@sha256:{'0a' * 32}",
        f"mine/x:1@sha256:{'0a' * 32}",
        f"mine/x@sha512:{'0a' * 64}",
        "mine/x:" + "1" * 128,
        f"mine/{'x' * 250}:{'1' * 128}",
    ],
)
def test_a_valid_image_is_accepted(text: str) -> None:
    assert FORMATS["image"].pattern.match(text)


def test_every_default_and_example_of_the_schema_is_valid() -> None:
    def walk(field: Field, path: str) -> None:
        for text in (field.default, field.example):
            if text is not None:
                assert complete(text, field, path)[1] == [], path
        for name, inner in (field.options or {}).items():
            walk(inner, f"{path}.{name}")
        if field.elements:
            walk(field.elements, f"{path}[]")

    for name, field in VARIABLES.items():
        walk(field, name)


def test_a_list_is_accepted_as_text_with_lines_or_commas() -> None:
    """The answer to a survey question with several lines is such a text."""
    names = Field("list", "", elements=Field("str", "", format="dns_label"))
    assert complete("a\r\nb\n, c,\n", names, "x") == (["a", "b", "c"], [])
    assert complete("1\n2.5\n", Field("list", "", elements=Field("float", "")), "x") == ([1, 2.5], [])
    assert complete("a b", names, "x")[1], "a blank divides nothing"
