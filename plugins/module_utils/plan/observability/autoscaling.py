# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Autoscalers of model servers: HorizontalPodAutoscalers, ScaledObjects of KEDA, and mistakes in `autoscaling`. Pure."""

from __future__ import annotations

import re
import typing as t

from ...common.objects import Facts
from ...releases.engines import ENGINES
from ...releases.metrics import CLIENT_ERRORS, ERROR_CODE
from ...schema.fields import Problem
from ..engines.engine import vendor
from ..engines.stages import of_prefill
from ..servers.server import role_settings
from .promql import SCRAPES, arrival, duration, pod_matches, pods_of, selector, sources_of

KINDS = {
    "hpa": {"api_version": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"},
    "keda": {"api_version": "keda.sh/v1alpha1", "kind": "ScaledObject"},
}
# API groups that the cluster has to serve for an autoscaler to work.
KEDA, PODS, RESOURCES = "keda.sh", "custom.metrics.k8s.io", "metrics.k8s.io"
# {metric of the user's file: the signal of the engine that it is}.
_SIGNALS = {"queue": "waiting", "requests": "running", "kv_cache": "kv_cache"}
# {other metric: the signal from which it is computed}.
_COMPUTED = {"requests_per_second": "served", "ttft_p99": "first_token"}
_ONLY = {"cpu": "hpa", "requests_per_second": "keda", "ttft_p99": "keda", "gpu": "keda"}
_LOOK_BACK = 120  # seconds of a rate, if scrapes are frequent enough
_GPU = "DCGM_FI_DEV_GPU_UTIL"
# For scaling to zero: seconds between two checks for requests, default seconds without any, and a target too large to ever require a second server.
_POLL, _IDLE, _NEVER = 5, 300, 1_000_000


class _Scraped(t.NamedTuple):
    """Matches of the series of a service in Prometheus. servers, picker: of their pods; metrics: names of the endpoint picker's; window: seconds of a rate."""

    service: Facts
    servers: Facts
    picker: Facts
    metrics: Facts
    window: int

    @property
    def range(self) -> str:
        """The window as a duration of PromQL."""
        return duration(self.window)


def autoscaling(service: Facts, server: Facts, picker: Facts, release: Facts, namespace: str, interval: int) -> Facts | None:
    """{provider, asks: API groups that it needs, autoscaler: the one that we create, None for an external one, arrival: seconds until it has metrics}.

    None if the number of servers is fixed. interval: seconds between two scrapes.
    """
    scaling = role_settings(service, server["role"])["autoscaling"]
    if not scaling:
        return None
    groups = sorted({_api_group(scaling["provider"], name) for name in _metrics(scaling)})
    server_matches, picker_matches = pod_matches([namespace], [pods_of(server)]), pod_matches([picker["namespace"]], [pods_of(picker)])
    scraped = _Scraped(service, server_matches, picker_matches, release["metrics"], _window(interval))
    autoscaler = _MAKERS[scaling["provider"]](scraped, server, scaling) if scaling["provider"] in _MAKERS else None
    return {"provider": scaling["provider"], "asks": groups, "autoscaler": autoscaler, "arrival": arrival(interval)}


def autoscalers_to_prune(service: Facts, servers: t.Sequence[Facts]) -> list[Facts]:
    """Autoscalers that the service would have with another provider or scheduler, to prune: {api_version, kind, name}."""
    planned = {(server["name"], server["autoscaling"]["provider"]) for server in servers if server["autoscaling"]}
    names = [f"{service['name']}-{role}" for role in ("decode", "prefill")]
    return [{**kind, "name": name} for name in names for provider, kind in KINDS.items() if (name, provider) not in planned]


def autoscaling_problems(service: Facts, path: str, interval: int) -> list[Problem]:
    """Mistakes in the `autoscaling` and `replicas` of a service and of its prefill servers. interval: seconds between two scrapes."""
    problems = [*_problems(service, service, path), *_problems(of_prefill(service), service["prefill"], f"{path}.prefill")]
    return problems + _zero_problems(service, f"{path}.autoscaling", interval) if service["autoscaling"] else problems


def _zero_problems(service: Facts, place: str, interval: int) -> list[Problem]:
    """Mistakes in `min: 0`, which removes the last server, and in `idle_seconds`, after which it does."""
    scaling = service["autoscaling"]
    if scaling["min"] == 0 and scaling["provider"] == "hpa":
        why = "is not available with provider: hpa, since a HorizontalPodAutoscaler keeps the last server."
        return [Problem(f"{place}.min", 0, why, "Write 1 or more, or provider: keda.")]
    if scaling["min"] == 0 and scaling["provider"] == "keda" and len(service["configuration"].requires["roles"]) > 1:
        why = "is not for a service with prefill servers, since requests need one of each."
        return [Problem(f"{place}.min", 0, why, "Write 1 or more.")]
    if scaling["idle_seconds"] is not None and (scaling["min"] or scaling["provider"] != "keda"):
        why = "sets when the last server is removed, which needs provider: keda and min: 0."
        return [Problem(f"{place}.idle_seconds", scaling["idle_seconds"], why, "Take it out, or write both.")]
    window = _window(interval)
    if scaling["idle_seconds"] is not None and scaling["idle_seconds"] < window:
        why = f"is less than {SCRAPES} scrapes take, {window} s: a request counts for so long, since it might be missed otherwise."
        fix = f"Write {window} or more, or an llm_d_monitoring.interval of {scaling['idle_seconds'] // SCRAPES} or less."
        return [Problem(f"{place}.idle_seconds", scaling["idle_seconds"], why, fix)]
    return []


def _window(interval: int) -> int:
    """Seconds over which rates are computed, and for which a request counts as recent. interval: seconds between two scrapes."""
    return max(_LOOK_BACK, SCRAPES * interval)


def _problems(service: Facts, settings: Facts, path: str) -> list[Problem]:
    scaling, place = settings["autoscaling"], f"{path}.autoscaling"
    if not scaling:
        return []
    problems = []
    if settings["replicas"] is not None:
        fix = f"Take it out, and write autoscaling.min: {max(1, settings['replicas'])}."
        problems.append(Problem(f"{path}.replicas", settings["replicas"], "cannot be combined with autoscaling.", fix))
    if scaling["provider"] == "external":
        options = {"max": scaling["max"], "prometheus": scaling["prometheus"], **{f"metrics.{name}": value for name, value in _metrics(scaling).items()}}
        return problems + [
            Problem(f"{place}.{name}", value, "is for an autoscaler that we create, and this one is external.", "Take it out, or write provider: hpa or keda.")
            for name, value in options.items()
            if value is not None
        ]
    if scaling["max"] is None:
        problems.append(Problem(f"{place}.max", None, "is missing.", f"Write the largest number of servers, such as {scaling['min'] + 3}."))
    elif scaling["max"] < scaling["min"]:
        fix = f"Write {scaling['min']} or more, or a smaller min."
        problems.append(Problem(f"{place}.max", scaling["max"], f"is less than min, which is {scaling['min']}.", fix))
    return problems + _metric_problems(service, scaling, place)


def _metric_problems(service: Facts, scaling: Facts, place: str) -> list[Problem]:
    provider, metrics = scaling["provider"], _metrics(scaling)
    problems = []
    if not metrics:
        problems.append(
            Problem(f"{place}.metrics", None, "is missing, so that there is nothing to scale by.", "Write one with its target, such as {queue: 5}.")
        )
    for name, value in metrics.items():
        if _ONLY.get(name, provider) != provider:
            fix = f"Write provider: {_ONLY[name]}, or another metric, such as {{queue: 5}}."
            problems.append(Problem(f"{place}.metrics.{name}", value, f"is not available with provider: {provider}.", fix))
        signal = {**_SIGNALS, **_COMPUTED}.get(name)
        if signal and not sources_of(service, signal):
            why, fix = f"is not exported by {ENGINES[service['engine']['type']].title}.", "Write another metric, such as {queue: 5}, or 'type: vllm'."
            problems.append(Problem(f"{place}.metrics.{name}", value, why, fix))
    if "cpu" in metrics and service["resources"] and not any((service["resources"][part] or {}).get("cpu") for part in ("requests", "limits")):
        why = "is a part of what a server requests, and resources request no processors."
        problems.append(Problem(f"{place}.metrics.cpu", metrics["cpu"], why, "Write cpu under resources.requests, or another metric."))
    if "gpu" in metrics and vendor(service) != "nvidia":
        why = f"is a metric of DCGM for NVIDIA's GPUs, and the servers run on vendor {vendor(service)}."
        problems.append(Problem(f"{place}.metrics.gpu", metrics["gpu"], why, "Write another metric, such as {queue: 5}."))
    if provider == "keda" and not scaling["prometheus"]:
        why = "is missing, and KEDA reads its metrics from there."
        problems.append(Problem(f"{place}.prometheus", None, why, "Write the URL of Prometheus, such as http://prometheus.monitoring:9090."))
    elif provider == "hpa" and scaling["prometheus"]:
        fix = "Take it out: a HorizontalPodAutoscaler asks the API server; or write provider: keda."
        problems.append(Problem(f"{place}.prometheus", scaling["prometheus"], "is read by KEDA only.", fix))
    return problems


def _metrics(scaling: Facts) -> dict[str, float]:
    return {name: target for name, target in scaling["metrics"].items() if target is not None}


def _api_group(provider: str, metric: str) -> str:
    return KEDA if provider == "keda" else RESOURCES if metric == "cpu" else PODS


def _series(service: Facts, metric: str) -> tuple[str, Facts]:
    """(name, labels) of the series in which the engine exports a metric."""
    source = sources_of(service, {**_SIGNALS, **_COMPUTED}[metric])[0]
    return source.metric, dict(source.where)


def _target_of(server: Facts) -> Facts:
    return {"apiVersion": server["api_version"], "kind": server["kind"], "name": server["name"]}


def _behavior(scaling: Facts) -> Facts:
    ways = {"scaleUp": "scale_up", "scaleDown": "scale_down"}
    return {way: {"stabilizationWindowSeconds": scaling[f"{word}_stabilization_seconds"]} for way, word in ways.items()}


def _hpa(scraped: _Scraped, server: Facts, scaling: Facts) -> Facts:
    return {
        **KINDS["hpa"],
        "spec": {
            "scaleTargetRef": _target_of(server),
            "minReplicas": scaling["min"],
            "maxReplicas": scaling["max"],
            "metrics": [_hpa_metric(scraped.service, name, target) for name, target in _metrics(scaling).items()],
            "behavior": _behavior(scaling),
        },
    }


def _hpa_metric(service: Facts, metric: str, target: float) -> Facts:
    if metric == "cpu":
        # Only of the server's container, since a sidecar may have no CPU request.
        utilization = {"type": "Utilization", "averageUtilization": max(1, round(target))}
        return {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "server", "target": utilization}}
    name, labels = _series(service, metric)
    identifier = {"name": name, **({"selector": {"matchLabels": labels}} if labels else {})}
    return {"type": "Pods", "pods": {"metric": identifier, "target": {"type": "AverageValue", "averageValue": _quantity(target)}}}


