# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence that is kept contains no secret."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.labels import RESTORES
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.sanitize import (
    LAST_APPLIED,
    event_table,
    file_name,
    redact_change,
    redact_object,
    redact_part,
    removed_values,
)
from recorded import recorded


def test_a_secret_keeps_its_keys_only():
    metadata = {"name": "s", "managedFields": [1], "annotations": {LAST_APPLIED: '{"data":{"k":"dg=="}}', "a": "b"}}
    obj = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"token": "aGZfYWJj"}, "type": "Opaque"}
    kept = {"name": "s", "annotations": {"a": "b"}}
    assert redact_object(obj) == {"apiVersion": "v1", "kind": "Secret", "metadata": kept, "data": {"token": "(removed)"}, "type": "Opaque"}
    assert obj["data"]["token"] == "aGZfYWJj"


def test_the_configmap_of_a_comparison_shows_only_its_keys():
    metadata = {"name": "a-compare", "labels": {RESTORES: "a"}}
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"objects.json": '[{"env": [{"name": "A", "value": "b"}]}]'}}
    assert redact_object(obj)["data"] == {"objects.json": "(removed)"}
    assert redact_object({**obj, "metadata": {"name": "a-compare"}})["data"] == obj["data"]


def test_environment_and_arguments():
    obj = recorded("pod_crash")
    container = obj["spec"]["containers"][0]
    container["env"] = [
        {"name": "HF_TOKEN", "value": "plain"},
        {"name": "MODE", "value": "fast"},
        {"name": "OTHER", "value": "hf_abcdefgh1234"},
        {"name": "REF", "valueFrom": {"secretKeyRef": {"name": "llm-d-hf-token", "key": "token"}}},
    ]
    container["args"] = ["--api-key=sk-abcdefghijklmnop", "--port=8000"]
    env = redact_object(obj)["spec"]["containers"][0]["env"]
    assert [entry.get("value") for entry in env] == ["(removed)", "(removed)", "(removed)", None] and env[3] == container["env"][3]
    assert redact_object(obj)["spec"]["containers"][0]["args"] == ["--api-key=(removed)", "--port=8000"]
    container["args"] = ["--api-key", "plain", "--tokenizer", "acme/tiny", "--hf-token", "word", "--api-key", "--max-num-batched-tokens", "8192"]
    assert redact_object(obj)["spec"]["containers"][0]["args"] == [
        "--api-key",
        "(removed)",
        "--tokenizer",
        "acme/tiny",
        "--hf-token",
        "(removed)",
        "--api-key",
        "--max-num-batched-tokens",
        "8192",
    ]


def test_short_secrets_in_arguments_however_they_are_written():
    redacted = redact_part(
        {
            "args": ["--api_key=x", "--hf-token=ab", "--time-per-token=500us", "-token", "y", "--access-key-id=z"],
            "command": ("sh", "-c", "serve --api-key x --port 1"),
        }
    )
    assert redacted == {
        "args": ["--api_key=(removed)", "--hf-token=(removed)", "--time-per-token=500us", "-token", "(removed)", "--access-key-id=z"],
        "command": ["sh", "-c", "serve --api-key (removed) --port 1"],
    }


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["--api-key", "k1", "k2", "--port", "80"], ["--api-key", "(removed)", "(removed)", "--port", "80"]),
        (["--api-key", "-x"], ["--api-key", "(removed)"]),
        (["-token", "y", "-v", "2"], ["-token", "(removed)", "-v", "2"]),
        (["--api-key x --port 80"], ["--api-key (removed)"]),
        (["--s3-secret-key", "x", "--oauth2-token=x"], ["--s3-secret-key", "(removed)", "--oauth2-token=(removed)"]),
        (["--private-key", "x", "--passphrase=x"], ["--private-key", "(removed)", "--passphrase=(removed)"]),
        (["--bucket-time-to-first-token", "1", "2"],) * 2,
        ([{"--api-key": "x"}, {"api_key": ["x"], "token_key": "HF_TOKEN", "secretName": "s"}],)
        + ([{"--api-key": "(removed)"}, {"api_key": "(removed)", "token_key": "HF_TOKEN", "secretName": "s"}],),
        ({"name": "x-api-key", "value": "x"}, {"name": "x-api-key", "value": "(removed)"}),
    ],
)
def test_forms_of_secrets(given, shown):
    assert redact_part(given) == shown == redact_part(shown)


