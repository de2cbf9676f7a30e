# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_warmup
short_description: Fill the prefix cache of every server with prompts
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Sends each prompt once to every server of model services, bypassing gateway and endpoint picker, and requests one output token. The next request
    that starts with the prompt finds its prefix in the KV cache, whichever server it reaches.
  - Judges by the cached tokens that a server reports (C(usage.prompt_tokens_details.cached_tokens)). A prompt was warm already if all whole
    blocks before its last token were cached. Any other has been warmed, which is a change.
  - A server that does not report cached tokens is V(unknown), which is not reported as a change. vLLM reports them with
    C(--enable-prompt-tokens-details); where the number is missing, the prompt is sent once more, since some releases omit a count of 0.
  - Up to sixteen servers are warmed in parallel, each with one prompt after the other. A server that does not answer gets no further prompts.
  - A cold cache does not fail the task, since the service works without it. It is a warning, and RV(warm) is false.
  - A prompt is named by its position and its length, and is never shown.
attributes:
  check_mode:
    description: Sends nothing. Only a request shows whether a prompt is cached, and it would cache it.
  diff_mode:
    description: A KV cache has no text to compare.
    support: none
extends_documentation_fragment:
  - llm_d.inference.attributes
  - llm_d.inference.options.vllm_warmup
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1, for all but O(services[].urls)
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

- name: Warm up servers outside a cluster
  llm_d.inference.vllm_warmup:
    services:
      - name: qwen
        model: Qwen/Qwen3-0.6B
        api: completions
        prompts: ["{{ lookup('ansible.builtin.file', 'prompts/translate.txt') }}"]
        urls: [http://10.0.0.11:8000, http://10.0.0.12:8000]
  register: warmed

- name: Fail where that did not work
  ansible.builtin.assert:
    that: warmed.warm
    fail_msg: "{{ warmed.services | rejectattr('warm') | map(attribute='problem') | join('; ') }}"
"""

RETURN = r"""
warm:
  description: Whether every server has every prompt in its cache. Also false where a server does not report it.
  returned: always, except in check mode
  type: bool
  sample: true
services:
  description: The result for each service.
  returned: always, except in check mode
  type: list
  elements: dict
  sample:
    - name: llama-8b
      warm: true
      problem: ""
      remedy: ""
      servers:
        - server: Pod llm-d/llama-8b-decode-5d6c7f-abcde
          prompts:
            - prompt: prompts[0] (1312 characters)
              state: warmed
              tokens: 296
              cached: 0
              evidence: "prompts[0] (1312 characters): 0 of 296 tokens were cached, of 288 that can be"
              remedy: ""
  contains:
    name:
      description: Name of the service.
      type: str
    warm:
      description: As RV(warm).
      type: bool
    problem:
      description: An error about the service as a whole, such as missing servers, else empty.
      type: str
    remedy:
      description: What to do about the error.
      type: str
    servers:
      description: The result for each server.
      type: list
      elements: dict
      contains:
        server:
          description: Address of the server, or the Pod.
          type: str
        prompts:
          description: The result for each prompt.
          type: list
          elements: dict
          contains:
            prompt:
              description: Position and length of the prompt.
              type: str
            state:
              description:
                - V(warm), it was cached; V(warmed), it was not cached and is now; V(short), it does not fill a block, so that it cannot be cached;
                  V(unknown), the server does not report cached tokens; V(failed), there was no valid answer.
              type: str
            tokens:
              description: Its tokens, with those of the chat template. Null where the server does not report them.
              type: int
            cached:
              description: Number of them that came from the cache. Null where the server does not report it.
              type: int
            evidence:
              description: What was observed, where it was not warm.
              type: str
            remedy:
              description: What to do where it cannot be warmed.
              type: str
seconds:
  description: How long it took.
  returned: always, except in check mode
  type: float
  sample: 0.8
msg:
  description: Why no prompt could be sent, or in check mode that none was sent.
  returned: on failure and in check mode
  type: str
  sample: "check mode: no prompt was sent, so the state of the caches is unknown"
"""

import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.module_options import argument_spec
from ..module_utils.http import tls
from ..module_utils.inference import options, report, warmup_states
from ..module_utils.inference.warmup import Warmup


def service_error(place: str, service: dict[str, t.Any]) -> str:
    """The error about the prompts of one service; empty without one."""
    if service["block_size"] is not None and service["block_size"] < 1:
        return f"{place}.block_size is {service['block_size']}: it must be 1 or more"
    if not (service["prompts"] or service["config_map"]):
        return f"{place} has no prompt: write prompts or config_map"
    for number, prompt in enumerate(service["prompts"]):
        if service["block_size"] and len(prompt.encode()) <= service["block_size"]:
            return f"{place}.prompts[{number}] is too short to fill a KV cache block of {service['block_size']} tokens: write a longer one"
    return ""


def main() -> None:
    """Entry point."""
    module = AnsibleModule(argument_spec(options.WARMUP), supports_check_mode=True, required_by=tls.REQUIRED_BY)
    if reason := report.services_error(module.params, service_error):
        module.fail_json(msg=reason)
    if module.check_mode:
        module.exit_json(changed=False, msg="check mode: no prompt was sent, so the state of the caches is unknown")
    start = time.monotonic()
    try:
        entries = Warmup(module.params).run()
    except ValueError as error:  # options that contradict each other
        module.fail_json(msg=str(error))
    services = [{"name": entry["name"], "warm": warmup_states.is_warm(entry), **entry} for entry in entries]
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