def _quantity(value: float) -> str:
    """A number as a quantity in the form that the API server returns: 5, 800m."""
    thousandths = round(value * 1000)
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)


def _keda(scraped: _Scraped, server: Facts, scaling: Facts) -> Facts:
    to_zero = scaling["min"] == 0
    queries = {name: (*_query(scraped, name, to_zero), target) for name, target in _metrics(scaling).items()}
    if to_zero:
        queries["requests at the endpoint picker"] = (_arriving(scraped), "AverageValue", _NEVER)
    return {
        **KINDS["keda"],
        "spec": {
            "scaleTargetRef": _target_of(server),
            **({"pollingInterval": _POLL, "cooldownPeriod": max(0, (scaling["idle_seconds"] or _IDLE) - scraped.window)} if to_zero else {}),
            "minReplicaCount": scaling["min"],
            "maxReplicaCount": scaling["max"],
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _behavior(scaling)}},
            "triggers": [_trigger(scaling["prometheus"], name, *query) for name, query in queries.items()],
        },
    }


def _trigger(prometheus: str, name: str, query: str, kind: str, target: float) -> Facts:
    # Missing series must not scale down.
    metadata = {"serverAddress": prometheus, "query": query, "threshold": f"{target:.10g}", "ignoreNullValues": "false"}
    return {"type": "prometheus", "name": re.sub("[ _]", "-", name), "metricType": kind, "metadata": metadata}


