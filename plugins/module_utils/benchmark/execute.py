# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Performs a plan and writes the files of its result."""

from __future__ import annotations

import asyncio
import collections.abc as c
import contextlib
import datetime
import json
import os
import platform
import sys
import time
import typing as t

from ..common.objects import Facts
from ..http import tls
from . import llmd_report, options, page, result, worker
from .input_files import Files
from .output import CsvRows
from .plan import Plan
from .totals import Totals
from .worker_pool import WorkerPool

PROGRESS = 2.0  # seconds between two lines
ROWS = "requests.csv"


def perform(plan: Plan, params: c.Mapping[str, t.Any], files: Files, nonce: str) -> Facts:
    """Send everything, write the files, and return the whole result. Raises Unusable, and ValueError where the files cannot be written."""
    with contextlib.ExitStack() as stack:
        rows = _rows(stack, params["artifacts"]) if params.get("artifacts") else None
        whole = measure(plan, params, nonce, rows)
    return settle(whole, params, files)


def measure(plan: Plan, params: c.Mapping[str, t.Any], nonce: str, rows: t.TextIO | None = None) -> Facts:
    """Send everything and return the whole result. `rows` gets a line of CSV for each request. Raises Unusable, and ValueError for TLS files."""
    started, begin, cpu = datetime.datetime.now(datetime.UTC), time.monotonic(), time.process_time()
    row, say = CsvRows(rows) if rows else None, progress_writer(params.get("progress_path"))
    worker.raise_open_files_limit()
    runner = WorkerPool(plan, params, nonce, tls.context(params), row, say, PROGRESS)
    asyncio.run(runner.run())
    seconds = time.monotonic() - begin
    stages = [result.stage(measured, plan) for measured in runner.measured]
    verdict, why = result.verdict(stages, plan.ladder is not None, bool(plan.rules))
    return {
        "verdict": verdict,
        "why": why,
        "best_rate": result.best(stages),
        "limited": runner.limited,
        "warmup": _warmup(runner.warmed),
        "url": plan.destination.url,
        "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seconds": round(seconds, 3),
        "nonce": nonce,
        "client": {
            "cpu": round((time.process_time() - cpu + runner.worker_cpu) / seconds, 3),
            "memory_mib": round(worker.peak_memory() + runner.memory, 1),
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "processes": runner.processes,
        },
        "stages": stages,
        "about": about(plan, params),
    }


def settle(whole: Facts, params: c.Mapping[str, t.Any], files: Files, rows: str | None = None) -> Facts:
    """Compare a whole result with the baseline, write the files, and return it. `rows`: the CSV of requests where it is not written yet."""
    settled, stages = dict(whole), whole["stages"]
    if files.baseline is not None:
        before, here = files.baseline.get("about"), whole["about"]
        settled["comparison"] = result.compare(files.baseline["stages"], stages, result.differing(before, here, result.SAME_LOAD))
        noted = result.differing(before, here, result.NOTED) if before else "it does not record what was measured"
        if noted:
            settled["baseline_differs"] = f"the baseline differs in more than its time: {noted}"
        worse = result.worse_than(settled["comparison"], params["baseline_max_ratio"]) if params.get("baseline_max_ratio") else []
        if worse and settled["verdict"] != "invalid":
            settled |= {"verdict": "failed", "why": settled["why"] + worse}
        elif params.get("baseline_max_ratio") and settled["verdict"] == "passed" and all(row["why"] for row in settled["comparison"]):
            none = ["no stage has the load of a stage of the baseline, so that nothing was compared"]
            settled |= {"verdict": "inconclusive", "why": result.uncompared(settled["comparison"]) or none}
    if folder := params.get("artifacts"):
        if rows is not None:
            _write(folder, {ROWS: rows})
        written = contents(settled)
        _remove_others(folder, written)
        _write(folder, written)
        reports = [os.path.join(folder, name) for name in written if name.startswith("benchmark_report_")]
        settled["artifacts"] = {
            "result": os.path.join(folder, "result.json"),
            "requests": os.path.join(folder, ROWS),
            "page": os.path.join(folder, "report.html"),
            "reports": reports,
        }
    return settled


