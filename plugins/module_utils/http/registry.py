# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks whether an image registry has an image, by the requests of a node that pulls it (OCI distribution specification)."""

from __future__ import annotations

import base64
import collections.abc as c
import json
import re
import time
import urllib.parse

from .answer import Answer
from .errors import ExchangeError
from .transport import UrlTransport

MANIFESTS = ", ".join(
    [
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    ]
)
# Docker Hub's API has another name than its images.
API_HOSTS = {"docker.io": "registry-1.docker.io"}
_CHALLENGE = re.compile(r'(realm|service|scope)="([^"]{1,500})"')
_MAX_CHALLENGE = 2000


def manifest(host: str, repository: str, tag: str, credentials: tuple[str, str] | None, timeout: float) -> Answer:
    """The registry's answer to HEAD of a manifest: 200 if the image can be pulled. Requests a token where the registry requires one.

    tag: a tag or a digest. credentials: user name and password. Raises ExchangeError if no registry answers within `timeout` seconds.
    """
    end = time.monotonic() + timeout
    path = f"/v2/{repository}/manifests/{tag}"
    registry = _registry(host, timeout)
    answer = registry.request("HEAD", path, headers={"Accept": MANIFESTS}, timeout=_left(end))
    if answer.status != 401:
        return answer
    header = _authorization(answer, credentials, _left(end))
    if not header:
        return answer
    return registry.request("HEAD", path, headers={"Accept": MANIFESTS, "Authorization": header}, timeout=_left(end))


def _left(end: float) -> float:
    """Seconds until `end`, at least a tenth."""
    return max(0.1, end - time.monotonic())


def _registry(host: str, timeout: float) -> UrlTransport:
    """The registry over HTTPS. One on this host may speak plain HTTP, as container engines allow."""
    secure = UrlTransport(f"https://{API_HOSTS.get(host, host)}")
    if host.rpartition(":")[0].strip("[]") not in ("127.0.0.1", "localhost", "::1"):
        return secure
    try:
        secure.request("GET", "/v2/", timeout=timeout)
    except ExchangeError:
        return UrlTransport(f"http://{host}")
    return secure


def _authorization(refusal: Answer, credentials: tuple[str, str] | None, timeout: float) -> str | None:
    """The Authorization header that a 401 requires; None where no account for it is given."""
    basic = "Basic " + base64.b64encode(":".join(credentials).encode()).decode() if credentials else None
    challenge = refusal.headers.get("www-authenticate", "")[:_MAX_CHALLENGE]
    if not challenge.lower().startswith("bearer "):
        return basic
    parameters = dict(_CHALLENGE.findall(challenge))
    realm = urllib.parse.urlsplit(parameters.pop("realm", ""))
    if realm.scheme != "https" and (realm.scheme != "http" or realm.hostname not in ("127.0.0.1", "localhost")):
        return None  # a token, and perhaps the password, must not cross the network in the clear
    path = f"{realm.path}?{urllib.parse.urlencode(parameters)}"
    answer = UrlTransport(f"{realm.scheme}://{realm.netloc}").request("GET", path, headers={"Authorization": basic} if basic else {}, timeout=timeout)
    return _bearer(answer)


def _bearer(answer: Answer) -> str | None:
    try:
        reply = json.loads(answer.body[:65536])
    except (ValueError, RecursionError):
        return None
    token = (reply.get("token") or reply.get("access_token")) if isinstance(reply, c.Mapping) else None
    return f"Bearer {token}" if isinstance(token, str) and token.isascii() and token.isprintable() else None
