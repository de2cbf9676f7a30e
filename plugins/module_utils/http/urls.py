# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base URLs of servers, and printable excerpts of their responses. Pure. Imports nothing of Ansible: the load client runs in pods without it."""

from __future__ import annotations

import collections.abc as c
import re
import urllib.parse

from ..common.text import printable

EXCERPT = 200  # characters
AGENT = "llm_d.inference"


def base_url(url: str) -> str:
    """The URL of a server without a trailing `/v1` or endpoint path. Raises ValueError that says what to write instead."""
    try:
        parts = urllib.parse.urlsplit(url.strip())
        ok = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        parts, ok = urllib.parse.urlsplit(""), False
    if not ok:
        raise ValueError(f"{url!r} is no address of a server; write http://HOST[:PORT] or https://HOST[:PORT]")
    if parts.username or parts.password:
        raise ValueError("the address holds a user name or password; put the key into api_key instead")
    if parts.query or parts.fragment:
        raise ValueError(f"{url!r} has a query or fragment; write the server's address alone, such as {parts.scheme}://{parts.netloc}")
    if problem := not_a_path(parts.path):
        raise ValueError(f"{url!r} {problem}")
    path = re.sub(r"/v1(/(models|completions|chat/completions))?$", "", parts.path.rstrip("/"))
    return f"{parts.scheme}://{parts.netloc}{path}"


def not_a_path(path: str) -> str:
    """The problem with the path of a request; empty for a valid one."""
    right = urllib.parse.quote(path, safe="/%:@!$&'()*+,;=~")
    return "" if right == path else f"has a blank or another character that no path has; write it percent-encoded: {right}"


def excerpt(text: str, secrets: c.Iterable[str] = ()) -> str:
    """The first EXCERPT characters of a text as one printable line, with every secret masked."""
    for secret in secrets:
        text = text.replace(secret, "***") if secret else text
    line = " ".join("".join(ch if ch.isprintable() else " " for ch in printable(text)).split())
    return line if len(line) <= EXCERPT else line[:EXCERPT] + "..."
