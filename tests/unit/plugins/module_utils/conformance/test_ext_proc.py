# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Responses of endpoint pickers are read as Envoy reads them; requests are written as Envoy writes them."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.protobuf import bytes_of, field, fields, message_of, number_of, text_of
from ansible_collections.llm_d.inference.plugins.module_utils.conformance import ext_proc
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.ext_proc import DESTINATION, read_response
from hypothesis import given
from hypothesis import strategies as st
from property_tests import examples


def header(value: str, *options: bytes, raw: bool = True) -> bytes:
    """A HeaderValueOption, as a field of a HeaderMutation. options: its other fields; raw: whether the value is in raw_value (3) or in value (2)."""
    return field(1, field(1, field(1, DESTINATION.title()) + field(3 if raw else 2, value)) + b"".join(options))


def headers_response(*headers: bytes, rest: bytes = b"") -> bytes:
    """A ProcessingResponse to request headers that sets headers. rest: its other fields."""
    return field(1, field(1, field(2, b"".join(headers)))) + rest


@pytest.mark.parametrize(
    # Field 2 is append. Field 3 is append_action: 1 adds the header if it is absent, 2 overwrites it, and 0, the default, is read as overwriting too.
    ("option", "keeps"),
    [(b"", False), (field(2, b""), False), (field(2, field(1, True)), True), (field(3, 1), True), (field(3, 2), False), (field(3, 0), False)],
)
def test_a_client_header_is_kept_only_on_append_or_add_if_absent(option: bytes, keeps: bool) -> None:
    (change,) = read_response(headers_response(header("1.2.3.4:5", option))).headers
    assert change == ext_proc.HeaderChange(DESTINATION, "1.2.3.4:5", keeps)
    assert read_response(headers_response(header("1.2.3.4:5", raw=False))).headers[0].value == "1.2.3.4:5"


def test_the_destination_in_the_metadata() -> None:
    def metadata(namespace: str, key: str) -> bytes:
        """The dynamic_metadata of a ProcessingResponse: {namespace: {key: "1.2.3.4:5"}}."""
        return field(8, field(1, field(1, namespace) + field(2, field(5, field(1, field(1, key) + field(2, field(3, "1.2.3.4:5")))))))

    assert read_response(headers_response(rest=metadata("envoy.lb", DESTINATION))).destination == "1.2.3.4:5"
    assert read_response(headers_response(rest=metadata("envoy", DESTINATION))).destination is None
    assert read_response(headers_response(rest=metadata("envoy.lb", "other"))).destination is None
    assert read_response(headers_response()).destination is None


def test_bodies_and_immediate_responses() -> None:
    # Fields of a ProcessingResponse: 3 request_body, 4 response_body, 7 immediate_response; of a BodyMutation: 1 body, 3 streamed_response.
    streamed = read_response(field(3, field(1, field(3, field(3, field(1, b"abc") + field(2, True))))))
    assert (streamed.kind, streamed.body, streamed.streamed, streamed.end) == ("request_body", b"abc", True, True)
    assert not read_response(field(4, field(1, field(3, field(3, field(1, b"abc")))))).end
    assert read_response(field(4, field(1, field(3, field(1, b"whole"))))).body == b"whole"
    assert read_response(field(4, field(1, b""))).body is None
    assert read_response(field(7, field(1, field(1, 503)))) == ext_proc.ProcessingResponse("immediate", status=503)
    assert read_response(field(7, b"")).kind == "immediate" and read_response(b"").kind == ""


def test_the_requests_that_are_sent() -> None:
    # Fields of a ProcessingRequest: 2 request_headers, 4 request_body, 8 metadata_context, 11 protocol_config.
    message = fields(ext_proc.headers_message("request_headers", [("a", "b")], True, ext_proc.subset_metadata(["1.2.3.4:5", "6.7.8.9:0"])))
    headers = message_of(message, 2)
    assert headers and number_of(headers, 3) == 1
    assert message_of(message, 11) == {1: [4], 2: [4]}, "bodies are streamed in both directions"
    entry = message_of(message_of(message, 8) or {}, 1) or {}
    value = message_of(message_of(message_of(entry, 2) or {}, 1) or {}, 2) or {}
    assert text_of(entry, 1) == "envoy.lb.subset_hint"
    assert fields(bytes_of(value, 6))[1] == [field(3, "1.2.3.4:5"), field(3, "6.7.8.9:0")]
    assert ext_proc.subset_metadata(None) == b"" and ext_proc.subset_metadata([]) != b"", "an empty list allows no endpoint, None allows all"
    assert 11 not in fields(ext_proc.body_message("request_body", b"x", False))


@given(st.binary(max_size=80))
@examples(300)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        read_response(data)
    except ValueError:
        return
