# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Text for people: sentences in lines, and the figures of a quick benchmark: how long each server took for each answer."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.llm_d.inference.plugins.filter.readable import health_table, readable
from ansible_collections.llm_d.inference.plugins.module_utils.report.text import LINE, MARGIN

STAYS = "the controller gateway.envoyproxy.io/gatewayclass-controller stays, and with it what it needs: Gateway llm-d/llm-d-gateway of instance llm-d"


def test_sentences_are_wrapped_but_commands_and_table_rows_are_not(monkeypatch):
    monkeypatch.setattr("ansible_collections.llm_d.inference.plugins.filter.readable.shows_yaml", lambda: False)
    assert LINE + MARGIN == 80
    lines = readable([STAYS, "short"], wrap=True)
    assert max(map(len, lines)) <= LINE and [line[:2] for line in lines] == ["th", "  ", "  ", "sh"], lines
    assert "".join(line.strip() for line in lines[:-1]).replace(" ", "") == STAYS.replace(" ", "")
    assert readable([STAYS]) == STAYS, "a command or a row of a table stays as it is"


def server(name, healthy=True, **took):
    checks = [{"name": check, "ok": ms is not None, "ms": ms or 9.9, "evidence": "", "remedy": "", "kind": ""} for check, ms in took.items()]
    return {"server": name, "healthy": healthy, "checks": checks}


def test_the_health_table_has_a_row_per_server_and_a_column_per_request():
    good = {
        "item": [{"name": "sim"}, {"label_selector": "a=b,llm-d.ai/role=decode"}],
        "engine": "vllm",
        "version": "0.33.0",
        "servers": [
            server("Pod llm-d/sim-decode-a", health=2.11, models=3.4, completions_streamed=123.4),
            server("Pod llm-d/sim-decode-b", False, health=2.1, models=None),
        ],
    }
    assert health_table([good]) == [
        "sim: 1 of 2 servers answer (vllm 0.33.0)",
        "server        health  models  completions streamed",
        "sim-decode-a  2.1 ms  3.4 ms                123 ms",
        "sim-decode-b  2.1 ms  failed                     -",
        "",
    ]


def test_the_health_table_reports_why_a_group_has_no_servers():
    assert health_table([{"item": [{"name": "sim"}, {"label_selector": "llm-d.ai/role=prefill"}], "failed": True, "msg": "no pod is selected"}]) == [
        "sim, prefill: 0 of 0 servers answer",
        "  no pod is selected",
        "",
    ]


@pytest.mark.parametrize("results", [None, "text", [{"item": "a"}], [1]])
def test_the_health_table_refuses_invalid_results(results):
    with pytest.raises(AnsibleFilterError, match="health_table takes"):
        health_table(results)
