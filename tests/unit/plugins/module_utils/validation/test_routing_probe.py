# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe against a gateway that schedules, and against gateways that do not: the observation, and the claims about it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import secrets
import time
import types

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common.clock import SYSTEM
from ansible_collections.llm_d.inference.plugins.module_utils.http.transport import UrlTransport
from ansible_collections.llm_d.inference.plugins.module_utils.inference.client import OpenAIClient
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from ansible_collections.llm_d.inference.plugins.module_utils.validation import routing_claims
from ansible_collections.llm_d.inference.plugins.module_utils.validation.probe_traffic import ProbeLimits
from ansible_collections.llm_d.inference.plugins.module_utils.validation.routing_counters import Counters, Servers
from ansible_collections.llm_d.inference.plugins.module_utils.validation.routing_probe import Prober
from engine_servers import ApiServer, pod
from fake_clock import FakeClock
from local_servers import JSON, InferenceGateway, serve, whole

NAMES = {
    "requests": "inference_objective_request_total",
    "scheduler_attempts": "inference_extension_scheduler_attempts_total",
    "ready_endpoints": "inference_pool_ready_pods",
    "plugin_duration": "inference_extension_plugin_duration_seconds",
}
LIMITS = ProbeLimits(request_timeout=60.0)


def probe(gateway, counters=True, names=None, limits=LIMITS, clock=None, **service):
    with serve(gateway) as url:
        service = {"name": "llama-8b", "url": url, "model": "acme/tiny", "replicas": 2, "promises": ["sticky", "spread"], **service}
        reader = Counters(lambda: [UrlTransport(url)], "/metrics", names or NAMES) if counters else None
        return Prober(service, OpenAIClient(UrlTransport(url)), reader, limits, clock=clock or FakeClock()).run()


def judged(gateway, **options):
    """{claim: (ok, evidence, remedy)} of one probe."""
    claims, skipped = routing_claims.judge_service(probe(gateway, **options))
    assert all(entry["ok"] or entry["remedy"] for entry in claims)
    return (
        {entry["id"].split("/")[1]: (entry["ok"], entry["evidence"], entry["remedy"]) for entry in claims},
        {entry["id"].split("/")[1]: entry["why"] for entry in skipped},
    )


def test_a_gateway_that_schedules():
    gateway = InferenceGateway()
    observation = probe(gateway)
    assert observation["sent"] == 10 and observation["scheduled"] == 10 and observation["failures"] == []
    assert len(gateway.prompts) == 12  # two of them were for health, before the counting
    assert observation["counters"]["moved"] == {"requests": 10, "scheduler_attempts": 10} and observation["counters"]["sent"] == 10
    assert list(observation["sticky"]["servers"].values()) == [6] and len(observation["spread"]["servers"]) == 2
    claims, skipped = routing_claims.judge_service(observation)
    assert [(entry["id"], entry["ok"]) for entry in claims] == [
        ("llama-8b/serving", True),
        ("llama-8b/scheduled", True),
        ("llama-8b/counted", True),
        ("llama-8b/sticky", True),
        ("llama-8b/cached", True),
        ("llama-8b/spread", True),
    ]
    assert [entry["id"] for entry in skipped] == ["llama-8b/obeyed"] and all(entry["remedy"] == "" for entry in claims)


def test_a_second_run_is_as_good_as_the_first():
    gateway = InferenceGateway()
    for _dummy in range(2):
        assert all(entry["ok"] for entry in routing_claims.judge_service(probe(gateway))[0])
    prompts = [prompt for prompt in gateway.prompts if not prompt.startswith("Count")]
    assert len({prompt[:64] for prompt in prompts}) == 2 * (1 + 4)


def test_prefixes_are_long_enough_for_several_blocks_and_short_enough_for_the_model():
    gateway = InferenceGateway()
    probe(gateway)
    words = [len(prompt.split()) for prompt in gateway.prompts if not prompt.startswith("Count")]
    assert min(words) > 4 * 16 and max(words) < 1024 // 2


