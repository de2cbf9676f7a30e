# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the load client sends requests, and the bounds of each. Pure."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import typing as t

from ..common import credentials


@dataclasses.dataclass(frozen=True)
class Destination:
    """A server or gateway. `url` as base_url accepts it; `host_header` where a gateway routes by host name."""

    url: str
    host_header: str | None = None
    api_key: str | None = dataclasses.field(default=None, repr=False)
    headers: tuple[tuple[str, str], ...] = dataclasses.field(default=(), repr=False)


@dataclasses.dataclass(frozen=True)
class LoadLimits:
    """Seconds that one request may take, and requests that may be in flight at once."""

    request_timeout: float = 60.0
    in_flight: int = 1000


def hidden_values(api_key: str | None, headers: c.Iterable[tuple[str, t.Any]]) -> set[str]:
    """What to mask in every text: the API key, and credentials in headers.

    Not every value of a header: `x-priority: 1` would mask every 1 that was measured, and `x-team: tiny` every tiny.
    """
    return ({api_key} if api_key else set()) | credentials.texts(dict(headers))
