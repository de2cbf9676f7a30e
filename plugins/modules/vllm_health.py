# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_health
short_description: Wait for healthy OpenAI-compatible servers
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Waits until an OpenAI-compatible server (vLLM, SGLang, TensorRT-LLM, Triton, the llm-d simulator, or a gateway in front of them), or each of
    several, is healthy, and fails when that takes too long.
  - Checks one O(level) after the other. V(alive) requests C(/health); V(ready) checks that C(/v1/models) lists the model; V(serving) requests
    completions, one whole and one streamed, and reads the stream, which can contain errors after status 200; V(metrics) reads the
    metrics that the scheduler uses.
  - C(/health) alone is not enough, since a hung or sleeping engine still answers it.
  - Servers of one set are healthy only if they serve the same models with the same version and the same block size.
attributes:
  check_mode:
    description: Checks once, does not wait, requests no completion, and does not fail.
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - llm_d.inference.options.vllm_health
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1, for all but O(url) and O(urls)
seealso:
  - module: llm_d.inference.vllm_health_info
"""

EXAMPLES = r"""
- name: Wait until the model answers through the gateway
  llm_d.inference.vllm_health:
    url: http://10.96.0.20
    model: meta-llama/Llama-3.1-8B-Instruct
    timeout: 600

- name: Wait until the model is loaded, through the API server and the model's Service
  llm_d.inference.vllm_health:
    service:
      namespace: llm-d
      name: llama-8b
      port: 8000
    model: meta-llama/Llama-3.1-8B-Instruct
    level: ready

- name: Wait until all four servers serve, with the metrics that the scheduler reads
  llm_d.inference.vllm_health:
    replicas:
      namespace: llm-d
      service: llama-8b
      count: 4
    level: metrics

- name: A server with a key and a private certificate authority
  llm_d.inference.vllm_health:
    url: https://models.example.com
    api_key: "{{ vault_model_key }}"
    ca_path: /etc/ssl/example-ca.pem
    apis: [completions, chat_completions]
"""

RETURN = r"""
healthy:
  description: Whether every server has reached O(level), and no finding about the set of servers is a failure.
  returned: always
  type: bool
  sample: true
level:
  description: The highest level that was reached, empty when none was. Of several servers, that of the first unhealthy one.
  returned: always
  type: str
  sample: serving
engine:
  description: The engine of all servers, null when they differ or it is unknown.
  returned: always
  type: str
  sample: vllm
version:
  description: The version of all servers, null when they differ or do not report it.
  returned: always
  type: str
  sample: 0.33.0
checks:
  description: The results of the last check, in order; only the last one can have failed. Of several servers, those of the first unhealthy one.
  returned: always
  type: list
  elements: dict
  sample: &checks
    - {name: health, ok: true, evidence: "GET http://10.96.0.20/health: 200", ms: 2.1, remedy: "", kind: ""}
    - name: models
      ok: false
      evidence: /v1/models lists acme/tiny, not acme/small
      ms: 3.4
      remedy: serve 'acme/small' under that name, or ask for one of those
      kind: model
  contains: &check
    name:
      description: Name of the check.
      type: str
    ok:
      description: Whether it passed.
      type: bool
    evidence:
      description: What was observed.
      type: str
    ms:
      description: Milliseconds it took.
      type: float
    remedy:
      description: What to do where it failed.
      type: str
    kind:
      description: Kind of the error, for programs.
      type: str
models:
  description: The models that the servers serve.
  returned: always
  type: list
  elements: dict
  sample: &models [{id: acme/tiny, max_model_len: 1024}]
  contains: &model
    id:
      description: Name of the model.
      type: str
    max_model_len:
      description: Its maximum length in tokens, null when the server does not report it.
      type: int
