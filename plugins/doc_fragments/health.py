# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of vllm_health and vllm_health_info."""

from __future__ import annotations


class ModuleDocFragment:
    """DOCUMENTATION: vllm_health. INFO: vllm_health_info, which also checks several sets of servers. Both also need llm_d.inference.server."""

    DOCUMENTATION = r"""
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1, for all but O(url) and O(urls)
options:
  url:
    description:
      - Address of the server or of the gateway in front of it, without C(/v1).
      - Proxies of the environment are used.
    type: str
  urls:
    description: Addresses of several servers that should be equal. They are checked in parallel and compared.
    type: list
    elements: str
  service:
    description:
      - A Service in the cluster, reached through the API server's proxy, which picks one of its servers.
      - The proxy does not pass on O(api_key) or O(host_header); a server that requires them needs O(through=port_forward) or O(url).
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
        description: Number or name of the Service's port.
        type: str
        required: true
      scheme: &scheme
        description: Protocol of the server.
        type: str
        choices: [http, https]
        default: http
  pod:
    description: One Pod, reached through the API server's proxy. Known failures in its status and log are among RV(findings).
    type: dict
    suboptions:
      namespace:
        description: Namespace of the Pod.
        type: str
        required: true
      name:
        description: Name of the Pod.
        type: str
        required: true
      port:
        description: Number or name of the port. Defaults to the first port that the Pod declares.
        type: str
      scheme: *scheme
  gateway:
    description:
      - A Gateway. Its Service is reached through the API server's proxy.
      - For gateways with an address that cannot be reached from here.
    type: dict
    suboptions:
      namespace:
        description: Namespace of the Gateway.
        type: str
        required: true
      name:
        description: Name of the Gateway.
        type: str
        required: true
      listener:
        description: Name of the listener. Defaults to the first one.
        type: str
  replicas:
    description:
      - All servers behind a Service, or with these labels, checked in parallel, each reached through the API server's proxy.
      - They are compared with each other. Pods that are being deleted are left out.
    type: dict
    suboptions: &replicas
      namespace:
        description: Namespace of the Pods.
        type: str
        required: true
      service:
        description: Name of the Service that selects the Pods.
        type: str
      label_selector:
        description: Labels of the Pods, such as V(llm-d.ai/model-service=llama-8b).
        type: str
      port:
        description: Number or name of the port. Defaults to the Service's target port, or the first port that each Pod declares.
        type: str
      scheme: *scheme
      count:
        description: Minimum number of servers.
        type: int
        default: 1
      api_key_secret:
        description:
          - The Secret with the API key that these servers want, which is read from it and is no argument of the task. It goes before O(api_key).
          - Its servers are reached by a forwarded port, whatever O(through) says.
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
  through:
    description:
      - How to reach O(service), O(pod), O(gateway) and O(replicas).
      - V(proxy) is the API server's HTTP proxy, which does not pass on O(api_key) and O(host_header) and verifies no certificate.
      - V(port_forward) forwards a port of a Pod for each request, as C(kubectl port-forward) does, and closes it after the answer. O(api_key),
        O(host_header), O(ca_path), O(client_cert) and O(validate_certs) then apply to the server. For O(service) and O(gateway), a Pod behind them is used.
        It requires permission to C(get) and C(create) C(pods/portforward).
    type: str
    choices: [proxy, port_forward]
    default: proxy
  engine:
    description:
      - The engine of the server. V(auto) detects it.
      - For V(triton), both its OpenAI front end and its own API are supported.
    type: str
    choices: [auto, vllm, simulator, sglang, trtllm, triton, tgi]
    default: auto
  model:
    description:
      - Name under which the model must be served.
      - Without it any model is accepted.
    type: str
  min_model_len:
    description: Minimum length in tokens that the model must support, where the server reports its length.
    type: int
  level:
    description:
      - The level that servers must reach. Each level includes those before it.
      - V(metrics) requires the servers themselves, since a gateway does not pass on their metrics.
    type: str
    choices: [alive, ready, serving, metrics]
    default: serving
  apis:
    description: Which completions O(level=serving) requests.
    type: list
    elements: str
    choices: [completions, chat_completions]
    default: [completions]
  signals:
    description:
      - Which signals for the scheduler must be exported, for O(level=metrics). Other missing signals, except V(lora), are among the notes.
      - The LoRA affinity scorer reads V(lora). vLLM exports it only with C(--enable-lora), the simulator always, other engines never.
    type: list
    elements: str
    choices: &signals [waiting, running, kv_cache, block_size, blocks, lora]
    default: [waiting, running, kv_cache]
  metrics_port:
    description: Port of the metrics, where it differs from the server's port. For Triton it is 8002.
    type: int
  request_timeout:
    description: Seconds that one request may take, including its retries.
    type: float
    default: 10
  use_proxy:
    description: Whether to use the proxies of the environment for O(url) and O(urls).
    type: bool
    default: true
"""

    # with a type, since ansible-test wants to read whole texts where there is none
    INFO: str = (
        DOCUMENTATION
        + r"""
  groups:
    description:
      - Several sets of servers, checked in parallel; servers are compared within a set.
      - Replaces O(url), O(urls), O(service), O(pod), O(gateway) and O(replicas).
      - All other options apply to every set.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the set in RV(groups).
        type: str
        required: true
      model:
        description: Name under which its servers must serve the model. Defaults to O(model).
        type: str
      signals:
        description: Signals that its servers must export. Defaults to O(signals).
        type: list
        elements: str
        choices: *signals
      replicas:
        description: Its servers.
        type: dict
        required: true
        suboptions: *replicas
"""
    )
