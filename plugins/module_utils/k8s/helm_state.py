# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps that bring a Helm release to its wanted state. Pure."""

from __future__ import annotations

import re
import typing as t

Facts = t.Mapping[str, t.Any]

_VERSION = re.compile(r"""^version:[ \t]*(?P<quote>["']?)(?P<version>[^"'\s#]+)(?P=quote)[ \t]*(?:#.*)?$""", re.MULTILINE)


class Steps(t.TypedDict):
    """What to do, in this order."""

    uninstall: bool
    install: bool
    force: bool


def steps_to_present(release: Facts, version: str, values: Facts) -> Steps:
    """The steps that install or upgrade a release.

    release: `helm_records.facts()` of it. version: of the wanted chart, with or without a leading `v`. values: those to give to the chart.

    A first installation that failed is uninstalled first: `kubernetes.core.helm` does nothing for a failed release of the same version and values,
    and a release that was never deployed has nothing to lose. A later revision that failed is upgraded with `force`.
    """
    failed_first = release["status"] == "failed" and release["revision"] == 1
    differs = release["version"] != version.removeprefix("v") or release["release_values"] != values
    return {
        "uninstall": failed_first,
        "install": release["status"] != "deployed" or differs,
        "force": release["status"] == "failed" and not failed_first,
    }


def steps_to_absent(release: Facts) -> Steps:
    """The steps that remove a release."""
    return {"uninstall": release["status"] != "absent", "install": False, "force": False}


def version_in(chart_yaml: str) -> str:
    """The version of the chart that a Chart.yaml describes. Raises ValueError where it has none."""
    match = _VERSION.search(chart_yaml)
    if not match:
        raise ValueError("Chart.yaml has no version")
    return match["version"]
