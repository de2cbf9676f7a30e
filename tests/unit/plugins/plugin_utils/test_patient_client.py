# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client of kubernetes.core in a worker: its requests end, and are repeated as those of our own modules are."""

from __future__ import annotations

import threading

import kubernetes
import pytest
import urllib3
from ansible_collections.llm_d.inference.plugins.module_utils.k8s import patience
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import Cluster
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.errors import ApiError
from ansible_collections.llm_d.inference.plugins.plugin_utils import compat
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from local_servers import JSON, raw, serve


class NoDiscovery:
    """Discovers nothing, for a client that requests only paths."""

    def __init__(self, client, cache_file):
        pass


def client(url):
    configuration = kubernetes.client.Configuration()
    configuration.host = url
    return DynamicClient(kubernetes.client.ApiClient(configuration), discoverer=NoDiscovery)


@pytest.fixture(name="send")
def short_pauses_and_a_server(monkeypatch):
    """A server that answers with these statuses, then 200; gives a function that returns its requests."""
    monkeypatch.delenv(patience.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(patience, "PAUSE", 0.01)
    requests = []

    def run(*statuses, **request):
        left = iter(statuses)

        def answer(_handler, method, url, _body):
            requests.append((method, url))
            return next(left, 200), {"Content-Type": JSON}, '{"kind": "X", "apiVersion": "v1"}'

        with serve(answer) as url, compat.patient_client():
            made = client(url)
            made.request("get", "/version")
            made.request(**request)
        return requests[1:]

    return run


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_request_that_may_be_done_twice_is_repeated_as_it_was(send, status):
    requests = send(200, status, status, method="patch", path="/x", body={}, query_params=[("a", "b")], dry_run="All")
    assert requests == [("PATCH", "/x?a=b&dryRun=All")] * 3


@pytest.mark.parametrize(("status", "method"), [(502, "post"), (404, "get"), (401, "get")])
def test_another_one_is_not(send, status, method):
    with pytest.raises(ApiException) as caught:
        send(200, status, method=method, path="/x", body={})
    assert caught.value.status == status


def test_a_creation_of_a_dry_run_is(send):
    assert len(send(200, 502, method="post", path="/x", body={}, dry_run="All")) == 2


def test_a_request_without_an_answer_ends_at_the_read_timeout(monkeypatch):
    monkeypatch.setattr(compat, "READ_TIMEOUT", 0.2)
    over = threading.Event()
    with raw(lambda _connection: over.wait(20) and None) as url, compat.patient_client(), pytest.raises(urllib3.exceptions.HTTPError, match="timed out"):
        try:
            client(url).request("patch", "/x", body={})
        finally:
            over.set()


def test_credentials_that_it_has_used_are_known_to_our_modules(monkeypatch, tmp_path):
    monkeypatch.setenv(patience.FOLDER_VARIABLE, str(tmp_path))
    statuses = [200, 401, 401]
    with serve(lambda *_request: (statuses.pop(0), {"Content-Type": JSON}, '{"kind": "X", "apiVersion": "v1"}')) as url:
        used, other = client(url).configuration, client(url).configuration
        used.api_key = {"authorization": "Bearer of-the-run"}
        with compat.patient_client():
            DynamicClient(kubernetes.client.ApiClient(used), discoverer=NoDiscovery).request("get", "/version")
        with pytest.raises(ApiError, match="no longer accepts"):
            Cluster(used, {}).get("/version")
        with pytest.raises(ApiError, match="does not accept"):
            Cluster(other, {}).get("/version")


def test_the_library_is_as_it_was_afterwards():
    before = DynamicClient.request
    with compat.patient_client():
        assert DynamicClient.request is not before
    assert DynamicClient.request is before
