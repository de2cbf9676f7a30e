# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads InferencePools of either version of their API. Pure."""

from __future__ import annotations

from ..common.objects import Facts, dicts, get_path, mapping, number, text


def selector(pool: Facts) -> dict[str, str]:
    """The labels by which a pool of either version of the API selects its Pods."""
    labels = mapping(get_path(pool, "spec", "selector"))
    return {name: text(value) for name, value in mapping(labels.get("matchLabels", labels)).items()}


def target_ports(pool: Facts) -> list[int]:
    """The ports on which each Pod of a pool of either version of the API serves; one of 0 where it names none."""
    spec = mapping(pool.get("spec"))
    return [number(each.get("number")) for each in dicts(spec.get("targetPorts"))] or [number(spec.get("targetPortNumber"))]


def reference(pool: Facts) -> Facts:
    """{name, port, failureMode} of a pool's endpoint picker."""
    spec = mapping(pool.get("spec"))
    picker = mapping(spec.get("endpointPickerRef") or spec.get("extensionRef"))
    port = number(get_path(picker, "port", "number")) or number(picker.get("portNumber")) or 9002
    return {"name": text(picker.get("name")), "port": port, "failureMode": text(picker.get("failureMode")) or "FailClose"}
