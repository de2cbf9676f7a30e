# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client of the stand-in that returns every response, also refusals."""

from __future__ import annotations

import json
import typing as t
import urllib.error
import urllib.request

from controller_api.server import Controller


def call(api: Controller, method: str, path: str, body: t.Any = None, login: str | None = None) -> tuple[int, t.Any]:
    """(status, decoded body) of the response."""
    headers = {"Authorization": login if login is not None else f"Bearer {api.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(api.url + path, method=method, data=None if body is None else json.dumps(body).encode(), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    return status, json.loads(text) if text else None
