# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a measurement, as a real browser lays it out."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time

import pytest

from ansible_collections.llm_d.inference.plugins.modules import vllm_perf
from local_servers import chunk, serve, stream

USAGE = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 2}}
OPTIONS = {"model": "acme/tiny", "workload": {"input_len": 6, "output_len": 2}, "max_lag": 5, "max_lag_share": 0, "pause": 0}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="this host has no Chromium")
def test_the_page_fits_a_phone_and_a_desk_in_a_real_browser(call, tmp_path):
    """Every plot that was asked for is drawn with a size and something in it, nothing hangs over, and nothing is loaded from anywhere."""
    def answer(handler, *_request):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nx-inference-pod: pod-a\r\nConnection: close\r\n\r\n")
        for event in (chunk("To "), chunk("day", "length"), USAGE):
            time.sleep(0.01)
            handler.wfile.write(stream(event, done=False))

    with serve(answer) as url:
        call(vllm_perf, url=url, stages=[{"rate": 20, "seconds": 4}, {"rate": 40, "seconds": 2}], artifacts=str(tmp_path), **OPTIONS)
    look = ("const d=f.contentDocument,r=d.documentElement,at=e=>e.getBoundingClientRect();"
            "out.push({over:r.scrollWidth-r.clientWidth,"
            "charts:[...d.querySelectorAll('svg[aria-label]')].map(s=>({name:s.getAttribute('aria-label'),wide:at(s).width,"
            "marks:s.querySelectorAll('path.line,rect').length})),loaded:f.contentWindow.performance.getEntriesByType('resource').length})")
    frames = "".join(f'<iframe style="width:{width}px;height:800px"></iframe>' for width in (390, 1280))
    page = json.dumps((tmp_path / "report.html").read_text()).replace("</", "<\\/")
    script = (f"const out=[],page={page};let left=2;for(const f of document.querySelectorAll('iframe')){{f.onload=()=>{{{look};"
              "if(!--left)document.body.innerText='FOUND'+JSON.stringify(out)+'END'};f.srcdoc=page}")
    (tmp_path / "look.html").write_text(f"<!doctype html><body>{frames}<script>{script}</script></body>")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", f"--user-data-dir={tmp_path / 'profile'}",
               "--window-size=1400,1800", "--dump-dom", f"file://{tmp_path / 'look.html'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = json.loads(re.search(r"FOUND(.*)END", done.stdout)[1].replace("&amp;", "&"))
    assert len(found) == 2
    for seen in found:
        empty = [chart for chart in seen["charts"] if chart["wide"] < 250 or not chart["marks"]]
        assert empty == [] and seen["over"] <= 0 and seen["loaded"] == 0
        names = {chart["name"] for chart in seen["charts"]}
        assert {"Throughput by load", "Time to first token by load, 90th percentile", "Time to first token", "Time to last token", "Time per output token",
                "Time between tokens", "Time to first token over time", "Requests per server"} <= names
