# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Autoscalers of model servers: HorizontalPodAutoscalers, ScaledObjects of KEDA, and mistakes in `autoscaling`. Pure."""

from __future__ import annotations

import typing as t

from ..common.objects import Facts
from ..releases.engines import FIRST_TOKEN, SERVED
from ..schema.fields import Problem
from .engine import vendor
from .promql import pod_matches, pods_of, selector, sources_of
from .server import role_settings

KINDS = {
    "hpa": {"api_version": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"},
    "keda": {"api_version": "keda.sh/v1alpha1", "kind": "ScaledObject"},
}
# API groups that the cluster has to serve for an autoscaler to work.
KEDA, PODS, RESOURCES = "keda.sh", "custom.metrics.k8s.io", "metrics.k8s.io"
# The engine's signal for each metric of the user's file that is one.
_SIGNALS = {"queue": "waiting", "requests": "running", "kv_cache": "kv_cache"}
_ONLY = {"cpu": "hpa", "requests_per_second": "keda", "ttft_p99": "keda", "gpu": "keda"}
_WINDOW = "2m"
_GPU = "DCGM_FI_DEV_GPU_UTIL"


def autoscaling(service: Facts, server: Facts, namespace: str) -> Facts | None:
    """{provider, asks: API groups that it needs, autoscaler: the one that we create, None for an external one}; None where the number of servers is fixed."""
    scaling = role_settings(service, server["role"])["autoscaling"]
    if not scaling:
        return None
    asks = sorted({_asks(scaling["provider"], name) for name in _metrics(scaling)})
    made = _MAKERS[scaling["provider"]](service, server, scaling, namespace) if scaling["provider"] in _MAKERS else None
    return {"provider": scaling["provider"], "asks": asks, "autoscaler": made}


def autoscalers_to_prune(service: Facts, servers: t.Sequence[Facts]) -> list[Facts]:
    """Autoscalers that the service would have with another provider or scheduler: {api_version, kind, name}."""
    ours = {(server["name"], server["autoscaling"]["provider"]) for server in servers if server["autoscaling"]}
    names = [f"{service['name']}-{role}" for role in ("decode", "prefill")]
    return [{**kind, "name": name} for name in names for provider, kind in KINDS.items() if (name, provider) not in ours]


def autoscaling_problems(service: Facts, path: str) -> list[Problem]:
    """Mistakes in the `autoscaling` and `replicas` of a service and of its prefill servers."""
    return [*_problems(service, service, path), *_problems(service, service["prefill"], f"{path}.prefill")]


def _problems(service: Facts, said: Facts, path: str) -> list[Problem]:
    scaling, place = said["autoscaling"], f"{path}.autoscaling"
    if not scaling:
        return []
    found = []
    if said["replicas"] is not None:
        fix = f"Take it out; the least number is 'min: {max(1, said['replicas'])}' under autoscaling."
        found.append(Problem(f"{path}.replicas", said["replicas"], "is a fixed number, and autoscaling says that someone changes it.", fix))
    if scaling["provider"] == "external":
        mine = {"max": scaling["max"], "prometheus": scaling["prometheus"], **{f"metrics.{name}": value for name, value in _metrics(scaling).items()}}
        return found + [
            Problem(f"{place}.{name}", value, "is for an autoscaler of ours, and someone else scales here.", "Take it out, or write provider: hpa or keda.")
            for name, value in mine.items()
            if value is not None
        ]
    if scaling["max"] is None:
        found.append(Problem(f"{place}.max", None, "is missing.", f"Write the largest number of servers, such as {scaling['min'] + 3}."))
    elif scaling["max"] < scaling["min"]:
        fix = f"Write {scaling['min']} or more, or a smaller min."
        found.append(Problem(f"{place}.max", scaling["max"], f"is less than min, which is {scaling['min']}.", fix))
    return found + _metric_problems(service, scaling, place)


def _metric_problems(service: Facts, scaling: Facts, place: str) -> list[Problem]:
    provider, metrics = scaling["provider"], _metrics(scaling)
    found = []
    if not metrics:
        found.append(Problem(f"{place}.metrics", None, "is missing, so that there is nothing to scale by.", "Write one with its target, such as {queue: 5}."))
    for name, value in metrics.items():
        if _ONLY.get(name, provider) != provider:
            fix = f"Write provider: {_ONLY[name]}, or another metric, such as {{queue: 5}}."
            found.append(Problem(f"{place}.metrics.{name}", value, f"cannot be had with provider: {provider}.", fix))
    if "cpu" in metrics and service["resources"] and not any((service["resources"][part] or {}).get("cpu") for part in ("requests", "limits")):
        why = "is a part of what a server requests, and resources request no processors."
        found.append(Problem(f"{place}.metrics.cpu", metrics["cpu"], why, "Write cpu under resources.requests, or another metric."))
    if "gpu" in metrics and vendor(service) != "nvidia":
        why = f"is what DCGM says of NVIDIA's GPUs, and the servers run on vendor {vendor(service)}."
        found.append(Problem(f"{place}.metrics.gpu", metrics["gpu"], why, "Write another metric, such as {queue: 5}."))
    if provider == "keda" and not scaling["prometheus"]:
        why = "is missing, and KEDA would not know whom to ask."
        found.append(Problem(f"{place}.prometheus", None, why, "Write the URL of Prometheus, such as http://prometheus.monitoring:9090."))
    elif provider == "hpa" and scaling["prometheus"]:
        fix = "Take it out: a HorizontalPodAutoscaler asks the API server; or write provider: keda."
        found.append(Problem(f"{place}.prometheus", scaling["prometheus"], "is read by KEDA only.", fix))
    return found


def _metrics(scaling: Facts) -> dict[str, float]:
    return {name: target for name, target in scaling["metrics"].items() if target is not None}


def _asks(provider: str, metric: str) -> str:
    return KEDA if provider == "keda" else RESOURCES if metric == "cpu" else PODS


def _series(service: Facts, metric: str) -> tuple[str, Facts]:
    """(name, labels) of the series in which the engine exports a metric."""
    source = sources_of(service, _SIGNALS[metric])[0]
    return source.metric, dict(source.where)


def _target_of(server: Facts) -> Facts:
    return {"apiVersion": server["api_version"], "kind": server["kind"], "name": server["name"]}


def _behavior(scaling: Facts) -> Facts:
    ways = {"scaleUp": "scale_up", "scaleDown": "scale_down"}
    return {way: {"stabilizationWindowSeconds": scaling[f"{word}_stabilization_seconds"]} for way, word in ways.items()}


def _hpa(service: Facts, server: Facts, scaling: Facts, _namespace: str) -> Facts:
    return {
        **KINDS["hpa"],
        "spec": {
            "scaleTargetRef": _target_of(server),
            "minReplicas": scaling["min"],
            "maxReplicas": scaling["max"],
            "metrics": [_hpa_metric(service, name, target) for name, target in _metrics(scaling).items()],
            "behavior": _behavior(scaling),
        },
    }


def _hpa_metric(service: Facts, metric: str, target: float) -> Facts:
    if metric == "cpu":
        # Only of the server's container: a sidecar may not request any processors.
        utilization = {"type": "Utilization", "averageUtilization": max(1, round(target))}
        return {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "server", "target": utilization}}
    name, labels = _series(service, metric)
    identifier = {"name": name, **({"selector": {"matchLabels": labels}} if labels else {})}
    return {"type": "Pods", "pods": {"metric": identifier, "target": {"type": "AverageValue", "averageValue": _quantity(target)}}}


