# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where gateway, endpoint pickers and model servers send their spans, and which of them cannot. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import Facts
from ...releases.lines import RELEASES
from ...schema.fields import Problem

VARIABLE = "llm_d_tracing"
# What nobody else can reach means the pod itself there, in which there is no collector.
_LOOPBACK = ("localhost", "ip6-localhost")
_HTTP_PORT = 4318  # of OTLP over HTTP
_SAMPLER, _SHARE = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
# Shares of Envoy are fractions of whole numbers; this denominator is one that it knows.
_DENOMINATOR = 10000


def collector(user: Facts) -> Facts | None:
    """{host, port, url, sampling, numerator, denominator: the same as a fraction} of the collector; None where nothing is traced."""
    settings = user[VARIABLE]
    if not settings["endpoint"]:
        return None
    host, _colon, port = settings["endpoint"].partition("://")[2 if "://" in settings["endpoint"] else 0].rstrip("/").rpartition(":")
    share = {"sampling": float(settings["sampling"]), "numerator": round(settings["sampling"] * _DENOMINATOR), "denominator": _DENOMINATOR}
    return {"host": host, "port": int(port), "url": f"http://{host}:{port}", **share}


def collector_service(user: Facts) -> Facts | None:
    """{namespace, name, port} of the Service that the endpoint names: NAME.NAMESPACE, with or without .svc and the domain. None for another host."""
    to = collector(user)
    name, namespace, *rest = to["host"].split(".") if to else ["", ""]
    if not to or rest[:1] not in ([], ["svc"]):
        return None
    return {"namespace": namespace, "name": name, "port": to["port"], "sure": bool(rest)}


def picker_flag(user: Facts) -> str:
    """The flag of an endpoint picker or routing sidecar that switches its traces."""
    return f"--tracing={'true' if collector(user) else 'false'}"


def picker_environment(user: Facts, release: Facts, name: str) -> list[Facts]:
    """The environment of an endpoint picker or routing sidecar, by whose name its spans are found."""
    if collector(user):
        return [_variable("OTEL_TRACES_EXPORTER", "otlp"), *_environment(user, name)]  # without it they print spans to their log
    # These lines send a tenth of their spans to port 4317 of their own pod, whatever --tracing says, and log each failure.
    return [_variable(_SHARE, "0")] if release["tracing"]["always"] else []


def server_requirements(service: Facts, user: Facts, name: str) -> Facts:
    """{args, env} that a model server needs beside those of the scheduler; both empty where it sends no traces."""
    to = collector(user)
    if not to or service["engine"]["type"] != "vllm":
        return {"args": [], "env": []}
    return {"args": [f"--otlp-traces-endpoint={to['url']}"], "env": _environment(user, name)}


def gateway_tracing(user: Facts, facts: Facts, create: bool) -> Facts | None:
    """What the proxies' parameters say: {host, port, numerator, denominator}; None where we write none. facts: the provider's row."""
    to = collector(user)
    if not to or not create or facts["tracing"] != "parameters":
        return None
    return {key: to[key] for key in ("host", "port", "numerator", "denominator")}


def tracing_warnings(user: Facts, services: t.Sequence[Facts], facts: Facts, create: bool) -> list[str]:
    """What will be missing from a trace, one line each. facts: the provider's row; create: whether the Gateway is ours."""
    if not collector(user):
        return []
    found = []
    provider, line = user["llm_d_gateway"]["provider"], user["llm_d_release"]
    if facts["tracing"] is None or not (create or facts["tracing"] == "sidecar"):
        whose = "is not set up by this collection" if create else "is up to whoever owns it"
        found.append(
            f"{VARIABLE}: tracing of the gateway (provider {provider}) {whose}: by this option it sends no spans. It passes traceparent on, or begins"
            " the trace where it is traced by its own means."
        )
    if not RELEASES[line]["tracing"]["joins"]:
        found.append(
            f"{VARIABLE}: an endpoint picker of {line} begins a trace of its own for each request, so its spans are not in the trace of gateway and"
            " model server. Those of router-0.9 and newer join it."
        )
    silent = [service["name"] for service in services if service["engine"]["type"] != "vllm"]
    if silent:
        found.append(f"{VARIABLE}: the model servers of {', '.join(silent)} send no spans: only vLLM does.")
    return found


def tracing_problems(user: Facts) -> list[Problem]:
    """Endpoints to which nobody can send spans."""
    to, given = collector(user), user[VARIABLE]["endpoint"]
    if not to:
        return []
    path = f"{VARIABLE}.endpoint"
    found = []
    if given.startswith("https:"):
        why = "vLLM, most endpoint pickers and the gateway send their spans without TLS."
        found.append(Problem(path, given, why, "Write http:// with a collector in the cluster, which can pass them on by TLS."))
    if to["host"].lower() in _LOOPBACK or to["host"].startswith("127."):
        why = f"'{to['host']}' is each pod itself, and no collector runs in our pods."
        found.append(Problem(path, given, why, "Write the name of the collector's Service, such as otel-collector.monitoring:4317."))
    elif "." not in to["host"]:
        why = f"'{to['host']}' is looked up in the namespace of each pod, and not all of them are in one."
        found.append(Problem(path, given, why, f"Write its namespace as well: {to['host']}.NAMESPACE:{to['port']}."))
    if not 1 <= to["port"] <= 65535:
        found.append(Problem(path, given, f"{to['port']} is no port.", "Write a number from 1 to 65535, such as 4317."))
    if to["port"] == _HTTP_PORT:
        found.append(Problem(path, given, f"{_HTTP_PORT} is where collectors listen for OTLP over HTTP, and spans are sent by gRPC.", "Write port 4317."))
    return found


def _environment(user: Facts, name: str) -> list[Facts]:
    to = t.cast(Facts, collector(user))
    return [
        _variable("OTEL_SERVICE_NAME", name),
        _variable("OTEL_EXPORTER_OTLP_ENDPOINT", to["url"]),
        _variable(_SAMPLER, "parentbased_traceidratio"),
        _variable(_SHARE, f"{to['sampling']:g}"),
    ]


def _variable(name: str, value: str) -> Facts:
    return {"name": name, "value": value}
