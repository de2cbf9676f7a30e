# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/benchmark.yml as a user runs it, against a server on loopback. molecule/scorers/live has the real cluster."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys

import plays
import pytest
from engine_servers import SECRET, SECRETS, ApiServer, engine, listed, pod
from local_servers import JSON, SSE, chunk, closed_port, serve, stream

SERVICES = [
    {"name": name, "model": {"served_name": f"acme/{name}"}, "engine": {"type": "simulator"}, "route": {"path": path}}
    for name, path in (("sim", "/"), ("table", "/table"))
]
USAGE = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 16}}


class Server:
    """Answers for `sim`, and for `table` if that is enabled."""

    def __init__(self, table=True):
        self.table, self.requests = table, []

    def __call__(self, handler, _method, path, body):
        self.requests.append((path, json.loads(body)["model"], handler.headers.get("Authorization")))
        if path.startswith("/table") and not self.table:
            return 404, {"Content-Type": "text/plain"}, "no route"
        return 200, {"Content-Type": SSE}, stream(chunk("To"), chunk("day", "length"), USAGE)


@pytest.fixture(name="play")
def run_playbook(root, tmp_path):
    def run(wanted, *arguments):
        given = {
            "llm_d_model_services": SERVICES,
            "llm_d_charts": {"envoy_gateway": "/charts"},
            "llm_d_benchmark": {"concurrency": [2], "seconds": 0.5, "warmup_seconds": 0, "max_lag_share": 0, "api_key": "sk-secret", **wanted},
        }
        (tmp_path / "vars.json").write_text(json.dumps(given), encoding="utf-8")
        command = [
            *plays.command(),
            "-i",
            "localhost,",
            "-c",
            "local",
            str(root / "playbooks" / "benchmark.yml"),
            "-e",
            f"@{tmp_path / 'vars.json'}",
            "-e",
            f"ansible_python_interpreter={sys.executable}",
            *arguments,
        ]
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
            "no_proxy": "*",
            "ANSIBLE_COLLECTIONS_PATH": str(root / "collections"),
            "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
        }
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
        return done, tmp_path / "artifacts" / "benchmark"

    return run


@pytest.mark.timing
def test_a_benchmark_and_its_baseline(play):
    server = Server()
    with serve(server) as url:
        done, folder = play({"url": url, "slo": {"error_rate_max": 0}})
        assert done.returncode == 0, done.stdout + done.stderr
        folder.rename(folder.parent / "old")
        again, folder = play({"url": url, "baseline": "artifacts/old", "baseline_max_ratio": 100}, "-vvv")
        assert again.returncode == 0, again.stdout + again.stderr
    assert {(path, model) for path, model, _key in server.requests} == {("/v1/completions", "acme/sim"), ("/table/v1/completions", "acme/table")}
    assert {key for _path, _model, key in server.requests} == {"Bearer sk-secret"}
    assert "changed=0" in done.stdout and "sim: passed" in done.stdout and " 1 of 1\n" in done.stdout and "sk-secret" not in done.stdout + again.stdout
    report = json.loads((folder / "report.json").read_text())
    assert report["ok"] and [each["name"] for each in report["services"]] == ["sim", "table"] and report["services"][1]["comparison"]
    assert {file.name for file in (folder / "table").iterdir()} == {"benchmark_report_0.json", "report.html", "requests.csv", "result.json"}
    page = (folder / "report.html").read_text()
    assert page.count("<h1>") == 1 and page.count("All numbers") == 2 and "sk-secret" not in page + json.dumps(report)


@pytest.mark.timing
def test_one_service_that_fails_is_named_and_the_other_measured(play):
    with serve(Server(table=False)) as url:
        done, folder = play({"url": url})
    assert done.returncode != 0 and "table: " in done.stdout and "404" in done.stdout
    sim, table = json.loads((folder / "report.json").read_text())["services"]
    assert sim["ok"] and sim["stages"][0]["ok"] > 0 and not table["ok"] and table["stages"] == []


@pytest.mark.timing
def test_a_missed_objective_fails_once_at_the_end(play):
    with serve(Server()) as url:
        done, folder = play({"url": url, "slo": {"ttft_p50_ms": 0.001}})
    assert done.returncode != 0 and "sim: concurrency 2: ttft_p50_ms" in done.stdout and "table: concurrency 2: ttft_p50_ms" in done.stdout
    assert not json.loads((folder / "report.json").read_text())["ok"]


@pytest.mark.rest
@pytest.mark.parametrize("given", [{"max_lag": 5}, {"max_lag": 5, "job": {"image": "python:3.12-slim"}}])
def test_a_benchmark_of_a_url_needs_the_api_server_only_as_a_job(play, tmp_path, given):
    dead, server = f"http://127.0.0.1:{closed_port()}", Server()
    with serve(server) as url:
        here = json.dumps({"llm_d_kubeconfig": plays.kubeconfig(tmp_path / "config", dead), "llm_d_artifacts_dir": str(tmp_path / "artifacts")})
        done, folder = play({"url": url, "concurrency": [], "rates": [4], "seconds": 1, **given}, "-e", here)
    reached = "job" not in given
    assert (done.returncode == 0) is reached and (dead in done.stdout) is not reached, done.stdout + done.stderr
    assert bool(server.requests) is reached and (folder / "report.json").exists() is reached


