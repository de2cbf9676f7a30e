# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims of recorded observations, each failing one with its remedy. What a probe itself observes is in test_routing_probe.py."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.validation import claims, routing_claims


def observation(**changes):
    """A recorded observation of a healthy service, with changes."""
    return {
        "name": "llama-8b",
        "url": "http://10.216.7.20",
        "model": "acme/tiny",
        "replicas": 2,
        "ready_endpoints": 3.0,
        "promises": ["sticky", "spread", "roam", "follow", "split", "avoid"],
        "sent": 10,
        "scheduled": 10,
        "failures": [],
        "seconds": {"serving": 0.2, "counted": 0.1, "sticky": 0.6, "spread": 0.4},
        "health": {
            "healthy": True,
            "level": "serving",
            "version": None,
            "waited": 0.2,
            "looks": 1,
            "checks": [{"name": "health", "ok": True, "evidence": "GET http://10.216.7.20/health: 200", "ms": 2.0, "remedy": "", "kind": ""}],
        },
        "sticky": {"sent": 6, "servers": {"sim-x": 6}, "source": "x-inference-pod"},
        "spread": {"sent": 4, "servers": {"sim-x": 3, "sim-y": 1}, "source": "x-inference-pod"},
        "counters": {
            "moved": {"requests": 10, "scheduler_attempts": 10},
            "sent": 10,
            "picked": {"sim-x-rank-0": 9, "sim-y-rank-0": 1},
            "decisions": {"decode-only": 6, "prefill-decode": 4},
            "ran": {"Filter": {"decode-filter": 10, "prefill-filter": 4}, "Scorer": {"queue-scorer": 10}, "Picker": {"max-score-picker": 10}},
        },
        "answered": {"sim-x": 9, "sim-y": 1},
        "cached": [256, 256, 0, 256, None],
        "endpoints": 3,
        "pickers": 1,
        "words": 256,
        "cold_tokens": 16,
        "plugins": {"Filter": ["decode-filter"], "Scorer": ["queue-scorer"], "Picker": ["max-score-picker"]},
        "sometimes": {"Filter": ["prefill-filter"], "Scorer": [], "Picker": []},
        "roam": {"sent": 4, "servers": {"sim-x": 3, "sim-y": 1}, "source": "x-inference-pod"},
        "follow": {"sent": 6, "right": 6, "servers": 2},
        "split": {"sent": 4, "prefilled": 4},
        "avoid": {"busy": "sim-x", "sent": 8, "servers": {"sim-y": 8}, "waiting": 3},
        **changes,
    }


def failed(**changes):
    return {entry["id"].removeprefix("llama-8b/"): entry for entry in routing_claims.judge_service(observation(**changes))[0] if not entry["ok"]}


def test_a_service_that_is_well():
    assert failed() == {}
    assert {entry["id"]: entry["seconds"] for entry in routing_claims.judge_service(observation())[0]}["llama-8b/sticky"] == 0.6


