# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_run
short_description: Send one workload at one or several rates, and measure
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Sends streamed completions to a model server or through a gateway, open loop, so that each request leaves at its time, whatever the others do.
  - The workload is groups of prompts that share a long prefix, as chats under one system prompt do. Equal seeds give equal requests at equal times.
  - Every failed request is counted, and so is an error inside a stream that began with status 200, an empty answer, and one shorter than asked.
  - Latencies are given both from the actual send and from the planned one. A stage in which the client itself was late is C(valid=false), which is not slow.
  - Bounded by O(stages) and O(request_timeout); at most 100,000 requests.
options:
  url:
    description: Address of a server or gateway. Instead of it, O(gateway) or O(address).
    type: str
  address:
    description: The Service to ask at, where there is no gateway.
    type: dict
    suboptions:
      namespace:
        description: Namespace of the Service.
        type: str
        required: true
      name:
        description: Name of the Service.
        type: str
        required: true
      port:
        description: Port of the Service.
        type: int
        required: true
  host_header:
    description: Host name to ask for, where the gateway routes by host name.
    type: str
  model:
    description: Name under which the model is served.
    type: str
    required: true
  server_api_key:
    description: Key that the server asks for. It is never shown.
    type: str
  server_validate_certs:
    description: Whether the certificate must be trusted.
    type: bool
    default: true
  server_ca_path:
    description: PEM file with the certificates of the authorities to trust.
    type: path
  workload:
    description: What is sent. Lengths of prompts are in common English words, which are a token each or a little more.
    type: dict
    default: {}
    suboptions:
      groups:
        description: Number of shared prefixes.
        type: int
        default: 24
      prompts_per_group:
        description: Number of different questions behind each prefix.
        type: int
        default: 5
      system_prompt_len:
        description: Words of a shared prefix.
        type: int
        default: 1500
      question_len:
        description: Words of a question.
        type: int
        default: 40
      output_len:
        description: Tokens of each answer.
        type: int
        default: 16
      seed:
        description: Another seed gives other words, another order and other times.
        type: int
        default: 42
      nonce:
        description:
          - Words that stand before every prompt, so that no cache knows the prefixes.
          - Left out, it is new in each run. Equal ones meet what earlier runs left in the caches.
        type: str
  stages:
    description: Rates, one after the other. The order of prompts goes on from stage to stage.
    type: list
    elements: dict
    required: true
    suboptions:
      rate:
        description: Mean number of requests per second.
        type: float
        required: true
      seconds:
        description: How long to send at this rate, on average. Instead of it, O(stages[].requests).
        type: float
      requests:
        description: Number of requests.
        type: int
  warmup:
    description: A stage before the others that is sent and not measured, so that caches are as full as they stay.
    type: dict
    suboptions:
      rate:
        description: Mean number of requests per second.
        type: float
        required: true
      seconds:
        description: How long to send at this rate, on average. Instead of it, O(warmup.requests).
        type: float
      requests:
        description: Number of requests.
        type: int
  request_timeout:
    description: Seconds that one request may take.
    type: float
    default: 60
  in_flight:
    description: Requests that may be in flight at once. One more is not sent, and counts as failed.
    type: int
    default: 1000
  max_lag:
    description: Seconds by which 99 % of the requests may be sent late before a stage is called invalid.
    type: float
    default: 0.1
attributes:
  check_mode:
    description: Sends nothing and measures nothing.
notes:
  - Proxies of the environment are not honoured, since they would be measured too.
requirements:
  - kubernetes >= 24.2.0, for O(gateway) and O(address)
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - llm_d.inference.load
  - kubernetes.core.k8s_auth_options
"""

EXAMPLES = r"""
- name: Measure a gateway at three rates
  llm_d.inference.workload_run:
    url: http://10.96.0.20
    model: meta-llama/Llama-3.1-8B-Instruct
    workload:
      groups: 24
      system_prompt_len: 1500
    warmup:
      rate: 8
      requests: 120
    stages:
      - {rate: 2, seconds: 20}
      - {rate: 8, seconds: 30}
  register: measured

- name: Show how soon 90 % of the first tokens came
  ansible.builtin.debug:
    msg: "{{ measured.stages | map(attribute='ttft_from_schedule_ms.p90') }}"
"""

RETURN = r"""
url:
  description: Where the requests were sent.
  returned: always, except in check mode
  type: str
  sample: http://10.96.0.20
workload:
  description: What was sent, with the nonce of this run.
  returned: always, except in check mode
  type: dict
  sample: {groups: 24, prompts_per_group: 5, system_prompt_len: 1500, question_len: 40, output_len: 16, seed: 42, nonce: 4fd1a0c2}
