# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One row for each cluster: its state, its note, and the rows of earlier runs that are kept."""

from __future__ import annotations

import re
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.validation import fleet

Facts = dict[str, t.Any]
INPUTS = {"namespace": "red", "services": ["sim"], "release": "router-0.10", "provider": "istio"}
PROBLEM = {"path": "llm_d_gatway", "value": None, "reason": "there is no such option.", "fix": "Did you mean 'llm_d_gateway'?"}
BROKEN = {"id": "sim/serving", "ok": False, "evidence": "no answer", "remedy": "look <there>", "seconds": 1.0}


def verdict(*failed: Facts) -> Facts:
    """A verdict with one claim that holds, and the failed ones."""
    return {
        "ok": not failed,
        "time": "2026-11-25T01:00:00Z",
        "endpoint": "http://10.216.0.9",
        "claims": [{"id": "platform/kubernetes", "ok": True, "evidence": "v1.34.4", "seconds": 0.1}, *failed],
        "versions": {"collection": "0.1.0", "release": "router-0.9", "kubernetes": "v1.34.4", "gateway": {"provider": "istio", "version": "1.29.2"}},
    }


def failure(**facts: t.Any) -> Facts:
    return {"task": "role : present | Apply", "msg": "it broke", **facts}


def row(host: str = "paris", *, stopped: bool = False, **facts: t.Any) -> Facts:
    return fleet.row(host, {"inputs": INPUTS, **facts}, "2026-11-25T02:00:00Z", stopped, f"../{host}/report.html")


@pytest.mark.parametrize(
    ("facts", "stopped", "state", "note"),
    [
        ({"verdict": verdict()}, False, "ok", "http://10.216.0.9"),
        ({"verdict": verdict(BROKEN), "failure": failure()}, False, "not ok", "sim/serving"),
        ({"failure": failure(problems=[PROBLEM, PROBLEM])}, False, "refused", "llm_d_gatway: there is no such option. Did you mean 'llm_d_gateway'?"),
        ({"failure": failure(reached=False, msg="the API server\n  is away")}, False, "unreachable", "the API server is away"),
        ({"failure": failure()}, True, "failed", "it broke"),
        ({"verdict": verdict(), "failure": failure()}, False, "failed", "it broke"),
        ({"verdict": verdict()}, True, "ok", "http://10.216.0.9"),
        ({}, True, "stopped", ""),
        ({}, False, "done", ""),
    ],
    ids=["ok", "not_ok", "refused", "unreachable", "failed", "failed_after_its_verdict", "ok_before_another_failed", "stopped", "done"],
)
def test_the_state_of_a_cluster(facts: Facts, stopped: bool, state: str, note: str) -> None:
    entry = row(stopped=stopped, **facts)
    claims = {"ok": "1/1", "not ok": "1/2"}.get(state, "1/1" if "verdict" in facts else "")
    assert entry["state"] == state and state in fleet.STATES
    line, whole = fleet.table([entry], [])[1], f"paris  {state:11}  {claims:>7}  {note}".rstrip()
    assert line == whole if len(whole) <= 80 else line == f"{whole[:79]}…"


def test_a_row_has_what_is_known_of_its_cluster() -> None:
    entry = row(verdict=verdict(BROKEN))
    assert entry["versions"] == {"collection": "0.1.0", "release": "router-0.9", "kubernetes": "v1.34.4", "gateway": "istio 1.29.2"}
    assert entry["time"] == "2026-11-25T01:00:00Z" and entry["endpoint"] == "http://10.216.0.9" and entry["page"] == "../paris/report.html"
    assert entry["failed"] == [{"id": "sim/serving", "evidence": "no answer", "remedy": "look <there>"}] and entry["claims"] == {"held": 1, "all": 2}
    assert row(failure=failure())["why"] == ["it broke", "Task: role : present | Apply"]
    lost = row(failure=failure(reached=False))
    assert lost["why"] == ["it broke"]
    assert lost["versions"] == {"collection": None, "release": "router-0.10", "kubernetes": None, "gateway": "istio"}
    assert lost["time"] == "2026-11-25T02:00:00Z" and lost["page"] is None and lost["namespace"] == "red" and lost["services"] == ["sim"]


def test_a_row_names_the_deployment_also_where_it_was_refused() -> None:
    deployment = {"instance": "blue", "namespace": "team-a", "cluster": "paris (https://10.0.0.1:6443)"}
    judged = row(inputs={"instance": "blue", "namespace": "team-a"}, verdict={**verdict(), **deployment})
    assert {key: judged[key] for key in deployment} == deployment
    refused = row(inputs={"instance": "blue", "namespace": "team-a"}, failure=failure())
    assert (refused["instance"], refused["namespace"], refused["cluster"]) == ("blue", "team-a", None)
    made = fleet.page(fleet.report(["paris"], {"paris": judged}, {}, "now"))
    assert "<th>Instance</th><th>Namespace</th>" in made and "<td>blue</td><td>team-a</td>" in made


def test_a_host_without_results_in_this_run_keeps_its_earlier_row() -> None:
    earlier = {name: row(name, verdict=verdict()) for name in ("a", "b", "gone")}
    ran = {"a": row("a", failure=failure()), "b": row("b"), "c": row("c")}
    report = fleet.report(["a", "b", "c", "d"], ran, earlier, "now")
    assert [(each["host"], each["state"]) for each in report["clusters"]] == [("a", "failed"), ("b", "ok"), ("c", "no verdict"), ("d", "no verdict")]
    assert report["states"] == {"ok": 1, "failed": 1, "no verdict": 2} and not report["ok"] and report["time"] == "now"
    assert fleet.report(["b"], {}, earlier, "now")["ok"]


def test_the_table_has_80_columns_and_names_the_page() -> None:
    rows = [row(name, failure=failure(problems=[PROBLEM])) for name in ("short", "a-cluster-with-a-long-name.example.com")]
    lines = fleet.table([*rows, row("x", verdict=verdict())], ["/a/page/that/is/longer/" + "x" * 80])
    assert lines[0] == "3 clusters: 1 ok, 2 refused" and lines[-1].startswith("page: /a/page") and lines[-1].endswith("x" * 80)
    assert all(len(line) <= 80 for line in lines[:-1]) and lines[1].endswith("…") and lines[2].startswith("a-cluster-with-a-long-n…  refused")
    assert fleet.table(rows[:1], [])[0] == "1 cluster: 1 refused"


def test_the_page_shows_each_cluster_with_its_link_and_its_reasons() -> None:
    rows = {
        "a<b": row("a<b", verdict=verdict()),
        "c": row("c", verdict=verdict(BROKEN)),
        "d": row("d", failure=failure(problems=[PROBLEM, {**PROBLEM, "path": "second"}])),
    }
    text = fleet.page(fleet.report(list(rows), rows, {}, "now"))
    assert "3 clusters: 1 ok, 1 not ok, 1 refused" in text and '<span class="verdict failed">NOT OK</span>' in text
    assert '<a href="../a%3Cb/report.html">a&lt;b</a>' in text and "<td>d</td>" in text
    assert "look &lt;there&gt;" in text and "no answer" in text and "llm_d_gatway: there" in text and "second: there" in text
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["c", "d"], "a section for each that is not ok"
    assert "NOT OK" not in fleet.page(fleet.report(["a<b"], rows, {}, "now"))
