# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The latest try of what Kubernetes retries by itself with growing pauses. Pure.

Between two tries, the status of an object reports the failure of the last one. A user who has created what was missing may start the next run in this time: the
status still reports the failure, though its cause is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..common.objects import Facts, condition, get_path, mapping, number, text
from .node_failures import event_time
from .pod_failures import container_key, containers

# Seconds from one try to the next at most: to pull an image, to configure a container, to create a pod. The backoff of the kubelet ends at 300 s; that of a
# ReplicaSet grows to 1000 s, which is too long to wait.
_PULL, _CONFIG, _CREATION = 310.0, 30.0, 310.0
# By the reason why a container waits.
_WAITING = {"ImagePullBackOff": _PULL, "CreateContainerConfigError": _CONFIG}


@dataclass(frozen=True)
class Try:
    """A try that failed. identity: differs from that of any other try; within: seconds to the next one at most."""

    identity: tuple[str, ...]
    within: float


def latest_try(obj: Facts, pods: list[Facts], events: list[Facts]) -> Try | None:
    """The latest try to create the pods of a workload, or their containers; None where nothing fails that Kubernetes tries again.

    pods: of its current revision; events: of the creation of its pods, and of these pods.
    """
    if condition(obj.get("status"), "ReplicaFailure").get("status") == "True":
        # The API server keeps events for longer than a pause between two tries: where there is none, this account may not read them.
        tries = _event_identities(events, "FailedCreate")
        return Try(tries, _CREATION) if tries else None
    waiting = {container_key(pod, entry): mapping(get_path(entry, "state", "waiting")) for pod in pods for entry in containers(pod)}
    within = max((_WAITING.get(text(state.get("reason")), 0.0) for state in waiting.values()), default=0.0)
    if not within:
        return None
    # Only a try has an event Pulling: events such as "Error: ImagePullBackOff" come without one.
    tries = _event_identities(events, "Pulling")
    return Try((*(f"{key} {text(state.get('reason'))}" for key, state in sorted(waiting.items())), *tries), within)


def _event_identities(events: list[Facts], reason: str) -> tuple[str, ...]:
    """The events of this reason as texts, which change when another one comes or one is counted again."""
    matching = [event for event in events if event.get("reason") == reason]
    return tuple(sorted(f"{text(get_path(event, 'metadata', 'uid'))} {number(event.get('count'))} {event_time(event)}" for event in matching))
