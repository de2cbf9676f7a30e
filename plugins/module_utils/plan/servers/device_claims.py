# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accelerators by claim (dynamic resource allocation): the claim of a pod, and the ResourceClaimTemplate that we make for a device class. Pure."""

from __future__ import annotations

import hashlib
import json

from ...common.objects import Facts, mapping
from ...releases.lines import ACCELERATORS
from ...schema.fields import Problem
from ..engines.engine import vendor
from ..engines.multi_node import per_node

API_VERSION, KIND = "resource.k8s.io/v1", "ResourceClaimTemplate"
NAME = "accelerators"  # of the claim in a pod, and of the request in the claim
_TWICE = "requests the devices of the claim a second time."


def device_claim(service: Facts, workload: str, labels: Facts) -> Facts | None:
    """{name: of the template, made: {labels, spec} of the template that we create, None for a template of the user}; None without a claim.

    The spec of a template cannot be changed, so a checksum of it is part of the name. workload: the name of the workload.
    """
    claim = service["accelerator"]["claim"]
    if not claim:
        return None
    if claim["template"]:
        return {"name": claim["template"], "made": None}
    selectors = [{"cel": {"expression": text}} for text in claim["selectors"]]
    exactly = {"deviceClassName": claim["device_class"], "count": per_node(service), **({"selectors": selectors} if selectors else {})}
    spec = {"spec": {"devices": {"requests": [{"name": NAME, "exactly": exactly}]}}}
    checksum = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    return {"name": f"{workload}-{checksum}", "made": {"labels": labels, "spec": spec}}


def device_claim_problems(service: Facts, path: str) -> list[Problem]:
    """Claims that name no device or devices in two ways, and options that a claim replaces."""
    settings, place = service["accelerator"], f"{path}.accelerator"
    claim = settings["claim"]
    if not claim:
        return []
    forms = "Write {template: NAME} or {device_class: NAME}."
    problems = []
    if bool(claim["template"]) == bool(claim["device_class"]):
        why = "names a template and a device class, and devices come by one of them." if claim["template"] else "names no template and no device class."
        problems.append(Problem(f"{place}.claim", claim, why, forms))
    elif claim["template"] and claim["selectors"]:
        problems.append(Problem(f"{place}.claim.selectors", claim["selectors"], "are for a device class: a template has its own.", "Take them out."))
    if settings["resource"]:
        problems.append(Problem(f"{place}.resource", settings["resource"], _TWICE, "Write one of the two."))
    domain = str(ACCELERATORS[vendor(service)]["resource"] or "").partition("/")[0]
    amounts = [(f"{path}.resources.{part}.{key}", key, value) for part, each in (service["resources"] or {}).items() for key, value in (each or {}).items()]
    problems += [Problem(where, value, _TWICE, "Take it out.") for where, key, value in amounts if domain and key.startswith(f"{domain}/")]
    return problems


def inherited_claim_problems(service: Facts, path: str) -> list[Problem]:
    """A template of the user for prefill servers that need another number of devices: a template requests one number."""
    settings, own = service["accelerator"], mapping(service["prefill"]["accelerator"])
    claim, number = settings["claim"], own.get("per_replica")
    if not claim or not claim["template"] or own.get("claim") or number in (None, settings["per_replica"]):
        return []
    why = f"is missing: the template '{claim['template']}' of all servers requests {settings['per_replica']} devices, and prefill servers need {number}."
    return [Problem(f"{path}.prefill.accelerator.claim", None, why, "Write {template: NAME}, of a template for them.")]
