# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of ansible-runner, as AWX starts them, in a stricter environment: a read-only project, no home directory, an unknown user."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import typing as t
from pathlib import Path

import plays
import pytest
from job_output import plain, wide
from keeping_api_server import PREPARED, KeepingApi
from local_servers import serve
from reporting_job import FILE

pytestmark = pytest.mark.rest
USER = 1000640000
# The mounts belong to the first namespace, the user to the second one: it cannot change them.
JAIL = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec unshare --user --map-user="$1" --map-group=0 "${@:2}"'


@pytest.fixture(name="project", scope="module")
def _project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout."""
    return plays.copied(plays.ROOT, tmp_path_factory.mktemp("runner") / "project")


class Job(t.NamedTuple):
    """The results of a job. lines: of the output; given: statistics for the next job of a workflow; left: the files in its folder of temporary files."""

    status: str
    lines: list[str]
    given: dict[str, t.Any]
    left: dict[str, str]


def run(project: Path, folder: Path, playbook: str, *options: str, hosts: t.Sequence[str] = ("paris",)) -> Job:
    """Run a job on clusters without a stack."""
    for name in ("env", "inventory"):
        (folder / name).mkdir()
    (folder / "project").symlink_to(project)
    (folder / "inventory/hosts").write_text("".join(f"{host} ansible_connection=local llm_d_namespace={host}\n" for host in hosts), encoding="utf-8")
    cluster = KeepingApi(ready=True)
    cluster.kept.update(PREPARED)
    # The length of a socket's path is limited.
    with serve(cluster.answer) as api, tempfile.TemporaryDirectory(dir="/tmp") as temporary:
        here = {"llm_d_kubeconfig": plays.kubeconfig(folder / "kubeconfig", api)}
        (folder / "env/extravars").write_text(json.dumps({**FILE, **here}), encoding="utf-8")
        around = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TMPDIR": temporary, "no_proxy": "*"}
        started = ["env", "-i", *(f"{name}={value}" for name, value in around.items()), "ansible-runner", "run", str(folder), "-p", f"playbooks/{playbook}.yml"]
        subprocess.run(["unshare", "--mount", "bash", "-c", JAIL, str(project), str(USER), *started, "-i", "one", *options], capture_output=True, check=False)
        kept = folder / "artifacts/one"
        events = [json.loads(path.read_text(encoding="utf-8")) for path in (kept / "job_events").glob("*.json")]
        (last,) = [each for each in events if each["event"] == "playbook_on_stats"]
        left = {str(path.relative_to(temporary)): path.read_text(encoding="utf-8") for path in Path(temporary).rglob("*") if path.is_file()}
        # A pseudo-terminal ends lines with \r\n.
        lines = (kept / "stdout").read_text(encoding="utf-8").replace("\r\n", "\n").split("\n")
        return Job((kept / "status").read_text(encoding="utf-8"), lines, last["event_data"].get("artifact_data") or {}, left)


@pytest.mark.parametrize(
    ("playbook", "status", "name"),
    [("validate", "failed", "verdict"), ("diff", "failed", "drift"), ("diagnose", "successful", "diagnosis"), ("list_images", "successful", None)],
)
def test_a_job_runs_without_a_home_a_known_user_and_a_writable_project(project: Path, tmp_path: Path, playbook: str, status: str, name: str | None) -> None:
    job = run(project, tmp_path, playbook)
    whole = "\n".join(job.lines)
    assert job.status == status and "Traceback" not in whole, whole
    assert wide(plain(whole)) == []
    if name:
        assert job.given["inference_stacks"]["paris"][name]["ok"] is (status == "successful" and name != "diagnosis")
        assert any(line.startswith(f"{name} ") for line in job.lines[-11:]), whole[-2000:]
    assert not (project / "artifacts").exists() and job.left and {path.partition("/")[0] for path in job.left} == {f"llm_d-results-{USER}"}


@pytest.mark.parametrize(("options", "part"), [((), ["lyon", "oslo", "paris"]), (("--forks", "1"), ["lyon", "oslo", "paris"]), (("--limit", "oslo"), ["oslo"])])
def test_a_job_for_several_clusters_ends_with_one_table_and_one_page(project: Path, tmp_path: Path, options: tuple[str, ...], part: list[str]) -> None:
    job = run(project, tmp_path, "validate", *options, hosts=("paris", "oslo", "lyon"))
    assert sorted(job.given["inference_stacks"]) == part
    last = job.lines[-len(part) - 4 :]
    assert any(line.startswith(f"{len(part)} cluster") for line in last), job.lines[-12:]
    assert [line.split()[0] for line in last if "not ok" in line and not re.match("[0-9]", line)] == [
        host for host in ("paris", "oslo", "lyon") if host in part
    ]
    (page,) = [text for path, text in job.left.items() if path.endswith("/fleet/index.html")]
    assert all(f">{host}<" in page for host in ("paris", "oslo", "lyon"))


def test_a_slice_of_a_job_is_a_job_for_its_hosts(project: Path, tmp_path: Path) -> None:
    """AWX gives each slice an inventory with a part of the hosts."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first, second = run(project, tmp_path / "one", "validate", hosts=("paris", "oslo")), run(project, tmp_path / "two", "validate", hosts=("lyon",))
    assert sorted(first.given["inference_stacks"]) == ["oslo", "paris"] and list(second.given["inference_stacks"]) == ["lyon"]
    assert any(line.startswith("2 clusters") for line in first.lines[-8:]) and any(line.startswith("verdict ") for line in second.lines[-11:])