def test_without_stickiness():
    claims, skipped = judged(InferenceGateway(sticky=False))
    assert claims["sticky"][0] is False and "pod-a (3), pod-b (3)" in claims["sticky"][1]
    assert claims["counted"][0] and claims["spread"][0]


def test_without_spread_the_number_of_requests_is_bounded():
    gateway = InferenceGateway(one_server=True)
    claims, skipped = judged(gateway)
    assert claims["spread"][0] is False and "24 requests" in claims["spread"][1] and "knows 2 ready endpoints" in claims["spread"][1]
    assert len(gateway.prompts) == 2 + 6 + 24
    assert claims["sticky"][0]


@pytest.mark.parametrize("replicas, servers, why", [(1, 2, "one replica"), (0, 2, "no replicas"), (None, 1, "one replica")])
def test_sticky_and_spread_are_not_claimed_with_fewer_than_two_replicas(replicas, servers, why):
    gateway = InferenceGateway(servers=["pod-a", "pod-b"][:servers])
    claims, skipped = judged(gateway, replicas=replicas)
    assert why in skipped["sticky"] and why in skipped["spread"] and set(claims) == {"serving", "scheduled", "counted", "cached"}


def test_spread_is_not_claimed_when_the_replica_count_is_unknown():
    assert "not known" in judged(InferenceGateway(), replicas=None, names={key: NAMES[key] for key in ("requests", "scheduler_attempts")})[1]["spread"]


def test_behavior_that_the_policy_does_not_promise_is_not_claimed():
    gateway = InferenceGateway(sticky=False)
    claims, skipped = judged(gateway, promises=["spread"])
    assert "does not promise" in skipped["sticky"] and claims["spread"][0] and not {"roam", "follow", "split", "avoid", "cached"} & {*claims, *skipped}
    assert len(gateway.prompts) == 2 + 4


def test_requests_that_bypass_the_picker_fail_scheduled_and_counted():
    claims, skipped = judged(InferenceGateway(scheduler_header=False, counting=0))
    assert claims["scheduled"][0] is False and claims["scheduled"][1].startswith("0 of 10")
    assert claims["counted"][0] is False and "requests by 0" in claims["counted"][1] and "the route bypasses it" in claims["counted"][2]


def test_requests_of_other_clients_fail_the_counted_claim():
    claims, skipped = judged(InferenceGateway(counting=2))
    assert claims["counted"][0] is False and "requests by 20" in claims["counted"][1] and "other clients" in claims["counted"][2]


def test_a_picker_that_restarted():
    class Restarted(InferenceGateway):
        def complete(self, request):
            if len(self.prompts) == 5:
                self.counted, self.attempts = 0, dict.fromkeys(self.attempts, 0)
            return super().complete(request)

    claims, skipped = judged(Restarted())
    assert claims["counted"][0] is False and "requests by -" in claims["counted"][1] and "restarted" in claims["counted"][2]


def test_counting_begins_when_the_gateway_uses_the_current_picker():
    class Late(InferenceGateway):
        """The requests of the health check and two more are scheduled by an endpoint picker whose counters are not read."""

        def complete(self, request):
            counted, attempts = self.counted, dict(self.attempts)
            answer = super().complete(request)
            if len(self.prompts) <= 4:
                self.counted, self.attempts = counted, attempts
            return answer

    gateway = Late()
    assert all(ok for ok, _evidence, _remedy in judged(gateway)[0].values())
    assert gateway.prompts.count("Who picks?") == 3


def test_the_wait_for_an_endpoint_picker_without_requests_is_bounded():
    class Past(InferenceGateway):
        def complete(self, request):
            answer = super().complete(request)
            self.counted, self.attempts = 7, dict.fromkeys(self.attempts, 7)
            return answer

    gateway = Past()
    claims, skipped = judged(gateway, limits=dataclasses.replace(LIMITS, settle=3.0, gap=0.5))
    assert claims["counted"][0] is False and "requests by 0" in claims["counted"][1]
    assert gateway.prompts.count("Who picks?") == 6


