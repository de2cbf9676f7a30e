# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The vllm_perf module as Ansible runs it, against servers on loopback, some of which misbehave."""

from __future__ import annotations

import csv
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import argument_spec, bundle, worker_count
from ansible_collections.llm_d.inference.plugins.modules import vllm_perf
from local_servers import JSON, SSE, chunk, closed_port, serve, stream, whole
from module_calls import user_output

USAGE = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}}
SMALL = {"input_len": 6, "output_len": 2}
LOAD = {"stages": [{"rate": 1, "seconds": 1}]}
OPTIONS = {"model": "acme/tiny", "workload": SMALL, "max_lag": 60, "max_lag_share": 0, "pause": 0}


class Server:
    """Answers completions; records its requests. `fail` is a function of the number of the request that gives another answer or None; `gap`: seconds
    from the first token to the rest."""

    def __init__(self, fail=lambda number: None, reports_usage=True, wait=0.0, tokenize=True, gap=0.0):
        self.gap = gap
        self.requests, self.fail, self.usage, self.wait, self.tokenize = [], fail, USAGE if reports_usage else None, wait, tokenize
        self.running = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, handler, method, path, body):
        request = json.loads(body)
        if path == "/tokenize":
            prompt = request.get("prompt") or " ".join(message["content"] for message in request["messages"])
            count = len(prompt.split()) if self.tokenize is True else self.tokenize
            return (200, {"Content-Type": JSON}, json.dumps({"count": count})) if self.tokenize else (404, {}, "")
        with self._lock:
            number = len(self.requests)
            self.requests.append({**request, "path": path, "key": handler.headers.get("Authorization"), "port": handler.client_address[1]})
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(self.wait)
        with self._lock:
            self.running -= 1
        if other := self.fail(number):
            return other
        headers = {"x-inference-pod": f"pod-{number % 2}"}
        if not request.get("stream"):
            return 200, {"Content-Type": JSON, **headers}, whole()
        first, rest = stream(chunk("To "), done=False), stream(chunk("day", "length"), *([self.usage] if self.usage else []))
        if not self.gap:
            return 200, {"Content-Type": SSE, **headers}, first + rest
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + first)
        time.sleep(self.gap)
        handler.wfile.write(rest)
        return None


def test_a_closed_loop_keeps_so_many_in_flight(call):
    server = Server(wait=0.05)
    with serve(server) as url:
        result = call(vllm_perf, url=url, warmup={"concurrency": 2, "requests": 4}, stages=[{"concurrency": 4, "requests": 30}], api_key="sk-secret", **OPTIONS)
    stage = result["stages"][0]
    assert result["verdict"] == "passed" and stage["ok"] == 30 and stage["concurrency"] == 4 and server.most == 4
    # one for the check before the run, four to warm up
    assert len(server.requests) == 35 and {each["key"] for each in server.requests} == {"Bearer sk-secret"} and "sk-secret" not in user_output(result)
    assert stage["ttft_ms"]["min"] >= 50 and stage["output_tokens"] == 60 and stage["hit_ratio"] == 0.25 and set(stage["servers"]) == {"pod-0", "pod-1"}
    assert len({each["port"] for each in server.requests}) == 4 and len({each["prompt"] for each in server.requests}) == 35
    # one process has one thread: it took some of the processor, and no more than one core
    assert 0 < stage["client_cpu"] <= 1.05 and 0 < result["client"]["cpu"] <= 1.05


def test_keys_in_headers_are_in_no_output(call, tmp_path):
    """Numbers and words of the result that a header without a credential also contains are not masked."""
    plain = {"x-priority": "1", "x-tenant": "7", "x-team": "tiny", "x-trace": "the-number-of-a-trace"}
    headers = {"Authorization": "Bearer planted-key", "X-Api-Key": "planted", "Cookie": "theme=dark; session=planted-session", **plain}

    class Echoing(Server):
        def __call__(self, handler, method, path, body):
            if path.endswith("/completions") and len(self.requests) % 2:
                self.requests.append({"key": handler.headers["Authorization"]})
                return 400, {}, f"refused: planted-key, {handler.headers['X-Api-Key']}, planted-session, {handler.headers['x-trace']}"
            return super().__call__(handler, method, path, body)

    with serve(Echoing()) as url:
        result = call(vllm_perf, url=url, stages=[{"concurrency": 1, "requests": 7}], headers=headers, artifacts=str(tmp_path / "kept"), **OPTIONS)
    assert "planted" not in user_output(result) and all(f'"{name}": "{value}"' in user_output(result) for name, value in plain.items())
    stage = result["stages"][0]
    assert (
        stage["requests"] == 7 and stage["concurrency"] == 1 and stage["failed"] and "refused: ***, ***, ***, the-number-of-a-trace" in stage["error_example"]
    ), stage
    assert not [path.name for path in (tmp_path / "kept").rglob("*") if path.is_file() and "planted" in path.read_text(encoding="utf-8")]


