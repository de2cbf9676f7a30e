# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.llm_d.inference.plugins.filter.readable import readable
from ansible_collections.llm_d.inference.plugins.module_utils.report.text import LINE, MARGIN

STAYS = "the controller gateway.envoyproxy.io/gatewayclass-controller stays, and with it what it needs: Gateway llm-d/llm-d-gateway of instance llm-d"


def test_sentences_are_wrapped_and_nothing_else(monkeypatch):
    monkeypatch.setattr("ansible_collections.llm_d.inference.plugins.filter.readable.shows_yaml", lambda: False)
    assert LINE + MARGIN == 80
    lines = readable([STAYS, "short"], wrap=True)
    assert max(map(len, lines)) <= LINE and [line[:2] for line in lines] == ["th", "  ", "  ", "sh"], lines
    assert "".join(line.strip() for line in lines[:-1]).replace(" ", "") == STAYS.replace(" ", "")
    assert readable([STAYS]) == STAYS, "a command or a row of a table stays as it is"
