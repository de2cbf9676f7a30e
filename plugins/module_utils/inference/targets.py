# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resolves the options of a module into servers: URLs, or Services, Pods and Gateways reached through the API server."""

from __future__ import annotations

import collections.abc as c
import concurrent.futures
import dataclasses
import types
import typing as t
import urllib.parse

from ..common.labels import label_selector
from ..common.objects import Facts, condition, dicts, get_path, mapping, text
from ..http import headers as http_headers
from ..http import tls
from ..http.transport import RetryTransport, Transport, UrlTransport
from ..k8s.node_failures import Failure as PodFailure
from ..k8s.pod_failures import containers, log_failure, pod_failure
from ..k8s.port_forward import ForwardTransport
from ..k8s.service_proxy import ServiceTransport
from . import api_keys
from .client import OpenAIClient
from .endpoints import namespace_absent

# Label selectors of a Gateway's Service: the Gateway API's label, then those of Envoy Gateway.
GATEWAY_SERVICES = (
    "gateway.networking.k8s.io/gateway-name={name}",
    "gateway.envoyproxy.io/owning-gateway-name={name},gateway.envoyproxy.io/owning-gateway-namespace={namespace}",
)
KINDS = ("service", "pod", "gateway", "replicas")
THREADS = 16
NO_HEADERS = "cannot be sent through the API server's proxy, which keeps such headers for itself; write through: port_forward, or give url or urls instead"


class AbsentError(ValueError):
    """An object that the options name does not exist; it may be created later."""


@dataclasses.dataclass(frozen=True)
class ServerTarget:
    """One server. `pages`: the client for its metrics, where they are on another port; `pod`: its pod, where known."""

    name: str
    client: OpenAIClient
    pages: OpenAIClient | None = None
    pod: dict[str, t.Any] | None = None


def route_headers(params: c.Mapping[str, t.Any]) -> dict[str, str]:
    """The headers that a gateway routes requests by: those of the options `host_header` and `headers`. Raises ValueError where they are invalid."""
    if problems := http_headers.problems(params.get("headers") or {}, params.get("host_header"), params.get("api_key")):
        raise ValueError("; ".join(problems))
    host = {"Host": params["host_header"]} if params.get("host_header") else {}
    return {**(params.get("headers") or {}), **host}


