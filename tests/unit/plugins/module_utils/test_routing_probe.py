# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe against a gateway that schedules, and against ones that do not: what is seen, and what is claimed of it."""

from __future__ import annotations

import dataclasses
import time

import pytest

from ansible_collections.llm_d.inference.plugins.module_utils import claims
from ansible_collections.llm_d.inference.plugins.module_utils.openai_api import Client, UrlTransport
from ansible_collections.llm_d.inference.plugins.module_utils.routing_probe import Counters, Limits, Prober
from local_servers import InferenceGateway, serve

NAMES = {"requests": "inference_objective_request_total", "scheduler_attempts": "inference_extension_scheduler_attempts_total",
         "ready_endpoints": "inference_pool_ready_pods"}
LIMITS = Limits(gap=0.0, settle=0.2, request_timeout=2.0, wait=0.3)


def probe(gateway, counters=True, names=None, limits=LIMITS, **service):
    with serve(gateway) as url:
        service = {"name": "llama-8b", "url": url, "model": "acme/tiny", "replicas": 2, "promises": ["sticky", "spread"], **service}
        reader = Counters(UrlTransport(url), "/metrics", names or NAMES) if counters else None
        return Prober(service, Client(UrlTransport(url)), reader, limits).run()


def judged(gateway, **options):
    """{claim: (ok, evidence, remedy)} of one probe."""
    found, skipped = claims.judge_service(probe(gateway, **options))
    assert all(entry["ok"] or entry["remedy"] for entry in found)
    return ({entry["id"].split("/")[1]: (entry["ok"], entry["evidence"], entry["remedy"]) for entry in found},
            {entry["id"].split("/")[1]: entry["why"] for entry in skipped})


def test_a_gateway_that_schedules():
    gateway = InferenceGateway()
    seen = probe(gateway)
    assert seen["sent"] == 10 and seen["scheduled"] == 10 and seen["failures"] == []
    assert len(gateway.prompts) == 12  # two of them were for health, before the counting
    assert seen["counters"] == {"moved": {"requests": 10, "scheduler_attempts": 10}, "sent": 10}
    assert list(seen["sticky"]["servers"].values()) == [6] and len(seen["spread"]["servers"]) == 2
    found, skipped = claims.judge_service(seen)
    assert [(entry["id"], entry["ok"]) for entry in found] == [
        ("llama-8b/serving", True), ("llama-8b/scheduled", True), ("llama-8b/counted", True), ("llama-8b/sticky", True), ("llama-8b/spread", True)]
    assert skipped == [] and all(entry["remedy"] == "" for entry in found)


def test_a_second_run_is_as_good_as_the_first():
    gateway = InferenceGateway()
    for dummy in range(2):
        assert all(entry["ok"] for entry in claims.judge_service(probe(gateway))[0])
    prompts = [prompt for prompt in gateway.prompts if not prompt.startswith("Count")]
    assert len({prompt[:64] for prompt in prompts}) == 2 * (1 + 4)


def test_prefixes_are_long_enough_for_several_blocks_and_short_enough_for_the_model():
    gateway = InferenceGateway()
    probe(gateway)
    words = [len(prompt.split()) for prompt in gateway.prompts if not prompt.startswith("Count")]
    assert min(words) > 4 * 16 and max(words) < 1024 // 2


def test_without_stickiness():
    found, skipped = judged(InferenceGateway(sticky=False))
    assert found["sticky"][0] is False and "pod-a (3), pod-b (3)" in found["sticky"][1]
    assert found["counted"][0] and found["spread"][0]


def test_without_spread_the_number_of_requests_is_bounded():
    gateway = InferenceGateway(one_server=True)
    found, skipped = judged(gateway)
    assert found["spread"][0] is False and "24 requests" in found["spread"][1] and "knows 2 ready endpoints" in found["spread"][1]
    assert len(gateway.prompts) == 2 + 6 + 24
    assert found["sticky"][0]


@pytest.mark.parametrize("replicas, servers, why", [(1, 2, "one replica"), (0, 2, "no replicas"), (None, 1, "one replica")])
def test_with_one_server_there_is_nothing_to_prove(replicas, servers, why):
    gateway = InferenceGateway(servers=["pod-a", "pod-b"][:servers])
    found, skipped = judged(gateway, replicas=replicas)
    assert why in skipped["sticky"] and why in skipped["spread"] and set(found) == {"serving", "scheduled", "counted"}


def test_nobody_knows_the_number_of_servers():
    assert "not known" in judged(InferenceGateway(), replicas=None, names={key: NAMES[key] for key in ("requests", "scheduler_attempts")})[1]["spread"]


def test_what_the_policy_does_not_promise_is_not_claimed():
    found, skipped = judged(InferenceGateway(sticky=False), promises=["spread"])
    assert "does not promise" in skipped["sticky"] and found["spread"][0]


