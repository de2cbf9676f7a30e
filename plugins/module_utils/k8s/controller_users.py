# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what may use the controllers of a cluster."""

from __future__ import annotations

from ..common.objects import Facts
from ..common.text import shorten
from .client import Cluster
from .errors import ApiError
from .namespace_reader import METADATA
from .shared_controllers import ControllerUse

GATEWAY = "gateway.networking.k8s.io/v1"


def listed(cluster: Cluster, path: str, kind: str) -> list[Facts] | str:
    """The objects of a kind; why they are not known."""
    try:
        return cluster.listed(path, kind, accept=METADATA.format("List") if kind == "Namespace" else None)
    except ApiError as exc:
        if exc.status == 401:
            raise
        plural = path.rpartition("/")[2]
        return f"this account may not list {plural}" if exc.status == 403 else f"{plural} cannot be listed: {shorten(f'{exc.status} {exc.message}', 160)}"


def observe(cluster: Cluster, controllers: list[Facts], classes: bool) -> ControllerUse:
    """The objects that may use the controllers, and where asked GatewayClasses."""
    of_gateways = [entry for entry in controllers if not entry["kinds"]]
    jobs = [(f"/apis/{GATEWAY}/gateways", "Gateway")] if of_gateways or classes else []
    jobs += [(f"/apis/{GATEWAY}/gatewayclasses", "GatewayClass"), ("/api/v1/namespaces", "Namespace")] if of_gateways else []
    asked = {kind["kind"]: cluster.path(kind["api_version"], kind["kind"]) for entry in controllers for kind in entry["kinds"]}
    jobs += [(path, kind) for kind, path in asked.items() if path]
    answers = dict(zip([kind for _path, kind in jobs], cluster.parallel(lambda job: listed(cluster, *job), jobs), strict=True))
    found = {kind: [] if isinstance(answer, str) else answer for kind, answer in answers.items()}
    kinds = {entry["name"]: [kind["kind"] for kind in entry["kinds"]] or ["Gateway", "GatewayClass", "Namespace"] for entry in controllers}
    return ControllerUse(
        gateways=None if isinstance(answers.get("Gateway"), str) else found.get("Gateway", []),
        classes=found.get("GatewayClass", []),
        namespaces=found.get("Namespace", []),
        served={entry["name"]: [item for kind in entry["kinds"] for item in found.get(kind["kind"], [])] for entry in controllers},
        unread={name: [answer for kind in of if isinstance(answer := answers.get(kind), str)] for name, of in kinds.items()},
    )
