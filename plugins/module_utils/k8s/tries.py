# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failures that Kubernetes retries by itself with growing pauses, and whose state stays the same between two tries. Pure.

A user who has created the missing object may run the same again before the next try: the failure is still there, its cause is not.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..common.objects import Facts, condition, get_path, mapping, number, text
from .node_failures import event_time
from .pod_failures import container_key, containers

# Seconds to the next try at most, by the reason of the container that waits. The backoff of the kubelet ends at 300 s; that of a ReplicaSet is about as long
# as it has failed, up to 1000 s, which is too long to wait.
_PULL, _CONFIG, _CREATION = 310.0, 30.0, 310.0
_WAITING = {"ImagePullBackOff": _PULL, "CreateContainerConfigError": _CONFIG}


@dataclass(frozen=True)
class Try:
    """The latest try of what fails. which: differs from that of another try; within: seconds to the next one at most."""

    which: tuple[str, ...]
    within: float


def latest_try(obj: Facts, pods: list[Facts], events: list[Facts]) -> Try | None:
    """The latest try to create the pods of a workload, or containers of them; None where nothing fails that is tried again.

    pods: of its current revision; events: of the creation of its pods, and of these.
    """
    if condition(obj.get("status"), "ReplicaFailure").get("status") == "True":
        # Events last longer than any pause between two tries: without one, this account may not read them.
        tries = _which(events, "FailedCreate")
        return Try(tries, _CREATION) if tries else None
    waiting = {container_key(pod, entry): mapping(get_path(entry, "state", "waiting")) for pod in pods for entry in containers(pod)}
    within = max((_WAITING.get(text(state.get("reason")), 0.0) for state in waiting.values()), default=0.0)
    if not within:
        return None
    # A pod that backs off has further events "Error: ImagePullBackOff" without a try.
    tries = _which(events, "Pulling")
    return Try((*(f"{key} {text(state.get('reason'))}" for key, state in sorted(waiting.items())), *tries), within)


def _which(events: list[Facts], reason: str) -> tuple[str, ...]:
    """Texts that differ once there is a further event of this reason."""
    matching = [event for event in events if event.get("reason") == reason]
    return tuple(sorted(f"{text(get_path(event, 'metadata', 'uid'))} {number(event.get('count'))} {event_time(event)}" for event in matching))
