# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TLS settings from options. Imports nothing of Ansible: the load client runs in pods without it."""

from __future__ import annotations

import collections.abc as c
import ssl
import typing as t

from ..common.module_options import option

FILES = ("ca_path", "client_cert", "client_key")  # options that name files
OPTIONS: dict[str, t.Any] = {
    "validate_certs": option("bool", "Whether the server's certificate must be trusted.", default=True),
    "ca_path": option("path", "PEM file with the certificates of the authorities to trust."),
    "client_cert": option("path", "PEM file with the client certificate, and with its key unless C(client_key) is set."),
    "client_key": option("path", "PEM file with the key of C(client_cert), without a password.", no_log=False),
}
REQUIRED_BY = {"client_key": ["client_cert"]}


def chosen(options: c.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The TLS options among these, with defaults for missing ones."""
    return {name: options.get(name, spec.get("default")) for name, spec in OPTIONS.items()}


def context(params: c.Mapping[str, t.Any]) -> ssl.SSLContext | None:
    """An SSL context; None when every option has its default. Raises ValueError for a file that cannot be read."""
    if params["validate_certs"] and not any(params[name] for name in FILES):
        return None
    try:
        made = ssl.create_default_context(cafile=params["ca_path"])
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"ca_path {params['ca_path']}: {error.strerror or error}; give a readable PEM file with certificates") from error
    if not params["validate_certs"]:
        made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    show_certificate(made, params["client_cert"], params["client_key"])
    return made


def show_certificate(made: ssl.SSLContext, cert: str | None, key: str | None) -> None:
    """Load the client certificate that is sent to a server that asks for one. Raises ValueError for files that cannot be read."""
    if not cert:
        return
    try:
        # Without a password argument, an encrypted key prompts on the terminal; an empty one makes it an error.
        made.load_cert_chain(cert, key, password="")
    except (OSError, ssl.SSLError) as error:
        named = f"client_cert {cert}" + (f" with client_key {key}" if key else "")
        raise ValueError(f"{named}: {error.strerror or error}; give readable PEM files that belong together, the key without a password") from error


def refusal(error: ssl.SSLError) -> tuple[str, str]:
    """(why TLS failed, what to do), for people."""
    reason = error.reason or str(error)
    if "CERTIFICATE_REQUIRED" in reason:
        return f"the server asks for a client certificate ({reason})", "give client_cert and client_key"
    if "EOF" in reason or "EOF" in str(error):
        # Under TLS 1.3 the handshake of the client ends before the server notices that a certificate is missing; its alert then arrives too late to be read.
        return f"the server ended it in the middle of TLS ({reason})", "does it ask for a client certificate? then give client_cert and client_key"
    if "ALERT" in reason:
        return f"TLS failed ({reason})", "the server refused: does it ask for a client certificate, and trust the one in client_cert?"
    return f"TLS failed ({reason})", "is it plain HTTP on that port? then write http://"
