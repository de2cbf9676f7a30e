# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a failed check of an API server."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.modules import cluster_access
from keeping_api_server import KeepingApi
from local_servers import JSON, closed_port, serve
from module_calls import user_output

LOOK = {"resources": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "llm-d"}} for name in "xy"]}


class Refusing(KeepingApi):
    """Answers requests whose path has this end with a status."""

    def __init__(self, status: int, end: str) -> None:
        super().__init__()
        self.status, self.end = status, end

    def reply(self, method: str, path: str, query: str, body: bytes) -> t.Any:
        if path.endswith(self.end):
            return self.status, {"kind": "Status", "status": "Failure", "reason": "x", "code": self.status, "message": "no"}
        return super().reply(method, path, query, body)


@pytest.mark.parametrize(("status", "end", "reached"), [(403, "/configmaps", True), (422, "/configmaps", True), (401, "/configmaps", False), (401, "", False)])
def test_a_request_that_is_refused_is_an_answer(call: t.Any, status: int, end: str, reached: bool) -> None:
    with serve(Refusing(status, end).answer) as url:
        result = call(cluster_access, host=url, api_key="sk-planted", **LOOK)
    assert result["failed"] and result["reached"] is reached and str(status) in result["msg"], result
    assert "planted" not in user_output(result)


def test_an_unreachable_api_server_is_reported_as_not_reached(call: t.Any) -> None:
    result = call(cluster_access, host=f"http://127.0.0.1:{closed_port()}", api_key="sk-planted", **LOOK)
    assert result["failed"] and result["reached"] is False


def test_a_server_that_is_no_api_server_counts_as_not_reached(call: t.Any) -> None:
    with serve(lambda *_request: (200, {"Content-Type": JSON}, "{}")) as url:
        assert call(cluster_access, host=url, api_key="sk-planted")["reached"] is False