def test_metric_names_of_another_release():
    claims, skipped = judged(InferenceGateway(), names={**NAMES, "requests": "llm_d_epp_request_total"})
    assert claims["counted"][0] is False and "no such series" in claims["counted"][1] and "llm_d_release" in claims["counted"][2]


def test_a_series_that_starts_with_the_first_request():
    class Fresh(InferenceGateway):
        def metrics(self):
            return super().metrics() if self.prompts[2:] else "process_start_time_seconds 1\n"

    gateway = Fresh()
    gateway.counted, gateway.attempts = -2, {"pod-a": -1, "pod-b": -1}
    assert judged(gateway)[0]["counted"][0]


@pytest.mark.parametrize("knobs, evidence", [({"metrics_status": 401}, "401"), ({"metrics_status": 500}, "500")])
def test_metrics_that_cannot_be_read(knobs, evidence):
    claims, skipped = judged(InferenceGateway(**knobs))
    assert claims["counted"][0] is False and evidence in claims["counted"][1] and "--metrics-endpoint-auth=false" in claims["counted"][2]
    assert claims["sticky"][0]


def test_the_counted_claim_fails_without_picker_metrics():
    assert "not read" in judged(InferenceGateway(), counters=False)[0]["counted"][1]


def test_servers_without_pod_header_are_identified_by_picker_counters():
    observation = probe(InferenceGateway(pod_header=False, pod_label=True))
    assert observation["sticky"]["source"] == "scheduler_attempts per server" and list(observation["sticky"]["servers"].values()) == [6]
    assert len(observation["spread"]["servers"]) == 2 and observation["sent"] == 10
    assert all(entry["ok"] for entry in routing_claims.judge_service(observation)[0])


def test_sticky_and_spread_fail_when_no_answer_identifies_its_server():
    claims, skipped = judged(InferenceGateway(pod_header=False))
    assert claims["sticky"][0] is False and "pods/proxy" in claims["sticky"][2] and claims["spread"][0] is False
    assert claims["counted"][0]


def test_a_service_that_is_down_is_not_bombarded():
    gateway = InferenceGateway(fail_after=0)
    claims, skipped = judged(gateway)
    assert set(claims) == {"serving"} and claims["serving"][0] is False
    assert "no healthy upstream" in claims["serving"][1] and "checks in" in claims["serving"][1] and "selector" in claims["serving"][2]
    assert set(skipped) == {"scheduled", "counted", "endpoints", "plugins", "obeyed", "sticky", "cached", "spread"}


def test_a_request_that_fails_in_the_middle():
    claims, skipped = judged(InferenceGateway(fail_after=5))
    assert claims["serving"][0] is False and "request 4 of this validation" in claims["serving"][1]


@pytest.mark.parametrize("fail_after", [2, 5, 9, 10])
def test_no_request_is_sent_after_a_failed_one(fail_after):
    """A server that hangs costs the timeout of one request, not of each."""
    gateway, clock = InferenceGateway(fail_after=fail_after), FakeClock()
    observation = probe(gateway, clock=clock, endpoints=9)
    assert len(observation["failures"]) == 1 and observation["sent"] == fail_after - 1, "two requests were for health"
    assert sum(clock.sleeps) <= LIMITS.settle, "no counter is waited for"


def test_a_check_has_the_time_of_a_request_however_short_the_wait_is():
    timeouts = []

    class Noting(UrlTransport):
        def request(self, method, path, body=None, headers=None, timeout=10.0, until=None):
            timeouts.append(timeout)
            return super().request(method, path, body, headers, timeout, until)

    with serve(InferenceGateway()) as url:
        service = {"name": "llama-8b", "url": url, "model": "acme/tiny", "replicas": 1, "promises": []}
        limits = ProbeLimits(request_timeout=60.0, wait=0.0)
        assert Prober(service, OpenAIClient(Noting(url)), None, limits, clock=FakeClock()).run()["health"]["healthy"]
    assert timeouts and min(timeouts) == 60


