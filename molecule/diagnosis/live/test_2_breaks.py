"""Each break ranks first or second within 30 s of diagnosis, the verdict names it within 20 s, and its findings end with its repair."""

from __future__ import annotations

import re
import shutil

import pytest
from breaks import BREAKS, SLOW, UNNOTICED, VERDICTS
from stack import VERDICT_LIMIT, Stack

# Of make nightly, which may measure time.
pytestmark = pytest.mark.timing


@pytest.mark.parametrize("name", sorted(BREAKS))
def test_the_break_is_named_and_then_gone(stack: Stack, name: str) -> None:
    codes, apply = BREAKS[name]
    shutil.rmtree(stack.artifacts / "diagnose", ignore_errors=True)
    undo = apply(stack)
    try:
        report = stack.until_named(codes)
        named = next(entry for entry in report["findings"] if entry["code"] in codes)
        print(
            f"{name}: rank {named['rank']} of {len(report['findings'])} in {report['seconds']} s, with evidence in {report['whole_seconds']} s: "
            f"{named['what']} ({named['where']})"
        )
        assert named["evidence"] and named["remedy"] and not report["ok"]
        assert "ready" in (stack.artifacts / "diagnose/summary.txt").read_text(encoding="utf-8").lower()
        if name == "server_crash_looping":
            the_evidence_is_kept(stack)
        the_verdict_comes_at_once(stack, name)
    finally:
        undo()
    stack.until_well()


def the_verdict_comes_at_once(stack: Stack, name: str) -> None:
    """The verdict names the break where requests detect it, and is fast."""
    verdict = stack.validate()
    print(f"{name}: a verdict in {verdict['whole_seconds']} s: {'; '.join(verdict['failed'])[:600] or 'ok'}")
    if name not in UNNOTICED:
        assert any(re.search(VERDICTS[name], line) for line in verdict["failed"]), verdict["failed"]
    assert name in SLOW or verdict["whole_seconds"] <= VERDICT_LIMIT, verdict["claims"]


def the_evidence_is_kept(stack: Stack) -> None:
    """The folder of the evidence is complete."""
    kept = {path.name: path.read_text(encoding="utf-8") for path in (stack.artifacts / "diagnose").iterdir()}

    def of(begin: str, end: str) -> str:
        return "\n".join(content for name, content in kept.items() if name.startswith(begin) and name.endswith(end))

    print(f"{len(kept)} files, {sum(map(len, kept.values()))} characters")
    assert "Deployment llm-d/sim-decode: NOT READY" in kept["summary.txt"]
    assert "--nonsense=1" in kept["deployment-llm-d-sim-decode.yml"] and "name: sim-epp" in kept["configmaps-llm-d.yml"]
    assert "nonsense" in of("pod-llm-d-sim-decode-", ".log") and "Started" in of("pod-llm-d-sim-decode-", "-events.txt")
    assert "vllm:num_requests_waiting" in of("pod-llm-d-pd-decode-", "-metrics.txt") and "# TYPE" in of("pod-llm-d-sim-epp-", "-metrics.txt")
    assert "envoy_" in of("pod-envoy-gateway-system-envoy-llm-d-", "-metrics.txt") and "name: pd" in kept["services-llm-d.yml"]


def test_there_are_at_least_twenty_breaks_each_with_a_verdict() -> None:
    assert len(BREAKS) >= 20
    assert set(VERDICTS) | UNNOTICED == set(BREAKS) and not set(VERDICTS) & UNNOTICED and set(SLOW) <= set(BREAKS)
