# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A running endpoint picker as the checks use it: its streams, its pool in the cluster, Pods for probing, its health and metrics, its gateway."""

from __future__ import annotations

import collections.abc as c
import contextlib
import datetime
import http.client
import socket
import time
import typing as t
import urllib.parse

from ..common.clock import Clock
from ..common.labels import label_selector
from ..common.objects import Facts, condition, get_path, text
from ..common.text import shorten
from ..http.errors import ExchangeError
from ..http.grpc import GrpcConnection, GrpcError, connect
from ..http.transport import Transport, UrlTransport, tls_context
from ..k8s import inference_pools
from ..k8s.errors import ClusterError
from ..k8s.port_forward import PROTOCOL, Forward, ForwardTransport
from . import picker_pool, picker_stream
from .picker_checks import Failed, PickerReply, PickerRequest, Skipped

POLL = 0.1  # seconds
PLACED, MOVED = 60.0, 180.0  # seconds until a probe has its address or a condition, and until the endpoint picker is gone or back
CONNECTED, ANSWER = 10.0, 60.0  # seconds until there is a connection, and for a request through the gateway
MAX_BYTES = 32 << 20  # bytes of a response
_PICKER_MISSING = "there is no ready Pod of the endpoint picker: deploy it, or give its address (conformance_picker_address)"


