# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: scorer_config
author:
  - llm_d.inference contributors (@llm-d)
short_description: Turn a scheduler block into the configuration of an endpoint picker
version_added: 1.0.0
description:
  - Builds the C(EndpointPickerConfig) of a release line from a scheduler block (a preset, scorers with weights by alias, or raw plugins and profiles), with
    what it requires of the rest of the deployment, and explains a decision for a table of servers.
  - Reports all mistakes at once, each with its path, the value, the reason and what to write instead.
options:
  _input:
    description: The scheduler block, with C(preset), C(scorers), C(picker) and the other options of C(llm_d_model_services[].scheduler).
    type: dict
    required: true
  release:
    description: The release line of the endpoint picker.
    type: str
    choices: [gie-1.5, scheduler-0.7, router-0.9, router-0.10, router-0.11]
    default: router-0.11
  context:
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
  fail:
    description: Whether mistakes are an error. Otherwise they are returned in RV(_value.problems).
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Show what a preset means for this release
  ansible.builtin.debug:
    msg: "{{ ({'preset': 'balanced'} | llm_d.inference.scorer_config(release='scheduler-0.7')).text }}"

- name: Show which server would get a request
  ansible.builtin.debug:
    msg: "{{ ({'preset': 'balanced', 'scorers': {'prefix': 5}} | llm_d.inference.scorer_config(servers=servers)).explanation.text }}"
  vars:
    servers:
      - {name: server-a, waiting: 3, kv_usage: 0.5, matched_blocks: 10, total_blocks: 10}
      - {name: server-b, waiting: 0, kv_usage: 0.1}
"""

RETURN = r"""
_value:
  description: The configuration and what it requires.
  type: dict
  contains:
    document:
      description: The C(EndpointPickerConfig). Empty when there are problems.
      type: dict
      sample: {apiVersion: inference.networking.x-k8s.io/v1alpha1, kind: EndpointPickerConfig, plugins: [{type: queue-scorer}]}
    text:
      description: The configuration as YAML, in a stable order.
      type: str
      sample: "apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\n"
    requires:
      description: Flags and environment of the model servers, sidecars, flags and ports of the endpoint picker, labels, roles, feature gates.
      type: dict
      sample: {vllm: {args: [], env: [], ports: []}, epp: {args: [], env: [], ports: [], publish_not_ready: false}, sidecars: [], roles: []}
    notes:
      description: Notes on the configuration, such as deprecations.
      type: list
      elements: str
      sample: ["lora_affinity: start the servers with --enable-lora; without adapters every server scores the same."]
    problems:
      description: Mistakes, each with C(path), C(value), C(reason) and C(fix). Always empty with O(fail=true).
      type: list
      elements: dict
      sample: [{path: scorers.quue, value: 1, reason: there is no scorer 'quue'., fix: "Did you mean queue?"}]
    explanation:
      description: The explained decision; empty without O(servers).
      type: dict
      sample:
        winners: [server-a]
        probabilities: {server-a: 1.0, server-b: 0.0}
        text: "Profile default: max-score-picker takes the highest total"
        decisions: [{profile: default, picker: max-score-picker, rows: [{server: server-a, total: 4.7, probability: 1.0}]}]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.epp.config.build import build
from ..module_utils.epp.explain.answer import answer, refusal
from ..plugin_utils.planning import plain


def scorer_config(
    scheduler: t.Any, release: str = "router-0.11", context: t.Any = None, servers: t.Any = None, request: t.Any = None, fail: bool = True
) -> dict[str, t.Any]:
    """The configuration of a scheduler block, and an explained decision for a table of servers."""
    if not isinstance(scheduler, dict):
        raise AnsibleFilterError(f"scorer_config takes a scheduler block (a dictionary), not {type(scheduler).__name__}.")
    built = build(plain(scheduler), str(release), plain(context or {}))
    result = answer(built, str(release), plain(servers), plain(request or {}))
    if result["problems"] and fail:
        raise AnsibleFilterError(refusal(result["problems"]))
    return result


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters by name."""
        return {"scorer_config": scorer_config}
