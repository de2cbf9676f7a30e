# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Job in the cluster writes into its log, and what is read of it."""

from __future__ import annotations

import json

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import output


def test_more_requests_than_a_log_holds_are_counted():
    rows = output.OutputRows(most=2000)
    for index in range(60000):
        rows.write(f"{index},{index * 7919 % 10007}\n")
    told = output.read("noise\n" + "\n".join(rows.lines()) + "\n" + json.dumps({"about": {}, "stages": [], "verdict": "passed"}) + "\n")
    kept = told.rows.splitlines()
    assert kept[1] == "1,7919" and len(kept) + told.left_out == 60000 and 0 < len(kept) < 60000


def test_the_result_counts_wherever_it_stands_in_the_log():
    rows = output.OutputRows()
    rows.write("0,1\n")
    result = {"about": {}, "stages": [], "verdict": "passed"}
    told = output.read("\n".join(["rate 4: 2 s", *rows.lines(), json.dumps(result), "rate 4: 4 s, 22 ended", "{not JSON"]))
    assert told.whole == result and told.rows == "0,1\n"
    with pytest.raises(ValueError, match="^rate 4: 4 s, 22 ended$"):
        output.read("\n".join([*rows.lines(), "rate 4: 4 s, 22 ended", json.dumps(result)[:-3]]))
