# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of libraries and tools of the control host that are known to be broken, alone or together with another. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t

_PART = re.compile(r"(==|>=|<)([0-9.]+)")


@dataclasses.dataclass(frozen=True)
class Broken:
    """A broken version. versions: conditions such as `>=34.1.0,<36.0.0`; beside: the conditions on other tools, all of which have to be installed.

    what: the effect; fix: the remedy; message: a part of its error message; proxied: whether it matters only behind a proxy; severity: in preflight, which has
    already made requests of its own.
    """

    name: str
    versions: str
    what: str
    fix: str
    source: str
    beside: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    message: str = ""
    proxied: bool = False
    severity: str = "error"


NO_TOKEN = "sends no token to the API server, which answers 401 as to an expired token, or 403 as to an anonymous user"
_ISSUES = "https://github.com/kubernetes-client/python/issues"
BROKEN: tuple[Broken, ...] = (
    Broken("kubernetes", "==36.0.0", NO_TOKEN, "pip install 'kubernetes!=36.0.0,!=36.0.1'", f"{_ISSUES}/2582", severity="warning"),
    Broken("kubernetes", "==36.0.1", f"with host and api_key {NO_TOKEN}", "pip install 'kubernetes!=36.0.0,!=36.0.1'", f"{_ISSUES}/2595", severity="warning"),
    Broken(
        "kubernetes",
        ">=34.1.0,<36.0.0",
        "does not read NO_PROXY",
        "pip install 'kubernetes>=36.0.2', or set K8S_AUTH_NO_PROXY",
        f"{_ISSUES}/2460",
        proxied=True,
    ),
    Broken(
        "urllib3",
        "==2.6.0",
        "lacks getheaders, which the library kubernetes calls for every error of the API server",
        "pip install 'urllib3!=2.6.0'",
        f"{_ISSUES}/2477",
        beside={"kubernetes": "<37.0.0"},
        message="no attribute 'getheaders'",
    ),
    Broken(
        "urllib3",
        "<1.26.15",
        "cannot be imported by Python 3.12 and newer, and with it the libraries requests and kubernetes",
        "pip install 'urllib3>=1.26.15,!=2.6.0'",
        "https://github.com/linkchecker/linkchecker/issues/785",
        beside={"python": ">=3.12.0"},
        message="'urllib3.packages.six.moves'",
    ),
    Broken(
        "websocket",
        ">=0.0.1",
        "takes the place of websocket-client, which the library kubernetes imports",
        "pip uninstall -y websocket websocket-client, then pip install websocket-client",
        "https://github.com/websocket-client/websocket-client/issues/509",
        message="from 'websocket'",
        severity="warning",
    ),
    Broken(
        "requests",
        "<2.30.0",
        "does not support urllib3 2",
        "pip install 'requests>=2.31.0'",
        "https://github.com/psf/requests/issues/6432",
        beside={"urllib3": ">=2.0.0"},
        message="doesn't match a supported version",
        severity="warning",
    ),
    Broken(
        "kubernetes.core",
        "<6.4.0",
        "does not support Helm 4: with a plugin of Helm it fails with 'too many values to unpack'",
        "ansible-galaxy collection install 'kubernetes.core:>=6.4.0', or write the path of a Helm 3 in llm_d_helm",
        "https://github.com/ansible-collections/kubernetes.core/issues/1038",
        beside={"helm": ">=4.0.0"},
        message="too many values to unpack (expected 3",
    ),
)


def fits(version: str, conditions: str) -> bool:
    """Whether a version meets all conditions."""
    numbers = _numbers(version)
    bounds = [(sign, _numbers(wanted)) for sign, wanted in _PART.findall(conditions)]
    return bool(numbers) and all(numbers == wanted if sign == "==" else numbers >= wanted if sign == ">=" else numbers < wanted for sign, wanted in bounds)


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at its end."""
    numbers = [int(part) for part in re.findall(r"[0-9]+", (re.match(r"v?([0-9.]+)", version) or [""])[0])]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def broken(versions: t.Mapping[str, str | None]) -> list[Broken]:
    """The rows that apply to these versions; None or absent for a tool that is not installed or whose version is unknown."""
    return [row for row in BROKEN if all(fits(versions.get(name) or "", wanted) for name, wanted in {row.name: row.versions, **row.beside}.items())]


def cause(message: str) -> str:
    """The broken version that causes an error message, with the remedy; empty for any other message."""
    return next((f"{_named(row)}: {row.what}; {row.fix}" for row in BROKEN if row.message and row.message in message), "")


def _named(row: Broken) -> str:
    others = [f"{name} {wanted}" for name, wanted in row.beside.items()]
    return " with ".join([f"{row.name} {row.versions}", *others])