stages:
  description: One element for each of O(stages). Statistics are those of the requests that succeeded; failed ones are counted beside them.
  returned: always, except in check mode
  type: list
  elements: dict
  sample:
    - rate: 8.0
      requests: 240
      ok: 240
      failed: 0
      ttft_ms: {n: 240, mean: 29.9, min: 12.1, p50: 27.0, p90: 50.8, p95: 57.2, p99: 60.1, max: 61.4}
      hit_ratio: 0.9716
      servers: {sim-decode-6d9c-2xkqp: 63, sim-decode-6d9c-8zq7l: 60, sim-decode-6d9c-fwn5r: 59, sim-decode-6d9c-xh4vt: 58}
      valid: true
  contains:
    rate:
      description: Wanted mean of requests per second.
      type: float
    requests:
      description: Planned requests.
      type: int
    ok:
      description: Successful requests.
      type: int
    failed:
      description: All others.
      type: int
    errors:
      description: Failures by kind, such as C(http_503), C(timeout), C(error_in_stream), C(truncated), C(empty), C(short), C(in_flight).
      type: dict
    error_example:
      description: The first failure in words.
      type: str
    seconds:
      description: From the start of the stage to the end of its last request.
      type: float
    sent_per_s:
      description: Requests per second as they were sent.
      type: float
    requests_per_s:
      description: Successful requests per second.
      type: float
    output_tokens_per_s:
      description: Output tokens of successful requests per second.
      type: float
    prompt_tokens_per_s:
      description: Prompt tokens of successful requests per second.
      type: float
    ttft_ms:
      description: Time to first token from the actual send.
      type: dict
    ttft_from_schedule_ms:
      description: Time to first token from the planned send.
      type: dict
    e2e_ms:
      description: Time to last token from the actual send.
      type: dict
    e2e_from_schedule_ms:
      description: Time to last token from the planned send.
      type: dict
    tpot_ms:
      description: Time per output token after the first, per request.
      type: dict
    itl_ms:
      description: Time between chunks of the stream, over all requests.
      type: dict
    ntpot_ms:
      description: End-to-end time per output token.
      type: dict
    send_lag_ms:
      description: How late the client sent.
      type: dict
    ttft_cdf:
      description: The distribution of RV(stages[].ttft_from_schedule_ms), as pairs of milliseconds and share of requests.
      type: list
      elements: list
    client_cpu:
      description: Processor cores that the client took on average.
      type: float
    valid:
      description: Whether the client kept to its times.
      type: bool
    why_invalid:
      description: Why not.
      type: str
    prompt_tokens:
      description: Prompt tokens, as the servers counted them.
      type: int
    cached_tokens:
      description: Those of them that were in the server's prefix cache, where it says so.
      type: int
    hit_ratio:
      description: Cached tokens of prompt tokens.
      type: float
    servers:
      description: Requests per server, where the answers name it in the header C(x-inference-pod).
      type: dict
    largest_share:
      description: The share of the busiest server.
      type: float
total:
  description: All stages together, C(requests), C(ok), C(failed), C(hit_ratio), C(servers) and C(valid).
  returned: always, except in check mode
  type: dict
  sample: {requests: 600, ok: 600, failed: 0, hit_ratio: 0.97, servers: {sim-decode-6d9c-2xkqp: 600}, valid: true}
