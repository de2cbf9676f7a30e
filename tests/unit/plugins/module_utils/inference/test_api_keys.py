# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API key in a Secret, and Secrets without a key that a request can carry."""

from __future__ import annotations

import base64
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.inference.api_keys import read

WANTED = {"namespace": "llm-d", "name": "keys", "key": "API_KEY"}


class Cluster:
    def __init__(self, secret: t.Any) -> None:
        self.secret = secret

    def find(self, path: str) -> t.Any:
        assert path == "/api/v1/namespaces/llm-d/secrets/keys"
        return self.secret


def encoded(text: str) -> dict[str, t.Any]:
    return {"data": {"API_KEY": base64.b64encode(text.encode()).decode()}}


def test_the_key_of_a_secret() -> None:
    assert read(Cluster(encoded("sk-planted")), WANTED) == "sk-planted"


@pytest.mark.parametrize(
    ("secret", "message"),
    [
        (None, "there is no Secret llm-d/keys"),
        ({}, "has no key API_KEY"),
        ({"data": {"other": "c2stcGxhbnRlZA=="}}, "has no key API_KEY"),
        (encoded("sk-planted\n"), "white space"),
        (encoded("Bearer sk-planted"), "white space"),
        (encoded("sk-planted\u0142"), "non-ASCII"),
        ({"data": {"API_KEY": "c2stcGxhbnRlZA"}}, "non-ASCII"),
        ({"data": {"API_KEY": 5}}, "non-ASCII"),
    ],
)
def test_a_secret_without_a_key_that_can_be_sent(secret: t.Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        read(Cluster(secret), WANTED)
    assert message in str(caught.value) and ": " in str(caught.value) and "planted" not in str(caught.value)
