# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fills the snapshot of a diagnosis from the API server and the servers of a stack. Read-only; objects that cannot be read are recorded as unread."""

from __future__ import annotations

import collections.abc as c
import dataclasses
import datetime
import typing as t
from concurrent.futures import ThreadPoolExecutor

from ..common import prometheus_text as prometheus
from ..common.labels import label_selector
from ..common.objects import Facts, condition, dicts, get_path, mapping, text
from ..http.answer import Answer
from ..http.errors import ExchangeError
from ..http.transport import UrlTransport
from ..inference import api_keys, health, report, responses
from ..inference.client import PATHS, OpenAIClient
from ..inference.endpoints import listener_url, service_url
from ..inference.targets import Targets
from ..k8s.answer_messages import DROPPED
from ..k8s.client import Cluster
from ..k8s.errors import GRANT, ClusterError
from ..k8s.pod_failures import containers
from ..k8s.related_objects import Observer
from ..k8s.service_proxy import ServiceTransport
from ..releases import engines
from . import ours, wanted
from .collect_others import OthersReader
from .drift_reader import read_drift
from .snapshot import Snapshot, is_ready
from .strangers import proxies_of

THREADS = 12
MAX_LOGS, MAX_SERVERS = 40, 64
COUNTERS = ("generation_tokens_total", "prompt_tokens_total", "request_success_total", "num_requests_total")  # they increase while a server works
PICKED = "x-went-into-resp-headers"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Collector:
    """Fills a snapshot. Raises ClusterError only when the API server cannot be reached at all."""

    def __init__(self, cluster: Cluster, plan: c.Mapping[str, t.Any], limits: c.Mapping[str, t.Any], definitions: c.Sequence[Facts] = ()) -> None:
        """limits: {request_timeout, log_lines, requests}; definitions: the objects that the roles render from the plan."""
        self.cluster, self.snap, self.limits, self.definitions = cluster, Snapshot(plan), limits, definitions
        self.observer = Observer(cluster, [])

    def collect(self) -> Snapshot:
        """The complete snapshot; reads several lists in parallel."""
        self.cluster.get("/version", timeout=10)
        self.snap.now = datetime.datetime.now(datetime.UTC).isoformat()
        self._each(self._list, wanted.lists(self.snap.plan))
        self._each(self._object, [*wanted.objects(self.snap.plan), *(("v1", "ConfigMap", *each) for each in self._configurations())])
        self._each(self._object, [("v1", "PersistentVolumeClaim", *each) for each in sorted(ours.claims(self.snap))])
        self._each(self._list, [("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", place, {}, "") for place in sorted(ours.elsewhere(self.snap))])
        OthersReader(self.cluster, self.snap).read()
        self._each(self._crd, sorted({entry["probe"] for entry in self.snap.plan["prerequisites"]["crds"]} | self._pool_crds()))
        self.snap.drift = read_drift(self.cluster, self.definitions, mapping(self.snap.plan.get("labels")))
        self._logs()
        self._each(self._metrics, self.snap.services)
        if self.limits["requests"]:
            self._each(self._servers, [(service, server) for service in self.snap.services for server in service["servers"]])
            self._each(self._answer, self.snap.services)
        return self.snap

    def _each(self, read: c.Callable[[t.Any], None], items: c.Sequence[t.Any]) -> None:
        with ThreadPoolExecutor(max_workers=THREADS) as pool:
            list(pool.map(read, items))

    def _unread(self, kind: str, place: str, error: Exception, name: str = "") -> None:
        """Records objects of a kind, or the one with this name, as unread. place: their namespace."""
        what = f"{kind} {name}".rstrip() + (f" in {place}" if place else "")
        self.snap.unlisted.add((kind, place or name))
        self.snap.unread.append({"what": what, "kind": kind, "place": place, "message": str(error), "status": getattr(error, "status", None)})

    # objects

    def _configurations(self) -> list[tuple[str, str]]:
        """(namespace, name) of the ConfigMap of each endpoint picker."""
        return [(self.snap.picker_namespace, service["scheduler"]["name"]) for service in self.snap.services]

    def _list(self, query: wanted.ListQuery) -> None:
        api_version, kind, namespace, parameters, accept = query
        try:
            path = self.cluster.path(api_version, kind, namespace or None)
            if path is None:
                self.snap.absent.append(kind)
                return
            reply = self.cluster.find(path, parameters, timeout=20, **({"accept": accept} if accept else {}))
        except ClusterError as error:
            self._unread(kind, namespace, error)
            return
        self._keep(api_version, kind, dicts(mapping(reply).get("items")))

    def _object(self, reference: tuple[str, str, str, str]) -> None:
        """Reads one object by its name."""
        api_version, kind, namespace, name = reference
        try:
            path = self.cluster.path(api_version, kind, namespace or None, name)
            if path is None:
                self.snap.absent.append(kind)
                return
            obj = self.cluster.find(path, timeout=20)
        except ClusterError as error:
            self._unread(kind, namespace, error, name if kind != "Namespace" else "")
            return
        self._keep(api_version, kind, [obj] if obj else [])

    def _keep(self, api_version: str, kind: str, items: list[Facts]) -> None:
        for item in items:
            item["apiVersion"], item["kind"] = api_version, kind
        self.snap.objects.setdefault(kind, []).extend(items)

    def _pool_crds(self) -> set[str]:
        return {f"inferencepools.{service['pool']['api_version'].rpartition('/')[0]}" for service in self.snap.services if service["pool"]["exists"]}

    def _crd(self, name: str) -> None:
        try:
            definition = self.cluster.find(f"{CRDS}/{name}", timeout=20)
            self.snap.crds[name] = definition and {
                "served": [text(entry.get("name")) for entry in dicts(get_path(definition, "spec", "versions")) if entry.get("served")],
                "deleting": bool(get_path(definition, "metadata", "deletionTimestamp")),
                "established": condition(definition.get("status"), "Established").get("status") == "True",
            }
        except ClusterError as error:
            if getattr(error, "status", None) == 403:
                self.snap.crds[name] = self._served(name)
            else:
                self._unread("CustomResourceDefinition", "", error, name)

    def _served(self, name: str) -> Facts | None:
        """The facts about a CRD that an account without permission to read it can get: the served versions; None for no such kind. Raises ClusterError."""
        plural, _dot, group = name.partition(".")
        known = next((entry for entry in dicts(self.cluster.get("/apis").get("groups")) if entry.get("name") == group), {})
        versions = [text(entry.get("groupVersion")) for entry in dicts(known.get("versions"))]
        served = [each.rpartition("/")[2] for each in versions if plural in [entry["name"] for entry in self.cluster.resources(each).values()]]
        return {"served": served, "deleting": False, "established": True} if served else None

    def _logs(self) -> None:
        chosen = []
        proxies = proxies_of(self.snap)
        for pod in ours.pods(self.snap):
            for entry in containers(pod):
                if pod in proxies or (not is_ready(pod) and not entry.get("ready")):
                    chosen.append((pod, text(entry.get("name")), bool(entry.get("restartCount"))))
        self._each(self._log, chosen[:MAX_LOGS])

    def _log(self, chosen: tuple[Facts, str, bool]) -> None:
        pod, container, restarted = chosen
        lines = self.limits["log_lines"]
        log = self.observer.log(pod, container, lines, previous=True) if restarted else ""
        log += self.observer.log(pod, container, lines)
        self.snap.logs[f"{text(get_path(pod, 'metadata', 'namespace'))}/{text(get_path(pod, 'metadata', 'name'))}/{container}"] = log

    # responses

    def _metrics(self, service: c.Mapping[str, t.Any]) -> None:
        epp = service["scheduler"]
        transport = ServiceTransport(self.cluster, self.snap.picker_namespace, epp["name"], epp["ports"]["metrics"])
        try:
            answer = transport.request("GET", "/metrics", timeout=self.limits["request_timeout"])
        except ExchangeError as trouble:
            self.snap.metrics[service["name"]] = {"status": trouble.status, "text": "", "error": str(trouble)}
            return
        self.snap.metrics[service["name"]] = {"status": answer.status, "text": answer.text if answer.status == 200 else ""}

    def _servers(self, pair: tuple[c.Mapping[str, t.Any], c.Mapping[str, t.Any]]) -> None:
        service, server = pair
        replicas = {"namespace": self.snap.namespace, "label_selector": label_selector(server["selector"]), "port": server["port"], "scheme": "http"}
        replicas |= {"api_key_secret": server.get("api_key_secret")}
        required = health.Requirements(
            "metrics",
            service["model"]["served_name"],
            request_timeout=self.limits["request_timeout"],
            engine=service["engine"] if service.get("engine") in engines.ENGINES else "auto",
        )
        try:
            targets = [target for target in Targets({"replicas": replicas}, self.cluster).find() if is_ready(target.pod or {})][:MAX_SERVERS]
        except (ClusterError, ValueError) as error:
            self._unread(f"servers of {service['name']}", self.snap.namespace, error)
            return
        view = report.check_servers(targets, required)
        denied = next((state.failed for _target, state in view.servers if state.failed and state.failed.remedy.startswith(GRANT)), None)
        if denied:
            self._unread(f"servers of {service['name']}", self.snap.namespace, ClusterError(f"{denied.evidence}: {denied.remedy}"))
            return
        entries = [report.server_facts(target, state) for target, state in view.servers]
        for (target, state), entry in zip(view.servers, entries, strict=True):
            if state.failed and state.failed.name != "metrics":
                # the queue length distinguishes a busy server from a hung one
                without_completions = dataclasses.replace(required, completions=False)
                entry["metrics"] = report.server_facts(target, health.check_once(target.client, without_completions))["metrics"]
                entry["progress"] = self._progress(target.client) if state.failed.kind == "timeout" else None
        self.snap.servers += [{**entry, "service": service["name"]} for entry in entries]
        self.snap.differences += [{**difference, "service": service["name"]} for difference in view.findings]

    def _progress(self, client: OpenAIClient) -> bool | None:
        """Whether a server's counters increase within two seconds; None where it has none."""
        pages = []
        for pause in (2.0, 0.0):
            try:
                samples = prometheus.parse(client.get("/metrics", self.limits["request_timeout"]).text)
            except ExchangeError:
                return None
            pages.append({(sample.name, *sorted(sample.labels.items())): sample.value for sample in samples if sample.name.endswith(COUNTERS)})
            self.cluster.clock.sleep(pause)
        return pages[0] != pages[1] if pages[0] else None

    def _answer(self, service: c.Mapping[str, t.Any]) -> None:
        try:
            key = self._key(service)
        except (ClusterError, ValueError) as error:
            self._unread(f"API key of {service['name']}", self.snap.namespace, error)
            return
        proxy, path = service["scheduler"].get("proxy"), service["route"]["path"]
        payload = {"model": service["model"]["served_name"], "prompt": health.PROMPT, "max_tokens": 1, "temperature": 0}
        tried = []
        for where, client in self._standalone(proxy, key) if proxy else self._by_gateway(service["route"], key):
            prefix = "" if path == "/" else path.rstrip("/")
            try:
                answer = client.post(prefix + PATHS["completions"], payload, self.limits["request_timeout"])
            except ExchangeError as trouble:
                tried.append((where, trouble))
                continue
            self.snap.answers.append({**self._answer_row(service["name"], where, answer, key), "way": "proxy" if proxy else "route"})
            return
        if tried and tried[0][1].remedy.startswith(GRANT):
            self._unread(f"answer of {service['name']}", self.snap.namespace, tried[0][1])
        elif tried:
            evidence = "; ".join(str(trouble) for _where, trouble in tried)
            self.snap.answers.append(
                {
                    "service": service["name"],
                    "url": tried[0][0],
                    "status": tried[0][1].status,
                    "body": "",
                    "ok": False,
                    "evidence": evidence,
                    "remedy": tried[0][1].remedy,
                    "kind": tried[0][1].kind,
                    "way": "proxy" if proxy else "route",
                }
            )

    def _key(self, service: c.Mapping[str, t.Any]) -> str | None:
        """The API key that clients send; None where there is none. Raises ValueError and ClusterError."""
        secret = service.get("api_key_secret")
        return api_keys.read(self.cluster, secret) if secret else None

    def _standalone(self, proxy: c.Mapping[str, t.Any], key: str | None) -> c.Iterator[tuple[str, OpenAIClient]]:
        """(address, client) without a Gateway: the Service of the proxy in the picker's pod, then the same Service through the API server."""
        namespace = self.snap.picker_namespace
        obj = self.snap.get("Service", proxy["name"], namespace)
        if obj is None:
            return
        url = service_url(obj, proxy["port"])
        if url:
            yield url, OpenAIClient(UrlTransport(url), key)
        options = {"namespace": namespace, "name": proxy["name"], "port": proxy["port"]}
        yield from self._through_the_cluster(f"Service {namespace}/{proxy['name']}", {"service": options}, key)

    def _through_the_cluster(self, where: str, options: dict[str, t.Any], key: str | None) -> c.Iterator[tuple[str, OpenAIClient]]:
        """(address, client) through the API server: by a forwarded port where there is a key, since its proxy does not pass on keys."""
        try:
            targets = Targets({**options, "api_key": key, "through": "port_forward" if key else "proxy"}, self.cluster).find()
        except (ClusterError, ValueError) as error:
            if key:  # there may be no other path for requests with a key
                self._unread(where, self.snap.namespace, error)
            return
        yield where, targets[0].client

    def _by_gateway(self, route: c.Mapping[str, t.Any], key: str | None) -> c.Iterator[tuple[str, OpenAIClient]]:
        """(address, client): the gateway's address, then its Service through the API server, where the address cannot be reached from here."""
        gateway = self.snap.plan["gateway"]
        obj = self.snap.get("Gateway", gateway["name"], gateway["namespace"])
        if obj is None:
            return
        hosts = [name for name in (*(route.get("hostnames") or []), gateway["listener"].get("hostname")) if name]
        host = hosts[0].replace("*", "diagnosis") if hosts else None
        headers = {each["name"]: each["value"] for each in route.get("headers") or []}
        address = text(next(iter(dicts(get_path(obj, "status", "addresses"))), {}).get("value"))
        url = listener_url(address, dict(gateway["listener"])) if address else ""
        # Any host at the address may present any certificate: an API key is sent only through the API server, which knows the gateway's pods.
        if url and not (key and url.startswith("https:")):
            yield url, OpenAIClient(UrlTransport(url, validate_certs=False), key, {**headers, **({"Host": host} if host else {})})
        if key or (not headers and host is None):
            options = {"namespace": gateway["namespace"], "name": gateway["name"], "listener": gateway["listener"]["name"]}
            server = {"host_header": host, "headers": headers, "validate_certs": False} if key else {}
            yield from self._through_the_cluster("the gateway's Service", {"gateway": options, **server}, key)

    @staticmethod
    def _answer_row(service: str, where: str, answer: Answer, key: str | None) -> dict[str, t.Any]:
        body = answer.text.replace(key, "***") if key else answer.text  # a server may repeat the key that it rejects
        entry = {
            "service": service,
            "url": where,
            "status": answer.status,
            "body": body[:500],
            "ok": True,
            "evidence": f"{answer.request}: {answer.status}",
            "remedy": "",
            "picked": PICKED in answer.headers,
            "dropped": answer.headers.get(DROPPED, ""),
        }
        try:
            responses.completion(answer, (key,) if key else ())
        except ExchangeError as trouble:
            entry.update(ok=False, evidence=str(trouble), remedy=trouble.remedy)
        return entry
