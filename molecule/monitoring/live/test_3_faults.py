"""A Prometheus that cannot tell is one error that says why, with what to do; and the next run of site.yml converges."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import typing as t
from pathlib import Path

import plays
import pytest
import yaml
from live_stack import forget_series, until
from watched import INVENTORY, SERVICE, SPACE, Watched

FILE = plays.ROOT / INVENTORY / "group_vars/all/monitoring.yml"
CLAIMS = {f"{SERVICE}/alerts", f"{SERVICE}/dashboards"}


def settings(**other: t.Any) -> dict[str, t.Any]:
    """`llm_d_monitoring` of the file, with other values."""
    return {**yaml.safe_load(FILE.read_text(encoding="utf-8"))["llm_d_monitoring"], **other}


def wrong(artifacts: Path, **given: t.Any) -> dict[str, dict[str, t.Any]]:
    """The claims that do not hold in a run of validate.yml, which ends with one error."""
    done = plays.run("-i", INVENTORY, "playbooks/validate.yml", "-e", json.dumps({"llm_d_artifacts_dir": str(artifacts), **given}))
    assert done.returncode != 0 and len(re.findall(r"^\[ERROR\]", done.stdout, re.MULTILINE)) == 1, done.stdout[-6000:]
    assert "Traceback" not in done.stdout + done.stderr
    found = {entry["id"]: entry for entry in json.loads((artifacts / "verdict.json").read_text(encoding="utf-8"))["claims"] if not entry["ok"]}
    print(*(f"{name}: {entry['evidence']}\n  {entry['remedy']}" for name, entry in found.items()), sep="\n")
    return found


@contextlib.contextmanager
def hung(stack: Watched) -> t.Iterator[None]:
    """A Prometheus that accepts connections and answers nothing."""
    pod = stack.pod("prometheus").metadata.name
    processes = stack.processes(pod, "/bin/prometheus", SPACE)
    assert processes
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):  # its liveness probe has it restarted
                os.kill(process, signal.SIGCONT)


# What is done to it, what the file says of it, and what is told.
SILENT: dict[str, tuple[t.Callable[[Watched], t.ContextManager[None]], dict[str, t.Any], str]] = {
    "hung": (hung, {}, "no answer within|no endpoints available"),  # the second after its readiness probe has failed
    "nobody listens": (lambda stack: contextlib.nullcontext(), {"prometheus": "http://127.0.0.1:9"}, "connection refused"),
    "no such Service": (lambda stack: contextlib.nullcontext(), {"prometheus": {"namespace": SPACE, "service": "nobody", "port": 9090}}, "not found"),
}


@pytest.mark.parametrize("way", SILENT)
def test_a_prometheus_that_does_not_answer(stack: Watched, way: str, tmp_path: Path) -> None:
    done_to_it, written, said = SILENT[way]
    with done_to_it(stack):
        found = wrong(tmp_path, llm_d_monitoring=settings(**written))
    assert set(found) == CLAIMS, found
    for entry in found.values():
        assert entry["evidence"].startswith("Prometheus does not answer: ") and re.search(said, entry["evidence"]), entry
        assert "llm_d_monitoring.prometheus" in entry["remedy"], entry
    until(stack.ready, 120, "the Prometheus answers again")
    verdict, out = plays.site(INVENTORY, tmp_path)
    assert verdict["ok"] and "changed=0 " in out, "nothing of it was the stack's"


def test_queries_without_series(stack: Watched, tmp_path: Path) -> None:
    """Monitors and rules by labels that this Prometheus does not select."""
    unseen = settings(labels={"release": "nobody"})
    plays.well(INVENTORY, "site.yml", tmp_path, "--skip-tags", "validation", llm_d_monitoring=unseen)
    try:
        until(lambda: not stack.scrapes(), 180, "the operator has told it")
        forget_series(stack.core)
        found = wrong(tmp_path, llm_d_monitoring=unseen)
        assert set(found) == CLAIMS, found
        assert "has not loaded 8 alerts" in found[f"{SERVICE}/alerts"]["evidence"], found
        assert "no series for" in found[f"{SERVICE}/dashboards"]["evidence"] and "Prometheus has no such metric" in found[f"{SERVICE}/dashboards"]["evidence"]
        assert all("llm_d_monitoring.labels" in entry["remedy"] for entry in found.values()), found
    finally:
        verdict, _out = plays.site(INVENTORY, tmp_path)
    assert verdict["ok"], verdict
    assert "changed=0 " in plays.site(INVENTORY, tmp_path)[1]
