# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text on one line: folded, cut at a limit, and without control characters, and secrets where it may hold some."""

from __future__ import annotations

import re

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.text import all_printable, legible, one_line, pluralize, printable, redact, shorten
from ansible_collections.llm_d.inference.plugins.module_utils.http.urls import excerpt
from ansible_collections.llm_d.inference.plugins.module_utils.report.html import escape
from hypothesis import given
from hypothesis import strategies as st


def test_one_line_folds_and_cuts():
    assert one_line("a\n  b") == "a b" and len(one_line("x" * 1000)) == 400
    assert one_line("x" * 20, 20) == "x" * 20 and one_line("x" * 21, 20) == "x" * 16 + " ..."


def test_shorten_redacts_before_it_cuts():
    assert shorten("password=hunter22\n next") == "password=(removed) next"
    assert len(shorten("x" * 1000)) == 240
    assert "hunter22" not in shorten("y" * 230 + " password=hunter22")


# What a terminal executes: colours, a moved cursor, a title, a hyperlink, a clipboard, C1 forms of the same, BEL, CR, backspace, writing directions.
HOSTILE = [
    "\x1b[31mred\x1b[0m", "\x1b[2J\x1b[1;1H", "\x1b]0;title\x07", "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "\x1b]52;c;cm0gLXJm\x07", "\x1bc", "\x1b(0",
    "\x1bP+q\x1b\\", "\x9b31m", "\x9d0;title\x9c", "\x90+q\x9c", "\x07", "\x08\x08\x08", "\x7f", "good\rbad", "\u202etxt.exe\u202c", "\u2066x\u2069",
    "\u200f", "\u061c", "\x85", "\u2028", "\x1b", "\x1b[", "\x1b]0;never ends", "\x1b\x1b[31m[32mx", "\x00",
]  # fmt: skip
EXECUTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("door", [printable, redact, one_line, shorten, excerpt, escape, lambda text: all_printable({"a": [text]})["a"][0]])
def test_no_control_character_passes_a_door(door, text):
    shown = door(f"before {text} after")
    assert EXECUTED.search(text) and not EXECUTED.search(shown) and shown.startswith("before")


@given(st.text(alphabet=st.sampled_from("\x1b\x9b\x9d\x07\x9c[]\\;0m\r\n\t ab\u202e")))
def test_no_mixture_of_them_passes_either(text):
    shown = printable(text)
    assert not EXECUTED.search(shown.replace("\r\n", "")) and printable(shown) == shown


def test_terminal_sequences_are_removed_and_words_are_kept():
    assert printable("\x1b[1;31mERROR\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ end") == "ERROR link end"
    assert printable("a\tb\nc\r\nd") == "a\tb\nc\r\nd" and printable("一 é \U0001f600 \u200c") == "一 é \U0001f600 \u200c"
    assert redact("\x1b[31mtoken=\x1b[0mabcdefgh1234") == "token=(removed)"


def test_a_json_web_token_is_redacted_anywhere_in_a_text():
    token = "eyJ" + "a" * 20 + "." + "b" * 20 + "." + "c-_" * 5
    for text in (token, f"x {token} y", f"x-{token}", f'"{token}"', f"a.{token}", f"key={token};", f"eyJ-{token}"):
        assert token not in redact(text) and "bbbb" not in redact(text) and "(removed)" in redact(text), text
    assert redact("eyJhbGciOiJub25l is no token") == "eyJhbGciOiJub25l is no token"


