# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All downloads of a deployment (images, charts, CRDs), for mirrors and air-gapped clusters. Pure."""

from __future__ import annotations

import typing as t

from ...common.objects import Facts
from ...k8s.crds import address
from ..parts.references import source_of


def needed(plan: Facts) -> Facts:
    """{images: as pods name them, sources: as upstream names the same images, charts: [{release, ref, repo, version}], definitions: paths or URLs of CRDs}.

    Images are unique and sorted.
    """
    gateway = plan["gateway"]
    groups = plan["prerequisites"]["leader_worker_set"] or {"chart": None}
    charts = [*gateway["charts"], *(chart for chart in (groups["chart"], plan["gpus"]["chart"]) if chart)]
    images = {gateway["proxy_image"]} | {name for chart in charts for name in _chart_images(chart["values"])}
    images |= {*plan["gpus"]["images"]} | _chart_images(plan["gpus"]["gaudi_policy"])
    images |= {container["image"] for test in plan["gpus"]["checks"]["pods"] for container in test["pod"]["spec"]["containers"]}
    for service in plan["services"]:
        pods = (*service["servers"], service["scheduler"], service["cache_server"], service["warmup_job"])
        specs = [pod["template"]["spec"] for pod in pods if pod]
        images |= {container.get("image") for spec in specs for container in (*spec["containers"], *spec.get("initContainers", []))}
    return {
        "images": sorted(name for name in images if name),
        "sources": sorted({source_of(name, plan["image_registry"]) for name in images if name}),
        "charts": [{"release": chart["release_name"], "ref": chart["ref"], "repo": chart["repo"], "version": chart["version"]} for chart in charts],
        "definitions": [address(source) for bundle in plan["prerequisites"]["crds"] for source in bundle["sources"]],
    }


def _chart_images(values: t.Any) -> set[str]:
    """The images in the values of a chart or in a spec, whether each is one string or in parts."""
    if not isinstance(values, dict):
        return set()
    if {"repository", "tag"} <= set(values):
        registry = f"{values['registry']}/" if "registry" in values else ""
        return {f"{registry}{values['repository']}:{values['tag']}"}
    if {"repository", "image"} <= set(values):
        return set()  # a part of NVIDIA's chart, all of which plan["gpus"]["images"] lists
    images = {value for key, value in values.items() if key == "image" and isinstance(value, str)}
    return images.union(*(_chart_images(value) for value in values.values()))
