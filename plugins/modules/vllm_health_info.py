# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_health_info
short_description: Report the health of OpenAI-compatible servers
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Checks once an OpenAI-compatible server (vLLM, SGLang, TensorRT-LLM, Triton, the llm-d simulator, or a gateway in front of them), or all servers
    of a set, and returns the results. It neither waits nor fails because of unhealthy servers.
  - Fails only for invalid options, and for an API server that it needs and cannot reach.
attributes:
  check_mode:
    description: Requests no completion; otherwise no difference.
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - llm_d.inference.options.vllm_health_info
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1, for all but O(url) and O(urls)
seealso:
  - module: llm_d.inference.vllm_health
"""

EXAMPLES = r"""
- name: Check every server of a model
  llm_d.inference.vllm_health_info:
    replicas:
      namespace: llm-d
      label_selector: llm-d.ai/model-service=llama-8b
    level: metrics
  register: servers

- name: Show their differences
  ansible.builtin.debug:
    msg: "{{ servers.findings | map(attribute='what') }}"

- name: Check the servers of two models
  llm_d.inference.vllm_health_info:
    groups:
      - name: llama-8b
        model: meta-llama/Llama-3.1-8B-Instruct
        replicas: {namespace: llm-d, label_selector: llm-d.ai/model-service=llama-8b, count: 4}
      - name: qwen
        model: Qwen/Qwen3-0.6B
        replicas: {namespace: llm-d, label_selector: llm-d.ai/model-service=qwen}
    level: metrics

- name: Check Triton, which serves metrics on another port
  llm_d.inference.vllm_health_info:
    url: http://triton.example.com:9000
    metrics_port: 8002
    engine: triton
    level: metrics
"""

RETURN = r"""
groups:
  description: The result for each of O(groups). For one that could not be checked, only C(name), C(healthy) and C(msg).
  returned: with O(groups)
  type: list
  elements: dict
  sample: [{name: llama-8b, healthy: true, level: metrics, engine: vllm, version: 0.33.0, servers: [], findings: [], waited: 0.2}]
  contains:
    name:
      description: Name of the set.
      type: str
    healthy:
      description: As RV(healthy).
      type: bool
    level:
      description: As RV(level).
      type: str
    engine:
      description: As RV(engine).
      type: str
    version:
      description: As RV(version).
      type: str
    checks:
      description: As RV(checks).
      type: list
      elements: dict
    models:
      description: As RV(models).
      type: list
      elements: dict
    metrics:
      description: As RV(metrics).
      type: dict
    servers:
      description: As RV(servers).
      type: list
      elements: dict
    findings:
      description: As RV(findings).
      type: list
      elements: dict
    waited:
      description: As RV(waited).
      type: float
    looks:
      description: As RV(looks).
      type: int
    msg:
      description: As RV(msg); without C(servers), why the set could not be checked.
      type: str
healthy:
  description: Whether every server has reached O(level), and no finding about a set of servers is a failure.
  returned: always
  type: bool
  sample: true
level:
  description: As RV(llm_d.inference.vllm_health#module:level).
  returned: without O(groups)
  type: str
  sample: serving
engine:
  description: As RV(llm_d.inference.vllm_health#module:engine).
  returned: without O(groups)
  type: str
  sample: vllm
version:
  description: As RV(llm_d.inference.vllm_health#module:version).
  returned: without O(groups)
  type: str
  sample: 0.33.0
checks:
  description: As RV(llm_d.inference.vllm_health#module:checks).
  returned: without O(groups)
  type: list
  elements: dict
  sample: [{name: health, ok: true, evidence: "GET http://10.96.0.20/health: 200", ms: 2.1, remedy: "", kind: ""}]
models:
  description: As RV(llm_d.inference.vllm_health#module:models).
  returned: without O(groups)
  type: list
  elements: dict
  sample: [{id: acme/tiny, max_model_len: 1024}]
metrics:
  description: As RV(llm_d.inference.vllm_health#module:metrics).
  returned: without O(groups)
  type: dict
  sample:
    waiting: {name: "vllm:num_requests_waiting", value: 0}
    running: {name: "vllm:num_requests_running", value: 1}
    kv_cache: {name: "vllm:kv_cache_usage_perc", value: 0.12}
    block_size: {name: "vllm:cache_config_info", value: 16}
    blocks: {name: "vllm:cache_config_info", value: 1024}
    lora: {name: "vllm:lora_requests_info", value: 4}
servers:
  description: As RV(llm_d.inference.vllm_health#module:servers).
  returned: without O(groups)
  type: list
  elements: dict
  sample:
    - {server: Pod llm-d/llama-8b-decode-5d6c7f-abcde, ready: true, healthy: true, level: metrics, engine: vllm, version: 0.33.0, notes: []}
findings:
  description: As RV(llm_d.inference.vllm_health#module:findings).
  returned: without O(groups)
  type: list
  elements: dict
  sample:
    - code: mixed_version
      what: "the servers differ in version: servers of different versions may differ in metrics, in hashes of prefixes and in KV transfer"
      where: Pod llm-d/a, Pod llm-d/b
      evidence: "0.32.1: Pod llm-d/a; 0.33.0: Pod llm-d/b"
      remedy: finish the rollout; a pool should select servers of one engine and one version
waited:
  description: As RV(llm_d.inference.vllm_health#module:waited).
  returned: without O(groups)
  type: float
  sample: 0.2
looks:
  description: As RV(llm_d.inference.vllm_health#module:looks).
  returned: without O(groups)
  type: int
  sample: 1
msg:
  description: Why the set of servers is not healthy. The C(checks) of each of RV(servers) have the details.
  returned: when servers are missing or differ, and on failure
  type: str
  sample: 3 of 4 servers exist
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.module_options import argument_spec
from ..module_utils.inference import options, report

PLACES = (*options.PLACES, "groups")
RULES = {**report.RULES, "mutually_exclusive": [PLACES], "required_one_of": [PLACES]}


def main() -> None:
    """Entry point."""
    module = AnsibleModule(argument_spec(options.HEALTH_INFO), supports_check_mode=True, **RULES)
    params = module.params
    many = params["groups"] is not None
    sets = [{**params, **group, **{key: group[key] or params[key] for key in ("model", "signals")}} for group in params["groups"]] if many else [params]
    for each in sets:
        if reason := report.option_errors(each):
            module.fail_json(msg=f"{each['name']}: {reason}" if many else reason)
    try:
        result = report.check_sets(sets, not module.check_mode) if many else report.check(params, not module.check_mode)
    except Exception as error:  # pylint: disable=broad-except  # an error in the options or an unreachable cluster, as one line
        module.fail_json(msg=str(error))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
