# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pool of either version of its API selects, and which endpoint picker it names."""

from __future__ import annotations

import typing as t

from ansible_collections.llm_d.inference.plugins.module_utils.k8s import inference_pools

Facts = dict[str, t.Any]
POOL: Facts = {
    "apiVersion": "inference.networking.k8s.io/v1",
    "kind": "InferencePool",
    "metadata": {"name": "p", "uid": "5d1f"},
    "spec": {
        "selector": {"matchLabels": {"app": "x"}},
        "targetPorts": [{"number": 8000}, {"number": 8001}],
        "endpointPickerRef": {"name": "p-epp", "port": {"number": 9002}, "failureMode": "FailOpen"},
    },
}
OLD: Facts = {"spec": {"selector": {"app": "x"}, "targetPortNumber": 8000, "extensionRef": {"name": "p-epp"}}}


def test_pools_of_both_versions() -> None:
    assert inference_pools.selector(POOL) == inference_pools.selector(OLD) == {"app": "x"}
    assert inference_pools.selector({"spec": {"selector": {"matchLabels": {}}}}) == inference_pools.selector({"spec": {}}) == {}
    assert (inference_pools.target_ports(POOL), inference_pools.target_ports(OLD), inference_pools.target_ports({})) == ([8000, 8001], [8000], [0])
    assert inference_pools.reference(POOL) == {"name": "p-epp", "port": 9002, "failureMode": "FailOpen"}
    assert inference_pools.reference(OLD) == {"name": "p-epp", "port": 9002, "failureMode": "FailClose"}
    assert inference_pools.reference({})["name"] == ""
