# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the API key of model servers from the Secret that their pods use, so that no task has it as an argument."""

from __future__ import annotations

import base64
import binascii
import re
import typing as t

from ..common.objects import Facts, mapping


def read(cluster: t.Any, wanted: Facts) -> str:
    """The API key. Raises ValueError where there is none that a header can carry, and ClusterError."""
    where = f"Secret {wanted['namespace']}/{wanted['name']}"
    secret = cluster.find(f"/api/v1/namespaces/{wanted['namespace']}/secrets/{wanted['name']}")
    if secret is None:
        raise ValueError(f"there is no {where} with the API key of the servers: create it, or deploy the file again (playbooks/site.yml)")
    value = mapping(secret.get("data")).get(wanted["key"])
    if not value:
        raise ValueError(f"{where} has no key {wanted['key']}: put the API key of the servers under it, or name the key that has it")
    try:
        key = base64.b64decode(value, validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, TypeError, ValueError):
        key = ""
    if not re.fullmatch("[!-~]+", key):  # the server compares the whole value, and a header cannot carry a line end
        raise ValueError(f"{where} has white space or non-ASCII characters in its key {wanted['key']}, so no request can carry this API key: remove them")
    return key
