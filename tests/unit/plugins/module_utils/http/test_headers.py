# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Headers that users give."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.http import headers as http_headers


def test_headers_of_the_user_replace_own_headers_regardless_of_case():
    ours = {"Host": "a", "Authorization": "Bearer key", "Accept": "x"}
    assert http_headers.merged(ours, [("authorization", "Basic b"), ("x-more", "c"), ("X-More", "d")]) == {
        "Host": "a",
        "authorization": "Basic b",
        "Accept": "x",
        "X-More": "d",
    }


def test_headers_are_bytes():
    assert http_headers.head({"Host": "example.com", "Accept": "text/event-stream"}) == b"Host: example.com\r\nAccept: text/event-stream\r\n"


@pytest.mark.parametrize("headers", [{"A": "b\r\nC: d"}, {"A\n": "b"}, {"A:B": "c"}, {"A": "\x00"}])
def test_a_header_cannot_smuggle_another(headers):
    with pytest.raises(ValueError, match="cannot hold|is no name of a header"):
        http_headers.head(headers)
