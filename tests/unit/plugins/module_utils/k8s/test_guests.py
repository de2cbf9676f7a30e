# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes that the account cannot list are derived from the status of a Gateway, per listener."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.guests import unlisted_attachments

Facts = dict[str, t.Any]


def gateway(**counted: int) -> Facts:
    """A Gateway whose listeners report these numbers of attached routes."""
    return {"metadata": {"namespace": "llm-d", "name": "gw"}, "status": {"listeners": [{"name": name, "attachedRoutes": n} for name, n in counted.items()]}}


def route(section: str = "") -> Facts:
    parent = {"name": "gw", **({"sectionName": section} if section else {})}
    return {"kind": "HTTPRoute", "metadata": {"namespace": "llm-d", "name": "own"}, "spec": {"parentRefs": [parent]}}


@pytest.mark.parametrize(
    ("status", "routes", "expected"),
    [
        (gateway(http=1, https=1), [route("http")], "1 more route"),
        (gateway(http=1, https=1), [route()], ""),
        (gateway(http=1, https=0), [route("http")], ""),
        (gateway(http=3, https=1), [route()], "2 more routes"),
        (gateway(http=2), [], "2 more routes"),
        (gateway(), [], ""),
    ],
)
def test_a_hidden_route_is_counted_at_its_listener(status: Facts, routes: list[Facts], expected: str) -> None:
    assert unlisted_attachments(status, routes) == expected
