# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of a measurement, of a benchmark of several services and of a verdict, as a real browser lays them out."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import time

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import page as perf_page
from ansible_collections.llm_d.inference.plugins.module_utils.validation import fleet, verdict, verdict_page
from ansible_collections.llm_d.inference.plugins.module_utils.validation.claims import claim
from ansible_collections.llm_d.inference.plugins.modules import vllm_perf
from local_servers import chunk, serve, stream

pytestmark = pytest.mark.rest

USAGE = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 2}}
OPTIONS = {"model": "acme/tiny", "workload": {"input_len": 6, "output_len": 2}, "max_lag": 5, "max_lag_share": 0, "pause": 0}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = (390, 1280)  # of a phone and of a desk
PLOTS = {
    "Throughput by load",
    "Time to first token by load, 90th percentile",
    "Time to first token",
    "Time to last token",
    "Time per output token",
    "Time between tokens",
    "Time to first token over time",
    "Requests per server",
}
# Of every frame: overflow, plots, words that extend beyond their plot (a letter's box is a little larger than the letter) or box, and loaded resources.
LOOK = """const d=f.contentDocument,r=d.documentElement,at=e=>e.getBoundingClientRect();
const out=e=>{const a=at(e),b=at(e.closest('svg'));return a.left<b.left-2||a.right>b.right+2||a.top<b.top-2||a.bottom>b.bottom+2};
found.push({over:r.scrollWidth-r.clientWidth,high:r.scrollHeight,
charts:[...d.querySelectorAll('svg[aria-label]')].map(s=>({name:s.getAttribute('aria-label'),wide:at(s).width,
marks:s.querySelectorAll('path.line,rect').length})),
cut:[...[...d.querySelectorAll('svg text')].filter(out),
...[...d.querySelectorAll('p,li,h1,h2,dd,dt,pre,span,figure')].filter(e=>e.scrollWidth>e.clientWidth+1&&e.clientWidth)
].map(e=>e.textContent),loaded:f.contentWindow.performance.getEntriesByType('resource').length})"""
CLAIMS = [
    claim("platform/kubernetes", True, "Kubernetes v1.34.4", "", 0.1),
    claim("gateway/programmed", True, "Gateway llm-d/llm-d-gateway is accepted", "", 0.02),
    claim(
        "meta-llama-3-1-8b-instruct/sticky",
        False,
        "6 requests with one shared prefix went to meta-llama-3-1-8b-instruct-decode-5d9f7c6b4-x8zkq (3), "
        "meta-llama-3-1-8b-instruct-decode-5d9f7c6b4-b2h4n (3) (x-inference-pod)",
        "check that the prefix scorer is in the picker's configuration",
        0.75,
    ),
    claim("meta-llama-3-1-8b-instruct/performance", True, "rate 4: 40 of 40 requests, 90 % of first tokens within 12 ms, 64 output tokens/s", "", 10.0),
]


