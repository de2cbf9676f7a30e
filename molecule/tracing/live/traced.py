"""The stack of this scenario: one gateway with the model service `chat` of real vLLM servers, and a collector."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
import secrets
import signal
import time
import typing as t
import urllib.parse
import urllib.request

from kubernetes import client
from live_stack import NAMESPACE, Stack, call, until

INVENTORY = "molecule/tracing/inventory"
SERVICE, MODEL = "chat", "smollm2-135m-instruct"
COLLECTOR = "tracing"
GATEWAY, PICKER, SERVER = f"llm-d-gateway.{NAMESPACE}", f"{SERVICE}-epp", f"{SERVICE}-decode"
# Seconds until every sender has sent its spans, which it does every five seconds.
SENT = 60.0


@dataclasses.dataclass(frozen=True)
class Span:
    """One span; begin and end in nanoseconds since 1970."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    begin: int
    end: int


class Traced(Stack):
    """The running stack."""

    def __init__(self) -> None:
        super().__init__(INVENTORY, {SERVICE: MODEL})
        self.apps = client.AppsV1Api()

    def collector(self) -> client.V1Pod:
        """The pod of the collector."""
        (pod,) = [item for item in self.core.list_namespaced_pod(COLLECTOR).items if not item.metadata.deletion_timestamp]
        return pod

    def ask_traced(self, trace: str, sampled: bool = True) -> tuple[str, float]:
        """Send one chat of a trace through the gateway: (the client's span id, seconds)."""
        span = secrets.token_hex(8)
        body = {"model": MODEL, "messages": [{"role": "user", "content": "Name an animal."}], "max_tokens": 4, "temperature": 0}
        headers = {"Content-Type": "application/json", "traceparent": f"00-{trace}-{span}-{'01' if sampled else '00'}"}
        request = urllib.request.Request(f"{self.url(SERVICE)}/v1/chat/completions", json.dumps(body).encode(), headers)
        begun = time.monotonic()
        with urllib.request.urlopen(request, timeout=120) as answer:
            assert answer.status == 200 and json.loads(answer.read())["choices"]
        return span, time.monotonic() - begun

    def ask(self, service: str, prompt: str, tokens: int = 1) -> str:
        """Send a chat; returns no pod, since vLLM does not report which one answers."""
        self.ask_traced(secrets.token_hex(16), sampled=False)
        return ""

    def spans(self, trace: str) -> list[Span]:
        """The collector's spans of a trace; none where it has no trace of that id."""
        status, _headers, content = call(f"{self._query}/api/v3/traces/{trace}")
        assert status in (200, 404), content
        return _spans(content) if status == 200 else []

    def spans_of(self, service: str, since: float) -> list[Span]:
        """Spans of one service, of all traces, that began since a time."""
        moment = datetime.datetime.fromtimestamp(since, datetime.UTC).isoformat()
        parameters = urllib.parse.urlencode({"query.service_name": service, "query.start_time_min": moment})
        status, _headers, content = call(f"{self._query}/api/v3/traces?{parameters}")
        assert status == 200, content
        return _spans(content)

    def has(self, trace: str, *services: str) -> list[Span]:
        """The spans of a trace, once each of these services has sent some."""
        until(lambda: {*services} <= {span.service for span in self.spans(trace)}, SENT, f"spans of {', '.join(services)} in trace {trace}")
        return self.spans(trace)

    @property
    def _query(self) -> str:
        return f"http://{self.collector().status.pod_ip}:16686"

    @contextlib.contextmanager
    def gone(self) -> t.Iterator[None]:
        """Scale the collector to zero: its Service has no endpoint."""
        self._scale(0)
        try:
            yield
        finally:
            self._scale(1)

    @contextlib.contextmanager
    def hung(self) -> t.Iterator[None]:
        """Suspend the collector: it accepts connections and does not answer."""
        (process,) = self.processes(self.collector().metadata.name, "otel-collector", COLLECTOR)
        os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(process, signal.SIGCONT)

    def _scale(self, replicas: int) -> None:
        name = "otel-collector"
        self.apps.patch_namespaced_deployment_scale(name, COLLECTOR, {"spec": {"replicas": replicas}})
        until(lambda: (self.apps.read_namespaced_deployment(name, COLLECTOR).status.ready_replicas or 0) == replicas, 60, f"{replicas} collectors")


def _spans(content: bytes) -> list[Span]:
    spans = []
    for resource_spans in json.loads(content)["result"].get("resourceSpans", []):
        names = [item["value"]["stringValue"] for item in resource_spans["resource"].get("attributes", []) if item["key"] == "service.name"]
        for scope in resource_spans["scopeSpans"]:
            for span in scope["spans"]:
                times = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
                spans.append(Span(names[0] if names else "", span["name"], span["traceId"], span["spanId"], span.get("parentSpanId", ""), *times))
    return spans
