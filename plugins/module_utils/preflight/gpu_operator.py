# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings on the GPU operator, where the plan needs one that acts on a policy. Pure."""

from __future__ import annotations

import typing as t

from ..common.labels import has_labels
from ..common.objects import dicts, dig, mapping, text
from ..k8s.platform import older
from .finding import PreflightFinding

Facts = dict[str, t.Any]
Found = t.Iterator[PreflightFinding]


def gpu_operator(facts: Facts, needs: Facts, seen: Facts) -> Found:
    """One that we do not install is there; one that we shall install takes the place of nobody else's."""
    wanted = needs["gpu_operator"]
    if not wanted or "gpu_operator" not in facts:  # not needed, or not ours to read
        return
    policies, namespace = dicts(facts["gpu_operator"]["policies"]), mapping(facts["gpu_operator"]["namespace"])
    if not wanted["install"]:
        if not policies:
            yield PreflightFinding(
                "gpu_operator/missing",
                "There is no such GPU operator, and we shall not install one ('install: false' under llm_d_gpus).",
                "none",
                f"a {wanted['kind']} of {wanted['api_version']}",
                "Install it, write 'install: true', or 'operator: none' where device plugins are there without an operator.",
            )
        return
    if wanted["by_chart"] and has_labels(namespace, needs["labels"]):  # the chart makes the policy, without our labels
        there = next((text(version) for item in policies if (version := dig(item, "metadata", "labels", "app.kubernetes.io/version"))), "")
        if there and older(wanted["version"], there) and not wanted["named"]:
            yield PreflightFinding(
                "gpu_operator/newer",
                "The GPU operator, which this instance installed, would be taken back to an older version.",
                there,
                f"{wanted['version']} or older",
                f"Write 'version: {there}' under llm_d_gpus with its chart under llm_d_charts to keep it; 'version: {wanted['version']}' takes it back.",
            )
        return
    others = [text(dig(item, "metadata", "name")) for item in policies if not has_labels(item, needs["labels"])]
    if others:
        yield PreflightFinding(
            "gpu_operator/foreign",
            "A GPU operator shall be installed, and someone else has done so.",
            f"{wanted['kind']} {', '.join(others)}",
            "none, or ours",
            "Write 'install: false' under llm_d_gpus to use it as it is.",
        )


CHECKS = (gpu_operator,)
