# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A job as AWX runs it (awx/main/tasks/jobs.py): a folder for ansible-runner with a project, an inventory, credentials and variables.

There is no execution environment: the job runs on this host, with the Python of the tests.
"""

from __future__ import annotations

import configparser
import json
import pathlib
import subprocess
import sys
import tempfile
import typing as t

import jinja2.sandbox
import plays
import yaml

from controller_api.fields import Values
from controller_api.store import Row, Store, now

BIN = pathlib.Path(sys.executable).parent
COLLECTIONS = "~/.ansible/collections:/usr/share/ansible/collections"
SECONDS = 900


class _Unsafe(yaml.SafeDumper):
    """Marks texts of users as unsafe, so that they are not templates (awx/main/utils/safe_yaml.py)."""

    def represent_data(self, data: t.Any) -> yaml.Node:
        return self.represent_scalar("!unsafe", data) if isinstance(data, str) else super().represent_data(data)


class _Files:
    """`tower.filename` of a credential's templates."""

    def __init__(self) -> None:
        self.filename: t.Any = self


class _PreviousFailed(Exception):
    """An update that precedes the job has failed."""


def made(store: Store, template: Row, given: Values, flow: Row | None = None) -> Row:
    """The row of a job before it runs. given: its `extra_vars`, and values of a launch that replace those of the template; flow: its workflow job."""
    prompts = {**template.values, **given}
    row = store.add("jobs", {"name": template.name, "job_template": template.id, "inventory": prompts["inventory"], "verbosity": prompts["verbosity"]})
    row.hidden = {"extra_vars": given["extra_vars"], "credentials": given.get("credentials", template.lists["credentials"]), "flow": flow, "output": ""}
    return row


def run(store: Store, job: Row, collections: pathlib.Path | None) -> None:
    """Runs a job to its end, and stores the outcome in its row. collections: the folder of the collections of the execution environment."""
    job.values |= {"status": "running", "started": now()}
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="awx-") as path:  # the path of a socket has to be short
        try:
            ended = _run(store, job, pathlib.Path(path), collections)
        except _PreviousFailed as failed:
            ended = {"status": "failed", "job_explanation": f"Previous Task Failed: {failed}"}
    job.values |= {**ended, "failed": ended["status"] != "successful", "finished": now(), "event_processing_finished": True}


def _run(store: Store, job: Row, folder: pathlib.Path, collections: pathlib.Path | None) -> Values:
    template = store.get("job_templates", job["job_template"])
    for name in ("env", "inventory", "tmp"):
        (folder / name).mkdir()
    plays.copied(_checkout(store, template["project"]), folder / "project")
    variables, environment = _credentials(store, job.hidden["credentials"], folder / "env")
    where = {**environment, **_environment(folder, collections), "TMPDIR": f"{folder}/tmp"}
    script = folder / "inventory/hosts"
    script.write_text(f"#!{sys.executable}\nprint({_inventory(store, job['inventory'], folder, where)!r})\n", encoding="utf-8")
    script.chmod(0o700)
    extra_vars = {
        **job.hidden["extra_vars"],
        **{f"{prefix}_{name}": value for prefix in ("awx", "tower") for name, value in _meta(store, job, template).items()},
    }
    texts = [yaml.dump(extra_vars, Dumper=_Unsafe), yaml.safe_dump(variables) if variables else ""]
    (folder / "env/extravars").write_text("".join(texts), encoding="utf-8")
    command = [BIN / "ansible-runner", "run", folder, "-p", template["playbook"], "-i", "1", *(["-" + "v" * job["verbosity"]] if job["verbosity"] else [])]
    done = subprocess.run(command, env=where, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS)
    kept = folder / "artifacts/1"
    if not (kept / "status").exists():
        return {"status": "error", "result_traceback": done.stdout + done.stderr}
    job.hidden["output"] = (kept / "stdout").read_text(encoding="utf-8").replace("\r\n", "\n")
    events = [json.loads(path.read_text(encoding="utf-8")) for path in (kept / "job_events").glob("*.json")]
    last = next((each["event_data"] for each in events if each["event"] == "playbook_on_stats"), {})
    return {"status": (kept / "status").read_text(encoding="utf-8"), "artifacts": last.get("artifact_data") or {}}