def brief(whole: Facts) -> tuple[Facts, list[str]]:
    """(result, warnings) of the module, from a whole result."""
    warnings = [f"{stage['label']}: {why}" for stage in whole["stages"] if (why := stage["why_invalid"] or stage["late"])]
    warnings += [
        f"{stage['label']}: up to {stage['client_share']:.0%} of the time to first token may be this client's own doing"
        for stage in whole["stages"]
        if stage["valid"] and not stage["late"] and stage["client_share"] > (whole["about"]["max_lag_share"] or 1)
    ]
    if (warmed := whole.get("warmup")) and warmed["failed"]:
        warnings.append(
            f"warm-up: {warmed['failed']} of {warmed['requests']} requests failed, so that it may not have warmed anything: {warmed['error_example']}"
        )
    warnings += [whole["baseline_differs"]] if whole.get("baseline_differs") else []
    unknown = result.uncompared(whole.get("comparison", ()))
    warnings += [*unknown, *(line for line in whole["why"] if line not in unknown and whole["verdict"] == "inconclusive")]
    return {**{key: value for key, value in whole.items() if key != "about"}, "stages": [result.brief(stage) for stage in whole["stages"]]}, warnings


def _warmup(totals: Totals | None) -> Facts | None:
    """{requests, failed, error_example} of the warm-up; None without one."""
    return {"requests": totals.requests, "failed": totals.failed, "error_example": totals.example} if totals else None


def about(plan: Plan, params: c.Mapping[str, t.Any]) -> Facts:
    """What was measured, without secrets: digests of headers and of other fields of each request. The API key is left out: it does not affect the load."""
    kept = ("api", "stream", "ignore_eos", "temperature", "host_header", "arrivals", "seed", "request_timeout", "max_lag", "max_lag_share", "slo", "goodput")
    used = {name: value for name, value in {**params["workload"], "content": plan.content}.items() if value is not None}
    mix = options.models(params)
    whole = sum(entry["weight"] for entry in mix)
    return {
        "url": plan.destination.url,
        "models": list(plan.models),
        "weights": {entry["name"]: round(entry["weight"] / whole, 4) for entry in mix} if len(mix) > 1 else {},
        "workload": used,
        "warmup": {name: value for name, value in (params["warmup"] or {}).items() if value is not None},
        "headers": {name.lower(): options.digest(value) for name, value in (params["headers"] or {}).items() if name.lower() != "authorization"},
        "extra_body": {name: options.digest(value) for name, value in (params["extra_body"] or {}).items()},
        **{name: params[name] for name in kept},
        **(params.get("about") or {}),
    }


def contents(everything: Facts) -> dict[str, str]:
    """The files of a whole result by name, but for requests.csv."""
    reports = {_report_name(index): _json(llmd_report.report(everything, index)) for index in range(len(everything["stages"]))}
    return {"result.json": _json(everything), "report.html": page.page(everything), **reports}


def _rows(stack: contextlib.ExitStack, folder: str) -> t.TextIO:
    return stack.enter_context(_opened(folder, ROWS))


def _write(folder: str, files: dict[str, str]) -> None:
    for name, content in files.items():
        with _opened(folder, name) as file:
            file.write(content)


def _remove_others(folder: str, written: t.Container[str]) -> None:
    """Remove the stage reports of the run before, as its result.json counts them, that this one does not write again."""
    try:
        with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
            before = len(json.load(file)["stages"])
    except (OSError, ValueError, KeyError, TypeError):
        return
    for name in map(_report_name, range(before)):
        if name not in written:
            with contextlib.suppress(OSError):
                os.remove(os.path.join(folder, name))


def _report_name(stage: int) -> str:
    return f"benchmark_report_{stage}.json"


def _opened(folder: str, name: str) -> t.TextIO:
    """A file to write in a folder that is made where it is missing. Raises ValueError."""
    try:
        os.makedirs(folder, exist_ok=True)
        return open(os.path.join(folder, name), "w", encoding="utf-8", newline="")
    except OSError as error:
        raise ValueError(f"artifacts {folder}: {name} cannot be written: {error.strerror}; give a folder that can be written") from None


def _json(value: t.Any) -> str:
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def progress_writer(path: str | None) -> c.Callable[[str], None] | None:
    """A function that appends lines to a file, or to standard error for `-`; None without a path."""
    if not path:
        return None

    def write(line: str) -> None:
        if path == "-":
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
            return
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")

    return write