@pytest.mark.parametrize(
    "text",
    [
        "{'api_key': ['planted', 'b-planted'], 'model': 'x'}",
        "'--api-key=planted' is a string",
        "Write --api-key planted --port 80",
        "--secret-key=planted",
        "--s3-secret-key planted",
        "--oauth2-token=planted",
        "--api-keys planted",
        "--private-key planted",
        "--passphrase=planted",
        '{"hf_token":"planted"}',
        "HF_TOKEN=planted",
        '--header "Authorization: planted"',
        "Authorization: Basic planted",
        '["--api-key","planted", "b planted","--port"]',
        '{\\"args\\":[\\"--token\\",\\"planted\\"]}',
        "https://u:planted@h/c",
        '--api-key "planted b-planted" --port 80',
        "--api-key='planted b-planted z' --port 80",
        "sh -c '--token=\"planted b-planted\"; x' --port",
        "--api-key $'planted b-planted' --port",
        "--api-key=planted,b-planted;c-planted --port",
        "--api-key=planted,--port=80",
        """{"api_key": "planted, b-planted", 'model': 'x'}""",
        """{"api_key": "planted\\"b-planted", 'model': 'x'}""",
        """{'password': 'planted''b-planted', 'model': 'x'}""",
        """--password='planted'"'"'b-planted' --port""",
        '{\\"api_key\\":\\"planted \\\\\\"b-planted\\"}',
        '{\\\\\\"password\\\\\\":\\\\\\"planted b-planted\\\\\\"}',
        '{"password": "planted b-planted',
        "password: planted b-planted",
        "  - api_key: planted, b-planted # of ours\n    model: x",
        "a:\n  password: |\n    planted\n\n    b-planted\n  model: x",
        '-H "x-api-key: planted b-planted" --port',
        'Authorization: Digest username="planted", response="b-planted"',
        'HF_TOKEN="planted b-planted"',
        '{"idToken": "planted"}',
        "https://u:a@planted@h/c",
        "https://planted@h/c",
        "-----BEGIN RSA PRIVATE KEY-----\nplanted\nb-planted==\n-----END RSA PRIVATE KEY-----",
        "client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQplanted",
    ],
)
def test_a_secret_is_removed_however_it_is_written(text):
    shown = redact(text)
    assert "planted" not in shown and "(removed)" in shown and redact(shown) == shown
    words = ("'model': 'x'", "--port", "model: x", " # of ours")
    assert [word for word in words if word in text] == [word for word in words if word in shown]


@pytest.mark.parametrize(
    "text",
    [
        "--max-num-batched-tokens 8192 --tokenizer acme/tiny --time-per-token 500us --bucket-time-to-first-token 1",
        "token_key: HF_TOKEN, max_tokens=123456789, prompt_tokens: 123456789, tokens_per_second=123456789",
        "secretKeyRef: {name: llm-d-hf, key: HF_TOKEN}, imagePullSecrets: []",
        "--api-key is in engine.args, and hf_token=None",
        "--api-key needs a value; --token takes none, and --hf-token may be --hf-token-file",
        "'--api-key' and \"--port\" are both given, [api_key] in 'engine.args'",
        'secret "llm-d-hf" not found; {"error":"invalid_token","error_description":"of another account"}',
        "llm_d_benchmark.api_key: is missing. Write a text.",
        "oci://ghcr.io/llm-d/charts@sha256:abc, ssh://git@h/c, http://a.example/b and a@b.example",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ],
)
def test_texts_without_a_secret_are_not_redacted(text):
    assert redact(text) == text


def test_a_large_text_is_read_once():
    """A regression would not end: each of these texts makes a pattern start again at every character."""
    for piece in (
        'password: "',
        "password='\\\\",
        "password: x \\\\",
        "password: |\n x\n",
        "-a",
        "a-",
        "\\\\",
        " ",
        '--token "a',
        "-----BEGIN PRIVATE KEY-----",
    ):
        assert "planted" not in redact(piece * (200_000 // len(piece)) + '\n--api-key "planted b-planted"')


def test_pluralize():
    assert [pluralize(count, "server") for count in (0, 1, 2)] == ["0 servers", "1 server", "2 servers"]


@pytest.mark.parametrize("text", ["To", "!", "7", "\u4e16", "\u0e01\u0e33", "\u2713", "\U0001f600", " x ", "a\u0301", "\ufffdA", "$"])
def test_a_text_with_a_visible_character_is_legible(text):
    assert legible(text)


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\0", "\ufffd \ufffd", "\u200b\ufeff", "\u00a0\u3000", "\ue000", "\u2800", "\u3164", "\u115f\u1160\uffa0", "\ufe0f", "\u034f", "\u0301"],
)
def test_a_text_without_a_visible_character_is_not_legible(text):
    assert not legible(text)
