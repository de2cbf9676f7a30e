# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection to a Kubernetes API server, made from kubernetes.core's options. Every failure is a ClusterError of one line."""

from __future__ import annotations

import contextlib
import dataclasses
import email.utils
import functools
import json
import math
import os
import socket
import threading
import time
import typing as t
import urllib.request
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

from ansible.module_utils.common.warnings import warn
from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC

from ..common.clock import SYSTEM, Clock
from ..common.masking import REGISTERS
from ..common.objects import Facts, dicts, get_path, mapping, text
from . import compat
from .errors import ClusterError, UnendingError, explain, no_token, not_an_api_server, refusal, unusable
from .patience import CONNECT_TIMEOUT, READ_TIMEOUT, Patience, credentials_of, is_repeatable

try:
    import kubernetes
    import urllib3

    UNUSABLE: Exception | None = None
except Exception as error:  # pylint: disable=broad-exception-caught # versions that do not fit together raise anything
    UNUSABLE = error

Item = t.TypeVar("Item")
Result = t.TypeVar("Result")

UNVERIFIED = (
    "the certificate of the Kubernetes API server {host} is not verified: whoever is between can read and change everything, also the credentials;"
    " put the cluster's CA into the kubeconfig (certificate-authority) instead of insecure-skip-tls-verify, or give ca_cert instead of validate_certs: false"
)
FIELD_MANAGER = "llm_d.inference"
WHOLE_TIMEOUT = 300.0  # seconds for a whole response
FIRST_TIMEOUT = 20.0  # seconds between two bytes of the first response, which shows whether a server answers; modules that wait longer allow more
MAX_BODY, CHUNK = 512 << 20, 1 << 16  # bytes of a response, of which a list of all pods may be large; bytes that are read at once
THREADS = 6
CONNECTIONS = 4 * THREADS  # kept open, for checks that run side by side and for requests through the API server's proxy
PAGE = "500"  # objects per page of a list


def auth_spec() -> Facts:
    """The connection options of kubernetes.core, for an argument_spec. From its version 6.4 on a kubeconfig, which may be given inline, is no secret there.

    Nor is it here where Ansible hides texts that were registered (plugins/plugin_utils/in_process.py): its path would be hidden wherever the play shows it.
    """
    return {name: {**spec, "no_log": not REGISTERS} if name == "kubeconfig" else dict(spec) for name, spec in AUTH_ARG_SPEC.items()}


def connect(module: t.Any, clock: Clock = SYSTEM) -> Cluster:
    """A Cluster from a module's parameters and K8S_AUTH_*. Sends no request. Raises ClusterError."""
    if UNUSABLE:
        raise unusable(UNUSABLE)
    options = compat.connection_options(module)
    source = _source(options, getattr(module, "no_log_values", ()))
    try:
        configuration = compat.configuration(options)
        if not str(configuration.host).startswith(("https://", "http://")):
            raise ClusterError(f"the Kubernetes API server {configuration.host!r} is no URL; write it as https://host:port")
        if str(configuration.host).startswith("https://") and not configuration.verify_ssl:
            warn(UNVERIFIED.format(host=configuration.host))  # Ansible displays a warning once a run, however many modules issue it
        if configuration.api_key and not configuration.auth_settings():
            raise no_token(kubernetes.__version__)
        configuration.connection_pool_maxsize = CONNECTIONS
        return Cluster(configuration, compat.impersonation_headers(module), source, clock)
    except Exception as exc:
        raise explain(exc, source=source) from exc


def current_context(module: t.Any) -> str | None:
    """The context of the kubeconfig that `connect` uses; None for a connection without one. Sends no request."""
    options = compat.connection_options(module)
    if options.get("context") and not options.get("host"):
        return text(options["context"])
    return text(_context(options).get("name")) or None


def context_namespace(module: t.Any) -> str:
    """The namespace of that context; empty without one. Sends no request."""
    return text(get_path(_context(compat.connection_options(module)), "context", "namespace"))


