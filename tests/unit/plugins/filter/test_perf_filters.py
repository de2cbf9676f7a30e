# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A measurement as a Job: what it is made of runs, and its result becomes reports."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.llm_d.inference.plugins.filter.perf_definitions import perf_definitions
from ansible_collections.llm_d.inference.plugins.filter.perf_files import perf_files
from local_servers import SSE, chunk, serve, stream

WHERE = {"name": "perf", "namespace": "llm-d", "image": "python:3.12-slim"}
OPTIONS = {"url": "http://gateway.llm-d.svc", "model": "acme/tiny", "workload": {"output_len": 1}, "stages": [{"concurrency": 2, "requests": 12}], "max_lag": 1}
USAGE = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 1}}


def test_what_the_job_is_made_of_measures(tmp_path):
    with serve(lambda *_args: (200, {"Content-Type": SSE, "x-inference-pod": "pod-a"}, stream(chunk("To", "length"), USAGE))) as url:
        config, secret, job = perf_definitions({**OPTIONS, "url": url, "api_key": "sk-secret"}, labels={"app": "x"}, **WHERE)
        for name, data in {**config["binaryData"], **secret["data"]}.items():
            (tmp_path / name).write_bytes(base64.b64decode(data))
        container = job["spec"]["template"]["spec"]["containers"][0]
        command = [sys.executable if part == "python3" else part.replace("/perf/", f"{tmp_path}/") for part in container["command"]]
        done = subprocess.run([command[0], "-S", *command[1:]], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["stages"][0]["ok"] == 12 and "sk-secret" not in done.stdout + done.stderr and "sk-secret" not in json.dumps([config, job])
    files = perf_files(result)
    assert sorted(files) == ["benchmark_report_0.json", "report.html", "result.json"] and "Requests per server" in files["report.html"]
    names = {entry["metadata"]["name"] for entry in (config, secret, job)}
    assert len(names) == 1 and job["metadata"]["labels"] == {"app": "x"} and job["spec"]["backoffLimit"] == 0


def test_the_pod_keeps_to_the_restricted_standard():
    pod = perf_definitions(OPTIONS, **WHERE)[2]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    assert pod["containers"][0]["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert pod["automountServiceAccountToken"] is False and pod["restartPolicy"] == "Never"


def test_another_measurement_is_another_job_and_the_same_is_the_same():
    first, second, other = (perf_definitions({**OPTIONS, "seed": seed}, **WHERE)[2]["metadata"]["name"] for seed in (1, 1, 2))
    assert first == second != other


def test_a_prompts_file_goes_along(tmp_path):
    (tmp_path / "prompts").write_text("Say hello.\n")
    secret = perf_definitions({**OPTIONS, "workload": {"kind": "prompts", "path": str(tmp_path / "prompts")}}, **WHERE)[1]["data"]
    assert base64.b64decode(secret["workload"]) == b"Say hello.\n"
    assert json.loads(base64.b64decode(secret["options.json"]))["workload"]["path"] == "/perf/workload"


@pytest.mark.parametrize(("options", "said"), [
    ({"stages": [{"rate": 0, "seconds": 1}]}, "stages"),
    ({"baseline": "x", "stages": [{"rate": 1, "seconds": 1}]}, "baseline"),
    ({"speed": 9}, "speed"),
    ({"slo": {"soon": 1}}, "slo.soon"),
])
def test_mistakes_are_named(options, said):
    with pytest.raises(AnsibleFilterError, match=said):
        perf_definitions({**OPTIONS, **options}, **WHERE)


@pytest.mark.parametrize("result", [None, {}, {"stages": [], "about": {}}, {"stages": [{}], "about": {}, "verdict": "passed"}])
def test_what_is_no_result(result):
    with pytest.raises(AnsibleFilterError, match="result"):
        perf_files(result)
