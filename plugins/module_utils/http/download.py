# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Downloads one text from a URL: bounded in size, time and redirects, over https unless plain http is allowed, verified against its checksum."""

from __future__ import annotations

import hashlib
import time
import typing as t
import urllib.error
import urllib.parse
import urllib.request
import zlib

from ansible.module_utils.urls import open_url

from .errors import ExchangeError
from .exchange import MAX_BODY, exchange
from .urls import AGENT

REDIRECTS = 5
_REDIRECT = (301, 302, 303, 307, 308)
_COMPRESSED = {"gzip": 31, "x-gzip": 31, "deflate": 47}  # by content encoding: the window of zlib


def is_url(source: str) -> bool:
    """Whether a source is a URL, not a path."""
    return source.lower().startswith(("https://", "http://"))


def download(url: str, timeout: float, sha256: str | None = None, insecure: bool = False) -> str:
    """The text at a URL. sha256: of its bytes; insecure: whether plain http is allowed, also for redirects.

    Raises ExchangeError where no complete answer comes within `timeout` seconds or the way to it is refused, and ValueError for content that is refused.
    """
    _check(url, insecure, "")
    answer = exchange(f"GET {url}", _Redirected(insecure), urllib.request.Request(url), timeout)
    if answer.status != 200:
        raise ValueError(f"the server answers {answer.status}")
    content = _plain(answer.body, answer.headers.get("content-encoding", "identity").lower())
    digest = hashlib.sha256(content).hexdigest()
    if sha256 and digest != sha256:
        raise ValueError(f"its sha256 is {digest}, not {sha256}: it has been changed or replaced; if the new content is right, write its sha256")
    return content.decode("utf-8")


class _Redirected(urllib.request.OpenerDirector):
    """Follows a few redirects, each to https. With Ansible's own rules for CAs, proxies and .netrc."""

    def __init__(self, insecure: bool) -> None:
        super().__init__()
        self._insecure = insecure

    def open(self, fullurl: t.Any, data: t.Any = None, timeout: float | None = None) -> t.Any:
        """The response to a request, as urllib's opener gives it. Raises ExchangeError for a redirect that is not followed."""
        url: str = fullurl.full_url
        end = time.monotonic() + (timeout or 0)
        for _hop in range(REDIRECTS + 1):
            try:
                return open_url(url, timeout=max(0.1, end - time.monotonic()), http_agent=AGENT, follow_redirects="none", decompress=False)
            except urllib.error.HTTPError as error:
                target = error.headers.get("Location")
                if error.code not in _REDIRECT or not target:
                    raise
                error.close()
                if time.monotonic() > end:
                    raise TimeoutError from None
                before, url = url, urllib.parse.urljoin(url, target)
                _check(url, self._insecure, f"{before} redirects to ")
        raise ExchangeError("redirects", f"more than {REDIRECTS} redirects, the last to {url}", "write the address of the file itself")


def _check(url: str, insecure: bool, how: str) -> None:
    allowed = ("https", "http") if insecure else ("https",)
    if urllib.parse.urlsplit(url).scheme not in allowed:
        why = "plain http, which anybody on the way can change" if url.startswith("http:") else "neither https nor http"
        remedy = "write an https:// address, or allow plain http: {url: ..., insecure: true}"
        raise ExchangeError("unsafe", f"{how}{url} is {why}", remedy)


def _plain(body: bytes, encoding: str) -> bytes:
    """The content of a response. Compression that was not requested is accepted; content that grows beyond MAX_BODY is refused."""
    if encoding in ("", "identity"):
        return body
    if encoding not in _COMPRESSED:
        raise ValueError(f"the server answers with the content encoding {encoding!r}, which was not requested")
    try:
        unpacked = zlib.decompressobj(_COMPRESSED[encoding])
        content = unpacked.decompress(body, MAX_BODY)
    except zlib.error as error:
        raise ValueError(f"its {encoding} content cannot be unpacked: {error}") from None
    if unpacked.unconsumed_tail:
        raise ValueError(f"its {encoding} content is longer than {MAX_BODY >> 20} MiB when it is unpacked")
    return content
