# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Gaudi operator shall do: the spec of its ClusterPolicy, which names every image itself. Pure."""

from __future__ import annotations

import typing as t

from ..releases.gpus import GAUDI_RELEASE
from ..schema.fields import Problem

Facts = dict[str, t.Any]
OPTIONS = "llm_d_gpus.gaudi"


def gaudi_problems(user: Facts) -> list[Problem]:
    """The operator has no images of its own: somebody has to say where Intel's are."""
    settings = user["llm_d_gpus"]
    if settings["operator"] != "gaudi" or not settings["install"] or user["llm_d_scope"] == "namespace" or registry(user):
        return []
    fix = "Write the host of Intel's registry, or of a mirror with a path if need be, here or in llm_d_image_registry."
    return [Problem(f"{OPTIONS}.registry", None, "is missing: the operator pulls the driver and all else from where its ClusterPolicy says.", fix)]


def registry(user: Facts) -> str | None:
    """Where Intel's images are."""
    return user["llm_d_gpus"]["gaudi"]["registry"] or user["llm_d_image_registry"]


def gaudi_policy(user: Facts) -> Facts | None:
    """The spec of the ClusterPolicy; None where another operator is asked for, or this one is not ours."""
    settings, source = user["llm_d_gpus"], registry(user)
    if settings["operator"] != "gaudi" or not settings["install"] or not source:
        return None
    release, options = settings["version"] or GAUDI_RELEASE, settings["gaudi"]
    system = options["system"]

    def image(path: str, tag: str = release) -> Facts:
        return {"repository": f"{source}/{path}", "tag": tag}

    driver = image(f"habana-ai-operator/driver/{system.replace('_', '')}/driver-installer")
    return {
        "image_registry": source,
        "driver": {
            "driver_loader": {
                "images": {system: driver},
                "repo_server": options["packages"] or source.partition("/")[0],
                "repo_path": "artifactory/gaudi-installer/repos",
            },
            "driver_runner": {"image": driver},
        },
        # The only image whose tag is without the number of the build.
        "device_plugin": {"image": image("docker-k8s-device-plugin/docker-k8s-device-plugin", release.partition("-")[0])},
        "runtime": {"runner": {"image": image("habana-ai-operator/habana-container-runtime")}, "configuration": {"container_engine": "crio"}},
        "metric_exporter": {"runner": {"image": image("gaudi-metric-exporter/metric-exporter")}, "port": 41611, "interval": 20},
        "feature_discovery": {"runner": {"image": image("habana-ai-operator/habanalabs-feature-discovery")}, "nfd_plugin": False},
        "bmc_monitoring": {"image": image("habana-bmc-exporter/bmc-exporter")},
    }
