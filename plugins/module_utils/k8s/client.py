# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection to a Kubernetes API server: kubernetes.core's options in, plain requests out, clear lines on failure."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import (
    _create_auth_spec,
    _create_configuration,
    _create_headers,
)

from ..common.objects import dicts, dig, mapping, text
from .errors import ClusterError, explain, missing_library, not_an_api_server, refusal

try:
    import kubernetes
    import urllib3

    LIBRARIES = True
except ImportError:
    LIBRARIES = False

FIELD_MANAGER = "llm_d.inference"
CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 60.0
THREADS = 6
PAGE = "500"  # objects of one page of a list
BUSY_TRIES, BUSY_PAUSE = 20, 0.5


def auth_spec() -> dict:
    """The connection options of kubernetes.core, for an argument_spec."""
    return {name: dict(spec) for name, spec in AUTH_ARG_SPEC.items()}


def connect(module) -> Cluster:
    """A Cluster from a module's parameters and K8S_AUTH_*. No request is sent yet. Raises ClusterError."""
    if not LIBRARIES:
        raise missing_library("kubernetes", "kubernetes")
    auth = _create_auth_spec(module)
    source = _source(auth, getattr(module, "no_log_values", ()))
    try:
        configuration = _create_configuration(auth)
        if not str(configuration.host).startswith(("https://", "http://")):
            raise ClusterError(f"the Kubernetes API server {configuration.host!r} is no URL; write it as https://host:port")
        configuration.connection_pool_maxsize = THREADS
        headers = _create_headers(module)
        return Cluster(configuration, headers, source)
    except Exception as exc:
        raise explain(exc, source=source) from exc


def _source(auth: dict, blotted) -> str:
    """Where the connection was read from, in words. blotted: texts that Ansible will blot out of any message."""
    kubeconfig = auth.get("kubeconfig") or ("" if auth.get("host") else os.environ.get("KUBECONFIG", ""))
    if isinstance(kubeconfig, dict):
        return "the given kubeconfig"
    if not kubeconfig or kubeconfig not in blotted:
        return f"kubeconfig {kubeconfig}" if kubeconfig else ""
    # the option counts as a secret, since a kubeconfig may also be given inline; the halves of its path do not
    folder, name = os.path.split(os.path.abspath(os.path.expanduser(kubeconfig)))
    return f"kubeconfig {name} in {folder}"