@pytest.mark.timing
def test_the_whole_is_bounded_in_time():
    def hang(handler, method, path, body):
        time.sleep(5)

    start = time.monotonic()
    observation = probe(hang, limits=ProbeLimits(request_timeout=0.2, wait=0.5), clock=SYSTEM)
    assert time.monotonic() - start < 4 and observation["health"]["healthy"] is False


RAN = [("Scorer", "queue-scorer"), ("Picker", "max-score-picker")]
PLUGINS = {"Filter": [], "Scorer": ["queue-scorer"], "Picker": ["max-score-picker"]}


def test_the_plugins_that_ran_are_those_of_the_plan():
    assert judged(InferenceGateway(plugins=RAN), plugins=PLUGINS)[0]["plugins"][:2] == (
        True,
        "ran for these requests: scorer: queue-scorer (10); picker: max-score-picker (10)",
    )
    claims, _skipped = judged(InferenceGateway(plugins=[("Picker", "random-picker")]), plugins=PLUGINS)
    assert claims["plugins"][0] is False and "queue-scorer did not run as scorer" in claims["plugins"][1]
    assert "random-picker ran as picker and is not in the plan" in claims["plugins"][1]


def test_plugins_that_ran_before_and_not_for_these_requests():
    class Idle(InferenceGateway):
        def metrics(self):
            return super().metrics().replace(f'plugin_type="queue-scorer"}} {self.counted}', 'plugin_type="queue-scorer"} 14')

    claims, _skipped = judged(Idle(plugins=RAN), plugins=PLUGINS)
    assert claims["plugins"][0] is False and "queue-scorer did not run" in claims["plugins"][1]


def test_the_obeyed_claim_requires_answers_from_the_picked_server():
    assert judged(InferenceGateway(pod_label=True))[0]["obeyed"][0]
    claims, _skipped = judged(InferenceGateway(pod_label=True, obeys=False))
    assert claims["obeyed"][0] is False and "pod-a answered" in claims["obeyed"][1] and claims["counted"][0]


def test_the_picker_knows_all_servers():
    assert judged(InferenceGateway(), endpoints=2)[0]["endpoints"][:2] == (True, "the endpoint picker knows 2 of 2 servers")
    claims, _skipped = judged(InferenceGateway(ready=1), endpoints=2)
    assert claims["endpoints"][0] is False and "1 of 2" in claims["endpoints"][1]


def test_a_gauge_that_is_written_late_is_waited_for():
    class Late(InferenceGateway):
        reads = 0

        def metrics(self):
            self.reads += 1
            self.knobs["ready"] = 0 if self.reads < 4 else 2
            return super().metrics()

    assert judged(Late(), endpoints=2)[0]["endpoints"][0]


def test_a_gauge_has_been_written_once_the_service_has_answered_for_so_long():
    """A missing server delays a verdict by no more than `refresh`."""
    clock = FakeClock()
    observation = probe(InferenceGateway(ready=1, one_server=True), clock=clock, endpoints=2, limits=ProbeLimits(refresh=2.0))
    assert observation["ready_endpoints"] == 1 and 2.0 <= sum(clock.sleeps) < 3.0


def test_a_cache_that_is_not_used():
    claims, _skipped = judged(InferenceGateway(caching=False))
    assert claims["cached"][0] is False and "0 of 5 requests" in claims["cached"][1] and claims["sticky"][0]
    assert "--enable-prompt-tokens-details" in judged(InferenceGateway(caching=None))[1]["cached"]


def test_a_policy_without_memory():
    held, evidence = judged(InferenceGateway(sticky=False), promises=["spread", "roam"])[0]["roam"][:2]
    assert held and evidence.endswith(", at random")
    claims, _skipped = judged(InferenceGateway(), promises=["spread", "roam"])
    assert (
        claims["roam"][0] is False
        and "at random" not in claims["roam"][1]
        and "24 requests with one shared prefix" in claims["roam"][1]
        and claims["spread"][0]
    )


