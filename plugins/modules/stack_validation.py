# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: stack_validation
short_description: Validate a running stack, and how its requests are scheduled
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Checks model services and returns the verdict, a claim for each thing that was checked, with its evidence, and its remedy where it does not hold.
    An unhealthy stack does not fail the task, RV(verdict.ok) says so.
  - With O(services), sends a few short requests to model services, to many of them in parallel, and claims for each that completions succeed, whole and
    streamed; that every answer passed the endpoint picker; that the picker's counters increased by exactly the number of requests sent; that it knows all
    servers; that the planned plugins ran; and that the servers that answered are those it picked. Also claims what the scheduling policy promises, see
    O(services[].promises).
  - With O(plan), does the same for all its services, and checks the rest of the stack, see O(checks). Checks that cannot disturb each other run side by
    side. Requests through the gateway are sent while nothing else is sent to the servers.
  - Where this host has no route to the address of a gateway or Service, as outside of a cluster in containers (kind, minikube, k3d), a port of one of
    its pods is forwarded instead.
  - Prefixes are new in each run, so that no run depends on the caches of an earlier one. The number of requests and the time are bounded.
  - Other traffic at the same time breaks the exact counts, and can break V(sticky).
  - Fails for invalid options, and where the API server does not answer or does not accept the credentials.
