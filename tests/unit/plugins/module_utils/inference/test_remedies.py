# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user is told to do: each status and each difference between servers has its own words."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.http.answer import Answer
from ansible_collections.llm_d.inference.plugins.module_utils.http.errors import ExchangeError
from ansible_collections.llm_d.inference.plugins.module_utils.inference import replicas, responses


def answered(status, body, content_type="application/json"):
    with pytest.raises(ExchangeError) as caught:
        responses.json_object(Answer("GET http://h/v1/models", status, {"content-type": content_type}, body, 0.1))
    return caught.value


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "its answer says why"),
        (401, "requires an API key"),
        (403, "rejects this client"),
        (404, "nothing serves this path"),
        (405, "not an OpenAI-compatible server"),
        (412, "precondition"),
        (413, "limits the size of requests"),
        (429, "queue is full"),
        (500, "the server failed"),
        (502, "could not reach the server"),
        (503, "no server is ready yet"),
        (504, "the gateway timed out"),
    ],
)
def test_each_status_has_its_remedy(status, words):
    assert words in answered(status, b"{}").remedy


@pytest.mark.parametrize(
    ("content_type", "body"), [("text/html", b"Sign in"), ("application/json", b" <!DOCTYPE html><p>Sign in"), ("text/plain", b"<HTML>Sign in</HTML>")]
)
def test_a_web_page_is_one_by_its_type_or_by_its_text(content_type, body):
    trouble = answered(200, body, content_type)
    assert trouble.kind == "html" and "no_proxy" in trouble.remedy


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"models": [{"id": "n", "max_model_len": 4096}]}, "serve the same models everywhere"),
        ({"models": [{"id": "m", "max_model_len": 512}]}, "the same arguments"),
        ({"version": "0.32.1"}, "one engine and one version"),
        ({"engine": "sglang"}, "one engine and one version"),
    ],
)
def test_each_difference_has_its_remedy(change, words):
    alike = {"engine": "vllm", "version": "0.33.0", "models": [{"id": "m", "max_model_len": 4096}], "metrics": {}, "checks": []}
    found = replicas.compare([{"server": "a", **alike}, {"server": "b", **alike, **change}])
    assert any(words in str(each) for each in found)