class Targets:
    """Resolves the options `url`, `urls`, `service`, `pod`, `gateway` and `replicas`. Raises ValueError for options that contradict each other."""

    def __init__(self, params: c.Mapping[str, t.Any], cluster: t.Any = None, patience: float = 0.0) -> None:
        """patience: the seconds that the module waits, see Cluster.be_patient."""
        self._params, self._cluster, self._patience = params, cluster, patience
        self._key, self._headers = params.get("api_key"), route_headers(params)
        self._secret: Facts | None = (params.get("replicas") or {}).get("api_key_secret")
        self._direct = params.get("through") == "address"
        self._forwards = params.get("through") == "port_forward" or bool(self._secret)
        if any(params.get(kind) for kind in KINDS) and not self._forwards and not self._direct:
            for option in ("api_key", "host_header"):
                if params.get(option):
                    raise ValueError(f"{option} {NO_HEADERS}")
        self._fixed = [self._url(url) for url in [*filter(None, [params.get("url")]), *(params.get("urls") or [])]]

    @property
    def cluster(self) -> t.Any:
        """The connection to the API server, opened on first use. Raises ClusterError."""
        if self._cluster is None:
            # imported here because the kubernetes library takes half a second to load, and a URL does not need it
            from ..k8s import client as cluster

            wanted = {name: self._params.get(name) for name in ("kubeconfig", "context")}
            self._cluster = cluster.connect(types.SimpleNamespace(params=wanted))
            self._cluster.be_patient(self._patience)
        return self._cluster

    def find(self) -> list[ServerTarget]:
        """The servers at this moment; queries the API server on each call. Raises AbsentError, ValueError and ClusterError."""
        if self._secret:
            self._key = api_keys.read(self.cluster, self._secret)
        resolvers = {"service": self._service, "pod": self._pod, "gateway": self._gateway, "replicas": self._replicas}
        return next((resolve(self._params[kind]) for kind, resolve in resolvers.items() if self._params.get(kind)), self._fixed)

    def known_failure(self, target: ServerTarget) -> PodFailure | None:
        """The known failure that the pod's status or log shows; None where there is none."""
        if target.pod is None:
            return None
        # imported here, since the kubernetes library takes half a second to load
        from ..k8s.related_objects import LOG_LINES, Observer

        observer, stated = Observer(self.cluster, []), pod_failure(target.pod)
        if stated and stated.code not in ("crash", "failed"):
            return stated
        for entry in containers(target.pod):
            for previous in (True, False) if entry.get("restartCount") else (False,):
                logged = log_failure(observer.log(target.pod, text(entry.get("name")), LOG_LINES, previous))
                if logged:
                    return logged
        return stated

    def _client(self, transport: Transport) -> OpenAIClient:
        retries = self._params.get("retries") or 0
        return OpenAIClient(RetryTransport(transport, retries) if retries else transport, self._key, self._headers)

    def _url(self, url: str) -> ServerTarget:
        params = self._params
        options = {**tls.chosen(params), "use_proxy": params.get("use_proxy", True)}
        transport = UrlTransport(url, **options)
        pages, port = None, params.get("metrics_port")
        if port:
            parts = urllib.parse.urlsplit(transport.url)
            host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
            pages = self._client(UrlTransport(f"{parts.scheme}://{host}:{port}", **options))
        return ServerTarget(transport.url, self._client(transport), pages)

    def _reached(self, kind: str, namespace: str, name: str, port: t.Any, scheme: str | None, pod: Facts | None = None) -> ServerTarget:
        """A server behind a Service or Pod, through the proxy of the API server or a port-forward, or a Pod at its address, as `through` says."""
        if self._direct and pod is not None:
            return ServerTarget(f"{kind} {namespace}/{name}", self._url(_address(pod, port)).client, None, pod)
        if not self._forwards:
            return self._proxied(kind, namespace, name, port, scheme, pod)
        if pod is None:
            pod, port = self._behind(namespace, name, port)
        server, metrics = text(get_path(pod, "metadata", "name")), self._params.get("metrics_port")
        host = self._params.get("host_header") or f"{name}.{namespace}.{'svc' if kind == 'Service' else 'pod'}"

        def client(number: t.Any, scheme: str) -> OpenAIClient:
            options = {"prefix": self._params.get("prefix") or "", **tls.chosen(self._params)}
            return self._client(ForwardTransport(self.cluster, namespace, server, int(number), host, scheme, **options))

        return ServerTarget(f"{kind} {namespace}/{name}", client(port, scheme or "http"), client(metrics, "http") if metrics else None, pod)

    def _behind(self, namespace: str, name: str, port: t.Any) -> tuple[dict[str, t.Any], t.Any]:
        """(Pod, container port) behind a port of a Service; a ready Pod where there is one."""
        service, selector = self._selector(namespace, name, "service")
        pods = sorted(self._pods(namespace, selector), key=lambda pod: not ready(pod))
        if not pods:
            raise AbsentError(f"Service {namespace}/{name} has no pods: check its selector and its Deployment")
        entry = next((entry for entry in dicts(get_path(service, "spec", "ports")) if text(port) in (text(entry.get("port")), text(entry.get("name")))), None)
        if entry is None:
            raise ValueError(f"Service {namespace}/{name} has no port {port}: correct it")
        return pods[0], _port(pods[0], entry.get("targetPort") or entry.get("port"))

    def _selector(self, namespace: str, name: str, option: str) -> tuple[dict[str, t.Any], str]:
        """A Service and the selector of its Pods, as a query."""
        service = self.cluster.find(f"/api/v1/namespaces/{namespace}/services/{name}")
        if service is None:
            raise self._absent(f"Service {namespace}/{name}", namespace, option, "service" if option == "replicas" else "name")
        chosen = mapping(get_path(service, "spec", "selector"))
        if not chosen:
            raise ValueError(f"Service {namespace}/{name} selects no pods by labels: give replicas.label_selector")
        return service, label_selector(chosen)

    def _absent(self, what: str, namespace: str, option: str, name: str) -> AbsentError:
        """The error about an object that does not exist. Raises ValueError where its namespace does not exist either."""
        self._require_namespace(namespace, option)
        return AbsentError(f"there is no {what}: correct {option}.namespace or {option}.{name}")

    def _require_namespace(self, namespace: str, option: str) -> None:
        """Raises ValueError where there is no such namespace, as far as the permissions of this account show."""
        if namespace_absent(self.cluster, namespace):
            raise ValueError(f"there is no namespace {namespace}: correct {option}.namespace")

    def _pods(self, namespace: str, selector: str | None) -> list[dict[str, t.Any]]:
        """The Pods that are running or starting."""
        pods = dicts(mapping(self.cluster.find(f"/api/v1/namespaces/{namespace}/pods", {"labelSelector": selector})).get("items"))
        return [pod for pod in pods if not get_path(pod, "metadata", "deletionTimestamp") and get_path(pod, "status", "phase") not in ("Succeeded", "Failed")]

    def _proxied(self, kind: str, namespace: str, name: str, port: t.Any, scheme: str | None, pod: Facts | None = None) -> ServerTarget:
        prefix, metrics = "https" if scheme == "https" else "", self._params.get("metrics_port")
        client = self._client(ServiceTransport(self.cluster, namespace, name, port, prefix, kind))
        pages = self._client(ServiceTransport(self.cluster, namespace, name, metrics, "", kind)) if metrics else None
        return ServerTarget(f"{kind} {namespace}/{name}", client, pages, pod)

    def _service(self, wanted: c.Mapping[str, t.Any]) -> list[ServerTarget]:
        return [self._reached("Service", wanted["namespace"], wanted["name"], wanted["port"], wanted.get("scheme"))]

    def _pod(self, wanted: c.Mapping[str, t.Any]) -> list[ServerTarget]:
        pod = self.cluster.find(f"/api/v1/namespaces/{wanted['namespace']}/pods/{wanted['name']}")
        if pod is None:
            raise self._absent(f"Pod {wanted['namespace']}/{wanted['name']}", wanted["namespace"], "pod", "name")
        return [self._reached("Pod", wanted["namespace"], wanted["name"], _port(pod, wanted["port"]), wanted.get("scheme"), pod)]

    def _gateway(self, wanted: c.Mapping[str, t.Any]) -> list[ServerTarget]:
        namespace, name = wanted["namespace"], wanted["name"]
        path = self.cluster.path("gateway.networking.k8s.io/v1", "Gateway", namespace, name)
        gateway = self.cluster.find(path) if path else None
        if gateway is None:
            raise self._absent(f"Gateway {namespace}/{name}", namespace, "gateway", "name")
        listeners = dicts(get_path(gateway, "spec", "listeners"))
        listener = next((entry for entry in listeners if wanted.get("listener") in (None, entry.get("name"))), None)
        if listener is None:
            raise ValueError(f"Gateway {namespace}/{name} has no listener {wanted['listener']}; it has {', '.join(text(e.get('name')) for e in listeners)}")
        selectors = [selector.format(name=name, namespace=namespace) for selector in GATEWAY_SERVICES]
        # In the namespace of the Gateway, which needs no permission for other namespaces; else in any, such as that of its controller.
        for path in (f"/api/v1/namespaces/{namespace}/services", "/api/v1/services"):
            for selector in selectors:
                services = dicts(mapping(self.cluster.find(path, {"labelSelector": selector})).get("items"))
                if services:
                    service, scheme = services[0]["metadata"], "https" if listener.get("protocol") == "HTTPS" else "http"
                    return [self._reached("Service", service["namespace"], service["name"], listener.get("port"), scheme)]
        raise AbsentError(f"no Service has the labels of Gateway {namespace}/{name}: give its address in url")

    def _replicas(self, wanted: c.Mapping[str, t.Any]) -> list[ServerTarget]:
        namespace, selector, port = wanted["namespace"], wanted.get("label_selector"), wanted.get("port")
        if wanted.get("service"):
            service, selector = self._selector(namespace, wanted["service"], "replicas")
            port = port or _target_port(service)
        pods = self._pods(namespace, selector)
        if self._direct:  # a program in a pod, which has no permission to read the namespace and requires pods with an address that answer
            pods = [pod for pod in pods if ready(pod)]
        elif not pods:
            self._require_namespace(namespace, "replicas")
        return [self._reached("Pod", namespace, text(get_path(pod, "metadata", "name")), _port(pod, port), wanted.get("scheme"), pod) for pod in pods]


