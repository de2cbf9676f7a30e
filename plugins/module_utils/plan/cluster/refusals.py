# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The place in the user's file of a field that the API server rejects in an object of the plan. Pure."""

from __future__ import annotations

import re
import typing as t

from ...common.objects import Facts, dicts, get_path, mapping
from ..parts.names import PICKER_SUFFIXES
from ..parts.overlays import added_place
from ..parts.pod_spec import SERVICE_LABEL

_POD = r"spec\.(?:template|leaderWorkerTemplate\.\w+Template)\.spec\."
_GROUP = "spec.leaderWorkerTemplate"
_FIRST = _POD + r"containers\[0\]\."
# (kind, field of the object, option of the service or of the gateway); the first that matches is used. Below a field that ends with `.*` the file has another
# structure.
_SERVICE: tuple[tuple[str, str, str], ...] = (
    ("", _POD + "imagePullSecrets.*", "llm_d_image_pull_secrets"),
    ("", _FIRST + "resources", "resources"),
    ("", _FIRST + "image", "engine.image"),
    ("", _FIRST + "env.*", "engine.env"),
    ("", _FIRST + "ports.*", "engine.port"),
    ("", _POD + "volumes.*", "storage"),
    ("", r"(?:spec\.template\.)?metadata\.labels", "labels"),
    ("HTTPRoute", r"spec\.hostnames", "route.hostnames"),
    ("HTTPRoute", r"spec\.rules\[\d+\]\.timeouts", "route.timeouts"),
    ("HTTPRoute", r"spec\.rules.*", "route"),
    ("PersistentVolumeClaim", r"spec\.resources.*", "storage.size"),
    ("PersistentVolumeClaim", r"spec\.storageClassName", "storage.class_name"),
    ("Service", r"spec\.ports.*", "service.port"),
    ("(?:HorizontalPodAutoscaler|ScaledObject)", "spec.*", "autoscaling"),
    ("", "", ""),
)
_PICKER: tuple[tuple[str, str, str], ...] = (
    ("", _FIRST + "resources", "scheduler.resources"),
    ("", _FIRST + "args.*", "scheduler.args"),
    ("", "", "scheduler"),
)
# The first listener of the Gateway is the option `listener`; the index of the others is one less in `listeners`.
_REST: tuple[tuple[str, str, str], ...] = (
    ("Namespace", "", "llm_d_namespace"),
    ("ClusterPolicy|DeviceConfig|NodeFeatureDiscovery|OperatorGroup|Subscription", "", "llm_d_gpus"),
    ("Gateway", r"spec\.listeners\[0\]", "listener"),
    ("Gateway", r"spec\.listeners", "listeners"),
    ("", "", ""),
)
_FIELD = re.compile(r"(?:^|[\s:*\[])((?:spec|metadata|data)\.[A-Za-z][\w.\[\]/-]{0,200})")
_LISTENER = re.compile(r"(?<=^llm_d_gateway\.listeners\[)\d{1,4}(?=\])")
_VARIABLE = re.compile(_FIRST + r"env\[(\d{1,4})\]")


def refusals(refused: t.Iterable[Facts], plan: Facts, definitions: t.Iterable[Facts]) -> list[str]:
    """A line for each object that was refused: its title, the reason, and the place in the user's file.

    refused: elements of the result of cluster_objects; definitions: the objects that the module got.
    """
    known = {_identity(item["kind"], item["metadata"]): item for item in definitions}
    return [f"{_title(item)}: {item['problem']} ({place(item, plan, known[_identity(item['kind'], item)])})" for item in refused]


def place(item: Facts, plan: Facts, definition: Facts) -> str:
    """The path in the user's file of the first field that a message names; if the field has no option, the path of its service or of the gateway."""
    match = _FIELD.search(item["problem"])
    field = match[1].rstrip(".:") if match else ""
    service_name = mapping(definition["metadata"].get("labels")).get(SERVICE_LABEL)
    for index, service in enumerate(plan["services"]):
        if service["name"] == service_name:
            if added := _added(service, item, field):
                return f"llm_d_model_services[{index}]{added}"
            picker = item["name"] in [service_name + suffix for suffix in PICKER_SUFFIXES.values()]
            path = _option(_PICKER if picker else _SERVICE, item["kind"], field, f"llm_d_model_services[{index}]")
            return _variable(path, field, definition) if path.endswith(".engine.env") else path
    return _LISTENER.sub(lambda number: str(int(number[0]) - 1), _option(_REST, item["kind"], field, "llm_d_gateway"))


def _added(service: Facts, item: Facts, field: str) -> str:
    """The path within a service of the addition to the pods of an object (blocks `pod` and `container`) that holds the field; empty if none does."""
    picker, warmup, cache = (service.get(name) or {} for name in ("scheduler", "warmup_job", "cache_server"))
    pods = [(picker, "spec.template", ".scheduler"), (warmup, "spec.jobTemplate.spec.template", ".warmup"), (cache, "spec.template", ".cache.shared.server")]
    for server in service.get("servers", []):
        pods += [
            (server, "spec.template", ""),
            (server, f"{_GROUP}.leaderTemplate", ""),
            ({**server, **(server["worker"] or {})}, f"{_GROUP}.workerTemplate", ""),
        ]
    for pod, start, block in pods:
        if pod.get("name") == item["name"] and field.startswith(f"{start}.") and (path := added_place(pod, field.removeprefix(f"{start}."))):
            return block + path
    return ""


def _variable(path: str, field: str, definition: Facts) -> str:
    """The path of an environment variable: the field of the object has its index, the file its name."""
    number = int(match[1]) if (match := _VARIABLE.match(field)) else -1
    pods = [get_path(definition, "spec", "template"), *mapping(get_path(definition, "spec", "leaderWorkerTemplate")).values()]
    first = [container for pod in pods for container in dicts(get_path(pod, "spec", "containers"))[:1]]
    names = [variable["name"] for container in first for place, variable in enumerate(dicts(container.get("env"))) if place == number]
    return ".".join([path, *names[:1]])


def _option(table: t.Iterable[tuple[str, str, str]], kind: str, field: str, home: str) -> str:
    for wanted, start, option in table:
        if (not wanted or re.fullmatch(wanted, kind)) and (match := re.match(rf"{start}(?=[.\[]|\Z)" if start else "", field)):
            rest = field[match.end() :] if start and option else ""
            return option if option.startswith("llm_d_") else ".".join(filter(None, [home, option])) + rest
    return home


def _identity(kind: str, metadata: Facts) -> tuple[str, str, str]:
    return kind, metadata.get("namespace") or "", metadata["name"]


def _title(item: Facts) -> str:
    return f"{item['kind']} {item['namespace']}/{item['name']}" if item["namespace"] else f"{item['kind']} {item['name']}"
