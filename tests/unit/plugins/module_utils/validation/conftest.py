# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan to validate."""

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan as make_plan


@pytest.fixture(name="plan")
def plan_of_two_services():
    services = [
        {
            "name": "llama-8b",
            "model": {"uri": "hf://acme/tiny"},
            "replicas": 2,
            "engine": {"type": "simulator"},
            "scheduler": {"preset": "balanced"},
            "route": {"hostnames": ["llama.example.com"]},
        },
        {
            "name": "qwen",
            "model": {"uri": "hf://acme/small"},
            "replicas": 1,
            "engine": {"type": "simulator"},
            "scheduler": {"preset": "queue"},
            "route": {"hostnames": ["*.example.org"]},
        },
    ]
    return make_plan({"llm_d_release": "scheduler-0.7", "llm_d_model_services": services, "llm_d_charts": {"envoy_gateway": "/charts/gateway-helm"}})
