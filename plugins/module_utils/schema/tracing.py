# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the user's file for traces. Data only."""

from __future__ import annotations

from .fields import Field

TRACING = {
    "endpoint": Field(
        "str",
        ("The OpenTelemetry collector to send spans to, by OTLP over gRPC without TLS: C(HOST:PORT) or C(http://HOST:PORT). If omitted, nothing is traced."),
        format="otlp_endpoint",
        example="http://otel-collector.monitoring:4317",
    ),
    "sampling": Field(
        "float",
        "Share of the requests that are traced, from 0 to 1. A request with a C(traceparent) header is traced if the header requires it.",
        default=0.1,
        minimum=0,
        maximum=1,
    ),
}
