# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of the pods of planned servers."""

from __future__ import annotations

import typing as t

Facts = dict[str, t.Any]


def spec(server: Facts) -> Facts:
    """The spec of the pod template of a server, a leader or a worker."""
    pod_spec: Facts = server["template"]["spec"]
    return pod_spec


def main(server: Facts) -> Facts:
    """Its main container."""
    container: Facts = spec(server)["containers"][0]
    return container


def sidecars(server: Facts) -> list[Facts]:
    """The containers that start before the main container."""
    containers: list[Facts] = spec(server).get("initContainers", [])
    return containers
