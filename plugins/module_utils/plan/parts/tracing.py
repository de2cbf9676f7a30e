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
# In a pod, these hosts are the pod itself, which has no collector.
_LOOPBACK = ("localhost", "ip6-localhost")
_HTTP_PORT = 4318  # of OTLP over HTTP
_SAMPLER, _SHARE = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
# Envoy has shares as fractions of integers; this is one of its denominators.
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
    target = collector(user)
    name, namespace, *rest = target["host"].split(".") if target else ["", ""]
    if not target or rest[:1] not in ([], ["svc"]):
        return None
    return {"namespace": namespace, "name": name, "port": target["port"], "sure": bool(rest)}


def picker_flag(user: Facts) -> str:
    """The flag of an endpoint picker or routing sidecar that turns its traces on or off."""
    return f"--tracing={'true' if collector(user) else 'false'}"


def picker_environment(user: Facts, release: Facts, name: str) -> list[Facts]:
    """The environment of an endpoint picker or routing sidecar. name: the service name of its spans."""
    if collector(user):
        return [_variable("OTEL_TRACES_EXPORTER", "otlp"), *_environment(user, name)]  # without it they print spans to their log
    # These lines send a tenth of their spans to port 4317 of their own pod, with any --tracing, and log each failure.
    return [_variable(_SHARE, "0")] if release["tracing"]["always"] else []


def server_requirements(service: Facts, user: Facts, name: str) -> Facts:
    """{args, env} that a model server needs in addition to those of the scheduler; both empty where it sends no traces."""
    target = collector(user)
    if not target or service["engine"]["type"] != "vllm":
        return {"args": [], "env": []}
    return {"args": [f"--otlp-traces-endpoint={target['url']}"], "env": _environment(user, name)}


def gateway_tracing(user: Facts, facts: Facts, create: bool) -> Facts | None:
    """The tracing in the parameters of the proxies: {host, port, numerator, denominator}; None without it. facts: the provider's row."""
    target = collector(user)
    if not target or not create or facts["tracing"] != "parameters":
        return None
    return {key: target[key] for key in ("host", "port", "numerator", "denominator")}


def tracing_warnings(user: Facts, services: t.Sequence[Facts], facts: Facts, create: bool) -> list[str]:
    """The spans that are missing from traces, one line each. facts: the provider's row; create: whether the Gateway is ours."""
    if not collector(user):
        return []
    warnings = []
    provider, line = user["llm_d_gateway"]["provider"], user["llm_d_release"]
    if facts["tracing"] is None or not (create or facts["tracing"] == "sidecar"):
        whose = "is not set up by this collection" if create else "is up to whoever owns it"
        warnings.append(
            f"{VARIABLE}: tracing of the gateway (provider {provider}) {whose}: by this option it sends no spans. It passes traceparent on, or begins"
            " the trace where it is traced by its own means."
        )
    if not RELEASES[line]["tracing"]["joins"]:
        warnings.append(
            f"{VARIABLE}: an endpoint picker of {line} begins a trace of its own for each request, so its spans are not in the trace of gateway and"
            " model server. Those of router-0.9 and newer join it."
        )
    silent = [service["name"] for service in services if service["engine"]["type"] != "vllm"]
    if silent:
        warnings.append(f"{VARIABLE}: the model servers of {', '.join(silent)} send no spans: only vLLM does.")
    return warnings


def tracing_problems(user: Facts) -> list[Problem]:
    """Endpoints to which spans cannot be sent."""
    target, given = collector(user), user[VARIABLE]["endpoint"]
    if not target:
        return []
    path = f"{VARIABLE}.endpoint"
    problems = []
    if given.startswith("https:"):
        why = "vLLM, most endpoint pickers and the gateway send their spans without TLS."
        problems.append(Problem(path, given, why, "Write http:// with a collector in the cluster, which can pass them on by TLS."))
    if target["host"].lower() in _LOOPBACK or target["host"].startswith("127."):
        why = f"'{target['host']}' is each pod itself, and no collector runs in our pods."
        problems.append(Problem(path, given, why, "Write the name of the collector's Service, such as otel-collector.monitoring:4317."))
    elif "." not in target["host"]:
        why = f"'{target['host']}' is looked up in the namespace of each pod, and not all of them are in one."
        problems.append(Problem(path, given, why, f"Write its namespace as well: {target['host']}.NAMESPACE:{target['port']}."))
    if not 1 <= target["port"] <= 65535:
        problems.append(Problem(path, given, f"{target['port']} is no port.", "Write a number from 1 to 65535, such as 4317."))
    if target["port"] == _HTTP_PORT:
        problems.append(Problem(path, given, f"{_HTTP_PORT} is where collectors listen for OTLP over HTTP, and spans are sent by gRPC.", "Write port 4317."))
    return problems


def _environment(user: Facts, name: str) -> list[Facts]:
    target = t.cast(Facts, collector(user))
    return [
        _variable("OTEL_SERVICE_NAME", name),
        _variable("OTEL_EXPORTER_OTLP_ENDPOINT", target["url"]),
        _variable(_SAMPLER, "parentbased_traceidratio"),
        _variable(_SHARE, f"{target['sampling']:g}"),
    ]


def _variable(name: str, value: str) -> Facts:
    return {"name": name, "value": value}