def _context(options: Facts) -> Facts:
    """The context of a kubeconfig; empty for a pod's own account, for a kubeconfig given inline, and without any."""
    if options.get("host"):
        return {}
    try:
        contexts, current = kubernetes.config.list_kube_config_contexts(options.get("kubeconfig"))
    except Exception:  # pylint: disable=broad-exception-caught
        return {}
    return mapping(next((each for each in contexts if each["name"] == options["context"]), {}) if options.get("context") else current)


def _source(options: Facts, masked: Collection[str]) -> str:
    """Where the connection is read from, for errors. masked: texts that Ansible masks in every message."""
    kubeconfig = options.get("kubeconfig") or ("" if options.get("host") else os.environ.get("KUBECONFIG", ""))
    if isinstance(kubeconfig, dict) or "\n" in kubeconfig:  # its content, not its path
        return "the given kubeconfig"
    if not kubeconfig or kubeconfig not in masked:
        return f"kubeconfig {kubeconfig}" if kubeconfig else ""
    # The option is no_log, since a kubeconfig may be given inline. The two halves of its path are not masked.
    folder, name = os.path.split(os.path.abspath(os.path.expanduser(kubeconfig)))
    return f"kubeconfig {name} in {folder}"


class Cluster:
    """Requests to one API server. Thread-safe. clock: of what waits, here and around it.

    Every method raises ApiError when the API server refuses a request, and ClusterError for any other failure.
    """

    def __init__(self, configuration: t.Any, headers: Facts, source: str = "", clock: Clock = SYSTEM) -> None:
        self.server: str = configuration.host
        self.source, self.clock = source, clock
        self._configuration = configuration
        self._client = kubernetes.client.ApiClient(configuration)
        self._pool = self._client.rest_client.pool_manager
        self._headers = {"Accept": "application/json", "User-Agent": FIELD_MANAGER}
        self._headers.update({name: ",".join(value) if isinstance(value, list) else value for name, value in headers.items()})
        self._apis: dict[str, dict[str, Facts]] = {}
        self._patience = Patience(self.server, clock, credentials_of(configuration))
        self._date = ""

    @property
    def proxy(self) -> str:
        """The proxy through which requests go, as the library in use decides; empty without one."""
        return str(getattr(self._pool, "proxy_url", "") or getattr(self._pool, "proxy", "") or "")

    @property
    def named_proxy(self) -> str:
        """The proxy that the kubeconfig names (proxy-url), or an option: not one of the environment. Helm uses it whatever NO_PROXY says."""
        named = str(self._configuration.proxy or "")
        return "" if named in urllib.request.getproxies().values() else named

    def be_patient(self, seconds: float) -> None:
        """See Patience.be_patient. Logs and responses of pods are read once, since another server fails there."""
        self._patience.be_patient(seconds)

    def server_time(self) -> float:
        """Seconds since the epoch by the clock of the API server at its last response; by the clock of this host where that has no date."""
        try:
            return email.utils.parsedate_to_datetime(self._date).timestamp()
        except (TypeError, ValueError, OverflowError):
            return time.time()

    def request(self, method: str, path: str, query: Facts | None = None, body: bytes | Facts | None = None, **options: t.Any) -> Facts:
        """The object that one request returns. options: content_type, accept, timeout (seconds between two bytes), within (seconds for the whole response),
        limit (bytes of it), until (bytes after which it need not be read), again (whether a creation may be repeated that may have been done)."""
        once = functools.partial(self._succeed, method, path, query, body, options)
        data = self._patience.repeated(options.get("again") or is_repeatable(method, path, query), once)
        try:
            decoded = json.loads(data)
        except ValueError:
            decoded = None
        if not isinstance(decoded, dict):
            raise not_an_api_server(self.server, data)
        return decoded

    def read_text(self, path: str, query: Facts | None = None, **options: t.Any) -> str:
        """The text that a GET returns, such as a log. options: as for request."""
        return self._succeed("GET", path, query, None, options).decode("utf-8", "replace")

    def _succeed(self, method: str, path: str, query: Facts | None, body: bytes | Facts | None, options: Facts) -> bytes:
        answer = self.send(method, path, query, body, options)
        if not 200 <= answer.status < 300:
            raise refusal(
                answer.status, answer.data, self.server, f"{method} {path}", answer.headers.get("Retry-After", ""), self._patience.credentials_accepted
            )
        data: bytes = answer.data
        return data

    def send(self, method: str, path: str, query: Facts | None, body: bytes | Facts | None, options: Facts) -> Response:
        """The response to one request, whatever its status. Arguments as for request.

        The connection is closed, and UnendingError raised, when the response is longer than `limit` or does not end `within` its time.
        """
        headers = dict(self._headers)
        if options.get("accept"):
            headers["Accept"] = options["accept"]
        if body is not None:
            headers["Content-Type"] = options.get("content_type") or "application/json"
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        url = self.server.rstrip("/") + path + ("?" + urlencode(query) if query else "")
        reading = _Reading(f"{method} {path}", self.server, options)
        patience = math.inf if self._patience.reached or method != "GET" else self._patience.left
        late = options.get("timeout") or min(READ_TIMEOUT, max(FIRST_TIMEOUT, patience))
        timeout = urllib3.Timeout(connect=min(CONNECT_TIMEOUT, reading.within), read=min(late, reading.within))
        try:
            # Read for each request, since tokens of exec plugins and of pods are renewed.
            for setting in self._configuration.auth_settings().values():
                headers[setting["key"]] = setting["value"]
            response = reading.whole(self._pool.request(method, url, body=body, headers=headers, timeout=timeout, retries=False, preload_content=False))
            self._patience.reached = True
            self._date = response.headers.get("Date", "")
            return response
        except Exception as exc:
            raise explain(exc, where=self.server, source=self.source) from exc

    def websocket(self, path: str, protocol: str) -> t.Any:
        """An open WebSocket (websocket-client) of this subprotocol. The caller closes it."""
        # Imported here: few modules need it, and it imports a WebSocket library.
        from websocket import WebSocketBadStatusException

        url = "ws" + self.server.rstrip("/").removeprefix("http") + path
        try:
            headers = {setting["key"]: setting["value"] for setting in self._configuration.auth_settings().values()}
            return compat.open_websocket(self._configuration, url, {**headers, "sec-websocket-protocol": protocol})
        except WebSocketBadStatusException as exc:
            raise refusal(exc.status_code, exc.resp_body or b"", self.server, f"GET {path}") from exc
        except Exception as exc:
            raise explain(exc, where=self.server, source=self.source) from exc

    def get(self, path: str, query: Facts | None = None, **options: t.Any) -> Facts:
        """GET one object or list."""
        return self.request("GET", path, query, **options)

    def find(self, path: str, query: Facts | None = None, **options: t.Any) -> Facts | None:
        """GET one object or list; None when it, or its kind, does not exist."""
        try:
            return self.request("GET", path, query, **options)
        except ClusterError as exc:
            if getattr(exc, "status", 0) == 404:
                return None
            raise

    def listed(self, path: str, kind: str | None = None, query: Facts | None = None, **options: t.Any) -> list[Facts]:
        """Every object of a list, read in pages; [] for an unknown kind. kind: set on each object, since items of a list lack it. options: as for request."""
        items: list[Facts] = []
        token = ""
        while True:
            answer = mapping(self.find(path, {**(query or {}), "limit": PAGE, **({"continue": token} if token else {})}, **options))
            items += [{**item, "kind": kind} if kind else item for item in dicts(answer.get("items"))]
            token = text(get_path(answer, "metadata", "continue"))
            if not token:
                return items

    def apply(self, path: str, document: bytes, dry_run: bool = False, **options: t.Any) -> Facts:
        """Server-side apply of one YAML or JSON document as FIELD_MANAGER; takes over conflicting fields. The object as it is, or would be, afterwards."""
        query = {"fieldManager": FIELD_MANAGER, "force": "true", **({"dryRun": "All"} if dry_run else {})}
        return self.request("PATCH", path, query, document, content_type="application/apply-patch+yaml", **options)

    def delete(self, path: str, query: Facts | None = None, body: Facts | None = None) -> None:
        """DELETE one object, which may be gone already."""
        try:
            self.request("DELETE", path, query, body)
        except ClusterError as exc:
            if getattr(exc, "status", 0) != 404:
                raise

    def resource(self, api_version: str, kind: str, refresh: bool = False) -> Facts | None:
        """The APIResource of a kind from discovery: {name (the plural), namespaced, ...}; None when the server does not serve it. Cached unless refresh."""
        return self.resources(api_version, refresh).get(kind)

    def resources(self, api_version: str, refresh: bool = False) -> dict[str, Facts]:
        """The APIResources of an API version by kind, without subresources; empty when the server does not serve it. Cached unless refresh."""
        if refresh or api_version not in self._apis:
            prefix = "/api/" if "/" not in api_version else "/apis/"
            listing = self.find(prefix + api_version) or {}
            self._apis[api_version] = {entry["kind"]: entry for entry in listing.get("resources") or [] if "/" not in entry["name"]}
        return self._apis[api_version]

    def path(self, api_version: str, kind: str, namespace: str | None = None, name: str | None = None) -> str | None:
        """The URL path of a kind, or of one object of it; None when the server does not serve the kind."""
        resource = self.resource(api_version, kind)
        if resource is None:
            return None
        path = ("/api/" if "/" not in api_version else "/apis/") + api_version
        if resource.get("namespaced") and namespace:
            path += f"/namespaces/{namespace}"
        path += "/" + resource["name"]
        return f"{path}/{name}" if name else path

    def parallel(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """function(item) for every item, THREADS at a time, in order. Raises the first error."""
        if len(items) < 2:
            return [function(item) for item in items]
        with ThreadPoolExecutor(max_workers=THREADS) as pool:
            return list(pool.map(function, items))


@dataclasses.dataclass(frozen=True)
class Response:
    """A response with its body."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class _Reading:
    """Reads one response within bounds of bytes and time. what: names the request in errors."""

    def __init__(self, what: str, server: str, options: Facts) -> None:
        self._what = f"the Kubernetes API server {server}: the answer to {what}"
        self.within: float = options.get("within") or WHOLE_TIMEOUT
        self._limit, self._until = options.get("limit") or MAX_BODY, options.get("until")
        self._end = time.monotonic() + self.within

    def whole(self, response: t.Any) -> Response:
        """The response of urllib3, read. Its connection is used again when it was read to its end, else it is closed."""
        late = threading.Event()

        def stop() -> None:
            late.set()
            _shut(response)

        # A timeout of the socket bounds the time between two bytes only: at the end of the time the connection is shut down, which ends a read that waits.
        guard = threading.Timer(max(0.0, self._end - time.monotonic()), stop)
        guard.daemon = True
        guard.start()
        read = getattr(response, "read1", response.read)  # without read1, which older urllib3 lacks, `until` waits for the end
        body, ended = bytearray(), False
        try:
            while not ended and not self._has_all(body):
                chunk = read(CHUNK)
                ended = not chunk
                body += chunk
                if len(body) > self._limit:
                    raise UnendingError(f"{self._what} is longer than {self._limit >> 20} MiB, and was not read further; look at what answers there", True)
                if late.is_set():
                    raise TimeoutError
        except Exception as exc:
            if late.is_set():
                raise UnendingError(f"{self._what} did not end within {self.within:g} s ({len(body)} bytes came); look at what answers there", False) from exc
            raise
        finally:
            guard.cancel()
            if ended and not late.is_set():
                response.release_conn()
            else:
                _shut(response)
        return Response(response.status, response.headers, bytes(body))

    def _has_all(self, body: bytearray) -> bool:
        return self._until is not None and self._until in body[-CHUNK - len(self._until) :]


def _shut(response: t.Any) -> None:
    """Shut the connection of a response down and close it, whoever reads from it."""
    with contextlib.suppress(Exception):  # it may be closed already, or have been given back
        response.connection.sock.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(Exception):
        response.close()
