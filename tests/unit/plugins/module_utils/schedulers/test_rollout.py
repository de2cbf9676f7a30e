# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the log of a ready pod is settled. The rollout itself: test_scorer_config.py."""

from __future__ import annotations

import datetime
import time

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.objects import moment
from ansible_collections.llm_d.inference.plugins.module_utils.schedulers import rollout

ZONES = ["UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0", "AEST-10AEDT,M10.1.0,M4.1.0/3", "<+0530>-5:30"]


def pod(stamp):
    return {"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp}]}}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("now", ["2026-01-15T12:00:00+00:00", "2026-07-15T12:00:00+00:00"])
def test_the_age_of_a_pod_is_the_same_in_every_time_zone(monkeypatch, zone, now):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        instant = datetime.datetime.fromisoformat(now)
        ages = {seconds: (instant - datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ") for seconds in (2, 9, 11, 86400)}
        settled = {seconds: rollout.log_is_settled(pod(stamp), instant.timestamp()) for seconds, stamp in ages.items()}
        assert settled == {2: False, 9: False, 11: True, 86400: True}
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("stamp", [None, "", "yesterday", 7, "2026-07-15T12:00:00"])
def test_a_pod_without_a_valid_time_is_not_settled(stamp):
    assert moment(stamp) is None and not rollout.log_is_settled(pod(stamp), time.time())


def test_times_have_fractions_too():
    assert moment("2026-07-15T12:00:00.250000Z") - moment("2026-07-15T12:00:00Z") == datetime.timedelta(seconds=0.25)
