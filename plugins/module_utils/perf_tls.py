# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TLS settings from options, without Ansible."""

from __future__ import annotations

import collections.abc as c
import ssl
import typing as t


def context(params: c.Mapping[str, t.Any]) -> ssl.SSLContext | None:
    """The TLS settings; None where they are the usual ones. Raises ValueError."""
    if params["validate_certs"] and not params["ca_path"]:
        return None
    try:
        made = ssl.create_default_context(cafile=params["ca_path"])
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"ca_path {params['ca_path']}: {error.strerror or error}; give a readable PEM file with certificates") from error
    if not params["validate_certs"]:
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    return made