def _query(scraped: _Scraped, metric: str, to_zero: bool) -> tuple[str, str]:
    """(PromQL, metricType): AverageValue for a sum that KEDA divides by the number of servers, Value for one number for all of them."""
    service, matches = scraped.service, scraped.servers
    # 0 if the servers are scraped but idle; no data if they are not scraped.
    idle = f" or sum({_of(*_series(service, 'requests'), matches)}) * 0" if sources_of(service, "running") else ""
    # 0 if the endpoint picker has no server.
    none = f" or sum({_of(scraped.metrics['ready_endpoints'], {}, scraped.picker)}) == 0" if to_zero else ""
    if metric in _SIGNALS:
        return f"sum({_of(*_series(service, metric), matches)}){none}", "AverageValue"
    if metric == "requests_per_second":
        return f"sum(rate({_of(*_series(service, metric), matches)}[{scraped.range}])){idle}{none}", "AverageValue"
    if metric == "ttft_p99":
        name, labels = _series(service, metric)
        buckets = f"sum by (le) (rate({_of(f'{name}_bucket', labels, matches)}[{scraped.range}]))"
        # Without requests the quantile is NaN, which the comparison drops.
        return f"histogram_quantile(0.99, {buckets}) >= 0{idle}{none}", "Value"
    exported = {f"exported_{label}": match for label, match in matches.items()}  # Prometheus renames labels that the exporter sets too
    return f"avg({_of(_GPU, {}, matches)} or {_of(_GPU, {}, exported)}){none}", "Value"


def _arriving(scraped: _Scraped) -> str:
    """PromQL: above 0 while the endpoint picker has requests, or had some within the window, rejected ones included; no data if it is not scraped."""
    names, matches = scraped.metrics, scraped.picker
    now = {"__name__": f'=~"{names["running"]}|{names["held"]}"', **matches}
    refused = {**matches, ERROR_CODE: f'!~"{"|".join(CLIENT_ERRORS)}"'}
    parts = [
        f"sum({_of('', {}, now)})",
        f"sum(increase({_of(names['requests'], {}, matches)}[{scraped.range}]))",
        f"sum(increase({_of(names['request_errors'], {}, refused)}[{scraped.range}]))",
    ]
    return " + ".join([f"sum({_of(names['ready_endpoints'], {}, matches)}) * 0", *(f"({part} or vector(0))" for part in parts)])


def _of(name: str, labels: Facts, matches: Facts) -> str:
    return selector(name, labels.items(), matches)


_MAKERS: dict[str, t.Callable[[_Scraped, Facts, Facts], Facts]] = {"hpa": _hpa, "keda": _keda}
