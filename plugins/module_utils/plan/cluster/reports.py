# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMaps that keep the reports of a run in addition to the folder of artifacts, since the folder of a job is deleted with its pod. Pure."""

from __future__ import annotations

from ...common.objects import Facts
from .record import marked

VARIABLE = "llm_d_artifacts"
LEFT_OUT = "llm-d.ai/left-out"
MOST = 1_000_000  # bytes of the data; the API server accepts objects up to 1 MiB
NAMES = ("verdict", "drift", "diagnosis", "benchmark", "comparison", "calibration", "conformance")


def config_maps(planned: Facts, user: Facts) -> list[Facts]:
    """The ConfigMap of each report, without its data; [] if the file requests none. planned: the plan, with its record."""
    if not user[VARIABLE]["config_map"] or user["llm_d_scope"] == "prerequisites":
        return []
    return [_config_map(name, planned) for name in NAMES]


def _config_map(name: str, planned: Facts) -> Facts:
    metadata = {"name": f"{planned['instance']}-report-{name}", "namespace": planned["namespace"], "labels": planned["labels"]}
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    return {**head, "metadata": marked(head, planned["record"])}


def with_files(head: Facts, files: dict[str, str]) -> Facts:
    """The ConfigMap with as many of the files, in their order, as fit into it; an annotation names the others."""
    kept: dict[str, str] = {}
    room, left_out = MOST, []
    for name, content in files.items():
        size = len(content.encode())
        if size <= room:
            kept[name], room = content, room - size
        else:
            left_out.append(f"{name} ({size} bytes)")
    notes = {"annotations": {LEFT_OUT: ", ".join(left_out)}} if left_out else {}
    return {**head, "metadata": {**head["metadata"], **notes}, "data": kept}
