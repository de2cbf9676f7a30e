# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of GPU test pods, and of the metrics of DCGM's exporter. Pure."""

from __future__ import annotations

from ..common import prometheus_text
from ..common.objects import Facts, condition, dicts, get_path, mapping, text

ENDED = ("Succeeded", "Failed")
EXPORTER_PORT = 9400
# MIG slices have no utilization metric, only this one.
OF_ANY, OF_SLICES = "DCGM_FI_", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"


def free(nodes: list[Facts], labels: Facts) -> int:
    """The number of free accelerators of a pool; `nodes` as k8s/platform.py free_accelerators returns them."""
    return sum(node["free"] for node in nodes if labels.items() <= node["labels"].items() and not node["cordoned"])


def verdict(pod: Facts, test: Facts) -> str:
    """Why a test pod failed or did not end; empty when it succeeded."""
    status = mapping(pod.get("status"))
    phase, what = text(status.get("phase")), f"pool {test['pool']}: the test pod for {test['resource']}"
    if phase == "Succeeded":
        return ""
    if phase == "Failed":
        ended = next((mapping(get_path(each, "state", "terminated")) for each in dicts(status.get("containerStatuses"))), {})
        why = " ".join(str(each) for each in (status.get("reason"), status.get("message"), ended.get("reason"), ended.get("message")) if each)
        code = f" (exit code {ended['exitCode']})" if "exitCode" in ended else ""
        return f"{what} failed{code}: {why or 'no reason given'}; check driver and device plugin of the node {text(get_path(pod, 'spec', 'nodeName'))}"
    scheduled = condition(status, "PodScheduled")
    if scheduled.get("status") == "False":
        return f"{what} finds no node: {text(scheduled.get('message'))}; check the pool's labels and taints"
    waiting = next((mapping(get_path(each, "state", "waiting")) for each in dicts(status.get("containerStatuses"))), {})
    why = ": ".join(text(waiting.get(key)) for key in ("reason", "message") if waiting.get(key))
    return f"{what} did not end in time ({phase or 'no phase'}{', ' + why if why else ''}); check that nodes can pull its image, llm_d_images.gpu_test"


def port(pod: Facts) -> int:
    """The port of the metrics of an exporter's pod."""
    ports = [entry for part in dicts(get_path(pod, "spec", "containers")) for entry in dicts(part.get("ports"))]
    return next((entry["containerPort"] for entry in ports if entry.get("name") == "metrics"), EXPORTER_PORT)


def missing_series(node: str, page: str, cut: bool) -> str:
    """The series that a node's exporter lacks, with the remedy; empty when none is missing."""
    names = {sample.name for sample in prometheus_text.parse(page)}
    if cut and OF_SLICES not in names:
        return f"node {node}: DCGM's exporter has no {OF_SLICES}, the only measure of slices; give it a list of counters with that"
    if not any(name.startswith(OF_ANY) for name in names):
        return f"node {node}: DCGM's exporter answers without any {OF_ANY}* series; check its log"
    return ""
