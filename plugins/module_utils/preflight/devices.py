# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on devices that pods claim (dynamic resource allocation). Pure."""

from __future__ import annotations

from ..common.objects import Facts, dicts, get_path, mapping, text
from .finding import Findings, PreflightFinding


def claims(facts: Facts, needs: Facts, platform: Facts) -> Findings:
    """The cluster serves claims, and drivers publish at least as many devices as pods claim."""
    if not needs["devices"]:
        return
    served = mapping(facts.get("groups")).get("resource.k8s.io", [])
    if "v1" not in served:
        how = "Upgrade to Kubernetes 1.34 or newer, or take accelerator.claim out, so that pods request a resource."
        yield PreflightFinding("devices/api", "The cluster has no claims of devices.", ", ".join(served) or "none", "resource.k8s.io/v1", how)
        return
    if "devices" not in facts:  # not readable
        return
    published: dict[str, int] = {}
    for resource_slice in dicts(facts["devices"]):
        driver = text(get_path(resource_slice, "spec", "driver"))
        published[driver] = published.get(driver, 0) + len(dicts(get_path(resource_slice, "spec", "devices")))
    wanted: dict[str, int] = {}
    for each in needs["devices"]:
        wanted[each["device_class"]] = wanted.get(each["device_class"], 0) + each["count"]
    for name, count in wanted.items():
        available = published.get(name)  # most classes have the name of their driver; for others, the number of devices is not known
        if available is not None and available < count or not published:
            listing = ", ".join(f"{number} of {driver}" for driver, number in sorted(published.items())) or "none"
            how = "Add nodes, or check the driver on them (kubectl get resourceslices)."
            what = f"The nodes publish fewer devices than model servers claim{f' of the class {name}' if name else ''}."
            yield PreflightFinding("devices/few", what, listing, str(count or "some"), how, "warning")


CHECKS = (claims,)
