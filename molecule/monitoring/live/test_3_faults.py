"""A Prometheus that cannot answer is one error with its cause and remedy, and the next run of site.yml converges."""

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
from live_stack import reset_prometheus, until
from watched import INVENTORY, SERVICE, SPACE, Watched

FILE = plays.ROOT / INVENTORY / "group_vars/all/monitoring.yml"
CLAIMS = {f"{SERVICE}/alerts", f"{SERVICE}/dashboards"}


def settings(**other: t.Any) -> dict[str, t.Any]:
    """`llm_d_monitoring` of the file, with changed values."""
    return {**yaml.safe_load(FILE.read_text(encoding="utf-8"))["llm_d_monitoring"], **other}


def failed_claims(artifacts: Path, **given: t.Any) -> dict[str, dict[str, t.Any]]:
    """Run validate.yml, which must end with one error; returns {id: claim} of its failed claims."""
    done = plays.run("-i", INVENTORY, "playbooks/validate.yml", "-e", json.dumps({"llm_d_artifacts_dir": str(artifacts), **given}))
    assert done.returncode != 0 and len(re.findall(r"^\[ERROR\]", done.stdout, re.MULTILINE)) == 1, done.stdout[-6000:]
    assert "Traceback" not in done.stdout + done.stderr
    claims = {entry["id"]: entry for entry in json.loads((artifacts / "verdict.json").read_text(encoding="utf-8"))["claims"] if not entry["ok"]}
    print(*(f"{name}: {entry['evidence']}\n  {entry['remedy']}" for name, entry in claims.items()), sep="\n")
    return claims


@contextlib.contextmanager
def hung(stack: Watched) -> t.Iterator[None]:
    """Suspend Prometheus: it accepts connections and does not answer."""
    pod = stack.pod("prometheus").metadata.name
    processes = stack.processes(pod, "/bin/prometheus", SPACE)
    assert processes
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):  # its liveness probe may have restarted it
                os.kill(process, signal.SIGCONT)


# {case: (fault, changed settings, pattern of the reported message)}.
SILENT: dict[str, tuple[t.Callable[[Watched], t.ContextManager[None]], dict[str, t.Any], str]] = {
    "hung": (hung, {}, "no answer within|no endpoints available"),  # the latter after its readiness probe has failed
    "nobody listens": (lambda stack: contextlib.nullcontext(), {"prometheus": "http://127.0.0.1:9"}, "connection refused"),
    "no such Service": (lambda stack: contextlib.nullcontext(), {"prometheus": {"namespace": SPACE, "service": "nobody", "port": 9090}}, "not found"),
}


@pytest.mark.parametrize("way", SILENT)
def test_a_prometheus_that_does_not_answer(stack: Watched, way: str, tmp_path: Path) -> None:
    fault, written, message = SILENT[way]
    with fault(stack):
        claims = failed_claims(tmp_path, llm_d_monitoring=settings(**written))
    assert set(claims) == CLAIMS, claims
    for entry in claims.values():
        assert entry["evidence"].startswith("Prometheus does not answer: ") and re.search(message, entry["evidence"]), entry
        assert "llm_d_monitoring.prometheus" in entry["remedy"], entry
    until(stack.ready, 120, "the Prometheus answers again")
    verdict, out = plays.site(INVENTORY, tmp_path)
    assert verdict["ok"] and "changed=0 " in out, "the fault did not affect the stack"


def test_queries_without_series(stack: Watched, tmp_path: Path) -> None:
    """The labels of monitors and rules are not those that this Prometheus selects."""
    unselected = settings(labels={"release": "nobody"})
    plays.well(INVENTORY, "site.yml", tmp_path, "--skip-tags", "validation", llm_d_monitoring=unselected)
    try:
        until(lambda: not stack.scrapes(), 180, "the operator has updated Prometheus")
        reset_prometheus(stack.core)
        claims = failed_claims(tmp_path, llm_d_monitoring=unselected)
        assert set(claims) == CLAIMS, claims
        assert "has not loaded 8 alerts" in claims[f"{SERVICE}/alerts"]["evidence"], claims
        assert "no series for" in claims[f"{SERVICE}/dashboards"]["evidence"] and "Prometheus has no such metric" in claims[f"{SERVICE}/dashboards"]["evidence"]
        assert all("llm_d_monitoring.labels" in entry["remedy"] for entry in claims.values()), claims
    finally:
        verdict, _out = plays.site(INVENTORY, tmp_path)
    assert verdict["ok"], verdict
    assert "changed=0 " in plays.site(INVENTORY, tmp_path)[1]
