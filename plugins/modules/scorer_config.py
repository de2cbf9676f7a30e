#!/usr/bin/python
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: scorer_config
short_description: Build, check, explain and apply the configuration of an endpoint picker
version_added: 1.0.0
author:
  - llm_d.inference contributors (@llm-d)
description:
  - Builds the C(EndpointPickerConfig) of a release line from a preset, scorers with weights by alias, or raw plugins and profiles, reports all mistakes at
    once, and explains a decision for a table of servers.
  - Without O(target), nothing is applied, as with the filter of the same name.
  - With O(target), the configuration is applied to the running endpoint picker. The checksum of the configuration triggers a rollout of the Deployment, and
    the module returns when the log of every pod says that it has loaded the configuration.
  - If the new pods do not start, the previous configuration is restored and verified, and the module fails with the error of the endpoint picker. The old
    pods serve until the new ones are ready, so a bad configuration never replaces a good one.
  - The applied configuration lasts until the next run of C(playbooks/site.yml), which restores the one of the user's file.
options:
  release:
    description: The release line of the endpoint picker.
    type: str
    choices: [gie-1.5, scheduler-0.7, router-0.9, router-0.10, router-0.11]
    default: router-0.11
  deployment:
    description:
      - Settings of the rest of the deployment. C(engine) (V(vllm) or V(simulator)), C(model) (the served name), C(max_model_len), C(block_size), C(hash_seed),
        C(port), C(epp_service), and, to validate against them, C(server_args), C(server_env) and C(epp_args).
    type: dict
    default: {}
  servers:
    description:
      - Servers to explain a decision for. Each has a C(name) and, if known, C(waiting), C(running), C(kv_usage), C(matched_blocks),
        C(total_blocks), C(loras), C(waiting_loras), C(max_loras), C(active_requests), C(tokens_in_flight), C(last_cold), C(labels), C(role), C(scores).
    type: list
    elements: dict
    default: []
  request:
    description: The request of that decision. C(model), C(prompt_tokens) or C(prompt_characters), C(block_size), C(session), C(headers), C(multimodal).
    type: dict
    default: {}
  target:
    description: The endpoint picker to configure. If omitted, nothing is applied.
    type: dict
    suboptions:
      namespace:
        description: Its namespace.
        type: str
        required: true
      name:
        description: Name of its Deployment, such as V(llama-8b-epp).
        type: str
        required: true
      config_map:
        description: Name of the ConfigMap with its configuration. If omitted, O(target.name).
        type: str
      key:
        description: Key in the ConfigMap.
        type: str
        default: config.yaml
  state:
    description:
      - V(present) applies the configuration.
      - V(absent) replaces the configuration with O(preset=default), which is what the release does without one.
    type: str
    choices: [present, absent]
    default: present
  timeout:
    description: Seconds to wait until the endpoint picker has loaded the configuration, and again for a rollback.
    type: int
    default: 300
extends_documentation_fragment:
  - llm_d.inference.attributes
  - llm_d.inference.options.scorer_config
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0, != 36.0.0, != 36.0.1
attributes:
  check_mode:
    description: Builds, validates and explains the configuration and compares it with the current one. Writes nothing and waits for nothing.
  diff_mode:
    description: Shows the current and the requested configuration.
"""

EXAMPLES = r"""
- name: Validate a configuration and show which server would get a request
  llm_d.inference.scorer_config:
    preset: balanced
    scorers:
      prefix: 5
    servers:
      - {name: server-a, waiting: 3, kv_usage: 0.5, matched_blocks: 10, total_blocks: 10}
      - {name: server-b, waiting: 0, kv_usage: 0.1}

- name: Change the weights of a running endpoint picker
  llm_d.inference.scorer_config:
    release: scheduler-0.7
    preset: prefix_aware
    scorers:
      queue: 1
    target:
      namespace: llm-d
      name: llama-8b-epp

- name: Restore the default of the release
  llm_d.inference.scorer_config:
    state: absent
    target:
      namespace: llm-d
      name: llama-8b-epp
"""

RETURN = r"""
document:
  description: The C(EndpointPickerConfig).
  returned: success
  type: dict
  sample: {apiVersion: inference.networking.x-k8s.io/v1alpha1, kind: EndpointPickerConfig, plugins: [{type: queue-scorer}]}
text:
  description: The configuration as YAML, in a stable order.
  returned: success
  type: str
  sample: "apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\n"
checksum:
  description: SHA-256 of the text, in an annotation of the pods.
  returned: success
  type: str
  sample: 5f4dcc3b5aa765d61d8327deb882cf99b1b9c3a4d5e6f708192a3b4c5d6e7f80
requires:
  description: Flags and environment of the model servers, sidecars, flags and ports of the endpoint picker, labels, roles, feature gates.
  returned: success
  type: dict
  sample: {vllm: {args: [], env: [], ports: []}, epp: {args: [], env: [], ports: [], publish_not_ready: false}, sidecars: [], roles: []}
notes:
  description: Notes on the configuration, such as deprecations.
  returned: success
  type: list
  elements: str
  sample: ["lora_affinity: start the servers with --enable-lora; without adapters every server scores the same."]
problems:
  description: Mistakes, each with C(path), C(value), C(reason) and C(fix).
  returned: always
  type: list
  elements: dict
  sample: [{path: scorers.quue, value: 1, reason: there is no scorer 'quue'., fix: "Did you mean queue?"}]
explanation:
  description: The explained decision; empty without O(servers).
  returned: success
  type: dict
  sample: {winners: [server-a], probabilities: {server-a: 1.0, server-b: 0.0}, text: "Profile default: max-score-picker takes the highest total"}
