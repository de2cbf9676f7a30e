# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the user's file has what the API server refuses in an object of the plan. Pure."""

from __future__ import annotations

import re
import typing as t

from ..common.objects import Facts

_SERVER = r"spec\.(?:template|leaderWorkerTemplate\.\w+Template)\.spec\."
# (kind, field of the object, option of the service or of the gateway); the first that fits counts. What follows the field is the same in both.
_SERVICE: tuple[tuple[str, str, str], ...] = (
    ("", _SERVER + "tolerations", "tolerations"),
    ("", _SERVER + "nodeSelector", "node_selector"),
    ("", _SERVER + "imagePullSecrets", "llm_d_image_pull_secrets"),
    ("", _SERVER + r"containers\[0\]\.resources", "resources"),
    ("", _SERVER + r"containers\[0\]\.image", "engine.image"),
    ("", _SERVER + r"containers\[0\]\.env", "engine.env"),
    ("", _SERVER + r"containers\[0\]\.ports", "engine.port"),
    ("", _SERVER + "volumes", "storage"),
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
    ("", _SERVER + r"containers\[0\]\.resources", "scheduler.resources"),
    ("", _SERVER + r"containers\[0\]\.args", "scheduler.args"),
    ("", "", "scheduler"),
)
_GATEWAY: tuple[tuple[str, str, str], ...] = (("Gateway", r"spec\.listeners", "listeners"), ("", "", ""))
_FIELD = re.compile(r"(?:^|[\s:*\[])((?:spec|metadata|data)\.[A-Za-z][\w.\[\]/-]{0,200})")


def refusals(refused: t.Iterable[Facts], plan: Facts) -> list[str]:
    """A line for each object that was refused: which it is, why, and where the user's file has it. refused: elements of the result of cluster_objects."""
    return [f"{_title(item)}: {item['problem']} ({place(item, plan)})" for item in refused]


def place(item: Facts, plan: Facts) -> str:
    """The path in the user's file of the first field that a message names; of its service or of the gateway, where the field has no option of its own."""
    found = _FIELD.search(item["problem"])
    field = found[1].rstrip(".:") if found else ""
    for index, service in enumerate(plan["services"]):
        name = service["name"]
        if item["name"] in (name, f"{name}-epp") or item["name"].startswith(f"{name}-"):
            return _option(_PICKER if item["name"] == f"{name}-epp" else _SERVICE, item["kind"], field, f"llm_d_model_services[{index}]")
    return _option(_GATEWAY, item["kind"], field, "llm_d_gateway")


def _option(table: t.Iterable[tuple[str, str, str]], kind: str, field: str, home: str) -> str:
    for wanted, start, option in table:
        if (not wanted or re.fullmatch(wanted, kind)) and (fits := re.match(rf"{start}(?=[.\[]|\Z)" if start else "", field)):
            rest = field[fits.end() :] if start and option else ""
            return option if option.startswith("llm_d_") else ".".join(filter(None, [home, option])) + rest
    return home


def _title(item: Facts) -> str:
    return f"{item['kind']} {item['namespace']}/{item['name']}" if item["namespace"] else f"{item['kind']} {item['name']}"
