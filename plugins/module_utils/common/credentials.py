# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which headers, variables and entries of nested data hold a credential, by their names, and the texts to hide. Pure."""

from __future__ import annotations

import collections.abc as c
import re
import typing as t

from .text import SECRET_KEY, redact

# In a part of a name (x-goog-api-key has four) anywhere, such as in secretkey and passwords, or at its end, such as in apikey and token2.
_PART = re.compile(
    r"secret|passw|passphrase|credential|authori[sz]ation|(?:api|access|auth)key"
    r"|(?:auth|authentication|token|key|cookie|jwt|bearer|signature|assertion|private)[0-9]*\Z"
)
_WHOLE = re.compile(SECRET_KEY)  # of what has a plural: api-tokens, where max-tokens counts them
# Parts of names that are no credentials: what a key identifies (cache-key), and properties of a credential (x-token-count).
_OF = frozenset({"cache", "idempotency", "partition", "routing", "shard", "sort"})
_ABOUT = frozenset({"budget", "count", "file", "length", "limit", "name", "ttl", "type", "version"})
_PATHS = frozenset({"client-key"})  # of a kubeconfig, which has the key itself as client-key-data
_SCHEMES = frozenset({"apikey", "basic", "bearer", "digest", "key", "negotiate", "token"})
_SHORTEST = 4  # characters of a hidden text: shorter ones occur in any text by chance
_SHORTEST_OF_COOKIE = 8  # of the value of one cookie: theme=dark


def named(name: str) -> bool:
    """Whether the value of a header or variable of this name is a credential."""
    parts = re.split(r"[-_. ]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower())
    if parts[-1] in _ABOUT:
        return False
    if _WHOLE.fullmatch("-".join(parts).removesuffix("s")):
        return True
    return any(_PART.search(part) and not (part == "key" and index and parts[index - 1] in _OF) for index, part in enumerate(parts))


def carries(name: str, value: str) -> bool:
    """Whether a header carries a credential: by its name, or by a value that looks like one."""
    return named(name) or redact(value) != value


def nested(data: t.Any) -> set[str]:
    """The texts to hide of nested data such as a kubeconfig: texts whose key names a credential, also as `{name: KEY, value: TEXT}`, or that look like one."""
    if isinstance(data, (list, tuple)):
        return {text for item in data for text in nested(item)}
    if not isinstance(data, dict):
        return set()
    inner = {text for item in data.values() for text in nested(item)}
    named = [(data["name"], data["value"])] if {"name", "value"} <= data.keys() else []
    own = [(str(key), value) for key, value in (*data.items(), *named) if isinstance(value, str) and len(value) >= _SHORTEST and key not in _PATHS]
    return inner | {value for key, value in own if carries(key, value)}


def texts(headers: c.Mapping[t.Any, t.Any]) -> set[str]:
    """The texts to hide of the values of headers that carry credentials: the whole value, and a key in it without its scheme."""
    hidden: set[str] = set()
    for name, value in headers.items():
        if carries(str(name), str(value)):
            words = [word.strip(",;\"'") for word in str(value).split()]
            cookies = [word.partition("=")[2] for word in words if len(word.partition("=")[2]) >= _SHORTEST_OF_COOKIE]
            hidden |= {text for text in (str(value), *words, *cookies) if len(text) >= _SHORTEST and text.lower() not in _SCHEMES}
    return hidden