class PickerBench:
    """See picker_checks.Bench. cluster: a k8s.client.Cluster; pool: the InferencePool.

    options: model, bound, address, health_address, metrics_address (host:port, empty for Pods of the cluster), probe_image (empty: no Pods), stop (whether
    the endpoint picker may be stopped), url, headers, validate_certs and ca_path of the gateway.
    """

    def __init__(self, cluster: t.Any, pool: Facts, options: Facts) -> None:
        self._cluster, self._pool, self._options = cluster, pool, options
        self._namespace: str = pool["metadata"]["namespace"]
        self._pods_path = f"/api/v1/namespaces/{self._namespace}/pods"
        self._connection: GrpcConnection | None = None
        self.model: str = options["model"]
        self.bound: float = options["bound"]
        self.failure_mode: str = inference_pools.reference(pool)["failureMode"]

    @property
    def endpoints(self) -> list[str]:
        """The endpoints of the ready Pods of the pool at this moment."""
        with failing():
            return picker_pool.endpoints(self._pool, self._pods(inference_pools.selector(self._pool)))

    # Streams

    def ask(self, requests: c.Sequence[PickerRequest]) -> list[PickerReply]:
        """See Bench."""
        try:
            return picker_stream.ask(self._picker(), requests) if requests else []
        except GrpcError as error:
            return [PickerReply(error=str(error))] * len(requests)

    def answer(self, request: PickerRequest, pieces: c.Sequence[bytes]) -> tuple[PickerReply, list[bytes | None]]:
        """See Bench."""
        try:
            return picker_stream.answer(self._picker(), request, pieces)
        except GrpcError as error:
            return PickerReply(error=str(error)), [None] * len(pieces)

    def break_off(self, request: PickerRequest) -> PickerReply:
        """See Bench."""
        try:
            return picker_stream.break_off(self._picker(), request)
        except GrpcError as error:
            return PickerReply(error=str(error))

    def encrypted(self) -> bool:
        """Whether the endpoint picker serves TLS. Raises GrpcError where it cannot be reached."""
        return self._picker().encrypted

    def close(self) -> None:
        """Closes the connection."""
        if self._connection:
            self._connection.close()
        self._connection = None

    def _picker(self) -> GrpcConnection:
        if self._connection and self._connection.broken:
            self.close()
        if not self._connection:
            self._connection = self._connect(self._options["address"], lambda pod: picker_pool.port_of(self._service(), self._reference["port"], pod))
        return self._connection

    def _connect(self, address: str, port: c.Callable[[Facts], int]) -> GrpcConnection:
        """A connection to an address, else to a port of a Pod of the endpoint picker."""
        if address:
            host, _colon, number = address.rpartition(":")
            return connect(lambda: (_reach(host.strip("[]"), int(number)), lambda: None), address)
        try:
            pod = self._picker_pod()
            name = pod["metadata"]["name"]

            def dial() -> tuple[socket.socket, c.Callable[[], None]]:
                forward = Forward(self._cluster.websocket(f"{self._pods_path}/{name}/portforward?ports={port(pod)}", PROTOCOL))
                return forward.near, forward.close

            return connect(dial, name)
        except ClusterError as error:
            raise GrpcError(str(error)) from error

    # The endpoint picker's Pods

    @property
    def _reference(self) -> Facts:
        return inference_pools.reference(self._pool)

    def _service(self) -> Facts:
        service: Facts | None = self._cluster.find(f"/api/v1/namespaces/{self._namespace}/services/{self._reference['name']}")
        if service is None:
            raise ClusterError(f"the InferencePool names the Service {self._namespace}/{self._reference['name']}, which does not exist")
        return service

    def _picker_pods(self) -> list[Facts]:
        labels = get_path(self._service(), "spec", "selector") or {}
        return self._pods(labels) if labels else []

    def _picker_pod(self) -> Facts:
        ready = [pod for pod in self._picker_pods() if picker_pool.is_ready(pod)]
        if not ready:
            raise ClusterError(_PICKER_MISSING)
        return ready[0]

    def health(self, service: str) -> str:
        """See Bench."""
        try:
            connection = self._connect(self._options["health_address"], lambda pod: picker_pool.other_port(pod, "health"))
            try:
                return picker_stream.health(connection, service)
            finally:
                connection.close()
        except GrpcError as error:
            return str(error)

    def metrics(self) -> str:
        """See Bench."""
        address = self._options["metrics_address"]
        try:
            transport: Transport = UrlTransport(f"http://{address}", use_proxy=False) if address else self._metrics_of_pod()
            response = transport.request("GET", "/metrics")
        except (ClusterError, ExchangeError) as error:
            raise Failed(str(error)) from error
        if response.status in (401, 403):
            raise Skipped(f"the page of metrics requires authentication ({response.status})")
        if response.status != 200:
            raise Failed(f"{response.request} is answered with {response.status}")
        return response.text

    def _metrics_of_pod(self) -> Transport:
        pod = self._picker_pod()
        name = pod["metadata"]["name"]
        return ForwardTransport(self._cluster, self._namespace, name, picker_pool.other_port(pod, "metrics"), name)

    @contextlib.contextmanager
    def stopped(self) -> c.Iterator[None]:
        """See Bench. Its Deployment is scaled to 0, and back to its replicas afterwards."""
        if not self._options["stop"]:
            raise Skipped("not allowed: conformance_stop_picker=true lets the endpoint picker be stopped for some seconds")
        with failing():
            path = f"/apis/apps/v1/namespaces/{self._namespace}/deployments/{self._deployment()}/scale"
            before = self._cluster.get(path)["spec"]["replicas"]
            try:
                self._scale(path, 0)
                self._wait(lambda: not self._picker_pods(), MOVED, "the endpoint picker is still there")
                yield
            finally:
                self._scale(path, before)
                self._wait(lambda: len([pod for pod in self._picker_pods() if picker_pool.is_ready(pod)]) >= before, MOVED, "the endpoint picker is not back")
                self.close()

    def _deployment(self) -> str:
        kind, name = picker_pool.owner(self._picker_pod())
        if kind == "ReplicaSet":
            kind, name = picker_pool.owner(self._cluster.get(f"/apis/apps/v1/namespaces/{self._namespace}/replicasets/{name}"))
        if kind != "Deployment":
            raise Skipped(f"the endpoint picker is run by {kind or 'no controller'}, and only a Deployment is stopped")
        return name

    def _scale(self, path: str, replicas: int) -> None:
        self._cluster.request("PATCH", path, body={"spec": {"replicas": replicas}}, content_type="application/merge-patch+json")

    # Pods for probing

    def _pods(self, labels: Facts) -> list[Facts]:
        return list(self._cluster.listed(self._pods_path, query={"labelSelector": label_selector(labels)}))

    @contextlib.contextmanager
    def probe(self) -> c.Iterator[PickerProbe]:
        """See Bench."""
        if not self._options["probe_image"]:
            raise Skipped("not allowed: conformance_probe_image lets a Pod be created that the pool selects")
        body = picker_pool.probe(self._pool, self._options["probe_image"], int(self.bound) + 10)
        with failing():
            name = self._cluster.request("POST", self._pods_path, body=body)["metadata"]["name"]
            try:
                probe = PickerProbe(self._cluster, f"{self._pods_path}/{name}", self._wait)
                probe.place(inference_pools.target_ports(self._pool)[0])
                yield probe
            finally:
                self.remove_probes()

    def remove_probes(self) -> None:
        """Deletes the Pods for probing, also those of a run that was killed. Raises ClusterError."""
        for pod in self._pods({picker_pool.LABEL: text(self._pool["metadata"]["name"])[:63]}):
            self._cluster.delete(f"{self._pods_path}/{pod['metadata']['name']}", {"gracePeriodSeconds": "0"})

    def until(self, holds: c.Callable[[], bool]) -> float | None:
        """See Bench."""
        return self._took(holds, self.bound)

    def _wait(self, holds: c.Callable[[], bool], seconds: float, what: str) -> None:
        self._cluster.be_patient(seconds)
        if self._took(holds, seconds) is None:
            raise Failed(f"{what} after {seconds:g} s")

    def _took(self, holds: c.Callable[[], bool], bound: float) -> float | None:
        """The seconds until it holds; None where it does not within the bound."""
        clock: Clock = self._cluster.clock
        began = clock.now()
        while not holds():
            if clock.now() - began > bound:
                return None
            clock.sleep(POLL)
        return clock.now() - began

    # The gateway

    def send(self, request: PickerRequest) -> tuple[int, list[bytes]]:
        """See Bench."""
        if not self._options["url"]:
            raise Skipped("the address of the gateway is not known: conformance_url")
        parts = urllib.parse.urlsplit(self._options["url"])
        host, port = parts.hostname or "", parts.port
        if parts.scheme == "https":
            context = tls_context(self._options["ca_path"], self._options["validate_certs"])
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, port, timeout=ANSWER, context=context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=ANSWER)
        body = request.body or b""
        headers = {"Content-Type": "application/json", **self._options["headers"], **dict(request.headers), "Transfer-Encoding": "chunked"}
        pieces = (body[at : at + request.piece] for at in range(0, len(body), request.piece))
        try:
            connection.request("POST", f"{parts.path.rstrip('/')}/v1/chat/completions", body=pieces, headers=headers, encode_chunked=True)
            response = connection.getresponse()
            return response.status, list(self._read(response))
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"{self._options['url']} does not answer: {shorten(str(error) or type(error).__name__)}") from error
        finally:
            connection.close()

    def _read(self, response: http.client.HTTPResponse) -> c.Iterator[bytes]:
        late, size = time.monotonic() + ANSWER, 0
        while piece := response.read1(1 << 16):
            size += len(piece)
            if size > MAX_BYTES or time.monotonic() > late:
                raise Failed(f"the response does not end within {ANSWER:g} s and {MAX_BYTES >> 20} MiB")
            yield piece


