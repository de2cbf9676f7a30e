# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: routing_proof
short_description: Validate with traffic how requests are scheduled
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Sends a few short requests through a gateway, to many model services in parallel, and judges the answers.
  - Claims for each service that completions succeed, whole and streamed; that every answer passed the endpoint picker; that
    the picker's counters increased by exactly the number of requests sent; that it knows all servers; that the planned plugins ran; and that the
    servers that answered are those it picked.
  - Also claims what the scheduling policy promises, see O(services[].promises).
  - Where this host has no route to the address of a gateway or Service, as outside of a cluster in containers (kind, minikube, k3d), a port of one of
    its pods is forwarded instead.
  - Prefixes are new in each run, so that no run depends on the caches of an earlier one. The number of requests and the time are bounded.
  - Other traffic at the same time breaks the exact counts, and can break V(sticky).
options:
  services:
    description: The model services to validate.
    type: list
    elements: dict
    required: true
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
  wait:
    description: Seconds to wait for an address of the gateway, and then for a service to answer.
    type: float
    default: 60
  settle:
    description: Seconds to wait until the counters have increased.
    type: float
    default: 3
  request_timeout:
    description: Seconds that one request may take.
    type: float
    default: 10
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
attributes:
  check_mode:
    description: Sends nothing and claims nothing.
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1, unless every address is given
extends_documentation_fragment:
  - llm_d.inference.gateway
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - kubernetes.core.k8s_auth_options
"""

EXAMPLES = r"""
- name: Validate the routing of two services behind one gateway
  llm_d.inference.routing_proof:
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
"""

RETURN = r"""
ok:
  description: Whether all claims hold.
  returned: always, except in check mode
  type: bool
  sample: true
claims:
  description: The claims.
  returned: always
  type: list
  elements: dict
  sample:
    - id: llama-8b/counted
      ok: false
      evidence: "14 requests sent, the endpoint picker's counters moved: requests by 17, scheduler_attempts by 17"
      remedy: check whether other clients sent requests at the same time, and validate without them
      seconds: 0.05
  contains:
    id:
      description:
        - Service and claim, one of C(serving), C(scheduled), C(counted), C(endpoints), C(plugins), C(obeyed), C(sticky), C(cached), C(roam), C(spread),
          C(follow), C(split), C(avoid), C(weights); or C(gateway/programmed).
      type: str
    ok:
      description: Whether it holds.
      type: bool
    evidence:
      description: What was observed.
      type: str
    remedy:
      description: What to do where it does not hold, else empty.
      type: str
    seconds:
      description: Time it took.
      type: float
not_checked:
  description: What was not checked, and why.
  returned: always
  type: list
  elements: dict
  sample: [{id: qwen/sticky, why: there is one replica}]
  contains:
    id:
      description: As in RV(claims).
      type: str
    why:
      description: The reason.
      type: str
endpoints:
  description: Where the services answer.
  returned: always, except in check mode
  type: list
  elements: dict
  sample: [{name: llama-8b, url: "http://10.96.0.20", model: meta-llama/Llama-3.1-8B-Instruct, host_header: null, headers: {}, through: null}]
  contains:
    name:
      description: Name of the service.
      type: str
    url:
      description: Address of requests, without C(/v1).
      type: str
    model:
      description: Name of the model.
      type: str
    host_header:
      description: Host header of requests.
      type: str
    headers:
      description: Other headers by which the gateway routes.
      type: dict
    through:
      description: The Service whose port was forwarded, since this host has no route to the address; else null.
      type: str
observations:
  description: The observations of each service, from which the claims are made.
  returned: always, except in check mode
  type: list
  elements: dict
  sample:
    - name: llama-8b
      sent: 10
      scheduled: 10
      sticky: {sent: 6, source: x-inference-pod, servers: {llama-8b-decode-7d4b9c-x2x9p: 6}}
      counters: {sent: 10, moved: {requests: 10, scheduler_attempts: 10}}
kubernetes:
  description: Version of the API server, null when it was not read.
  returned: always, except in check mode
  type: str
  sample: v1.34.4
time:
  description: When the validation started, UTC.
  returned: always, except in check mode
  type: str
  sample: "2026-11-21T08:00:00Z"
seconds:
  description: How long it took.
  returned: always, except in check mode
  type: float
  sample: 2.1
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.http import headers, tls
from ..module_utils.http.transport import UrlTransport
from ..module_utils.inference import api_keys
from ..module_utils.inference.endpoints import GATEWAY
from ..module_utils.k8s import client
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.validation import claims
from ..module_utils.validation.probe_traffic import ProbeLimits
from ..module_utils.validation.routing_proof import Proof, needs_cluster

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
SPEC = {
    "gateway": GATEWAY,
    "services": {"type": "list", "elements": "dict", "required": True, "options": SERVICE, "required_by": tls.REQUIRED_BY},
    "wait": {"type": "float", "default": 60},
    "settle": {"type": "float", "default": 3},
    "request_timeout": {"type": "float", "default": 10},
    "sticky_requests": {"type": "int", "default": 6},
    "spread_requests": {"type": "int", "default": 24},
    "prefix_words": {"type": "int", "default": 256},
}


def problems(params: dict) -> list[str]:
    """The errors in the options."""
    found = [f"{name}: {params[name]} must be more than 0" for name in ("request_timeout", "prefix_words") if params[name] <= 0]
    found += [f"{name}: {params[name]} must be 2 or more" for name in ("sticky_requests", "spread_requests") if params[name] < 2]
    for index, service in enumerate(params["services"]):
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


def limits(params: dict) -> ProbeLimits:
    """The bounds that the options set."""
    return ProbeLimits(
        sticky=params["sticky_requests"],
        spread_min=min(4, params["spread_requests"]),
        spread_max=params["spread_requests"],
        prefix_words=params["prefix_words"],
        settle=params["settle"],
        request_timeout=params["request_timeout"],
        wait=params["wait"],
    )


def main() -> None:
    """Entry point."""
    module = AnsibleModule({**client.auth_spec(), **SPEC}, supports_check_mode=True)
    if found := problems(module.params):
        module.fail_json(msg="; ".join(found))
    if module.check_mode:
        skipped = [{"id": service["name"], "why": "check mode"} for service in module.params["services"]]
        module.exit_json(changed=False, claims=[], not_checked=skipped, msg="check mode: nothing was sent, nothing is validated")
    connection = None
    if needs_cluster(module.params):
        try:
            connection = client.connect(module)
        except Exception as error:  # pylint: disable=broad-except  # k8s.client words every error for people
            module.fail_json(msg=str(error))
    try:
        proof = Proof(module.params, connection, limits(module.params)).run()
    except (ValueError, ClusterError) as error:  # without the API key of a service, all its answers would be refusals
        module.fail_json(msg=str(error))
    if proof["ok"]:
        module.exit_json(changed=False, **proof)
    module.fail_json(msg="\n".join(claims.failures(proof["claims"])) or "nothing was validated: there is no service", **proof)


if __name__ == "__main__":
    main()