"""

import dataclasses
import secrets
import ssl
import typing as t

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import make_context

from ..module_utils.benchmark import stats
from ..module_utils.http.urls import base_url
from ..module_utils.inference.endpoints import wait_for_gateway, wait_for_service
from ..module_utils.k8s import client
from ..module_utils.loadgen import client as load
from ..module_utils.loadgen import dispatcher, shared_prefix

STAGE = {"rate": {"type": "float", "required": True}, "seconds": {"type": "float"}, "requests": {"type": "int"}}
SPEC = {
    "url": {"type": "str"},
    "gateway": {
        "type": "dict",
        "options": {"namespace": {"type": "str", "required": True}, "name": {"type": "str", "required": True}, "listener": {"type": "str"}},
    },
    "address": {
        "type": "dict",
        "options": {"namespace": {"type": "str", "required": True}, "name": {"type": "str", "required": True}, "port": {"type": "int", "required": True}},
    },
    "path": {"type": "str", "default": ""},
    "host_header": {"type": "str"},
    "model": {"type": "str", "required": True},
    "api": {"type": "str", "choices": ["completions", "chat_completions"], "default": "completions"},
    "server_api_key": {"type": "str", "no_log": True},
    "server_validate_certs": {"type": "bool", "default": True},
    "server_ca_path": {"type": "path"},
    "workload": {
        "type": "dict",
        "default": {},
        "options": {
            "groups": {"type": "int", "default": 24},
            "prompts_per_group": {"type": "int", "default": 5},
            "system_prompt_len": {"type": "int", "default": 1500},
            "question_len": {"type": "int", "default": 40},
            "output_len": {"type": "int", "default": 16},
            "seed": {"type": "int", "default": 42},
            "nonce": {"type": "str"},
        },
    },
    "stages": {"type": "list", "elements": "dict", "required": True, "options": STAGE},
    "warmup": {"type": "dict", "options": STAGE},
    "arrivals": {"type": "str", "choices": ["poisson", "constant"], "default": "poisson"},
    "request_timeout": {"type": "float", "default": 60},
    "in_flight": {"type": "int", "default": 1000},
    "max_lag": {"type": "float", "default": 0.1},
    "wait": {"type": "float", "default": 30},
    "progress_path": {"type": "path"},
}


def problems(params: dict[str, t.Any]) -> list[str]:
    """What is wrong with the options, all at once."""
    found = [f"{name}: {params[name]} must be more than 0" for name in ("request_timeout", "in_flight", "max_lag") if params[name] <= 0]
    found += [f"workload.{name}: {value} must be 1 or more" for name, value in params["workload"].items() if name not in ("seed", "nonce") and value < 1]
    try:
        shared_prefix.stages(params["stages"], params["warmup"])
    except ValueError as error:
        found.append(str(error))
    try:
        tls(params)
        _unused = params["url"] and base_url(params["url"])
    except ValueError as error:
        found.append(f"{'url: ' if params['url'] else ''}{error}")
    return found


def tls(params: dict[str, t.Any]) -> ssl.SSLContext | None:
    """The TLS settings; None where they are the usual ones. Raises ValueError."""
    if params["server_validate_certs"] and not params["server_ca_path"]:
        return None
    try:
        return make_context(cafile=params["server_ca_path"], validate_certs=params["server_validate_certs"])
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"server_ca_path {params['server_ca_path']}: {error.strerror or error}; give a readable PEM file with certificates") from error


def address(module: AnsibleModule) -> str:
    """Where to send: as given, else the address of the Gateway or the Service."""
    url, gateway, service, wait = (module.params[name] for name in ("url", "gateway", "address", "wait"))
    if url:
        return base_url(url + module.params["path"])
    try:
        if service:
            what, why = f"Service {service['namespace']}/{service['name']}", "it is not there, or waits for a load balancer"
            url = wait_for_service(client.connect(module), service, wait)
        else:
            found = wait_for_gateway(client.connect(module), gateway, wait)
            what, why, url = f"Gateway {found['name']}", found["message"], found["url"]
    except Exception as error:  # pylint: disable=broad-except  # cluster.py words every trouble for people
        module.fail_json(msg=str(error))
    if not url:
        module.fail_json(msg=f"{what} has no address to send to: {why}; bring it up first (playbooks/site.yml)")
    return base_url(url + module.params["path"])


def measure(params: dict[str, t.Any], url: str) -> dict[str, t.Any]:
    """Send everything; return what was measured."""
    wanted = shared_prefix.Workload(**{**params["workload"], "nonce": params["workload"]["nonce"] or secrets.token_hex(4)})
    ladder = shared_prefix.stages(params["stages"], params["warmup"])
    plans, first = [], 0
    for stage in ladder:
        plans.append(shared_prefix.schedule(stage, first, wanted.seed, params["arrivals"]))
        first += stage.requests
    measured: list[dict[str, t.Any]] = []

    def after(index: int, run: dispatcher.Run) -> None:
        found = stats.stage_summary(run.records, ladder[index].rate, run.cpu_seconds, params["max_lag"])
        progress(params["progress_path"], ladder[index], found)
        if not ladder[index].warmup:
            measured.append(found)

    target = load.Target(url, params["model"], params["api"], params["host_header"], params["server_api_key"], tls(params))
    dispatcher.run(target, wanted, plans, load.Limits(params["request_timeout"], params["in_flight"]), after=after)
    return {"url": url, "workload": dataclasses.asdict(wanted), "stages": measured, "total": stats.together(measured)}


def progress(path: str | None, stage: shared_prefix.Stage, found: dict[str, t.Any]) -> None:
    """One line for people who wait."""
    if not path:
        return
    p90 = found["ttft_from_schedule_ms"]["p90"]
    said = f"{'warm-up: ' if stage.warmup else ''}{found['requests']} requests at {stage.rate:g}/s: {found['failed']} failed"
    with open(path, "a", encoding="utf-8") as file:
        file.write(said + ("" if p90 is None else f", 90 % of first tokens within {p90:.0f} ms") + "\n")


def main() -> None:
    """Entry point."""
    module = AnsibleModule(
        {**client.auth_spec(), **SPEC},
        supports_check_mode=True,
        mutually_exclusive=[("url", "gateway", "address")],
        required_one_of=[("url", "gateway", "address")],
    )
    if found := problems(module.params):
        module.fail_json(msg="; ".join(found))
    if module.check_mode:
        module.exit_json(changed=False, msg="check mode: nothing was sent, nothing was measured")
    result = measure(module.params, address(module))
    if result["total"]["ok"] == 0:
        example = next((stage["error_example"] for stage in result["stages"] if stage["error_example"]), "")
        module.fail_json(msg=f"none of {result['total']['requests']} requests to {result['url']} succeeded: {example}", **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