@pytest.mark.parametrize(
    "name", ["Cookie", "X-Goog-Signature", "Ocp-Apim-Subscription-Key", "jwt", "DB_PASSWORD", "TLS_PRIVATE_KEY", "HF_TOKENS", "client-secret", "Credentials"]
)
def test_an_entry_with_the_name_of_a_credential_has_no_value(name):
    """The same list of names, in common/credentials.py, hides headers of a load."""
    assert redact_part([{"name": name, "value": "plain"}]) == [{"name": name, "value": "(removed)"}]


@pytest.mark.parametrize("name", ["MODE", "MAX_TOKENS", "TOKENIZER_MODE", "cache-key", "SECRET_NAME"])
def test_an_entry_with_another_name_has_its_value(name):
    assert redact_part([{"name": name, "value": "plain"}]) == [{"name": name, "value": "plain"}]


def test_hidden_values_keep_their_marker_when_redacted_again():
    assert redact_part({"HF_TOKEN": "(hidden, another value)", "password": "(hidden)", "api_key": "x"}) == {
        "HF_TOKEN": "(hidden, another value)",
        "password": "(hidden)",
        "api_key": "(removed)",
    }


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (["--api-key=a", "--port=1"], ["--api-key=b", "--port=1"], ["--api-key=(hidden, another value)", "--port=1"]),
        (["--api-key", "a", "--token=x"], ["--api-key", "b", "--token=x"], ["--api-key", "(hidden, another value)", "--token=(removed)"]),
        (["--api-key=a", "--port=1"], ["--api-key=b", "--port=1", "-v"], ["--api-key=(hidden, another value)", "--port=1", "-v"]),
        (["--api-key=a"], ["--port=1", "--api-key=a"], ["--port=1", "--api-key=(removed)"]),
        ({"a": {"api_key": ["one"]}}, {"a": {"api_key": ["two"]}}, {"a": {"api_key": "(hidden, another value)"}}),
        ({"c": "password: a b\ntoken: abcdefgh\n"}, {"c": "password: a c\ntoken: abcdefgh\n"}, {"c": "password: (hidden, another value)\ntoken: (removed)\n"}),
        ({}, {"args": ["--api-key=a"]}, {"args": ["--api-key=(removed)"]}),
    ],
)
def test_a_changed_secret_value_is_marked_as_another_value(before, after, shown):
    assert redact_change(before, after) == (redact_part(before), shown)


def test_removed_values_holds_every_redacted_value():
    part = {"args": ("--api-key", "one", "two", "--token=three", "--port"), "url": "https://u:four@h", "env": [{"name": "HF_TOKEN", "value": "five"}]}
    assert removed_values({**part, "api_key": ["six", {"a": "seven"}]}) == {"one", "two", "three", "four", "five", "six", "seven"}


def test_redaction_leaves_objects_without_secrets_unchanged():
    for name in ("deployment", "gateway", "httproute", "pod_ready", "pod_bad_image"):
        assert redact_object(recorded(name)) == recorded(name)


def test_file_names():
    assert file_name("Deployment", "llm-d", "sim") == "deployment-llm-d-sim"
    assert file_name("ClusterRole", "", "certgen:envoy/../../etc") == "clusterrole-certgen-envoy-..-..-etc"


def test_events_as_lines():
    lines = event_table(recorded("events_bad_image")).splitlines()
    assert [line[:20] for line in lines] == sorted(line[:20] for line in lines) and "Scheduled" in lines[0] and "Pod/bad-image-" in lines[0]
