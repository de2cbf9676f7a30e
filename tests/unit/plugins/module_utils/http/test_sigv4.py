# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signatures as the documentation of S3 has them. Against a server that checks them: tests/unit/plays/test_reports_s3.py."""

from __future__ import annotations

from ansible_collections.llm_d.inference.plugins.module_utils.http.sigv4 import Keys, keys, quoted, signed

BY = Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
URL = f"https://examplebucket.s3.amazonaws.com{quoted('/test$file.text')}"
HEADERS = {"Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"}
TIME = "20130524T000000Z"


def test_the_example_of_the_documentation() -> None:
    headers = signed("PUT", URL, b"Welcome to Amazon S3.", HEADERS, BY, "us-east-1", TIME)
    assert headers["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        "SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,"
        "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
    )
    assert headers["x-amz-content-sha256"] == "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"


def test_a_token_is_signed_too() -> None:
    headers = signed("PUT", URL, b"", {}, Keys(*BY[:2], "t"), "us-east-1", TIME)
    assert headers["x-amz-security-token"] == "t" and "x-amz-security-token" in headers["Authorization"]


def test_an_environment_has_keys_or_none() -> None:
    assert keys({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s"}) == Keys("a", "s", "")
    assert keys({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"}) == Keys("a", "s", "t")
    assert keys({"AWS_ACCESS_KEY_ID": "a"}) is keys({}) is None
