# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_health_info
short_description: Report the health of OpenAI-compatible servers
version_added: 0.1.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Looks once at an OpenAI-compatible server (vLLM, SGLang, TensorRT-LLM, Triton, the llm-d simulator, or a gateway in front of them), or at all
    servers of a set, and returns what it saw. It neither waits nor fails because of what it sees.
  - Fails only for options that do not fit, and for an API server that it needs and cannot reach.
options:
  retries:
    description: How many times a request is tried again, with growing pauses, when nobody answered or the answer was 429, 502, 503 or 504.
    type: int
    default: 2
attributes:
  check_mode:
    description: Asks for no completion; all else is the same.
extends_documentation_fragment:
  - llm_d.inference.attributes.read_only
  - llm_d.inference.attributes
  - llm_d.inference.health.info
  - llm_d.inference.server
seealso:
  - module: llm_d.inference.vllm_health
"""

EXAMPLES = r"""
- name: Look at every server of a model
  llm_d.inference.vllm_health_info:
    replicas:
      namespace: llm-d
      label_selector: llm-d.ai/model-service=llama-8b
    level: metrics
  register: servers

- name: Say in what they differ
  ansible.builtin.debug:
    msg: "{{ servers.findings | map(attribute='what') }}"

- name: Look at the servers of two models at once
  llm_d.inference.vllm_health_info:
    groups:
      - name: llama-8b
        model: meta-llama/Llama-3.1-8B-Instruct
        replicas: {namespace: llm-d, label_selector: llm-d.ai/model-service=llama-8b, count: 4}
      - name: qwen
        model: Qwen/Qwen3-0.6B
        replicas: {namespace: llm-d, label_selector: llm-d.ai/model-service=qwen}
    level: metrics

- name: Look at Triton, whose metrics are on another port
  llm_d.inference.vllm_health_info:
    url: http://triton.example.com:9000
    metrics_port: 8002
    engine: triton
    level: metrics
"""

RETURN = r"""
groups:
  description: For each of O(groups) what is returned of one set. Of one that could not be looked at, only C(name), C(healthy) and C(msg).
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
      description: As RV(msg); without servers, why it could not be looked at.
      type: str
healthy:
  description: Whether every server is at the wanted level, and no finding stands against them as a set.
  returned: always
  type: bool
  sample: true
level:
  description: The highest level that held, empty when none did. Of several servers, that of the first one that fails.
  returned: without O(groups)
  type: str
  sample: serving
engine:
  description: The engine that all servers run, null when they differ or it is not known.
  returned: without O(groups)
  type: str
  sample: vllm
version:
  description: The version that all servers run, null when they differ or do not say.
  returned: without O(groups)
  type: str
  sample: 0.33.0
checks:
  description: The rungs of the last look, in order; the last one is the one that failed, if any did. Of several servers, those of the first one that fails.
  returned: without O(groups)
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
      description: What was looked at.
      type: str
    ok:
      description: Whether it held.
      type: bool
    evidence:
      description: What was seen.
      type: str
    ms:
      description: Milliseconds it took.
      type: float
    remedy:
      description: What to do, when it did not hold.
      type: str
    kind:
      description: Short name of the trouble, for programs.
      type: str
models:
  description: The models that the servers list.
  returned: without O(groups)
  type: list
  elements: dict
  sample: &models [{id: acme/tiny, max_model_len: 1024}]
  contains: &model
    id:
      description: Name of the model.
      type: str
    max_model_len:
      description: Tokens it takes, null when the server does not say.
      type: int
metrics:
  description: What the scheduler reads of the server, by signal, with the name it has there and its value, null when it is missing. Empty below level metrics.
  returned: without O(groups)
  type: dict
  sample: &metrics
    waiting: {name: "vllm:num_requests_waiting", value: 0}
    running: {name: "vllm:num_requests_running", value: 1}
    kv_cache: {name: "vllm:kv_cache_usage_perc", value: 0.12}
    block_size: {name: "vllm:cache_config_info", value: 16}
    blocks: {name: "vllm:cache_config_info", value: 1024}
    lora: {name: "vllm:lora_requests_info", value: 4}