options:
  plan:
    description: What is deployed, from P(llm_d.inference.plan#lookup).
    type: dict
  checks:
    description:
      - What of O(plan) to check. V(objects), that all are ready, which is waited for; V(routing), with requests through the gateway.
      - V(platform), the version of the cluster, its CRDs, the controller of the gateway, the permissions of this account, and the autoscalers.
      - V(warmup), that every server has the prompts of a warm-up in its cache; V(servers), that every server by itself is healthy, has the planned adapters
        and block size, and is scraped.
      - V(schedulers), that endpoint pickers run the planned configuration, as their logs say; V(security), the permissions of their accounts, and the
        privileges of all pods.
      - V(monitoring), that the Prometheus of the plan has data for all alerts and dashboards.
    type: list
    elements: str
    choices: [platform, objects, warmup, routing, schedulers, servers, monitoring, security]
    default: [platform, objects, warmup, routing, schedulers, servers, monitoring, security]
  services:
    description: Model services to send requests to, whoever has deployed them.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the service, the start of the claim ids.
        type: str
        required: true
      model:
        description: Name under which the model is served.
        type: str
        required: true
      aliases:
        description: Other names that have to be answered.
        type: list
        elements: str
        default: []
      url:
        description: Address to send requests to. The address of O(gateway) by default.
        type: str
      address:
        description: The Service to send requests to, where there is no gateway.
        type: dict
        suboptions:
          namespace:
            description: Its namespace.
            type: str
            required: true
          name:
            description: Its name.
            type: str
            required: true
          port:
            description: Its port.
            type: int
            required: true
      path:
        description: Prefix of the path, behind the address of O(gateway).
        type: str
      host_header:
        description: Host header of requests, where the gateway routes by host name.
        type: str
      headers:
        description: Other headers of requests, where the gateway routes by them.
        type: dict
        default: {}
      weights:
        description:
          - Names of services of O(services), with the weights by which they share the requests to this one that have O(services[].shared_headers) only.
          - 200 such requests are sent, and counted by the endpoint picker of each, which is claimed where nobody else sends requests at the same time.
        type: dict
        default: {}
      shared_headers:
        description: The headers of such requests, instead of O(services[].headers).
        type: dict
        default: {}
      api:
        description: Which completions to request.
        type: str
        choices: [completions, chat_completions]
        default: completions
      promises:
        description:
          - What the scheduling policy promises for a service with idle servers.
          - V(sticky), requests with one shared prefix go to one server, which serves it from its cache; V(spread), requests with different
            prefixes reach more than one server; V(roam), even requests with one prefix do.
          - V(follow), a prompt that was sent to a server directly is then routed to that server, by its KV events; V(split), new prompts are prefilled by
            prefill servers; V(avoid), new prompts avoid a server with waiting requests. For V(avoid) one server gets more requests directly
            than it processes concurrently, see O(services[].max_num_seqs).
        type: list
        elements: str
        choices: [sticky, spread, roam, follow, split, avoid]
        default: [sticky, spread]
      plugins:
        description: Plugins that run for every request, by extension point, C(Filter), C(Scorer) and C(Picker). Without it this is not claimed.
        type: dict
      sometimes:
        description: Plugins that run for some requests, in the form of O(services[].plugins).
        type: dict
      cold_tokens:
        description: Number of uncached tokens up to which a prompt is not split. V(split) is not claimed where it exceeds the prompts of this module.
        type: int
        default: 0
      max_num_seqs:
        description: Requests that one server processes concurrently. Without it, or above 16, V(avoid) is not claimed.
        type: int
      events_wait:
        description:
          - Seconds to wait for KV events, for V(follow). A server connects some time after it has started, and one that connects to the endpoint picker
            stays with the previous one until that has ended.
        type: float
        default: 15
      endpoints:
        description: Number of servers of all roles that the picker must know. Without it this is not claimed.
        type: int
      servers:
        description: The servers, reached through the API server for V(follow), V(split) and V(avoid).
        type: dict
        suboptions:
          namespace:
            description: Namespace of their pods.
            type: str
            required: true
          groups:
            description: Groups of equal servers, by C(role), C(decode) or C(prefill), with C(labels) and C(port).
            type: list
            elements: dict
            required: true
            suboptions:
              role:
                description: Their role.
                type: str
                required: true
              labels:
                description: Labels of their pods.
                type: dict
                required: true
              port:
                description: Port they listen on.
                type: str
                required: true
      replicas:
        description:
          - Number of servers. With one server there is no choice, so V(sticky) and V(spread) are not claimed.
          - Without it, the number that the picker knows.
        type: int
      metrics:
        description: The endpoint picker's metrics. Without them C(counted) is a failed claim.
        type: dict
        suboptions:
          namespace:
            description: Namespace of the picker's pods, which are reached through the API server.
            type: str
          labels:
            description: Labels of the picker's pods. All of them are read, and their counters are added up.
            type: dict
          port:
            description: Number or name of their metrics port.
            type: str
            default: '9090'
          url:
            description: Address of the picker's metrics port, instead of its pods.
            type: str
          path:
            description: Path of the metrics page.
            type: str
            default: /metrics
          names:
            description:
              - Names of the series in the picker's release, C(requests), C(scheduler_attempts) and optionally C(ready_endpoints), C(plugin_duration)
                and C(disagg_decisions).
            type: dict
            required: true
      api_key:
        description: API key of the servers. It is never shown.
        type: str
      api_key_secret:
        description: The Secret that holds the API key, which is read from it and is no argument of the task. Instead of O(services[].api_key).
        type: dict
        suboptions:
          namespace:
            description: Namespace of the Secret.
            type: str
            required: true
          name:
            description: Name of the Secret.
            type: str
            required: true
          key:
            description: Key of the Secret that holds the API key.
            type: str
            required: true
      validate_certs:
        description: Whether the gateway's certificate must be trusted.
        type: bool
        default: true
      ca_path:
        description: PEM file with the certificates of the authorities to trust.
        type: path
      client_cert:
        description: PEM file with the client certificate, and with its key unless O(services[].client_key) is set.
        type: path
      client_key:
        description: PEM file with the key of O(services[].client_cert), without a password.
        type: path
      use_proxy:
        description: Whether to use the proxies of the environment.
        type: bool
        default: true
  settle:
    description: Seconds to wait until the counters have increased.
    type: float
    default: 3
  sticky_requests:
    description: Number of requests with one shared prefix.
    type: int
    default: 6
  spread_requests:
    description: Maximum number of requests with different prefixes; no more are sent once they have reached two servers.
    type: int
    default: 24
  prefix_words:
    description:
      - Length of a prefix in words, which should fill several blocks of the prefix cache; one word is one token or slightly more.
      - Limited to a quarter of the maximum length of the model, where the server reports it.
    type: int
    default: 256
  wait:
    description:
      - Seconds to wait for an address of the gateway, and then for a service to answer. With O(plan) also for the logs of endpoint pickers, and until
        autoscalers work.
    type: float
    default: 60
  timeout:
    description: Seconds to wait until the objects of O(plan) are ready. If omitted, C(llm_d_wait_timeout).
    type: float
  patient:
    description:
      - Whether what is not there may still come, as after a change.
      - With V(false), only what is under way is waited for. What is absent, refused, in a crash loop or unschedulable fails within seconds, and so does a
        service whose objects are ready and that does not answer.
    type: bool
    default: true
  request_timeout:
    description: Seconds that one request may take. If omitted, 10, or 5 without O(patient).
    type: float
  unreached:
    description: Why an earlier call failed to reach the API server. Nothing is checked then, and RV(verdict) says so.
    type: str
  verdict:
    description: A verdict to which to add the claims about O(performance), instead of checking anything.
    type: dict
  performance:
    description: Results of M(llm_d.inference.vllm_perf), each with the C(item) that P(llm_d.inference.benchmark_runs#filter) made.
    type: list
    elements: dict
attributes:
  check_mode:
    description: Sends nothing and claims nothing.
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1, unless every address is given
extends_documentation_fragment:
  - llm_d.inference.gateway
  - llm_d.inference.progress
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
"""

EXAMPLES = r"""
- name: Validate the routing of two services behind one gateway
  llm_d.inference.stack_validation:
    kubeconfig: /var/lib/llm-d-local/admin.kubeconfig
    gateway:
      namespace: llm-d
      name: llm-d-gateway
    services:
      - name: llama-8b
        model: meta-llama/Llama-3.1-8B-Instruct
        host_header: llama.example.com
        replicas: 2
        metrics:
          namespace: llm-d
          labels: {app.kubernetes.io/instance: llama-8b-epp}
          names: &names
            requests: inference_objective_request_total
            scheduler_attempts: inference_extension_scheduler_attempts_total
      - name: qwen
        model: Qwen/Qwen3-0.6B
        host_header: qwen.example.com
        promises: [spread]
        replicas: 1
        metrics:
          namespace: llm-d
          labels: {app.kubernetes.io/instance: qwen-epp}
          names: *names
  register: validated

- name: Show the claims
  ansible.builtin.debug:
    msg: "{{ validated.verdict | llm_d.inference.verdict_table }}"

- name: Fail when a claim does not hold
  ansible.builtin.assert:
    that: validated.verdict.ok

- name: Validate everything that the llm_d_* variables of the host describe
  llm_d.inference.stack_validation:
    plan: "{{ lookup('llm_d.inference.plan') }}"
    patient: false
"""

RETURN = r"""
verdict:
  description: The verdict. Some fields are there with O(plan) only.
  returned: success, when not in check mode
  type: dict
  sample:
    ok: false
    time: "2026-11-21T08:00:00Z"
    instance: llm-d
    namespace: llm-d
    cluster: https://10.215.0.1:6443
    release: scheduler-0.7
    endpoint: http://10.96.0.20
    endpoints: [{name: llama-8b, url: "http://10.96.0.20", model: meta-llama/Llama-3.1-8B-Instruct, host_header: null, headers: {}, through: null}]
    claims:
      - id: llama-8b/counted
        group: scheduler
        ok: false
        evidence: "14 requests sent, the endpoint picker's counters moved: requests by 17, scheduler_attempts by 17"
        remedy: check whether other clients sent requests at the same time, and validate without them
        seconds: 0.05
    not_checked: [{id: qwen/sticky, why: there is one replica}]
    versions: {collection: 0.1.0, release: scheduler-0.7, kubernetes: v1.34.4}
  contains:
    ok:
      description: Whether all claims hold, and there is one.
      type: bool
    time:
      description: When the validation started, UTC.
      type: str
    endpoint:
      description: Address of the first of C(endpoints).
      type: str
    endpoints:
      description:
        - Where the services answer, with what a request needs. C(through) is the Service whose port was forwarded, since this host has no route to the
          address, else null.
      type: list
      elements: dict
    claims:
      description:
        - The claims, C(id), C(group), whether it holds (C(ok)), what was observed (C(evidence)), what to do where it does not hold (C(remedy)), and the
          C(seconds) that it took. C(docs/claims.md) has all of them.
      type: list
      elements: dict
    not_checked:
      description: What was not checked (C(id)), and C(why).
      type: list
      elements: dict
    versions:
      description: Versions of the collection and of Kubernetes, and the planned versions and images.
      type: dict
reached:
  description: V(false) where the API server did not answer, or did not accept the credentials. V(true) where it refused one request only.
  returned: failure to check O(plan)
  type: bool
  sample: false
schedulers:
  description: The evidence for the endpoint picker of each service, C(by) its V(log), or by its V(readiness) where the log is no longer available.
  returned: when V(schedulers) of O(checks) were checked, and all of them run their configuration
  type: list
  elements: dict
  sample:
    - name: sim-epp
      pods: [{pod: sim-epp-5d9c7, by: log, line: '{"msg":"loaded configuration from file/text successfully"}'}]
"""

import datetime
import functools
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.http import headers, tls
from ..module_utils.http.transport import UrlTransport
from ..module_utils.inference import api_keys, report
from ..module_utils.inference.endpoints import GATEWAY
from ..module_utils.k8s import client
from ..module_utils.k8s.access import reach
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.validation import claims, targets, verdict
from ..module_utils.validation.probe_traffic import ProbeLimits
from ..module_utils.validation.routing_proof import Proof, needs_cluster
from ..module_utils.validation.stack import Checks, Waits

METRICS = {
    "namespace": {"type": "str"},
    "labels": {"type": "dict"},
    "port": {"type": "str", "default": "9090"},
    "url": {"type": "str"},
    "path": {"type": "str", "default": "/metrics"},
    "names": {"type": "dict", "required": True},
}
SERVERS = {
    "namespace": {"type": "str", "required": True},
    "groups": {
        "type": "list",
        "elements": "dict",
        "required": True,
        "options": {"role": {"type": "str", "required": True}, "labels": {"type": "dict", "required": True}, "port": {"type": "str", "required": True}},
    },
}
SERVICE = {
    "name": {"type": "str", "required": True},
    "model": {"type": "str", "required": True},
    "aliases": {"type": "list", "elements": "str", "default": []},
    "url": {"type": "str"},
    "path": {"type": "str"},
    "address": {
        "type": "dict",
        "options": {"namespace": {"type": "str", "required": True}, "name": {"type": "str", "required": True}, "port": {"type": "int", "required": True}},
    },
    "host_header": {"type": "str"},
    "headers": {"type": "dict", "default": {}},
    "weights": {"type": "dict", "default": {}},
    "shared_headers": {"type": "dict", "default": {}},
    "api": {"type": "str", "choices": ["completions", "chat_completions"], "default": "completions"},
    "promises": {"type": "list", "elements": "str", "choices": ["sticky", "spread", "roam", "follow", "split", "avoid"], "default": ["sticky", "spread"]},
    "plugins": {"type": "dict"},
    "sometimes": {"type": "dict"},
    "cold_tokens": {"type": "int", "default": 0, "no_log": False},
    "max_num_seqs": {"type": "int"},
    "events_wait": {"type": "float", "default": claims.EVENTS_WAIT},
    "endpoints": {"type": "int"},
    "servers": {"type": "dict", "options": SERVERS},
    "replicas": {"type": "int"},
    "metrics": {
        "type": "dict",
        "options": METRICS,
        "mutually_exclusive": [("labels", "url")],
        "required_one_of": [("labels", "url")],
        "required_together": [("namespace", "labels")],
    },
    "api_key": {"type": "str", "no_log": True},
    "api_key_secret": api_keys.SECRET,
    **tls.SPEC,
    "use_proxy": {"type": "bool", "default": True},
}
WHAT = ("plan", "services", "verdict")
SPEC = {
    "plan": {"type": "dict"},
    "checks": {"type": "list", "elements": "str", "choices": list(verdict.CHECKS), "default": list(verdict.CHECKS)},
    "gateway": GATEWAY,
    "services": {"type": "list", "elements": "dict", "options": SERVICE, "required_by": tls.REQUIRED_BY},
    "wait": {"type": "float", "default": 60},
    "timeout": {"type": "float"},
    "patient": {"type": "bool", "default": True},
    "request_timeout": {"type": "float"},
    "settle": {"type": "float", "default": 3},
    "sticky_requests": {"type": "int", "default": 6},
    "spread_requests": {"type": "int", "default": 24},
    "prefix_words": {"type": "int", "default": 256},
    "unreached": {"type": "str"},
    "verdict": {"type": "dict"},
    "performance": {"type": "list", "elements": "dict"},
    "progress_path": {"type": "path"},
}


def problems(params: dict[str, t.Any], plan: dict[str, t.Any] | None) -> list[str]:
    """The errors in the options."""
    found = [] if plan is None else list(filter(None, [targets.plan_error(plan)]))
    positive = {name: params[name] for name in ("request_timeout", "prefix_words") if params[name] is not None}
    found += [f"{name}: {value} must be more than 0" for name, value in positive.items() if value <= 0]
    found += [f"{name}: {params[name]} must be 2 or more" for name in ("sticky_requests", "spread_requests") if params[name] < 2]
    for index, service in enumerate(params["services"] or []):
        metrics = service["metrics"] or {}
        for path, url in ((f"services[{index}].url", service["url"] or "https://default"), (f"services[{index}].metrics.url", metrics.get("url"))):
            try:
                _unused = url and UrlTransport(url, **tls.chosen(service))
            except ValueError as error:
                found.append(f"{path}: {error}")
        wrong = headers.problems(service["headers"] or {}, service["host_header"], service["api_key"])
        found += [f"services[{index}].{each}" for each in wrong]
        if not service["url"] and not service["address"] and not params["gateway"]:
            found.append(f"services[{index}]: give a url, the Service in front of it, or the gateway whose address to use")
    return found


def waits_of(params: dict[str, t.Any], timeout: float = 0.0) -> Waits:
    """How long to wait. `timeout`: seconds for objects, where the options do not say it."""
    return Waits(params["wait"], timeout if params["timeout"] is None else params["timeout"], params["patient"], params["request_timeout"])


def limits(params: dict[str, t.Any], waits: Waits) -> ProbeLimits:
    """The bounds that the options set."""
    return ProbeLimits(
        sticky=params["sticky_requests"],
        spread_min=min(4, params["spread_requests"]),
        spread_max=params["spread_requests"],
        prefix_words=params["prefix_words"],
        settle=params["settle"],
        request_timeout=waits.request,
        wait=waits.answer({}),
    )


def of_plan(module: AnsibleModule, plan: dict[str, t.Any], now: str) -> dict[str, t.Any]:
    """The returned values for a plan. Fails where the API server does not answer."""
    params = module.params
    made = functools.partial(verdict.assemble, plan, collection=plan.get("collection", "unknown"), checks=params["checks"])
    if params["unreached"]:
        return {"verdict": made(results={"access": {"failed": True, "msg": params["unreached"]}, "time": now})}
    try:
        cluster = client.connect(module)
        reach(cluster)
    except ClusterError as error:
        module.fail_json(msg=str(error), reached=getattr(error, "status", 401) != 401)
    services = [{**report.defaults(SERVICE), **each, "metrics": {**report.defaults(METRICS), **each["metrics"]}} for each in targets.routed(plan)]
    waits = waits_of(params, plan["wait_timeout"])
    found = Checks(cluster, plan, services, waits, limits(params, waits), params["progress_path"] or "", params["checks"]).run()
    schedulers = found.get("schedulers", {}).get("schedulers")
    return {
        "verdict": made(results={**found, "access": {"server": cluster.server}, "time": now}),
        **({} if schedulers is None else {"schedulers": schedulers}),
    }


def of_services(module: AnsibleModule, now: str) -> dict[str, t.Any]:
    """The returned values for services that somebody has deployed."""
    try:
        connection = client.connect(module) if needs_cluster(module.params) else None
        found = Proof(module.params, connection, limits(module.params, waits_of(module.params))).run()
    except (ValueError, ClusterError) as error:  # without the API key of a service, all its answers would be refusals
        module.fail_json(msg=str(error))
    return {"verdict": verdict.verdict(found["claims"], found["not_checked"], found["endpoints"], {"kubernetes": found["kubernetes"]}, now)}


def main() -> None:
    """Entry point."""
    module = AnsibleModule(
        {**client.auth_spec(), **SPEC},
        supports_check_mode=True,
        mutually_exclusive=[WHAT],
        required_one_of=[WHAT],
        required_together=[("verdict", "performance")],
    )
    params = module.params
    # With -vvv Ansible shows the options, and in these are prompts, keys and headers.
    plan, before, load = (params.pop(name) for name in ("plan", "verdict", "performance"))
    if found := problems(params, plan):
        module.fail_json(msg="; ".join(found))
    if module.check_mode:
        module.exit_json(changed=False, msg="check mode: nothing was sent, nothing is validated")
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if plan is not None:
        module.exit_json(changed=False, **of_plan(module, plan, now))
    made = {"verdict": verdict.with_performance(before, load)} if before is not None else of_services(module, now)
    module.exit_json(changed=False, **made)


if __name__ == "__main__":
    main()