@pytest.mark.parametrize(
    "changes, claim, evidence, remedy",
    [
        ({"scheduled": 9}, "scheduled", "9 of 10", "bypass the endpoint picker"),
        ({"counters": {"moved": {"requests": 9, "scheduler_attempts": 10}, "sent": 10}}, "counted", "requests by 9", "route bypasses it"),
        ({"counters": {"moved": {"requests": 11, "scheduler_attempts": 10}, "sent": 10}}, "counted", "requests by 11", "other clients"),
        ({"counters": {"moved": {"requests": -4, "scheduler_attempts": 10}, "sent": 10}}, "counted", "requests by -4", "restarted"),
        ({"counters": {"moved": {"requests": None, "scheduler_attempts": 10}, "sent": 10}}, "counted", "no such series", "llm_d_release"),
        ({"counters": {"error": "GET /metrics: 403", "remedy": "ask"}}, "counted", "403", "ask"),
        ({"counters": None}, "counted", "not read", "where they are"),
        ({"sticky": {"sent": 6, "servers": {"a": 5, "b": 1}, "source": "x-inference-pod"}}, "sticky", "a (5), b (1)", "prefix scorer"),
        ({"sticky": {"sent": 6, "servers": {"a": 5}, "source": "x-inference-pod"}}, "sticky", "6 requests", "prefix scorer"),
        ({"sticky": {"sent": 6, "servers": {}, "source": "x"}}, "sticky", "neither", "pods/proxy"),
        ({"sticky": None}, "sticky", "no server", "prefix scorer"),
        (
            {"spread": {"sent": 24, "servers": {"a": 24}, "source": "x-inference-pod"}, "ready_endpoints": 1.0, "endpoints": 1},
            "spread",
            "knows 1 ready",
            "ready endpoints",
        ),
        ({"spread": {"sent": 24, "servers": {"a": 24}, "source": "x-inference-pod"}, "ready_endpoints": None}, "spread", "does not report", "ready endpoints"),
        ({"spread": {"sent": 24, "servers": {}, "source": "x"}}, "spread", "neither", "pods/proxy"),
        ({"endpoints": 4}, "endpoints", "3 of 4 servers", "selector"),
        (
            {"avoid": {"busy": "sim-x", "sent": 8, "servers": {"sim-x": 2, "sim-y": 6}, "waiting": 4}},
            "avoid",
            "2 of 8 new prompts went to sim-x",
            "queue scorer",
        ),
        ({"avoid": {"error": "GET: 403", "remedy": "grant"}}, "avoid", "403", "grant"),
        ({"cached": [0, 0, None]}, "cached", "0 of 2 requests", "prefix caching"),
        ({"roam": {"sent": 24, "servers": {"a": 24}, "source": "x-inference-pod"}}, "roam", "24 requests with one shared prefix went to a (24)", "random one"),
        ({"follow": {"sent": 6, "right": 2, "servers": 2}}, "follow", "2 of 6 prompts", "KV events"),
        ({"follow": {"error": "POST: 403", "remedy": "grant"}}, "follow", "403", "grant"),
        ({"follow": None}, "follow", "no server could be reached", "servers"),
        ({"split": {"sent": 4, "prefilled": 1}}, "split", "1 of 4 new prompts", "decider"),
        ({"split": {"sent": 0, "prefilled": 0}}, "split", "0 of 0", "decider"),
        ({"split": {"error": "GET /metrics: 403", "remedy": "grant"}}, "split", "403", "grant"),
        ({"split": None}, "split", "no prefill server", "servers"),
        ({"answered": {"sim-x": 6, "sim-y": 4}}, "obeyed", "sim-y answered 4 requests and was picked 1 times", "ignores its choice"),
        (
            {"plugins": {"Filter": ["decode-filter"], "Scorer": ["kv-cache-utilization-scorer", "queue-scorer"], "Picker": ["max-score-picker"]}},
            "plugins",
            "kv-cache-utilization-scorer did not run as scorer",
            "planned configuration",
        ),
        (
            {"plugins": {"Filter": ["decode-filter"], "Scorer": [], "Picker": ["max-score-picker"]}},
            "plugins",
            "queue-scorer ran as scorer and is not in the plan",
            "planned configuration",
        ),
        ({"failures": [{"request": 3, "evidence": "POST ...: 503", "remedy": "look"}]}, "serving", "503 (request 3", "look"),
    ],
)
def test_each_claim_fails_with_its_own_evidence_and_remedy(changes, claim, evidence, remedy):
    failures = failed(**changes)
    assert list(failures) == [claim]
    assert evidence in failures[claim]["evidence"] and remedy in failures[claim]["remedy"]


def skipped(**changes):
    return {entry["id"].removeprefix("llama-8b/"): entry["why"] for entry in routing_claims.judge_service(observation(**changes))[1]}


def test_every_claim_reports_the_time_it_took():
    judged = routing_claims.judge_service(
        observation(
            seconds={"serving": 0.2, "counted": 0.1, "sticky": 0.6, "spread": 0.4, "roam": 0.3, "follow": 0.9, "split": 0.05, "endpoints": 0.01, "avoid": 1.0}
        )
    )[0]
    assert all(entry["seconds"] > 0 for entry in judged) and len(judged) == 13
    assert {entry["id"]: entry["seconds"] for entry in judged}["llama-8b/scheduled"] == 3.2


@pytest.mark.parametrize(
    "changes, claim, why",
    [
        ({"sticky": {"sent": 6, "servers": {"a": 5, "b": 1}, "source": "x"}}, "cached", "did not stay"),
        ({"cached": [None, None]}, "cached", "--enable-prompt-tokens-details"),
        ({"answered": {}}, "obeyed", "do not name their server"),
        ({"answered": {}}, "follow", "do not name their server"),
        ({"cold_tokens": 256}, "split", "up to 256 uncached tokens"),
        ({"avoid": None}, "avoid", "more requests than"),
        ({"avoid": {"busy": "sim-x", "sent": 8, "servers": {}, "waiting": 0}}, "avoid", "no queue formed"),
        ({"avoid": {"busy": "sim-x", "sent": 8, "servers": {}, "waiting": 2}}, "avoid", "do not name their server"),
        ({"ready_endpoints": None}, "endpoints", "does not report"),
        ({"promises": ["sticky"]}, "spread", "does not promise"),
        ({"counters": {**observation()["counters"], "picked": {}}}, "obeyed", "does not count"),
        ({"counters": None}, "plugins", "not read"),
        ({"replicas": 1}, "roam", "one replica"),
        ({"replicas": 1}, "follow", "one replica"),
    ],
)
def test_behavior_that_cannot_be_observed_is_not_claimed(changes, claim, why):
    assert why in skipped(**changes)[claim]


def test_only_what_is_promised_is_claimed():
    judged, not_checked = routing_claims.judge_service(observation(promises=["spread"], endpoints=None, plugins=None))
    assert [entry["id"] for entry in judged] == [f"llama-8b/{name}" for name in ("serving", "scheduled", "counted", "obeyed", "spread")]
    assert [entry["id"] for entry in not_checked] == ["llama-8b/sticky"]


def test_failures_for_people():
    assert claims.failures([claims.claim("a", True, "x", "y"), claims.claim("b", False, "z", "do"), claims.claim("c", False, "z")]) == [
        "b: z\n  remedy: do",
        "c: z",
    ]