def test_requests_that_go_past_the_picker():
    found, skipped = judged(InferenceGateway(scheduler_header=False, counting=0))
    assert found["scheduled"][0] is False and found["scheduled"][1].startswith("0 of 10")
    assert found["counted"][0] is False and "requests by 0" in found["counted"][1] and "may lead around it" in found["counted"][2]


def test_other_traffic_at_the_same_time():
    found, skipped = judged(InferenceGateway(counting=2))
    assert found["counted"][0] is False and "requests by 20" in found["counted"][1] and "other clients" in found["counted"][2]


def test_a_picker_that_restarted():
    class Restarted(InferenceGateway):
        def complete(self, request):
            if len(self.prompts) == 5:
                self.counted, self.attempts = 0, dict.fromkeys(self.attempts, 0)
            return super().complete(request)
    found, skipped = judged(Restarted())
    assert found["counted"][0] is False and "requests by -" in found["counted"][1] and "restarted" in found["counted"][2]


def test_a_gateway_that_still_asks_the_picker_before():
    class Late(InferenceGateway):
        """The requests of health and two more are decided by an endpoint picker that nobody reads."""

        def complete(self, request):
            counted, attempts = self.counted, dict(self.attempts)
            answer = super().complete(request)
            if len(self.prompts) <= 4:
                self.counted, self.attempts = counted, attempts
            return answer
    gateway = Late()
    assert all(ok for ok, _evidence, _remedy in judged(gateway, limits=dataclasses.replace(LIMITS, settle=5.0))[0].values())
    assert gateway.prompts.count("Who picks?") == 3


def test_a_picker_that_is_never_asked_is_not_waited_for_without_end():
    class Past(InferenceGateway):
        def complete(self, request):
            answer = super().complete(request)
            self.counted, self.attempts = 7, dict.fromkeys(self.attempts, 7)
            return answer
    found, skipped = judged(Past(), limits=dataclasses.replace(LIMITS, gap=0.05))
    assert found["counted"][0] is False and "requests by 0" in found["counted"][1]


def test_metric_names_of_another_release():
    found, skipped = judged(InferenceGateway(), names={**NAMES, "requests": "llm_d_epp_request_total"})
    assert found["counted"][0] is False and "no such series" in found["counted"][1] and "llm_d_release" in found["counted"][2]


def test_a_series_that_starts_with_the_first_request():
    class Fresh(InferenceGateway):
        def metrics(self):
            return super().metrics() if self.prompts[2:] else "process_start_time_seconds 1\n"
    gateway = Fresh()
    gateway.counted, gateway.attempts = -2, {"pod-a": -1, "pod-b": -1}
    assert judged(gateway)[0]["counted"][0]


@pytest.mark.parametrize("knobs, said", [({"metrics_status": 401}, "401"), ({"metrics_status": 500}, "500")])
def test_metrics_that_cannot_be_read(knobs, said):
    found, skipped = judged(InferenceGateway(**knobs))
    assert found["counted"][0] is False and said in found["counted"][1] and "--metrics-endpoint-auth=false" in found["counted"][2]
    assert found["sticky"][0]


def test_no_metrics_given():
    assert "not read" in judged(InferenceGateway(), counters=False)[0]["counted"][1]


def test_servers_that_do_not_say_who_they_are_are_known_by_the_pickers_counters():
    seen = probe(InferenceGateway(pod_header=False, pod_label=True))
    assert seen["sticky"]["source"] == "scheduler_attempts per server" and list(seen["sticky"]["servers"].values()) == [6]
    assert len(seen["spread"]["servers"]) == 2 and seen["sent"] == 10
    assert all(entry["ok"] for entry in claims.judge_service(seen)[0])


def test_nobody_says_who_answered():
    found, skipped = judged(InferenceGateway(pod_header=False))
    assert found["sticky"][0] is False and "POD_NAME" in found["sticky"][2] and found["spread"][0] is False
    assert found["counted"][0]


def test_a_service_that_is_down_is_not_bombarded():
    gateway = InferenceGateway(fail_after=0)
    found, skipped = judged(gateway)
    assert set(found) == {"serving"} and found["serving"][0] is False
    assert "no healthy upstream" in found["serving"][1] and "looks in" in found["serving"][1] and "selector" in found["serving"][2]
    assert set(skipped) == {"scheduled", "counted", "sticky", "spread"}


def test_a_request_that_fails_in_the_middle():
    found, skipped = judged(InferenceGateway(fail_after=5))
    assert found["serving"][0] is False and "request 4 of this proof" in found["serving"][1]


def test_the_whole_is_bounded_in_time():
    def hang(handler, method, path, body):
        time.sleep(5)
    start = time.monotonic()
    seen = probe(hang, limits=Limits(request_timeout=0.2, wait=0.5))
    assert time.monotonic() - start < 4 and seen["health"]["healthy"] is False
