# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signatures of version 4 for requests to S3 and to servers with its protocol. Pure.

boto3 has them too, but cannot be installed beside the client of Kubernetes: the two require different versions of python-dateutil.
Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
"""

from __future__ import annotations

import collections.abc as c
import hashlib
import hmac
import typing as t
import urllib.parse

NEEDED = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


class Keys(t.NamedTuple):
    """Credentials."""

    access: str
    secret: str
    token: str = ""


def keys(environment: c.Mapping[str, str]) -> Keys | None:
    """The credentials of an environment; None where it has none."""
    access, secret = (environment.get(name, "") for name in NEEDED)
    return Keys(access, secret, environment.get("AWS_SESSION_TOKEN", "")) if access and secret else None


def quoted(path: str) -> str:
    """A path as it is sent and signed."""
    return urllib.parse.quote(path, safe="/-._~")


def signed(method: str, url: str, body: bytes, headers: c.Mapping[str, str], by: Keys, region: str, time: str) -> dict[str, str]:
    """The headers to send: these, and those of the signature. url: with a quoted path and no query. time: such as 20130524T000000Z."""
    parts = urllib.parse.urlsplit(url)
    digest = hashlib.sha256(body).hexdigest()
    sent = {**headers, "x-amz-date": time, "x-amz-content-sha256": digest, **({"x-amz-security-token": by.token} if by.token else {})}
    known = {"host": parts.netloc, **{name.lower(): " ".join(value.split()) for name, value in sent.items()}}
    names = ";".join(sorted(known))
    canonical = "\n".join([method, parts.path, "", *(f"{name}:{known[name]}" for name in sorted(known)), "", names, digest])
    scope = f"{time[:8]}/{region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", time, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{by.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return {**sent, "Authorization": f"AWS4-HMAC-SHA256 Credential={by.access}/{scope},SignedHeaders={names},Signature={signature}"}
