# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A measurement as a Job: its program runs and is followed, its result is returned, its objects are removed. molecule/scorers/live has the real cluster."""

from __future__ import annotations

import base64
import csv
import json
import os
import signal
import subprocess
import sys

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.benchmark import k8s_job
from ansible_collections.llm_d.inference.plugins.modules import vllm_perf
from engine_servers import SECRET, SECRETS, keyed
from job_cluster import Cluster, kubeconfig
from local_servers import SSE, chunk, serve, stream
from module_calls import user_output
from recorded import recorded
from waiting import until

USAGE = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 1}}
OPTIONS = {"model": "acme/tiny", "workload": {"output_len": 1}, "max_lag": 60, "max_lag_share": 0, "pause": 0}
JOB = {"namespace": "llm-d", "image": "python:3.12-slim", "labels": {"app": "x"}}


def answer(*_args):
    return 200, {"Content-Type": SSE, "x-inference-pod": "pod-a"}, stream(chunk("To", "length"), USAGE)


def gateway_at(url):
    host, port = url.removeprefix("http://").split(":")
    return {
        "metadata": {"namespace": "llm-d", "name": "gw", "generation": 1},
        "spec": {"listeners": [{"name": "http", "port": int(port), "protocol": "HTTP"}]},
        "status": {"addresses": [{"value": host}], "conditions": [{"type": "Programmed", "status": "True", "observedGeneration": 1}]},
    }


@pytest.fixture(name="quick", autouse=True)
def quick_looks(monkeypatch):
    monkeypatch.setattr(k8s_job, "POLL", 0.05)


def test_a_job_returns_the_same_fields_as_a_local_run_and_leaves_no_objects(call, tmp_path):
    paths = []

    def server(_handler, _method, path, body):
        paths.append(path)
        return answer()

    with serve(server) as url:
        cluster = Cluster(tmp_path, gateway_at(url))
        with serve(cluster) as api:
            progress = tmp_path / "progress"
            options = {
                **OPTIONS,
                "kubeconfig": kubeconfig(tmp_path, api),
                "gateway": {"namespace": "llm-d", "name": "gw"},
                "path": "/team",
                "stages": [{"concurrency": 2, "requests": 12}],
                "api_key": "sk-secret",
                "slo": {"error_rate_max": 0},
            }
            here = call(vllm_perf, artifacts=str(tmp_path / "here"), **options)
            there = call(vllm_perf, artifacts=str(tmp_path / "there"), job=JOB, progress_path=str(progress), **options)
    assert here["url"] == there["url"] == url + "/team" and set(paths) == {"/team/v1/completions"}
    own = {"invocation", "warnings"}  # on a busy host either client may be late, which is a warning
    assert set(here) - own == set(there) - own and set(here["stages"][0]) == set(there["stages"][0])
    assert there["verdict"] == "passed" and there["stages"][0]["ok"] == 12 and there["stages"][0]["servers"] == {"pod-a": 12}
    assert sorted(file.name for file in (tmp_path / "here").iterdir()) == sorted(file.name for file in (tmp_path / "there").iterdir())
    rows = [list(csv.DictReader((tmp_path / where / "requests.csv").open())) for where in ("here", "there")]
    assert len(rows[1]) == 12 and set(rows[0][0]) == set(rows[1][0]) and {row["server"] for row in rows[1]} == {"pod-a"}
    assert "12 ended" in progress.read_text() and '"rows"' not in progress.read_text()
    job = next(body for method, kind, body in cluster.writes if (method, kind) == ("POST", "jobs"))
    config = next(body for method, kind, body in cluster.writes if (method, kind) == ("POST", "configmaps"))
    assert "sk-secret" not in json.dumps([job, config]) + user_output(there) and job["metadata"]["labels"]["app"] == "x"
    assert cluster.left() == []