def _quantity(value: float) -> str:
    """A number as the API server returns it: 5, 800m."""
    thousandths = round(value * 1000)
    return f"{thousandths}m" if thousandths % 1000 else str(thousandths // 1000)


def _keda(service: Facts, server: Facts, scaling: Facts, namespace: str) -> Facts:
    return {
        **KINDS["keda"],
        "spec": {
            "scaleTargetRef": _target_of(server),
            "minReplicaCount": scaling["min"],
            "maxReplicaCount": scaling["max"],
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _behavior(scaling)}},
            "triggers": [_trigger(service, server, scaling, namespace, name, target) for name, target in _metrics(scaling).items()],
        },
    }


def _trigger(service: Facts, server: Facts, scaling: Facts, namespace: str, metric: str, target: float) -> Facts:
    query, kind = _query(service, server, namespace, metric)
    # Missing series must not scale down.
    metadata = {"serverAddress": scaling["prometheus"], "query": query, "threshold": f"{target:g}", "ignoreNullValues": "false"}
    return {"type": "prometheus", "name": metric.replace("_", "-"), "metricType": kind, "metadata": metadata}


def _query(service: Facts, server: Facts, namespace: str, metric: str) -> tuple[str, str]:
    """(PromQL, metricType): AverageValue for a sum that is divided by the number of servers, Value for one number for all of them."""
    mine = pod_matches(namespace, [pods_of(server)])
    # 0 when the servers are scraped but idle; no data when they are not scraped.
    idle = f"sum({_of(*_series(service, 'requests'), mine)}) * 0"
    if metric in _SIGNALS:
        return f"sum({_of(*_series(service, metric), mine)})", "AverageValue"
    if metric == "requests_per_second":
        return f"sum(rate({_of(SERVED, {}, mine)}[{_WINDOW}])) or {idle}", "AverageValue"
    if metric == "ttft_p99":
        buckets = f"sum by (le) (rate({_of(f'{FIRST_TOKEN}_bucket', {}, mine)}[{_WINDOW}]))"
        # Without requests the quantile is NaN, which the comparison drops.
        return f"histogram_quantile(0.99, {buckets}) >= 0 or {idle}", "Value"
    theirs = {f"exported_{label}": match for label, match in mine.items()}  # Prometheus renames labels that the exporter sets too
    return f"avg({_of(_GPU, {}, mine)} or {_of(_GPU, {}, theirs)})", "Value"


def _of(name: str, labels: Facts, matches: Facts) -> str:
    return selector(name, labels.items(), matches)


_MAKERS: dict[str, t.Callable[[Facts, Facts, Facts, str], Facts]] = {"hpa": _hpa, "keda": _keda}
