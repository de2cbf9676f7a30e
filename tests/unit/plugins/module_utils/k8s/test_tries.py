# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which failures are tried again, and when two reads observe the same try."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.tries import latest_try

REFUSED = {"status": {"conditions": [{"type": "ReplicaFailure", "status": "True"}]}}
CREATED: dict[str, t.Any] = {"status": {"conditions": [{"type": "ReplicaFailure", "status": "False"}]}}


def pod(*reasons: str) -> dict[str, t.Any]:
    states = [{"name": f"c{index}", "state": {"waiting": {"reason": reason}} if reason else {"running": {}}} for index, reason in enumerate(reasons)]
    return {"metadata": {"uid": "p"}, "status": {"containerStatuses": states}}


def event(reason: str, **more: t.Any) -> dict[str, t.Any]:
    return {"reason": reason, "metadata": {"uid": "e"}, "count": 1, "lastTimestamp": "2026-11-30T06:00:00Z", **more}


@pytest.mark.parametrize("reasons", [(), ("",), ("CrashLoopBackOff",), ("ErrImagePull",), ("InvalidImageName",), ("ContainerCreating", "")])
def test_a_state_without_a_pending_retry_has_no_latest_try(reasons):
    assert latest_try(CREATED, [pod(*reasons)], [event("Pulling")]) is None


@pytest.mark.parametrize(
    ("obj", "pods", "reason"),
    [(REFUSED, [], "FailedCreate"), (CREATED, [pod("", "ImagePullBackOff")], "Pulling"), (CREATED, [pod("CreateContainerConfigError")], "Pulling")],
)
def test_a_later_event_is_another_try(obj, pods, reason):
    first = latest_try(obj, pods, [event(reason)])
    assert first is not None and first == latest_try(obj, pods, [event("BackOff", count=9), event("Failed", count=4), event(reason)])
    for later in (
        event(reason, count=2),
        event(reason, lastTimestamp="2026-11-30T06:04:00Z"),
        event(reason, series={"lastObservedTime": "2026-11-30T06:04:00Z"}),
    ):
        assert latest_try(obj, pods, [later]) != first
    assert latest_try(obj, pods, [event(reason), event(reason, metadata={"uid": "f"})]) != first


def test_a_failed_pod_creation_without_its_event_has_no_latest_try():
    assert latest_try(REFUSED, [], [event("ScalingReplicaSet")]) is None


def test_the_longest_pause_of_all_containers_counts():
    tries = [latest_try(CREATED, [pod(*reasons)], []) for reasons in (("CreateContainerConfigError",), ("CreateContainerConfigError", "ImagePullBackOff"))]
    assert [each and each.within for each in tries] == [30, 310]
