# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""site.yml on a cluster that refuses access: one failure, reported in one line, and the token is in no output."""

from __future__ import annotations

import json

import plays
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common import masking
from local_servers import JSON, closed_port, serve

TOKEN = "sk-token-of-the-test"
REASONS = {401: "Unauthorized", 403: "Forbidden"}


def site(tmp_path, server):
    """The error line of site.yml with -vvv for this API server; it must fail once, at its first request."""
    plays.kubeconfig(tmp_path / "config", server, TOKEN)
    user = {"llm_d_kubeconfig": str(tmp_path / "config"), "llm_d_artifacts_dir": str(tmp_path / "artifacts")}
    done = plays.run("-i", "inventories/kubernetes", "site.yml", "-vvv", "-e", json.dumps(user), no_proxy="*")
    output = done.stdout + done.stderr
    assert done.returncode == 2 and output.count("fatal: ") == 1 and "unreachable=0    failed=1" in output and "changed=0" in output, output
    assert "Traceback" not in output and TOKEN not in output
    (line,) = [line for line in output.splitlines() if line.startswith("[ERROR]: ")]
    return line


@pytest.mark.rest
@pytest.mark.parametrize("status, words", [
    (401, "does not accept the credentials (401): the token or certificate is wrong or has expired; log in again"),
    (403, "forbids GET /version (403): no permissions for anything here; grant the permission, or use an account that has it"),
])  # fmt: skip
def test_an_api_server_that_refuses_everything(tmp_path, status, words):
    requests = []

    def answer(handler, method, path, _body):
        requests.append((method, path, handler.headers["Authorization"]))
        body = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": status,
            "reason": REASONS[status],
            "message": "no permissions for anything here",
        }
        return status, {"Content-Type": JSON}, json.dumps(body)

    with serve(answer) as url:
        line = site(tmp_path, url)
    assert f"the Kubernetes API server {url} {words}" in line
    # The token was sent, and no credentials were tried a second time.
    assert requests == [("GET", "/version", f"Bearer {TOKEN}")]


def test_a_port_where_nothing_listens_is_reported_as_connection_refused(tmp_path):
    url = f"http://127.0.0.1:{closed_port()}"
    line = site(tmp_path, url)
    # Where secrets cannot be registered one by one (ansible-core up to 2.21), the value of the option kubeconfig is masked, and with it the path.
    kubeconfig = f"{tmp_path}/config" if masking.REGISTERS else f"config in {tmp_path}"
    assert f"the Kubernetes API server {url} (kubeconfig {kubeconfig}): connection refused: nothing listens there; start the cluster" in line
