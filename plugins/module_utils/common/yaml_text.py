# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain data as YAML text: keys in their own order, lists indented, the same text for the same data. Pure.

It needs no YAML library on the target, and its output passes yamllint.
"""

from __future__ import annotations

import json
import re
import typing as t

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@-]*\Z")
# PyYAML reads a longer key only after an explicit "? ".
_LONGEST_KEY = 1000
# Words that YAML 1.1 reads as booleans or null.
_RESERVED = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null", "none"})


def to_yaml(value: t.Any) -> str:
    """YAML of mappings, lists, strings, numbers, booleans and None."""
    if isinstance(value, (dict, list)) and value:
        return "".join(f"{line}\n" for line in _lines(value))
    return f"{_scalar(value)}\n"


def _lines(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            head = _scalar(str(key))
            if len(head) > _LONGEST_KEY:
                yield f"? {head}"
                head = ""
            yield from _entry(f"{head}:", item)
    else:
        for item in value:
            yield from _item(item)


def _entry(head: str, item: t.Any) -> t.Iterator[str]:
    if isinstance(item, (dict, list)) and item:
        yield head
        yield from (f"  {line}" for line in _lines(item))
    else:
        yield f"{head} {_scalar(item)}"


def _item(item: t.Any) -> t.Iterator[str]:
    if isinstance(item, (dict, list)) and item:
        for index, line in enumerate(_lines(item)):
            yield f"{'  ' if index else '- '}{line}"
    else:
        yield f"- {_scalar(item)}"


def _scalar(value: t.Any) -> str:
    if isinstance(value, str):
        plain = _PLAIN.match(value) and value.lower() not in _RESERVED
        return str(value) if plain else _quoted(str(value))
    if isinstance(value, float):
        mantissa, e, exponent = repr(float(value)).partition("e")
        return f"{mantissa if '.' in mantissa or not e else f'{mantissa}.0'}{e}{exponent}"  # YAML 1.1 requires a decimal point before an exponent
    return json.dumps(value)


def _quoted(text: str) -> str:
    """A string in double quotes, as in JSON, except for characters beyond 16 bits: JSON escapes them as surrogate pairs, YAML does not."""
    parts = (f"\\U{ord(letter):08x}" if ord(letter) > 0xFFFF else json.dumps(letter)[1:-1] for letter in text)
    return f'"{"".join(parts)}"'
