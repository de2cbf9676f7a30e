# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: verdict
author:
  - llm_d.inference contributors (@llm-d)
short_description: Judge a running stack from the results of its checks
version_added: 0.1.0
description:
  - Takes a plan and the registered results of the checks of P(llm_d.inference.validation#role), and returns the verdict, which that role writes
    to C(verdict.json).
  - A result that is missing, or of a task that failed as a whole, is a failed claim.
options:
  _input:
    description: The plan, from P(llm_d.inference.plan#lookup).
    type: dict
    required: true
  looks:
    description:
      - The registered results of the checks, C(access), C(platform), C(objects), C(warmup), C(routing), C(schedulers), C(servers), C(monitoring),
        C(security) and C(performance), and the C(time) for a verdict without C(routing). Where C(access) failed, nothing else counts.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the verdict
  ansible.builtin.debug:
    msg: "{{ lookup('llm_d.inference.plan') | llm_d.inference.verdict({'objects': ready, 'routing': routing}) }}"
"""

RETURN = r"""
_value:
  description: The verdict.
  type: dict
  sample:
    ok: false
    time: "2026-11-21T08:00:00Z"
    instance: llm-d
    namespace: llm-d
    cluster: https://10.215.0.1:6443
    release: scheduler-0.7
    endpoint: http://10.96.0.20
    endpoints: [{name: llama-8b, url: "http://10.96.0.20", model: meta-llama/Llama-3.1-8B-Instruct, host_header: null}]
    claims:
      - {id: llama-8b/counted, group: scheduler, ok: false, evidence: "10 requests sent, ...", remedy: "check whether other clients ...", seconds: 0.05}
    not_checked: [{id: llama-8b/spread, why: there is one replica}]
    versions: {collection: 0.1.0, release: scheduler-0.7, kubernetes: v1.34.4}
"""

import functools
import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils.common.commands import spelled
from ..module_utils.validation import verdict as verdicts
from ..plugin_utils import collection
from ..plugin_utils.planning import plain

collection_version = functools.cache(collection.version)


def verdict(plan: t.Any, looks: t.Any) -> dict[str, t.Any]:
    """The verdict on a plan."""
    if not isinstance(plan, dict) or not isinstance(looks, dict):
        raise AnsibleFilterError("verdict takes a plan and a dictionary of registered results")
    made: dict[str, t.Any] = spelled(verdicts.assemble(plain(plan), plain(looks), collection_version()))
    return made


class FilterModule:
    """Filters of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Names and functions."""
        return {"verdict": verdict}
