# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests of the official conformance suite that a provider is known to fail, with the cause. Data only."""

from __future__ import annotations

from ..common.objects import Facts

# `through`: the newest version of the provider that is known to fail. Each was observed on the local cluster with Envoy AI Gateway 1.0.0 and the suite 1.6.0.
KNOWN_FAILURES: list[Facts] = [
    {
        "provider": "envoy_ai_gateway",
        "through": "1.1.0",
        "test": "GatewayWeightedAcrossTwoInferencePools",
        "cause": "its controller refuses a route with two pools in one rule, and while there is one, Envoy Gateway gives no changes to its proxies",
        "source": "https://github.com/envoyproxy/ai-gateway/pull/2657",
    },
    {
        "provider": "envoy_ai_gateway",
        "through": "1.1.0",
        "test": "InferencePoolAppProtocol",
        "cause": "its controller does not read appProtocol, so proxies speak HTTP/1.1 to servers that speak HTTP/2 only",
        "source": "https://github.com/envoyproxy/ai-gateway/pull/2644",
    },
    {
        "provider": "envoy_ai_gateway",
        "through": "1.1.0",
        "test": "InferencePoolMissingEPPRef",
        "cause": "its controller refuses a pool without endpoint picker for the reason NotAccepted, and the suite expects EndpointPickerRefMissing",
        "source": "https://github.com/envoyproxy/ai-gateway/pull/2642",
    },
]