def _checkout(store: Store, number: int) -> pathlib.Path:
    """The current checkout of a project: every project is updated before each job."""
    project = store.get("projects", number)
    checkout = store.checkouts.get(project["scm_url"])
    if checkout is None:
        raise _PreviousFailed(f"the project {project.name} could not be updated")
    return checkout


def _inventory(store: Store, number: int, folder: pathlib.Path, where: dict[str, str]) -> str:
    """The output of the inventory script: hosts and variables of the sources, each of which is a path in a project."""
    sources = store.where("inventory_sources", inventory=number)
    places = []
    for place, source in enumerate(sources):
        plays.copied(_checkout(store, source["source_project"]), folder / f"source-{place}")
        path = folder / f"source-{place}" / source["source_path"]
        if not path.exists():
            raise _PreviousFailed(f"the source {source.name} of the inventory has no {source['source_path']}")
        places += ["-i", str(path)]
    done = subprocess.run([BIN / "ansible-inventory", *places, "--list", "--export"], env=where, cwd="/", capture_output=True, text=True, check=False)
    if done.returncode or "_meta" not in done.stdout:
        raise _PreviousFailed(done.stderr)
    return done.stdout


def _credentials(store: Store, numbers: list[int], folder: pathlib.Path) -> tuple[Values, dict[str, str]]:
    """(extra variables, environment) that the types of credentials inject, with the files that they name."""
    variables, environment = Values(), dict[str, str]()
    sandbox = jinja2.sandbox.ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined)
    for number in numbers:
        credential = store.get("credentials", number)
        kind = store.type_of(credential)
        empty = {field["id"]: False if field["type"] == "boolean" else "" for field in kind["inputs"].get("fields", [])}
        known: Values = {**empty, **credential["inputs"], "tower": _Files()}
        for place, template in kind["injectors"].get("file", {}).items():
            path = folder / f"file-{number}-{place}"
            path.write_text(sandbox.from_string(template).render(known), encoding="utf-8")
            setattr(known["tower"].filename, place.partition(".")[2], str(path))
        environment |= {name: sandbox.from_string(template).render(known) for name, template in kind["injectors"].get("env", {}).items()}
        variables |= {name: sandbox.from_string(template).render(known) for name, template in kind["injectors"].get("extra_vars", {}).items()}
    return variables, environment


def _environment(folder: pathlib.Path, collections: pathlib.Path | None) -> dict[str, str]:
    """The environment of a job, without that of its credentials."""
    config = configparser.RawConfigParser()
    config.read(folder / "project/ansible.cfg")
    own = config.get("defaults", "collections_path", fallback="")
    paths = ["/runner/requirements_collections", own, COLLECTIONS, str(collections or "")]
    return {
        "PATH": f"{BIN}:/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "no_proxy": "*",
        "ANSIBLE_FORCE_COLOR": "False",
        "ANSIBLE_COLLECTIONS_PATH": ":".join(path for path in paths if path),
    }


def _meta(store: Store, job: Row, template: Row) -> Values:
    """Variables with facts about the job, without their prefixes `awx_` and `tower_`."""
    flow, user, inventory = job.hidden["flow"], store.get("users", 1), store.get("inventories", job["inventory"])
    return {
        "job_id": job.id,
        "job_launch_type": "workflow" if flow else "manual",
        **({"workflow_job_id": flow.id, "workflow_job_name": flow.name} if flow else {}),
        "user_id": user.id,
        "user_name": user["username"],
        "inventory_id": inventory.id,
        "inventory_name": inventory.name,
        "job_template_id": template.id,
        "job_template_name": template.name,
    }
