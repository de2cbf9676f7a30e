# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines of a run."""

from __future__ import annotations

import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.report.text import WIDTH
from ansible_collections.llm_d.inference.plugins.module_utils.validation.summary import LINES, lines

VERSIONS = {"release": "scheduler-0.7", "gateway": {"provider": "istio", "version": None}, "kubernetes": "v1.34.4", "collection": "0.1.0"}


def report(summary: str = "OK: 23 of 23 claims hold", ok: bool = True, **more: t.Any) -> dict[str, t.Any]:
    return {"ok": ok, "summary": summary, "reports": {"folder": "artifacts/llm-d", "files": ["verdict.json", "report.html"], "config_map": None}, **more}


def test_the_summary_shows_verdict_endpoint_versions_and_report_paths() -> None:
    verdict = report(endpoint="http://10.0.0.7", versions=VERSIONS)
    verdict["reports"]["config_map"] = "llm-d/llm-d-report-verdict"
    assert lines({"verdict": verdict}, None) == [
        "verdict   OK: 23 of 23 claims hold",
        "endpoint  http://10.0.0.7",
        "versions  scheduler-0.7, istio, Kubernetes v1.34.4, llm_d.inference 0.1.0",
        "reports   artifacts/llm-d/verdict.json",
        "reports   ConfigMap llm-d/llm-d-report-verdict",
    ]


def test_versions_take_a_second_line_where_they_have_to() -> None:
    long = {**VERSIONS, "gateway": {"provider": "envoy_ai_gateway", "version": "1.10.3"}}
    assert lines({"verdict": report(endpoint="http://10.0.0.7", versions=long)}, None)[2:4] == [
        "versions  scheduler-0.7, envoy_ai_gateway 1.10.3, Kubernetes v1.34.4,",
        "          llm_d.inference 0.1.0",
    ]


def test_a_failed_task_is_named_whatever_the_reports_contain() -> None:
    """The failure may be another one, such as that of a run that detects differences and cannot restore the objects."""
    failure = {"task": "llm_d.inference.prerequisites : preflight | Fail", "msg": "the cluster has\n\x1b[31mno CRDs"}
    for reports in ({}, {"drift": report("2 of 9 objects are not as planned", ok=False)}, {"verdict": report()}):
        text = " ".join(line.strip() for line in lines(reports, failure))
        assert "failed" in text and "llm_d.inference.prerequisites : preflight | Fail: the cluster has" in text and "\x1b" not in text
        assert not any("failed" in line for line in lines(reports, None))
    assert lines({}, None) == []


def test_a_place_that_does_not_take_a_report_is_named_and_why() -> None:
    verdict = report()
    verdict["reports"]["lost"] = {"s3": "Cannot put s3://reports/x: " + "403 " * 200}
    rows = lines({"verdict": verdict}, None)
    assert any(line.startswith("reports  not in s3: Cannot put s3://reports/x: 403") for line in rows) and max(map(len, rows)) <= WIDTH
    assert 6 < len(rows) <= LINES, "it has the lines that the verdict does not need"


def test_no_run_ends_with_more_than_ten_lines_of_eighty_columns() -> None:
    long = "NOT OK: 1 of 900 claims hold, not " + ", ".join(f"a-service-{number}/sticky" for number in range(899))
    everything = {f"report-{number}": report(long, ok=False, endpoint=f"http://10.0.0.{number}", versions=VERSIONS) for number in range(12)}
    for many in (1, 2, 7, 12):
        rows = lines(dict(list(everything.items())[:many]), {"task": "x " * 100, "msg": long})
        assert 1 <= len(rows) <= LINES, (many, rows)
        assert max(map(len, rows)) <= WIDTH
    assert lines(everything, None)[0].endswith("…")