@pytest.mark.timing
def test_a_pause_of_the_server_shows_in_the_times_from_the_schedule(call):
    """Coordinated omission: with few in flight, requests that could not be sent in the pause would not be counted."""

    def answer(server, pause=1.0):
        first = []  # the client may take long to start

        def wait(number):
            first.append(time.monotonic())
            at = first[0] + 1.0
            if at < time.monotonic() < at + pause:
                time.sleep(max(0.0, at + pause - time.monotonic()))

        server.fail = wait
        return server

    with serve(answer(Server())) as url:
        stage = call(vllm_perf, url=url, stages=[{"rate": 50, "seconds": 3}], arrivals="constant", **OPTIONS)["stages"][0]
    assert stage["failed"] == 0 and stage["requests"] == 150 and stage["ttft_from_schedule_ms"]["p99"] > 900 and stage["ttft_from_schedule_ms"]["p50"] < 300


@pytest.mark.timing
def test_a_client_that_stalls_is_invalid_and_not_slow(call):
    server = Server()

    def stall(number):
        if number == 20:
            stopper.set()

    stopper = threading.Event()
    # a thread that holds the interpreter as a busy host would: a search that takes long and releases nothing
    thread = threading.Thread(target=lambda: (stopper.wait(5), re.match(r"(a+)+b", "a" * 22)), daemon=True)
    thread.start()
    server.fail = stall
    with serve(server) as url:
        result = call(vllm_perf, url=url, stages=[{"rate": 100, "seconds": 1}], **{**OPTIONS, "max_lag": 0.05})
    assert result["failed"] and result["verdict"] == "invalid" and "sent late" in result["msg"] and not result["stages"][0]["valid"]


def test_every_kind_of_failure_counts(call):
    bad = {
        3: (503, {"Content-Type": "text/plain"}, "no healthy upstream"),
        5: (200, {"Content-Type": SSE}, stream(chunk("a"), {"error": {"message": "died"}})),
        7: (200, {"Content-Type": SSE}, stream(chunk("a"), done=False)),
        9: (200, {"Content-Type": SSE}, stream(chunk("", "stop"))),
        11: (200, {"Content-Type": SSE}, stream(chunk("a", "stop"), {**USAGE, "usage": {"completion_tokens": 1}})),
        13: (200, {"Content-Type": SSE}, b"data: {\xff}\n\n"),
        15: (200, {"Content-Type": "text/html"}, "<html>"),
    }
    with serve(Server(fail=bad.get)) as url:
        result = call(vllm_perf, url=url, stages=[{"concurrency": 1, "requests": 29}], slo={"error_rate_max": 0.1, "ttft_p50_ms": 5000}, **OPTIONS)
    assert result["stages"][0]["errors"] == {"http_503": 1, "error_in_stream": 1, "truncated": 1, "empty": 1, "short": 1, "bad_event": 1, "not_streamed": 1}
    message = "error_rate_max: 0.24138 misses the objective of at most 0.1 (1 bad_event, 1 empty, 1 "
    assert result["failed"] and result["verdict"] == "failed" and len(result["why"]) == 1 and message in result["msg"] and "; one of them: " in result["msg"]


@pytest.mark.parametrize(("tokenize", "source"), [(True, "tokenize"), (False, "chunks"), (10**400, "chunks")], ids=["tokenize", "none", "nonsense"])
def test_tokens_without_reported_usage_are_counted_by_tokenize_or_chunks(call, tokenize, source):
    server = Server(reports_usage=False, tokenize=tokenize)
    with serve(server) as url:
        stage = call(vllm_perf, url=url, stages=[{"concurrency": 2, "requests": 5}], **{**OPTIONS, "ignore_eos": False})["stages"][0]
    assert stage["token_source"] == {source: 5} and stage["output_tokens"] == 10 and stage["prompt_tokens"] == (30 if source == "tokenize" else 0)
    assert stage["output_tokens_per_s"] > 0 and (stage["prompt_tokens_per_s"] is None) == (stage["total_tokens_per_s"] is None) == (source == "chunks")


@pytest.mark.parametrize(("reported", "n", "p50"), [(12.5, 5, 12.5), (True, 0, None), (-1, 0, None), ("x", 0, None), (float("inf"), 0, None)])
def test_the_time_in_the_server_s_queue(call, reported, n, p50):
    server = Server()
    server.usage = {**USAGE, "usage": {**USAGE["usage"], "queue_time_ms": reported}}
    with serve(server) as url:
        stage = call(vllm_perf, url=url, stages=[{"concurrency": 1, "requests": 5}], **OPTIONS)["stages"][0]
    assert stage["ok"] == 5 and stage["queue_ms"]["n"] == n and stage["queue_ms"]["p50"] == (p50 and pytest.approx(p50, rel=0.001))


