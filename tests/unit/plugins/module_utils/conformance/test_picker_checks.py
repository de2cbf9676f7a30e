# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A streamed response through a gateway: whether it arrives in pieces is decided by a long one."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.conformance import picker_checks
from ansible_collections.llm_d.inference.plugins.module_utils.conformance.picker_checks import ANSWERS, CHECKS, PickerRequest, run

EVENT, END = b'data: {"choices": []}\n\n', b"data: [DONE]\n\n"


def streamed(*answers: list[bytes]) -> tuple[dict[str, t.Any], int]:
    """(outcome, number of requests) for a gateway with these answers, of which the last is repeated."""
    sent: list[PickerRequest] = []

    def send(request: PickerRequest) -> tuple[int, list[bytes]]:
        sent.append(request)
        return 200, answers[min(len(sent), len(answers)) - 1]

    checks = [check for check in CHECKS if check.name == "gateway_streamed_response"]
    (outcome,) = run(t.cast(picker_checks.Bench, types.SimpleNamespace(model="m", send=send)), checks, lambda: 0.0, lambda _line: None)
    return outcome, len(sent)


@pytest.mark.parametrize(
    ("answers", "result", "why", "requests"),
    [
        ([[EVENT] * 20 + [END]], "passed", "21 events in 21 pieces", 1),
        ([[EVENT * 20 + END]], "failed", "21 events come in 1 piece", 1),
        ([[EVENT * 20]], "failed", "the end is missing", 1),
        ([[EVENT * 3 + END], [EVENT * 20 + END]], "failed", "21 events come in 1 piece", 2),
        ([[EVENT * 3 + END], [END], [EVENT] * 9 + [END]], "passed", "10 events in 10 pieces", 3),
        ([[EVENT * 3 + END]], "skipped", f"none of {ANSWERS} answers has 10 events", ANSWERS),
    ],
)
def test_the_streaming_check_judges_only_answers_of_at_least_10_events(answers: list[list[bytes]], result: str, why: str, requests: int) -> None:
    outcome, sent = streamed(*answers)
    assert outcome["result"] == result and why in outcome["why"] and sent == requests
