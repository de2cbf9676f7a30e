# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether images can be pulled with the given registry accounts, as checked from this host."""

from __future__ import annotations

import base64
import binascii
import collections.abc as c
import json
import re
import typing as t
from concurrent.futures import ThreadPoolExecutor

from ..common.images import DEFAULT_HOST, repository_of, split_host
from ..common.objects import get_path
from . import registry
from .answer import Answer
from .errors import ExchangeError

Accounts = c.Mapping[str, tuple[str, str]]  # {registry: (user name, password)}
TIMEOUT = 8.0  # seconds for one image
AT_ONCE = 8  # images that are checked in parallel
_REASONS = {401: "the registry wants an account", 403: "the registry refuses access", 404: "the registry does not have it"}


def host_of(reference: str) -> str:
    """The host of the registry of an image."""
    return split_host(reference)[0]


def problems(references: c.Iterable[str], accounts: Accounts) -> dict[str, str]:
    """{image that cannot be pulled: why}. An image is left out where its registry does not answer, or fails itself."""
    names = sorted(set(references))
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        reasons = pool.map(lambda name: _problem(name, accounts), names)
    return {name: why for name, why in zip(names, reasons, strict=True) if why}


def digests(references: c.Iterable[str], accounts: Accounts) -> tuple[dict[str, str], dict[str, str]]:
    """({image: digest of its tag}, {image without one: why})."""
    names = sorted(set(references))
    resolved: dict[str, str] = {}
    why: dict[str, str] = {}
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        for name, answer in zip(names, pool.map(lambda name: _manifest(name, accounts), names), strict=True):
            digest = answer.headers.get("docker-content-digest", "") if isinstance(answer, Answer) and answer.status == 200 else ""
            if re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
                resolved[name] = digest
            elif isinstance(answer, Answer):
                why[name] = _REASONS.get(answer.status, "the registry names no digest") + f" (HTTP {answer.status})"
            else:
                why[name] = str(answer)
    return resolved, why


def _problem(reference: str, accounts: Accounts) -> str | None:
    answer = _manifest(reference, accounts)
    reason = _REASONS.get(answer.status) if isinstance(answer, Answer) else None
    return f"{reason} (HTTP {answer.status})" if isinstance(answer, Answer) and reason else None


def _manifest(reference: str, accounts: Accounts) -> Answer | Exception:
    """The registry's response to the request for the manifest of an image, or the error of that request."""
    host, path = split_host(reference)
    repository = repository_of(path)
    tag = path[len(repository) + 1 :]
    try:
        return registry.manifest(host, repository, tag.partition("@")[2] or tag or "latest", accounts.get(host), TIMEOUT)
    except (ExchangeError, ValueError) as error:
        return error


def accounts_of(secret: t.Any) -> dict[str, tuple[str, str]]:
    """{registry: (user name, password)} in a Secret of type kubernetes.io/dockerconfigjson; empty for any other object."""
    try:
        config = json.loads(base64.b64decode(get_path(secret, "data", ".dockerconfigjson") or ""))
    except (ValueError, TypeError, RecursionError):
        return {}
    return accounts_in(config)


def accounts_in(config: t.Any) -> dict[str, tuple[str, str]]:
    """{registry: (user name, password)} in a Docker configuration. Of several entries for a host, that with the shortest path counts: Docker Desktop stores
    tokens below that of Docker Hub."""
    entries = config.get("auths") if isinstance(config, dict) else None
    longest_first = sorted((entries if isinstance(entries, dict) else {}).items(), key=lambda entry: -len(str(entry[0])))
    return {account_host(str(host)): account for host, entry in longest_first if (account := _account(entry))}


def account_host(name: str) -> str:
    """The host of the registry that an account is for. name: a host, a host with a path, or a URL."""
    host = (name.partition("://")[2] or name).partition("/")[0]
    return DEFAULT_HOST if host == "index.docker.io" else host  # `docker login` stores the account of Docker Hub under this name


def _account(entry: t.Any) -> tuple[str, str] | None:
    if not isinstance(entry, dict):
        return None
    if isinstance(entry.get("username"), str) and isinstance(entry.get("password"), str):
        return entry["username"], entry["password"]
    try:
        name, _colon, password = base64.b64decode(str(entry.get("auth") or "")).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    return (name, password) if name else None