def test_a_random_picker_is_hardly_ever_mistaken_for_a_sticky_one():
    """The chance that a random picker sends all requests to one server: docs/claims.md promises once in 8 million with two servers."""
    sent = ProbeLimits().spread_max
    assert [servers * servers**-sent < 1 / 8e6 for servers in (2, 3, 8)] == [True] * 3
    assert ProbeLimits().spread_min < sent and sent % ProbeLimits().spread_min == 0, "the last check is after the last request"


def test_several_endpoint_pickers_are_added_up():
    gateway, other = InferenceGateway(), InferenceGateway(ready=1)

    def half(handler, method, path, body):
        if path == "/v1/completions":
            other.counted += 1  # every second request went through the other one, which counts it instead
            other.attempts["pod-a"] += 1
            gateway.counted -= len(gateway.prompts) % 2
            other.counted -= 1 - len(gateway.prompts) % 2
        return gateway(handler, method, path, body)

    with serve(half) as url, serve(other) as second:
        service = {"name": "llama-8b", "url": url, "model": "acme/tiny", "replicas": 2, "endpoints": 2, "promises": ["sticky", "spread"]}
        reader = Counters(lambda: [UrlTransport(url), UrlTransport(second)], "/metrics", NAMES)
        observation = Prober(service, OpenAIClient(UrlTransport(url)), reader, LIMITS, clock=FakeClock()).run()
    assert observation["pickers"] == 2 and observation["counters"]["moved"]["requests"] == observation["sent"] == 10
    assert observation["ready_endpoints"] == 1  # the lowest number of all pickers


def test_no_endpoint_picker_at_all():
    with serve(InferenceGateway()) as url:
        service = {"name": "llama-8b", "url": url, "model": "acme/tiny", "replicas": 2, "promises": ["spread"]}
        observation = Prober(service, OpenAIClient(UrlTransport(url)), Counters(lambda: [], "/metrics", NAMES), LIMITS, clock=FakeClock()).run()
    claims = {entry["id"]: entry for entry in routing_claims.judge_service(observation)[0]}
    assert claims["llama-8b/counted"]["ok"] is False and "no endpoint picker is ready" in claims["llama-8b/counted"]["evidence"]


class Behind:
    """A server behind a gateway, queried directly. `learns`: whether the gateway observes its prompts."""

    def __init__(self, gateway, name, learns=True, status=200, busy=1.0):
        self.gateway, self.name, self.learns, self.status, self.busy = gateway, name, learns, status, busy

    def __call__(self, handler, method, path, body):
        if path == "/metrics":
            served = self.gateway.attempts.get(self.name, self.gateway.cold) if self.learns else 3
            return (
                self.status,
                {"Content-Type": "text/plain"},
                (f'vllm:request_success_total{{finished_reason="length"}} {served}\nvllm:num_requests_waiting {self.gateway.waiting.get(self.name, 0)}\n'),
            )
        if json.loads(body).get("ignore_eos"):
            self.gateway.keep_busy(self.name, self.busy)
        if self.learns:
            self.gateway.homes[json.loads(body)["prompt"][:256]] = self.name
        return self.status, {"Content-Type": JSON}, whole()


