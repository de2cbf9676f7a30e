# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: s3_objects
short_description: Put texts into a bucket
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Puts texts as objects into a bucket of S3 or of what speaks its protocol. It asks for no other permission than C(s3:PutObject).
  - Credentials are C(AWS_ACCESS_KEY_ID), C(AWS_SECRET_ACCESS_KEY) and, where there is one, C(AWS_SESSION_TOKEN) of the environment.
options:
  bucket:
    description: Name of the bucket, which has to be there.
    type: str
    required: true
  prefix:
    description: What the names of the objects begin with, without a slash at its end.
    type: str
    default: ""
  endpoint:
    description: URL of the service. If omitted, that of AWS. Its certificates are checked by those of the system, or of C(AWS_CA_BUNDLE).
    type: str
  region:
    description: The region. If omitted, C(AWS_REGION) of the environment, else us-east-1.
    type: str
  files:
    description: Content of each object by its name.
    type: dict
    required: true
attributes:
  check_mode:
    description: Returns what would be put.
  diff_mode:
    support: none
    description: Objects are not read.
extends_documentation_fragment:
  - llm_d.inference.internal
  - llm_d.inference.attributes
"""

EXAMPLES = r"""
- name: Put a verdict into a bucket
  llm_d.inference.s3_objects:
    bucket: reports
    prefix: llm-d/prod
    files:
      verdict.json: "{{ lookup('ansible.builtin.file', 'artifacts/verdict.json') }}"
"""

RETURN = r"""
objects:
  description: Where they are.
  returned: always
  type: list
  elements: str
  sample: [s3://reports/llm-d/prod/verdict.json]
"""

import datetime
import mimetypes
import os
import re

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.text import one_line
from ..module_utils.http.answer import Answer
from ..module_utils.http.errors import ExchangeError
from ..module_utils.http.sigv4 import Keys, keys, quoted, signed
from ..module_utils.http.transport import RetryTransport, UrlTransport

SECONDS = 60.0
RETRIES = 3
REMEDIES = {
    "NoSuchBucket": "create it, or correct its name",
    "AccessDenied": "the account needs s3:PutObject in it",
    "InvalidAccessKeyId": "AWS_ACCESS_KEY_ID is of another service",
    "SignatureDoesNotMatch": "AWS_SECRET_ACCESS_KEY is not the one of AWS_ACCESS_KEY_ID",
    "ExpiredToken": "AWS_SESSION_TOKEN has expired",
    "RequestTimeTooSkewed": "the clock of the control node is wrong",
    "PermanentRedirect": "write the region of the bucket",
    "AuthorizationHeaderMalformed": "write the region of the bucket",
}


class Bucket:
    """A bucket, addressed by the path. Raises ValueError for an endpoint that is no URL."""

    def __init__(self, options: dict, by: Keys) -> None:
        self.name, self._by = options["bucket"], by
        self._region = options["region"] or os.environ.get("AWS_REGION") or "us-east-1"
        url = options["endpoint"] or f"https://s3.{self._region}.amazonaws.com"
        inner = UrlTransport(url, ca_path=os.environ.get("AWS_CA_BUNDLE"))
        self._url, self._transport = inner.url, RetryTransport(inner, RETRIES)

    def put(self, name: str, content: bytes) -> str:
        """Why an object could not be put; empty where it was. Raises ExchangeError."""
        path = quoted(f"/{self.name}/{name}")
        sent = {"Content-Type": f"{mimetypes.guess_type(name)[0] or 'text/plain'}; charset=utf-8"}
        time = f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}"
        answer = self._transport.request("PUT", path, content, signed("PUT", self._url + path, content, sent, self._by, self._region, time), SECONDS)
        return "" if answer.status == 200 else refusal(answer)


def refusal(answer: Answer) -> str:
    """What an answer says, with what to do about it."""
    code, message = (re.search(f"<{name}>([^<]{{1,300}})</{name}>", answer.text[:4000]) for name in ("Code", "Message"))
    said = ", ".join(each[1] for each in (code, message) if each) or "it does not speak the protocol of S3"
    remedy = REMEDIES.get(code[1]) if code else None
    return one_line(f"{answer.status}: {said}{f'; {remedy}' if remedy else ''}")


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "bucket": {"type": "str", "required": True},
            "prefix": {"type": "str", "default": ""},
            "endpoint": {"type": "str"},
            "region": {"type": "str"},
            "files": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    options = module.params
    names = {name: f"{options['prefix']}/{name}".lstrip("/") for name in options["files"]}
    objects = [f"s3://{options['bucket']}/{name}" for name in names.values()]
    by = keys(os.environ)
    if by is None:
        module.fail_json(
            msg="There are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, in AWX by a credential of the type Amazon Web Services."
        )
    try:
        bucket = Bucket(options, by)
        for name, content in options["files"].items() if not module.check_mode else ():
            why = bucket.put(names[name], str(content).encode())
            if why:
                module.fail_json(msg=f"Cannot put s3://{options['bucket']}/{names[name]}: {why}")
    except (ExchangeError, ValueError) as error:
        module.fail_json(msg=f"Cannot put {objects[0]}: {error}")
    module.exit_json(changed=bool(objects), objects=objects)


if __name__ == "__main__":
    main()