class Cluster:
    """Plain requests to one API server. Safe to use from several threads.

    Every method raises ApiError for a refusal and ClusterError for anything else that goes wrong.
    """

    def __init__(self, configuration, headers: dict, source: str = ""):
        self.server = configuration.host
        self.source = source
        self._configuration = configuration
        self._client = kubernetes.client.ApiClient(configuration)
        self._pool = self._client.rest_client.pool_manager
        self._headers = {"Accept": "application/json", "User-Agent": FIELD_MANAGER}
        self._headers.update({name: ",".join(value) if isinstance(value, list) else value for name, value in headers.items()})
        self._apis: dict[str, dict[str, dict]] = {}

    def request(self, method: str, path: str, query: dict | None = None, body: bytes | dict | None = None, **options) -> dict:
        """One request; returns the decoded object. options: content_type, accept, timeout (seconds), raw (return text)."""
        answer = self.send(method, path, query, body, options)
        for _attempt in range(BUSY_TRIES):
            # 429 is the server's own word to come again: it sheds load, or opens the storage of a kind that is a second old
            if answer.status != 429:
                break
            time.sleep(BUSY_PAUSE)
            answer = self.send(method, path, query, body, options)
        if not 200 <= answer.status < 300:
            raise refusal(answer.status, answer.data, self.server, f"{method} {path}")
        if options.get("raw"):
            return answer.data.decode("utf-8", "replace")
        try:
            data = json.loads(answer.data)
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise not_an_api_server(self.server, answer.data)
        return data

    def send(self, method, path, query, body, options):
        """One request as `request` takes it; returns urllib3's answer, whatever its status."""
        headers = dict(self._headers)
        if options.get("accept"):
            headers["Accept"] = options["accept"]
        if body is not None:
            headers["Content-Type"] = options.get("content_type") or "application/json"
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        url = self.server.rstrip("/") + path + ("?" + urlencode(query) if query else "")
        timeout = urllib3.Timeout(connect=CONNECT_TIMEOUT, read=options.get("timeout") or READ_TIMEOUT)
        try:
            # asked each time: a token of an exec plugin or of a pod is renewed under way
            for setting in self._configuration.auth_settings().values():
                headers[setting["key"]] = setting["value"]
            return self._pool.request(method, url, body=body, headers=headers, timeout=timeout, retries=False)
        except Exception as exc:
            raise explain(exc, where=self.server, source=self.source) from exc

    def websocket(self, path: str, protocol: str):
        """A GET that becomes a WebSocket of this protocol, as websocket-client has it; the caller's to close."""
        # here, because few need it, and it takes a websocket library along
        from kubernetes.stream import ws_client
        from websocket import WebSocketBadStatusException

        url = "ws" + self.server.rstrip("/").removeprefix("http") + path
        try:
            headers = {setting["key"]: setting["value"] for setting in self._configuration.auth_settings().values()}
            return ws_client.create_websocket(self._configuration, url, {**headers, "sec-websocket-protocol": protocol})
        except WebSocketBadStatusException as exc:
            raise refusal(exc.status_code, exc.resp_body or b"", self.server, f"GET {path}") from exc
        except Exception as exc:
            raise explain(exc, where=self.server, source=self.source) from exc

    def get(self, path: str, query: dict | None = None, **options) -> dict:
        """GET one object or list."""
        return self.request("GET", path, query, **options)

    def find(self, path: str, query: dict | None = None, **options) -> dict | None:
        """GET one object or list; None when it, or its kind, is not there."""
        try:
            return self.request("GET", path, query, **options)
        except ClusterError as exc:
            if getattr(exc, "status", 0) == 404:
                return None
            raise

    def listed(self, path: str, kind: str | None = None, query: dict | None = None) -> list[dict]:
        """Every object of a list, page by page, with its kind where one is given, which lists leave out; none where the kind is not known."""
        found, more = [], ""
        while True:
            answer = mapping(self.find(path, {**(query or {}), "limit": PAGE, **({"continue": more} if more else {})}))
            found += [{**item, "kind": kind} if kind else item for item in dicts(answer.get("items"))]
            more = text(dig(answer, "metadata", "continue"))
            if not more:
                return found

    def apply(self, path: str, document: bytes, **options) -> dict:
        """Server-side apply of one document, YAML or JSON, under our field manager; conflicts are won."""
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return self.request("PATCH", path, query, document, content_type="application/apply-patch+yaml", **options)

    def resource(self, api_version: str, kind: str, refresh: bool = False) -> dict | None:
        """What discovery says of a kind: {name (the plural), namespaced, ...}; None when the server does not know it."""
        if refresh or api_version not in self._apis:
            prefix = "/api/" if "/" not in api_version else "/apis/"
            found = self.find(prefix + api_version) or {}
            self._apis[api_version] = {entry["kind"]: entry for entry in found.get("resources") or [] if "/" not in entry["name"]}
        return self._apis[api_version].get(kind)

    def path(self, api_version: str, kind: str, namespace: str | None = None, name: str | None = None) -> str | None:
        """The URL path of a kind, or of one object of it; None when the server does not know the kind."""
        resource = self.resource(api_version, kind)
        if resource is None:
            return None
        path = ("/api/" if "/" not in api_version else "/apis/") + api_version
        if resource.get("namespaced") and namespace:
            path += f"/namespaces/{namespace}"
        path += "/" + resource["name"]
        return f"{path}/{name}" if name else path

    def parallel(self, function, items: list) -> list:
        """function(item) for every item, a few at a time, results in order; the first error is raised."""
        if len(items) < 2:
            return [function(item) for item in items]
        with ThreadPoolExecutor(max_workers=THREADS) as pool:
            return list(pool.map(function, items))