def behind(monkeypatch, gateway, role, names=("pod-a", "pod-b"), promises=None, seats=5, clock=None, limits=LIMITS, **knobs):
    """({claim: entry}, observation) of a probe of a gateway and of the servers behind it, which are reached through an API server on loopback."""
    with contextlib.ExitStack() as stack:
        labels = {"llm-d.ai/role": role}
        pods = [pod(name, stack.enter_context(serve(Behind(gateway, name, **knobs))), labels) for name in names]
        monkeypatch.setenv("K8S_AUTH_HOST", stack.enter_context(serve(ApiServer(pods))))
        monkeypatch.setenv("K8S_AUTH_API_KEY", "sk-token-of-the-test")
        url = stack.enter_context(serve(gateway))
        servers = Servers(connect(types.SimpleNamespace(params={})), "llm-d", [{"role": role, "labels": labels, "port": "8000"}])
        service = {
            "name": "llama-8b",
            "url": url,
            "model": "acme/tiny",
            "replicas": 2,
            "cold_tokens": 16,
            "max_num_seqs": seats,
            "promises": promises or ["spread", "follow" if role == "decode" else "split"],
        }
        observation = Prober(
            service, OpenAIClient(UrlTransport(url)), Counters(lambda: [UrlTransport(url)], "/metrics", NAMES), limits, servers, clock or FakeClock()
        ).run()
    claims, skipped = routing_claims.judge_service(observation)
    assert all(entry["ok"] or entry["remedy"] for entry in claims)
    return {entry["id"].split("/")[1]: entry for entry in claims}, observation


def test_a_prompt_is_routed_to_the_server_that_received_it_directly(monkeypatch):
    claims, observation = behind(monkeypatch, InferenceGateway(), "decode")
    assert claims["follow"]["ok"] and "24 of 24 prompts that 2 servers received directly" in claims["follow"]["evidence"] and claims["counted"]["ok"]
    assert observation["follow"] == {"sent": 24, "right": 24, "servers": 2}


class Late(InferenceGateway):
    """A gateway without KV events during the spans `deaf`, counted in prompts. Without events it knows no prompt."""

    def __init__(self, *deaf, **knobs):
        super().__init__(**knobs)
        self.deaf = deaf

    def pick(self, prompt):
        if not any(len(self.prompts) in span for span in self.deaf):
            return super().pick(prompt)
        self.homes.pop(prompt[:256], None)
        return self.knobs["servers"][len(self.prompts) // 2 % 2]


class SlowToTell(InferenceGateway):
    """Its servers are slow, and the endpoint picker learns of a prefix `late` seconds after the answer."""

    def __init__(self, clock, late):
        super().__init__()
        self.clock, self.late, self.known_from = clock, late, {}

    def pick(self, prompt):
        known = prompt[:256] in self.homes and self.clock.now() >= self.known_from[prompt[:256]]
        if not known:
            self.homes.pop(prompt[:256], None)
        server = super().pick(prompt)
        if not known:
            self.clock.time += 0.4
            self.known_from[prompt[:256]] = self.clock.now() + self.late
        return server


@pytest.mark.parametrize(("late", "held"), [(0.4, True), (0.5, False)])
def test_the_probe_gives_slow_servers_time_to_report_a_prefix(late, held):
    clock = FakeClock()
    assert judged(SlowToTell(clock, late), clock=clock)[0]["sticky"][0] is held


def test_the_probe_waits_for_kv_events_before_requests_that_need_them(monkeypatch):
    """An endpoint picker knows a prefix from KV events alone: the probe waits for them before it sends requests that depend on them."""
    claims, _observation = behind(monkeypatch, Late(range(20), range(30, 50)), "decode", promises=["sticky", "spread", "follow"])
    assert claims["follow"]["ok"] and claims["sticky"]["ok"] and claims["cached"]["ok"] and claims["counted"]["ok"], claims


OTHER = {"pod-a": "pod-b", "pod-b": "pod-a"}


class Guesses(InferenceGateway):
    """A gateway that knows no prompt and picks by a rule of its own: a correct pick is chance."""

    def __init__(self, rule, **knobs):
        super().__init__(**knobs)
        self.rule, self.follow = rule, 0

    def pick(self, prompt):
        home = self.homes.pop(prompt[:256], None)
        self.follow += "And then?" in prompt
        return self.rule(self.follow, home) or self.knobs["servers"][0]


@pytest.mark.rest
@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(lambda number, _home: f"pod-{'ba'[number % 2]}", id="each server in turn"),
        pytest.param(lambda number, home: home if number <= 6 else "pod-b", id="right at first"),
        pytest.param(lambda number, home: home if number % 9 else OTHER.get(home), id="mostly right"),
    ],
)
def test_chance_keeps_no_promise(monkeypatch, rule):
    """Correct picks by chance fulfil the promise `follow` in no round, however long the probe waits for KV events."""
    monkeypatch.setattr(secrets, "token_hex", lambda _size: "a-nonce")
    claims, observation = behind(monkeypatch, Guesses(rule), "decode")
    assert not claims["follow"]["ok"] and observation["follow"]["right"] < observation["follow"]["sent"], observation["follow"]


