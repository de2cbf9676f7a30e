# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of a job: its last lines, the statistics for the next job of a workflow, and reports that outlive its pod."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from keeping_api_server import SPACE
from reporting_job import Facts, Job

VERDICT = f"{SPACE}/configmaps/llm-d-report-verdict"


@pytest.fixture(name="job")
def _job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_a_verdict_is_handed_on_kept_and_shown_last(job: Job) -> None:
    statistics, lines = job.run("validate", llm_d_artifacts={"config_map": True})
    left = statistics["inference_stacks"]["paris"]["verdict"]
    assert left["ok"] is False and left["summary"].startswith("NOT OK: ") and "sim/picker" in left["summary"]
    assert left["versions"]["release"] and left["endpoints"] == []
    assert left["reports"] == {
        "folder": str(job.folder / "out"),
        "files": ["verdict.json", "report.html"],
        "config_map": "llm-d/llm-d-report-verdict",
        "s3": None,
        "lost": {},
    }
    assert any("changed=0 " in line for line in lines), "a report is no change"
    kept = job.cluster.kept[VERDICT]
    assert kept["data"]["verdict.json"] == (job.folder / "out/verdict.json").read_text(encoding="utf-8") and "<html" in kept["data"]["report.html"]
    last = lines[-10:]
    (first,) = [number for number, line in enumerate(last) if line.startswith("verdict ")]
    assert last[first].startswith("verdict   NOT OK: ") and last[-1] == "reports   ConfigMap llm-d/llm-d-report-verdict"
    assert f"reports   {job.folder}/out/verdict.json" in last and any(line.startswith("failed ") and "Fail when a claim does not hold" in line for line in last)


def test_a_report_that_the_cluster_refuses_causes_no_further_failure(job: Job) -> None:
    job.cluster.kept.pop(SPACE)
    job.cluster.refuses = {"ConfigMap": (403, "no")}
    statistics, lines = job.run("validate", llm_d_artifacts={"config_map": True})
    left = statistics["inference_stacks"]["paris"]["verdict"]
    assert left["reports"]["config_map"] is None and (job.folder / "out/verdict.json").is_file()
    assert left["reports"]["lost"]["config_map"] and any(line.startswith("reports   not in config_map: ") for line in lines[-10:])


@pytest.mark.parametrize("given", [{}, {"llm_d_artifacts": {"config_map": "false"}}])
def test_no_report_is_kept_in_the_cluster_unless_config_map_is_set(job: Job, given: Facts) -> None:
    statistics, _lines = job.run("diff", **given)
    left = statistics["inference_stacks"]["paris"]["drift"]
    assert left["ok"] is False and left["reports"]["files"] == ["drift.json"] and left["reports"]["config_map"] is None
    assert "\n" not in left["summary"] and not [path for path in job.cluster.kept if "report" in path]


def test_the_location_of_a_report_is_that_of_its_last_save(job: Job) -> None:
    """A run may keep a report of one name twice, as one that restores differing objects and checks again."""
    plan = "lookup('llm_d.inference.plan')"
    plans = [plan, f"{plan} | combine({{'reports': {{'config_maps': [], 's3': {{}}}}}})"]
    kept = {"reports_name": "drift", "reports_files": {"drift.json": "{}"}, "reports_result": {"ok": True, "summary": "none"}}
    role = {"name": "llm_d.inference.reports"}
    looks = [{"ansible.builtin.include_role": role, "vars": {**kept, "reports_plan": f"{{{{ {each} }}}}"}} for each in plans]
    for number in (1, 2):
        (job.folder / "looks.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": looks[:number]}]), encoding="utf-8")
        statistics, _lines = job.run(str(job.folder / "looks"), llm_d_artifacts={"config_map": True})
        assert statistics["inference_stacks"]["paris"]["drift"]["reports"]["config_map"] == (None if number == 2 else "llm-d/llm-d-report-drift")


def test_a_run_that_ends_before_any_report_shows_the_cause(job: Job) -> None:
    _statistics, lines = job.run("validate", llm_d_model_services=[{"name": "Sim"}])
    assert lines[-10:][-1].startswith(" ") or lines[-1].startswith("failed")
    assert any(line.startswith("failed  ") and "Check your llm_d_* variables" in line for line in lines[-10:])
