# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.plan.build import plan
from ansible_collections.llm_d.inference.plugins.module_utils.plan.cluster.approval import digest

FILE = {"llm_d_model_services": [{"name": "sim", "model": {"uri": "hf://acme/sim"}, "replicas": 3}]}


@pytest.mark.parametrize("of_the_run", [{}, {"llm_d_kubeconfig": "/tmp/awx_12_x/kubeconfig"}, {"llm_d_context": "other"}, {"llm_d_artifacts_dir": "/tmp/12"}])
def test_jobs_with_the_same_file_have_the_same_digest(of_the_run):
    assert digest(plan({**FILE, **of_the_run})) == digest(plan(FILE))


@pytest.mark.parametrize(
    "change",
    [
        {"llm_d_model_services": [{**FILE["llm_d_model_services"][0], "replicas": 4}]},
        {"llm_d_namespace": "other"},
        {"llm_d_charts": {"envoy_gateway": "oci://registry.example.com/gateway-helm"}},
        {"llm_d_scheduler_overrides": {"*": {"preset": "queue"}}},
        {"llm_d_prune": {"claims": True}},
    ],
)
def test_another_deployment_has_another_digest(change):
    assert digest(plan({**FILE, **change})) != digest(plan(FILE))