def test_a_prompt_for_each_of_many_servers(monkeypatch):
    names = [f"pod-{number}" for number in range(9)]
    claims, _observation = behind(monkeypatch, InferenceGateway(servers=names), "decode", names=names)
    assert "24 of 24 prompts that 9 servers received directly" in claims["follow"]["evidence"]


@pytest.mark.rest
def test_a_prompt_leads_to_its_server_by_the_servers_own_counters(monkeypatch):
    claims, _observation = behind(monkeypatch, InferenceGateway(pod_header=False, pod_label=True), "decode", promises=["spread", "follow"])
    assert claims["follow"]["ok"] and claims["obeyed"]["ok"], claims
    claims, _observation = behind(monkeypatch, InferenceGateway(pod_header=False, one_server=True), "decode", promises=["spread", "follow"])
    assert not claims["follow"]["ok"] and "3 of 6" in claims["follow"]["evidence"]


@pytest.mark.parametrize(
    ("gateway", "knobs", "evidence"),
    [
        ({"one_server": True}, {}, "3 of 6 prompts"),
        ({"sticky": True}, {"status": 500}, "500"),
        ({"sticky": True}, {"learns": False, "status": 403}, "403"),
    ],
)
def test_the_follow_claim_fails_when_prompts_go_elsewhere_or_fail(monkeypatch, gateway, knobs, evidence):
    claims, _observation = behind(monkeypatch, InferenceGateway(**gateway), "decode", **knobs)
    assert not claims["follow"]["ok"] and evidence in claims["follow"]["evidence"]


def test_servers_without_pod_header_are_identified_by_their_own_counters(monkeypatch):
    """vLLM with an endpoint picker that does not count by server."""
    claims, observation = behind(monkeypatch, InferenceGateway(pod_header=False), "decode", promises=["sticky", "spread"])
    assert claims["sticky"]["ok"] and claims["spread"]["ok"] and observation["sticky"]["source"] == "requests that servers count"
    assert sum(observation["sticky"]["servers"].values()) == 6 and sum(observation["answered"].values()) == 10
    claims, _observation = behind(monkeypatch, InferenceGateway(pod_header=False, sticky=False), "decode", promises=["sticky", "spread"])
    assert not claims["sticky"]["ok"] and "pod-a (3), pod-b (3)" in claims["sticky"]["evidence"]


def test_the_obeyed_claim_can_be_judged_by_the_servers_own_counters(monkeypatch):
    class Apart(InferenceGateway):
        """A gateway whose servers count their answers, and whose picker counts its picks."""

        def metrics(self):
            return super().metrics().replace('pod_name="pod-a"', 'pod_name="pod-x"')

    claims, _observation = behind(monkeypatch, InferenceGateway(pod_header=False, pod_label=True), "decode", promises=["sticky", "spread"])
    assert claims["obeyed"]["ok"] and "pod-a (" in claims["obeyed"]["evidence"]
    claims, _observation = behind(monkeypatch, Apart(pod_header=False, pod_label=True), "decode", promises=["sticky", "spread"])
    assert not claims["obeyed"]["ok"] and "pod-a answered" in claims["obeyed"]["evidence"] and "was picked 0 times" in claims["obeyed"]["evidence"]