@pytest.mark.rest
def test_check_mode_sends_no_request_and_reports_mistakes(play, tmp_path):
    server = Server()
    plays.kubeconfig(tmp_path / "config", f"http://127.0.0.1:{closed_port()}")
    with serve(server) as url:
        away, folder = play({"job": {"image": "python:3.12-slim"}}, "--check", "-e", json.dumps({"llm_d_kubeconfig": str(tmp_path / "config")}))
        assert away.returncode == 0 and "the options are right" in away.stdout, "and it needs no cluster"
        done, folder = play({"url": url}, "--check")
        assert done.returncode == 0 and "Check mode sends no request" in done.stdout
        bad, folder = play({"url": url, "workload": {"kind": "trace"}}, "--check")
        assert bad.returncode != 0 and "[ERROR]: Task failed: Module failed: workload.path: the file is missing" in bad.stdout + bad.stderr, bad.stdout
    assert server.requests == [] and not folder.exists()


@pytest.mark.rest
@pytest.mark.parametrize("given", [{}, {"api_key": "sk-of-the-gateway"}])
def test_the_key_is_read_from_the_servers_secret_unless_the_file_has_one(play, tmp_path, given):
    """If the file has a key of the gateway, the Secret is not read."""
    server = Server()
    with serve(server) as url, serve(ApiServer([], SECRETS)) as api:
        model = {"uri": "hf://acme/sim", "api_key": {"secret": SECRET["name"]}}
        service = {"name": "sim", "model": model, "scheduler": {"preset": "queue"}}
        here = {"llm_d_kubeconfig": plays.kubeconfig(tmp_path / "config", api), "llm_d_artifacts_dir": str(tmp_path / "artifacts")}
        variables = {**here, "llm_d_model_services": [service]}
        done, folder = play({"url": url, "max_lag": 5, "api_key": None, **given}, "-vvv", "--diff", "-e", json.dumps(variables))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {key for _path, _model, key in server.requests} == {f"Bearer {given.get('api_key', 'sk-model')}"}
    written = [file.read_text(encoding="utf-8") for file in folder.rglob("*") if file.is_file()]
    assert "sk-model" not in done.stdout + done.stderr + "".join(written)


@pytest.mark.timing
@pytest.mark.parametrize(("key", "broken"), [(None, ""), (None, "decode-1"), ("sk-secret", "prefill-0"), ("sk-secret", "")])
def test_quick_mode_sends_requests_to_each_model_server(play, tmp_path, key, broken):
    """Servers of every role get requests through an API server, with their key if they have one.

    Nothing is sent to `url`, where nothing listens, and nothing is written.
    """
    keys, pages = {"decode-0": set(), "decode-1": set(), "prefill-0": set()}, {"/v1/models": (200, JSON, listed("vllm", "acme/sim"))}
    failing = {"/v1/completions": (500, JSON, '{"error": {"message": "out of memory"}}')}

    def counting(name):
        healthy = engine("vllm", **pages, **(failing if name == broken else {}))

        def answer(handler, method, path, body):
            sent = handler.headers.get("Authorization")
            if path == "/v1/completions":
                keys[name].add(sent)
            if key and path.startswith("/v1/") and sent != f"Bearer {key}":
                return 401, {"Content-Type": JSON}, '{"error": "Unauthorized"}'
            return healthy(handler, method, path, body)

        return answer

    with contextlib.ExitStack() as stack:
        pods = [
            pod(
                name,
                stack.enter_context(serve(counting(name))),
                {"llm-d.ai/inference-serving": "true", "llm-d.ai/model-service": "sim", "llm-d.ai/role": name.partition("-")[0]},
            )
            for name in keys
        ]
        api = stack.enter_context(serve(ApiServer(pods)))
        (tmp_path / "kubeconfig").write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "c",
                    "clusters": [{"name": "c", "cluster": {"server": api}}],
                    "users": [{"name": "u", "user": {"token": "t"}}],
                    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                }
            ),
            encoding="utf-8",
        )
        service = {**SERVICES[0], "replicas": 2, "prefill": {"replicas": 1}, "scheduler": {"preset": "disaggregated"}}
        given = {"llm_d_model_services": [service], "llm_d_kubeconfig": str(tmp_path / "kubeconfig"), "llm_d_wait_timeout": 2}
        done, folder = play({"quick": True, "url": "http://127.0.0.1:1", "api_key": key}, "-vvv", "-e", json.dumps(given))
    wanted = {f"Bearer {key}"} if key else {None}
    assert keys == dict.fromkeys(keys, wanted) and not folder.exists() and "changed=0" in done.stdout, (keys, done.stdout)
    output = " ".join(done.stdout.split())
    assert (done.returncode != 0) is bool(broken) and (not broken or bool(re.search(f"Pod llm-d/{broken}.*500 Internal", output))), done.stdout
    assert broken != "decode-1" or "1 of 2 servers, Pod llm-d/decode-1: " in output
    answering = 1 if broken == "decode-1" else 2
    assert f"sim: {answering} of 2 servers answer" in done.stdout and f"sim, prefill: {0 if broken == 'prefill-0' else 1} of 1 servers answer" in done.stdout
    assert "quick | Ask every model server" in done.stdout and "sk-secret" not in done.stdout + done.stderr
