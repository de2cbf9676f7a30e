# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Protocol buffers are written and read as others write and read them, and what is none is refused."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common import protobuf
from ansible_collections.llm_d.inference.plugins.module_utils.common.protobuf import field, fields
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples


def test_fields_are_encoded_as_in_the_protobuf_specification() -> None:
    assert field(1, 150) == b"\x08\x96\x01"
    assert field(2, "testing") == b"\x12\x07testing"
    assert field(3, field(1, 150)) == b"\x1a\x03\x08\x96\x01"
    assert field(16, True) == b"\x80\x01\x01"


def test_all_values_of_a_field_are_read_in_their_order() -> None:
    data = field(1, 7) + field(2, "a") + field(2, b"b") + b"\x1d\x01\x02\x03\x04" + b"\x21" + bytes(8) + field(5, field(1, 1)) + field(5, field(1, 2))
    message = fields(data)
    assert message[1] == [7] and message[2] == [b"a", b"b"] and message[3] == [b"\x01\x02\x03\x04"] and message[4] == [bytes(8)]
    assert protobuf.text_of(message, 2) == "b" and protobuf.number_of(message, 1) == 7
    assert [each[1] for each in protobuf.messages(message, 5)] == [[1], [2]] and protobuf.message_of(message, 5) == {1: [2]}
    assert protobuf.text_of(message, 9) == "" and protobuf.number_of(message, 9) == 0 and protobuf.message_of(message, 9) is None
    assert protobuf.text_of(message, 1) == "" and protobuf.number_of(message, 2) == 0, "a value of another kind reads as absent"


@pytest.mark.parametrize("data", [b"\x08", b"\x12\x05abc", b"\x0b", b"\x08" + b"\xff" * 11, b"\x1d\x01", b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f"])
def test_data_that_is_no_protocol_buffer_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no protocol buffer"):
        fields(data)


def test_a_number_is_no_message() -> None:
    with pytest.raises(ValueError, match="field 1 is a number"):
        protobuf.message_of(fields(field(1, 7)), 1)


@given(st.binary(max_size=60))
@examples(200)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        message = fields(data)
    except ValueError:
        return
    assert sum(map(len, message.values())) <= len(data)


@given(st.lists(st.tuples(st.integers(1, 500), st.one_of(st.integers(0, 1 << 64), st.binary(max_size=300)))))
@examples(100)
def test_fields_that_are_written_are_read_back(values: list[tuple[int, int | bytes]]) -> None:
    message = fields(b"".join(field(number, value) for number, value in values))
    assert {number: [value for other, value in values if other == number] for number, _value in values} == message
