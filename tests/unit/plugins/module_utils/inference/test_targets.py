# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The addresses and the headers of requests."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.inference.targets import Targets
from local_servers import JSON, serve, whole


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"headers": {"x two": "a"}}, "headers.x two: 'x two' is no name of a header"),
        ({"headers": {"content-length": "1"}}, "headers.content-length: this client writes it itself; take it out"),
        ({"headers": {"host": "a"}, "host_header": "b"}, "headers.host: this client writes it itself; write host_header instead"),
        ({"headers": {"X-A": "a", "x-a": "b"}}, "headers.x-a: is the same header as headers.X-A; give one of them"),
        ({"headers": {"x": "za\u017c\u00f3\u0142\u0107"}}, "headers.x: the header 'x' holds a character that headers cannot hold"),
        ({"headers": {"authorization": "Basic x"}, "api_key": "sk-planted"}, "headers.authorization: api_key is sent in it; give one of them"),
        ({"api_key": "sk-planted\u0142"}, "host_header, api_key: the header 'Authorization' holds a character that headers cannot hold"),
    ],
)
def test_headers_that_cannot_be_sent_as_they_are_written(options: dict[str, t.Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        Targets({"url": "http://127.0.0.1:1", **options})
    assert str(caught.value).startswith(message)


def test_headers_of_the_user_are_sent_once() -> None:
    requests = []

    def answer(handler: t.Any, _method: str, _path: str, _body: bytes) -> t.Any:
        requests.append([(name.lower(), value) for name, value in handler.headers.items()])
        return 200, {"Content-Type": JSON}, whole()

    with serve(answer) as url:
        headers = {"X-Variant": "b", "content-type": "application/vnd.x+json"}
        Targets({"url": url, "headers": headers, "host_header": "a.example.com"}).find()[0].client.complete("m", "hello")
    (sent,) = requests
    assert [value for name, value in sent if name == "content-type"] == ["application/vnd.x+json"]
    assert ("x-variant", "b") in sent and ("host", "a.example.com") in sent