def of_service(params: Facts, service: Facts, reach: Targets) -> list[tuple[list[ServerTarget], int]]:
    """(existing servers, required number of servers) for each set of servers of an element of the option `services`. Raises the errors of `find`.

    reach: holds the connection, which is opened only to list pods.
    """
    if service["urls"]:
        return [(Targets({**params, "urls": service["urls"]}).find(), 0)]
    return [(Targets({**params, "replicas": group}, reach.cluster).find(), group.get("count", 0)) for group in service["replicas"]]


def on_each(services: c.Sequence[list[ServerTarget]], work: c.Callable[[int, ServerTarget], t.Any]) -> list[list[t.Any]]:
    """The results of `work` for each server of each service, in their order. work: takes the index of a service and a server; 16 calls run in parallel."""
    jobs = [(index, target) for index, targets in enumerate(services) for target in targets]
    with concurrent.futures.ThreadPoolExecutor(max_workers=THREADS) as pool:
        answers = iter(list(pool.map(lambda job: work(*job), jobs)))
    return [[next(answers) for _target in targets] for targets in services]


def ready(pod: Facts | None) -> bool:
    """True for a pod that is Ready, and for a server without a known pod."""
    return pod is None or condition(pod.get("status"), "Ready").get("status") == "True"


def _address(pod: Facts, port: t.Any) -> str:
    """The URL of a pod in the network of the cluster."""
    address = text(get_path(pod, "status", "podIP"))
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def _target_port(service: Facts) -> t.Any:
    first = next(iter(dicts(get_path(service, "spec", "ports"))), {})
    return first.get("targetPort") or first.get("port")


def _port(pod: Facts, port: t.Any) -> t.Any:
    """The number of a named port of a pod; without a name, that of its first port, else 8000."""
    known = [entry for part in dicts(get_path(pod, "spec", "containers")) for entry in dicts(part.get("ports"))]
    if port is None:
        return known[0].get("containerPort") if known else 8000
    return next((entry.get("containerPort") for entry in known if entry.get("name") == text(port)), port)
