# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of PromQL: selectors of the series of a service's servers and endpoint pickers, by the labels that Prometheus sets for pods. Pure."""

from __future__ import annotations

import re
import typing as t

from ...common.objects import Facts
from ...releases.engines import MetricSource
from ...releases.metrics import SERVERS

SCRAPES = 4  # number in the range of a rate, which needs two and may miss one
GENERATED, RANDOM = 58, 5  # characters of a generated name
HASH = 10  # maximum length of the hash of a ReplicaSet


def arrival(interval: int) -> int:
    """Seconds until a new target has data. Prometheus loads new monitors within two minutes. interval: seconds between two scrapes."""
    return 120 + SCRAPES * interval


def sources_of(service: Facts, signal: str) -> tuple[MetricSource, ...]:
    """The metrics in which the engine exports a signal; the first that exists is used. For the KV cache the user's file may name another metric."""
    own = service["scheduler"]["kv_cache_metric"] if signal == "kv_cache" else None
    if not own:
        return SERVERS[service["engine"]["type"]].get(signal, ())
    name, _brace, labels = own.partition("{")
    return (MetricSource(name, tuple(tuple(label.split("=", 1)) for label in labels.rstrip("}").split(",") if "=" in label)),)


def pods_of(server: Facts) -> str:
    """A regular expression that matches the names of the pods that answer requests, as a Deployment or a LeaderWorkerSet names them.

    The API server truncates the part before the five random characters to 58 (names.SimpleNameGenerator of k8s.io/apiserver). That cuts the hash of the
    ReplicaSet, and the end of the longest names.
    """
    name = server["name"]
    if server.get("nodes", 1) > 1:
        return f"{name}-[0-9]+"
    usual, left = f"{name}-[0-9a-z]+-[0-9a-z]{{{RANDOM}}}", GENERATED - len(name) - 1
    if left < 0:
        return f"{name[:GENERATED]}[0-9a-z]{{{RANDOM}}}"
    return usual if left > HASH else f"(?:{usual}|{name}-[0-9a-z]{{{left + RANDOM}}})"


def pod_matches(namespaces: t.Sequence[str], pods: t.Sequence[str]) -> dict[str, str]:
    """{label: its match} for the pods in these namespaces whose names match one of the regular expressions `pods`."""
    places = list(dict.fromkeys(namespaces))
    return {"namespace": f'="{places[0]}"' if len(places) == 1 else f'=~"{"|".join(places)}"', "pod": f'=~"{"|".join(pods)}"'}


def selector(name: str, labels: t.Iterable[tuple[str, str]], matches: Facts) -> str:
    """The instant vector of a metric with these labels and matches. Values are quoted for PromQL."""
    matchers = [*(f"{label}{match}" for label, match in matches.items()), *(f'{label}="{_escaped(value)}"' for label, value in labels)]
    return f"{name}{{{','.join(matchers)}}}"


def _escaped(value: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", value)


def duration(seconds: int) -> str:
    """A duration in the form of PromQL: 5m, 90s."""
    return f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"
