# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_warmup
short_description: Put prompts into the prefix cache of every server
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Sends each prompt once to every server of some model services, past gateway and endpoint picker, and asks for one token of answer, so that the next
    request that begins with it finds its prefix in the KV cache, whichever server it reaches.
  - Judges by what the server says that it took from its cache (C(usage.prompt_tokens_details.cached_tokens)). A prompt of which all whole
    blocks before its last token were there was warm already. Any other has been warmed, which is a change.
  - A server that does not say so is V(unknown), and nothing has changed there as far as anybody can tell. vLLM says it with
    C(--enable-prompt-tokens-details); where it leaves the number out, the prompt is sent once more, since some of its releases do so for nought.
  - Servers are asked at the same time, sixteen at most, each for one prompt after the other. One that gives no answer at all is not asked for the rest.
  - A cache that stays cold does not fail the task, since the service works all the same. It is a warning, and RV(warm) is false.
  - A prompt is named by its place and its length, and is never shown.
options:
  services:
    description: The model services.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the service in RV(services).
        type: str
        required: true
      model:
        description: Name under which its servers serve the model.
        type: str
        required: true
      prompts:
        description: The prompts. Each has to be longer than O(services[].block_size) bytes, since no token is less than a byte.
        type: list
        elements: str
        default: []
      config_map:
        description: A ConfigMap, each of whose values is one more prompt, in the order of its keys.
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
      api:
        description:
          - By which requests the prompts are sent. It has to be that of later requests, since a chat template puts something before them.
          - V(chat_completions) sends a prompt as the system message of a chat, V(completions) as a prompt.
        type: str
        choices: [chat_completions, completions]
        default: chat_completions
      block_size:
        description: Tokens in one KV cache block of its servers.
        type: int
        default: 16
      urls:
        description: Addresses of its servers, each without C(/v1). Not of a gateway, which would pick one of them.
        type: list
        elements: str
      replicas:
        description: Its servers in the cluster, each set reached as O(through) says. Pods that are about to go are left out.
        type: list
        elements: dict
        suboptions:
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
          scheme:
            description: What the server speaks.
            type: str
            choices: [http, https]
            default: http
          count:
            description: At least so many servers must be there.
            type: int
            default: 1
  through:
    description:
      - How O(services[].replicas) are reached.
      - V(proxy) is the API server's HTTP proxy, which keeps O(api_key) and O(host_header) for itself and looks at no certificate.
      - V(port_forward) forwards a port of the Pod for each request. It needs the rights to C(get) and C(create) C(pods/portforward).
    type: str
    choices: [proxy, port_forward]
    default: proxy
  request_timeout:
    description: Seconds that one prompt may take at one server.
    type: float
    default: 60
  use_proxy:
    description: Whether the proxies of the environment are used for O(services[].urls).
    type: bool
    default: true
attributes:
  check_mode:
    description: Sends nothing, and says so. Only a request can tell whether a prompt is in a cache, and it would put it there.
  diff_mode:
    description: A KV cache has no text that could be compared.
    support: none
extends_documentation_fragment:
  - llm_d.inference.attributes
  - llm_d.inference.server
requirements:
  - kubernetes >= 24.2.0, for all but O(services[].urls)
seealso:
  - module: llm_d.inference.vllm_health
"""

EXAMPLES = r"""
- name: Warm up all servers of a model service
  llm_d.inference.vllm_warmup:
    services:
      - name: llama-8b
        model: meta-llama/Llama-3.1-8B-Instruct
        prompts:
          - "{{ lookup('ansible.builtin.file', 'prompts/support.txt') }}"
        replicas:
          - namespace: llm-d
            label_selector: llm-d.ai/model-service=llama-8b

