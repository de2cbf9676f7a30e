# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports in a bucket of MinIO, which checks signatures and permissions."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import typing as t
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from ansible_collections.llm_d.inference.plugins.module_utils.http.sigv4 import Keys, signed
from local_servers import answers, port_for_a_program
from reporting_job import Job
from waiting import until

pytestmark = [pytest.mark.rest, pytest.mark.timeout(900)]  # builds MinIO
MODULE = "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c"
BY = Keys("reporter", "planted-8Jx2vQ")
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": BY.access, "AWS_SECRET_ACCESS_KEY": BY.secret}


@pytest.fixture(name="minio", scope="module")
def _minio(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[str]:
    """The URL of a MinIO with the bucket `reports`."""
    folder = tmp_path_factory.mktemp("minio")
    (folder / "data/reports").mkdir(parents=True)
    subprocess.run(["go", "install", MODULE], env={**os.environ, "GOBIN": str(folder), "GOFLAGS": "-trimpath"}, check=True)
    address = f"127.0.0.1:{port_for_a_program()}"
    started = {**os.environ, "MINIO_ROOT_USER": BY.access, "MINIO_ROOT_PASSWORD": BY.secret, "HOME": str(folder)}
    with subprocess.Popen([f"{folder}/minio", "server", "--quiet", "--address", address, f"{folder}/data"], env=started, stdout=subprocess.DEVNULL) as server:
        until(lambda: answers(f"http://{address}/minio/health/ready"))
        yield f"http://{address}"
        server.terminate()


def got(url: str) -> str:
    """The content of an object, with the same credentials."""
    time = f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%SZ}"
    request = urllib.request.Request(url, headers=signed("GET", url, b"", {}, BY, "us-east-1", time))
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


def test_a_bucket_has_the_reports_of_a_run(minio: str, tmp_path: Path) -> None:
    job = Job(tmp_path)
    statistics, lines = job.run("validate", environment=ENVIRONMENT, llm_d_artifacts={"s3": {"bucket": "reports", "prefix": "a b", "endpoint": minio}})
    places = statistics["inference_stacks"]["paris"]["verdict"]["reports"]
    assert places["lost"] == {} and places["s3"].startswith("s3://reports/a b/paris/llm-d/verdict/")
    where = f"{minio}/{places['s3'].removeprefix('s3://').replace(' ', '%20')}"
    for name in ("verdict.json", "report.html"):
        assert got(f"{where}/{name}") == (tmp_path / "out" / name).read_text(encoding="utf-8")
    assert f"reports   {places['s3']}" in lines[-10:] and BY.secret not in "\n".join(lines)


@pytest.mark.parametrize(
    ("s3", "environment", "why"),
    [
        ({"bucket": "nobodys"}, ENVIRONMENT, "404: NoSuchBucket"),
        ({"bucket": "reports"}, {**ENVIRONMENT, "AWS_SECRET_ACCESS_KEY": "another"}, "403: SignatureDoesNotMatch"),
    ],
)
def test_a_bucket_that_refuses_the_reports_causes_no_further_failure(
    minio: str, tmp_path: Path, s3: dict[str, t.Any], environment: dict[str, str], why: str
) -> None:
    statistics, lines = Job(tmp_path).run("diff", "-e", "diagnose_fail=false", environment=environment, llm_d_artifacts={"s3": {**s3, "endpoint": minio}})
    places = statistics["inference_stacks"]["paris"]["drift"]["reports"]
    assert places["s3"] is None and why in places["lost"]["s3"]
    assert why in " ".join(line.strip() for line in lines[-10:])
    assert any("failed=0" in line for line in lines)


def test_missing_credentials_are_reported_before_anything_is_done(tmp_path: Path) -> None:
    none = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    statistics, lines = Job(tmp_path).run("validate", environment=none, llm_d_artifacts={"s3": {"bucket": "reports"}})
    assert statistics == {} and any("llm_d_artifacts.s3: needs credentials" in line for line in lines)


def test_a_bucket_has_the_page_of_all_clusters(minio: str, tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.cluster.kept.update({"/api/v1/namespaces/oslo": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "oslo"}, "status": {"phase": "Active"}}})
    (tmp_path / "hosts.yml").write_text("all: {hosts: {paris: {}, oslo: {llm_d_namespace: oslo}}}\n", encoding="utf-8")
    kept = {"s3": {"bucket": "reports", "endpoint": minio}}
    _statistics, lines = job.run("validate", "-i", str(tmp_path / "hosts.yml"), environment=ENVIRONMENT, llm_d_artifacts=kept)
    local, there = [line.removeprefix("page: ") for line in lines if line.startswith("page: ")]
    assert local == f"{tmp_path}/out/fleet/index.html" and there.startswith("s3://reports/llm-d/fleet/") and there.endswith("Z/index.html")
    url = f"{minio}/{there.removeprefix('s3://')}"
    links = re.findall(r'href="([^"]+/report.html)"', got(url))
    assert len(links) == 2 and all("<html" in got(urllib.parse.urljoin(url, link)) for link in links)
    _statistics, lines = job.run(
        "validate", "-i", str(tmp_path / "hosts.yml"), environment=ENVIRONMENT, llm_d_artifacts={"s3": {**kept["s3"], "bucket": "nobodys"}}
    )
    last = [line for line in lines if line.startswith("page: ")][-1]
    assert last.startswith("page: not in s3: Cannot put s3://nobodys/llm-d/fleet/") and "404: NoSuchBucket" in last