servers:
  description: Each server by itself.
  returned: without O(groups)
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
      description: Whether it is at the wanted level.
      type: bool
    level:
      description: The highest level that held.
      type: str
    engine:
      description: What answers, null when that is not known.
      type: str
    version:
      description: Its version, null when it does not say.
      type: str
    models:
      description: The models it lists.
      type: list
      elements: dict
      contains: *model
    metrics:
      description: As RV(metrics).
      type: dict
    notes:
      description: What is odd about its metrics without being a failure.
      type: list
      elements: str
    checks:
      description: As RV(checks).
      type: list
      elements: dict
      contains: *check
findings:
  description: Known trouble of the Pods that do not serve, and in what the servers differ from each other.
  returned: without O(groups)
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
      description: Entry of the failure catalogue (see C(docs/troubleshooting.md)), or C(mixed_*) and C(slow).
      type: str
    what:
      description: What is wrong.
      type: str
    where:
      description: Which servers.
      type: str
    evidence:
      description: What was seen.
      type: str
    remedy:
      description: What to do.
      type: str
waited:
  description: Seconds until the outcome.
  returned: without O(groups)
  type: float
  sample: 12.3
looks:
  description: How many times the servers were looked at.
  returned: without O(groups)
  type: int
  sample: 7
msg:
  description: Why the servers as a set are not what they should be. What is wrong with one of them, its RV(servers[].checks) say.
  returned: when too few of them are there, or they differ, and on failure
  type: str
  sample: 3 of 4 servers are there
"""

from concurrent.futures import ThreadPoolExecutor

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.inference import health, report
from ..module_utils.inference.targets import Targets

SIGNALS = {key: value for key, value in report.SPEC["signals"].items() if key != "default"}
SET = {"name": {"type": "str", "required": True}, "model": {"type": "str"}, "signals": SIGNALS, "replicas": {**report.SPEC["replicas"], "required": True}}
SPEC = {**report.SPEC, "groups": {"type": "list", "elements": "dict", "options": SET}, "retries": {"type": "int", "default": 2}}
PLACES = (*report.PLACES, "groups")
RULES = {**report.RULES, "mutually_exclusive": [PLACES], "required_one_of": [PLACES]}


def look(params, completions, cluster=None):
    """One look at one set of servers, as it is returned."""
    targets, wanted = Targets(params, cluster), report.requirements_of(params, completions)
    view, waited, looks = health.poll(lambda left: report.check_all(targets, wanted, (params["replicas"] or {}).get("count", 1)), lambda view: True, 1.0, 1.0)
    found = report.result(targets, view, waited, looks)
    return {**found, "msg": view.wrong} if view.wrong else found


def look_at_all(params, groups, completions):
    """A look at every set at the same time, over one connection. A set that cannot be looked at has a msg instead."""
    cluster = Targets(params).cluster if groups else None

    def one(group):
        try:
            found = look(group, completions, cluster)
            return {"name": group["name"], **{key: value for key, value in found.items() if key != "changed"}}
        except Exception as error:  # pylint: disable=broad-except  # the others have been looked at all the same
            return {"name": group["name"], "healthy": False, "msg": str(error)}

    with ThreadPoolExecutor(max_workers=len(groups) or 1) as pool:
        found = list(pool.map(one, groups))
    return {"changed": False, "healthy": all(each["healthy"] for each in found), "groups": found}


def main() -> None:
    """Entry point."""
    module = AnsibleModule(SPEC, supports_check_mode=True, **RULES)
    params = module.params
    many = params["groups"] is not None
    sets = [{**params, **group, **{key: group[key] or params[key] for key in ("model", "signals")}} for group in params["groups"]] if many else [params]
    for each in sets:
        if wrong := report.option_errors(each):
            module.fail_json(msg=f"{each['name']}: {wrong}" if many else wrong)
    try:
        found = look_at_all(params, sets, not module.check_mode) if many else look(params, not module.check_mode)
    except Exception as error:  # pylint: disable=broad-except  # a mistake in the options or an unreachable cluster, each one clear line
        module.fail_json(msg=str(error))
    module.exit_json(**found)


if __name__ == "__main__":
    main()
