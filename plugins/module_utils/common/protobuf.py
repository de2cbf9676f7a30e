# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wire format of protocol buffers, without schemas: a message is its fields by number. Pure."""

from __future__ import annotations

import collections.abc as c
import typing as t

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MOST = 10  # bytes of a varint
Value = t.Union[int, bytes]  # noqa: UP007  # ansible-test's pylint rejects `|` in an alias
Message = dict[int, list[Value]]


def field(number: int, value: str | bytes | int | bool) -> bytes:
    """One field: text and bytes with their length, integers from 0 and booleans as varints."""
    if isinstance(value, int):
        return varint(number << 3 | VARINT) + varint(int(value))
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | BYTES) + varint(len(data)) + data


def varint(value: int) -> bytes:
    """An integer from 0, seven bits to the byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data: bytes) -> Message:
    """The values of each field of a message, in their order. Raises ValueError for what is no message."""
    message: Message = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value, at = _value(key & 7, data, at)
        message.setdefault(key >> 3, []).append(value)
    return message


def _value(kind: int, data: bytes, at: int) -> tuple[Value, int]:
    if kind == VARINT:
        return _varint(data, at)
    if kind == BYTES:
        size, at = _varint(data, at)
    elif kind in (FIXED64, FIXED32):
        size = 8 if kind == FIXED64 else 4
    else:
        raise ValueError(f"no protocol buffer: wire type {kind}")
    if at + size > len(data):
        raise ValueError("no protocol buffer: it ends within a field")
    return data[at : at + size], at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index in range(_MOST):
        if at + index >= len(data):
            break
        byte = data[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value, at + index + 1
    raise ValueError("no protocol buffer: a number does not end")


def messages(message: Message, number: int) -> c.Iterator[Message]:
    """The messages in a field, each read. Raises ValueError."""
    for value in message.get(number, []):
        if isinstance(value, int):
            raise ValueError(f"field {number} is a number, not a message")
        yield fields(value)


def message_of(message: Message, number: int) -> Message | None:
    """The message in a field, the last where there are several; None without one. Raises ValueError."""
    inner = list(messages(message, number))
    return inner[-1] if inner else None


def text_of(message: Message, number: int) -> str:
    """The text of a field; empty without one."""
    return bytes_of(message, number).decode("utf-8", "replace")


def bytes_of(message: Message, number: int) -> bytes:
    """The bytes of a field; empty without one."""
    value = message.get(number, [b""])[-1]
    return value if isinstance(value, bytes) else b""


def number_of(message: Message, number: int) -> int:
    """The integer of a field; 0 without one."""
    value = message.get(number, [0])[-1]
    return value if isinstance(value, int) else 0
