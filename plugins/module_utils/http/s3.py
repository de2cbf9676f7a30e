# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts objects into a bucket of S3 or of an S3-compatible service."""

from __future__ import annotations

import collections.abc as c
import datetime
import mimetypes
import re

from ..common.objects import Facts
from ..common.text import one_line
from .answer import Answer
from .errors import ExchangeError
from .sigv4 import keys, quoted, signed
from .transport import RetryTransport, UrlTransport

TIMEOUT = 60.0  # seconds for one object
RETRIES = 3
# {error code of S3: remedy}
REMEDIES = {
    "NoSuchBucket": "create the bucket, or correct its name",
    "AccessDenied": "the account needs the permission s3:PutObject for the bucket",
    "InvalidAccessKeyId": "AWS_ACCESS_KEY_ID belongs to another service",
    "SignatureDoesNotMatch": "AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID",
    "ExpiredToken": "AWS_SESSION_TOKEN has expired",
    "RequestTimeTooSkewed": "the clock of the control node is wrong",
    "PermanentRedirect": "set the region of the bucket",
    "AuthorizationHeaderMalformed": "set the region of the bucket",
}


class BucketError(Exception):
    """Why an object was not put. The text is one line for the user."""


def put(where: Facts, prefix: str, files: c.Mapping[str, str], environment: c.Mapping[str, str]) -> list[str]:
    """Puts each file as an object, and returns the URLs of the objects. Raises BucketError.

    where: {bucket, endpoint, region}, the last two optional; files: {name below the prefix: content};
    environment: variables with the credentials, AWS_REGION and AWS_CA_BUNDLE.
    """
    urls = {name: url_of(where, prefix, name) for name in files}
    credentials = keys(environment)
    if credentials is None:
        raise BucketError("There are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, in AWX by a credential of the type Amazon Web Services.")
    region = where.get("region") or environment.get("AWS_REGION") or "us-east-1"
    current = ""
    try:
        inner = UrlTransport(where.get("endpoint") or f"https://s3.{region}.amazonaws.com", ca_path=environment.get("AWS_CA_BUNDLE"))
        transport = RetryTransport(inner, RETRIES)
        for name, content in files.items():
            current = urls[name]
            path, body = quoted(current.removeprefix("s3:/")), str(content).encode()
            headers = {"Content-Type": f"{mimetypes.guess_type(name)[0] or 'text/plain'}; charset=utf-8"}
            time = f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}"
            answer = transport.request("PUT", path, body, signed("PUT", inner.url + path, body, headers, credentials, region, time), TIMEOUT)
            if answer.status != 200:
                raise BucketError(f"Cannot put {current}: {refusal(answer)}")
    except (ExchangeError, ValueError) as error:
        raise BucketError(f"Cannot put {current or next(iter(urls.values()), where['bucket'])}: {error}") from error
    return list(urls.values())


def url_of(where: Facts, prefix: str, name: str) -> str:
    """The URL of an object, such as s3://reports/llm-d/prod/verdict.json."""
    return f"s3://{where['bucket']}/{f'{prefix}/{name}'.lstrip('/')}"


def refusal(answer: Answer) -> str:
    """The error of a response, with its remedy, on one line."""
    code, message = (re.search(f"<{name}>([^<]{{1,300}})</{name}>", answer.text[:4000]) for name in ("Code", "Message"))
    error = ", ".join(each[1] for each in (code, message) if each) or "the answer is not one of S3"
    remedy = REMEDIES.get(code[1]) if code else None
    return one_line(f"{answer.status}: {error}{f'; {remedy}' if remedy else ''}")