- name: Warm up servers outside of a cluster, and fail where that did not work
  llm_d.inference.vllm_warmup:
    services:
      - name: qwen
        model: Qwen/Qwen3-0.6B
        api: completions
        prompts: ["{{ lookup('ansible.builtin.file', 'prompts/translate.txt') }}"]
        urls: [http://10.0.0.11:8000, http://10.0.0.12:8000]
  register: warmed
  failed_when: warmed is failed or not warmed.warm
"""

RETURN = r"""
warm:
  description: Whether every prompt lies in the cache of every server now. False as well where a server does not tell.
  returned: always, except in check mode
  type: bool
  sample: true
services:
  description: Each service by itself.
  returned: always, except in check mode
  type: list
  elements: dict
  sample:
    - name: llama-8b
      warm: true
      wrong: ""
      remedy: ""
      servers:
        - server: Pod llm-d/llama-8b-decode-5d6c7f-abcde
          prompts:
            - prompt: prompts[0] (1312 characters)
              state: warmed
              tokens: 296
              cached: 0
              evidence: "prompts[0] (1312 characters): 0 of 296 tokens were in the cache, where 288 could have been"
              remedy: ""
  contains:
    name:
      description: Name of the service.
      type: str
    warm:
      description: As RV(warm).
      type: bool
    wrong:
      description: What is wrong with the service as a whole, such as servers that are missing, else empty.
      type: str
    remedy:
      description: What to do about that.
      type: str
    servers:
      description: Each server by itself.
      type: list
      elements: dict
      contains:
        server:
          description: Address of the server, or the Pod.
          type: str
        prompts:
          description: Each prompt by itself.
          type: list
          elements: dict
          contains:
            prompt:
              description: Where the prompt stands, and how long it is.
              type: str
            state:
              description:
                - V(warm), it was in the cache; V(warmed), it was not, and is now; V(short), it does not fill a block, so that it cannot be kept;
                  V(unknown), the server does not say; V(failed), there was no good answer.
              type: str
            tokens:
              description: Its tokens, with those of the chat template. Null where the server does not say.
              type: int
            cached:
              description: How many of them the server took from its cache. Null where it does not say.
              type: int
            evidence:
              description: What was seen, where it was not warm.
              type: str
            remedy:
              description: What to do, where it cannot be warmed.
              type: str
seconds:
  description: How long it took.
  returned: always, except in check mode
  type: float
  sample: 0.8
"""

import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.http import tls
from ..module_utils.inference import report, warmup_states
from ..module_utils.inference.warmup import Warmup

SERVICE = {
    "name": {"type": "str", "required": True},
    "model": {"type": "str", "required": True},
    # not secret, but long, and the user's own
    "prompts": {"type": "list", "elements": "str", "default": [], "no_log": True},
    "config_map": {"type": "dict", "options": {"namespace": {"type": "str", "required": True}, "name": {"type": "str", "required": True}}},
    "api": {"type": "str", "choices": ["chat_completions", "completions"], "default": "chat_completions"},
    "block_size": {"type": "int", "default": 16},
    "urls": {"type": "list", "elements": "str"},
    "replicas": {**report.SPEC["replicas"], "type": "list", "elements": "dict"},
}
SPEC: dict[str, t.Any] = {
    "services": {
        "type": "list",
        "elements": "dict",
        "required": True,
        "options": SERVICE,
        "mutually_exclusive": [("urls", "replicas")],
        "required_one_of": [("urls", "replicas")],
    },
    **{name: report.SPEC[name] for name in ("through", "api_key", "host_header", "use_proxy", "kubeconfig", "context")},
    "request_timeout": {"type": "float", "default": 60},
    **tls.SPEC,
}


def mistakes(params: dict[str, t.Any]) -> str:
    """What is wrong with the options although each value alone is right; empty when nothing is."""
    if not params["request_timeout"] > 0:
        return f"request_timeout is {params['request_timeout']:g}: these are seconds and must be more than 0"
    for index, service in enumerate(params["services"]):
        place = f"services[{index}]"
        if service["block_size"] < 1:
            return f"{place}.block_size is {service['block_size']}: it must be 1 or more"
        if not (service["urls"] or service["replicas"]):
            return f"{place} names no server: write urls or replicas"
        if not (service["prompts"] or service["config_map"]):
            return f"{place} has no prompt: write prompts or config_map"
        for number, prompt in enumerate(service["prompts"]):
            if len(prompt.encode()) <= service["block_size"]:
                return f"{place}.prompts[{number}] is too short to fill a KV cache block of {service['block_size']} tokens: write a longer one"
    return ""


def main() -> None:
    """Entry point."""
    module = AnsibleModule(SPEC, supports_check_mode=True, required_by=tls.REQUIRED_BY)
    if wrong := mistakes(module.params):
        module.fail_json(msg=wrong)
    if module.check_mode:
        module.exit_json(changed=False, msg="check mode: no prompt was sent, so what is in the caches is not known")
    start = time.monotonic()
    try:
        found = Warmup(module.params).run()
    except ValueError as error:  # options that do not fit
        module.fail_json(msg=str(error))
    services = [{"name": entry["name"], "warm": warmup_states.is_warm(entry), **entry} for entry in found]
    for entry in services:
        for line in warmup_states.warnings(entry):
            module.warn(line)
    module.exit_json(
        changed=any(warmup_states.rows(entry, warmup_states.WARMED) for entry in services),
        warm=all(entry["warm"] for entry in services),
        services=services,
        seconds=round(time.monotonic() - start, 3),
    )


if __name__ == "__main__":
    main()
