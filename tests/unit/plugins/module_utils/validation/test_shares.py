# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that share a route: the share of each in requests that name no service, and when it is too far from the weights."""

from __future__ import annotations

import contextlib
import random
import typing as t

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.validation import routing_proof as proofs
from ansible_collections.llm_d.inference.plugins.module_utils.validation import shares
from ansible_collections.llm_d.inference.plugins.module_utils.validation.probe_traffic import ProbeLimits
from local_servers import InferenceGateway, serve

Facts = dict[str, t.Any]
LIMITS = ProbeLimits(gap=0.0, settle=0.2, request_timeout=60.0, wait=0.3)
NAMES = {"requests": "inference_objective_request_total", "scheduler_attempts": "inference_extension_scheduler_attempts_total"}


def verdict(share: float, weights: Facts, new: Facts | None = None, guests: int = 0) -> dict[str, t.Any]:
    """The claims and what was not checked, by id, of a proof of two services behind a proxy that gives the new one this share.

    new: options of the gateway of the new service; guests: requests of other clients to it for each request of the validation.
    """
    gateways, dice = {"old": InferenceGateway(), "new": InferenceGateway(**(new or {}))}, random.Random(7)

    def proxy(handler: t.Any, method: str, path: str, body: bytes) -> t.Any:
        named = handler.headers.get("x-llm-d-service") or handler.headers.get("x-variant")
        chosen = named or ("new" if dice.random() < share else "old")
        if not named:
            for _guest in range(guests):
                gateways["new"](handler, method, path, body)
        return gateways[chosen](handler, method, path, body)

    with contextlib.ExitStack() as stack:
        url, metrics = stack.enter_context(serve(proxy)), {name: stack.enter_context(serve(each)) for name, each in gateways.items()}
        services = [
            {
                "name": name,
                "model": "acme/tiny",
                "url": url,
                "headers": headers,
                "weights": weights if name == "old" else {},
                "shared_headers": {},
                "promises": [],
                "replicas": 1,
                "metrics": {"url": metrics[name], "path": "/metrics", "names": NAMES},
                "use_proxy": False,
                "validate_certs": True,
            }
            for name, headers in (("old", {"x-llm-d-service": "old"}), ("new", {"x-variant": "new"}))
        ]
        proof = proofs.Proof({"gateway": None, "services": services}, None, LIMITS).run()
    return {entry["id"]: entry for entry in [*proof["claims"], *proof["not_checked"]]}


def test_requests_that_name_no_service_are_shared_by_weight() -> None:
    entries = verdict(0.1, {"old": 90, "new": 10})
    assert entries["old/weights"]["ok"] and "of 200 requests: old " in entries["old/weights"]["evidence"] and "new/weights" not in entries
    assert entries["old/counted"]["ok"] and entries["new/counted"]["ok"], "requests to each service have its own header"


@pytest.mark.parametrize(
    ("share", "weights"), [(0.0, {"old": 1, "new": 1}), (0.5, {"old": 90, "new": 10}), (0.02, {"old": 1, "new": 0}), (0.98, {"old": 0, "new": 7})]
)
def test_a_share_that_contradicts_the_weights_fails_the_claim(share: float, weights: Facts) -> None:
    claim = verdict(share, weights)["old/weights"]
    assert not claim["ok"] and f"weights: old {weights['old']}, new {weights['new']}" in claim["evidence"] and "HTTPRoutes" in claim["remedy"]


def test_failed_requests_fail_the_weights_claim_with_the_first_reason() -> None:
    claim = verdict(0.5, {"old": 1, "new": 1}, {"fail_after": 30})["old/weights"]
    assert not claim["ok"] and "of 200 requests failed, the first: " in claim["evidence"] and "503" in claim["evidence"]


def test_weights_are_not_checked_while_other_clients_send_requests() -> None:
    assert "other clients sent requests too" in verdict(0.5, {"old": 1, "new": 1}, guests=1)["old/weights"]["why"]


def test_weights_are_not_checked_when_a_service_is_not_validated() -> None:
    assert "absent" in verdict(0.5, {"old": 1, "new": 1, "absent": 1})["old/weights"]["why"]


def test_requests_that_reach_none_of_the_endpoint_pickers_are_reported() -> None:
    (claim,), skipped = shares.judge("old", {"old": 1, "new": 1}, {"sent": 200, "counted": {"old": 50, "new": 50}, "failed": [], "seconds": 1.0})
    assert not claim["ok"] and "none of these endpoint pickers" in claim["remedy"] and not skipped


def test_the_tail_is_that_of_a_binomial_distribution() -> None:
    """P(X <= 1 of 3 at 1/2) is 1/8 + 3/8, P(X >= 3 of 3 at 1/2) is 1/8; no success at weight 0 is certain."""
    trial = {"counted": {"a": 1, "b": 2}}
    assert not shares.unlikely({"a": 1, "b": 1}, trial)
    assert shares._tail(1, 3, 0.5) == 0.5 and shares._tail(3, 3, 0.5) == 0.125 and shares._tail(0, 9, 0.0) == 1.0 and shares._tail(1, 9, 0.0) == 0.0