@pytest.mark.parametrize("job", [None, JOB])
def test_the_api_key_is_read_from_a_secret_and_written_only_to_the_job_secret(call, tmp_path, job):
    with serve(keyed(answer)) as url:
        cluster = Cluster(tmp_path)
        cluster.objects["secrets"]["keys"] = SECRETS["/api/v1/namespaces/llm-d/secrets/keys"]
        with serve(cluster) as api:
            options = {**OPTIONS, "kubeconfig": kubeconfig(tmp_path, api), "url": url, "stages": [{"concurrency": 1, "requests": 3}], "job": job}
            result = call(vllm_perf, api_key_secret=SECRET, artifacts=str(tmp_path / "a"), **options)
            cluster.objects["secrets"].clear()
            absent = call(vllm_perf, api_key_secret=SECRET, **options)
            both = call(vllm_perf, api_key_secret=SECRET, api_key="sk-other", **options)
    assert result["stages"][0]["ok"] == 3 and "there is no Secret llm-d/keys" in absent["msg"] and "mutually exclusive" in both["msg"]
    written = [file.read_text() for file in (tmp_path / "a").iterdir()]
    assert "sk-model" not in json.dumps([result, absent, written, [body for _method, kind, body in cluster.writes if kind != "secrets"]])


def test_log_lines_that_arrive_after_the_pod_has_ended_are_read(call, tmp_path):
    """A busy node writes the log late."""
    with serve(lambda *_args: answer()) as url:
        cluster = Cluster(tmp_path)
        cluster.late = 2
        with serve(cluster) as api:
            options = {**OPTIONS, "kubeconfig": kubeconfig(tmp_path, api), "url": url, "stages": [{"concurrency": 1, "requests": 2}]}
            result = call(vllm_perf, job=JOB, **options)
    assert result.get("verdict") == "passed" and cluster.late == 0, result