metrics:
  description: The metrics that the scheduler reads, by signal, with name and value on the server, null when missing. Empty below level metrics.
  returned: always
  type: dict
  sample: &metrics
    waiting: {name: "vllm:num_requests_waiting", value: 0}
    running: {name: "vllm:num_requests_running", value: 1}
    kv_cache: {name: "vllm:kv_cache_usage_perc", value: 0.12}
    block_size: {name: "vllm:cache_config_info", value: 16}
    blocks: {name: "vllm:cache_config_info", value: 1024}
    lora: {name: "vllm:lora_requests_info", value: 4}
servers:
  description: The result for each server.
  returned: always
  type: list
  elements: dict
  sample:
    - server: Pod llm-d/llama-8b-decode-5d6c7f-abcde
      ready: true
      healthy: true
      level: metrics
      engine: vllm
      version: 0.33.0
      models: *models
      metrics: *metrics
      notes: []
      checks: *checks
  contains:
    server:
      description: Address of the server, or the Pod or Service.
      type: str
    ready:
      description: Whether the Pod is ready; true where no Pod is known.
      type: bool
    healthy:
      description: Whether it has reached O(level).
      type: bool
    level:
      description: The highest level that was reached.
      type: str
    engine:
      description: The engine, null when it is unknown.
      type: str
    version:
      description: Its version, null when it does not report it.
      type: str
    models:
      description: The models that it serves.
      type: list
      elements: dict
      contains: *model
    metrics:
      description: As RV(metrics).
      type: dict
    notes:
      description: Observations about its metrics that are no failures.
      type: list
      elements: str
    checks:
      description: As RV(checks).
      type: list
      elements: dict
      contains: *check
findings:
  description: Known failures of Pods that do not serve, and differences between the servers.
  returned: always
  type: list
  elements: dict
  sample:
    - code: mixed_version
      what: "the servers differ in version: servers of different versions may differ in metrics, in hashes of prefixes and in KV transfer"
      where: Pod llm-d/a, Pod llm-d/b
      evidence: "0.32.1: Pod llm-d/a; 0.33.0: Pod llm-d/b"
      remedy: finish the rollout; a pool should select servers of one engine and one version
  contains:
    code:
      description: Code of the failure, as listed in C(docs/troubleshooting.md), or C(mixed_*) or C(slow).
      type: str
    what:
      description: The problem.
      type: str
    where:
      description: Which servers.
      type: str
    evidence:
      description: What was observed.
      type: str
    remedy:
      description: What to do.
      type: str
waited:
  description: Seconds until the result.
  returned: always
  type: float
  sample: 12.3
looks:
  description: Number of times the servers were checked.
  returned: always
  type: int
  sample: 7
msg:
  description: Why the servers have not reached O(level), with the remedy. In check mode, that no completion was requested.
  returned: on failure and in check mode
  type: str
  sample: "not serving after 300 s: 3 of 4 servers exist. Remedy: check the Deployment of the servers"
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.common.module_options import argument_spec
from ..module_utils.inference import report
from ..module_utils.inference.options import HEALTH
from ..module_utils.inference.targets import Targets


def main() -> None:
    """Entry point."""
    module = AnsibleModule(argument_spec(HEALTH), supports_check_mode=True, **report.RULES)
    params = module.params
    if reason := report.option_errors(params):
        module.fail_json(msg=reason)
    wanted = report.requirements_of(params, completions=not module.check_mode)
    count = (params["replicas"] or {}).get("count", 1)
    try:
        targets = Targets(params, patience=0 if module.check_mode else params["timeout"])
        if module.check_mode:
            result = report.result(targets, report.check_all(targets, wanted, count), 0.0, 1)
            module.exit_json(**result, msg="check mode: checked once, requested no completion")
        view, waited, looks = report.wait(targets, wanted, count, params["timeout"], params["interval"])
        result = report.result(targets, view, waited, looks)
    except Exception as error:  # pylint: disable=broad-except  # an error in the options or an unreachable cluster, as one line
        module.fail_json(msg=str(error))
    if not view.healthy:
        module.fail_json(msg=report.failure_message(view, result, params["level"]), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
