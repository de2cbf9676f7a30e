# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verdicts: objectives on what does not exist, clients that were late. test_confidence.py has comparisons."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import result, slo
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.plan import Measured, Plan
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark.totals import Allowed, Totals
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.request import Shape
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.schedule import Step

SLO = {"ttft_from_schedule_p90_ms": 150}


def record(number=0, planned=0.0, sent=0.0, first=0.1, last=0.4, tokens=4, **more):
    return Record(number, 0, planned, sent, first, last, last, 200, 64, tokens, chunks=tokens, **more)


def stage(records, wanted=None, good=None, rate=8.0, behind=0.0):
    """A stage as result.json has it. `behind`: milliseconds by which the event loop of the client was late."""
    totals = Totals(good)
    for each in records:
        totals.add(each)
    totals.client_lag.add(behind)
    plan = Plan(None, None, Shape(), (), None, rules=tuple(slo.rules(wanted or {})), allowed=Allowed())
    return result.stage(Measured(Step(rate=rate, seconds=10), totals), plan)


WHOLE = [record(number, first=0.4) for number in range(200)]  # answers in one piece, as with stream: false


@pytest.mark.parametrize("name", ["tpot_p90_ms", "tpot_mean_ms", "tpot_max_ms", "itl_p50_ms"])
def test_answers_in_one_piece_have_no_time_between_tokens_and_miss_objectives_on_it(name):
    found = stage(WHOLE, {name: 40}, {"tpot_ms": 40.0})
    assert found["tpot_ms"]["n"] == found["itl_ms"]["n"] == 0 and found["tpot_ms"]["p90"] is None and found["ntpot_ms"]["p50"] == pytest.approx(100, rel=0.001)
    said, why = result.verdict([found], False, True)
    assert said == "failed" and f"{name}: no value (the tokens of each answer came in one piece" in why[0] and "stream is false" in why[0]


@pytest.mark.parametrize("name", ["tpot_ms", "itl_ms"])
def test_an_answer_whose_time_between_tokens_nobody_saw_is_not_good(name):
    assert stage(WHOLE, good={name: 40.0})["goodput_share"] == 0
    # of a single token there is none, which is no miss; what was seen is judged
    assert stage([record(tokens=1, first=0.4)], good={name: 40.0})["goodput_share"] == 1
    for bound, share in ((99.0, 0), (101.0, 1)):
        assert stage([record(gaps=[0.1] * 3)], good={name: bound})["goodput_share"] == share


def test_good_requests_count_from_when_they_were_due():
    """Each was sent 300 ms late, by a client that waited for its server: its user waited for all of it."""
    late = [record(number, planned=0.0, sent=0.3, first=0.4, last=0.5) for number in range(10)]
    for name, due, sent in (("ttft_ms", 400, 100), ("e2e_ms", 500, 200)):
        assert stage(late, good={name: float(sent + 50)})["goodput_share"] == 0 and stage(late, good={name: due + 1.0})["goodput_share"] == 1


def test_the_reason_for_an_objective_without_a_value():
    failed = record(error="http_503", detail="answered 503")
    for records, name, why in (
        ([record(), failed], "ttft_max_ms", "1 of 2 requests failed"),
        ([failed], "ttft_max_ms", "no request succeeded"),
        ([], "ttft_max_ms", "no request was due"),
        ([record()], "queue_p50_ms", "queue_time_ms"),
    ):
        (judged,) = stage(records, {name: 150})["slo"]
        assert not judged["met"] and judged["found"] is None and why in slo.said(judged)
    assert stage([record()], {"ttft_max_ms": 150})["slo"][0]["why"] is None


def test_a_percentile_of_what_few_requests_have_is_not_known():
    """200 requests, of which 5 came in pieces."""
    found = stage([*WHOLE[5:], *(record(number) for number in range(5))], {"tpot_p90_ms": 150})
    assert found["slo"][0]["met"] and not found["slo"][0]["enough"] and result.verdict([found], False, True)[0] == "inconclusive"


def in_time(wanted=None, rate=8.0, first=0.1):
    return stage([record(number, first=first) for number in range(200)], wanted, rate=rate)


def late(wanted=None, rate=16.0, first=0.1):
    """The client sent 120 ms late, and meets or misses the objective by `first`."""
    return stage([record(number, sent=0.12, first=first) for number in range(200)], wanted, rate=rate)


def blurred(wanted=None, rate=16.0, first=0.3):
    """The client read 50 ms late, which is a large share of what it measured, but within max_lag."""
    return stage([record(number, first=first) for number in range(200)], wanted, rate=rate, behind=50.0)


@pytest.mark.parametrize("ladder", [False, True], ids=["stages", "sweep"])
@pytest.mark.parametrize("stages", [[late], [in_time, late], [in_time, blurred]], ids=["late", "late at last", "blurred at last"])
def test_a_client_that_was_late_makes_every_run_without_objectives_invalid(stages, ladder):
    said, why = result.verdict([each() for each in stages], ladder, False)
    assert said == "invalid" and len(why) == 1 and "the client" in why[0]
    assert result.verdict([in_time()], ladder, False) == ("passed", [])


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ([late(SLO)], "invalid"),  # every objective met, by a client that was late: neither passed nor failed
        ([late(SLO, first=0.9)], "invalid"),  # so late that it says nothing
        ([in_time(SLO), late(SLO)], "passed"),  # one rate that meets them is enough
        ([in_time(SLO, first=0.9)], "failed"),
        ([in_time(SLO, first=0.9), late(SLO, rate=4.0)], "invalid"),  # a lower rate may meet them
        ([in_time(SLO, first=0.9), blurred(SLO, rate=4.0)], "failed"),  # missed by more than the client was late
        ([in_time(SLO, first=0.9), blurred(SLO, rate=4.0, first=0.18)], "invalid"),
        ([blurred(SLO, first=0.12)], "invalid"),
    ],
)
def test_a_search_with_a_late_client(stages, said):
    found, why = result.verdict(stages, True, True)
    assert found == said and bool(why) == (said != "passed")
    assert said != "failed" or "misses at most 150" in why[0]