def answer(handler, *_request):
    """Two tokens, 10 ms apart."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nx-inference-pod: pod-a\r\nConnection: close\r\n\r\n")
    for event in (chunk("To "), chunk("day", "length"), USAGE):
        time.sleep(0.01)
        handler.wfile.write(stream(event, done=False))


@pytest.fixture(scope="module", name="whole")
def measured(tmp_path_factory):
    """A whole result, as it was written, with objectives and a baseline, and its page."""
    folder = tmp_path_factory.mktemp("measured")
    first = {"stages": [{"rate": 20, "seconds": 1}, {"rate": 40, "seconds": 1}]}
    again = {
        "stages": [{"rate": 20, "seconds": 4}, {"rate": 40, "seconds": 2}],
        "baseline": str(folder / "result.json"),
        "slo": {"ttft_p90_ms": 5000, "tpot_p90_ms": 0.01},
    }
    with serve(answer) as url:
        for options in (first, again):
            with patch_module_args({"url": url, "artifacts": str(folder), **options, **OPTIONS}), pytest.raises(SystemExit):
                vllm_perf.main()
    return json.loads((folder / "result.json").read_text()), (folder / "report.html").read_text()


def performance(whole):
    """The page that vllm_perf writes."""
    return whole[1]


def benchmark(whole):
    """The page that playbooks/benchmark.yml writes for two services."""
    return perf_page.together("Benchmark", [("llama-8b", whole[0]), ("qwen-32b", whole[0])])


def judged(_whole):
    """The page that playbooks/validate.yml writes."""
    endpoint = {"name": "llama-8b", "url": "http://10.216.7.20", "model": "meta-llama/Llama-3.1-8B-Instruct", "host_header": None}
    return verdict_page.page(
        verdict.verdict(
            CLAIMS,
            [{"id": "llama-8b/obeyed", "why": "this release does not count attempts by server"}],
            [endpoint],
            {"release": "scheduler-0.7", "kubernetes": None},
            "2026-11-21T12:00:00Z",
        )
    )


def clusters(_whole):
    """The page that a run on several clusters writes."""
    validated = {"verdict": json.loads(json.dumps(verdict.verdict(CLAIMS, [], [], {"kubernetes": "v1.34.4"}, "2026-11-21T12:00:00Z")))}
    lost = {"failure": {"task": "preflight | Look", "msg": "no answer from " + "https://10.0.0.1/" + 40 * "long", "reached": False}}
    rows = {name: fleet.row(name, facts, "2026-11-21T12:00:00Z", False, "../x/report.html") for name, facts in (("berlin", validated), (30 * "paris", lost))}
    return fleet.page(fleet.report(list(rows), rows, {}, "2026-11-21T12:00:00Z"))


def browser(folder, *arguments):
    """The output of a run of Chromium."""
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--virtual-time-budget=20000",
        f"--user-data-dir={folder / 'profile'}",
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout


def frames(folder, text, height, script=""):
    """A document with the page in a frame of each width, side by side: a window of Chromium is 500 pixels wide at least."""
    page = json.dumps(text).replace("</", "<\\/")
    made = "".join(f'<iframe style="width:{width}px;height:{height}px;border:0;float:left"></iframe>' for width in WIDTHS)
    (folder / "look.html").write_text(
        '<!doctype html><meta charset="utf-8"><body style="margin:0">'
        + made
        + f"<script>const page={page};let left={len(WIDTHS)};const found=[];for(const f of document.querySelectorAll('iframe'))"
        f"{{f.onload=()=>{{{script}}};f.srcdoc=page}}</script>",
        encoding="utf-8",
    )
    return f"file://{folder / 'look.html'}"


@pytest.mark.skipif(CHROMIUM is None, reason="this host has no Chromium")
@pytest.mark.parametrize(("made", "plots"), [(performance, PLOTS), (benchmark, PLOTS), (judged, set()), (clusters, set())])
def test_the_page_fits_a_phone_and_a_desk_in_a_real_browser(whole, tmp_path, made, plots):
    """Every requested plot is drawn with a size and content, nothing overflows or is cut off, and no resource is loaded."""
    text = made(whole)
    script = "if(!--left)document.body.innerText='FOUND'+JSON.stringify(found)+'END'"
    done = browser(tmp_path, "--window-size=1700,1800", "--dump-dom", frames(tmp_path, text, 800, f"{LOOK};{script}"))
    layouts = json.loads(re.search(r"FOUND(.*)END", done)[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    assert len(layouts) == len(WIDTHS)
    for layout in layouts:
        empty = [chart for chart in layout["charts"] if chart["wide"] < 250 or not chart["marks"]]
        assert empty == [] and layout["over"] <= 0 and layout["loaded"] == 0 and layout["cut"] == []
        assert plots <= {chart["name"] for chart in layout["charts"]}
    # for people: `pytest --basetemp` sets where it is kept
    size, picture = (sum(WIDTHS), max(layout["high"] for layout in layouts)), tmp_path / "page.png"
    browser(tmp_path, f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}", frames(tmp_path, text, size[1]))
    assert struct.unpack(">II", picture.read_bytes()[16:24]) == size and picture.stat().st_size > 50_000
