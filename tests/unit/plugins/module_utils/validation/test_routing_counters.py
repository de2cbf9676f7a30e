# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answered and waiting requests of a server are read from the metrics of its own engine."""

from __future__ import annotations

import types

import engine_servers as pages
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.k8s.client import connect
from ansible_collections.llm_d.inference.plugins.module_utils.validation.routing_counters import WAITING, Servers

ROWS = [
    ("vllm", "/metrics", 'vllm:request_success_total{finished_reason="stop"} 4\nvllm:request_success_total{finished_reason="length"} 3\n' + pages.VLLM, 0),
    ("sglang", "/metrics", 'sglang:num_requests_total{model_name="m"} 7\n' + pages.SGLANG, 2),
    ("trtllm", "/prometheus/metrics", 'trtllm_request_success_total{model_name="m"} 7\n' + pages.TRTLLM, 0),
    ("triton_openai", "/metrics", pages.TRITON_VLLM.replace("} 5", "} 7"), 0),
    ("tgi", "/metrics", "tgi_request_success 7\n" + pages.TGI, 2),
]


@pytest.mark.parametrize(("engine", "path", "page", "waiting"), ROWS, ids=[row[0] for row in ROWS])
def test_answered_and_waiting_requests_are_read_from_each_engines_metrics(engine, path, page, waiting, monkeypatch):
    with pages.cluster(monkeypatch, pages.engine(engine, **{path: (200, pages.TEXT, page)})):
        servers = Servers(connect(types.SimpleNamespace(params={})), "llm-d", [{"role": "decode", "labels": pages.TINY, "port": "8000"}])
        assert servers.answered("decode", 5) == {"pod-0": 7}
        assert servers.find("decode")[0].total(WAITING, 5) == waiting


def test_metrics_of_an_unknown_engine_count_no_requests(monkeypatch):
    with pages.cluster(monkeypatch, pages.engine("vllm", **{"/metrics": (200, pages.TEXT, "go_goroutines 7\n")})):
        servers = Servers(connect(types.SimpleNamespace(params={})), "llm-d", [{"role": "decode", "labels": pages.TINY, "port": "8000"}])
        assert servers.answered("decode", 5) == {"pod-0": 0}
