# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a node from setting a pod up, by the words of kubelet, containerd, CRI-O, network plugins and volume drivers."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.node_failures import SET_UP_REASONS, set_up_event, set_up_failure
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.pod_failures import pod_failure
from hypothesis import given
from hypothesis import strategies as st
from node_events import EVENTS
from recorded import changed, recorded


def failure_of(reason, message):
    """The failure of a pod with this event, or with a container that waits for this reason."""
    if reason in SET_UP_REASONS:
        return set_up_failure(reason, message)
    return pod_failure(changed(recorded("pod_bad_image"), "status.containerStatuses.0.state", {"waiting": {"reason": reason, "message": message}}))


@pytest.mark.parametrize(("reason", "code", "remedy", "message"), [row[1:] for row in EVENTS], ids=[row[0] for row in EVENTS])
def test_each_recorded_event_has_its_own_cause(reason, code, remedy, message):
    failure = failure_of(reason, message)
    assert failure.code == code and remedy in failure.remedy, failure
    assert len(failure.what) < 400 and "\n" not in failure.what


def test_every_reason_has_events_and_causes_differ():
    reasons = {row[1] for row in EVENTS}
    assert reasons >= {*SET_UP_REASONS, "ImageInspectError", "InvalidImageName", "CreateContainerError", "CreateContainerConfigError", "RunContainerError"}
    assert len({failure_of(row[1], row[4]).remedy for row in EVENTS}) > 25


def test_the_three_sandboxes_of_the_report_have_three_causes():
    head = "Failed to create pod sandbox: rpc error: code = Unknown desc = "
    messages = [
        'failed to get sandbox runtime: no runtime for "nvidia" is configured',
        'failed to get sandbox image "registry.k8s.io/pause:3.9": failed to pull image: dial tcp 192.0.2.1:443: i/o timeout',
        'failed to setup network for sandbox "0a1b": plugin type="cni" failed (add): no addresses left',
    ]
    assert [failure_of("FailedCreatePodSandBox", head + each).code for each in messages] == ["runtime", "F34", "pod_network"]


def test_of_a_long_message_the_end_is_shown_where_its_cause_is():
    reason, message = next(row[1:5:3] for row in EVENTS if row[0] == "kubernetes/kubernetes#108963")
    failure = failure_of(reason, message)
    assert failure.what.startswith('MountVolume.SetUp failed for volume "pv01"') and "access denied by server while mounting" in failure.what


def test_a_summary_event_is_reported_only_without_a_more_specific_event():
    events = [
        {"reason": "FailedMount", "message": "MountVolume.SetUp failed: mount.nfs: access denied", "lastTimestamp": "2026-11-21T09:00:00Z"},
        {"reason": "FailedMount", "message": "Unable to attach or mount volumes: timed out waiting", "lastTimestamp": "2026-11-21T09:01:00Z"},
        {"reason": "Pulled", "message": "", "lastTimestamp": "2026-11-21T09:02:00Z"},
    ]
    assert set_up_event(events) is events[0] and set_up_event(events[1:]) is events[1] and set_up_event(events[2:]) is None


def test_a_container_that_never_started_has_the_cause_of_its_runtime():
    message = next(row[4] for row in EVENTS if row[0] == "MauriceNino/dashdot#1226")
    ended = {"exitCode": 128, "reason": "StartError", "message": message}
    failure = pod_failure(changed(recorded("pod_crash"), "status.containerStatuses.0.lastState", {"terminated": ended}))
    assert failure.code == "V6" and "cuda>=12.8" in failure.what


def test_a_secret_in_a_message_is_not_shown():
    for reason in SET_UP_REASONS:
        failure = set_up_failure(reason, f"mount failed: {'x' * 300} -o username=u,password=correct-horse access denied, failed to find plugin")
        assert "correct-horse" not in failure.what


@given(st.sampled_from(sorted({row[1] for row in EVENTS})), st.text())
def test_any_message_is_read(reason, message):
    failure = failure_of(reason, message)
    assert failure.code and failure.remedy and len(failure.what) < 500


@pytest.mark.parametrize("row", [EVENTS[0], EVENTS[20], EVENTS[-4]], ids=lambda row: row[0])
def test_a_long_message_is_read_up_to_a_limit(row):
    assert len(failure_of(row[1], row[4] + ": x" * 200_000).what) < 500
