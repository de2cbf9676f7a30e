"""playbooks/benchmark.yml on the running stack, from this host and from a Job in the cluster, whose objects are removed, also after Ctrl-C."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import typing as t
from pathlib import Path

import plays
import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.common import prometheus_text
from kubernetes import client
from python_image import NAME, push
from stack import NAMESPACE, Stack, call, until

LABEL = "llm-d.ai/perf"
# These tests do not check whether this host is fast enough to measure.
LOAD = {
    "max_lag": 5,
    "max_lag_share": 0,
    "services": ["sim"],
    "concurrency": [2],
    "rates": [4],
    "seconds": 4,
    "warmup_seconds": 1,
    "slo": {"error_rate_max": 0},
}
RESOURCES = {"requests": {"cpu": "100m", "memory": "64Mi"}}


@pytest.fixture(name="image", scope="session")
def python_image(tmp_path_factory: pytest.TempPathFactory) -> str:
    return push(tmp_path_factory.mktemp("image"))


def benchmark(folder: Path, wanted: dict[str, t.Any]) -> list[str]:
    given = {"llm_d_artifacts_dir": str(folder), "llm_d_benchmark": {**LOAD, **wanted}}
    return ["-i", "molecule/scorers/inventory", "playbooks/benchmark.yml", "-e", json.dumps(given)]


def play(folder: Path, wanted: dict[str, t.Any], *arguments: str) -> subprocess.CompletedProcess[str]:
    return plays.run(*benchmark(folder, wanted), *arguments)


def left(stack: Stack) -> list[str]:
    objects = [client.BatchV1Api().list_namespaced_job(NAMESPACE, label_selector=LABEL)]
    objects += [
        list_objects(NAMESPACE, label_selector=LABEL)
        for list_objects in (stack.core.list_namespaced_pod, stack.core.list_namespaced_config_map, stack.core.list_namespaced_secret)
    ]
    return [each.metadata.name for listed in objects for each in listed.items]


def versions(stack: Stack) -> dict[str, str]:
    """{uid: version} of the objects that a change of the stack would change."""
    objects = [
        *stack.core.list_namespaced_config_map(NAMESPACE).items,
        *stack.core.list_namespaced_service(NAMESPACE).items,
        *stack.core.list_namespaced_secret(NAMESPACE).items,
    ]
    deployments = client.AppsV1Api().list_namespaced_deployment(NAMESPACE).items
    return {**{each.metadata.uid: each.metadata.resource_version for each in objects}, **{each.metadata.uid: each.metadata.generation for each in deployments}}


def test_a_job_writes_the_same_report_as_this_host_and_is_removed(stack: Stack, image: str, tmp_path: Path) -> None:
    before = versions(stack)
    here = play(tmp_path / "here", {})
    assert here.returncode == 0, here.stdout
    there = play(tmp_path / "there", {"job": {"image": image, "resources": RESOURCES}, "baseline": str(tmp_path / "here" / "benchmark")})
    assert there.returncode == 0, there.stdout + there.stderr
    assert left(stack) == [] and versions(stack) == before
    assert "in flight" in there.stdout and "rate 4" in there.stdout and "changed=0" in there.stdout
    folders = [tmp_path / name / "benchmark" for name in ("here", "there")]
    files = [sorted(str(file.relative_to(folder)) for file in folder.rglob("*")) for folder in folders]
    assert files[0] == files[1] and {"report.html", "report.json", "sim/requests.csv", "sim/result.json"} <= set(files[0])
    first, second = (json.loads((folder / "report.json").read_text())["services"][0] for folder in folders)
    assert set(second) - set(first) == {"comparison"} and {row["label"] for row in second["comparison"]} == {"concurrency 2", "rate 4"}
    assert first["url"] == second["url"] == stack.gateway and first["client"] != second["client"]
    pods = set(stack.servers("sim"))
    for one, other in zip(first["stages"], second["stages"], strict=True):
        assert set(one) == set(other) and one["label"] == other["label"] and one["failed"] == other["failed"] == 0
        assert one["output_tokens"] == 16 * one["ok"] and other["output_tokens"] == 16 * other["ok"] and set(other["servers"]) <= pods
    rows = list(csv.DictReader((folders[1] / "sim" / "requests.csv").open()))
    assert len(rows) == sum(stage["requests"] for stage in second["stages"]) and {row["server"] for row in rows} <= pods


@pytest.mark.rest
def test_a_missed_objective_fails_and_is_reported(stack: Stack, tmp_path: Path) -> None:
    done = play(tmp_path, {"slo": {"ttft_from_schedule_p50_ms": 0.01}, "concurrency": [1], "rates": [], "services": None})
    assert done.returncode != 0
    assert "sim: concurrency 1: ttft_from_schedule_p50_ms" in done.stdout and "table: concurrency 1: ttft_from_schedule_p50_ms" in done.stdout, done.stdout
    report = json.loads((tmp_path / "benchmark" / "report.json").read_text())
    assert not report["ok"] and [each["name"] for each in report["services"]] == ["sim", "table"]
    assert report["services"][1]["url"] == f"{stack.gateway}/table" and report["services"][1]["stages"][0]["ok"] > 0


def test_check_mode_sends_no_request_and_creates_no_job(stack: Stack, tmp_path: Path) -> None:
    done = play(tmp_path, {"job": {"image": "acme/nothing:1"}}, "--check")
    assert done.returncode == 0 and "Check mode sends no request" in done.stdout, done.stdout
    assert left(stack) == [] and not (tmp_path / "benchmark").exists()


def answered(stack: Stack) -> dict[str, float]:
    """{server: number of requests that it has answered, by its own count} of `sim`."""
    pages = {name: call(f"http://{address}:8000/metrics")[2].decode() for name, address in stack.servers("sim").items()}
    return {name: prometheus_text.total(prometheus_text.parse(page), "vllm:request_success_total") or 0.0 for name, page in pages.items()}


@pytest.mark.rest
def test_a_quick_benchmark_sends_a_request_to_each_server(stack: Stack, tmp_path: Path) -> None:
    before = answered(stack)
    done = play(tmp_path, {"quick": True, "slo": {}})
    assert done.returncode == 0 and "changed=0" in done.stdout and "quick | Ask every model server" in done.stdout, done.stdout
    after = answered(stack)
    assert len(before) == 4 and all(after[name] > count for name, count in before.items()), (before, after)
    assert not (tmp_path / "benchmark").exists()


@pytest.mark.rest
def test_quick_names_the_server_that_fails(stack: Stack, tmp_path: Path) -> None:
    name, address = sorted(stack.servers("sim").items())[0]
    admin = f"http://{address}:8000/admin/config"
    assert call(admin, {"failure-injection-rate": 100, "failure-types": ["server_error"]})[0] == 200
    try:
        done = play(tmp_path, {"quick": True, "slo": {}}, "-e", '{"llm_d_wait_timeout": 2}')
    finally:
        assert call(admin, {"failure-injection-rate": 0, "failure-types": []})[0] == 200
    assert done.returncode != 0 and f"1 of 4 servers, Pod {NAMESPACE}/{name}: " in " ".join(done.stdout.split()), done.stdout
    assert not (tmp_path / "benchmark").exists()


@pytest.mark.rest
def test_an_image_that_is_not_there_is_named(stack: Stack, image: str, tmp_path: Path) -> None:
    done = play(tmp_path, {"job": {"image": image.replace(NAME, "llm-d-local/no-such-python:1"), "resources": RESOURCES}})
    assert done.returncode != 0 and "the Job's pod does not run" in done.stdout, done.stdout
    assert left(stack) == []


@pytest.mark.rest
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_benchmark_removes_its_job(stack: Stack, image: str, tmp_path: Path, number: int) -> None:
    given = plays.command(*benchmark(tmp_path, {"seconds": 120, "job": {"image": image, "resources": RESOURCES}}))
    process = subprocess.Popen(given, cwd=plays.ROOT, env=plays.environment(), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def runs() -> bool:
        assert process.poll() is None
        return any(pod.status.phase == "Running" for pod in stack.core.list_namespaced_pod(NAMESPACE, label_selector=LABEL).items)

    try:
        until(runs, 60, "the Job's pod runs")
        os.killpg(process.pid, number)
        assert process.wait(60) != 0
    finally:
        process.kill()
    until(lambda: left(stack) == [], 30, "nothing of the Job is left")
