# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: validation_targets
author:
  - llm_d.inference contributors (@llm-d)
short_description: List what can be validated for a plan
version_added: 0.1.0
description:
  - Takes a plan and returns the objects that must be ready, for M(llm_d.inference.resource_ready), and the services to validate
    with M(llm_d.inference.routing_proof), with the promises of the scheduling policy of each.
options:
  _input:
    description: The plan, from P(llm_d.inference.plan#lookup).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the promises of each service
  ansible.builtin.debug:
    msg: "{{ (lookup('llm_d.inference.plan') | llm_d.inference.validation_targets).services | items2dict(key_name='name', value_name='promises') }}"
"""

RETURN = r"""
_value:
  description: Lists C(objects), C(services), C(servers), C(secured) and C(scaled), the C(gateway), the needs of the C(platform), and the C(monitoring) to ask.
  type: dict
  sample:
    objects: [{api_version: apps/v1, kind: Deployment, namespace: llm-d, name: llama-8b-epp}]
    services: [{name: llama-8b, model: meta-llama/Llama-3.1-8B-Instruct, promises: [sticky, spread], replicas: 4}]
"""

import typing as t

import yaml
from ansible.errors import AnsibleFilterError

from ..module_utils.epp.expected_behavior import expected_behavior
from ..module_utils.validation import verdict as verdicts
from ..plugin_utils.planning import plain


def validation_targets(plan: t.Any) -> dict[str, t.Any]:
    """The inputs of the modules that validate a plan."""
    if not isinstance(plan, dict) or "services" not in plan:
        raise AnsibleFilterError("validation_targets takes a plan")
    facts = plain(plan)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    policies = [expected_behavior(yaml.load(service["scheduler"]["config"], Loader=loader), facts["release"]["name"]) for service in facts["services"]]
    asked = ("name", "model", "signals", "replicas")
    return {
        "objects": verdicts.required_objects(facts),
        "services": [{**target, **kept} for target, kept in zip(verdicts.targets(facts), policies, strict=True)],
        "gateway": verdicts.gateway(facts),
        "servers": [{key: group[key] for key in asked} for group in verdicts.servers(facts)],
        "secured": verdicts.security_services(facts),
        "platform": verdicts.platform_needs(facts),
        "monitoring": verdicts.monitoring(facts),
        "scaled": verdicts.autoscaled_services(facts),
    }


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"validation_targets": validation_targets}