@pytest.mark.timing
def test_new_prompts_stay_away_from_a_queue(monkeypatch):
    claims, observation = behind(monkeypatch, InferenceGateway(sticky=False), "decode", promises=["spread", "avoid"], busy=3.0, clock=SYSTEM)
    assert claims["avoid"]["ok"] and claims["avoid"]["evidence"] == "0 of 24 new prompts went to pod-a while requests waited there; pod-b (24)"
    assert observation["avoid"]["waiting"] >= 1 and claims["counted"]["ok"]  # requests to a server directly are not counted
    claims, _observation = behind(monkeypatch, InferenceGateway(sticky=False, blind=True), "decode", promises=["spread", "avoid"], clock=SYSTEM)
    assert not claims["avoid"]["ok"] and " new prompts went to pod-a while" in claims["avoid"]["evidence"]


class Queues(InferenceGateway):
    """A gateway that sends prompts to a busy server, where they wait longer than the timeout of a request."""

    def __call__(self, handler, method, path, body):
        answer = super().__call__(handler, method, path, body)
        if b" avoid " in body and answer[1]["x-inference-pod"] == "pod-a":
            time.sleep(1.5)
        return answer


@pytest.mark.timing
def test_a_prompt_that_waits_in_the_queue_is_no_failure(monkeypatch):
    gateway, limits = Queues(sticky=False, blind=True), ProbeLimits(request_timeout=1.0)
    claims, observation = behind(monkeypatch, gateway, "decode", promises=["spread", "avoid"], busy=0.9, clock=SYSTEM, limits=limits)
    assert not claims["avoid"]["ok"] and " new prompts went to pod-a while" in claims["avoid"]["evidence"]
    assert claims["serving"]["ok"] and not observation["failures"]


@pytest.mark.timing
@pytest.mark.parametrize(("seats", "busy"), [(256, 1.0), (None, 1.0), (5, 0.0)])
def test_a_queue_that_cannot_be_made(monkeypatch, seats, busy):
    gateway = InferenceGateway(sticky=False, blind=True)
    claims, observation = behind(monkeypatch, gateway, "decode", promises=["spread", "avoid"], seats=seats, busy=busy, clock=SYSTEM)
    assert "avoid" not in claims and observation["sent"] in (4, 20) and all(entry["ok"] for entry in claims.values())


def test_the_split_claim_holds_when_a_prefill_server_takes_new_prompts(monkeypatch):
    claims, observation = behind(monkeypatch, InferenceGateway(), "prefill", names=["prefill-a"])
    assert claims["split"]["ok"] and claims["split"]["evidence"].startswith("4 of 4 new prompts") and observation["split"] == {"sent": 4, "prefilled": 4}


@pytest.mark.parametrize(
    ("names", "knobs", "evidence"),
    [
        (["prefill-a"], {"learns": False}, "0 of 4 new prompts"),
        ([], {}, "0 of 4 new prompts"),
        (["prefill-a"], {"status": 500}, "500"),
    ],
)
def test_new_prompts_that_are_not(monkeypatch, names, knobs, evidence):
    claims, _observation = behind(monkeypatch, InferenceGateway(), "prefill", names=names, **knobs)
    assert not claims["split"]["ok"] and evidence in claims["split"]["evidence"]


@pytest.mark.parametrize(
    ("served", "ok", "evidence"),
    [(("chat", "fast"), True, "answered: chat, fast"), (("chat",), False, ": 404 Not Found (application/json): 'The model fast does not exist.'")],
)
def test_each_alias_of_the_model_has_to_answer(served, ok, evidence):
    class Rewriting(InferenceGateway):
        def complete(self, request):
            if request["model"] not in ("acme/tiny", *served):
                return 404, {"Content-Type": JSON}, json.dumps({"error": {"message": f"The model {request['model']} does not exist."}})
            return super().complete(request)

    claims, _skipped = judged(Rewriting(), aliases=["chat", "fast"])
    assert claims["aliases"][0] is ok and evidence in claims["aliases"][1]
