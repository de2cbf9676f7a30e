# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: s3_objects
short_description: Put texts into a bucket
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Puts texts as objects into a bucket of S3 or of a compatible service. It needs no other permission than C(s3:PutObject).
  - Credentials are C(AWS_ACCESS_KEY_ID), C(AWS_SECRET_ACCESS_KEY) and, where there is one, C(AWS_SESSION_TOKEN) of the environment.
options:
  bucket:
    description: Name of the bucket, which must exist.
    type: str
    required: true
  prefix:
    description: Prefix of the names of the objects, without a slash at its end.
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
  description: URLs of the objects.
  returned: always
  type: list
  elements: str
  sample: [s3://reports/llm-d/prod/verdict.json]
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.http import s3


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
    try:
        if module.check_mode:
            objects = [s3.url_of(options, options["prefix"], name) for name in options["files"]]
        else:
            objects = s3.put(options, options["prefix"], options["files"], os.environ)
    except s3.BucketError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(objects), objects=objects)


if __name__ == "__main__":
    main()