pods:
  description: The pods that run the configuration, verified C(by) their V(log), or by their V(readiness) if the log is no longer available.
  returned: with O(target), not in check mode
  type: list
  elements: dict
  sample: [{pod: sim-epp-5d9c7, by: log, line: '{"msg":"loaded configuration from file/text successfully"}'}]
rolled_back:
  description: Whether the previous configuration was restored and serves.
  returned: when the endpoint picker did not load the configuration
  type: bool
  sample: true
culprit:
  description: The error of the endpoint picker about the configuration.
  returned: when the endpoint picker did not load the configuration
  type: str
  sample: "failed to load the configuration - plugin instantiation failed: plugin type 'quue-scorer' is not registered"
msg:
  description: The mistakes in the options, with their places, or why the ConfigMap could not be written.
  returned: on failure
  type: str
  sample: "1 mistake in scheduler: scorers.queu is not a scorer. Did you mean queue?"
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.epp.config.build import Built, build
from ..module_utils.epp.explain.answer import answer, missing_in_deployment, refusal
from ..module_utils.k8s.client import Cluster, auth_spec, connect
from ..module_utils.k8s.errors import ClusterError
from ..module_utils.schedulers.rollout import Rollout, RolloutTarget, State, checksum, settle
from ..module_utils.schema.fields import argument_type
from ..module_utils.schema.scheduler import DECIDING


def argument_spec() -> dict[str, t.Any]:
    """The options of the module."""
    target = {
        "namespace": {"type": "str", "required": True},
        "name": {"type": "str", "required": True},
        "config_map": {"type": "str"},
        "key": {"type": "str", "default": "config.yaml", "no_log": False},
    }
    return {
        **auth_spec(),
        **{name: argument_type(field) for name, field in DECIDING.items()},
        "release": {"type": "str", "choices": ["gie-1.5", "scheduler-0.7", "router-0.9", "router-0.10", "router-0.11"], "default": "router-0.11"},
        "deployment": {"type": "dict", "default": {}},
        "servers": {"type": "list", "elements": "dict", "default": []},
        "request": {"type": "dict", "default": {}},
        "target": {"type": "dict", "options": target},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "timeout": {"type": "int", "default": 300},
    }


def bring(cluster: Cluster, target: RolloutTarget, built: Built, timeout: float, check: bool) -> dict[str, t.Any]:
    """Apply a configuration to a running endpoint picker, or restore the previous one; returns the result of the module."""
    rollout = Rollout(cluster, target)
    before = rollout.read()
    missing = missing_in_deployment(built.requires, rollout.deployment)
    if missing:
        return failure(
            f"the endpoint picker {target} lacks what this configuration requires: {', '.join(missing)}; write the scheduler block into the user's file "
            "and run playbooks/scorers.yml, which applies both"
        )
    after = State(built.text, checksum(built.text))
    result: dict[str, t.Any] = {"changed": before != after, "diff": difference(target, before, after)}
    if check:
        return result
    if before != after:
        rollout.write(after)
    outcome = settle(cluster, [(target, after.checksum, built.document)], timeout)[0]
    if not outcome.error:
        return {**result, "pods": outcome.pods}
    if before == after:
        return {**failure(f"the endpoint picker {target} does not run its configuration: {outcome.error}"), "culprit": outcome.culprit}
    return {**restore(rollout, before, outcome.error, timeout), "culprit": outcome.culprit}


def restore(rollout: Rollout, before: State, why: str, timeout: float) -> dict[str, t.Any]:
    """Restore the previous configuration; returns a failed result, with `why` in its message."""
    try:
        rollout.write(before)
        outcome = settle(rollout.cluster, [(rollout.target, before.checksum or "", None)], timeout)[0]
        error = outcome.error
    except ClusterError as exc:
        error = str(exc)
    if error:
        return {**failure(f"{why}\nThe previous configuration could not be restored: {error}"), "changed": True, "rolled_back": False}
    pods = ", ".join(pod["pod"] for pod in outcome.pods)
    return {**failure(f"{why}\nThe previous configuration has been restored and serves ({pods})."), "rolled_back": True}


def failure(message: str) -> dict[str, t.Any]:
    """A result that fails and has changed nothing."""
    return {"failed": True, "msg": message, "changed": False}


def difference(target: RolloutTarget, before: State, after: State) -> dict[str, str]:
    """The diff of two states."""
    header = f"ConfigMap {target.namespace}/{target.config_map} {target.key}"
    return {"before_header": header, "after_header": header, "before": before.config or "", "after": after.config or ""}


def main() -> None:
    """Entry of the module."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    block = {key: params[key] for key in DECIDING if params.get(key) is not None}
    if params["state"] == "absent":
        if block:
            module.fail_json(msg=f"state absent removes the configuration, so leave {', '.join(block)} out.", problems=[])
        block = {"preset": "default"}
    built = build(block, params["release"], params["deployment"])
    result = answer(built, params["release"], params["servers"], params["request"])
    if result["problems"]:
        module.fail_json(msg=refusal(result["problems"]), problems=result["problems"])
    result["checksum"] = checksum(built.text)
    if params["target"] is None:
        module.exit_json(changed=False, **result)
    given = params["target"]
    target = RolloutTarget(given["namespace"], given["name"], given["config_map"] or given["name"], given["key"])
    try:
        applied = bring(connect(module), target, built, params["timeout"], module.check_mode)
    except ClusterError as exc:
        module.fail_json(msg=str(exc), problems=[])
    if applied.pop("failed", False):
        module.fail_json(**result, **applied)
    module.exit_json(**result, **applied)


if __name__ == "__main__":
    main()