def test_the_pod_keeps_to_the_restricted_standard(call, tmp_path):
    cluster = Cluster(tmp_path, pod=({"phase": "Succeeded"}, ""))
    with serve(cluster) as api:
        call(
            vllm_perf,
            url="http://127.0.0.1:1",
            stages=[{"rate": 1, "requests": 1}],
            processes=3,
            kubeconfig=kubeconfig(tmp_path, api),
            job={**JOB, "run_as_user": 0, "timeout": 90},
            **OPTIONS,
        )
    spec = next(body for method, kind, body in cluster.writes if (method, kind) == ("POST", "jobs"))["spec"]
    pod = spec["template"]["spec"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert pod["containers"][0]["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert pod["automountServiceAccountToken"] is False and pod["restartPolicy"] == "Never" and pod["containers"][0]["resources"]["requests"]["cpu"] == "3"
    assert spec["activeDeadlineSeconds"] == 90 and spec["backoffLimit"] == 0 and spec["ttlSecondsAfterFinished"]


@pytest.mark.parametrize(("processes", "resources", "expected"), [(None, None, 1), (None, {"limits": {"cpu": "8", "memory": "2Gi"}}, None), (3, None, 3)])
def test_the_job_container_requests_one_core_per_process(call, tmp_path, processes, resources, expected):
    """The program determines the number itself only where the user has set the resources of the container."""
    cluster = Cluster(tmp_path, pod=({"phase": "Succeeded"}, ""))
    with serve(cluster) as api:
        call(
            vllm_perf,
            url="http://127.0.0.1:1",
            stages=[{"rate": 1, "requests": 1}],
            **({"processes": processes} if processes else {}),
            kubeconfig=kubeconfig(tmp_path, api),
            job={**JOB, **({"resources": resources} if resources else {})},
            **OPTIONS,
        )
    made = {kind: body for method, kind, body in cluster.writes if method == "POST"}
    given = made["jobs"]["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert json.loads(base64.b64decode(made["secrets"]["data"]["options.json"]))["processes"] == expected
    assert given == resources or given["requests"]["cpu"] == str(expected)


def test_a_prompt_file_is_passed_to_the_job(call, tmp_path):
    (tmp_path / "prompts").write_text("Say hello.\n")
    cluster = Cluster(tmp_path)
    prompts = []
    with serve(lambda _handler, _method, _path, body: prompts.append(json.loads(body)["prompt"]) or answer()) as url, serve(cluster) as api:
        result = call(
            vllm_perf,
            url=url,
            job=JOB,
            kubeconfig=kubeconfig(tmp_path, api),
            stages=[{"concurrency": 1, "requests": 2}],
            **{**OPTIONS, "workload": {"kind": "prompts", "path": str(tmp_path / "prompts"), "output_len": 1}},
        )
    assert result.get("verdict") == "passed" and set(prompts[1:]) == {"Say hello."}, result


@pytest.mark.parametrize(
    ("pod", "options", "message"),
    [
        ({"pod": (recorded("pod_bad_image")["status"], "")}, {}, "the Job's pod does not run"),
        pytest.param({"pod": (recorded("pod_unsched")["status"], "")}, {"start_timeout": 60}, "the Job's pod does not run", marks=pytest.mark.rest),
        ({"job_status": {"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long"}]}}, {}, "job.timeout"),
        ({"job_status": {"active": 0}, "events": [{"type": "Warning", "message": "pods x is over: exceeded quota"}]}, {"start_timeout": 60}, "exceeded quota"),
        (
            {
                "pod": (
                    {"phase": "Failed", "containerStatuses": [{"name": "perf", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]},
                    "concurrency 2: 4 s\n",
                )
            },
            {},
            "Last line of its log: concurrency 2: 4 s",
        ),
        (
            {
                "pod": (
                    {"phase": "Failed", "containerStatuses": [{"name": "perf", "state": {"terminated": {"exitCode": 2}}}]},
                    "http://gw: connection refused\n",
                )
            },
            {},
            "http://gw: connection refused",
        ),
    ],
)
@pytest.mark.usefixtures("clock")
def test_a_job_without_a_result_fails_with_the_reason(call, tmp_path, pod, options, message):
    cluster = Cluster(tmp_path, **pod)
    with serve(cluster) as api:
        result = call(
            vllm_perf, url="http://127.0.0.1:1", stages=[{"rate": 1, "requests": 1}], job={**JOB, **options}, kubeconfig=kubeconfig(tmp_path, api), **OPTIONS
        )
    assert result["failed"] and message in result["msg"], result["msg"]
    assert cluster.left() == []


def test_missing_targets_and_invalid_options_are_refused(call, tmp_path):
    with serve(Cluster(tmp_path)) as api:
        config = kubeconfig(tmp_path, api)
        known = {"stages": [{"rate": 1, "requests": 1}], "kubeconfig": config, "wait": 0, **OPTIONS}
        assert "Gateway llm-d/gw has no address" in call(vllm_perf, gateway={"namespace": "llm-d", "name": "gw"}, **known)["msg"]
        assert "Service llm-d/x does not exist" in call(vllm_perf, service={"namespace": "llm-d", "name": "x", "port": 8000}, **known)["msg"]
        assert "path: 'team' must begin with '/'" in call(vllm_perf, url="http://x", path="team", **known)["msg"]
        assert "mutually exclusive" in call(vllm_perf, url="http://x", gateway={"namespace": "llm-d", "name": "gw"}, **known)["msg"]
        (tmp_path / "prompts").write_text("word " * 200_000)
        large = {**known, "workload": {"kind": "prompts", "path": str(tmp_path / "prompts")}}
        assert "cut the file" in call(vllm_perf, url="http://x", job=JOB, **large)["msg"]


def test_check_mode_creates_no_job(call, tmp_path):
    cluster = Cluster(tmp_path)
    with serve(cluster) as api:
        result = call(
            vllm_perf,
            check=True,
            gateway={"namespace": "llm-d", "name": "gw"},
            stages=[{"rate": 1, "requests": 1}],
            job=JOB,
            kubeconfig=kubeconfig(tmp_path, api),
            **OPTIONS,
        )
    assert not result.get("failed") and cluster.writes == []


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.rest)])
def test_an_interrupted_run_deletes_its_job(tmp_path, root, number):
    cluster = Cluster(tmp_path)
    with serve(answer) as url, serve(cluster) as api:
        options = {"url": url, "job": JOB, "kubeconfig": kubeconfig(tmp_path, api), "stages": [{"rate": 5, "seconds": 60}], **OPTIONS}
        code = (
            "import json, sys\nfrom ansible.module_utils.testing import patch_module_args\n"
            "from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder\n"
            f"_AnsibleCollectionFinder(paths=[{str(root / 'collections')!r}])._install()\n"
            "from ansible_collections.llm_d.inference.plugins.modules import vllm_perf\n"
            "with patch_module_args(json.loads(sys.argv[1])): vllm_perf.main()\n"
        )
        module = subprocess.Popen([sys.executable, "-c", code, json.dumps(options)], start_new_session=True, stderr=subprocess.DEVNULL)
        until(lambda: module.poll() is not None or (cluster.process and "ended" in (tmp_path / "log").read_text()))
        os.killpg(module.pid, number)
        assert module.wait() != 0
        assert cluster.left() == [] and cluster.process.poll() is not None
