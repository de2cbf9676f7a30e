# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to prune of other gateway providers, once the present one serves and only with our labels. Pure."""

from __future__ import annotations

import typing as t

from ..common.labels import MANAGED_BY, PART_OF
from ..common.objects import Facts
from ..releases.gateways import GATEWAY_PROVIDERS, variants
from .charts import chart_namespace, hook_objects
from .endpoint_picker import events_service
from .gateway import GROUP, shared
from .leader_workers import shared as shared_leader_workers
from .monitoring import VARIABLE as MONITORING
from .monitoring import switched as switched_monitoring
from .names import scheduler_namespace
from .pod_spec import labels_in
from .warmup_job import SUFFIX as WARMUP

_GATEWAY_V1 = f"{GROUP}/v1"


def to_prune(user: Facts, gateway: Facts, more_controllers: t.Sequence[Facts]) -> Facts:
    """What other gateway providers have for the whole cluster, to prune where it has our labels.

    {classes, namespaces: a reference to ours, controllers: [{provider, names, classes, namespace, charts}],
    shared: the same controllers as the module controller_use takes them}. more_controllers: further controllers.
    """
    controllers = _controllers(user, gateway)
    shared = _shared(gateway) if controllers else []
    if user["llm_d_scope"] == "cluster":
        controllers += more_controllers
        shared += shared_leader_workers(more_controllers)
    return {
        "classes": _classes(user, gateway),
        "namespaces": own_namespaces(user) if controllers else [],
        "controllers": controllers,
        "shared": shared,
    }


def own_namespaces(user: Facts) -> list[Facts]:
    """A reference to all namespaces with our labels."""
    return [{"api_version": "v1", "kind": "Namespace", "label_selector": f"{MANAGED_BY}=llm_d.inference,{PART_OF}={user['llm_d_instance']}"}]


def _definition(api_version: str, kind: str, name: str, namespace: str, user: Facts) -> Facts:
    home = labels_in(namespace, user["llm_d_namespace"], {})
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace, **({"labels": home} if home else {})}}


def _other_providers(gateway: Facts) -> list[tuple[str, Facts]]:
    return [(name, facts) for name, facts in GATEWAY_PROVIDERS.items() if name != gateway["provider"]]


def _classes(user: Facts, gateway: Facts) -> list[Facts]:
    """GatewayClasses of other providers; they are cluster-wide, so only with scope cluster."""
    if user["llm_d_scope"] != "cluster":
        return []
    names = {name: None for _provider, facts in _other_providers(gateway) for name in facts["classes"] if name != gateway["class_name"]}
    return [{"apiVersion": _GATEWAY_V1, "kind": "GatewayClass", "metadata": {"name": name}} for name in names]


def _controllers(user: Facts, gateway: Facts) -> list[Facts]:
    """Controllers of other providers, ours to remove where their namespace has our labels. Charts are uninstalled in reverse order.

    One in a namespace of the present controllers stays: the present release has its name and has replaced it.
    """
    if user["llm_d_scope"] != "cluster":
        return []
    present = {each["namespace"] for each in gateway["controllers"]}
    found = []
    for provider, facts in _other_providers(gateway):
        rows = [(row, [chart for chart in reversed(row["charts"]) if chart_namespace(row, chart) not in present]) for row in variants(facts)]
        for namespace in dict.fromkeys(chart_namespace(row, chart) for row, charts in rows for chart in charts):
            here = [(row, [chart for chart in charts if chart_namespace(row, chart) == namespace]) for row, charts in rows]
            here = [(row, charts) for row, charts in here if charts]
            found.append(
                {
                    "provider": provider,
                    "names": [row["controller_name"] for row, _charts in here],
                    "classes": [name for row, _charts in here for name in row["default_classes"] if name != gateway["class_name"]],
                    "namespace": namespace,
                    "charts": [
                        {"release_name": chart["release_name"], "namespace": namespace, "hook_objects": hook_objects(chart, namespace)}
                        for _row, charts in here
                        for chart in charts
                    ],
                }
            )
    return found


def _shared(gateway: Facts) -> list[Facts]:
    """Controllers of other providers, whose users are checked before removal. One with the present controller's name is not: its classes stay in use."""
    rows = [row for _provider, facts in _other_providers(gateway) if facts["charts"] for row in variants(facts)]
    found = [{**each, "class_name": row["class_name"]} for row in rows if row["controller_name"] != gateway["controller_name"] for each in shared(row)]
    return [each for index, each in enumerate(found) if each not in found[:index]]


def scheduler_objects(service: Facts, user: Facts) -> list[Facts]:
    """References to all objects that another scheduler configuration of this service may change, create or prune."""
    name = service["name"]
    kinds = [("v1", "ConfigMap", f"{name}-epp"), ("v1", "Service", f"{name}-epp"), ("v1", "Service", events_service(service))]
    kinds += [("v1", "Service", f"{name}-prefill"), *(("apps/v1", "Deployment", f"{name}-{part}") for part in ("epp", "decode", "prefill"))]
    kinds += switched_monitoring(name, user[MONITORING])
    kinds += [("v1", "ConfigMap", f"{name}{WARMUP}")] if (service["warmup"] or {}).get("schedule") else []  # it names the servers
    places = dict.fromkeys((f"{name}-epp", events_service(service)), scheduler_namespace(user))
    return [_definition(version, kind, each, places.get(each) or user["llm_d_namespace"], user) for version, kind, each in kinds]
