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


def steps_to_present(found: Facts, version: str, values: Facts) -> Steps:
    """The steps that install or upgrade a release.

    found: `helm_records.facts()` of the release. version: of the wanted chart, with or without a leading `v`. values: those the chart is given.

    A first installation that failed is uninstalled first: `kubernetes.core.helm` does nothing for a failed release of the same version and values,
    and a release that was never deployed has nothing to lose. A later revision that failed is upgraded with `force`.
    """
    failed_first = found["status"] == "failed" and found["revision"] == 1
    differs = found["version"] != version.removeprefix("v") or found["release_values"] != values
    return {
        "uninstall": failed_first,
        "install": found["status"] != "deployed" or differs,
        "force": found["status"] == "failed" and not failed_first,
    }


def steps_to_absent(found: Facts) -> Steps:
    """The steps that remove a release."""
    return {"uninstall": found["status"] != "absent", "install": False, "force": False}


def version_in(chart_yaml: str) -> str:
    """The version of the chart that a Chart.yaml describes. Raises ValueError where it has none."""
    found = _VERSION.search(chart_yaml)
    if not found:
        raise ValueError("Chart.yaml has no version")
    return found["version"]
