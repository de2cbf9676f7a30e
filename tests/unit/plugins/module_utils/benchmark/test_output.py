# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A request as a row of requests.csv; the log of a Job in the cluster, as it is written and read."""

from __future__ import annotations

import base64
import csv
import io
import json
import random

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import output
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.record import Record
from ansible_collections.llm_d.inference.plugins.module_utils.loadgen.schedule import Step


def test_more_requests_than_a_log_holds_are_counted():
    rows = output.OutputRows(most=2000)
    for index in range(60000):
        rows.write(f"{index},{index * 7919 % 10007}\n")
    parsed = output.read("noise\n" + "\n".join(rows.lines()) + "\n" + json.dumps({"about": {}, "stages": [], "verdict": "passed"}) + "\n")
    kept = parsed.rows.splitlines()
    assert kept[1] == "1,7919" and len(kept) + parsed.left_out == 60000 and 0 < len(kept) < 60000


def test_the_result_is_read_from_any_line_of_the_log():
    rows = output.OutputRows()
    rows.write("0,1\n")
    result = {"about": {}, "stages": [], "verdict": "passed"}
    parsed = output.read("\n".join(["rate 4: 2 s", *rows.lines(), json.dumps(result), "rate 4: 4 s, 22 ended", "{not JSON"]))
    assert parsed.whole == result and parsed.rows == "0,1\n"
    with pytest.raises(ValueError, match="^rate 4: 4 s, 22 ended$"):
        output.read("\n".join([*rows.lines(), "rate 4: 4 s, 22 ended", json.dumps(result)[:-3]]))


def cells(record):
    file = io.StringIO()
    output.CsvRows(file)(record, Step(rate=2, seconds=1))
    (row,) = csv.DictReader(io.StringIO(file.getvalue()))
    return row


def test_a_request_by_hand():
    """Times in seconds to a millionth, latencies in milliseconds to a thousandth; nothing where there is no value."""
    record = Record(
        7, 3, 1.0, 1.0012345678, 1.2, 1.6, 1.75, 200, 64, 5, 32, "pod-a", [0.1, 0.25, 0.05], 12.5, 4, "acme/tiny", 2, "usage", "text", None, None
    )  # fmt: skip
    assert cells(record) == {
        "stage": "rate 2", "number": "7", "turn": "2", "group": "3", "model": "acme/tiny", "server": "pod-a", "planned_s": "1.0", "sent_s": "1.001235",
        "first_s": "1.2", "last_s": "1.6", "end_s": "1.75", "status": "200", "error": "", "prompt_tokens": "64", "output_tokens": "5", "cached_tokens": "32",
        "token_source": "usage", "chunks": "4", "ttft_ms": "198.765", "ttft_from_schedule_ms": "200.0", "tpot_ms": "100.0", "ntpot_ms": "119.753",
        "e2e_ms": "598.765", "e2e_from_schedule_ms": "600.0", "itl_max_ms": "250.0", "queue_ms": "12.5", "send_lag_ms": "1.235", "detail": "",
    }  # fmt: skip
    failed = cells(Record(0, 0, 1.0, end=2.0, error="in_flight", detail="not sent"))
    assert {name for name, value in failed.items() if value} == {
        "stage", "number", "turn", "group", "planned_s", "end_s", "error", "token_source", "chunks", "detail",
    }  # fmt: skip


@pytest.mark.parametrize(("text", "shown"), [("=1", "'=1"), ("+1", "'+1"), ("-1", "'-1"), ("@a", "'@a"), ("\ta", "'\ta"), ("a=1", "a=1"), ("", "")])
def test_spreadsheet_formulas_in_texts_of_a_server_are_escaped(text, shown):
    row = cells(Record(0, 0, 0.0, server=text, error="x", detail=text))
    assert (row["server"], row["detail"]) == (shown, shown)


def test_a_log_holds_four_mib_in_lines_that_a_node_keeps_whole():
    rows, dice = output.OutputRows(), random.Random(1)
    for _number in range(60):
        rows.write(base64.b85encode(dice.randbytes(80_000)).decode() + "\n")
    written = list(rows.lines())
    parsed = output.read("\n".join([*written, json.dumps({"about": {}, "stages": [], "verdict": "passed"})]))
    size = sum(len(base64.b64decode(json.loads(each)["rows"])) for each in written)
    assert 4 << 20 <= size < (4 << 20) + 200_000 and max(map(len, written)) < 66_000 and len(written) < 100
    assert 0 < parsed.left_out < 10 and parsed.rows.count("\n") == 60 - parsed.left_out


def test_the_last_words_of_a_log():
    assert output.last_line(["first", "last", '{"rows": ""}']) == "last" and output.last_line(['{"rows": ""}']) == output.last_line([]) == "its log is empty"
