# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the objects that may use the controllers of a cluster."""

from __future__ import annotations

from ..common.objects import Facts
from ..common.text import shorten
from .client import Cluster
from .errors import ApiError
from .namespace_reader import METADATA
from .shared_controllers import ControllerUse

GATEWAY = "gateway.networking.k8s.io/v1"
SHARED = ("Gateway", "GatewayClass", "Namespace")  # of interest to any controller of gateways
OF_GATEWAYS = (f"/apis/{GATEWAY}/gateways", "Gateway", "")


Job = tuple[str, str, str]  # path, kind, label selector


def listed(cluster: Cluster, path: str, kind: str, selector: str) -> list[Facts] | str:
    """The objects of a kind, or why they cannot be listed."""
    try:
        query = {"labelSelector": selector} if selector else {}
        return cluster.listed(path, kind, query, accept=METADATA.format("List") if kind in ("Namespace", "Pod") else None)
    except ApiError as exc:
        if exc.status == 401:
            raise
        plural = path.rpartition("/")[2]
        return f"this account may not list {plural}" if exc.status == 403 else f"{plural} cannot be listed: {shorten(f'{exc.status} {exc.message}', 160)}"


def listings(cluster: Cluster, controller: Facts) -> list[Job]:
    """The lists to read for the users of a controller. Pods of a Gateway do not count beside the Gateway itself."""
    if controller["kinds"]:
        paths = [(cluster.path(kind["api_version"], kind["kind"]), kind["kind"]) for kind in controller["kinds"]]
        return [(path, kind, "") for path, kind in paths if path]
    pods = [("/api/v1/pods", "Pod", f"{selector},!{GATEWAY.partition('/')[0]}/gateway-name") for selector in controller["mesh_pods"]]
    return [OF_GATEWAYS, (f"/apis/{GATEWAY}/gatewayclasses", "GatewayClass", ""), ("/api/v1/namespaces", "Namespace", ""), *pods]


def observe(cluster: Cluster, controllers: list[Facts], classes: bool) -> ControllerUse:
    """The objects that may use the controllers. classes: whether to read Gateways even without a controller."""
    by_controller = {each["name"]: listings(cluster, each) for each in controllers}
    jobs = list(dict.fromkeys([*([OF_GATEWAYS] if classes else []), *(job for own in by_controller.values() for job in own)]))
    answers = dict(zip(jobs, cluster.parallel(lambda job: listed(cluster, *job), jobs), strict=True))
    objects = {job: [] if isinstance(answer, str) else answer for job, answer in answers.items()}
    return ControllerUse(
        gateways=None if isinstance(answers.get(OF_GATEWAYS), str) else objects.get(OF_GATEWAYS, []),
        classes=[item for job in jobs if job[1] == "GatewayClass" for item in objects[job]],
        namespaces=[item for job in jobs if job[1] == "Namespace" for item in objects[job]],
        served={name: [item for job in of if job[1] not in SHARED for item in objects[job]] for name, of in by_controller.items()},
        unread={name: list(dict.fromkeys(answer for job in of if isinstance(answer := answers[job], str))) for name, of in by_controller.items()},
    )
