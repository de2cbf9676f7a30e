# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines of a run."""

from __future__ import annotations

import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.validation.summary import LINES, WIDTH, lines

VERSIONS = {"release": "scheduler-0.7", "gateway": {"provider": "istio", "version": None}, "kubernetes": "v1.34.4", "collection": "0.1.0"}


def report(summary: str = "OK: 23 of 23 claims hold", ok: bool = True, **more: t.Any) -> dict[str, t.Any]:
    return {"ok": ok, "summary": summary, "reports": {"folder": "artifacts/llm-d", "files": ["verdict.json", "report.html"], "config_map": None}, **more}


def test_a_verdict_says_where_the_stack_answers_and_where_the_reports_are() -> None:
    found = report(endpoint="http://10.0.0.7", versions=VERSIONS)
    found["reports"]["config_map"] = "llm-d/llm-d-report-verdict"
    assert lines({"verdict": found}, None) == [
        "verdict   OK: 23 of 23 claims hold",
        "endpoint  http://10.0.0.7",
        "versions  scheduler-0.7, istio, Kubernetes v1.34.4, llm_d.inference 0.1.0",
        "reports   artifacts/llm-d/verdict.json",
        "reports   ConfigMap llm-d/llm-d-report-verdict",
    ]


def test_a_failure_is_named_where_no_report_says_it() -> None:
    failure = {"task": "llm_d.inference.prerequisites : preflight | Fail", "msg": "the cluster has\n\x1b[31mno CRDs"}
    said = " ".join(line.strip() for line in lines({}, failure))
    assert said.startswith("failed  llm_d.inference.prerequisites : preflight | Fail: the cluster has") and "\x1b" not in said
    assert not any("failed" in line for line in lines({"verdict": report("NOT OK: 1 of 2 claims hold, not sim/pool", ok=False)}, failure))
    assert any(line.startswith("failed") for line in lines({"verdict": report()}, failure))
    assert lines({}, None) == []


def test_no_run_ends_with_more_than_ten_lines_of_eighty_columns() -> None:
    long = "NOT OK: 1 of 900 claims hold, not " + ", ".join(f"a-service-{number}/sticky" for number in range(899))
    everything = {f"report-{number}": report(long, ok=False, endpoint=f"http://10.0.0.{number}", versions=VERSIONS) for number in range(12)}
    for many in (1, 2, 7, 12):
        found = lines(dict(list(everything.items())[:many]), {"task": "x" * 200, "msg": long})
        assert 1 <= len(found) <= LINES, (many, found)
        assert max(map(len, found)) <= WIDTH
    assert lines(everything, None)[0].endswith("…")
