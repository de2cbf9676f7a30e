# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports in the cluster: their ConfigMaps, and the files that fit into one."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.applyset import MEMBER
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.reports import LEFT_OUT, MOST, NAMES, with_files
from plays import ROOT

FILE: dict[str, t.Any] = {
    "llm_d_gateway": {"provider": "standalone", "service_type": "ClusterIP"},
    "llm_d_model_services": [{"name": "sim", "model": {"served_name": "m"}, "engine": {"type": "simulator"}}],
}
HEAD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"b": "c"}}}


def test_each_report_has_a_config_map_labeled_as_a_member_of_the_record() -> None:
    made = plan({**FILE, "llm_d_artifacts": {"config_map": True}, "llm_d_name_suffix": "two"})
    assert [each["metadata"]["name"] for each in made["reports"]["config_maps"]] == [f"{made['instance']}-report-{name}" for name in NAMES]
    assert all(each["metadata"]["labels"][MEMBER] == made["record"]["id"] for each in made["reports"]["config_maps"]), "the record finds it"


@pytest.mark.parametrize("variables", [{}, {"llm_d_artifacts": {"config_map": True}, "llm_d_scope": "prerequisites"}])
def test_no_config_map_is_planned_without_the_option_or_for_prerequisites(variables: dict[str, t.Any]) -> None:
    assert plan({**FILE, **variables})["reports"]["config_maps"] == []


def test_files_that_exceed_a_config_map_are_omitted_and_named_in_an_annotation() -> None:
    files = {"verdict.json": "{}", "report.html": "ü" * (MOST // 2), "table.md": "x"}
    made = with_files(HEAD, files)
    assert made["data"] == {"verdict.json": "{}", "table.md": "x"}
    assert made["metadata"] == {**HEAD["metadata"], "annotations": {LEFT_OUT: f"report.html ({MOST} bytes)"}}
    assert with_files(HEAD, {"a": "x" * MOST}) == {**HEAD, "data": {"a": "x" * MOST}}


def test_the_reports_role_accepts_the_names_of_all_reports() -> None:
    spec = yaml.safe_load((ROOT / "roles/reports/meta/argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
    assert spec["reports_name"]["choices"] == list(NAMES)
