# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of vllm_health and vllm_health_info."""

from __future__ import annotations


class ModuleDocFragment:
    """DOCUMENTATION: vllm_health. INFO: vllm_health_info, which also looks at several sets at once. Both want llm_d.inference.server as well."""

    DOCUMENTATION = r"""
requirements:
  - kubernetes >= 24.2.0, for all but O(url) and O(urls)
options:
  url:
    description:
      - Address of the server or of the gateway in front of it, without C(/v1).
      - Proxies of the environment are honoured.
    type: str
  urls:
    description: Addresses of several servers that ought to be alike. They are looked at all at once and compared.
    type: list
    elements: str
  service:
    description:
      - A Service in the cluster, reached through the API server's proxy, which picks any of its servers.
      - The proxy does not pass on O(api_key) or O(host_header); a server that asks for these needs O(through=port_forward) or O(url).
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
        description: What the server speaks.
        type: str
        choices: [http, https]
        default: http
  pod:
    description: One Pod, reached through the API server's proxy. What its status and log say of known trouble is among RV(findings).
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
        description: Number or name of the port. Left out, it is the first port that the Pod declares.
        type: str
      scheme: *scheme
  gateway:
    description:
      - A Gateway, whose Service is reached through the API server's proxy.
      - Of use where the gateway's address cannot be reached from here.
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
        description: Name of the listener. Left out, it is the first one.
        type: str
  replicas:
    description:
      - All servers behind a Service, or with certain labels, one by one and all at once, each reached through the API server's proxy.
      - They are compared with each other. Pods that are about to go are left out.
    type: dict
    suboptions: &replicas
      namespace:
        description: Namespace of the Pods.
        type: str
        required: true
      service:
        description: Name of the Service whose Pods these are.
        type: str
      label_selector:
        description: Labels of the Pods, such as V(llm-d.ai/model-service=llama-8b).
        type: str
      port:
        description: Number or name of the port. Left out, it is the Service's target port, or the first port that each Pod declares.
        type: str
      scheme: *scheme
      count:
        description: At least so many servers must be there.
        type: int
        default: 1
  through:
    description:
      - How O(service), O(pod), O(gateway) and O(replicas) are reached.
      - V(proxy) is the API server's HTTP proxy, which keeps O(api_key) and O(host_header) for itself and looks at no certificate.
      - V(port_forward) forwards a port of a Pod for each request, as C(kubectl port-forward) does, and closes it with the answer. O(api_key), O(host_header),
        O(ca_path), O(client_cert) and O(validate_certs) are then the server's own. Of O(service) and O(gateway), it is a Pod behind them that is asked.
        It needs the rights to C(get) and C(create) C(pods/portforward).
    type: str
    choices: [proxy, port_forward]
    default: proxy
  engine:
    description:
      - What answers. V(auto) finds out.
      - Of V(triton), both its OpenAI front end and its own pages are understood.
    type: str
    choices: [auto, vllm, simulator, sglang, tensorrt_llm, triton]
    default: auto
  model:
    description:
      - Name under which the model must be served.
      - Without it any model will do.
    type: str
  min_model_len:
    description: The model must take at least this many tokens, where the server says how many it takes.
    type: int
  level:
    description:
      - How far up the ladder to go.
      - V(metrics) needs the servers themselves, since a gateway does not pass on their metrics.
    type: str
    choices: [alive, ready, serving, metrics]
    default: serving
  apis:
    description: Which completions O(level=serving) asks for.
    type: list
    elements: str
    choices: [completions, chat_completions]
    default: [completions]
  signals:
    description:
      - Which of the numbers that the scheduler reads must be exported, for O(level=metrics). What others are missing is among the notes, but for V(lora).
      - V(lora) is what the LoRA affinity scorer reads. vLLM exports it only when it was started with C(--enable-lora), the simulator always, others never.
    type: list
    elements: str
    choices: &signals [waiting, running, kv_cache, block_size, blocks, lora]
    default: [waiting, running, kv_cache]
  metrics_port:
    description: Port of the metrics, where it is not the server's own. Triton's is 8002.
    type: int
  request_timeout:
    description: Seconds that one request may take, its retries included.
    type: float
    default: 10
  use_proxy:
    description: Whether the proxies of the environment are used for O(url) and O(urls).
    type: bool
    default: true
"""

    # with a type, since ansible-test wants to read whole texts where there is none
    INFO: str = (
        DOCUMENTATION
        + r"""
  groups:
    description:
      - Several sets of servers, each looked at and compared by itself, all at the same time. Instead of the other places.
      - All other options are the same for all of them.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the set in RV(groups).
        type: str
        required: true
      model:
        description: Name under which its servers must serve the model. Without it O(model).
        type: str
      signals:
        description: What its servers must export. Without it O(signals).
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