def test_answers_that_are_not_streamed(call):
    server = Server()
    with serve(server) as url:
        stage = call(vllm_perf, url=url, stream=False, ignore_eos=False, extra_body={"top_p": 0.5}, stages=[{"concurrency": 1, "requests": 3}], **OPTIONS)[
            "stages"
        ][0]
    assert stage["ok"] == 3 and stage["output_tokens"] == 3 and "stream" not in server.requests[1] and server.requests[1]["top_p"] == 0.5
    assert stage["ttft_ms"]["max"] == stage["e2e_ms"]["max"]


def test_uncounted_tokens_of_unstreamed_answers_are_unknown(call, tmp_path):
    """An answer in one piece is one chunk, however many tokens it has: counted as one token, it would have a sixteenth of its rate, and pass as good."""
    body = json.dumps({key: value for key, value in json.loads(whole()).items() if key != "usage"})
    server = Server(tokenize=False, fail=lambda number: (200, {"Content-Type": JSON}, body))
    wanted = {"slo": {"output_tokens_per_s_min": 0.1, "error_rate_max": 0}, "goodput": {"tpot_ms": 1000}, "artifacts": str(tmp_path)}
    with serve(server) as url:
        result = call(vllm_perf, url=url, stream=False, stages=[{"concurrency": 1, "requests": 5}], **wanted, **OPTIONS)
    (stage,) = result["stages"]
    assert stage["ok"] == 5 and stage["token_source"] == {"none": 5} and stage["output_tokens_per_s"] is stage["goodput_tokens_per_s"] is None
    assert stage["goodput_share"] == 0 and stage["ntpot_ms"]["n"] == 0 and stage["requests_per_s"] > 0
    assert result["why"] == ["concurrency 1: output_tokens_per_s_min: no value (the tokens were not counted) misses the objective of at least 0.1"]
    report = json.loads((tmp_path / "benchmark_report_0.json").read_text(encoding="utf-8"))
    assert list(report["results"]["request_performance"]["aggregate"]["throughput"]) == ["request_rate"]
    assert "<td>-</td>" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("streamed", "gap"), [(False, 0.0), (True, 0.0), pytest.param(True, 0.02, marks=pytest.mark.timing)], ids=["whole", "held back on the way", "streamed"]
)
def test_token_latency_objectives_fail_when_answers_come_in_one_piece(call, streamed, gap):
    """Answers in one piece, because streaming was not requested or because a proxy collects them."""
    content = {**json.loads(whole()), "usage": {"prompt_tokens": 20, "completion_tokens": 2}}
    server = Server(gap=gap, fail=lambda number: None if streamed else (200, {"Content-Type": JSON}, json.dumps(content)))
    wanted = {"slo": {"tpot_p50_ms": 1000, "itl_max_ms": 1000}, "goodput": {"tpot_ms": 1000}}
    with serve(server) as url:
        result = call(vllm_perf, url=url, stream=streamed, stages=[{"concurrency": 1, "requests": 5}], **wanted, **OPTIONS)
    (stage,) = result["stages"]
    assert stage["ok"] == 5 and stage["output_tokens"] == 10
    if gap:
        assert result["verdict"] == "passed" and stage["goodput_share"] == 1 and stage["tpot_ms"]["n"] == stage["itl_ms"]["n"] == 5
    else:
        assert result["verdict"] == "failed" and stage["goodput_share"] == 0 and stage["tpot_ms"]["n"] == 0 and stage["tpot_ms"]["p50"] is None
        assert all(f"{name}: no value (the tokens of each answer came in one piece" in result["msg"] for name in wanted["slo"])


def test_chats_of_a_closed_loop(call):
    server = Server()
    chats = {"kind": "chats", "groups": 2, "turns": 3, "system_prompt_len": 5, "question_len": 3, "output_len": 2}
    with serve(server) as url:
        stage = call(vllm_perf, url=url, api="chat_completions", stages=[{"concurrency": 2, "requests": 4}], **{**OPTIONS, "workload": chats})["stages"][0]
    assert stage["requests"] == 12 and sorted(len(each["messages"]) for each in server.requests[1:]) == [2] * 4 + [4] * 4 + [6] * 4
    last = next(each for each in server.requests if len(each.get("messages", ())) == 6)
    assert last["messages"][2] == {"role": "assistant", "content": "To day"} and last["path"] == "/v1/chat/completions"


