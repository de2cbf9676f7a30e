# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Headers of requests, and mistakes in those that users give. Pure. Imports nothing of Ansible: the load client runs in pods without it."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

# Headers that a client writes itself, each with the option that sets its value.
OWN = {"content-length": "", "transfer-encoding": "", "connection": "", "host": "host_header"}
_HOST = re.compile(r"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]*")  # RFC 3986, 3.2.2 and 3.2.3
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def merged(ours: c.Mapping[str, str], theirs: c.Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers, each once whatever its case: theirs, of the user, replace ours."""
    by_name = {name.lower(): (name, value) for name, value in [*ours.items(), *theirs]}
    return dict(by_name.values())


def head(headers: c.Mapping[str, str]) -> bytes:
    """The headers that all requests share, as bytes. Raises ValueError for one that is none (RFC 9110, 5.1 and 5.5)."""
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a header: letters, digits and some of '!#$%&*+-.^_|~', without a blank")
        if any(ord(char) < 32 or char == "\x7f" or ord(char) > 255 for char in value):
            raise ValueError(f"the header {name!r} holds a character that headers cannot hold")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("latin-1")


def problems(given: c.Mapping[str, t.Any], host: str | None, key: str | None) -> list[str]:
    """Mistakes in the options headers, host_header and api_key: only texts are sent as they are written, since YAML has read 010 as 8 and yes as true."""
    mistakes: list[str] = []
    spellings: dict[str, str] = {}
    for name, value in given.items():
        first = spellings.setdefault(name.lower(), name)
        try:
            if not isinstance(value, str):
                raise ValueError(f"{value!r} is no text; write it in quotes")
            if name.lower() in OWN:
                instead = OWN[name.lower()]
                raise ValueError(f"this client writes it itself; {f'write {instead} instead' if instead else 'take it out'}")
            if name.lower() == "authorization" and key:
                raise ValueError("api_key is sent in it; give one of them")
            if first != name:
                raise ValueError(f"is the same header as headers.{first}; give one of them")
            head({name: value})
        except ValueError as error:
            mistakes.append(f"headers.{name}: {error}")
    try:
        head({"Host": host or "", "Authorization": key or ""})
    except ValueError as error:
        mistakes.append(f"host_header, api_key: {error}")
    if not mistakes and not _HOST.fullmatch(host or ""):
        mistakes.append(f"host_header: {host!r} is no name of a host; write HOST or HOST:PORT, without a blank, a scheme or a path")
    return mistakes
