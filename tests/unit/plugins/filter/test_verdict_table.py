# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A verdict as text, as Ansible calls it."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.llm_d.inference.plugins.filter import verdict_table
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan as make_plan
from ansible_collections.llm_d.inference.plugins.module_utils.validation import verdict

PLAN = make_plan(
    {
        "llm_d_model_services": [{"name": "a", "model": {"uri": "hf://acme/tiny"}, "engine": {"type": "simulator"}}],
        "llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"},
    }
)


def test_a_table():
    result = verdict.assemble(PLAN, {"time": "now"}, "0.1.0")
    assert result["ok"] is False and result["versions"]["collection"] == "0.1.0"
    assert len(verdict_table.verdict_table(result)) == 8  # with the deployment
    assert all("remedy: " in line for line in verdict_table.verdict_table(result, failed=True))


def test_an_input_that_is_no_verdict_is_refused():
    with pytest.raises(AnsibleFilterError):
        verdict_table.verdict_table({})