LENGTHS = [(5, 2), (9, 1), (3, 2), (7, 2), (5, 1)]
MOONCAKE = "\n".join(
    json.dumps({"timestamp": 400 * number, "input_length": prompt, "output_length": output, "hash_ids": [number]})
    for number, (prompt, output) in enumerate(LENGTHS)
)
BURST = "\n".join(
    [
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
        "0.1,GPT-4,8,0,8,API log",
        *(f"{0.4 * number},ChatGPT,{prompt},{output},{prompt + output},Conversation log" for number, (prompt, output) in enumerate(LENGTHS)),
    ]
)


@pytest.mark.parametrize(("kind", "text"), [("mooncake", MOONCAKE), ("burstgpt", BURST)])
def test_a_trace_is_sent_at_its_times(call, tmp_path, kind, text):
    """Prompts and answers have the recorded lengths; a BurstGPT request without a recorded answer is left out."""
    trace = tmp_path / "trace"
    trace.write_text(text)
    workload = {"kind": "trace", "format": kind, "path": str(trace), "speed": 4, "block_len": 4}
    server = Server()
    with serve(server) as url:
        stage = call(vllm_perf, url=url, **{**OPTIONS, "workload": workload})["stages"][0]
    assert stage["label"] == "trace" and stage["ok"] == 5
    # the check before the run has a prompt of its own; two requests that are due 100 ms apart may arrive in another order on a busy host
    sent = [(len(each["prompt"].split()), each["max_tokens"]) for each in server.requests if each["prompt"] != "Hello"]
    assert sorted(sent) == sorted(LENGTHS)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_warm_up_does_not_shift_a_trace(call, tmp_path, processes):
    """Each entry is sent at its own time, and no entry beyond the requested number. The warm-up sends entries of the same trace, with other words."""
    trace = tmp_path / "trace.jsonl"
    times = [0, 100, 200, 600, 700, 900]  # milliseconds
    trace.write_text("\n".join(json.dumps({"timestamp": at, "input_length": 10 + at // 100, "output_length": 2}) for at in times))
    workload = {"kind": "trace", "path": str(trace), "requests": 4}
    server = Server()
    with serve(server) as url:
        options = {"warmup": {"concurrency": 1, "requests": 3}, "processes": processes, "artifacts": str(tmp_path)}
        stage = call(vllm_perf, url=url, **options, **{**OPTIONS, "workload": workload})["stages"][0]
    sent = [each["prompt"] for each in server.requests if each["prompt"] != "Hello"]
    assert stage["ok"] == 4 and [len(prompt.split()) for prompt in sent[:3]] == [10, 11, 12] and len(set(sent)) == 7
    assert sorted(len(prompt.split()) for prompt in sent[3:]) == [10, 11, 12, 16]
    due = {int(row["number"]): float(row["planned_s"]) for row in csv.DictReader((tmp_path / "requests.csv").open())}
    assert due == {4: 0.0, 5: 0.1, 6: 0.2, 7: 0.6}


def test_own_prompts_for_a_model_and_its_adapters(call, tmp_path, certificate):
    """The certificate of the server is trusted by ca_path; a prompt may name its own model."""
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text("Why is the sky blue?\n" + json.dumps({"prompt": "SELECT", "output_len": 2, "model": "sql-lora"}) + "\n")
    server = Server()
    models = [{"name": "acme/tiny", "weight": 3}, {"name": "chat-lora"}]
    with serve(server, certificate) as url:
        result = call(
            vllm_perf,
            url=url,
            ca_path=certificate[0],
            models=models,
            workload={"kind": "prompts", "path": str(prompts), "output_len": 2},
            stages=[{"concurrency": 2, "requests": 80}],
            max_lag=5,
            max_lag_share=0,
        )
    stage = result["stages"][0]
    sent = [each for each in server.requests if each["prompt"] != "Hello"]
    assert {(each["prompt"], each["model"]) for each in sent} == {("SELECT", "sql-lora"), *(("Why is the sky blue?", each["name"]) for each in models)}
    assert stage["models"]["sql-lora"] == 40 and stage["models"]["acme/tiny"] + stage["models"]["chat-lora"] == 40
    assert stage["models"]["acme/tiny"] > stage["models"]["chat-lora"] > 0


@pytest.mark.timing
@pytest.mark.parametrize("bound", ["ttft_ms", "e2e_ms"])
def test_good_requests_are_those_that_users_saw_in_time(call, tmp_path, bound):
    """Coordinated omission: a stalled server delays the client as well, whose requests leave late and are answered at once after the stall."""
    held = ctypes.PyDLL(None)  # whose functions keep Python from running anything else, as nothing of `time` does

    def stall(number):
        if number == 5:
            held.usleep(2_000_000)

    options = {**OPTIONS, "max_lag": 30, "artifacts": str(tmp_path)}
    with serve(Server(fail=stall)) as url:
        (stage,) = call(vllm_perf, url=url, arrivals="constant", stages=[{"rate": 10, "seconds": 3}], goodput={bound: 1000}, **options)["stages"]
    rows = list(csv.DictReader((tmp_path / "requests.csv").open()))
    from_due, from_send = (sum(float(row[name]) <= 1000 for row in rows) for name in (bound.replace("_ms", "_from_schedule_ms"), bound))
    # 10 were due in the first second of the two; they left when those were over, and did not take a second from then
    assert stage["ok"] == 30 and stage["goodput_share"] == pytest.approx(from_due / 30, abs=1e-5) and from_due <= 21 and from_send >= from_due + 5


def test_files_that_are_written(call, tmp_path):
    options = {**OPTIONS, "stages": [{"rate": 50, "requests": 20}, {"concurrency": 2, "requests": 10}], "artifacts": str(tmp_path / "out")}
    with serve(Server(fail=lambda number: (503, {}, "busy") if number in (9, 40) else None)) as url:
        first = call(vllm_perf, url=url, api_key="sk-secret", progress_path=str(tmp_path / "progress"), goodput={"ttft_ms": "5000"}, **options)
        again = call(vllm_perf, url=url, baseline=first["artifacts"]["result"], **options)
    out = tmp_path / "out"
    assert [path.rsplit("/", 1)[1] for path in first["artifacts"]["reports"]] == ["benchmark_report_0.json", "benchmark_report_1.json"]
    rows = list(csv.DictReader((out / "requests.csv").open()))
    assert len(rows) == 30 and {row["stage"] for row in rows} == {"rate 50", "concurrency 2"} and sum(bool(row["error"]) for row in rows) == 1
    page = (out / "report.html").read_text()
    assert "<script" not in page and not re.search(r"(src|href)=|url\(http|@import", page) and page.count("<svg") >= 5 and "Requests per server" in page
    assert "Compared with the baseline" in page and len(again["comparison"]) > 4 and "sk-secret" not in "".join(each.read_text() for each in out.iterdir())
    assert first["stages"][0]["goodput_share"] == 0.95 and "series" not in first["stages"][0]
    lines = (tmp_path / "progress").read_text().splitlines()
    assert lines[0].startswith("rate 50: ") and "in flight" in lines[0] and "1 failed" in lines[0]


def test_files_of_the_run_before_do_not_stay_among_new_ones(call, tmp_path):
    """Fewer stages have fewer reports; files of others stay. The result names its deployment."""
    about = {"instance": "blue", "namespace": "team-a", "cluster": "https://10.0.0.1:6443", "release": "router-0.10"}
    options = {**OPTIONS, "artifacts": str(tmp_path), "about": about}
    with serve(Server()) as url:
        call(vllm_perf, url=url, stages=[{"concurrency": 1, "requests": 3}] * 3, **options)
        (tmp_path / "benchmark_report_7.json").write_text("mine", encoding="utf-8")
        call(vllm_perf, url=url, stages=[{"concurrency": 1, "requests": 3}], **options)
    assert sorted(path.name for path in tmp_path.glob("benchmark_report_*")) == ["benchmark_report_0.json", "benchmark_report_7.json"]
    kept = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["about"]
    assert {key: kept[key] for key in about} == about
    assert "blue in namespace team-a on https://10.0.0.1:6443, router-0.10" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.timing
def test_a_worse_run_than_the_baseline_fails(call, tmp_path):
    options = {**OPTIONS, "stages": [{"concurrency": 2, "requests": 40}]}
    with serve(Server()) as url:
        call(vllm_perf, url=url, artifacts=str(tmp_path), **options)
    with serve(Server(wait=0.05)) as url:
        result = call(vllm_perf, url=url, baseline=str(tmp_path / "result.json"), baseline_max_ratio=1.5, **options)
    assert result["failed"] and result["verdict"] == "failed" and "ttft_from_schedule_p50_ms is" in result["msg"]


def test_every_model_is_checked_by_a_request_before_the_load(call):
    def missing(number):
        return (404, {"Content-Type": JSON}, '{"error": {"message": "The model `lora-b` does not exist."}}') if number == 1 else None

    server = Server(fail=missing)
    with serve(server) as url:
        result = call(vllm_perf, url=url, models=[{"name": "acme/tiny"}, {"name": "lora-b"}], stages=[{"rate": 1, "seconds": 1}], workload=SMALL)
    assert result["failed"] and "lora-b" in result["msg"] and "does not exist" in result["msg"] and len(server.requests) == 2


def test_an_unreachable_or_unresolvable_server_is_reported(call):
    result = call(vllm_perf, url=f"http://127.0.0.1:{closed_port()}", stages=[{"rate": 1, "seconds": 60}], **OPTIONS)
    assert result["failed"] and "connection refused" in result["msg"]
    result = call(vllm_perf, url="http://nowhere.invalid", stages=[{"rate": 1, "seconds": 60}], **OPTIONS)
    assert result["failed"] and "nowhere.invalid has no address" in result["msg"]


def test_a_run_without_a_successful_request_fails(call):
    with serve(Server(fail=lambda number: (503, {}, "busy"))) as url:
        result = call(vllm_perf, url=url, stages=[{"concurrency": 2, "requests": 5}], **OPTIONS)
    assert result["failed"] and result["verdict"] == "failed" and "none of 5 requests succeeded: answered 503" in result["msg"]


@pytest.mark.timing
def test_requests_to_a_silent_server_end_at_the_request_timeout(call):
    with serve(Server(fail=lambda number: time.sleep(3) if number else None)) as url:
        result = call(vllm_perf, url=url, stages=[{"concurrency": 3, "requests": 3}], request_timeout=0.4, **OPTIONS)
    assert result["stages"][0]["errors"] == {"timeout": 3} and result["stages"][0]["seconds"] < 1


def test_check_mode_sends_no_requests(call):
    server = Server()
    with serve(server) as url:
        result = call(vllm_perf, check=True, url=url, stages=[{"rate": 1, "seconds": 1}], **OPTIONS)
    assert "check mode" in result["msg"] and server.requests == [] and not result["changed"]


def test_all_mistakes_at_once(call):
    result = call(
        vllm_perf,
        url="ftp://x",
        models=[{"name": "m", "weight": 0}],
        workload={"input_len": 0, "output_len": 9, "output_len_max": 3},
        stages=[{"rate": 1}],
        slo={"soon": 1},
        goodput={"ttft": 1},
        request_timeout=0,
        processes=0,
        headers={"A": "b\r\nC: d"},
    )
    for message in (
        "url: 'ftp://x'",
        "models[0].weight",
        "workload.input_len: 0",
        "workload.output_len_max: 3",
        "stages[0]: give either seconds",
        "slo.soon",
        "goodput.ttft",
        "request_timeout: 0",
        "processes: 0",
        "cannot hold",
    ):
        assert message in result["msg"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": {"rate": 0}}, "a search needs objectives"),
        ({"workload": {"kind": "prompts"}, "stages": [{"rate": 1, "seconds": 1}]}, "workload.path"),
        ({"workload": {"kind": "trace", "path": "/nowhere/trace"}}, "workload.path /nowhere/trace: No such file"),
        ({"baseline": "/dev/null", "stages": [{"rate": 1, "seconds": 1}]}, "baseline /dev/null"),
        ({}, "stages: give at least one"),
        ({"sweep": {"rate": 20, "rate_max": 5}}, "sweep.rate_max: 5 is less than rate, 20; write a rate that is allowed"),
        ({"search": {"rate": 20, "rate_max": 5}, "slo": {"error_rate_max": 0}}, "search.rate_max: 5 is less than rate, 20"),
        ({"sweep": {"rate_max": 0}}, "sweep.rate_max: 0 must be more than 0"),
        ({"sweep": {"seconds": float("nan")}}, "sweep.seconds: nan must be more than 0"),
        ({"sweep": {"factor": float("inf")}}, "sweep.factor: inf must be more than 1"),
        ({"search": {"tolerance": -0.1}, "slo": {"error_rate_max": 0}}, "search.tolerance: -0.1 must be more than 0"),
        ({"search": {"tolerance": 0}, "slo": {"error_rate_max": 0}}, "search.tolerance: 0 must be more than 0"),
        ({**LOAD, "headers": {"X-Tenant": 7}}, "headers.X-Tenant: 7 is no text; write it in quotes"),
        ({**LOAD, "headers": {"X-Tenant": None}}, "headers.X-Tenant: None is no text"),
        ({**LOAD, "headers": {"Content-length": "7"}}, "headers.Content-length: this client writes it itself"),
        ({**LOAD, "slo": {"ttft_p90_ms": True}}, "slo.ttft_p90_ms: True is not a number"),
        ({**LOAD, "goodput": {"ttft_ms": float("inf")}}, "goodput.ttft_ms: inf is not a number above 0"),
        ({**LOAD, "goodput": {"ttft_ms": True}}, "goodput.ttft_ms: True is not a number above 0"),
        ({**LOAD, "request_timeout": float("nan")}, "request_timeout: nan must be more than 0"),
        ({**LOAD, "pause": float("inf")}, "pause: inf must be 0 or more"),
        ({**LOAD, "baseline": "/dev/null", "baseline_max_ratio": 0}, "baseline_max_ratio: 0 must be 1 or more"),
        ({**LOAD, "workload": {"kind": "trace", "path": "x", "requests": 0, "speed": float("nan")}}, "workload.speed: nan must be more than 0"),
        ({**LOAD, "workload": {"kind": "trace", "path": "x", "requests": 0}}, "workload.requests: 0 must be more than 0"),
        ({**LOAD, "model": ""}, "model: the name is missing"),
        ({**LOAD, "model": None, "models": []}, "model: the name is missing"),
        ({**LOAD, "model": None, "models": [{"name": "m", "weight": float("nan")}]}, "models[0].weight: nan must be more than 0"),
    ],
)
def test_invalid_options_are_refused(call, tmp_path, options, message):
    if options.get("workload", {}).get("path") == "x":
        (tmp_path / "x").write_text(MOONCAKE)
        options = {**options, "workload": {**options["workload"], "path": str(tmp_path / "x")}}
    if options.get("baseline_max_ratio") is not None:
        (tmp_path / "old.json").write_text('{"stages": []}')
        options = {**options, "baseline": str(tmp_path / "old.json")}
    result = call(vllm_perf, **{key: value for key, value in {"url": "http://127.0.0.1:1", "model": "m", **options}.items() if value is not None})
    assert result["failed"] and message in result["msg"]


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([{"valid": True, "intervals": {}}], "stages[0].label: missing; a text is needed"),
        ([{"label": "rate 1", "valid": True}, 7], "stages[0].intervals: missing; a map of figures is needed; stages[1]: 7 is no stage"),
        ([{"label": ["rate 1"], "valid": True, "intervals": {}}], "stages[0].label: ['rate 1']; a text is needed"),
        ([{"label": "rate 1", "valid": True, "intervals": {"tpot_p50_ms": [1, 1, 2]}}], "stages[0].intervals.tpot_p50_ms: [1, 1, 2] is no figure"),
        ([{"label": "rate 1", "valid": True, "intervals": {"tpot_p50_ms": {"value": "5", "few": "x"}}}], "stages[0].intervals.tpot_p50_ms"),
        *(
            ([{"label": "rate 1", "valid": True, "intervals": {"tpot_p50_ms": figure}}], "stages[0].intervals.tpot_p50_ms")
            for figure in ({"value": 5, "low": 4, "high": -1, "few": None}, {"value": -5, "low": 4, "high": 6, "few": None}, {"value": 5, "few": ""})
        ),
    ],
)
def test_an_invalid_baseline_is_refused_with_the_path_of_each_mistake(call, tmp_path, stages, message):
    (tmp_path / "old.json").write_text(json.dumps({"stages": stages}))
    result = call(vllm_perf, url="http://127.0.0.1:1", model="m", baseline=str(tmp_path / "old.json"), **LOAD)
    assert result["failed"] and f"baseline {tmp_path}/old.json: {message}" in result["msg"] and "give the result.json of an earlier run" in result["msg"]


def test_a_baseline_of_other_loads_is_inconclusive(call, tmp_path):
    (tmp_path / "old.json").write_text('{"stages": []}')
    with serve(Server()) as url:
        result = call(
            vllm_perf,
            url=url,
            baseline=str(tmp_path / "old.json"),
            baseline_max_ratio=1.1,
            stages=[{"concurrency": 1, "requests": 3}],
            **{**OPTIONS, "max_lag": 30},
        )
    assert not result.get("failed") and result["verdict"] == "inconclusive" and "nothing was compared" in result["why"][0] and result["comparison"] == []


@pytest.mark.parametrize("processes", [1, 2])
def test_a_warm_up_that_failed_is_reported(call, processes):
    """The first request is the check before the run, and the next four warm up."""
    with serve(Server(fail=lambda number: (503, {}, "still loading") if 1 <= number <= 4 else None)) as url:
        result = call(vllm_perf, url=url, warmup={"concurrency": 2, "requests": 4}, stages=[{"concurrency": 2, "requests": 4}], processes=processes, **OPTIONS)
    assert result["warmup"] == {"requests": 4, "failed": 4, "error_example": "answered 503: 'still loading'"}
    assert "warm-up: 4 of 4 requests failed" in str(result["warnings"])


def test_files_that_cannot_be_written(call, tmp_path):
    (tmp_path / "out").write_text("a file")
    server = Server()
    with serve(server) as url:
        result = call(vllm_perf, url=url, artifacts=str(tmp_path / "out"), stages=[{"concurrency": 1, "requests": 3}], **OPTIONS)
    assert result["failed"] and f"artifacts {tmp_path}/out: requests.csv cannot be written" in result["msg"] and server.requests == []


def test_a_closed_loop_is_its_own_bound(call):
    """`in_flight` bounds open loops, where one more request is a failure; a closed loop has its own bound."""
    server = Server(wait=0.1)
    stages = [{"concurrency": 5, "requests": 10}, {"rate": 200, "requests": 10}]
    with serve(server) as url:
        closed, opened = call(vllm_perf, url=url, in_flight=2, stages=stages, arrivals="constant", **{**OPTIONS, "max_lag": 30})["stages"]
    assert closed["ok"] == 10 and 2 < server.most <= 5 and opened["errors"]["in_flight"] > 0


def test_one_file_runs_where_ansible_is_not(tmp_path):
    (tmp_path / "perf.pyz").write_bytes(bundle.bundle())
    assert len(bundle.bundle()) < 200_000  # a ConfigMap can hold 1 MiB
    with serve(Server()) as url:
        given = argument_spec.complete(
            {
                "url": url,
                "model": "acme/tiny",
                "workload": SMALL,
                "stages": [{"concurrency": 2, "requests": 20}],
                "slo": {"error_rate_max": 0},
                "artifacts": str(tmp_path / "out"),
                "max_lag": 1,
                "max_lag_share": 0,
            }
        )
        (tmp_path / "options.json").write_text(json.dumps(given))
        # -I and -S: no site-packages, nothing of this checkout
        done = subprocess.run([sys.executable, "-I", "-S", "perf.pyz", "options.json"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["stages"][0]["ok"] == 20 and "in flight" in done.stderr and (tmp_path / "out" / "report.html").exists()
    done = subprocess.run([sys.executable, "-I", "-S", "perf.pyz", "options.json"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "connection refused" in done.stderr


@pytest.mark.timing
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_load_ends_with_the_client(tmp_path, number, processes):
    """The load ends even if the client is killed without a signal to the processes that send for it."""
    (tmp_path / "perf.pyz").write_bytes(bundle.bundle())
    server = Server()
    with serve(server) as url:
        given = argument_spec.complete({"url": url, "model": "acme/tiny", "workload": SMALL, "stages": [{"rate": 40, "seconds": 60}], "processes": processes})
        (tmp_path / "options.json").write_text(json.dumps(given))
        client = subprocess.Popen(
            [sys.executable, "-I", "-S", "perf.pyz", "options.json"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        late = time.monotonic() + 30
        while len(server.requests) < 20:
            assert time.monotonic() < late and client.poll() is None
            time.sleep(0.02)
        if number == signal.SIGINT:
            os.killpg(client.pid, number)  # as a terminal does
        else:
            client.send_signal(number)
        out, err = client.communicate(timeout=10)
        time.sleep(0.3)
        count = len(server.requests)
        time.sleep(0.7)
        assert len(server.requests) == count and out == "" and "Traceback" not in err, err
        assert client.returncode in (130, 143, -signal.SIGINT, -number)


@pytest.mark.parametrize("stage", [{"concurrency": 3, "requests": 30}, {"rate": 60, "requests": 30}, {"concurrency": 1, "requests": 30}])
def test_several_processes_send_as_one(call, tmp_path, stage):
    server = Server(wait=0.02)
    with serve(server) as url:
        result = call(
            vllm_perf,
            url=url,
            processes=2,
            stages=[stage],
            warmup={"concurrency": 2, "requests": 4},
            artifacts=str(tmp_path),
            api_key="sk-secret",
            progress_path=str(tmp_path / "progress"),
            slo={"error_rate_max": 0},
            **OPTIONS,
        )
    measured = result["stages"][0]
    assert result["verdict"] == "passed" and measured["ok"] == 30 and measured["output_tokens"] == 60
    assert {each["key"] for each in server.requests} == {"Bearer sk-secret"}
    # the check before the run, the warm-up, and no request twice
    assert len(server.requests) == 35 and len({each["prompt"] for each in server.requests}) == 35
    assert len((tmp_path / "requests.csv").read_text().splitlines()) == 31 and "30 ended" in (tmp_path / "progress").read_text()
    if "concurrency" in stage:
        assert server.most <= max(2, stage["concurrency"])


def test_each_stage_uses_as_many_processes_as_its_load_needs(call, tmp_path, monkeypatch):
    """One process sends the first stage, two the second, one the third: no request is sent twice or left out, and all are in the files."""
    monkeypatch.setattr(worker_count, "cores", lambda: 2)
    stages = [{"rate": 50, "requests": 5}, {"rate": 2000, "requests": 60}, {"concurrency": 1, "requests": 4}]
    server = Server()
    with serve(server) as url:
        result = call(vllm_perf, url=url, stages=stages, artifacts=str(tmp_path), **{**OPTIONS, "max_lag": 30})
        alone = call(vllm_perf, url=url, stages=stages[:1], **OPTIONS)
    assert result["verdict"] == "passed" and [each["ok"] for each in result["stages"]] == [5, 60, 4]
    assert result["client"]["processes"] == 2 and alone["client"]["processes"] == 1
    # each measurement has its check before the run
    assert len(server.requests) == 76 and len({each["prompt"] for each in server.requests}) == 75
    rows = list(csv.DictReader((tmp_path / "requests.csv").open()))
    assert [sum(row["stage"] == stage for row in rows) for stage in ("rate 50", "rate 2000", "concurrency 1")] == [5, 60, 4]
