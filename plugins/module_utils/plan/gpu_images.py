# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the images of NVIDIA's chart come from: behind the user's registry where there is one, and each of them named. Pure."""

from __future__ import annotations

import typing as t

Facts = dict[str, t.Any]
FEATURES = "node-feature-discovery"  # a chart within the chart, which takes an image in two parts, and secrets as objects
SYSTEM = "-<system>"  # of the nodes, such as ubuntu24.04: the operator adds it to the driver's tag


def chart_images(user: Facts, chart: Facts, driver: bool) -> tuple[list[str], Facts]:
    """(whole images, values of the chart that say so). chart: its row; driver: whether the operator brings driver and toolkit."""
    settings, prefix = user["llm_d_gpus"], user["llm_d_image_registry"]
    tested = settings["version"] in (None, chart["version"])
    used = {
        part: image
        for part, image in chart["images"].items()
        if (driver or part.partition(".")[0] not in ("driver", "toolkit")) and (settings["node_feature_discovery"] or part != FEATURES)
    }
    whole = {part: f"{prefix}/{image}" if prefix else image for part, image in used.items()}
    values: Facts = {}
    for part, image in whole.items():
        _put(values, part, {**(_parts(part, image, tested) if prefix else {}), **_secrets(part, user["llm_d_image_pull_secrets"])})
    listed = [image + (SYSTEM if part == "driver" else "") for part, image in whole.items()] if tested else []
    return listed, values


def _parts(part: str, image: str, tested: bool) -> Facts:
    """The image of a part as the chart takes it. Of a version that was not tested the repository alone is known to be right."""
    name, _colon, tag = image.rpartition(":")
    if part == FEATURES:
        return {"image": {"repository": name, **({"tag": tag} if tested else {})}}
    repository, _slash, last = name.rpartition("/")
    return {"repository": repository, "image": last, "version": tag} if tested else {"repository": repository}


def _secrets(part: str, names: list[str]) -> Facts:
    if not names or "." in part:  # what is within a part has none of its own
        return {}
    return {"imagePullSecrets": [{"name": name} for name in names] if part == FEATURES else list(names)}


def _put(values: Facts, path: str, found: Facts) -> None:
    part, _dot, below = path.partition(".")
    if found and below:
        values.setdefault(part, {})[below] = found
    elif found:
        values.setdefault(part, {}).update(found)