@contextlib.contextmanager
def failing() -> c.Iterator[None]:
    """Turns an error of the API server into the failure of a check."""
    try:
        yield
    except ClusterError as error:
        raise Failed(str(error)) from error


class PickerProbe:
    """See picker_checks.Probe. path: the path of its Pod in the API."""

    def __init__(self, cluster: t.Any, path: str, wait: c.Callable[[c.Callable[[], bool], float, str], None]) -> None:
        self._cluster, self._path, self._wait = cluster, path, wait
        self.address = ""

    def place(self, port: int) -> None:
        """Waits until it has an address."""
        self._wait(lambda: bool(get_path(self._pod(), "status", "podIP")), PLACED, "the Pod for probing has no address (is there an image, and room?)")
        self.address = picker_pool.endpoint(get_path(self._pod(), "status", "podIP"), port)

    def ready(self, ready: bool) -> None:
        """See Probe. Returns once the Pod has this condition."""
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        options = {"content_type": "application/strategic-merge-patch+json"}
        self._cluster.request("PATCH", f"{self._path}/status", body=picker_pool.gate(ready, now), **options)
        word = "True" if ready else "False"
        self._wait(lambda: condition(self._pod().get("status"), "Ready").get("status") == word, PLACED, f"the Pod for probing is not Ready={word}")

    def terminate(self) -> None:
        """See Probe."""
        self._cluster.delete(self._path)
        if not get_path(self._pod(), "metadata", "deletionTimestamp"):
            raise Skipped("a deleted Pod ends at once here, without time to drain")

    def remove(self) -> None:
        """See Probe."""
        self._cluster.delete(self._path, {"gracePeriodSeconds": "0"})
        self._wait(lambda: not self._pod(), PLACED, "the Pod for probing is still there")

    def _pod(self) -> Facts:
        return self._cluster.find(self._path) or {}


def _reach(host: str, port: int) -> socket.socket:
    """A connected socket that sends small messages at once."""
    reached = socket.create_connection((host, port), CONNECTED)
    reached.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return reached
